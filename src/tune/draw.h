/* SPDX-License-Identifier: Apache-2.0 */
/* draw.h - what nodes on the bench read: seeded numbers of an input's type, or what is known of it. */
#ifndef HN_TUNE_DRAW_H
#define HN_TUNE_DRAW_H

#include "base/random.h"
#include "tune/tuning.h"

/* Elements [first, end) of a tensor. is_short: with so few bits that halves of either kind hold them, too. */
void hn_draw(hone_tensor *tensor, int64_t first, int64_t end, const hone_fact *fact, bool is_short, hn_random *random);
/* Lengths that leave nothing out: zeros, as other whole numbers get, would be sequences without a step. */
void hn_draw_lengths(hone_tensor *lengths, const hone_shape *x);

#endif
