/* SPDX-License-Identifier: Apache-2.0 */
/* peak_f64.c - multiply-adds of doubles, on vectors as wide as those of f32. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/peak/peak.h"
#include "kernels/cpu/simd.inc.h"

enum { CHAINS = 12, DOUBLES = HN_LANES / 2 };
typedef double chain __attribute__((vector_size(DOUBLES * sizeof(double))));

double HN_SIMD_NAME(hn_peak_fma_f64)(int64_t rounds, float *sink) {
  chain chains[CHAINS];
  const chain zero = {0}, factor = zero + 0.999, step = zero + (double)*sink; /* not known to the compiler */
  HN_UNROLL
  for (int i = 0; i < CHAINS; ++i) chains[i] = zero + (double)i;
  for (int64_t round = 0; round < rounds; ++round) {
    HN_UNROLL
    for (int i = 0; i < CHAINS; ++i) chains[i] = chains[i] * factor + step;
  }
  HN_UNROLL
  for (int i = 1; i < CHAINS; ++i) chains[0] += chains[i];
  double sum = 0;
  for (int lane = 0; lane < DOUBLES; ++lane) sum += chains[0][lane];
  *sink = (float)sum;
  return 2.0 * CHAINS * DOUBLES * (double)rounds;
}
