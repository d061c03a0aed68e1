/* SPDX-License-Identifier: Apache-2.0 */
/* peak_f32.c - the loops. Twelve chains hide four cycles of latency on three ports. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/peak/peak.h"
#include "kernels/cpu/simd.inc.h"

enum { CHAINS = 12 };

HN_INLINE float lane_sum(vf v) {
  float lane[HN_LANES], sum = 0;
  v_store(lane, v);
  for (int i = 0; i < HN_LANES; ++i) sum += lane[i];
  return sum;
}

double HN_SIMD_NAME(hn_peak_fma_f32)(int64_t rounds, float *sink) {
  vf chain[CHAINS], factor = v_set(0.999F), step = v_set(*sink); /* *sink is not known to the compiler */
  HN_UNROLL
  for (int i = 0; i < CHAINS; ++i) chain[i] = v_set((float)i);
  for (int64_t round = 0; round < rounds; ++round) {
    HN_UNROLL
    for (int i = 0; i < CHAINS; ++i) chain[i] = chain[i] * factor + step;
  }
  HN_UNROLL
  for (int i = 1; i < CHAINS; ++i) chain[0] += chain[i];
  *sink = lane_sum(chain[0]);
  return 2.0 * CHAINS * HN_LANES * (double)rounds;
}

void HN_SIMD_NAME(hn_peak_read_f32)(const float *x, int64_t begin, int64_t end, int64_t times, float *sink) {
  enum { STEP = 16 };
  vf sum[STEP];
  float total = 0;
  HN_UNROLL
  for (int j = 0; j < STEP; ++j) sum[j] = v_set(0);
  for (; times > 0; --times) {
    int64_t i = begin;
    for (; end - i >= STEP * HN_LANES; i += STEP * HN_LANES) {
      HN_UNROLL
      for (int j = 0; j < STEP; ++j) {
        sum[j] += v_load(x + i + j * HN_LANES);
        __asm__ volatile("" ::: "memory"); /* line after line, as prefetchers expect it; compilers mix them */
      }
    }
    for (; i < end; ++i) total += x[i];
  }
  HN_UNROLL
  for (int j = 1; j < STEP; ++j) sum[0] += sum[j];
  *sink = total + lane_sum(sum[0]);
}
