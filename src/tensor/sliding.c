/* SPDX-License-Identifier: Apache-2.0 */
/* sliding.c - extents of sliding windows. Every number of the attributes is below 2^31 and every extent below 2^56,
 * so that only the products of transposed convolution can overflow, and those are checked. */
#include "tensor/sliding.h"
#include "base/checked.h"
#include <assert.h>

enum { NOTSET, SAME_UPPER, SAME_LOWER, VALID };

static const int64_t attr_limit = INT32_MAX;
static const int64_t extent_limit = (int64_t)1 << 56;

static hone_status read_auto_pad(hone_diagnostics *diag, const hone_attrs *attrs, int *out) {
  static const char *const names[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
  const char *text = hn_attr_text(attrs, "auto_pad");
  *out = NOTSET;
  if (text[0] == 0) return HONE_OK;
  for (int i = 0; i < (int)HN_COUNT(names); ++i)
    if (hn_name_equal(text, names[i])) {
      *out = i;
      return HONE_OK;
    }
  return HN_FAIL(diag, HONE_MALFORMED, "auto_pad is \"%.40s\", not NOTSET, SAME_UPPER, SAME_LOWER or VALID", text);
}

/* A list of `count` numbers in [low, 2^31), each `otherwise` when the attribute is absent. */
static hone_status read_list(hone_diagnostics *diag, const hone_attrs *attrs, const char *name, int count, int64_t low,
                             int64_t otherwise, int64_t *out) {
  const int64_t *items;
  const int given = hn_attr_ints(attrs, name, &items);
  if (given != 0 && given != count)
    return HN_FAIL(diag, HONE_MALFORMED, "%s has %d elements, not %d", name, given, count);
  for (int i = 0; i < count; ++i) {
    out[i] = given ? items[i] : otherwise;
    if (given && (out[i] < low || out[i] > attr_limit))
      return HN_FAIL(diag, HONE_MALFORMED, "%s[%d] is %lld, not in [%lld, %lld]", name, i, (long long)out[i],
                     (long long)low, (long long)attr_limit);
  }
  return HONE_OK;
}

/* What both directions read; out->out stays unset. */
static hone_status read_common(hone_diagnostics *diag, const hone_dims *dims, const hone_attrs *attrs,
                               const hone_shape *input, const int64_t *kernel, hn_sliding *out) {
  if (input->rank < 3 || input->rank > HONE_MAX_RANK)
    return HN_FAIL(diag, HONE_MALFORMED, "the input has rank %d, not 3 to %d", input->rank, HONE_MAX_RANK);
  const int spatial = input->rank - 2;
  *out = (hn_sliding){.spatial = spatial};
  for (int i = 0; i < spatial; ++i) {
    out->in[i] = input->dim[i + 2];
    out->kernel[i] = kernel[i];
    if (HONE_SYMBOLIC(out->in[i])) {
      if (!dims) return HN_FAIL(diag, HONE_INTERNAL, "spatial extent %d is symbolic, but there is no table of dims", i);
    } else if (out->in[i] < 0 || out->in[i] > extent_limit) {
      return HN_FAIL(diag, HONE_MALFORMED, "spatial extent %d of the input is %lld", i, (long long)out->in[i]);
    }
    if (kernel[i] < 1 || kernel[i] > attr_limit)
      return HN_FAIL(diag, HONE_MALFORMED, "extent %d of the kernel is %lld, not in [1, %lld]", i, (long long)kernel[i],
                     (long long)attr_limit);
  }
  int64_t pads[2 * HN_MAX_SPATIAL];
  HN_TRY(read_list(diag, attrs, "strides", spatial, 1, 1, out->stride));
  HN_TRY(read_list(diag, attrs, "dilations", spatial, 1, 1, out->dilation));
  HN_TRY(read_list(diag, attrs, "pads", 2 * spatial, 0, 0, pads));
  for (int i = 0; i < spatial; ++i) {
    out->pad_begin[i] = pads[i];
    out->pad_end[i] = pads[spatial + i];
  }
  return HONE_OK;
}

/* The kernel's extent with its holes. */
static int64_t spread(const hn_sliding *s, int axis) { return (s->kernel[axis] - 1) * s->dilation[axis] + 1; }

static void split_pads(hn_sliding *s, int axis, int64_t total, bool more_at_end) {
  const int64_t less = total / 2;
  s->pad_begin[axis] = more_at_end ? less : total - less;
  s->pad_end[axis] = total - s->pad_begin[axis];
}

static hone_status same_axis(hone_diagnostics *diag, hn_sliding *s, int axis, int auto_pad) {
  const int64_t extent = spread(s, axis), in = s->in[axis], stride = s->stride[axis];
  int64_t total;
  if (HONE_SYMBOLIC(in)) {
    if (stride != 1)
      return HN_FAIL(diag, HONE_UNSUPPORTED,
                     "auto_pad SAME with stride %lld needs spatial extent %d, which is symbolic", (long long)stride,
                     axis);
    s->out[axis] = in;
    total = extent - 1;
  } else {
    s->out[axis] = hn_ceil_div(in, stride);
    total = in == 0 ? 0 : (s->out[axis] - 1) * stride + extent - in;
    if (total < 0) total = 0;
  }
  split_pads(s, axis, total, auto_pad == SAME_UPPER);
  return HONE_OK;
}

/* out = (in + pads - extent) / stride + 1, rounded as asked. Rounded up, a window that would begin in the padding at
 * the end does not count: at most ceil((in + pad_begin) / stride) windows begin before it, and which of the two
 * bounds is smaller does not depend on the input's extent. */
static hone_status plain_axis(hone_diagnostics *diag, hone_dims *dims, hn_sliding *s, int axis, bool round_up) {
  const int64_t extent = spread(s, axis), in = s->in[axis], stride = s->stride[axis];
  const int64_t pads = s->pad_begin[axis] + s->pad_end[axis];
  const bool by_start = round_up && s->pad_end[axis] + stride > extent;
  const int64_t offset = by_start ? s->pad_begin[axis] : pads - extent + stride;
  if (HONE_SYMBOLIC(in)) {
    const int64_t sum = hn_dim_add(dims, in, offset);
    s->out[axis] = round_up ? hn_dim_ceil_div(dims, sum, stride) : hn_dim_floor_div(dims, sum, stride);
    return HONE_OK;
  }
  if (in + pads < extent)
    return HN_FAIL(diag, HONE_MALFORMED,
                   "spatial extent %d: the kernel spans %lld, but the input and its pads only %lld", axis,
                   (long long)extent, (long long)(in + pads));
  s->out[axis] = round_up ? hn_ceil_div(in + offset, stride) : (in + offset) / stride;
  return HONE_OK;
}

hone_status hn_sliding_make(hone_diagnostics *diag, hone_dims *dims, const hone_attrs *attrs, const hone_shape *input,
                            const int64_t *kernel, hn_sliding *out) {
  int auto_pad;
  HN_TRY(read_common(diag, dims, attrs, input, kernel, out));
  HN_TRY(read_auto_pad(diag, attrs, &auto_pad));
  for (int i = 0; i < out->spatial; ++i) {
    if (auto_pad == SAME_UPPER || auto_pad == SAME_LOWER) {
      HN_TRY(same_axis(diag, out, i, auto_pad));
      continue;
    }
    if (auto_pad == VALID) out->pad_begin[i] = out->pad_end[i] = 0;
    HN_TRY(plain_axis(diag, dims, out, i, auto_pad == NOTSET && hn_attr_int(attrs, "ceil_mode") != 0));
  }
  if (dims && dims->failed) return HN_FAIL(diag, HONE_NO_MEMORY, "the table of dims is full");
  return HONE_OK;
}

/* The output's extent without pads: stride * (in - 1) + output_padding + extent of the kernel. */
static hone_status unpadded(hone_diagnostics *diag, hone_dims *dims, const hn_sliding *s, int axis, int64_t more,
                            int64_t *out) {
  const int64_t stride = s->stride[axis], in = s->in[axis], rest = spread(s, axis) + more - stride;
  if (HONE_SYMBOLIC(in)) {
    *out = hn_dim_add(dims, hn_dim_mul(dims, in, stride), rest);
    return HONE_OK;
  }
  int64_t product;
  if (!hn_mul_i64(in, stride, &product) || !hn_add_i64(product, rest, out) || *out > extent_limit)
    return HN_FAIL(diag, HONE_MALFORMED, "spatial extent %d of the output is too large", axis);
  return HONE_OK;
}

/* Pads that give the wanted extent, which may be what auto_pad SAME says. */
static hone_status pads_for(hone_diagnostics *diag, hone_dims *dims, hn_sliding *s, int axis, int64_t full,
                            int auto_pad) {
  int64_t total;
  if (HONE_SYMBOLIC(full) || HONE_SYMBOLIC(s->out[axis])) {
    total = hn_dim_sub(dims, full, s->out[axis]);
    if (HONE_SYMBOLIC(total))
      return HN_FAIL(diag, HONE_UNSUPPORTED,
                     "the pads that give this output depend on spatial extent %d, which is symbolic", axis);
  } else {
    total = full - s->out[axis];
  }
  split_pads(s, axis, total > 0 ? total : 0, auto_pad == SAME_UPPER);
  return HONE_OK;
}

static hone_status transposed_axis(hone_diagnostics *diag, hone_dims *dims, hn_sliding *s, int axis, int64_t more,
                                   int64_t wanted, int auto_pad) {
  int64_t full = 0;
  HN_TRY(unpadded(diag, dims, s, axis, more, &full));
  const int64_t stride = s->stride[axis], in = s->in[axis];
  if (wanted >= 0) {
    s->out[axis] = wanted;
    return pads_for(diag, dims, s, axis, full, auto_pad);
  }
  if (auto_pad == SAME_UPPER || auto_pad == SAME_LOWER) {
    s->out[axis] = HONE_SYMBOLIC(in) ? hn_dim_mul(dims, in, stride) : in * stride; /* unpadded() bounds the product */
    return pads_for(diag, dims, s, axis, full, auto_pad);
  }
  if (auto_pad == VALID) s->pad_begin[axis] = s->pad_end[axis] = 0;
  const int64_t pads = s->pad_begin[axis] + s->pad_end[axis];
  s->out[axis] = HONE_SYMBOLIC(full) ? hn_dim_sub(dims, full, pads) : full - pads;
  if (!HONE_SYMBOLIC(s->out[axis]) && s->out[axis] < 0)
    return HN_FAIL(diag, HONE_MALFORMED, "spatial extent %d: pads of %lld leave nothing of an output of %lld", axis,
                   (long long)pads, (long long)full);
  return HONE_OK;
}

hone_status hn_sliding_make_transposed(hone_diagnostics *diag, hone_dims *dims, const hone_attrs *attrs,
                                       const hone_shape *input, const int64_t *kernel, hn_sliding *out) {
  int auto_pad;
  int64_t more[HN_MAX_SPATIAL], wanted[HONE_MAX_RANK];
  HN_TRY(read_common(diag, dims, attrs, input, kernel, out));
  HN_TRY(read_auto_pad(diag, attrs, &auto_pad));
  HN_TRY(read_list(diag, attrs, "output_padding", out->spatial, 0, 0, more));
  const int64_t *items;
  const int given = hn_attr_ints(attrs, "output_shape", &items);
  /* Some exporters write the batch and channels too; the spatial extents are last. */
  const int lead = given == out->spatial + 2 ? 2 : 0;
  HN_TRY(read_list(diag, attrs, "output_shape", out->spatial + lead, 0, -1, wanted));
  for (int i = 0; i < out->spatial; ++i)
    HN_TRY(transposed_axis(diag, dims, out, i, more[i], given ? wanted[lead + i] : -1, auto_pad));
  if (dims && dims->failed) return HN_FAIL(diag, HONE_NO_MEMORY, "the table of dims is full");
  return HONE_OK;
}
