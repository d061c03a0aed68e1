/* SPDX-License-Identifier: Apache-2.0 */
/* rows_half.c - layer norm, root-mean-square norm, softmax and gather of values held in f16 or bf16. */
#include "backend/cuda/cuda.h"
#include "kernels/cuda/args.h"

/* A warp has rows of up to 1024 elements, a block of eight longer ones, and those that are no whole sixteen bytes. */
enum { WARP = 32, BLOCK = 256, WARP_MOST = 1024, SHORT_MOST = 128, WARPS_EACH = 4, FEW_ROWS = 1056, MANY_ROWS = 2112 };

typedef struct row_kernel {
  hn_cuda_builtin f16[3], bf16[3]; /* a warp a row, a block a row, a warp each of many rows */
  bool any_axis;                   /* the axes from `axis` on are a row; else it is the last */
} row_kernel;

typedef struct state {
  hn_cuda_rows args;
  hn_cuda_builtin kernel;
  unsigned blocks, threads;
} state;

static const char *read_rows(const hone_query *query, state *s) {
  const row_kernel *kernel = query->tactic->kernel;
  const hone_dtype held = hn_cuda_held(query, &query->in[0]);
  if (held == HONE_NONE || !hn_cuda_plain_of(&query->in[0], held)) return "it is not plain f16 or bf16";
  const hone_shape *x = &query->in[0].type.shape;
  if (x->rank < 1) return "a scalar";
  int64_t axis = hn_cuda_attr_int(query->attrs, "axis", -1), length = 1;
  if (axis < 0) axis += x->rank;
  if (axis < 0 || axis >= x->rank) return "its axis is out of range";
  for (int64_t d = axis + 1; d < x->rank && !kernel->any_axis; ++d)
    if (x->dim[d] != 1) return "its axis is not the last";
  for (int64_t d = axis; d < x->rank; ++d) length *= x->dim[d];
  const int64_t total = hn_cuda_elements(x);
  if (total < 1 || total > INT32_MAX / 2) return "no elements, or more than 30 bits count";
  const int64_t rows = total / length;
  const bool by_warp = length <= (length % 8 ? SHORT_MOST : WARP_MOST);
  const int warps = rows < FEW_ROWS ? 1 : WARPS_EACH; /* few rows: every one gets a multiprocessor of its own */
  s->args = (hn_cuda_rows){.rows = (unsigned)rows, .length = (int)length};
  s->kernel = (held == HONE_F16 ? kernel->f16 : kernel->bf16)[!by_warp ? 1 : rows > MANY_ROWS ? 2 : 0];
  s->threads = by_warp ? (unsigned)(warps * WARP) : BLOCK;
  s->blocks = (unsigned)(by_warp ? (rows + warps - 1) / warps : rows);
  return NULL;
}

static hone_status run(const state *s, hone_stream *stream, void **arguments) {
  return hn_cuda_launch_shaped(stream, s->kernel,
                               &(hn_cuda_shape){.grid = {s->blocks, 1, 1}, .threads = s->threads, .dependent = true},
                               arguments);
}

static const char *plan_softmax(const hone_query *query, void *state_memory, hone_needs *needs) {
  state asked;
  needs->state = sizeof asked;
  HN_TRY_REASON(read_rows(query, state_memory ? state_memory : &asked));
  return hn_cuda_plain_of(&query->out[0], hn_cuda_held(query, &query->in[0])) ? NULL : "its output is not as its input";
}

static hone_status launch_softmax(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  state *s = state_memory;
  void *arguments[] = {&launch->out[0].data, (void *)(uintptr_t)&launch->in[0].data, &s->args};
  return run(s, stream, arguments);
}

/* ---- norms: scale and bias, in f32, run along the row ---- */

static const char *plan_norm(const hone_query *query, void *state_memory, hone_needs *needs) {
  state asked, *s = state_memory ? state_memory : &asked;
  HN_TRY_REASON(read_rows(query, s));
  s->args.to_f32 = hn_cuda_plain_f32(&query->out[0]); /* the network's output, often */
  if (!s->args.to_f32 && !hn_cuda_plain_of(&query->out[0], hn_cuda_held(query, &query->in[0])))
    return "its output is neither f32 nor as its input";
  s->args.early = 1;
  for (int i = 1; i < query->out_count; ++i)
    if (query->out[i].type.kind != HONE_ABSENT) return "its moments are requested";
  for (int i = 1; i < query->in_count; ++i) {
    if (!hn_cuda_given(query, i)) continue;
    if (i > 2) return "an input more than scale and bias";
    if (!hn_cuda_plain_f32(&query->in[i]) || hn_cuda_elements(&query->in[i].type.shape) != s->args.length)
      return "scale or bias is not one f32 for each element of a row";
    if (!(query->constant_mask >> i & 1)) s->args.early = 0;
  }
  needs->state = sizeof *s;
  s->args.epsilon = (float)hn_cuda_attr_float(query->attrs, "epsilon", 1e-5);
  return NULL;
}

static hone_status launch_norm(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  state *s = state_memory;
  const void *scale = launch->in_count > 1 ? launch->in[1].data : NULL;
  const void *bias = launch->in_count > 2 ? launch->in[2].data : NULL;
  void *arguments[] = {&launch->out[0].data, (void *)(uintptr_t)&launch->in[0].data, &scale, &bias, &s->args};
  return run(s, stream, arguments);
}

/* ---- gather: words of 16 bytes where a row has whole ones, else elements ---- */

typedef struct gathering {
  hn_cuda_gather args, wide; /* wide.words 0: not possible */
  bool is_i64;
} gathering;

static const char *plan_gather(const hone_query *query, void *state_memory, hone_needs *needs) {
  gathering asked, *s = state_memory ? state_memory : &asked;
  const hone_type *data = &query->in[0].type, *indices = &query->in[1].type;
  const hone_dtype held = hn_cuda_held(query, &query->in[0]);
  if (held == HONE_NONE || !hn_cuda_plain_of(&query->in[0], held) || !hn_cuda_plain_of(&query->out[0], held))
    return "it is not plain f16 or bf16";
  if ((indices->dtype != HONE_I64 && indices->dtype != HONE_I32) || indices->format != HONE_PLAIN)
    return "the indices are not i64 or i32";
  int64_t axis = hn_cuda_attr_int(query->attrs, "axis", 0), inner = 1;
  if (axis < 0) axis += data->shape.rank;
  if (axis < 0 || axis >= data->shape.rank) return "its axis is out of range";
  for (int64_t d = axis + 1; d < data->shape.rank; ++d) inner *= data->shape.dim[d];
  const int64_t count = hn_cuda_elements(&indices->shape), words = hn_cuda_elements(&query->out[0].type.shape);
  if (hn_cuda_elements(&data->shape) > INT32_MAX / 2 || words > INT32_MAX / 2 || words < 1 || data->shape.dim[axis] < 1)
    return "more elements than 30 bits count, or none";
  needs->state = sizeof *s;
  s->is_i64 = indices->dtype == HONE_I64;
  s->args = (hn_cuda_gather){
      .words = (unsigned)words, .length = (int)data->shape.dim[axis], .inner = (int)inner, .count = (int)count};
  s->wide = s->args;
  s->wide.words = inner % 8 ? 0 : s->args.words / 8;
  s->wide.inner = s->args.inner / 8;
  return NULL;
}

static hone_status launch_gather(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  static const hn_cuda_builtin kernels[2][2] = {{HN_CUDA_gather_16_i32, HN_CUDA_gather_16_i64},
                                                {HN_CUDA_gather_128_i32, HN_CUDA_gather_128_i64}};
  gathering *s = state_memory;
  const bool wide = s->wide.words && ((uintptr_t)launch->in[0].data | (uintptr_t)launch->out[0].data) % 16 == 0;
  hn_cuda_gather *args = wide ? &s->wide : &s->args;
  void *arguments[] = {&launch->out[0].data, (void *)(uintptr_t)&launch->in[0].data,
                       (void *)(uintptr_t)&launch->in[1].data, args};
  return hn_cuda_launch_shaped(
      stream, kernels[wide][s->is_i64],
      &(hn_cuda_shape){.grid = {(args->words + BLOCK - 1) / BLOCK, 1, 1}, .threads = BLOCK, .dependent = true},
      arguments);
}

const hone_tactic hn_tactics_cuda_rows_half[] = {
    {sizeof(hone_tactic), .name = "cuda.softmax.half", .version = 1, .op = "softmax",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE | HONE_TACTIC_IN_PLACE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}}, .plan = plan_softmax,
     .launch = launch_softmax,
     .kernel = &(const row_kernel){{HN_CUDA_softmax_f16_1, HN_CUDA_softmax_f16_8, HN_CUDA_softmax_f16_1},
                                   {HN_CUDA_softmax_bf16_1, HN_CUDA_softmax_bf16_8, HN_CUDA_softmax_bf16_1},
                                   false}},
    {sizeof(hone_tactic), .name = "cuda.log_softmax.half", .version = 1, .op = "log_softmax",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE | HONE_TACTIC_IN_PLACE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}}, .plan = plan_softmax,
     .launch = launch_softmax,
     .kernel = &(const row_kernel){{HN_CUDA_log_softmax_f16_1, HN_CUDA_log_softmax_f16_8, HN_CUDA_log_softmax_f16_1},
                                   {HN_CUDA_log_softmax_bf16_1, HN_CUDA_log_softmax_bf16_8, HN_CUDA_log_softmax_bf16_1},
                                   false}},
    {sizeof(hone_tactic), .name = "cuda.layer_norm.half", .version = 2, .op = "layer_norm",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE | HONE_TACTIC_IN_PLACE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN},
                  {HONE_F16_PLAIN, HONE_PLAIN},
                  {HONE_BF16_PLAIN, HONE_BF16_PLAIN},
                  {HONE_BF16_PLAIN, HONE_PLAIN}},
     .plan = plan_norm, .launch = launch_norm,
     .kernel = &(const row_kernel){{HN_CUDA_layer_norm_f16_1, HN_CUDA_layer_norm_f16_8, HN_CUDA_layer_norm_f16_late},
                                   {HN_CUDA_layer_norm_bf16_1, HN_CUDA_layer_norm_bf16_8, HN_CUDA_layer_norm_bf16_late},
                                   true}},
    {sizeof(hone_tactic), .name = "cuda.rms_norm.half", .version = 2, .op = "rms_norm",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE | HONE_TACTIC_IN_PLACE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN},
                  {HONE_F16_PLAIN, HONE_PLAIN},
                  {HONE_BF16_PLAIN, HONE_BF16_PLAIN},
                  {HONE_BF16_PLAIN, HONE_PLAIN}},
     .plan = plan_norm, .launch = launch_norm,
     .kernel = &(const row_kernel){{HN_CUDA_rms_norm_f16_1, HN_CUDA_rms_norm_f16_8, HN_CUDA_rms_norm_f16_late},
                                   {HN_CUDA_rms_norm_bf16_1, HN_CUDA_rms_norm_bf16_8, HN_CUDA_rms_norm_bf16_late},
                                   true}},
    {sizeof(hone_tactic), .name = "cuda.gather.half", .version = 1, .op = "gather",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}}, .plan = plan_gather,
     .launch = launch_gather},
    {0}};
