/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c - softmax, layer norm and gather: the built-in kernels of src/kernels/cuda/rows. */
#include "backend/cuda/cuda.h"

enum { THREADS = 256 };

typedef struct state {
  hn_cuda_builtin kernel;
  unsigned rows;
  int length, inner, count;
  float epsilon;
} state;

static size_t state_bytes(const hone_query *query) {
  (void)query;
  return sizeof(state);
}

static hone_status run(const state *s, hone_stream *stream, void **arguments) {
  return hn_cuda_launch(stream, s->kernel, (hn_cuda_grid){s->rows, 1, 1}, THREADS, arguments);
}

/* The last axes from `axis` on are one row each. */
static const char *plan_rows(const hone_query *query, bool last_only, state *s) {
  const hone_type *x = &query->in[0].type;
  if (x->dtype != HONE_F32 || x->format != HONE_PLAIN || query->out[0].type.format != HONE_PLAIN)
    return "the input is not plain f32";
  if (x->shape.rank < 1) return "a scalar";
  int64_t axis = hn_cuda_attr_int(query->attrs, "axis", -1), length = 1;
  if (axis < 0) axis += x->shape.rank;
  if (last_only && axis != x->shape.rank - 1) return "its axis is not the last";
  for (int64_t d = axis; d < x->shape.rank; ++d) length *= x->shape.dim[d];
  const int64_t total = hn_cuda_elements(&x->shape);
  if (length > INT32_MAX / 2 || total > INT32_MAX / 2) return "more elements than 30 bits count";
  s->length = (int)length;
  s->rows = length ? (unsigned)(total / length) : 0;
  return NULL;
}

static const char *reject_softmax(const hone_query *query) {
  state s = {0};
  return plan_rows(query, true, &s);
}

static hone_status prepare_rows(hone_unit *unit, hn_cuda_builtin kernel, const char *reason, state *s,
                                hone_diagnostics *diag) {
  s->kernel = kernel;
  return reason ? unit->host->fail(diag, HONE_UNSUPPORTED, reason) : HONE_OK;
}

static hone_status prepare_softmax(hone_unit *unit, const hone_query *query, void *s, hone_diagnostics *diag) {
  return prepare_rows(unit, HN_CUDA_softmax_f32, plan_rows(query, true, s), s, diag);
}
static hone_status prepare_log_softmax(hone_unit *unit, const hone_query *query, void *s, hone_diagnostics *diag) {
  return prepare_rows(unit, HN_CUDA_log_softmax_f32, plan_rows(query, true, s), s, diag);
}

static hone_status launch_softmax(void *made, hone_stream *stream, const hone_launch *launch) {
  state *s = made;
  void *arguments[] = {&launch->out[0].data, (void *)(uintptr_t)&launch->in[0].data, &s->length};
  return run(s, stream, arguments);
}

/* ---- norms: scale and bias run along the row ---- */

static const char *plan_norm(const hone_query *query, state *s) {
  const char *reason = plan_rows(query, false, s);
  if (reason) return reason;
  if (query->out_count > 1 &&
      (query->out[1].type.kind != HONE_ABSENT || (query->out_count > 2 && query->out[2].type.kind != HONE_ABSENT)))
    return "its moments are requested";
  for (int i = 1; i < query->in_count; ++i) {
    if (query->in[i].type.kind == HONE_ABSENT) continue;
    if (i > 2) return "an input more than scale and bias";
    if (query->in[i].type.dtype != HONE_F32 || hn_cuda_elements(&query->in[i].type.shape) != s->length)
      return "scale or bias is not one f32 for each element of a row";
  }
  s->epsilon = (float)hn_cuda_attr_float(query->attrs, "epsilon", 1e-5);
  return NULL;
}

static const char *reject_norm(const hone_query *query) {
  state s = {0};
  return plan_norm(query, &s);
}
static hone_status prepare_layer_norm(hone_unit *unit, const hone_query *query, void *s, hone_diagnostics *diag) {
  return prepare_rows(unit, HN_CUDA_layer_norm_f32, plan_norm(query, s), s, diag);
}
static hone_status prepare_rms_norm(hone_unit *unit, const hone_query *query, void *s, hone_diagnostics *diag) {
  return prepare_rows(unit, HN_CUDA_rms_norm_f32, plan_norm(query, s), s, diag);
}

static hone_status launch_norm(void *made, hone_stream *stream, const hone_launch *launch) {
  state *s = made;
  const void *scale = launch->in_count > 1 ? launch->in[1].data : NULL;
  const void *bias = launch->in_count > 2 ? launch->in[2].data : NULL;
  void *arguments[] = {&launch->out[0].data, (void *)(uintptr_t)&launch->in[0].data, &scale, &bias, &s->length,
                       &s->epsilon};
  return run(s, stream, arguments);
}

/* ---- gather of whole words of 4 bytes: out[o, i, :] = data[o, indices[i], :] ---- */

static const char *plan_gather(const hone_query *query, state *s) {
  const hone_type *data = &query->in[0].type, *indices = &query->in[1].type;
  const bool four = data->dtype == HONE_F32 || data->dtype == HONE_I32;
  if (data->format != HONE_PLAIN || (!four && data->dtype != HONE_I64)) return "not plain f32, i32 or i64";
  if (indices->dtype != HONE_I64 && indices->dtype != HONE_I32) return "the indices are not i64 or i32";
  int64_t axis = hn_cuda_attr_int(query->attrs, "axis", 0), inner = 1, outer = 1;
  if (axis < 0) axis += data->shape.rank;
  for (int64_t d = 0; d < axis; ++d) outer *= data->shape.dim[d];
  for (int64_t d = axis + 1; d < data->shape.rank; ++d) inner *= data->shape.dim[d];
  const int64_t count = hn_cuda_elements(&indices->shape), total = hn_cuda_elements(&data->shape);
  if (!four) inner *= 2;
  if (total > INT32_MAX / 4 || outer * count > INT32_MAX / 2 || inner < 1 || total < 1)
    return "more elements than 30 bits count, or none";
  s->length = (int)data->shape.dim[axis];
  s->inner = (int)inner;
  s->count = (int)count;
  s->rows = (unsigned)(outer * count);
  return NULL;
}

static const char *reject_gather(const hone_query *query) {
  state s = {0};
  return plan_gather(query, &s);
}
static hone_status prepare_gather(hone_unit *unit, const hone_query *query, void *s, hone_diagnostics *diag) {
  return prepare_rows(unit, query->in[1].type.dtype == HONE_I64 ? HN_CUDA_gather_i64 : HN_CUDA_gather_i32,
                      plan_gather(query, s), s, diag);
}
static hone_status launch_gather(void *made, hone_stream *stream, const hone_launch *launch) {
  state *s = made;
  void *arguments[] = {&launch->out[0].data,
                       (void *)(uintptr_t)&launch->in[0].data,
                       (void *)(uintptr_t)&launch->in[1].data,
                       &s->length,
                       &s->inner,
                       &s->count};
  return run(s, stream, arguments);
}

#define ROW(row, row_name, row_op, how, run_flags)                                                                     \
  const hone_tactic hn_tactic_cuda_##row = {                                                                           \
      .struct_size = sizeof(hone_tactic),                                                                              \
      .name = row_name,                                                                                                \
      .version = 1,                                                                                                    \
      .op = row_op,                                                                                                    \
      .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE | (run_flags),                                          \
      .reject = reject_##how,                                                                                          \
      .state_bytes = state_bytes,                                                                                      \
      .prepare = prepare_##row,                                                                                        \
      .launch = launch_##how,                                                                                          \
  }
ROW(softmax, "cuda.softmax.f32", "softmax", softmax, HONE_TACTIC_IN_PLACE);
ROW(log_softmax, "cuda.log_softmax.f32", "log_softmax", softmax, HONE_TACTIC_IN_PLACE);
ROW(layer_norm, "cuda.layer_norm.f32", "layer_norm", norm, 0);
ROW(rms_norm, "cuda.rms_norm.f32", "rms_norm", norm, 0);
ROW(gather, "cuda.gather.b32", "gather", gather, 0);
