/* SPDX-License-Identifier: Apache-2.0 */
/* bytes.h - what the rows on bytes share: types, scales and zero points, and how sums become bytes (docs/NUMERICS.md).
 * Scales, zero points and biases are constants: a product's requantisation is known when it is packed. */
#ifndef HN_BACKEND_CUDA_BYTES_H
#define HN_BACKEND_CUDA_BYTES_H

#include "backend/cuda/product/tensor.h"

static inline bool hn_cuda_is_byte(hone_dtype dtype) { return dtype == HONE_U8 || dtype == HONE_I8; }

/* Element i of a constant of bytes, and of f32, of which there may be one for all. */
int hn_cuda_byte_at(const hone_tensor *constant, int64_t i);
float hn_cuda_scale_at(const hone_tensor *constant, int64_t i);
/* NULL when input `scale` is one f32 and the next one zero point of this type, both constant. */
const char *hn_cuda_check_scale(const hone_query *query, int scale, hone_dtype dtype);
/* Is input i a plain constant of this type, of one element or of `count`? */
bool hn_cuda_is_vector(const hone_query *query, int input, hone_dtype dtype, int64_t count);
/* Attributes low and high (or two others) within output 0's type; true: they are narrower. */
bool hn_cuda_byte_bounds(const hone_query *query, const char *low_name, const char *high_name, int *low, int *high);

/* A kernel whose threads (args.h) have one piece each. */
hone_status hn_cuda_bytes_launch(hone_stream *stream, hn_cuda_builtin kernel, unsigned pieces, void **arguments);

/* ---- products: where the ports of a quantised layer are; 0: it has none (x is port 0) ---- */
typedef struct hn_cuda_byte_ports {
  int x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias, residual;
} hn_cuda_byte_ports;

/* Of a channel's `depth` weights `count` from `first` on, as signed bytes. */
typedef void hn_cuda_read_channel(const hone_query *query, int64_t channel, int64_t depth, int64_t first, int64_t count,
                                  int8_t *out);

/* That of qlinear_conv, whose weights are port 3. */
hn_cuda_read_channel hn_cuda_bytes_conv_channel;

/* Types, scales and constants of a layer of `outputs` channels whose sums have `depth` products each. Else why not. */
const char *hn_cuda_bytes_begin(const hone_query *query, const hn_cuda_byte_ports *ports, int64_t outputs,
                                int64_t depth, hn_cuda_read_channel *read, hn_cuda_tensor_plan *p);
/* Where output channel's row of packed weights is: in the order that blocks which last want. */
int64_t hn_cuda_bytes_row(const hn_cuda_tensor_plan *p, int64_t channel);
/* What sums of the channels begin with, and their scales. */
typedef struct hn_cuda_byte_vectors {
  int32_t *begins;
  float *scales;
} hn_cuda_byte_vectors;
void hn_cuda_bytes_fill(const hone_query *query, const hn_cuda_byte_ports *ports, int64_t outputs, int64_t depth,
                        hn_cuda_read_channel *read, const hn_cuda_byte_vectors *to);
/* Zeros the packed rows of a product, and fills the vectors behind them. */
void hn_cuda_bytes_vectors(const hone_query *query, const hn_cuda_byte_ports *ports, const hn_cuda_tensor_plan *p,
                           int64_t depth, hn_cuda_read_channel *read, void *to);

#endif
