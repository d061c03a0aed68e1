/* SPDX-License-Identifier: Apache-2.0 */
/* reduce.c - folds over any axes, global pools, and softmax along an axis that is not the last: f32, or halves. */
#include "backend/cuda/cuda.h"
#include "kernels/cuda/args.h"

enum { THREADS = 256, BLOCK_LEAST = 16 };

typedef struct state {
  hn_cuda_fold args;
  hn_cuda_builtin kernel;
  unsigned blocks;
} state;

/* Kernels by what is held: f32, f16, bf16. */
enum { OF_BLOCK, OF_THREAD, ACROSS };
static const hn_cuda_builtin kernels[3][3] = {
    {HN_CUDA_fold_block, HN_CUDA_fold_thread, HN_CUDA_softmax_across},
    {HN_CUDA_fold_block_f16, HN_CUDA_fold_thread_f16, HN_CUDA_softmax_across_f16},
    {HN_CUDA_fold_block_bf16, HN_CUDA_fold_thread_bf16, HN_CUDA_softmax_across_bf16},
};

static const char *find_kernels(const hone_query *query, const hn_cuda_builtin **out) {
  const hone_dtype held = query->in[0].type.dtype;
  if (held != HONE_F32 && held != HONE_F16 && held != HONE_BF16) return "it is neither f32 nor f16 nor bf16";
  if (!hn_cuda_plain_of(&query->in[0], held) || !hn_cuda_plain_of(&query->out[0], held))
    return "it is not plain, or its output has another type";
  *out = kernels[held == HONE_F16 ? 1 : held == HONE_BF16 ? 2 : 0];
  return NULL;
}

typedef struct row_kernel {
  int fold, of, then;
  bool spatial; /* over all axes from the third on, else over what the axes say */
} row_kernel;

/* Bits of the reduced axes; 0: they are not known here. */
static unsigned axes_of(const hone_query *query, bool spatial) {
  const hone_shape *shape = &query->in[0].type.shape;
  const unsigned all = (1u << shape->rank) - 1;
  if (spatial) return shape->rank > 2 ? all & ~3u : 0;
  if (!hn_cuda_given(query, 1)) return hn_cuda_attr_int(query->attrs, "noop_with_empty_axes", 0) ? 0 : all;
  const hone_tensor *list = query->in[1].constant;
  if (!list || !list->data || list->type.dtype != HONE_I64) return 0;
  const int64_t count = hn_cuda_elements(&list->type.shape), *axes = list->data;
  if (count == 0) return hn_cuda_attr_int(query->attrs, "noop_with_empty_axes", 0) ? 0 : all;
  unsigned bits = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + shape->rank : axes[i];
    if (axis < 0 || axis >= shape->rank) return 0;
    bits |= 1u << axis;
  }
  return bits;
}

/* Neighbours of one kind are joined; axes of one element are left out. */
static const char *plan(const hone_query *query, void *state_memory, hone_needs *needs) {
  state asked, *s = state_memory ? state_memory : &asked;
  const row_kernel *kernel = query->tactic->kernel;
  const hn_cuda_builtin *found;
  HN_TRY_REASON(find_kernels(query, &found));
  const hone_shape *shape = &query->in[0].type.shape;
  const int64_t total = hn_cuda_elements(shape);
  hn_cuda_fold *f = &s->args;
  int64_t n = 1, step = total;
  int before = -1; /* 1: the axis before is reduced, 0: kept */
  const unsigned axes = axes_of(query, kernel->spatial);
  if (!axes) return "its axes are not constants, or there are none";
  if (total < 1 || total > INT32_MAX / 2) return "no elements, or more than 30 bits count";
  *f = (hn_cuda_fold){.fold = kernel->fold, .of = kernel->of, .then = kernel->then};
  for (int d = 0; d < shape->rank; ++d) {
    const int reduced = (int)(axes >> d & 1);
    step /= shape->dim[d];
    if (reduced) n *= shape->dim[d];
    if (shape->dim[d] == 1) continue;
    int *rank = reduced ? &f->rank : &f->kept_rank, *dim = reduced ? f->dim : f->kept_dim;
    if (before == reduced)
      dim[*rank - 1] *= (int)shape->dim[d];
    else
      dim[(*rank)++] = (int)shape->dim[d];
    (reduced ? f->stride : f->kept)[*rank - 1] = (int)step;
    before = reduced;
  }
  f->n = (unsigned)n;
  f->outputs = (unsigned)(total / n);
  needs->state = sizeof *s;
  const bool by_block = n >= BLOCK_LEAST && (f->stride[f->rank - 1] == 1 || f->outputs < 4096);
  s->kernel = found[by_block ? OF_BLOCK : OF_THREAD];
  s->blocks = by_block ? f->outputs : (f->outputs + THREADS - 1) / THREADS;
  return NULL;
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  state *s = state_memory;
  void *arguments[] = {&launch->out[0].data, (void *)(uintptr_t)&launch->in[0].data, &s->args};
  return hn_cuda_launch_shaped(
      stream, s->kernel, &(hn_cuda_shape){.grid = {s->blocks, 1, 1}, .threads = THREADS, .dependent = true}, arguments);
}

/* ---- softmax across rows ---- */

typedef struct across {
  hn_cuda_builtin kernel;
  unsigned rows;
  int length, inner, logarithm;
} across;

typedef struct across_kernel {
  bool logarithm;
} across_kernel;

static const char *plan_across(const hone_query *query, void *state_memory, hone_needs *needs) {
  across *s = state_memory;
  const hn_cuda_builtin *found;
  HN_TRY_REASON(find_kernels(query, &found));
  const hone_shape *shape = &query->in[0].type.shape;
  const int64_t total = hn_cuda_elements(shape);
  int64_t axis = hn_cuda_attr_int(query->attrs, "axis", -1), inner = 1;
  if (axis < 0) axis += shape->rank;
  if (axis < 0 || axis >= shape->rank - 1) return "its axis is the last";
  if (total < 1 || total > INT32_MAX / 2) return "no elements, or more than 30 bits count";
  needs->state = sizeof *s;
  if (!s) return NULL;
  for (int d = (int)axis + 1; d < shape->rank; ++d) inner *= shape->dim[d];
  *s = (across){.kernel = found[ACROSS],
                .rows = (unsigned)(total / shape->dim[axis]),
                .length = (int)shape->dim[axis],
                .inner = (int)inner,
                .logarithm = ((const across_kernel *)query->tactic->kernel)->logarithm};
  return NULL;
}

static hone_status launch_across(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  across *s = state_memory;
  void *arguments[] = {&launch->out[0].data, (void *)(uintptr_t)&launch->in[0].data, &s->rows, &s->length, &s->inner,
                       &s->logarithm};
  return hn_cuda_launch_shaped(
      stream, s->kernel,
      &(hn_cuda_shape){.grid = {(s->rows + THREADS - 1) / THREADS, 1, 1}, .threads = THREADS, .dependent = true},
      arguments);
}

const hone_tactic hn_tactics_cuda_reduce[] = {
    {sizeof(hone_tactic), .name = "cuda.reduce_sum.f32", .version = 1, .op = "reduce_sum",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){.fold = HN_CUDA_FOLD_SUM}},
    {sizeof(hone_tactic), .name = "cuda.reduce_mean.f32", .version = 1, .op = "reduce_mean",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){.fold = HN_CUDA_FOLD_SUM, .then = HN_CUDA_THEN_MEAN}},
    {sizeof(hone_tactic), .name = "cuda.reduce_max.f32", .version = 1, .op = "reduce_max",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){.fold = HN_CUDA_FOLD_MAX}},
    {sizeof(hone_tactic), .name = "cuda.reduce_min.f32", .version = 1, .op = "reduce_min",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){.fold = HN_CUDA_FOLD_MIN}},
    {sizeof(hone_tactic), .name = "cuda.reduce_prod.f32", .version = 1, .op = "reduce_prod",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){.fold = HN_CUDA_FOLD_PROD}},
    {sizeof(hone_tactic), .name = "cuda.reduce_l1.f32", .version = 1, .op = "reduce_l1",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){.fold = HN_CUDA_FOLD_SUM, .of = HN_CUDA_OF_ABS}},
    {sizeof(hone_tactic), .name = "cuda.reduce_l2.f32", .version = 1, .op = "reduce_l2",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){.fold = HN_CUDA_FOLD_SUM, .of = HN_CUDA_OF_SQUARE, .then = HN_CUDA_THEN_ROOT}},
    {sizeof(hone_tactic), .name = "cuda.reduce_sum_square.f32", .version = 1, .op = "reduce_sum_square",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){.fold = HN_CUDA_FOLD_SUM, .of = HN_CUDA_OF_SQUARE}},
    {sizeof(hone_tactic), .name = "cuda.reduce_log_sum.f32", .version = 1, .op = "reduce_log_sum",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){.fold = HN_CUDA_FOLD_SUM, .then = HN_CUDA_THEN_LOG}},
    {sizeof(hone_tactic), .name = "cuda.global_average_pool.f32", .version = 1, .op = "global_average_pool",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){.fold = HN_CUDA_FOLD_SUM, .then = HN_CUDA_THEN_MEAN, .spatial = true}},
    {sizeof(hone_tactic), .name = "cuda.global_max_pool.f32", .version = 1, .op = "global_max_pool",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){.fold = HN_CUDA_FOLD_MAX, .spatial = true}},
    {sizeof(hone_tactic), .name = "cuda.softmax.f32.across", .version = 1, .op = "softmax",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE | HONE_TACTIC_IN_PLACE, .plan = plan_across,
     .launch = launch_across, .kernel = &(const across_kernel){.logarithm = false}},
    {sizeof(hone_tactic), .name = "cuda.log_softmax.f32.across", .version = 1, .op = "log_softmax",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE | HONE_TACTIC_IN_PLACE, .plan = plan_across,
     .launch = launch_across, .kernel = &(const across_kernel){.logarithm = true}},
    {sizeof(hone_tactic), .name = "cuda.reduce_sum.half", .version = 1, .op = "reduce_sum",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}}, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){.fold = HN_CUDA_FOLD_SUM}},
    {sizeof(hone_tactic), .name = "cuda.reduce_mean.half", .version = 1, .op = "reduce_mean",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}}, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){.fold = HN_CUDA_FOLD_SUM, .then = HN_CUDA_THEN_MEAN}},
    {sizeof(hone_tactic), .name = "cuda.reduce_max.half", .version = 1, .op = "reduce_max",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}}, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){.fold = HN_CUDA_FOLD_MAX}},
    {sizeof(hone_tactic), .name = "cuda.reduce_min.half", .version = 1, .op = "reduce_min",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}}, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){.fold = HN_CUDA_FOLD_MIN}},
    {sizeof(hone_tactic), .name = "cuda.reduce_l2.half", .version = 1, .op = "reduce_l2",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}}, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){.fold = HN_CUDA_FOLD_SUM, .of = HN_CUDA_OF_SQUARE, .then = HN_CUDA_THEN_ROOT}},
    {sizeof(hone_tactic), .name = "cuda.reduce_sum_square.half", .version = 1, .op = "reduce_sum_square",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}}, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){.fold = HN_CUDA_FOLD_SUM, .of = HN_CUDA_OF_SQUARE}},
    {sizeof(hone_tactic), .name = "cuda.softmax.half.across", .version = 1, .op = "softmax",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE | HONE_TACTIC_IN_PLACE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}}, .plan = plan_across,
     .launch = launch_across, .kernel = &(const across_kernel){.logarithm = false}},
    {sizeof(hone_tactic), .name = "cuda.log_softmax.half.across", .version = 1, .op = "log_softmax",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE | HONE_TACTIC_IN_PLACE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}}, .plan = plan_across,
     .launch = launch_across, .kernel = &(const across_kernel){.logarithm = true}},
    {0}};
