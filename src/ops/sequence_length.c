/* SPDX-License-Identifier: Apache-2.0 */
/* sequence_length.c - how many tensors a sequence has. */
#include "ops/common_list.h"
#include "tensor/element.h"

static hone_status infer(hone_infer *infer) {
  HN_TRY(hn_infer_want_kind(infer, 0, HONE_SEQUENCE, "a sequence"));
  hn_out_shape(infer, 0, 0, NULL);
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  (void)window;
  HN_TRY(hn_eval_sized(eval));
  hn_store_int(&eval->out[0], 0, hn_eval_list_count(eval, 0));
  return HONE_OK;
}

const hone_op hn_op_sequence_length = {
    .struct_size = sizeof(hone_op),
    .name = "sequence_length",
    .doc = "how many tensors a sequence has",
    .in = {{"input_sequence", 0, HONE_TYPES_ANY}},
    .out = {{"length", 0, HONE_BIT(HONE_I64)}},
    .traits = HONE_ANY_KIND | HONE_WHOLE,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_copy,
    .onnx = {{"SequenceLength", 11, HONE_LATEST}},
};
