/* SPDX-License-Identifier: Apache-2.0 */
/* peak_drop.c - memory that no cache holds. Third caches of today keep parts of what is read again and again even
 * where it is several times their size (they do not drop the oldest first), so that size alone is no proof. */
#include "kernels/cpu/peak/peak.h"

void hn_peak_drop_f32(const float *x, int64_t begin, int64_t end) {
#if defined(__x86_64__)
  enum { LINE = 64 / sizeof(float) };
  for (int64_t i = begin; i < end; i += LINE) __builtin_ia32_clflush(x + i);
  __builtin_ia32_mfence();
#else
  (void)x, (void)begin, (void)end;
#endif
}
