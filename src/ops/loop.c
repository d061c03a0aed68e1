/* SPDX-License-Identifier: Apache-2.0 */
/* loop.c - a block run until its condition fails or m iterations are done.
 * Inputs: m, cond, the carried values, then as many captures as the attribute says. Block parameters: the iteration's
 * number, the condition, carried values, captures. Block results: the condition, carried values, then what is stacked
 * along a new first axis. */
#include "ops/common_blocks.h"

enum { TRIPS = 0, CONDITION = 1, FIXED = 2 };

static int carried_count(const hone_infer *infer) {
  const int64_t captures = hn_attr_int(infer->attrs, "captures"), rest = infer->in_count - FIXED;
  return captures >= 0 && captures <= rest ? (int)(rest - captures) : -1;
}

static hone_status infer_params(hone_infer *infer, int block, hone_fact *params, int param_count) {
  const int carried = carried_count(infer);
  int result_count;
  const hone_fact *results = hn_block_results(infer, block, &result_count);
  if (carried < 0 || param_count != infer->in_count)
    return HN_INFER_FAIL(infer, "the body has %d parameters for %d inputs", param_count, infer->in_count);
  params[0] = (hone_fact){.type = hn_tensor_type(HONE_I64, 0, NULL)};
  params[1] = (hone_fact){.type = hn_tensor_type(HONE_BOOL, 0, NULL)};
  for (int i = 0; i < carried; ++i)
    hn_param_carried(infer, &infer->in[FIXED + i], results && 1 + i < result_count ? &results[1 + i] : NULL,
                     &params[FIXED + i]);
  hn_params_of_captures(infer, FIXED + carried, params, FIXED + carried, param_count);
  return HONE_OK;
}

/* How often the body runs: m, when the condition is surely true every time; else at most m. */
static int64_t trip_count(hone_infer *infer, const hone_fact *next_condition) {
  int64_t count, high = INT64_MAX;
  const int64_t *trips = hn_in_value(infer, TRIPS, &count);
  if (trips && count == 1 && !HONE_SYMBOLIC(trips[0])) high = trips[0] > 0 ? trips[0] : 0;
  const int64_t *begin = hn_in_value(infer, CONDITION, &count);
  const bool begins = !hn_in_given(infer, CONDITION) || (begin && count == 1 && begin[0] != 0);
  const bool goes_on = next_condition->value && next_condition->value_count == 1 && next_condition->value[0] != 0;
  if (begins && goes_on && trips) return HONE_SYMBOLIC(trips[0]) ? trips[0] : high;
  return hn_dim_fresh(infer->dims, "loop", true, high);
}

static hone_status infer(hone_infer *infer) {
  const int carried = carried_count(infer);
  int result_count;
  const hone_fact *results = hn_block_results(infer, 0, &result_count);
  if (carried < 0) return HN_INFER_FAIL(infer, "captures is outside [0, %d]", infer->in_count - FIXED);
  if (!results || result_count != 1 + infer->out_count || infer->out_count < carried)
    return HN_INFER_FAIL(infer, "the body gives %d results; %d outputs and the condition need %d", result_count,
                         infer->out_count, 1 + infer->out_count);
  if (results[0].type.dtype != HONE_BOOL) return HN_INFER_FAIL(infer, "the body's first result must be bool");
  for (int i = 0; i < carried; ++i) HN_TRY(hn_infer_carried(infer, i, &infer->in[FIXED + i], &results[1 + i]));
  if (carried == infer->out_count) return HONE_OK;
  const int64_t trips = trip_count(infer, &results[0]);
  for (int i = carried; i < infer->out_count; ++i) {
    const hone_type *type = &results[1 + i].type;
    int64_t dims[HONE_MAX_RANK] = {trips};
    hn_out_dtype(infer, i, type->dtype);
    if (type->shape.rank < 0) continue;
    if (type->shape.rank >= HONE_MAX_RANK)
      return HN_INFER_UNSUPPORTED(infer, "stacked output %d would have rank %d", i, type->shape.rank + 1);
    for (int d = 0; d < type->shape.rank; ++d) dims[d + 1] = type->shape.dim[d];
    hn_out_shape(infer, i, type->shape.rank + 1, dims);
  }
  return HONE_OK;
}

const hone_op hn_op_loop = {
    .struct_size = sizeof(hone_op),
    .name = "loop",
    .doc = "a block run again and again",
    .in = {{"m", 0, HONE_BIT(HONE_I64), HONE_PORT_OPTIONAL},
           {"cond", 0, HONE_TYPES_BOOL, HONE_PORT_OPTIONAL},
           {"v_initial", 0, HONE_TYPES_ANY, HONE_PORT_VARIADIC | HONE_PORT_OPTIONAL}},
    .out = {{"v_final_and_scan_outputs", 0, HONE_TYPES_ANY, HONE_PORT_VARIADIC}},
    .attr = {HONE_INT_ATTR("captures", 0)},
    .traits = HONE_HAS_BLOCKS | HONE_RUNS_LOOP,
    .infer = infer,
    .infer_params = infer_params,
    .onnx = {{"Loop", 1, HONE_LATEST}, {"SequenceMap", 17, HONE_LATEST, .adapt = "sequence_map", .alias = true}},
};
