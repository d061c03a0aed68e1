/* SPDX-License-Identifier: Apache-2.0 */
/* optional_get_element.c - what an optional holds; tensors and sequences are handed through. */
#include "ops/common_list.h"

static hone_status infer(hone_infer *infer) {
  const hone_type *type = &infer->in[0].type;
  const bool lists = type->kind == HONE_SEQUENCE || type->kind == HONE_OPTIONAL_SEQUENCE;
  if (lists)
    hn_out_list(infer, 0, HONE_SEQUENCE, type);
  else
    infer->out[0].type.shape = type->shape;
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  (void)window;
  const hone_tensor *in = &eval->in[0];
  if (in->type.kind == HONE_TENSOR || in->type.kind == HONE_SEQUENCE) return hn_eval_give(eval, in);
  if (hn_eval_list_count(eval, 0) < 1) return HN_FAIL(eval->diagnostics, HONE_INVALID, "the optional holds nothing");
  return hn_eval_give(eval, &hn_list_items(in)[0]);
}

const hone_op hn_op_optional_get_element = {
    .struct_size = sizeof(hone_op),
    .name = "optional_get_element",
    .doc = "what an optional holds",
    .in = {{"input", 'T', HONE_TYPES_ANY}},
    .out = {{"output", 'T'}},
    .traits = HONE_ANY_KIND | HONE_AFTER_RUN | HONE_WHOLE,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_copy,
    .onnx = {{"OptionalGetElement", 15, HONE_LATEST}},
};
