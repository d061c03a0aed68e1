/* SPDX-License-Identifier: Apache-2.0 */
/* test_tactics.c - the sweep over all tactics and cases, as long as a quick run can wait. */
enum {
  SWEEP_FIRST = 0,
  SWEEP_LEAST = 1,
  SWEEP_MOST = 8,
  SWEEP_SECONDS = 10,
  SWEEP_ONE_VARIANT = 0,
  SWEEP_MORE_ROUNDS = 20
};
#include "tactic_sweep.h"

int main(void) { return sweep_main(); }
