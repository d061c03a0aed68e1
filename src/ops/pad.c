/* SPDX-License-Identifier: Apache-2.0 */
/* pad.c - elements added before and after each axis: a constant, the edge, a reflection, or the other end. Negative
 * pads remove elements; what is reflected or wrapped is what they leave. */
#include "ops/common_move.h"

enum { PADS = 1, VALUE = 2, AXES = 3 };

static bool is_mode(const char *mode) {
  static const char *const modes[] = {"constant", "edge", "reflect", "wrap"};
  for (size_t i = 0; i < HN_COUNT(modes); ++i)
    if (hn_name_equal(mode, modes[i])) return true;
  return false;
}

static hone_status infer(hone_infer *infer) {
  const int rank = hn_in_rank(infer, 0);
  const char *mode = hn_attr_text(infer->attrs, "mode");
  int64_t length, count, axis_count = rank, dims[HONE_MAX_RANK];
  int axes[HONE_MAX_RANK];
  if (!is_mode(mode)) return HN_INFER_FAIL(infer, "mode is \"%s\"; it must be constant, edge, reflect or wrap", mode);
  HN_TRY(hn_in_length(infer, PADS, "pads", &length));
  if (rank < 0) return HONE_OK;
  const int64_t *pads = hn_in_value(infer, PADS, &count), *given = NULL;
  if (hn_in_given(infer, AXES)) {
    given = hn_in_value(infer, AXES, &axis_count);
    if (!given) return hn_out_after_run(infer, 0, rank, INT64_MAX);
    HN_TRY(hn_infer_axes(infer, given, axis_count, rank, axes));
  }
  if (length >= 0 && length != 2 * axis_count)
    return HN_INFER_FAIL(infer, "pads has %lld elements; %lld axes need %lld", (long long)length, (long long)axis_count,
                         (long long)(2 * axis_count));
  if (!pads || length < 0) {
    if (length != 0) return hn_out_after_run(infer, 0, rank, INT64_MAX);
    return hn_infer_same(infer);
  }
  for (int d = 0; d < rank; ++d) dims[d] = hn_in_shape(infer, 0)->dim[d];
  for (int i = 0; i < axis_count; ++i) {
    const int d = given ? axes[i] : i;
    dims[d] = hn_dim_add(infer->dims, hn_dim_add(infer->dims, dims[d], pads[i]), pads[i + axis_count]);
    if (!HONE_SYMBOLIC(dims[d]) && dims[d] < 0)
      return HN_INFER_FAIL(infer, "pads leave axis %d with extent %lld", d, (long long)dims[d]);
  }
  hn_out_shape(infer, 0, rank, dims);
  return HONE_OK;
}

/* One axis: the part of the input that is kept, and where it lies in the output. */
typedef struct pad_axis {
  int64_t from, count, begin;
} pad_axis;

static int64_t floor_mod(int64_t a, int64_t b) { return a % b < 0 ? a % b + b : a % b; }

/* The input position for an output position; -1: the constant. */
static int64_t source(const pad_axis *axis, char mode, int64_t at) {
  const int64_t i = at - axis->begin, n = axis->count;
  if (i >= 0 && i < n) return axis->from + i;
  if (mode == 'c') return -1;
  if (mode == 'e') return axis->from + (i < 0 ? 0 : n - 1);
  if (mode == 'w') return axis->from + floor_mod(i, n);
  if (n == 1) return axis->from;
  const int64_t turn = floor_mod(i, 2 * (n - 1)); /* there and back again */
  return axis->from + (turn < n ? turn : 2 * (n - 1) - turn);
}

static hone_status plan_axes(hone_eval *eval, pad_axis *out, char mode) {
  const hone_shape *from = &eval->in[0].type.shape;
  int64_t pads[2 * HONE_MAX_RANK], axes[HONE_MAX_RANK], dims[HONE_MAX_RANK];
  int pad_count, axis_count = from->rank;
  HN_TRY(hn_eval_ints(eval, PADS, 2 * HONE_MAX_RANK, pads, &pad_count));
  for (int d = 0; d < from->rank; ++d) {
    axes[d] = d;
    dims[d] = from->dim[d];
    out[d] = (pad_axis){.count = from->dim[d]};
  }
  if (hn_eval_given(eval, AXES)) HN_TRY(hn_eval_ints(eval, AXES, from->rank, axes, &axis_count));
  if (pad_count != 2 * axis_count) return HN_FAIL(eval->diagnostics, HONE_INVALID, "pads has %d elements", pad_count);
  for (int i = 0; i < axis_count; ++i) {
    const int64_t before = pads[i], after = pads[i + axis_count];
    int d;
    HN_TRY(hn_eval_axis(eval, axes[i], from->rank, &d));
    if (before > (int64_t)1 << 40 || after > (int64_t)1 << 40 || before < -from->dim[d] || after < -from->dim[d])
      return HN_FAIL(eval->diagnostics, HONE_INVALID, "pads of axis %d are out of range", d);
    dims[d] = from->dim[d] + before + after;
    out[d] = (pad_axis){.from = before < 0 ? -before : 0, .begin = before > 0 ? before : 0};
    out[d].count = from->dim[d] - out[d].from + (after < 0 ? after : 0);
    if (out[d].count < 0) out[d].count = 0;
    if (out[d].count == 0 && dims[d] > 0 && mode != 'c')
      return HN_FAIL(eval->diagnostics, HONE_INVALID, "axis %d has nothing to repeat", d);
  }
  return hn_eval_expect(eval, 0, from->rank, dims);
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_sized(eval));
  const hone_shape *from = &eval->in[0].type.shape;
  hone_tensor *out = &eval->out[0];
  const char mode = hn_attr_text(eval->attrs, "mode")[0];
  pad_axis axes[HONE_MAX_RANK];
  int64_t strides[HONE_MAX_RANK], index[HONE_MAX_RANK], first, last;
  uint8_t zero[16] = {0}; /* no bits set: 0, false or the empty string */
  hone_tensor nothing = {.type = out->type, .data = zero, .bytes = sizeof zero};
  const bool has_value = hn_eval_given(eval, VALUE) && hn_elems(&eval->in[VALUE].type.shape) > 0;
  const hone_tensor *fill = has_value ? &eval->in[VALUE] : &nothing;
  HN_TRY(plan_axes(eval, axes, mode));
  hn_strides(from, strides);
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t at = first; at < last; ++at) {
    bool inside = true;
    int64_t position = 0;
    hn_unflatten(&out->type.shape, at, index);
    for (int d = 0; inside && d < from->rank; ++d) {
      const int64_t i = source(&axes[d], mode, index[d]);
      inside = i >= 0;
      position += i * strides[d];
    }
    if (inside)
      hn_copy_element(out, at, &eval->in[0], position);
    else
      hn_copy_element(out, at, fill, 0);
  }
  return HONE_OK;
}

const hone_op hn_op_pad = {
    .struct_size = sizeof(hone_op),
    .name = "pad",
    .doc = "elements added before and after each axis",
    .in = {{"data", 'T', HONE_TYPES_ANY},
           {"pads", 0, HONE_BIT(HONE_I64)},
           {"constant_value", 'T', HONE_TYPES_ANY, HONE_PORT_OPTIONAL},
           {"axes", 0, HONE_TYPES_INDEX, HONE_PORT_OPTIONAL}},
    .out = {{"output", 'T'}},
    .attr = {HONE_STRING_ATTR("mode", "constant")},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_copy,
    .report_class = "Data movement",
    .onnx = {{"Pad", 1, 1, .to_input = "paddings=1 value=2"},
             {"Pad", 2, 10, .to_input = "pads=1 value=2"},
             {"Pad", 11, HONE_LATEST},
             {"Pad", 1, HONE_LATEST, "com.microsoft", .alias = true}},
};
