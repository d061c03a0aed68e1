/* SPDX-License-Identifier: Apache-2.0 */
/* peak_halves.c - multiply-adds of halves, of the instruction set that has them: sums of bf16 in f32, on vectors or
 * tiles, or f16 in f16. Sixteen chains hide eight cycles of latency on two ports. */
/* isa: avx512_bf16 avx512_fp16 amx_bf16 */
#include "kernels/cpu/amx.inc.h"
#include "kernels/cpu/peak/peak.h"

#if defined(HN_SIMD_AMX_BF16)
double HN_SIMD_NAME(hn_peak_halves)(int64_t rounds, float *sink) {
  _Alignas(AMX_ROW_BYTES) uint16_t ones[AMX_ROWS * AMX_ROW_BYTES / sizeof(uint16_t)];
  _Alignas(AMX_ROW_BYTES) float sum[AMX_ROWS * AMX_WORDS];
  amx_tiles tiles;
  for (size_t i = 0; i < sizeof ones / sizeof *ones; ++i) ones[i] = bf16_from_f32(*sink);
  amx_begin(&tiles);
  amx_zero(&tiles, 0);
  amx_zero(&tiles, 1);
  amx_zero(&tiles, 2);
  amx_zero(&tiles, 3);
  amx_load(&tiles, 4, ones, AMX_ROW_BYTES);
  amx_load(&tiles, 5, ones, AMX_ROW_BYTES);
  for (int64_t round = 0; round < rounds; ++round) {
    amx_dot_bf16(&tiles, 0, 4, 5);
    amx_dot_bf16(&tiles, 1, 4, 5);
    amx_dot_bf16(&tiles, 2, 4, 5);
    amx_dot_bf16(&tiles, 3, 4, 5);
  }
  amx_store(&tiles, 0, sum, AMX_ROW_BYTES);
  amx_end(&tiles);
  *sink = sum[0];
  return 2.0 * 4 * AMX_ROWS * AMX_WORDS * 32 * (double)rounds;
}
#else
#if defined(HN_SIMD_AVX512_BF16)
typedef __m512 chain;
enum { PRODUCTS = 32 };
HN_INLINE chain chain_of(float x) { return _mm512_set1_ps(x); }
HN_INLINE chain longer(chain c, float x) {
  const __m512bh pairs = (__m512bh)_mm512_set1_epi16((int16_t)bf16_from_f32(x));
  return _mm512_dpbf16_ps(c, pairs, pairs);
}
HN_INLINE chain joined(chain a, chain b) { return _mm512_add_ps(a, b); }
HN_INLINE float first_of(chain c) { return _mm512_cvtss_f32(c); }
#else
typedef __m512h chain;
enum { PRODUCTS = 32 };
HN_INLINE chain chain_of(float x) { return _mm512_set1_ph((_Float16)x); }
HN_INLINE chain longer(chain c, float x) { return _mm512_fmadd_ph(c, chain_of(0.5F), chain_of(x)); }
HN_INLINE chain joined(chain a, chain b) { return _mm512_add_ph(a, b); }
HN_INLINE float first_of(chain c) { return (float)_mm512_cvtsh_h(c); }
#endif

double HN_SIMD_NAME(hn_peak_halves)(int64_t rounds, float *sink) {
  enum { CHAINS = 16 };
  const float x = *sink; /* not known to the compiler */
  chain chains[CHAINS];
  HN_UNROLL
  for (int i = 0; i < CHAINS; ++i) chains[i] = chain_of((float)i);
  for (int64_t round = 0; round < rounds; ++round) {
    HN_UNROLL
    for (int i = 0; i < CHAINS; ++i) chains[i] = longer(chains[i], x);
  }
  HN_UNROLL
  for (int i = 1; i < CHAINS; ++i) chains[0] = joined(chains[0], chains[i]);
  *sink = first_of(chains[0]);
  return 2.0 * CHAINS * PRODUCTS * (double)rounds;
}
#endif
