/* SPDX-License-Identifier: Apache-2.0 */
/* slice.c - a strided part of a tensor: starts, ends, axes and steps as in Python, clamped to the extents.
 * Stepping backwards clamps the start to the first element, as the specification says and numpy does not. */
#include "ops/common_move.h"

enum { STARTS = 1, ENDS = 2, AXES = 3, STEPS = 4 };
#define FAR ((int64_t)1 << 40) /* no extent is larger: exporters write INT64_MAX or INT32_MAX for "to the end" */

static int64_t clamped(int64_t value, int64_t low, int64_t high) {
  return value > high ? high : value < low ? low : value;
}

/* First position and number of elements along an axis of known extent. */
static void slice_numbers(int64_t extent, int64_t start, int64_t end, int64_t step, int64_t *out_start,
                          int64_t *out_count) {
  if (step == INT64_MIN) step = -INT64_MAX;
  if (start < 0) start += extent;
  if (end < 0) end += extent;
  int64_t span;
  if (step > 0) {
    start = clamped(start, 0, extent);
    span = clamped(end, 0, extent) - start;
  } else {
    start = extent > 0 ? clamped(start, 0, extent - 1) : 0;
    span = extent > 0 ? start - clamped(end, -1, extent - 1) : 0;
    step = -step;
  }
  *out_start = start;
  *out_count = span > 0 ? (span - 1) / step + 1 : 0;
}

/* A bound of a forward slice as an expression; false when its sign cannot be told. */
static bool symbolic_bound(hone_infer *infer, int64_t extent, int64_t bound, int64_t *out) {
  hone_dims *dims = infer->dims;
  if (HONE_SYMBOLIC(bound)) {
    if (!hn_dim_is_not_negative(infer, bound)) return false;
    *out = hn_dim_min(dims, bound, extent);
  } else if (bound >= INT32_MAX || bound >= FAR)
    *out = extent;
  else if (bound < -FAR)
    *out = 0;
  else if (bound < 0)
    *out = hn_dim_max(dims, hn_dim_add(dims, extent, bound), 0);
  else
    *out = hn_dim_min(dims, bound, extent);
  return true;
}

/* The number of elements kept; a fresh symbol when it cannot be said. */
static int64_t slice_extent(hone_infer *infer, int64_t extent, int64_t start, int64_t end, int64_t step) {
  int64_t low, high, first, count;
  hone_dims *dims = infer->dims;
  if (!HONE_SYMBOLIC(extent) && !HONE_SYMBOLIC(start) && !HONE_SYMBOLIC(end)) {
    slice_numbers(extent, start, end, step, &first, &count);
    return count;
  }
  if (step > 0 && symbolic_bound(infer, extent, start, &low) && symbolic_bound(infer, extent, end, &high)) {
    const int64_t span = hn_dim_sub(dims, high, low);
    return hn_dim_ceil_div(dims, hn_dim_is_not_negative(infer, span) ? span : hn_dim_max(dims, span, 0), step);
  }
  const bool from_last = !HONE_SYMBOLIC(start) && (start == -1 || start >= INT32_MAX);
  if (step < 0 && step > -FAR && from_last && !HONE_SYMBOLIC(end) && end <= INT32_MIN)
    return hn_dim_ceil_div(dims, extent, -step);
  return hn_dim_fresh(dims, "slice", true, HONE_SYMBOLIC(extent) ? INT64_MAX : extent);
}

typedef struct slice_values {
  const int64_t *list[5];
  int count;
} slice_values;

/* The four lists; count -1 when their length is not known. */
static hone_status read_lists(hone_infer *infer, slice_values *out) {
  static const char *const names[] = {"data", "starts", "ends", "axes", "steps"};
  int64_t length, values;
  *out = (slice_values){.count = -1};
  for (int input = STARTS; input <= STEPS; ++input) {
    if (!hn_in_given(infer, input)) continue;
    HN_TRY(hn_in_length(infer, input, names[input], &length));
    out->list[input] = hn_in_value(infer, input, &values);
    if (length < 0) continue;
    if (length > HONE_MAX_RANK)
      return HN_INFER_FAIL(infer, "%s has %lld elements; the largest rank is %d", names[input], (long long)length,
                           HONE_MAX_RANK);
    if (out->count >= 0 && length != out->count)
      return HN_INFER_FAIL(infer, "%s has %lld elements, but starts has %d", names[input], (long long)length,
                           out->count);
    out->count = (int)length;
  }
  return HONE_OK;
}

static void keep_part(hone_infer *infer, const slice_values *lists) {
  int64_t count, start, kept;
  const int64_t *value = hn_in_value(infer, 0, &count);
  const int64_t *starts = lists->list[STARTS], *ends = lists->list[ENDS], *steps = lists->list[STEPS];
  if (!value || lists->count != 1 || HONE_SYMBOLIC(starts[0]) || HONE_SYMBOLIC(ends[0])) return;
  const int64_t step = steps ? steps[0] : 1;
  slice_numbers(count, starts[0], ends[0], step, &start, &kept);
  int64_t *to = hn_infer_value(infer, 0, kept);
  for (int64_t i = 0; to && i < kept; ++i) to[i] = value[start + i * step];
}

static hone_status infer(hone_infer *infer) {
  const int rank = hn_in_rank(infer, 0);
  slice_values lists;
  int axes[HONE_MAX_RANK];
  HN_TRY(read_lists(infer, &lists));
  if (rank < 0) return HONE_OK;
  if (lists.count < 0 || (hn_in_given(infer, AXES) && lists.count > 0 && !lists.list[AXES]))
    return hn_out_after_run(infer, 0, rank, INT64_MAX);
  if (lists.count > rank) return HN_INFER_FAIL(infer, "%d axes are sliced, but data has rank %d", lists.count, rank);
  for (int i = 0; i < lists.count; ++i) axes[i] = i;
  if (lists.list[AXES]) HN_TRY(hn_infer_axes(infer, lists.list[AXES], lists.count, rank, axes));
  hone_shape shape = *hn_in_shape(infer, 0);
  const int64_t *starts = lists.list[STARTS], *ends = lists.list[ENDS], *steps = lists.list[STEPS];
  const bool known = starts && ends && (steps || !hn_in_given(infer, STEPS));
  for (int i = 0; i < lists.count; ++i) {
    const int64_t step = steps ? steps[i] : 1, extent = shape.dim[axes[i]];
    if (step == 0) return HN_INFER_FAIL(infer, "steps[%d] is 0", i);
    if (known && !HONE_SYMBOLIC(step))
      shape.dim[axes[i]] = slice_extent(infer, extent, starts[i], ends[i], step);
    else
      shape.dim[axes[i]] = hn_dim_fresh(infer->dims, "slice", true, HONE_SYMBOLIC(extent) ? INT64_MAX : extent);
  }
  hn_out_shape(infer, 0, rank, shape.dim);
  if (rank == 1 && known) keep_part(infer, &lists);
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_sized(eval));
  hone_shape shape = eval->in[0].type.shape;
  int64_t list[5][HONE_MAX_RANK], strides[HONE_MAX_RANK], base = 0, first, last;
  int counts[5] = {0};
  bool seen[HONE_MAX_RANK] = {false};
  for (int input = STARTS; input <= STEPS; ++input) {
    if (!hn_eval_given(eval, input)) continue;
    HN_TRY(hn_eval_ints(eval, input, HONE_MAX_RANK, list[input], &counts[input]));
    if (counts[input] != counts[STARTS])
      return HN_FAIL(eval->diagnostics, HONE_INVALID, "starts, ends, axes and steps have different lengths");
  }
  hn_strides(&shape, strides);
  for (int i = 0; i < counts[STARTS]; ++i) {
    int axis;
    int64_t start, count;
    const int64_t step = hn_eval_given(eval, STEPS) ? list[STEPS][i] : 1;
    HN_TRY(hn_eval_axis(eval, hn_eval_given(eval, AXES) ? list[AXES][i] : i, shape.rank, &axis));
    if (step == 0 || seen[axis])
      return HN_FAIL(eval->diagnostics, HONE_INVALID, step == 0 ? "steps[%d] is 0" : "axes[%d] is named twice", i);
    seen[axis] = true;
    slice_numbers(shape.dim[axis], list[STARTS][i], list[ENDS][i], step, &start, &count);
    base += start * strides[axis];
    strides[axis] *= count > 1 ? step : 0;
    shape.dim[axis] = count;
  }
  HN_TRY(hn_eval_expect(eval, 0, shape.rank, shape.dim));
  hn_window_range(eval, window, 0, &first, &last);
  hn_copy_strided(eval, 0, 0, base, strides, first, last);
  return HONE_OK;
}

const hone_op hn_op_slice = {
    .struct_size = sizeof(hone_op),
    .name = "slice",
    .doc = "a strided part of a tensor",
    .in = {{"data", 'T', HONE_TYPES_ANY},
           {"starts", 'I', HONE_TYPES_INDEX},
           {"ends", 'I', HONE_TYPES_INDEX},
           {"axes", 'I', HONE_TYPES_INDEX, HONE_PORT_OPTIONAL},
           {"steps", 'I', HONE_TYPES_INDEX, HONE_PORT_OPTIONAL}},
    .out = {{"output", 'T'}},
    .traits = HONE_MOVES | HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_select,
    .report_class = "Data movement",
    .onnx = {{"Slice", 1, 9, .to_input = "starts=1 ends=2 axes=3"},
             {"Slice", 10, HONE_LATEST},
             {"Crop", 1, HONE_LATEST, .adapt = "experimental_crop", .alias = true},
             {"DynamicSlice", 1, HONE_LATEST, .alias = true}},
};
