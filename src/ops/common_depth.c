/* SPDX-License-Identifier: Apache-2.0 */
/* common_depth.c - channels and b x b blocks of pixels, in both directions. DCR: the place in the block is the outer
 * part of the channel's number, CRD: the inner part. */
#include "ops/common_move.h"

hone_status hn_infer_depth(hone_infer *infer) {
  const int rank = hn_in_rank(infer, 0);
  const int64_t block = hn_attr_int(infer->attrs, "blocksize");
  const char *mode = hn_attr_text(infer->attrs, "mode");
  hone_dims *dims = infer->dims;
  if (block < 1 || block > 1 << 20)
    return HN_INFER_FAIL(infer, "blocksize is %lld; it must be 1 or more", (long long)block);
  if (!hn_name_equal(mode, "DCR") && !hn_name_equal(mode, "CRD"))
    return HN_INFER_FAIL(infer, "mode is \"%s\"; it must be DCR or CRD", mode);
  if (rank < 0) return HONE_OK;
  if (rank != 4) return HN_INFER_FAIL(infer, "input must have rank 4, but has rank %d", rank);
  const int64_t *in = hn_in_shape(infer, 0)->dim, area = block * block;
  if (*(const bool *)infer->op->details) {
    if (!HONE_SYMBOLIC(in[1]) && in[1] % area != 0)
      return HN_INFER_FAIL(infer, "%lld channels do not divide into blocks of %lld", (long long)in[1], (long long)area);
    hn_out_shape(infer, 0, 4,
                 (int64_t[]){in[0], hn_dim_floor_div(dims, in[1], area), hn_dim_mul(dims, in[2], block),
                             hn_dim_mul(dims, in[3], block)});
    return HONE_OK;
  }
  for (int d = 2; d < 4; ++d)
    if (!HONE_SYMBOLIC(in[d]) && in[d] % block != 0)
      return HN_INFER_FAIL(infer, "extent %lld of axis %d does not divide into blocks of %lld", (long long)in[d], d,
                           (long long)block);
  hn_out_shape(infer, 0, 4,
               (int64_t[]){in[0], hn_dim_mul(dims, in[1], area), hn_dim_floor_div(dims, in[2], block),
                           hn_dim_floor_div(dims, in[3], block)});
  return HONE_OK;
}

/* From an element's place in the output to that in the input; channels: those of the tensor with many pixels. */
static void index_to_space(int64_t *index, int64_t b, bool outer, int64_t channels) {
  const int64_t place = index[2] % b * b + index[3] % b;
  index[1] = outer ? place * channels + index[1] : index[1] * b * b + place;
  index[2] /= b;
  index[3] /= b;
}

static void index_to_depth(int64_t *index, int64_t b, bool outer, int64_t channels) {
  const int64_t place = outer ? index[1] / channels : index[1] % (b * b);
  index[1] = outer ? index[1] % channels : index[1] / (b * b);
  index[2] = index[2] * b + place / b;
  index[3] = index[3] * b + place % b;
}

hone_status hn_eval_depth(hone_eval *eval, const hone_window *window) {
  const bool to_space = *(const bool *)eval->op->details;
  HN_TRY(hn_eval_sized(eval));
  const hone_shape *in = &eval->in[0].type.shape, *out = &eval->out[0].type.shape;
  const int64_t b = hn_attr_int(eval->attrs, "blocksize");
  const bool outer = hn_name_equal(hn_attr_text(eval->attrs, "mode"), "DCR");
  int64_t strides[4], index[4], first, last;
  const int64_t *deep = to_space ? in->dim : out->dim, *flat = to_space ? out->dim : in->dim;
  if (in->rank != 4 || deep[1] != flat[1] * b * b || flat[2] != deep[2] * b || flat[3] != deep[3] * b)
    return HN_FAIL(eval->diagnostics, HONE_INVALID, "the extents do not divide into blocks");
  hn_strides(in, strides);
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t at = first; at < last; ++at) {
    hn_unflatten(out, at, index);
    if (to_space)
      index_to_space(index, b, outer, flat[1]);
    else
      index_to_depth(index, b, outer, flat[1]);
    hn_copy_element(&eval->out[0], at, &eval->in[0], hn_flatten(4, index, strides));
  }
  return HONE_OK;
}
