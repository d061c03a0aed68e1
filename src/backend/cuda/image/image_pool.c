/* SPDX-License-Identifier: Apache-2.0 */
/* image_pool.c - pools over images in halves or f32 with their channels last: windows, and whole images, which
 * reduce_mean and reduce_max over the spatial axes are, too. */
#include "backend/cuda/image/image.h"

enum { THREADS = 256, GROUP = 64 /* channels of a block */, LEAST_PIXELS = 32 /* of a part */ };

/* By type: f16, bf16, f32. */
typedef struct row_kernel {
  hn_cuda_builtin run[3];
} row_kernel;
static hn_cuda_builtin kernel_of(const hone_query *query, hone_dtype held) {
  const row_kernel *row = query->tactic->kernel;
  return row->run[held == HONE_F32 ? 2 : held == HONE_BF16];
}

/* ---- windows ---- */

typedef struct state {
  hn_cuda_image_window args;
  hn_cuda_builtin kernel;
} state;

static const char *plan_windows(const hone_query *query, void *state_memory, hone_needs *needs) {
  state asked, *s = state_memory ? state_memory : &asked;
  const hone_attr *kernel = hn_cuda_attr(query->attrs, "kernel_shape");
  hone_dtype held;
  if (query->out_count > 1 && query->out[1].type.kind != HONE_ABSENT) return "indices are requested";
  if (!kernel || kernel->kind != HONE_ATTR_INTS || kernel->count != query->in[0].type.shape.rank - 2)
    return "no kernel_shape";
  HN_TRY_REASON(hn_cuda_image_windows(query, kernel->ints, 1, 1, &s->args, &held));
  s->args.window.count_pads = hn_cuda_attr_int(query->attrs, "count_include_pad", 0) != 0;
  s->kernel = kernel_of(query, held);
  needs->state = sizeof *s;
  return NULL;
}

static hone_status launch_windows(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  state *s = state_memory;
  void *arguments[] = {&launch->out[0].data, (void *)(uintptr_t)&launch->in[0].data, &s->args};
  return hn_cuda_launch_shaped(stream, s->kernel,
                               &(hn_cuda_shape){.grid = {(s->args.threads + THREADS - 1) / THREADS, 1, 1},
                                                .threads = THREADS,
                                                .dependent = true},
                               arguments);
}

/* ---- whole images ---- */

typedef struct whole {
  hn_cuda_global_pool args;
  unsigned groups, images;
  hn_cuda_builtin kernel;
} whole;

/* Are the reduced axes all from the third on? */
static bool is_spatial(const hone_query *query) {
  const int rank = query->in[0].type.shape.rank;
  const hone_tensor *list = hn_cuda_given(query, 1) ? query->in[1].constant : NULL;
  if (!list || !list->data || list->type.dtype != HONE_I64) return false;
  const int64_t *axes = list->data;
  unsigned bits = 0;
  for (int64_t i = 0; i < hn_cuda_elements(&list->type.shape); ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    if (axis < 2 || axis >= rank) return false;
    bits |= 1u << axis;
  }
  return bits == (((1u << rank) - 1) & ~3u);
}

/* The output is an image of one pixel, or rows of channels. */
static const char *read_output(const hone_query *query, hone_dtype held, const hn_cuda_image *x, int *pitch) {
  const hone_fact *out = &query->out[0];
  hn_cuda_image y;
  if (out->type.shape.rank == 2) {
    *pitch = x->c;
    return hn_cuda_plain_of(out, held) ? NULL : "the output is of another type";
  }
  HN_TRY_REASON(hn_cuda_image_of(out, held, &y));
  *pitch = y.pitch;
  return y.h == 1 && y.w == 1 ? NULL : "the output is no pixel";
}

static const char *plan_whole(const hone_query *query, void *state_memory, hone_needs *needs) {
  whole asked, *s = state_memory ? state_memory : &asked;
  const hone_dtype held = hn_cuda_image_held(query, &query->in[0]);
  hn_cuda_image x;
  int y_pitch;
  HN_TRY_REASON(hn_cuda_image_of(&query->in[0], held, &x));
  HN_TRY_REASON(read_output(query, held, &x, &y_pitch));
  if (query->in_count > 1 && !is_spatial(query)) return "it is not over all spatial axes";
  if (query->in_count < 2 && query->op->name[0] == 'r') return "it is not over the spatial axes";
  const int pixels = x.h * x.w, groups = (x.pitch + GROUP - 1) / GROUP;
  int parts = 1;
  while (parts < HN_CUDA_POOL_PARTS && pixels / parts >= 2 * LEAST_PIXELS && (int64_t)parts * groups * x.n < 264)
    parts *= 2;
  *s = (whole){.args = {.pixels = pixels,
                        .pitch = x.pitch,
                        .c = x.c,
                        .y_pitch = y_pitch,
                        .parts = parts,
                        .scale = 1 / (float)pixels},
               .groups = (unsigned)groups,
               .images = (unsigned)x.n,
               .kernel = kernel_of(query, held)};
  needs->state = sizeof *s;
  return x.n > 65535 || groups > 65535 ? "too many images or channels for one grid" : NULL;
}

static hone_status launch_whole(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const whole *s = state_memory;
  hn_cuda_global_pool args = s->args;
  if (stream->unit->sm < 90) args.parts = 1; /* no clusters */
  void *arguments[] = {&launch->out[0].data, (void *)(uintptr_t)&launch->in[0].data, &args};
  return hn_cuda_launch_shaped(stream, s->kernel,
                               &(hn_cuda_shape){.grid = {(unsigned)args.parts, s->groups, s->images},
                                                .threads = THREADS,
                                                .cluster = (unsigned)args.parts,
                                                .dependent = true},
                               arguments);
}

static const row_kernel max_windows = {
    .run = {HN_CUDA_max_pool_last_f16, HN_CUDA_max_pool_last_bf16, HN_CUDA_max_pool_last_f32}};
static const row_kernel mean_windows = {
    .run = {HN_CUDA_average_pool_last_f16, HN_CUDA_average_pool_last_bf16, HN_CUDA_average_pool_last_f32}};
static const row_kernel max_whole = {.run = {HN_CUDA_global_max_f16, HN_CUDA_global_max_bf16, HN_CUDA_global_max_f32}};
static const row_kernel mean_whole = {.run = {HN_CUDA_global_sum_f16, HN_CUDA_global_sum_bf16, HN_CUDA_global_sum_f32}};

const hone_tactic hn_tactics_cuda_image_pool[] = {
    {sizeof(hone_tactic), .name = "cuda.max_pool.nhwc", .version = 1, .op = "max_pool",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_F16_NHWC, HONE_F16_NHWC}, {HONE_BF16_NHWC, HONE_BF16_NHWC}, {HONE_NHWC, HONE_NHWC}},
     .plan = plan_windows, .launch = launch_windows, .kernel = &max_windows},
    {sizeof(hone_tactic), .name = "cuda.average_pool.nhwc", .version = 1, .op = "average_pool",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_F16_NHWC, HONE_F16_NHWC}, {HONE_BF16_NHWC, HONE_BF16_NHWC}, {HONE_NHWC, HONE_NHWC}},
     .plan = plan_windows, .launch = launch_windows, .kernel = &mean_windows},
    {sizeof(hone_tactic), .name = "cuda.global_max_pool.nhwc", .version = 1, .op = "global_max_pool",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_F16_NHWC, HONE_F16_NHWC}, {HONE_BF16_NHWC, HONE_BF16_NHWC}, {HONE_NHWC, HONE_NHWC}},
     .plan = plan_whole, .launch = launch_whole, .kernel = &max_whole},
    {sizeof(hone_tactic), .name = "cuda.global_average_pool.nhwc", .version = 1, .op = "global_average_pool",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_F16_NHWC, HONE_F16_NHWC}, {HONE_BF16_NHWC, HONE_BF16_NHWC}, {HONE_NHWC, HONE_NHWC}},
     .plan = plan_whole, .launch = launch_whole, .kernel = &mean_whole},
    {sizeof(hone_tactic), .name = "cuda.reduce_mean.nhwc", .version = 1, .op = "reduce_mean",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_F16_NHWC, HONE_F16_NHWC}, {HONE_BF16_NHWC, HONE_BF16_NHWC}, {HONE_NHWC, HONE_NHWC}},
     .plan = plan_whole, .launch = launch_whole, .kernel = &mean_whole},
    {sizeof(hone_tactic), .name = "cuda.reduce_max.nhwc", .version = 1, .op = "reduce_max",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_F16_NHWC, HONE_F16_NHWC}, {HONE_BF16_NHWC, HONE_BF16_NHWC}, {HONE_NHWC, HONE_NHWC}},
     .plan = plan_whole, .launch = launch_whole, .kernel = &max_whole},
    {0}};
