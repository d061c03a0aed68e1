/* SPDX-License-Identifier: Apache-2.0 */
/* byte_pool.c - max_pool and qlinear_global_average_pool of bytes with their channels last. */
#include "backend/cuda/bytes/bytes.h"
#include "backend/cuda/image/image.h"

/* ---- windows ---- */

typedef struct state {
  hn_cuda_image_window args;
  hn_cuda_builtin kernel;
} state;

static const char *plan_windows(const hone_query *query, void *state_memory, hone_needs *needs) {
  state asked, *s = state_memory ? state_memory : &asked;
  const hone_attr *kernel = hn_cuda_attr(query->attrs, "kernel_shape");
  const hone_dtype held = query->in[0].type.dtype;
  hn_cuda_image x, y;
  if (query->out_count > 1 && query->out[1].type.kind != HONE_ABSENT) return "indices are requested";
  if (!kernel || kernel->kind != HONE_ATTR_INTS || kernel->count != query->in[0].type.shape.rank - 2)
    return "no kernel_shape";
  if (!hn_cuda_is_byte(held)) return "it is not of bytes";
  HN_TRY_REASON(hn_cuda_image_of(&query->in[0], held, &x));
  HN_TRY_REASON(hn_cuda_image_of(&query->out[0], held, &y));
  HN_TRY_REASON(
      hn_cuda_sliding(query, &query->in[0].type.shape, &query->out[0].type.shape, kernel->ints, &s->args.window));
  s->args.pitch = y.pitch;
  s->args.threads = (unsigned)(y.n * y.h * y.w * (y.pitch / 16));
  s->kernel = held == HONE_I8 ? HN_CUDA_bytes_i8_max_pool : HN_CUDA_bytes_u8_max_pool;
  needs->state = sizeof *s;
  return x.pitch == y.pitch ? NULL : "the channels differ";
}

static hone_status launch_windows(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  state *s = state_memory;
  void *arguments[] = {&launch->out[0].data, (void *)(uintptr_t)&launch->in[0].data, &s->args};
  return hn_cuda_bytes_launch(stream, s->kernel, s->args.threads, arguments);
}

/* ---- whole images ---- */

enum { X, X_SCALE, X_ZERO, Y_SCALE, Y_ZERO };
static const int most_pixels = (1 << 23) - 1; /* their sum is below 2^31 */

typedef struct whole {
  hn_cuda_sixteens args;
  hn_cuda_builtin kernel;
} whole;

static const char *plan_whole(const hone_query *query, void *state_memory, hone_needs *needs) {
  whole asked, *s = state_memory ? state_memory : &asked;
  const hone_dtype held = query->in[X].type.dtype;
  hn_cuda_image x, y;
  if (query->in_count <= Y_ZERO || query->out[0].type.dtype != held || !hn_cuda_is_byte(held))
    return "it is not of bytes, or of two types";
  HN_TRY_REASON(hn_cuda_check_scale(query, X_SCALE, held));
  HN_TRY_REASON(hn_cuda_check_scale(query, Y_SCALE, held));
  HN_TRY_REASON(hn_cuda_image_of(&query->in[X], held, &x));
  if (x.h * (int64_t)x.w > most_pixels) return "it has too many pixels";
  if (hn_cuda_plain_of(&query->out[0], held))
    y = (hn_cuda_image){.h = 1, .w = 1, .pitch = x.c};
  else
    HN_TRY_REASON(hn_cuda_image_of(&query->out[0], held, &y));
  s->args = (hn_cuda_sixteens){
      .c = x.c, .pixels = x.h * x.w, .pitch = x.pitch, .x_pitch = y.pitch, .count = (unsigned)(x.n * (x.pitch / 4))};
  s->kernel = held == HONE_I8 ? HN_CUDA_bytes_i8_mean : HN_CUDA_bytes_u8_mean;
  needs->state = sizeof *s;
  return y.h == 1 && y.w == 1 ? NULL : "the output is no pixel";
}

static hone_status launch_whole(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  whole *s = state_memory;
  void *arguments[7] = {&launch->out[0].data};
  for (int i = X; i <= Y_ZERO; ++i) arguments[1 + i] = (void *)(uintptr_t)&launch->in[i].data;
  arguments[6] = &s->args;
  return hn_cuda_bytes_launch(stream, s->kernel, s->args.count, arguments);
}

const hone_tactic hn_tactics_cuda_byte_pool[] = {
    {sizeof(hone_tactic), .name = "cuda.max_pool.bytes", .version = 1, .op = "max_pool",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .storages = {{HONE_NHWC, HONE_NHWC}},
     .plan = plan_windows, .launch = launch_windows},
    {sizeof(hone_tactic), .name = "cuda.qlinear_global_average_pool.bytes", .version = 1,
     .op = "qlinear_global_average_pool", .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_NHWC, HONE_NHWC}, {HONE_NHWC, HONE_PLAIN}}, .plan = plan_whole, .launch = launch_whole},
    {0}};
