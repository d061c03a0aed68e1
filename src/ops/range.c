/* SPDX-License-Identifier: Apache-2.0 */
/* range.c - start, start + delta, ... as long as it stays before limit. */
#include "ops/common_move.h"
#include <math.h>

enum { START = 0, LIMIT = 1, DELTA = 2 };

/* How many numbers; false: more than any tensor holds, or no number at all. */
static bool count_of_reals(double start, double limit, double delta, int64_t *out) {
  const double count = ceil((limit - start) / delta);
  *out = count > 0 ? (int64_t)fmin(count, 0x1p40) : 0;
  return count <= 0x1p40; /* false for NaN */
}

static bool count_of_ints(int64_t start, int64_t limit, int64_t delta, int64_t *out) {
  int64_t span;
  *out = 0;
  if (delta == 0) return false;
  if (delta > 0 ? limit <= start : limit >= start) return true;
  if (!hn_sub_i64(limit, start, &span)) return false;
  *out = (span > 0 ? span - 1 : span + 1) / delta + 1;
  return *out <= (int64_t)1 << 40;
}

static bool read_real(const hone_infer *infer, int input, double *out) {
  const hone_tensor *constant = infer->in[input].constant;
  int64_t count;
  if (!constant || !hn_elems_checked(&constant->type.shape, &count) || count != 1) return false;
  *out = hn_real(constant, 0);
  return true;
}

static hone_status infer_reals(hone_infer *infer) {
  double start, limit, delta;
  int64_t count;
  if (!read_real(infer, START, &start) || !read_real(infer, LIMIT, &limit) || !read_real(infer, DELTA, &delta))
    return hn_out_after_run(infer, 0, 1, INT64_MAX);
  if (!count_of_reals(start, limit, delta, &count))
    return HN_INFER_FAIL(infer, "from %g to %g by %g is not a finite range", start, limit, delta);
  hn_out_shape(infer, 0, 1, &count);
  return HONE_OK;
}

static hone_status infer_ints(hone_infer *infer) {
  int64_t counts[3], count;
  const int64_t *start = hn_in_value(infer, START, &counts[0]), *limit = hn_in_value(infer, LIMIT, &counts[1]);
  int64_t delta;
  const bool stepped = hn_in_number(infer, DELTA, &delta);
  if (stepped && delta == 0) return HN_INFER_FAIL(infer, "delta is 0");
  if (!start || !limit || !stepped || counts[0] != 1 || counts[1] != 1) return hn_out_after_run(infer, 0, 1, INT64_MAX);
  if (HONE_SYMBOLIC(start[0]) || HONE_SYMBOLIC(limit[0])) {
    if (delta < 0) return hn_out_after_run(infer, 0, 1, INT64_MAX);
    int64_t span = hn_dim_sub(infer->dims, limit[0], start[0]);
    if (!hn_dim_is_not_negative(infer, span)) span = hn_dim_max(infer->dims, span, 0);
    count = hn_dim_ceil_div(infer->dims, span, delta);
    hn_out_shape(infer, 0, 1, &count);
    return HONE_OK;
  }
  if (!count_of_ints(start[0], limit[0], delta, &count))
    return HN_INFER_FAIL(infer, "from %lld to %lld by %lld is a range that does not fit in memory", (long long)start[0],
                         (long long)limit[0], (long long)delta);
  hn_out_shape(infer, 0, 1, &count);
  int64_t *value = hn_infer_value(infer, 0, count);
  for (int64_t i = 0; value && i < count; ++i) value[i] = start[0] + i * delta;
  return HONE_OK;
}

static hone_status infer(hone_infer *infer) {
  for (int input = START; input <= DELTA; ++input) {
    const int rank = hn_in_rank(infer, input);
    if (rank > 1 ||
        (rank == 1 && hn_in_shape(infer, input)->dim[0] != 1 && !HONE_SYMBOLIC(hn_in_shape(infer, input)->dim[0])))
      return HN_INFER_FAIL(infer, "input %d must be a scalar, but has rank %d", input, rank);
  }
  return hn_dtype_is_float(infer->in[START].type.dtype) ? infer_reals(infer) : infer_ints(infer);
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_sized(eval));
  const bool real = hn_dtype_is_float(eval->in[START].type.dtype);
  int64_t count = 0, first, last;
  bool fine = true;
  for (int input = START; input <= DELTA; ++input) fine = fine && hn_elems(&eval->in[input].type.shape) == 1;
  if (fine && real)
    fine = count_of_reals(hn_real(&eval->in[START], 0), hn_real(&eval->in[LIMIT], 0), hn_real(&eval->in[DELTA], 0),
                          &count);
  else if (fine)
    fine = count_of_ints(hn_int(&eval->in[START], 0), hn_int(&eval->in[LIMIT], 0), hn_int(&eval->in[DELTA], 0), &count);
  if (!fine) return HN_FAIL(eval->diagnostics, HONE_INVALID, "start, limit and delta give no finite range");
  HN_TRY(hn_eval_expect(eval, 0, 1, &count));
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t at = first; at < last; ++at) {
    if (real)
      hn_store_real(&eval->out[0], at, hn_real(&eval->in[START], 0) + (double)at * hn_real(&eval->in[DELTA], 0));
    else
      hn_store_int(&eval->out[0], at, hn_int(&eval->in[START], 0) + at * hn_int(&eval->in[DELTA], 0));
  }
  return HONE_OK;
}

const hone_op hn_op_range = {
    .struct_size = sizeof(hone_op),
    .name = "range",
    .doc = "numbers from start to before limit, delta apart",
    .in = {{"start", 'T', HONE_TYPES_NUMBER}, {"limit", 'T', HONE_TYPES_NUMBER}, {"delta", 'T', HONE_TYPES_NUMBER}},
    .out = {{"output", 'T'}},
    .attr = {HONE_INT_ATTR("stash_type", 1)},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_copy,
    .onnx = {{"Range", 11, HONE_LATEST}, {"Range", 1, HONE_LATEST, "com.microsoft", .alias = true}},
};
