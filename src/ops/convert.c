/* SPDX-License-Identifier: Apache-2.0 */
/* convert.c - its input in another storage. Lowering puts it between steps that disagree about the storage; in the
 * graph, which knows what values are and not how they lie, it is a copy. */
#include "ops/common_move.h"

static hone_status infer(hone_infer *infer) {
  hn_infer_keep_value(infer, 0, 0);
  return hn_infer_same(infer);
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  if (eval->in[0].type.dtype == eval->out[0].type.dtype) return hn_eval_same_bytes(eval, window);
  const int64_t last = window ? window->last : hn_elems(&eval->out[0].type.shape);
  for (int64_t i = window ? window->first : 0; i < last && !hn_eval_ends(eval, i); ++i)
    hn_store_real(&eval->out[0], i, hn_real(&eval->in[0], i));
  return HONE_OK;
}

const hone_op hn_op_convert = {
    .struct_size = sizeof(hone_op),
    .name = "convert",
    .doc = "its input in another storage",
    .in = {{"x", 'T', HONE_TYPES_ANY}},
    .out = {{"y", 'T'}},
    .traits = HONE_MOVES,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_copy,
    .report_class = "Convert",
};
