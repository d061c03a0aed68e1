/* SPDX-License-Identifier: Apache-2.0 */
/* conv_common.c - reading and checking the geometry of convolutions. The limits keep every product of the kernels'
 * index arithmetic inside its type, whatever a file says. */
#include "backend/cpu/conv/conv_common.h"
#include "tensor/sliding.h"

static const int64_t extent_limit = 1 << 24; /* of any axis, pad, channel count */
static const int64_t step_limit = 1 << 16;   /* of strides */
static const double size_limit = 1e12;       /* floats of packed weights */

static bool within(int64_t value, int64_t low, int64_t high) { return value >= low && value <= high; }

static const char *read_axes(const hn_sliding *s, hn_conv_f32 *c) {
  const int x = s->spatial - 1;
  for (int i = 0; i < s->spatial; ++i) {
    if (!within(s->in[i], 1, extent_limit) || !within(s->out[i], 1, extent_limit)) return "an image axis is too large";
    if (!within(s->kernel[i], 1, extent_limit) || !within(s->stride[i], 1, step_limit) ||
        !within(s->dilation[i], 1, extent_limit))
      return "the kernel, a stride or a dilation is too large";
    if (!within(s->pad_begin[i], 0, extent_limit) || !within(s->pad_end[i], 0, extent_limit))
      return "a pad is too large";
    if ((s->kernel[i] - 1) * s->dilation[i] > 4 * extent_limit) return "the kernel reaches too far";
  }
  const int y = x - 1, z = x - 2;
  c->in_height = c->out_height = c->kernel_height = c->stride_height = c->dilation_height = 1;
  c->in_depth = c->out_depth = c->kernel_depth = c->stride_depth = c->dilation_depth = 1;
  if (y >= 0) {
    c->in_height = s->in[y], c->out_height = s->out[y], c->kernel_height = s->kernel[y];
    c->stride_height = s->stride[y], c->dilation_height = s->dilation[y], c->pad_top = s->pad_begin[y];
  }
  if (z >= 0) {
    c->in_depth = s->in[z], c->out_depth = s->out[z], c->kernel_depth = s->kernel[z];
    c->stride_depth = s->stride[z], c->dilation_depth = s->dilation[z], c->pad_front = s->pad_begin[z];
  }
  c->in_width = s->in[x], c->out_width = s->out[x], c->kernel_width = s->kernel[x];
  c->stride_width = s->stride[x], c->dilation_width = s->dilation[x], c->pad_left = s->pad_begin[x];
  if (c->in_height * c->in_width > INT32_MAX / c->in_depth || c->out_height * c->out_width > INT32_MAX / c->out_depth)
    return "an image has too many pixels";
  return NULL;
}

/* dtypes, ranks, and the extents that x, w and y share; w's dims 0 and 1 are the caller's. */
static const char *read_ports(const hone_query *query, int most, int axes, hn_conv_f32 *c) {
  HN_TRY_REASON(hn_cpu_check(query, 2, most, 1));
  const hone_type *x = &query->in[0].type, *w = &query->in[1].type, *y = &query->out[0].type;
  if (x->kind != HONE_TENSOR || x->dtype != HONE_F32 || y->kind != HONE_TENSOR || y->dtype != HONE_F32 ||
      !hn_cpu_is(&query->in[1], HONE_F32, HONE_PLAIN))
    return "it is not f32";
  if (!within(x->shape.rank, 3, 2 + axes)) return "it has more than two spatial axes";
  if (w->shape.rank != x->shape.rank || y->shape.rank != x->shape.rank) return "the ranks differ";
  for (int i = 0; i < x->shape.rank; ++i)
    if (!within(x->shape.dim[i], 1, extent_limit) || !within(w->shape.dim[i], 1, extent_limit) ||
        !within(y->shape.dim[i], 1, extent_limit))
      return "an extent is 0 or too large";
  if (x->shape.dim[0] != y->shape.dim[0]) return "the batches differ";
  c->batch = x->shape.dim[0];
  c->in_channels = x->shape.dim[1];
  c->out_channels = y->shape.dim[1];
  c->groups = hn_attr_int(query->attrs, "group");
  if (!within(c->groups, 1, extent_limit) || c->in_channels % c->groups || c->out_channels % c->groups)
    return "the channels do not split into the groups";
  return NULL;
}

static const char *check_out(const hone_query *query, const hn_sliding *s, const hn_conv_f32 *c) {
  for (int i = 0; i < s->spatial; ++i)
    if (query->out[0].type.shape.dim[i + 2] != s->out[i]) return "the output's extents are not what the window gives";
  const double padded = ((double)c->in_channels / (double)c->groups + 16) * ((double)c->out_channels + 16);
  if (padded * (double)c->kernel_depth * (double)c->kernel_height * (double)c->kernel_width > size_limit)
    return "the weights are too large";
  return NULL;
}

static const char *read_conv(const hone_query *query, int most, int axes, hn_conv_f32 *out) {
  *out = (hn_conv_f32){0};
  HN_TRY_REASON(read_ports(query, most, axes, out));
  const hone_shape *w = &query->in[1].type.shape;
  if (w->dim[0] != out->out_channels || w->dim[1] != out->in_channels / out->groups)
    return "the weights have other channels";
  hn_sliding sliding;
  if (hn_sliding_make(NULL, NULL, query->attrs, &query->in[0].type.shape, w->dim + 2, &sliding) != HONE_OK)
    return "its window does not fit";
  HN_TRY_REASON(read_axes(&sliding, out));
  HN_TRY_REASON(check_out(query, &sliding, out));
  HN_TRY_REASON(hn_cpu_epilogue_check(query, 2, 3, out->out_channels));
  hn_cpu_activation(query->attrs, &out->epilogue);
  return NULL;
}

const char *hn_cpu_conv_read(const hone_query *query, hn_conv_f32 *out) { return read_conv(query, 5, 2, out); }

const char *hn_cpu_conv_read_3d(const hone_query *query, hn_conv_f32 *out) { return read_conv(query, 5, 3, out); }

const char *hn_cpu_conv_read_affine(const hone_query *query, hn_conv_f32 *out) { return read_conv(query, 7, 2, out); }

static const char *read_transposed(const hone_query *query, int axes, hn_conv_f32 *out) {
  *out = (hn_conv_f32){0};
  HN_TRY_REASON(read_ports(query, 3, axes, out));
  const hone_shape *w = &query->in[1].type.shape;
  if (w->dim[0] != out->in_channels || w->dim[1] != out->out_channels / out->groups)
    return "the weights have other channels";
  hn_sliding sliding;
  if (hn_sliding_make_transposed(NULL, NULL, query->attrs, &query->in[0].type.shape, w->dim + 2, &sliding) != HONE_OK)
    return "its window does not fit";
  HN_TRY_REASON(read_axes(&sliding, out));
  HN_TRY_REASON(check_out(query, &sliding, out));
  if (!hn_cpu_activation(query->attrs, &out->epilogue)) return "its activation is not known";
  if (hn_cpu_has_slope(&out->epilogue)) return "it has slopes";
  if (!hn_cpu_given(query, 2)) return NULL;
  if (!hn_cpu_is(&query->in[2], HONE_F32, HONE_PLAIN) || query->in[2].type.shape.rank != 1 ||
      query->in[2].type.shape.dim[0] != out->out_channels)
    return "the bias has another type or length";
  return NULL;
}

const char *hn_cpu_conv_transpose_read(const hone_query *query, hn_conv_f32 *out) {
  return read_transposed(query, 2, out);
}

const char *hn_cpu_conv_transpose_read_3d(const hone_query *query, hn_conv_f32 *out) {
  return read_transposed(query, 3, out);
}

const char *hn_cpu_conv_constants(const hone_query *query) {
  if (!(query->constant_mask & 2)) return "the weights are not constant";
  if (hn_cpu_given(query, 2) && !(query->constant_mask & 4)) return "the bias is not constant";
  if (hn_cpu_given(query, 4) && !(query->constant_mask & 16)) return "the slopes are not constant";
  return NULL;
}

/* 0 for an absent input. */
static int64_t channel_floats(const hone_query *query, int input, int64_t channels, int block) {
  return hn_cpu_given(query, input) ? hn_ceil_div(channels, block) * block : 0;
}

void hn_cpu_conv_pack_channels(const hone_query *query, int input, int64_t channels, int block, float *to) {
  const int64_t padded = channel_floats(query, input, channels, block);
  const float *from = padded ? query->in[input].constant->data : NULL;
  for (int64_t i = 0; i < padded; ++i) to[i] = i < channels ? from[i] : 0;
}

hn_cpu_conv_layout hn_cpu_conv_lay_out(const hone_query *query, const hn_conv_f32 *c, int block,
                                       int64_t weight_floats) {
  hn_cpu_conv_layout at = {.bias_at = weight_floats, .has_residual = hn_cpu_given(query, 3)};
  at.slopes_at = at.bias_at + channel_floats(query, 2, c->out_channels, block);
  at.end = at.slopes_at + channel_floats(query, 4, c->out_channels, block);
  return at;
}

void hn_cpu_conv_pack_epilogue(const hone_query *query, const hn_cpu_conv_layout *layout, const hn_conv_f32 *c,
                               int block, float *packed) {
  hn_cpu_conv_pack_channels(query, 2, c->out_channels, block, packed + layout->bias_at);
  hn_cpu_conv_pack_channels(query, 4, c->out_channels, block, packed + layout->slopes_at);
}

void hn_cpu_conv_bind(const hn_cpu_conv_layout *layout, const hone_launch *launch, hn_conv_f32 *c) {
  c->input = launch->in[0].data;
  c->weights = launch->packed;
  c->output = launch->out[0].data;
  if (layout->slopes_at > layout->bias_at) c->epilogue.bias = c->weights + layout->bias_at;
  if (layout->has_residual) c->epilogue.residual = launch->in[3].data;
  if (hn_cpu_has_slope(&c->epilogue)) c->epilogue.slope = c->weights + layout->slopes_at;
}

int64_t hn_cpu_conv_param(const hone_query *query, int index, int64_t most, int64_t otherwise) {
  if (!query->params || index >= query->params->count) return otherwise;
  const int64_t value = query->params->items[index].value;
  return value >= 1 && value <= most ? value : otherwise;
}

double hn_cpu_conv_flops(const hn_conv_f32 *c) {
  return 2.0 * (double)c->batch * (double)c->out_channels * (double)(c->out_height * c->out_width) *
         (double)c->out_depth * (double)(c->in_channels / c->groups) * (double)c->kernel_depth *
         (double)(c->kernel_height * c->kernel_width);
}
