/* SPDX-License-Identifier: Apache-2.0 */
/* test_small_caches.c - the sweep over products and convolutions with a second cache so small that their blocks and
 * bands are, too. */
#define SWEEP_CASES "cases_gemm_conv.inc"
#define SWEEP_L2_BYTES 12000
enum {
  SWEEP_FIRST = 0,
  SWEEP_LEAST = 1,
  SWEEP_MOST = 4,
  SWEEP_SECONDS = 5,
  SWEEP_ONE_VARIANT = 1,
  SWEEP_MORE_ROUNDS = 0
};
#include "tactic_sweep.h"

int main(void) { return sweep_main(); }
