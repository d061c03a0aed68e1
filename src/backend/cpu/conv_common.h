/* SPDX-License-Identifier: Apache-2.0 */
/* conv_common.h - a query about a convolution as the kernels see it. */
#ifndef HN_BACKEND_CPU_CONV_COMMON_H
#define HN_BACKEND_CPU_CONV_COMMON_H

#include "kernels/cpu/conv/conv.h"
#include "backend/cpu/epilogue.h"

/* Fills extents, strides, pads and the activation, no pointers and no units; one spatial axis becomes a height of 1.
 * Returns the reason why not: everything about shapes and dtypes is checked, formats and constants are the caller's. */
const char *hn_cpu_conv_read(const hone_query *query, hn_conv_f32 *out);

/* The same with up to three spatial axes; without the third, depths are 1. */
const char *hn_cpu_conv_read_3d(const hone_query *query, hn_conv_f32 *out);

/* The same for conv_transpose: in_* is its input, out_* its output, weights are [in_channels, out per group, kernel].
 */
const char *hn_cpu_conv_transpose_read(const hone_query *query, hn_conv_f32 *out);
/* The same for tactics that apply its activation; the other one refuses layers that have one. */
const char *hn_cpu_conv_transpose_read_activated(const hone_query *query, hn_conv_f32 *out);

/* Constants with an element for each output channel, bias and slopes, as blocked kernels want them: floats, 0 for an
 * absent input; pack writes them in whole blocks, zeros behind the last channel, and returns where they end. */
int64_t hn_cpu_conv_channel_floats(const hone_query *query, int input, const hn_conv_f32 *conv, int block);
float *hn_cpu_conv_pack_channels(const hone_query *query, int input, const hn_conv_f32 *conv, int block, float *to);

double hn_cpu_conv_flops(const hn_conv_f32 *conv);

/* A row of a convolution by matrix products, START and the tile's name; the file has scratch and describe. */
#define HN_CPU_CONV_TILE_ROW(symbol, start, op_name, suffix, ISA, ...)                                                 \
  static size_t scratch_##suffix(const hone_query *query) { return scratch(query, &hn_cpu_gemm_##suffix); }            \
  static hone_status prepare_##suffix(hone_unit *unit, const hone_query *query, void *s, hone_diagnostics *diag) {     \
    (void)unit;                                                                                                        \
    return describe(query, &hn_cpu_gemm_##suffix, s, diag);                                                            \
  }                                                                                                                    \
  const hone_tactic hn_tactic_cpu_##symbol##_##suffix = {                                                              \
      .struct_size = sizeof(hone_tactic),                                                                              \
      .name = start HN_CPU_TILE_##suffix,                                                                              \
      .version = 1,                                                                                                    \
      .op = op_name,                                                                                                   \
      .isa = HONE_ISA_##ISA,                                                                                           \
      .flags = HONE_TACTIC_REPEATABLE,                                                                                 \
      .scratch = scratch_##suffix,                                                                                     \
      .prepare = prepare_##suffix,                                                                                     \
      __VA_ARGS__,                                                                                                     \
  };

#endif
