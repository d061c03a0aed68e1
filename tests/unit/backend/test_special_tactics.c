/* SPDX-License-Identifier: Apache-2.0 */
/* test_special_tactics.c - the sweep over all tactics with NaN, infinities, zeros of both signs, subnormals and no
 * elements at all among their inputs. */
#define SWEEP_CASES "cases_special.inc"
enum {
  SWEEP_FIRST = 0,
  SWEEP_LEAST = 1,
  SWEEP_MOST = 6,
  SWEEP_SECONDS = 5,
  SWEEP_ONE_VARIANT = 0,
  SWEEP_MORE_ROUNDS = 0
};
#include "tactic_sweep.h"

int main(void) { return sweep_main(); }
