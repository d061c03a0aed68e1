/* SPDX-License-Identifier: Apache-2.0 */
/* peak_cycles.c - how fast the core's clock runs: exclusive ors of registers, which no core does in less than a cycle
 * (additions of constants vanish while they are renamed on some). */
#include "kernels/cpu/peak/peak.h"

double hn_peak_cycles(int64_t rounds, float *sink) {
#if defined(__x86_64__)
  enum { CHAIN = 64 };
  uint64_t a = (uint64_t)*sink, b = 1;
  for (int64_t round = 0; round < rounds; ++round) {
    for (int i = 0; i < CHAIN; i += 8)
      __asm__ volatile("xor %1, %0; xor %0, %1; xor %1, %0; xor %0, %1; xor %1, %0; xor %0, %1; xor %1, %0; xor %0, %1"
                       : "+r"(a), "+r"(b));
  }
  *sink = (float)(a ^ b);
  return (double)CHAIN * (double)rounds;
#else
  (void)rounds, (void)sink;
  return 0;
#endif
}
