/* SPDX-License-Identifier: Apache-2.0 */
/* reformat.c - its input in another memory format. Lowering puts it between steps that disagree about the format; in
 * the graph, which knows the plain one only, it is a copy. */
#include "ops/common_move.h"

static hone_status infer(hone_infer *infer) {
  hn_infer_keep_value(infer, 0, 0);
  return hn_infer_same(infer);
}

const hone_op hn_op_reformat = {
    .struct_size = sizeof(hone_op),
    .name = "reformat",
    .doc = "its input in another memory format",
    .in = {{"x", 'T', HONE_TYPES_ANY}},
    .out = {{"y", 'T'}},
    .traits = HONE_MOVES,
    .infer = infer,
    .eval = hn_eval_same_bytes,
    .cost = hn_cost_copy,
    .report_class = "Reformat",
};
