/* SPDX-License-Identifier: Apache-2.0 */
/* test_tactics_slow.c - the sweep over all tactics and cases, with many shapes. */
enum { SWEEP_LEAST = 4, SWEEP_MOST = 200, SWEEP_SECONDS = 60 };
#include "tactic_sweep.h"

int main(void) { return sweep_main(); }
