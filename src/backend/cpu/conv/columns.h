/* SPDX-License-Identifier: Apache-2.0 */
/* columns.h - where the pixels of a panel of columns meet the kernel, for convolutions that gather their own columns:
 * found once for all channels and groups. */
#ifndef HN_BACKEND_CPU_COLUMNS_H
#define HN_BACKEND_CPU_COLUMNS_H

#include "backend/cpu/conv/conv_common.h"

enum { HN_CPU_COLUMNS_PANEL = 16 /* columns of a panel at most */ };

/* Where the pixels of a panel meet one tap of the kernel. */
typedef struct hn_cpu_tap_places {
  int32_t at[HN_CPU_COLUMNS_PANEL]; /* in the input's plane; -1 in the padding */
  int32_t is_run;                   /* they lie next to each other, none in the padding */
} hn_cpu_tap_places;

/* Of `count` output pixels from `pixel` on, in a panel of `width`; what is behind them is padding. */
void hn_cpu_find_places(const hn_conv_f32 *conv, int64_t pixel, int count, int width, int64_t tap,
                        hn_cpu_tap_places *places);

static inline int64_t hn_cpu_out_pixels(const hn_conv_f32 *c) { return c->out_depth * c->out_height * c->out_width; }
static inline int64_t hn_cpu_in_plane(const hn_conv_f32 *c) { return c->in_depth * c->in_height * c->in_width; }
static inline int64_t hn_cpu_taps(const hn_conv_f32 *c) { return c->kernel_depth * c->kernel_height * c->kernel_width; }

#endif
