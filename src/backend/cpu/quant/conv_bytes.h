/* SPDX-License-Identifier: Apache-2.0 */
/* conv_bytes.h - what the rows of qlinear_conv, conv_integer and conv_dynamic share. */
#ifndef HN_BACKEND_CPU_QUANT_CONV_BYTES_H
#define HN_BACKEND_CPU_QUANT_CONV_BYTES_H

#include "backend/cpu/quant/quant.h"
#include "kernels/cpu/quant/conv.h"

typedef enum hn_cpu_conv_output { HN_CPU_SUMS, HN_CPU_BYTES, HN_CPU_FLOATS } hn_cpu_conv_output;

/* One row's kernel: of how many bytes its words are, to a multiple of what
 * sums are filled up (64: tiles), how many channels lie together in blocked outputs, and about how
 * fast a thread is. */
typedef struct hn_cpu_conv_bytes_row {
  hn_conv_bytes_fn *run;
  bool is_depthwise;
  hn_cpu_conv_output output;
  int word, depth_step, channel_step, out_block;
  double efficiency; /* of deep sums, against the peak of the row's own type */
  double macs_per_ns;
} hn_cpu_conv_bytes_row;

/* Inputs that pack consumes: all of qlinear_conv's but x and the residual; weights and their zero points. */
enum { HN_CPU_QLINEAR_PACKED = (1 << 9) - 2, HN_CPU_INTEGER_PACKED = 1 << 1 | 1 << 3 };

const char *hn_cpu_conv_bytes_plan(const hone_query *query, void *state, hone_needs *needs);
hone_status hn_cpu_conv_bytes_pack(const hone_query *query, void *to);
hone_status hn_cpu_conv_bytes_launch(void *state, hone_stream *stream, const hone_launch *launch);

#endif
