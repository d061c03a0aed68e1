/* SPDX-License-Identifier: Apache-2.0 */
/* sequence_insert.c - a sequence with one more tensor, at a position or at the end. */
#include "ops/common_list.h"
#include <string.h>

static hone_status infer(hone_infer *infer) {
  HN_TRY(hn_infer_want_kind(infer, 0, HONE_SEQUENCE, "a sequence"));
  HN_TRY(hn_infer_want_kind(infer, 1, HONE_TENSOR, "a tensor"));
  hone_type element = infer->in[0].type;
  hn_join_element(&element, &infer->in[1].type);
  hn_out_list(infer, 0, HONE_SEQUENCE, &element);
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  (void)window;
  const int64_t count = hn_eval_list_count(eval, 0);
  const hone_tensor *from = hn_list_items(&eval->in[0]);
  hone_tensor *items;
  int64_t at;
  HN_TRY(hn_eval_position(eval, 2, count, count, count, &at));
  HN_TRY(hn_eval_list(eval, count + 1, &items));
  if (at > 0) memcpy(items, from, (size_t)at * sizeof *items);
  if (at < count) memcpy(items + at + 1, from + at, (size_t)(count - at) * sizeof *items);
  return hn_eval_keep(eval, &eval->in[1], &items[at]);
}

const hone_op hn_op_sequence_insert = {
    .struct_size = sizeof(hone_op),
    .name = "sequence_insert",
    .doc = "a sequence with one more tensor",
    .in = {{"input_sequence", 'T', HONE_TYPES_ANY},
           {"tensor", 'T', HONE_TYPES_ANY},
           {"position", 0, HONE_TYPES_INDEX, HONE_PORT_OPTIONAL}},
    .out = {{"output_sequence", 'T'}},
    .traits = HONE_ANY_KIND | HONE_AFTER_RUN | HONE_WHOLE,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_copy,
    .onnx = {{"SequenceInsert", 11, HONE_LATEST}},
};
