/* SPDX-License-Identifier: Apache-2.0 */
/* sequence_construct.c - a sequence of its inputs; of none with a type given, the empty one. */
#include "ops/common_list.h"

static hone_status infer(hone_infer *infer) {
  hone_type element = {
      .kind = HONE_TENSOR, .dtype = (hone_dtype)hn_attr_int(infer->attrs, "dtype"), .shape = {.rank = -1}};
  if (infer->in_count > 0) element = infer->in[0].type;
  for (int i = 0; i < infer->in_count; ++i) {
    HN_TRY(hn_infer_want_kind(infer, i, HONE_TENSOR, "a tensor"));
    hn_join_element(&element, &infer->in[i].type);
  }
  if (element.dtype <= HONE_NONE || element.dtype >= HONE_DTYPE_COUNT)
    return HN_INFER_FAIL(infer, "a sequence without elements needs a dtype");
  hn_out_list(infer, 0, HONE_SEQUENCE, &element);
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  (void)window;
  hone_tensor *items;
  HN_TRY(hn_eval_list(eval, eval->in_count, &items));
  for (int i = 0; i < eval->in_count; ++i) HN_TRY(hn_eval_keep(eval, &eval->in[i], &items[i]));
  return HONE_OK;
}

const hone_op hn_op_sequence_construct = {
    .struct_size = sizeof(hone_op),
    .name = "sequence_construct",
    .doc = "a sequence of tensors",
    .in = {{"inputs", 'T', HONE_TYPES_ANY, HONE_PORT_VARIADIC | HONE_PORT_OPTIONAL}},
    .out = {{"output_sequence", 0, HONE_TYPES_ANY}},
    .attr = {HONE_INT_ATTR("dtype", 0)},
    .traits = HONE_ANY_KIND | HONE_AFTER_RUN | HONE_WHOLE,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_copy,
    .onnx = {{"SequenceConstruct", 11, HONE_LATEST},
             {"SequenceEmpty", 11, HONE_LATEST, .adapt = "sequence_empty", .alias = true}},
};
