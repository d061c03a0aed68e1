/* SPDX-License-Identifier: Apache-2.0 */
/* sequence_erase.c - a sequence without one of its tensors, the last one where no position is given. */
#include "ops/common_list.h"
#include <string.h>

static hone_status infer(hone_infer *infer) {
  HN_TRY(hn_infer_want_kind(infer, 0, HONE_SEQUENCE, "a sequence"));
  hn_out_list(infer, 0, HONE_SEQUENCE, &infer->in[0].type);
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  (void)window;
  const int64_t count = hn_eval_list_count(eval, 0);
  const hone_tensor *from = hn_list_items(&eval->in[0]);
  hone_tensor *items;
  int64_t at;
  HN_TRY(hn_eval_position(eval, 1, count, count - 1, count - 1, &at));
  HN_TRY(hn_eval_list(eval, count - 1, &items));
  if (at > 0) memcpy(items, from, (size_t)at * sizeof *items);
  if (at + 1 < count) memcpy(items + at, from + at + 1, (size_t)(count - at - 1) * sizeof *items);
  return HONE_OK;
}

const hone_op hn_op_sequence_erase = {
    .struct_size = sizeof(hone_op),
    .name = "sequence_erase",
    .doc = "a sequence without one of its tensors",
    .in = {{"input_sequence", 'T', HONE_TYPES_ANY}, {"position", 0, HONE_TYPES_INDEX, HONE_PORT_OPTIONAL}},
    .out = {{"output_sequence", 'T'}},
    .traits = HONE_ANY_KIND | HONE_AFTER_RUN | HONE_WHOLE,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_copy,
    .onnx = {{"SequenceErase", 11, HONE_LATEST}},
};
