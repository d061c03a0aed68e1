/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c - softmax, layer norm, batch norm and gather: the built-in kernels of src/kernels/cuda/rows. */
#include "backend/cuda/cuda.h"

enum { THREADS = 256 };

typedef struct state {
  hn_cuda_builtin kernel;
  unsigned rows;
  int length, inner, count;
  float epsilon;
} state;

typedef struct row_kernel {
  hn_cuda_builtin run;
} row_kernel;

static hone_status run(const state *s, hone_stream *stream, void **arguments) {
  return hn_cuda_launch(stream, s->kernel, (hn_cuda_grid){s->rows, 1, 1}, THREADS, arguments);
}

/* The last axes from `axis` on are one row each. */
static const char *read_rows(const hone_query *query, bool last_only, state *s) {
  const hone_type *x = &query->in[0].type;
  if (x->dtype != HONE_F32 || x->format != HONE_PLAIN || query->out[0].type.format != HONE_PLAIN)
    return "the input is not plain f32";
  if (x->shape.rank < 1) return "a scalar";
  int64_t axis = hn_cuda_attr_int(query->attrs, "axis", -1), length = 1;
  if (axis < 0) axis += x->shape.rank;
  for (int64_t d = axis + 1; d < x->shape.rank && last_only; ++d)
    if (x->shape.dim[d] != 1) return "its axis is not the last";
  for (int64_t d = axis; d < x->shape.rank; ++d) length *= x->shape.dim[d];
  const int64_t total = hn_cuda_elements(&x->shape);
  if (length > INT32_MAX / 2 || total > INT32_MAX / 2) return "more elements than 30 bits count";
  s->length = (int)length;
  s->rows = length ? (unsigned)(total / length) : 0;
  s->kernel = ((const row_kernel *)query->tactic->kernel)->run;
  return NULL;
}

static const char *plan_softmax(const hone_query *query, void *state_memory, hone_needs *needs) {
  state asked;
  needs->state = sizeof asked;
  return read_rows(query, true, state_memory ? state_memory : &asked);
}

static hone_status launch_softmax(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  state *s = state_memory;
  void *arguments[] = {&launch->out[0].data, (void *)(uintptr_t)&launch->in[0].data, &s->length};
  return run(s, stream, arguments);
}

/* ---- norms: scale and bias run along the row ---- */

static const char *plan_norm(const hone_query *query, void *state_memory, hone_needs *needs) {
  state asked, *s = state_memory ? state_memory : &asked;
  HN_TRY_REASON(read_rows(query, false, s));
  if (query->out_count > 1 &&
      (query->out[1].type.kind != HONE_ABSENT || (query->out_count > 2 && query->out[2].type.kind != HONE_ABSENT)))
    return "its moments are requested";
  for (int i = 1; i < query->in_count; ++i) {
    if (query->in[i].type.kind == HONE_ABSENT) continue;
    if (i > 2) return "an input more than scale and bias";
    if (query->in[i].type.dtype != HONE_F32 || hn_cuda_elements(&query->in[i].type.shape) != s->length)
      return "scale or bias is not one f32 for each element of a row";
  }
  needs->state = sizeof *s;
  s->epsilon = (float)hn_cuda_attr_float(query->attrs, "epsilon", 1e-5);
  return NULL;
}

static hone_status launch_norm(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  state *s = state_memory;
  const void *scale = launch->in_count > 1 ? launch->in[1].data : NULL;
  const void *bias = launch->in_count > 2 ? launch->in[2].data : NULL;
  void *arguments[] = {&launch->out[0].data, (void *)(uintptr_t)&launch->in[0].data, &scale, &bias, &s->length,
                       &s->epsilon};
  return run(s, stream, arguments);
}

/* ---- batch norm with given moments: rows are planes, inner their channels ---- */

static const char *plan_batch(const hone_query *query, void *state_memory, hone_needs *needs) {
  enum { PARAMETERS = 4 };
  state *s = state_memory;
  const hone_shape *x = &query->in[0].type.shape;
  if (!hn_cuda_plain_of(&query->in[0], HONE_F32) || !hn_cuda_plain_of(&query->out[0], HONE_F32))
    return "it is not plain f32";
  for (int i = 1; i < query->out_count; ++i)
    if (query->out[i].type.kind != HONE_ABSENT) return "the moments are requested as outputs";
  if (hn_cuda_attr_int(query->attrs, "training_mode", 0)) return "it computes the moments (training mode)";
  const int64_t total = hn_cuda_elements(x);
  if (x->rank < 2 || total < 1 || total > INT32_MAX / 2) return "no channels, no elements, or more than 30 bits count";
  for (int i = 1; i <= PARAMETERS; ++i)
    if (!hn_cuda_plain_of(&query->in[i], HONE_F32) || hn_cuda_elements(&query->in[i].type.shape) != x->dim[1])
      return "a parameter is not one plain f32 for each channel";
  needs->state = sizeof *s;
  if (!s) return NULL;
  const int64_t planes = x->dim[0] * x->dim[1];
  *s = (state){.kernel = HN_CUDA_batch_norm_f32,
               .rows = (unsigned)planes,
               .length = (int)(total / planes),
               .inner = (int)x->dim[1],
               .epsilon = (float)hn_cuda_attr_float(query->attrs, "epsilon", 1e-5)};
  return NULL;
}

static hone_status launch_batch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  enum { EACH = 4 * THREADS, MOST = 65535 }; /* elements a block, blocks a plane */
  state *s = state_memory;
  const int pieces = (s->length + EACH - 1) / EACH;
  void *arguments[] = {&launch->out[0].data,
                       (void *)(uintptr_t)&launch->in[0].data,
                       (void *)(uintptr_t)&launch->in[1].data,
                       (void *)(uintptr_t)&launch->in[2].data,
                       (void *)(uintptr_t)&launch->in[3].data,
                       (void *)(uintptr_t)&launch->in[4].data,
                       &s->inner,
                       &s->length,
                       &s->epsilon};
  return hn_cuda_launch(stream, s->kernel, (hn_cuda_grid){s->rows, (unsigned)(pieces < MOST ? pieces : MOST), 1},
                        THREADS, arguments);
}

/* ---- gather of whole words of 4 bytes: out[o, i, :] = data[o, indices[i], :] ---- */

static const char *plan_gather(const hone_query *query, void *state_memory, hone_needs *needs) {
  state *s = state_memory;
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
  needs->state = sizeof *s;
  if (!s) return NULL;
  *s = (state){.kernel = indices->dtype == HONE_I64 ? HN_CUDA_gather_i64 : HN_CUDA_gather_i32,
               .rows = (unsigned)(outer * count),
               .length = (int)data->shape.dim[axis],
               .inner = (int)inner,
               .count = (int)count};
  return NULL;
}

static hone_status launch_gather(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  state *s = state_memory;
  void *arguments[] = {&launch->out[0].data,
                       (void *)(uintptr_t)&launch->in[0].data,
                       (void *)(uintptr_t)&launch->in[1].data,
                       &s->length,
                       &s->inner,
                       &s->count};
  return run(s, stream, arguments);
}

const hone_tactic hn_tactics_cuda_rows[] = {
    {sizeof(hone_tactic), .name = "cuda.softmax.f32", .version = 1, .op = "softmax",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE | HONE_TACTIC_IN_PLACE, .plan = plan_softmax,
     .launch = launch_softmax, .kernel = &(const row_kernel){HN_CUDA_softmax_f32}},
    {sizeof(hone_tactic), .name = "cuda.log_softmax.f32", .version = 1, .op = "log_softmax",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE | HONE_TACTIC_IN_PLACE, .plan = plan_softmax,
     .launch = launch_softmax, .kernel = &(const row_kernel){HN_CUDA_log_softmax_f32}},
    {sizeof(hone_tactic), .name = "cuda.layer_norm.f32", .version = 1, .op = "layer_norm",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .plan = plan_norm, .launch = launch_norm,
     .kernel = &(const row_kernel){HN_CUDA_layer_norm_f32}},
    {sizeof(hone_tactic), .name = "cuda.rms_norm.f32", .version = 1, .op = "rms_norm",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .plan = plan_norm, .launch = launch_norm,
     .kernel = &(const row_kernel){HN_CUDA_rms_norm_f32}},
    {sizeof(hone_tactic), .name = "cuda.batch_norm.f32", .version = 1, .op = "batch_norm",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE | HONE_TACTIC_IN_PLACE, .plan = plan_batch,
     .launch = launch_batch},
    {sizeof(hone_tactic), .name = "cuda.gather.b32", .version = 1, .op = "gather",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .plan = plan_gather, .launch = launch_gather},
    {0}};
