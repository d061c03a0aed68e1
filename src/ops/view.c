/* SPDX-License-Identifier: Apache-2.0 */
/* view.c - its input's bytes under a shape that is known before anything runs. Passes make it of reshape and its kin,
 * so that nothing but a name for the shape is left of them. dims holds the extents as text, as dims.h writes them. */
#include "ops/common_move.h"
#include <string.h>

static hone_status infer(hone_infer *infer) {
  const hone_attr *list = hn_attr_find(infer->attrs, "dims");
  int64_t dims[HONE_MAX_RANK], from, to;
  if (!list || list->count > HONE_MAX_RANK)
    return HN_INFER_FAIL(infer, "dims has %lld extents; at most %d are supported", list ? (long long)list->count : 0LL,
                         HONE_MAX_RANK);
  for (int i = 0; i < (int)list->count; ++i) {
    const char *text = list->strings[i];
    if (!hn_dim_parse(infer->dims, text, strlen(text), &dims[i]) || (dims[i] < 0 && !HONE_SYMBOLIC(dims[i])))
      return HN_INFER_FAIL(infer, "dims[%d] is \"%.40s\", which is not an extent", i, text);
  }
  const hone_shape shape = hn_shape((int)list->count, dims);
  if (hn_in_rank(infer, 0) >= 0 && hn_elems_checked(hn_in_shape(infer, 0), &from) && hn_shape_known(&shape) &&
      (!hn_elems_checked(&shape, &to) || from != to))
    return HN_INFER_FAIL(infer, "%lld elements cannot take a shape of another number of elements", (long long)from);
  hn_out_shape(infer, 0, shape.rank, shape.dim);
  hn_infer_keep_value(infer, 0, 0);
  return HONE_OK;
}

const hone_op hn_op_view = {
    .struct_size = sizeof(hone_op),
    .name = "view",
    .doc = "its input's bytes under another shape",
    .in = {{"x", 'T', HONE_TYPES_ANY}},
    .out = {{"y", 'T'}},
    .attr = {HONE_NEEDED_ATTR("dims", HONE_ATTR_STRINGS)},
    .traits = HONE_MOVES | HONE_ALIASES,
    .infer = infer,
    .eval = hn_eval_same_bytes,
    .cost = hn_cost_copy,
};
