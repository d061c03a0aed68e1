/* SPDX-License-Identifier: Apache-2.0 */
/* optional.c - an optional that holds its input, or nothing of the type given as [kind, dtype]. */
#include "ops/common_list.h"

static hone_status infer(hone_infer *infer) {
  const int64_t kind = hn_attr_ints_at(infer->attrs, "type", 0, HONE_TENSOR);
  const hone_type none = {.dtype = (hone_dtype)hn_attr_ints_at(infer->attrs, "type", 1, 0), .shape = {.rank = -1}};
  const bool given = hn_in_given(infer, 0);
  const bool lists = given ? infer->in[0].type.kind == HONE_SEQUENCE : kind == HONE_SEQUENCE;
  if (given && !lists) HN_TRY(hn_infer_want_kind(infer, 0, HONE_TENSOR, "a tensor or a sequence"));
  if (!given && (none.dtype <= HONE_NONE || none.dtype >= HONE_DTYPE_COUNT))
    return HN_INFER_FAIL(infer, "an optional without an element needs a type");
  hn_out_list(infer, 0, lists ? HONE_OPTIONAL_SEQUENCE : HONE_OPTIONAL, given ? &infer->in[0].type : &none);
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  (void)window;
  hone_tensor *items;
  HN_TRY(hn_eval_list(eval, hn_eval_given(eval, 0), &items));
  return hn_eval_given(eval, 0) ? hn_eval_keep(eval, &eval->in[0], &items[0]) : HONE_OK;
}

const hone_op hn_op_optional = {
    .struct_size = sizeof(hone_op),
    .name = "optional",
    .doc = "an optional that holds its input, or nothing",
    .in = {{"input", 0, HONE_TYPES_ANY, HONE_PORT_OPTIONAL}},
    .out = {{"output", 0, HONE_TYPES_ANY}},
    .attr = {HONE_OPTIONAL_ATTR("type", HONE_ATTR_INTS)},
    .traits = HONE_ANY_KIND | HONE_AFTER_RUN | HONE_WHOLE,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_copy,
    .onnx = {{"Optional", 15, HONE_LATEST}},
};
