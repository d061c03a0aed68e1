/* SPDX-License-Identifier: Apache-2.0 */
/* channel_gather.c - tensors joined along their channels, the channels put in another order, and the result cut along
 * them: what a channel shuffle is, with the concat before and the split after it.
 * No ONNX operator: passes make it, and its parts are what ONNX has (Zhang et al., arXiv:1707.01083, section 3.1). */
#include "ops/common_move.h"

/* Channels of all inputs; -1: not known yet. */
static hone_status count_channels(hone_infer *infer, int64_t *out) {
  const int rank = hn_in_rank(infer, 0);
  *out = 0;
  for (int i = 0; i < infer->in_count; ++i) {
    if (hn_in_rank(infer, i) < 0 || rank < 0) {
      *out = -1;
      return HONE_OK;
    }
    const hone_shape *shape = hn_in_shape(infer, i);
    if (shape->rank != rank || rank < 2)
      return HN_INFER_FAIL(infer, "input %d has rank %d; all need the same rank, 2 or more", i, shape->rank);
    if (HONE_SYMBOLIC(shape->dim[1]))
      return HN_INFER_UNSUPPORTED(infer, "the number of channels of input %d is not known", i);
    if (!hn_add_i64(*out, shape->dim[1], out)) return HN_INFER_FAIL(infer, "too many channels");
  }
  return HONE_OK;
}

static hone_status check_lists(hone_infer *infer, int64_t total, const int64_t *channels, int count,
                               const int64_t *split, int parts) {
  int64_t sum = 0;
  if (parts != infer->out_count)
    return HN_INFER_FAIL(infer, "split has %d parts, but there are %d outputs", parts, infer->out_count);
  for (int i = 0; i < parts; ++i)
    if (split[i] < 0 || !hn_add_i64(sum, split[i], &sum))
      return HN_INFER_FAIL(infer, "split[%d] is %lld", i, (long long)split[i]);
  if (sum != count)
    return HN_INFER_FAIL(infer, "split adds up to %lld, but there are %d channels", (long long)sum, count);
  for (int i = 0; i < count; ++i)
    if (channels[i] < 0 || channels[i] >= total)
      return HN_INFER_FAIL(infer, "channels[%d] is %lld, but the inputs have %lld", i, (long long)channels[i],
                           (long long)total);
  return HONE_OK;
}

static hone_status infer(hone_infer *infer) {
  const int64_t *channels, *split;
  const int count = hn_attr_ints(infer->attrs, "channels", &channels);
  const int parts = hn_attr_ints(infer->attrs, "split", &split);
  int64_t total;
  HN_TRY(count_channels(infer, &total));
  if (total < 0) return HONE_OK;
  HN_TRY(check_lists(infer, total, channels, count, split, parts));
  hone_shape shape = *hn_in_shape(infer, 0);
  for (int i = 1; i < infer->in_count; ++i)
    for (int d = 0; d < shape.rank; ++d)
      if (d != 1)
        HN_TRY(hn_infer_same_dim(infer, shape.dim[d], hn_in_shape(infer, i)->dim[d], "inputs beside the channels",
                                 &shape.dim[d]));
  for (int i = 0; i < parts; ++i) {
    shape.dim[1] = split[i];
    hn_out_shape(infer, i, shape.rank, shape.dim);
  }
  return HONE_OK;
}

/* What symbols promised, the actual extents must keep. */
static hone_status check(hone_eval *eval, const int64_t *channels, const int64_t *split) {
  hone_shape shape = eval->in[0].type.shape;
  int64_t total = 0;
  for (int i = 0; i < eval->in_count; ++i) {
    const hone_shape *own = &eval->in[i].type.shape;
    bool fits = own->rank == shape.rank && shape.rank >= 2;
    for (int d = 0; fits && d < shape.rank; ++d) fits = d == 1 || own->dim[d] == shape.dim[d];
    if (!fits || !hn_add_i64(total, own->dim[1], &total))
      return HN_FAIL(eval->diagnostics, HONE_INVALID, "input %d does not fit beside the others", i);
  }
  const int64_t *channel = channels;
  for (int out = 0; out < eval->out_count; ++out)
    for (int64_t i = 0; i < split[out]; ++i, ++channel)
      if (*channel >= total)
        return HN_FAIL(eval->diagnostics, HONE_INVALID, "channel %lld is wanted, but the inputs have %lld",
                       (long long)*channel, (long long)total);
  for (int i = 0; i < eval->out_count; ++i) {
    shape.dim[1] = split[i];
    HN_TRY(hn_eval_expect(eval, i, shape.rank, shape.dim));
  }
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  (void)window; /* planes are copied whole; skipping some saves little */
  const int64_t *channels, *split;
  (void)hn_attr_ints(eval->attrs, "channels", &channels);
  (void)hn_attr_ints(eval->attrs, "split", &split);
  HN_TRY(hn_eval_sized(eval));
  HN_TRY(check(eval, channels, split));
  const hn_rows rows = hn_rows_along(&eval->in[0].type.shape, 1); /* outer: images, inner: one plane */
  for (int64_t image = 0; image < rows.outer; ++image) {
    const int64_t *from = channels;
    for (int out = 0; out < eval->out_count; ++out) {
      for (int64_t i = 0; i < split[out]; ++i, ++from) {
        int64_t channel = *from;
        int in = 0;
        while (channel >= eval->in[in].type.shape.dim[1]) channel -= eval->in[in++].type.shape.dim[1];
        const int64_t own = eval->in[in].type.shape.dim[1];
        hn_copy_run(eval, &eval->out[out], (image * split[out] + i) * rows.inner, &eval->in[in],
                    (image * own + channel) * rows.inner, rows.inner);
      }
    }
  }
  return HONE_OK;
}

const hone_op hn_op_channel_gather = {
    .struct_size = sizeof(hone_op),
    .name = "channel_gather",
    .doc = "joins along the channels, reorders those and cuts along them",
    .in = {{"xs", 'T', HONE_TYPES_ANY, HONE_PORT_VARIADIC}},
    .out = {{"ys", 'T', 0, HONE_PORT_VARIADIC}},
    .attr = {HONE_NEEDED_ATTR("channels", HONE_ATTR_INTS), HONE_NEEDED_ATTR("split", HONE_ATTR_INTS)},
    .traits = HONE_MOVES,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_select,
};
