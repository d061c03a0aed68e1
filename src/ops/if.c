/* SPDX-License-Identifier: Apache-2.0 */
/* if.c - one of two blocks: block 0 when the condition holds, else block 1. Inputs after the condition are captures;
 * both blocks have all of them as parameters. */
#include "ops/common_blocks.h"

enum { THEN = 0, ELSE = 1 };

static hone_status infer_params(hone_infer *infer, int block, hone_fact *params, int param_count) {
  (void)block; /* both see the same */
  hn_params_of_captures(infer, 1, params, 0, param_count);
  return HONE_OK;
}

/* The other block never returns. */
static hone_status take_facts(hone_infer *infer, const hone_fact *results) {
  for (int i = 0; i < infer->out_count; ++i) infer->out[i].type = results[i].type;
  return HONE_OK;
}

static hone_status infer(hone_infer *infer) {
  int then_count, else_count;
  const hone_fact *then_results = hn_block_results(infer, THEN, &then_count);
  const hone_fact *else_results = hn_block_results(infer, ELSE, &else_count);
  int64_t elems;
  if (hn_elems_checked(hn_in_shape(infer, 0), &elems) && elems != 1)
    return HN_INFER_FAIL(infer, "the condition has %lld elements; it must have one", (long long)elems);
  if (infer->block_count != 2) return HN_INFER_FAIL(infer, "%d branches; there must be 2", infer->block_count);
  if (then_count < 0 && else_count == infer->out_count) return take_facts(infer, else_results);
  if (else_count < 0 && then_count == infer->out_count) return take_facts(infer, then_results);
  if (then_count != else_count || then_count != infer->out_count)
    return HN_INFER_FAIL(infer, "the branches give %d and %d results for %d outputs", then_count, else_count,
                         infer->out_count);
  for (int i = 0; i < then_count; ++i) HN_TRY(hn_out_either(infer, i, &then_results[i], &else_results[i], "output"));
  return HONE_OK;
}

const hone_op hn_op_if = {
    .struct_size = sizeof(hone_op),
    .name = "if",
    .doc = "one of two blocks",
    .in = {{"cond", 0, HONE_TYPES_BOOL}, {"captures", 0, HONE_TYPES_ANY, HONE_PORT_VARIADIC | HONE_PORT_OPTIONAL}},
    .out = {{"outputs", 0, HONE_TYPES_ANY, HONE_PORT_VARIADIC}},
    .traits = HONE_HAS_BLOCKS | HONE_RUNS_ONE,
    .infer = infer,
    .infer_params = infer_params,
    .onnx = {{"If", 1, HONE_LATEST}},
};
