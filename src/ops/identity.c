/* SPDX-License-Identifier: Apache-2.0 */
/* identity.c - its input under another name; sequences and optionals pass through too. */
#include "ops/common_list.h"

static hone_status infer(hone_infer *infer) {
  infer->out[0].type.kind = infer->in[0].type.kind;
  hn_infer_keep_value(infer, 0, 0);
  return hn_infer_same(infer);
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  return eval->in[0].type.kind == HONE_TENSOR ? hn_eval_same_bytes(eval, window) : hn_eval_give(eval, &eval->in[0]);
}

const hone_op hn_op_identity = {
    .struct_size = sizeof(hone_op),
    .name = "identity",
    .doc = "its input",
    .in = {{"input", 'T', HONE_TYPES_ANY}},
    .out = {{"output", 'T'}},
    .traits = HONE_MOVES | HONE_ALIASES | HONE_ANY_KIND,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_copy,
    .onnx = {{"Identity", 1, HONE_LATEST},
             {"ZipMap", 1, HONE_LATEST, "ai.onnx.ml", .adapt = "ml_zip_map", .alias = true}},
};
