/* SPDX-License-Identifier: Apache-2.0 */
/* test_tactics_slow.c - the sweep over all tactics and cases, with more shapes: round 0, with every variant, is
 * test_tactics.c's. */
enum {
  SWEEP_FIRST = 1,
  SWEEP_LEAST = 1,
  SWEEP_MOST = 200,
  SWEEP_SECONDS = 10,
  SWEEP_ONE_VARIANT = 1,
  SWEEP_MORE_ROUNDS = 20
};
#include "tactic_sweep.h"

int main(void) { return sweep_main(); }
