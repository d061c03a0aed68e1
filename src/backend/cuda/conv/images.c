/* SPDX-License-Identifier: Apache-2.0 */
/* images.c - the images of convolutions on tensor cores: any window, one group or groups of whole runs of channels. */
#include "backend/cuda/conv/images.h"
#include "backend/cuda/conv/sliding.h"
#include "backend/cuda/product/tiles.h"

/* So many groups are computed as one, whose weights are zeros between them: tiles of a product are as wide as that, and
 * what they have of another group costs nothing but an infinity, which becomes a NaN there. As many as leave tiles for
 * all multiprocessors, or as few as will do. 0: none will. */
static int64_t together(const hn_cuda_conv_images *at, int64_t pixels, int64_t groups, int64_t from, int64_t to) {
  const int64_t tiles = hn_cuda_pieces_of((int)pixels, 64);
  int64_t best = from % at->group_multiple || to % at->group_multiple ? 0 : 1;
  if (from == 1) return best; /* depthwise rows have them */
  for (int64_t t = 2; t <= groups && t * from <= at->most_together && t * to <= at->most_together; ++t) {
    if (groups % t || t * from % at->group_multiple || t * to % at->group_multiple) continue;
    if (best == 0 || tiles * (groups / t) >= HN_CUDA_UNITS) best = t;
  }
  return best;
}

/* Extents of channels, and how they lie. */
static const char *read_channels(const hone_query *query, const hn_cuda_conv_images *at, hn_cuda_tensor_plan *p) {
  hn_cuda_tensor *a = &p->args;
  hn_cuda_image x, y, residual;
  HN_TRY_REASON(hn_cuda_image_of(&query->in[at->x], at->held, &x));
  HN_TRY_REASON(hn_cuda_image_of(&query->out[0], at->held, &y));
  if (p->residual) {
    if (!hn_cuda_same_shape(&query->in[at->residual].type.shape, &query->out[0].type.shape))
      return "the residual is broadcast";
    HN_TRY_REASON(hn_cuda_image_of(&query->in[at->residual], at->held, &residual));
  }
  const int64_t groups = hn_cuda_attr_int(query->attrs, "group", 1);
  if (groups < 1 || x.c % groups || y.c % groups) return "the groups do not divide the channels";
  const int64_t joined = groups > 1 ? together(at, (int64_t)y.n * y.h * y.w, groups, x.c / groups, y.c / groups) : 1;
  if (joined == 0) return at->group_refusal;
  const hone_shape *w = &query->in[at->w].type.shape;
  if (w->rank != query->in[at->x].type.shape.rank || w->dim[0] != y.c || w->dim[1] != x.c / groups)
    return "the weights do not fit the channels";
  p->groups = (int)(groups / joined);
  p->together = (int)joined;
  a->in_pitch = x.pitch, a->out_pitch = y.pitch;
  a->m = y.n * y.h * y.w, a->n = y.c / p->groups;
  a->depth = p->groups > 1 ? x.c / p->groups : x.pitch;
  if (*(const hn_cuda_tensor_way *)query->tactic->kernel != HN_CUDA_TENSOR_FIRST) return NULL;
  a->depth = 4;
  return x.c <= 4 && groups == 1 ? NULL : "it has groups, or more than four channels";
}

const char *hn_cuda_conv_images_read(const hone_query *query, const hn_cuda_conv_images *at, hn_cuda_tensor_plan *p) {
  hn_cuda_window v;
  HN_TRY_REASON(read_channels(query, at, p));
  HN_TRY_REASON(hn_cuda_sliding(query, &query->in[at->x].type.shape, &query->out[0].type.shape,
                                query->in[at->w].type.shape.dim + 2, &v));
  hn_cuda_tensor *a = &p->args;
  a->in_h = v.in_h, a->in_w = v.in_w, a->out_h = v.out_h, a->out_w = v.out_w;
  a->kernel_h = v.kernel_h, a->kernel_w = v.kernel_w, a->stride_h = v.stride_h, a->stride_w = v.stride_w;
  a->dilation_h = v.dilation_h, a->dilation_w = v.dilation_w, a->pad_h = v.pad_h, a->pad_w = v.pad_w;
  return NULL;
}
