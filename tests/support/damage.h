/* SPDX-License-Identifier: Apache-2.0 */
/* damage.h - damaged engines: bytes flipped and ends cut off, as they are and with the checksums made right again. */
#ifndef TESTS_DAMAGE_H
#define TESTS_DAMAGE_H

#include <stddef.h>

typedef struct damage_counts {
  long tried, refused, ran;
} damage_counts;

/* An engine of so many schedules, 1 or 2, both of which run. Every stride-th byte is flipped (of the weights every
 * weights_stride-th: most of those run), and the file cut at every stride-th length. Without patched checksums anything
 * but an error in words or the right bits of the result fails the test, as does a crash; with them, an engine may be
 * another one that is right in itself: it then runs to its end. */
void damage_sweep(int schedules, size_t stride, size_t weights_stride);

#endif
