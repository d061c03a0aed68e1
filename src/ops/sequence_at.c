/* SPDX-License-Identifier: Apache-2.0 */
/* sequence_at.c - one tensor of a sequence. */
#include "ops/common_list.h"

static hone_status infer(hone_infer *infer) {
  HN_TRY(hn_infer_want_kind(infer, 0, HONE_SEQUENCE, "a sequence"));
  infer->out[0].type.shape = infer->in[0].type.shape;
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  (void)window;
  const int64_t count = hn_eval_list_count(eval, 0);
  int64_t at;
  HN_TRY(hn_eval_position(eval, 1, count, count - 1, 0, &at));
  return hn_eval_give(eval, &hn_list_items(&eval->in[0])[at]);
}

const hone_op hn_op_sequence_at = {
    .struct_size = sizeof(hone_op),
    .name = "sequence_at",
    .doc = "one tensor of a sequence",
    .in = {{"input_sequence", 'T', HONE_TYPES_ANY}, {"position", 0, HONE_TYPES_INDEX}},
    .out = {{"tensor", 'T'}},
    .traits = HONE_ANY_KIND | HONE_AFTER_RUN | HONE_WHOLE,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_copy,
    .onnx = {{"SequenceAt", 11, HONE_LATEST, .adapt = "sequence_at"}},
};
