/* SPDX-License-Identifier: Apache-2.0 */
/* conv_common.h - a query about a convolution as the kernels see it. */
#ifndef HN_BACKEND_CPU_CONV_COMMON_H
#define HN_BACKEND_CPU_CONV_COMMON_H

#include "kernels/cpu/conv/conv.h"
#include "backend/cpu/epilogue.h"

/* Fills extents, strides, pads and the activation, no pointers and no units; one spatial axis becomes a height of 1.
 * Returns the reason why not: everything about shapes and dtypes is checked, formats and constants are the caller's. */
const char *hn_cpu_conv_read(const hone_query *query, hn_conv_f32 *out);

/* The same for affine_conv; inputs 5 and 6 are the caller's. */
const char *hn_cpu_conv_read_affine(const hone_query *query, hn_conv_f32 *out);

/* The same with up to three spatial axes; without the third, depths are 1. */
const char *hn_cpu_conv_read_3d(const hone_query *query, hn_conv_f32 *out);

/* The same for conv_transpose: in_* is its input, out_* its output, weights are [in_channels, out per group, kernel].
 */
const char *hn_cpu_conv_transpose_read(const hone_query *query, hn_conv_f32 *out);
/* That with up to three spatial axes. */
const char *hn_cpu_conv_transpose_read_3d(const hone_query *query, hn_conv_f32 *out);

/* For tactics that pack weights, bias and slopes: these inputs; and why not, or NULL. */
enum { HN_CPU_CONV_PACKED = 1 << 1 | 1 << 2 | 1 << 4 };
const char *hn_cpu_conv_constants(const hone_query *query);

/* A constant with an element for each channel as blocked kernels want it, behind packed weights: whole blocks, zeros
 * behind the last channel; nothing for an absent input. */
void hn_cpu_conv_pack_channels(const hone_query *query, int input, int64_t channels, int block, float *to);

/* Where bias and slopes of one convolution lie in what pack wrote, in floats: behind its weights, in this order. */
typedef struct hn_cpu_conv_layout {
  int64_t bias_at, slopes_at, end;
  bool has_residual;
} hn_cpu_conv_layout;
hn_cpu_conv_layout hn_cpu_conv_lay_out(const hone_query *query, const hn_conv_f32 *conv, int block,
                                       int64_t weight_floats);
void hn_cpu_conv_pack_epilogue(const hone_query *query, const hn_cpu_conv_layout *layout, const hn_conv_f32 *conv,
                               int block, float *packed);
/* The pointers of one launch. */
void hn_cpu_conv_bind(const hn_cpu_conv_layout *layout, const hone_launch *launch, hn_conv_f32 *conv);

/* A variant's parameter, or what stands for one that is absent or not in 1 .. most. */
int64_t hn_cpu_conv_param(const hone_query *query, int index, int64_t most, int64_t otherwise);

double hn_cpu_conv_flops(const hn_conv_f32 *conv);

#endif
