/* SPDX-License-Identifier: Apache-2.0 */
/* copy_slice.c - slice: starts, ends, axes and steps are read when it runs, with Python's clamping, and must give the
 * extents that the output has. */
#include "backend/cpu/copy/copy.h"
#include "tensor/element.h"

enum { STARTS = 1, ENDS, AXES, STEPS };

static const char *plan(const hone_query *query, void *state, hone_needs *needs) {
  (void)state, (void)needs; /* all is read when it runs */
  HN_TRY_REASON(hn_cpu_check(query, 3, 5, 1));
  HN_TRY_REASON(hn_cpu_check_moves(query, false));
  if (query->in[0].type.shape.rank != query->out[0].type.shape.rank) return "the output has another rank";
  for (int i = STARTS; i < query->in_count; ++i) {
    if (!hn_cpu_given(query, i)) continue;
    HN_TRY_REASON(hn_cpu_check_list(query, i, query->in[0].type.shape.rank));
    if (hn_elems(&query->in[i].type.shape) != hn_elems(&query->in[STARTS].type.shape))
      return "starts, ends, axes and steps have different lengths";
  }
  return NULL;
}

static int64_t clamped(int64_t value, int64_t low, int64_t high) {
  return value < low ? low : value > high ? high : value;
}

/* The first place and the number of elements along one axis. step is not 0. */
static void part_of(int64_t extent, int64_t start, int64_t end, int64_t step, int64_t *out_start, int64_t *out_count) {
  int64_t span;
  if (start < 0) start += extent;
  if (end < 0) end += extent;
  if (step > 0) {
    start = clamped(start, 0, extent);
    span = clamped(end, 0, extent) - start;
  } else {
    start = extent > 0 ? clamped(start, 0, extent - 1) : 0;
    span = extent > 0 ? start - clamped(end, -1, extent - 1) : 0;
    step = step == INT64_MIN ? INT64_MAX : -step;
  }
  *out_start = start;
  *out_count = span > 0 ? (span - 1) / step + 1 : 0;
}

static bool is_given(const hone_launch *launch, int input) {
  return input < launch->in_count && launch->in[input].type.kind != HONE_ABSENT;
}

static hone_status launch(void *state, hone_stream *stream, const hone_launch *launch) {
  (void)state;
  const hone_tensor *in = &launch->in[0], *out = &launch->out[0];
  const int rank = in->type.shape.rank, bytes = hn_cpu_element_bytes(in->type.dtype);
  int64_t stride[HONE_MAX_RANK], to[HONE_MAX_RANK], dim[HONE_MAX_RANK], base = 0;
  bool seen[HONE_MAX_RANK] = {false};
  hn_strides(&in->type.shape, stride);
  hn_strides(&out->type.shape, to);
  for (int d = 0; d < rank; ++d) dim[d] = in->type.shape.dim[d];
  const int64_t count = hn_elems(&launch->in[STARTS].type.shape);
  for (int64_t i = 0; i < count; ++i) {
    int64_t axis = is_given(launch, AXES) ? hn_int(&launch->in[AXES], i) : i, start, kept;
    const int64_t step = is_given(launch, STEPS) ? hn_int(&launch->in[STEPS], i) : 1;
    if (axis < -rank || axis >= rank)
      return HN_FAIL(launch->diagnostics, HONE_MALFORMED, "axes[%lld] is %lld, but the rank is %d", (long long)i,
                     (long long)axis, rank);
    if (axis < 0) axis += rank;
    if (step == 0 || seen[axis])
      return HN_FAIL(launch->diagnostics, HONE_MALFORMED,
                     step ? "axis %lld is sliced twice" : "the step of axis %lld is 0", (long long)axis);
    seen[axis] = true;
    part_of(dim[axis], hn_int(&launch->in[STARTS], i), hn_int(&launch->in[ENDS], i), step, &start, &kept);
    base += start * stride[axis];
    stride[axis] *= kept > 1 ? step : 0;
    dim[axis] = kept;
  }
  for (int d = 0; d < rank; ++d)
    if (dim[d] != out->type.shape.dim[d])
      return HN_FAIL(launch->diagnostics, HONE_MALFORMED, "the slice has %lld elements along axis %d, the output %lld",
                     (long long)dim[d], d, (long long)out->type.shape.dim[d]);
  if (hn_elems(&out->type.shape) == 0) return HONE_OK;
  hn_copy_plan plan;
  hn_copy_plan_make(&plan, rank, dim, stride, to, bytes);
  hn_cpu_copy(stream, &plan, (const char *)in->data + base * bytes, out->data);
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_copy_slice[] = {
    {sizeof(hone_tactic), .name = "cpu.slice.any.c", .version = 1, .op = "slice", .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_F16_PLAIN, HONE_F16_PLAIN}},
     .plan = plan, .launch = launch},
    {0}};
