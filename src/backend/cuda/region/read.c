/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - an inverted residual's extents and activations from a query. */
#include "backend/cuda/conv/sliding.h"
#include "backend/cuda/region/region.h"
#include <math.h>
#include <string.h>

enum { LARGEST_KERNEL = 7 };

void hn_region_attrs_behind(const hone_query *query, const char *prefix, hn_region_layer_attrs *out) {
  const size_t length = strlen(prefix);
  int count = 0;
  for (int i = 0; i < query->attrs->count && count < HONE_MAX_ATTRS; ++i) {
    if (strncmp(query->attrs->items[i].name, prefix, length) != 0) continue;
    out->items[count] = query->attrs->items[i];
    out->items[count++].name += length;
  }
  out->attrs = (hone_attrs){count, out->items};
}

const char *hn_region_read_act(const hone_query *query, const char *prefix, hn_region_act *out) {
  hn_region_layer_attrs layer;
  hn_region_attrs_behind(query, prefix, &layer);
  hone_query one = *query;
  one.attrs = &layer.attrs;
  out->kind = hn_cuda_activation(&one);
  out->alpha = (float)hn_cuda_attr_float(&layer.attrs, "act_alpha", 0);
  out->beta = (float)hn_cuda_attr_float(&layer.attrs, "act_beta", 0);
  if (out->kind == HN_ACTIVATION_COUNT || out->kind == HN_ACTIVATION_PRELU) return "an activation is not known here";
  return isfinite(out->alpha) && isfinite(out->beta) ? NULL : "an activation's bound is not finite";
}

const char *hn_region_check_constant(const hone_query *query, int port, int rank) {
  return hn_cuda_is_weight(query, port) && query->in[port].type.shape.rank == rank
             ? NULL
             : "weights or biases are not constant plain floats";
}

float hn_region_constant(const hone_query *query, int port, int64_t i) {
  return hn_cuda_given(query, port) ? hn_cuda_weight(query->in[port].constant, i) : 0;
}

static const char *check_pointwise(const hone_query *query, int port, int64_t outs, int64_t ins) {
  HN_TRY_REASON(hn_region_check_constant(query, port, 4));
  const int64_t *dim = query->in[port].type.shape.dim;
  return dim[0] == outs && dim[1] == ins && dim[2] * dim[3] == 1 ? NULL : "a 1x1 convolution has other extents";
}

static const char *check_weights(const hone_query *query, const hn_region *r) {
  const int64_t channels[3] = {r->hid, r->hid, r->cout};
  if (r->expands) HN_TRY_REASON(check_pointwise(query, HN_REGION_EXPAND, r->hid, r->cin));
  if (r->projects) HN_TRY_REASON(check_pointwise(query, HN_REGION_PROJECT, r->cout, r->hid));
  for (int i = 0; i < 3; ++i) {
    const int port = HN_REGION_EXPAND_BIAS + 2 * i;
    if (!hn_cuda_given(query, port)) continue;
    HN_TRY_REASON(hn_region_check_constant(query, port, 1));
    if (query->in[port].type.shape.dim[0] != channels[i]) return "a bias has another length";
  }
  return NULL;
}

static const char *read_window(const hone_query *query, const hn_cuda_image *x, const hn_cuda_image *y,
                               hn_region *out) {
  hn_region_layer_attrs layer;
  hn_cuda_window window;
  hn_region_attrs_behind(query, "depthwise_", &layer);
  hone_query one = *query;
  one.attrs = &layer.attrs;
  HN_TRY_REASON(hn_cuda_sliding(&one, &query->in[HN_REGION_X].type.shape, &query->out[0].type.shape,
                                query->in[HN_REGION_DEPTHWISE].type.shape.dim + 2, &window));
  if (window.kernel_h != window.kernel_w || window.stride_h != window.stride_w) return "its window is not square";
  if (window.kernel_h > LARGEST_KERNEL || window.stride_h > window.kernel_h ||
      window.dilation_h * window.dilation_w != 1)
    return "its window is too large, strided or dilated";
  if (window.pad_h >= window.kernel_h || window.pad_w >= window.kernel_h) return "its pads are as large as its window";
  out->in_h = x->h, out->in_w = x->w, out->out_h = y->h, out->out_w = y->w;
  out->kernel = window.kernel_h, out->stride = window.stride_h, out->pad_h = window.pad_h, out->pad_w = window.pad_w;
  return NULL;
}

const char *hn_region_read(const hone_query *query, hn_region_query *out) {
  static const char *const prefixes[] = {"expand_", "depthwise_", "project_"};
  hn_cuda_image x, y, residual;
  *out = (hn_region_query){0};
  hn_region *r = &out->region;
  if (query->in_count <= HN_REGION_DEPTHWISE || query->in_count > HN_REGION_PORTS || query->out_count != 1)
    return "it has another number of inputs or outputs";
  HN_TRY_REASON(hn_cuda_image_of(&query->in[HN_REGION_X], query->tactic->compute, &x));
  HN_TRY_REASON(hn_cuda_image_of(&query->out[0], query->tactic->compute, &y));
  HN_TRY_REASON(hn_region_check_constant(query, HN_REGION_DEPTHWISE, 4));
  if (query->in[HN_REGION_X].type.shape.rank != 4) return "it has not two axes";
  const int64_t *w = query->in[HN_REGION_DEPTHWISE].type.shape.dim;
  if (w[0] < 1 || w[0] > 1 << 16 || w[1] != 1) return "the second layer is not depthwise";
  r->expands = hn_cuda_given(query, HN_REGION_EXPAND), r->projects = hn_cuda_given(query, HN_REGION_PROJECT);
  r->has_residual = hn_cuda_given(query, HN_REGION_RESIDUAL);
  r->cin = x.c, r->hid = (int)w[0], r->cout = y.c, out->n = x.n;
  if (!r->expands && !r->projects) return "it is a depthwise layer alone";
  if ((!r->expands && r->cin != r->hid) || (!r->projects && r->cout != r->hid) || y.n != x.n)
    return "its layers do not fit each other";
  if (r->has_residual) {
    HN_TRY_REASON(hn_cuda_image_of(&query->in[HN_REGION_RESIDUAL], query->tactic->compute, &residual));
    if (!r->projects || !hn_cuda_same_shape(&query->in[HN_REGION_RESIDUAL].type.shape, &query->out[0].type.shape))
      return "the residual has another shape";
  }
  HN_TRY_REASON(read_window(query, &x, &y, r));
  HN_TRY_REASON(check_weights(query, r));
  for (int i = 0; i < 3; ++i) HN_TRY_REASON(hn_region_read_act(query, prefixes[i], &out->act[i]));
  return NULL;
}
