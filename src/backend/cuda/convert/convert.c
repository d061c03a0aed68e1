/* SPDX-License-Identifier: Apache-2.0 */
/* convert.c - f32 held in f16 or bf16 and back, and images between plain and channels last, also of bytes. */
#include "backend/cuda/cuda.h"
#include "kernels/cuda/args.h"

enum { THREADS = 256 };

typedef struct state {
  hn_cuda_convert args;
  hn_cuda_builtin kernel;
  unsigned threads;
} state;

/* Of a row that turns nothing. */
typedef struct own_row {
  bool of_bytes; /* else f32 */
} own_row;

/* By type, by formats (the same, to channels last, to plain), and by what is turned: f32 to halves, halves to f32, or
 * neither. */
static const hn_cuda_builtin kernels[2][3][3] = {
    /* f16 */
    {{HN_CUDA_convert_f32_f16, HN_CUDA_convert_f16_f32, HN_CUDA_BUILTIN_COUNT},
     {HN_CUDA_channels_last_f32_f16, HN_CUDA_channels_last_f16_f32, HN_CUDA_channels_last_16},
     {HN_CUDA_channels_first_f32_f16, HN_CUDA_channels_first_f16_f32, HN_CUDA_channels_first_16}},
    /* bf16 */
    {{HN_CUDA_convert_f32_bf16, HN_CUDA_convert_bf16_f32, HN_CUDA_BUILTIN_COUNT},
     {HN_CUDA_channels_last_f32_bf16, HN_CUDA_channels_last_bf16_f32, HN_CUDA_channels_last_16},
     {HN_CUDA_channels_first_f32_bf16, HN_CUDA_channels_first_bf16_f32, HN_CUDA_channels_first_16}}};

static bool is_byte(hone_dtype dtype) { return dtype == HONE_U8 || dtype == HONE_I8; }
static bool is_half(hone_dtype dtype) { return dtype == HONE_F16 || dtype == HONE_BF16; }

/* What no row turns is moved alone: between plain and channels last. */
static const char *find_move(const hone_type *in, const hone_type *out, hn_cuda_builtin *kernel) {
  const bool to_last = out->format == HONE_NHWC;
  if (!to_last && in->format != HONE_NHWC) return "there is nothing to convert";
  if (is_byte(in->dtype))
    *kernel = to_last ? HN_CUDA_channels_last_8 : HN_CUDA_channels_first_8;
  else if (in->dtype == HONE_F32)
    *kernel = to_last ? HN_CUDA_channels_last_32 : HN_CUDA_channels_first_32;
  else
    return "it is of another type";
  return in->format == out->format ? "there is nothing to convert" : NULL;
}

static const char *find_kernel(const hone_type *in, const hone_type *out, hn_cuda_builtin *kernel) {
  const hone_dtype held = is_half(in->dtype) ? in->dtype : out->dtype;
  if (in->format != HONE_PLAIN && in->format != HONE_NHWC) return "it has another format";
  if (out->format != HONE_PLAIN && out->format != HONE_NHWC) return "it has another format";
  if (in->dtype == out->dtype && !is_half(held)) return find_move(in, out, kernel);
  if (!is_half(held)) return "neither type is f16 or bf16";
  if (in->dtype != held && in->dtype != HONE_F32) return "it is of another type";
  if (out->dtype != held && out->dtype != HONE_F32) return "it is of another type";
  const int types = in->dtype == HONE_F32 ? 0 : out->dtype == HONE_F32 ? 1 : 2;
  const int formats = in->format == out->format ? 0 : out->format == HONE_NHWC ? 1 : 2;
  *kernel = kernels[held == HONE_BF16][formats][types];
  return *kernel == HN_CUDA_BUILTIN_COUNT ? "there is nothing to convert" : NULL;
}

static const char *plan(const hone_query *query, void *state_memory, hone_needs *needs) {
  state asked, *s = state_memory ? state_memory : &asked;
  const hone_type *in = &query->in[0].type, *out = &query->out[0].type;
  const own_row *own = query->tactic->kernel;
  if (own && own->of_bytes != is_byte(in->dtype)) return "it is of another type";
  HN_TRY_REASON(find_kernel(in, out, &s->kernel));
  if (!hn_cuda_same_shape(&in->shape, &out->shape)) return "the shapes differ";
  const int64_t elements = hn_cuda_elements(&in->shape), most = INT32_MAX / 2;
  const int64_t channels = in->shape.rank > 1 ? in->shape.dim[1] : 1;
  if (elements > most || channels > 1 << 24) return "more elements than 30 bits count";
  needs->state = sizeof *s;
  s->args = (hn_cuda_convert){.count = (unsigned)elements};
  s->threads = (unsigned)((elements + 7) / 8); /* each has eight */
  if (elements == 0 || (in->format == HONE_PLAIN && out->format == HONE_PLAIN)) return NULL;
  const hone_dtype last = in->format == HONE_NHWC ? in->dtype : out->dtype;
  const int64_t piece = is_byte(last) ? 16 : 8, lanes = last == HONE_F32 ? 4 : piece; /* lanes: of sixteen bytes */
  const int64_t pitch = (channels + piece - 1) / piece * piece;
  if (elements / channels > most / pitch) return "more elements than 30 bits count";
  if (in->format == out->format) { /* with its tails */
    s->args.count = (unsigned)(elements / channels * pitch);
    s->threads = s->args.count / 8;
    return NULL;
  }
  s->args = (hn_cuda_convert){.c = (int)channels,
                              .p = (int)(elements / in->shape.dim[0] / channels),
                              .pitch = (int)pitch,
                              .count = (unsigned)(elements / channels * (pitch / lanes))};
  s->threads = s->args.count;
  return NULL;
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  state *s = state_memory;
  void *arguments[] = {&launch->out[0].data, (void *)(uintptr_t)&launch->in[0].data, &s->args};
  return hn_cuda_launch_shaped(
      stream, s->kernel,
      &(hn_cuda_shape){.grid = {(s->threads + THREADS - 1) / THREADS, 1, 1}, .threads = THREADS, .dependent = true},
      arguments);
}

const hone_tactic hn_tactics_cuda_convert[] = {
    {sizeof(hone_tactic), .name = "cuda.convert.f16", .version = 1, .op = "convert",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_PLAIN, HONE_F16_PLAIN},
                  {HONE_F16_PLAIN, HONE_PLAIN},
                  {HONE_PLAIN, HONE_F16_NHWC},
                  {HONE_F16_NHWC, HONE_PLAIN}},
     .plan = plan, .launch = launch},
    {sizeof(hone_tactic), .name = "cuda.convert.f16.own", .version = 1, .op = "convert",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_NHWC}, {HONE_F16_NHWC, HONE_F16_PLAIN}}, .plan = plan, .launch = launch},
    {sizeof(hone_tactic), .name = "cuda.convert.f16.nhwc", .version = 1, .op = "convert",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_NHWC, HONE_F16_NHWC},
                  {HONE_F16_NHWC, HONE_NHWC},
                  {HONE_NHWC, HONE_F16_PLAIN},
                  {HONE_F16_PLAIN, HONE_NHWC}},
     .plan = plan, .launch = launch},
    {sizeof(hone_tactic), .name = "cuda.convert.bf16", .version = 1, .op = "convert",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_PLAIN, HONE_BF16_PLAIN},
                  {HONE_BF16_PLAIN, HONE_PLAIN},
                  {HONE_PLAIN, HONE_BF16_NHWC},
                  {HONE_BF16_NHWC, HONE_PLAIN}},
     .plan = plan, .launch = launch},
    {sizeof(hone_tactic), .name = "cuda.convert.bf16.own", .version = 1, .op = "convert",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_NHWC}, {HONE_BF16_NHWC, HONE_BF16_PLAIN}}, .plan = plan,
     .launch = launch},
    {sizeof(hone_tactic), .name = "cuda.convert.bf16.nhwc", .version = 1, .op = "convert",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_NHWC, HONE_BF16_NHWC},
                  {HONE_BF16_NHWC, HONE_NHWC},
                  {HONE_NHWC, HONE_BF16_PLAIN},
                  {HONE_BF16_PLAIN, HONE_NHWC}},
     .plan = plan, .launch = launch},
    {sizeof(hone_tactic), .name = "cuda.convert.f32.own", .version = 1, .op = "convert",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_PLAIN, HONE_NHWC}, {HONE_NHWC, HONE_PLAIN}}, .plan = plan, .launch = launch,
     .kernel = &(const own_row){.of_bytes = false}},
    {sizeof(hone_tactic), .name = "cuda.convert.bytes", .version = 1, .op = "convert",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_PLAIN, HONE_NHWC}, {HONE_NHWC, HONE_PLAIN}}, .plan = plan, .launch = launch,
     .kernel = &(const own_row){.of_bytes = true}},
    {0}};
