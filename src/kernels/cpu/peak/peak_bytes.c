/* SPDX-License-Identifier: Apache-2.0 */
/* peak_bytes.c - multiply-adds of bytes in 32-bit sums: by dots of four, on tiles, or of bytes widened to words where
 * there is neither. Sixteen chains hide eight cycles of latency on two ports. */
/* isa: avx2 avx_vnni avx512_vnni amx_int8 */
#include "kernels/cpu/amx.inc.h"
#include "kernels/cpu/peak/peak.h"

#if defined(HN_SIMD_AMX_INT8)
double HN_SIMD_NAME(hn_peak_bytes)(int64_t rounds, float *sink) {
  _Alignas(AMX_ROW_BYTES) int8_t ones[AMX_ROWS * AMX_ROW_BYTES];
  _Alignas(AMX_ROW_BYTES) int32_t sum[AMX_ROWS * AMX_WORDS];
  amx_tiles tiles;
  for (size_t i = 0; i < sizeof ones; ++i) ones[i] = (int8_t)*sink;
  amx_begin(&tiles);
  amx_zero(&tiles, 0);
  amx_zero(&tiles, 1);
  amx_zero(&tiles, 2);
  amx_zero(&tiles, 3);
  amx_load(&tiles, 4, ones, AMX_ROW_BYTES);
  amx_load(&tiles, 5, ones, AMX_ROW_BYTES);
  for (int64_t round = 0; round < rounds; ++round) {
    amx_dot_u8s8(&tiles, 0, 4, 5);
    amx_dot_u8s8(&tiles, 1, 4, 5);
    amx_dot_u8s8(&tiles, 2, 4, 5);
    amx_dot_u8s8(&tiles, 3, 4, 5);
  }
  amx_store(&tiles, 0, sum, AMX_ROW_BYTES);
  amx_end(&tiles);
  *sink = (float)sum[0];
  return 2.0 * 4 * AMX_ROWS * AMX_WORDS * 64 * (double)rounds;
}
#else
#if defined(HN_SIMD_AVX512_VNNI)
typedef __m512i chain;
enum { PRODUCTS = 64 };
HN_INLINE chain chain_of(int x) { return _mm512_set1_epi32(x); }
HN_INLINE chain longer(chain c, chain x) { return _mm512_dpbusd_epi32(c, x, x); }
HN_INLINE chain joined(chain a, chain b) { return _mm512_add_epi32(a, b); }
HN_INLINE int first_of(chain c) { return _mm512_cvtsi512_si32(c); }
#else
typedef __m256i chain;
HN_INLINE chain chain_of(int x) { return _mm256_set1_epi32(x); }
HN_INLINE chain joined(chain a, chain b) { return _mm256_add_epi32(a, b); }
HN_INLINE int first_of(chain c) { return _mm256_cvtsi256_si32(c); }
#if defined(HN_SIMD_AVX_VNNI)
enum { PRODUCTS = 32 };
HN_INLINE chain longer(chain c, chain x) { return _mm256_dpbusd_avx_epi32(c, x, x); }
#else
enum { PRODUCTS = 16 };
HN_INLINE chain longer(chain c, chain x) { return _mm256_add_epi32(c, _mm256_madd_epi16(c, x)); }
#endif
#endif

double HN_SIMD_NAME(hn_peak_bytes)(int64_t rounds, float *sink) {
  enum { CHAINS = 16 };
  const chain x = chain_of((int)*sink); /* not known to the compiler */
  chain chains[CHAINS];
  HN_UNROLL
  for (int i = 0; i < CHAINS; ++i) chains[i] = chain_of(i);
  for (int64_t round = 0; round < rounds; ++round) {
    HN_UNROLL
    for (int i = 0; i < CHAINS; ++i) chains[i] = longer(chains[i], x);
  }
  HN_UNROLL
  for (int i = 1; i < CHAINS; ++i) chains[0] = joined(chains[0], chains[i]);
  *sink = (float)first_of(chains[0]);
  return 2.0 * CHAINS * PRODUCTS * (double)rounds;
}
#endif
