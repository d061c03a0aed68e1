/* SPDX-License-Identifier: Apache-2.0 */
/* bytes.c - what the rows on bytes share. */
#include "backend/cuda/bytes/bytes.h"
#include <math.h>
#include <stdlib.h> /* abs */
#include <string.h>

/* Below it a kernel rounds by one addition (kernels/cuda/tensor/bytes.cuh). */
static const double most_scaled = HN_CUDA_ROUNDED;

int hn_cuda_byte_at(const hone_tensor *constant, int64_t i) {
  const int64_t at = hn_cuda_elements(&constant->type.shape) == 1 ? 0 : i;
  return constant->type.dtype == HONE_I8 ? ((const int8_t *)constant->data)[at] : ((const uint8_t *)constant->data)[at];
}

float hn_cuda_scale_at(const hone_tensor *constant, int64_t i) {
  return ((const float *)constant->data)[hn_cuda_elements(&constant->type.shape) == 1 ? 0 : i];
}

bool hn_cuda_is_vector(const hone_query *query, int input, hone_dtype dtype, int64_t count) {
  const hone_type *type = &query->in[input].type;
  if (input >= query->in_count || type->kind != HONE_TENSOR || type->dtype != dtype || type->format != HONE_PLAIN)
    return false;
  const int64_t elements = hn_cuda_elements(&type->shape);
  return (query->constant_mask >> input & 1) && (elements == 1 || elements == count);
}

const char *hn_cuda_check_scale(const hone_query *query, int scale, hone_dtype dtype) {
  if (!hn_cuda_is_vector(query, scale, HONE_F32, 1)) return "a scale is not one constant f32";
  return hn_cuda_is_vector(query, scale + 1, dtype, 1) ? NULL : "a zero point is not one constant of its tensor's type";
}

static int within(int64_t value, int low, int high) { return (int)(value < low ? low : value > high ? high : value); }

bool hn_cuda_byte_bounds(const hone_query *query, const char *low_name, const char *high_name, int *low, int *high) {
  const int least = query->out[0].type.dtype == HONE_I8 ? -128 : 0, most = least + 255;
  *low = within(hn_cuda_attr_int(query->attrs, low_name, least), least, most);
  *high = within(hn_cuda_attr_int(query->attrs, high_name, most), least, most);
  return *low > least || *high < most;
}

hone_status hn_cuda_bytes_launch(hone_stream *stream, hn_cuda_builtin kernel, unsigned pieces, void **arguments) {
  enum { THREADS = HN_CUDA_BYTES_THREADS };
  const hn_cuda_shape shape = {.grid = {(pieces + THREADS - 1) / THREADS, 1, 1}, .threads = THREADS, .dependent = true};
  return hn_cuda_launch_shaped(stream, kernel, &shape, arguments);
}

/* ---- products ---- */

static bool given(const hone_query *query, int port) { return port > 0 && hn_cuda_given(query, port); }

static const char *check_types(const hone_query *query, const hn_cuda_byte_ports *at, int64_t outputs) {
  const hone_dtype x = query->in[0].type.dtype, w = query->in[at->w].type.dtype;
  if (!hn_cuda_is_byte(x) || !hn_cuda_is_byte(w)) return "it is not of bytes";
  if (!(query->constant_mask >> at->w & 1) || query->in[at->w].type.format != HONE_PLAIN)
    return "its weights are not constant";
  if (given(query, at->x_zero) && !hn_cuda_is_vector(query, at->x_zero, x, 1))
    return "the input's zero point is not one constant";
  if (given(query, at->w_zero) && !hn_cuda_is_vector(query, at->w_zero, w, outputs))
    return "the weights' zero points are not constant";
  if (given(query, at->bias) && (!hn_cuda_is_vector(query, at->bias, HONE_I32, outputs) ||
                                 hn_cuda_elements(&query->in[at->bias].type.shape) != outputs))
    return "the bias is not one constant i32 for each output channel";
  if (!at->y_scale) return NULL;
  HN_TRY_REASON(hn_cuda_check_scale(query, at->x_scale, x));
  HN_TRY_REASON(hn_cuda_check_scale(query, at->y_scale, query->out[0].type.dtype));
  if (query->out[0].type.dtype != x) return "the types of input and output differ";
  return hn_cuda_is_vector(query, at->w_scale, HONE_F32, outputs) ? NULL : "the weights' scales are not constant f32";
}

/* Of the weights as signed bytes: u8 less 128. */
static int shift_of(const hone_query *query, const hn_cuda_byte_ports *at) {
  return query->in[at->w].type.dtype == HONE_U8 ? 128 : 0;
}

static const char *check_w_zero(const hone_query *query, const hn_cuda_byte_ports *at, int64_t outputs) {
  const int shift = shift_of(query, at);
  const char *reason = "its weights have a zero point";
  if (!given(query, at->w_zero)) return shift ? reason : NULL;
  const hone_tensor *zero = query->in[at->w_zero].constant;
  if (!zero || !zero->data) return NULL; /* packed */
  const int64_t count = hn_cuda_elements(&zero->type.shape) == 1 ? 1 : outputs;
  for (int64_t i = 0; i < count; ++i)
    if (hn_cuda_byte_at(zero, i) != shift) return reason;
  return NULL;
}

/* (x_scale * w_scale) / y_scale, each step rounded to f32. */
static float scale_of(const hone_query *query, const hn_cuda_byte_ports *at, int64_t channel) {
  const float product =
      hn_cuda_scale_at(query->in[at->x_scale].constant, 0) * hn_cuda_scale_at(query->in[at->w_scale].constant, channel);
  return product / hn_cuda_scale_at(query->in[at->y_scale].constant, 0);
}

static double bias_of(const hone_query *query, const hn_cuda_byte_ports *at, int64_t channel) {
  return given(query, at->bias) ? fabs((double)((const int32_t *)query->in[at->bias].constant->data)[channel]) : 0;
}

/* Of a channel's weights, or of their sizes. */
static int64_t sum_of(const hone_query *query, int64_t channel, int64_t depth, hn_cuda_read_channel *read, bool sizes) {
  enum { PIECE = 512 };
  int8_t piece[PIECE];
  int64_t sum = 0;
  for (int64_t first = 0; first < depth; first += PIECE) {
    const int64_t count = depth - first < PIECE ? depth - first : PIECE;
    read(query, channel, depth, first, count, piece);
    for (int64_t i = 0; i < count; ++i) sum += sizes ? abs(piece[i]) : piece[i];
  }
  return sum;
}

/* By the depth alone; where that does not do, by the weights themselves. */
static const char *check_range(const hone_query *query, const hn_cuda_byte_ports *at, int64_t outputs, int64_t depth,
                               hn_cuda_read_channel *read) {
  if (!query->in[at->w].constant || !query->in[at->w].constant->data) return NULL; /* packed: it was asked before */
  for (int64_t c = 0; c < outputs; ++c) {
    const double scale = fabs((double)scale_of(query, at, c)), bias = bias_of(query, at, c);
    if (((double)depth * 255 * 128 + bias) * scale < most_scaled) continue;
    const double most = 255 * (double)sum_of(query, c, depth, read, true) + bias;
    if (!(most * scale < most_scaled)) return "its sums are too large for their scale";
  }
  return NULL;
}

static const char *read_sum(const hone_query *query, hn_cuda_bytes *q) {
  q->own_last = hn_cuda_attr_int(query->attrs, "own_last", 0) != 0;
  q->own_ratio = (float)hn_cuda_attr_float(query->attrs, "own_ratio", 1);
  q->residual_ratio = (float)hn_cuda_attr_float(query->attrs, "residual_ratio", 1);
  q->shift = (float)hn_cuda_attr_float(query->attrs, "sum_shift", 0);
  q->sum_bounded = hn_cuda_byte_bounds(query, "sum_low", "sum_high", &q->sum_low, &q->sum_high);
  q->own_top = (float)(HN_CUDA_ROUNDING + q->high - q->zero) / 256;
  q->own_span = (float)(q->high - q->low) / 256;
  q->residual_256th = q->residual_ratio / 256;
  q->shift_256th = q->shift / 256;
  const double most = 255 * (fabs((double)q->own_ratio) + fabs((double)q->residual_ratio)) + fabs((double)q->shift);
  return most < most_scaled ? NULL : "its residual is too large for its scale";
}

const char *hn_cuda_bytes_begin(const hone_query *query, const hn_cuda_byte_ports *at, int64_t outputs, int64_t depth,
                                hn_cuda_read_channel *read, hn_cuda_tensor_plan *p) {
  enum { MOST_DEPTH = 1 << 24 };
  if (at->w >= query->in_count || outputs < 1 || depth < 1 || depth > MOST_DEPTH)
    return "it has no weights, or too many";
  HN_TRY_REASON(check_types(query, at, outputs));
  HN_TRY_REASON(check_w_zero(query, at, outputs));
  *p = (hn_cuda_tensor_plan){.groups = 1,
                             .together = 1,
                             .type = query->in[0].type.dtype == HONE_I8 ? HN_CUDA_TENSOR_I8 : HN_CUDA_TENSOR_U8,
                             .residual = given(query, at->residual) ? at->residual : 0};
  hn_cuda_bytes *q = &p->args.bytes;
  q->pad = given(query, at->x_zero)
               ? (unsigned)(uint8_t)hn_cuda_byte_at(query->in[at->x_zero].constant, 0) * 0x01010101u
               : 0;
  if (!at->y_scale) return NULL;
  HN_TRY_REASON(check_range(query, at, outputs, depth, read));
  q->zero = hn_cuda_byte_at(query->in[at->y_zero].constant, 0);
  q->bounded = hn_cuda_byte_bounds(query, "low", "high", &q->low, &q->high);
  return p->residual ? read_sum(query, q) : NULL;
}

/* The inverse of what a lane finds: column 8 j + 2 q + e of 64 is channel 16 q + 2 j + e (lasting.cuh). */
int64_t hn_cuda_bytes_row(const hn_cuda_tensor_plan *p, int64_t channel) {
  if (!p->lasts) return channel;
  const int64_t c = channel % 64, q = c / 16, j = c % 16 / 2, e = c % 2;
  return channel - c + 8 * j + 2 * q + e;
}

void hn_cuda_bytes_fill(const hone_query *query, const hn_cuda_byte_ports *at, int64_t outputs, int64_t depth,
                        hn_cuda_read_channel *read, const hn_cuda_byte_vectors *to) {
  const int64_t x_zero = given(query, at->x_zero) ? hn_cuda_byte_at(query->in[at->x_zero].constant, 0) : 0;
  const int32_t *bias = given(query, at->bias) ? query->in[at->bias].constant->data : NULL;
  for (int64_t c = 0; c < outputs; ++c) {
    const int64_t begin = (bias ? bias[c] : 0) - x_zero * sum_of(query, c, depth, read, false);
    to->begins[c] = (int32_t)(uint32_t)(uint64_t)begin; /* wraps, as sums do */
    to->scales[c] = at->y_scale ? scale_of(query, at, c) : 1;
  }
}

/* u8 whose zero point and low bound are zero, and nothing is added: as lasting.cuh asks it. */
static bool starts_at_zero(const hn_cuda_tensor_plan *p) {
  return p->type == HN_CUDA_TENSOR_U8 && !p->residual && !p->args.bytes.bounded && p->args.bytes.zero == 0;
}

/* Zero, or far enough from denormals. */
static bool is_plain_factor(double value) { return value == 0 || fabs(value) > 1e-30; }

/* Do the short steps of tensor/bytes.cuh give the same? */
static bool ends_soon(const hone_query *query, const hn_cuda_tensor_plan *p, int64_t depth, hn_cuda_read_channel *read,
                      const int32_t *begins, const float *scales) {
  const hn_cuda_bytes *q = &p->args.bytes;
  if (p->residual && (q->sum_bounded || (p->type == HN_CUDA_TENSOR_U8 && q->low > 0))) return false;
  if (p->residual &&
      !(is_plain_factor(q->own_ratio) && is_plain_factor(q->residual_ratio) && is_plain_factor(q->shift)))
    return false;
  for (int64_t c = 0; c < (int64_t)p->args.n * p->groups; ++c) {
    const int64_t sizes = sum_of(query, c, depth, read, true), sum = sum_of(query, c, depth, read, false);
    const int64_t most = p->type == HN_CUDA_TENSOR_I8 ? 128 * sizes : 255 * (sizes + llabs(sum)) / 2; /* of one sign */
    if (most >= HN_CUDA_ROUNDED || llabs((long long)begins[c]) > HN_CUDA_ROUNDED || !is_plain_factor(scales[c]))
      return false;
  }
  return true;
}

/* As the lanes of blocks that last read them: channel 16 q + 4 i + e is number 16 i + 4 q + e (lasting.cuh). */
enum { GROUP = 64 };
static void spread(int32_t *words) {
  int32_t as_channels[GROUP];
  memcpy(as_channels, words, sizeof as_channels);
  for (int c = 0; c < GROUP; ++c) words[c % 16 / 4 * 16 + c / 16 * 4 + c % 4] = as_channels[c];
}

void hn_cuda_bytes_vectors(const hone_query *query, const hn_cuda_byte_ports *at, const hn_cuda_tensor_plan *p,
                           int64_t depth, hn_cuda_read_channel *read, void *to) {
  const int64_t rows_bytes = hn_cuda_tensor_rows_bytes(p), outputs = (int64_t)p->args.n * p->groups;
  int32_t *begins = (int32_t *)((char *)to + rows_bytes);
  memset(to, 0, (size_t)(rows_bytes + hn_cuda_tensor_byte_words(p) * (int64_t)sizeof(float)));
  hn_cuda_bytes_fill(query, at, outputs, depth, read,
                     &(hn_cuda_byte_vectors){begins, (float *)(begins + p->args.scales_at)});
  float *scales = (float *)(begins + p->args.scales_at);
  if (!p->lasts) return;
  const bool soon = ends_soon(query, p, depth, read, begins, scales), from_zero = starts_at_zero(p);
  for (int64_t c = 0; soon && c < outputs; ++c) {
    const float begin = (float)(begins[c] - HN_CUDA_ROUNDING);
    memcpy(&begins[c], &begin, sizeof begin);
    if (from_zero) scales[c] /= 256;
  }
  begins[2 * p->args.scales_at] = soon;
  for (int64_t c = 0; c < 2 * (int64_t)p->args.scales_at; c += GROUP) spread(begins + c);
}
