/* SPDX-License-Identifier: Apache-2.0 */
/* scan.c - a block run once for every slice of its scan inputs.
 * Inputs: states, num_scan_inputs tensors that are sliced, then as many captures as the attribute says. Block
 * parameters: states, slices, captures. Block results: states, then what is stacked. */
#include "ops/common_blocks.h"

typedef struct counts {
  int states, scanned, captures, stacked;
} counts;

static hone_status count_ports(hone_infer *infer, counts *out) {
  const int64_t scanned = hn_attr_int(infer->attrs, "num_scan_inputs"),
                captures = hn_attr_int(infer->attrs, "captures");
  if (captures < 0 || captures > infer->in_count || scanned < 1 || scanned > infer->in_count - captures)
    return HN_INFER_FAIL(infer, "num_scan_inputs is %lld and captures %lld, with %d inputs", (long long)scanned,
                         (long long)captures, infer->in_count);
  *out = (counts){.scanned = (int)scanned, .captures = (int)captures};
  out->states = infer->in_count - out->captures - out->scanned;
  out->stacked = infer->out_count - out->states;
  if (out->stacked < 0) return HN_INFER_FAIL(infer, "%d outputs for %d states", infer->out_count, out->states);
  return HONE_OK;
}

/* An entry of a list of axes, 0 when the list is absent; the list must have `count` entries. */
static hone_status axis_of(hone_infer *infer, const char *name, int at, int count, int rank, int *out) {
  const int64_t *axes;
  const int given = hn_attr_ints(infer->attrs, name, &axes);
  if (given > 0 && given != count)
    return HN_INFER_FAIL(infer, "%s has %d entries; it must have %d", name, given, count);
  return hn_infer_axis(infer, given > 0 ? axes[at] : 0, rank, out);
}

static hone_status slice_type(hone_infer *infer, const counts *count, int scanned, hone_fact *out) {
  const hone_type *from = &infer->in[count->states + scanned].type;
  int axis;
  *out = (hone_fact){.type = *from};
  if (from->shape.rank < 0) return HONE_OK;
  HN_TRY(axis_of(infer, "scan_input_axes", scanned, count->scanned, from->shape.rank, &axis));
  for (int d = axis; d + 1 < from->shape.rank; ++d) out->type.shape.dim[d] = from->shape.dim[d + 1];
  --out->type.shape.rank;
  return HONE_OK;
}

static hone_status infer_params(hone_infer *infer, int block, hone_fact *params, int param_count) {
  counts count;
  int result_count;
  const hone_fact *results = hn_block_results(infer, block, &result_count);
  HN_TRY(count_ports(infer, &count));
  if (param_count != infer->in_count)
    return HN_INFER_FAIL(infer, "the body has %d parameters for %d inputs", param_count, infer->in_count);
  for (int i = 0; i < count.states; ++i)
    hn_param_carried(infer, &infer->in[i], results && i < result_count ? &results[i] : NULL, &params[i]);
  for (int i = 0; i < count.scanned; ++i) HN_TRY(slice_type(infer, &count, i, &params[count.states + i]));
  hn_params_of_captures(infer, count.states + count.scanned, params, count.states + count.scanned, param_count);
  return HONE_OK;
}

/* The number of slices, which all scan inputs must share. */
static hone_status slice_count(hone_infer *infer, const counts *count, int64_t *out) {
  bool known = false;
  for (int i = 0; i < count->scanned; ++i) {
    const hone_shape *shape = hn_in_shape(infer, count->states + i);
    int axis;
    if (shape->rank < 0) continue;
    HN_TRY(axis_of(infer, "scan_input_axes", i, count->scanned, shape->rank, &axis));
    const int64_t extent = shape->dim[axis];
    if (known && !HONE_SYMBOLIC(extent) && !HONE_SYMBOLIC(*out) && extent != *out)
      return HN_INFER_FAIL(infer, "scan input %d has %lld slices, others have %lld", i, (long long)extent,
                           (long long)*out);
    if (!known || HONE_SYMBOLIC(*out)) *out = extent;
    known = true;
  }
  if (!known) *out = hn_dim_fresh(infer->dims, "scan", true, INT64_MAX);
  return HONE_OK;
}

static hone_status check_directions(hone_infer *infer, const char *name, int count) {
  const int64_t *directions;
  const int given = hn_attr_ints(infer->attrs, name, &directions);
  if (given > 0 && given != count)
    return HN_INFER_FAIL(infer, "%s has %d entries; it must have %d", name, given, count);
  for (int i = 0; i < given; ++i)
    if (directions[i] != 0 && directions[i] != 1)
      return HN_INFER_FAIL(infer, "%s[%d] is %lld; it must be 0 or 1", name, i, (long long)directions[i]);
  return HONE_OK;
}

static hone_status infer(hone_infer *infer) {
  counts count;
  int result_count, axis;
  int64_t slices;
  const hone_fact *results = hn_block_results(infer, 0, &result_count);
  HN_TRY(count_ports(infer, &count));
  HN_TRY(check_directions(infer, "scan_input_directions", count.scanned));
  HN_TRY(check_directions(infer, "scan_output_directions", count.stacked));
  HN_TRY(slice_count(infer, &count, &slices));
  if (!results || result_count != infer->out_count)
    return HN_INFER_FAIL(infer, "the body gives %d results for %d outputs", result_count, infer->out_count);
  for (int i = 0; i < count.states; ++i) HN_TRY(hn_infer_carried(infer, i, &infer->in[i], &results[i]));
  for (int i = count.states; i < infer->out_count; ++i) {
    const hone_type *type = &results[i].type;
    int64_t dims[HONE_MAX_RANK];
    hn_out_dtype(infer, i, type->dtype);
    if (type->shape.rank < 0) continue;
    const int rank = type->shape.rank + 1;
    if (rank > HONE_MAX_RANK) return HN_INFER_UNSUPPORTED(infer, "stacked output %d would have rank %d", i, rank);
    HN_TRY(axis_of(infer, "scan_output_axes", i - count.states, count.stacked, rank, &axis));
    for (int d = 0, from = 0; d < rank; ++d) dims[d] = d == axis ? slices : type->shape.dim[from++];
    hn_out_shape(infer, i, rank, dims);
  }
  return HONE_OK;
}

const hone_op hn_op_scan = {
    .struct_size = sizeof(hone_op),
    .name = "scan",
    .doc = "a block run once for every slice",
    .in = {{"initial_state_and_scan_inputs", 0, HONE_TYPES_ANY, HONE_PORT_VARIADIC}},
    .out = {{"final_state_and_scan_outputs", 0, HONE_TYPES_ANY, HONE_PORT_VARIADIC}},
    .attr = {HONE_NEEDED_ATTR("num_scan_inputs", HONE_ATTR_INT), HONE_OPTIONAL_ATTR("scan_input_axes", HONE_ATTR_INTS),
             HONE_OPTIONAL_ATTR("scan_input_directions", HONE_ATTR_INTS),
             HONE_OPTIONAL_ATTR("scan_output_axes", HONE_ATTR_INTS),
             HONE_OPTIONAL_ATTR("scan_output_directions", HONE_ATTR_INTS), HONE_INT_ATTR("captures", 0)},
    .traits = HONE_HAS_BLOCKS,
    .infer = infer,
    .infer_params = infer_params,
    .onnx = {{"Scan", 9, HONE_LATEST}},
};
