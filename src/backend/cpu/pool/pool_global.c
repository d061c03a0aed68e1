/* SPDX-License-Identifier: Apache-2.0 */
/* pool_global.c - the mean, maximum or p-norm of each channel's whole plane, in f32, plain or blocked; what is blocked
 * may become plain, since one pixel differs by the lanes behind the last channel alone.
 *
 * Blocked means of large planes are summed in four parts by rows, the same four for any number of threads: a thread
 * reads the rows that it wrote in the layer before, and the sums come out the same. */
#include "backend/cpu/cpu.h"
#include "kernels/cpu/pool/pool.h"
#include <string.h>

enum { PARTS = 4, LEAST_PIXELS = 192, MOST_LANES = 32 };

typedef struct row_kernel {
  hn_pool_global_fn *run;
  bool is_mean, is_norm;
} row_kernel;

typedef struct state {
  hn_pool_global_fn *kernel;
  hn_pool_global_args args; /* x and y are known to a launch alone */
  int64_t planes, grain;
  size_t x_element, y_element; /* bytes */
  int64_t images, channels;    /* of a plain output of blocked planes; else no images */
  int64_t first[PARTS + 1];    /* pixels where the parts begin; used when there are parts */
  bool has_parts;
} state;

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  const row_kernel *row = query->tactic->kernel;
  HN_TRY_REASON(hn_cpu_check(query, 1, 1, 1));
  if (row->is_norm && hn_attr_int(query->attrs, "p") > HN_POOL_MOST_POWER) return "floats do not hold its powers";
  const hone_type *x = &query->in[0].type, *y = &query->out[0].type;
  const hone_dtype held = hn_cpu_held(query->tactic);
  if (x->dtype != held || (y->dtype != held && (y->dtype != HONE_F32 || x->format == HONE_PLAIN)))
    return "it is of another type";
  if (!hn_reads_as(y, x->format) && y->format != HONE_PLAIN) return "input and output have different formats";
  if (held == HONE_F64 && x->format != HONE_PLAIN) return "it is not plain";
  hone_shape shape = x->shape;
  for (int i = 2; i < shape.rank; ++i) shape.dim[i] = 1;
  if (shape.rank < 3 || !hn_shape_equal(&shape, &y->shape)) return "the output has another shape";
  for (int i = 2; i < shape.rank; ++i)
    if (x->shape.dim[i] == 0) return "the planes are empty";
  const int block = hn_format_block(x->format);
  if (block > MOST_LANES) return "its blocks have more than 32 channels";
  const int64_t height = x->shape.dim[2], planes = x->shape.dim[0] * hn_ceil_div(x->shape.dim[1], block);
  int64_t pixels = 1;
  for (int i = 2; i < shape.rank; ++i) pixels *= x->shape.dim[i];
  const bool has_parts = row->is_mean && held == HONE_F32 && block > 1 && pixels >= LEAST_PIXELS && height >= PARTS;
  state *s = memory;
  needs->state = sizeof *s;
  needs->scratch = has_parts ? (size_t)(PARTS * planes * block) * sizeof(float) : 0;
  if (!s) return NULL;
  *s = (state){.kernel = row->run, .planes = planes, .channels = x->shape.dim[1], .has_parts = has_parts};
  s->x_element = hone_dtype_bits(held) / 8;
  s->y_element = hone_dtype_bits(y->dtype) / 8;
  s->args = (hn_pool_global_args){.pixels = pixels, .block = block, .y_is_f32 = y->dtype == HONE_F32};
  if (row->is_norm) s->args.power = hn_attr_int(query->attrs, "p");
  s->images = hn_reads_as(y, x->format) ? 0 : x->shape.dim[0];
  /* Halves of halves, where rows are cut for two threads and for four. */
  const int64_t half = hn_ceil_div(height, 2), width = pixels / height;
  const int64_t at[PARTS + 1] = {0, hn_ceil_div(half, 2), half, half + hn_ceil_div(height - half, 2), height};
  for (int i = 0; i <= PARTS; ++i) s->first[i] = at[i] * width;
  s->grain = hn_cpu_grain(planes * (has_parts ? PARTS : 1), (double)hn_bytes(x) * HN_CPU_NS_PER_BYTE);
  return NULL;
}

typedef struct job {
  const state *s;
  const char *x;
  char *y;
  float *sums; /* [part][plane][lane] */
} job;

/* The lanes of a plane that are channels, to where a plain output has them. */
static void put_lanes(const state *s, int64_t plane, const void *lanes, char *y) {
  const int64_t blocks = s->planes / s->images, first = plane % blocks * s->args.block;
  const int64_t count = hn_cpu_lesser(s->args.block, s->channels - first);
  memcpy(y + (size_t)(plane / blocks * s->channels + first) * s->y_element, lanes, (size_t)count * s->y_element);
}

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  const state *s = j->s;
  hn_pool_global_args args = s->args;
  args.x = j->x;
  args.y = j->y;
  if (!s->images) {
    s->kernel(&args, begin, end);
    return;
  }
  float lanes[MOST_LANES];
  args.y = lanes;
  for (int64_t plane = begin; plane < end; ++plane) {
    args.x = j->x + (size_t)(plane * args.pixels * args.block) * s->x_element;
    s->kernel(&args, 0, 1);
    put_lanes(s, plane, lanes, j->y);
  }
}

/* Units: all planes of the first part, then all of the second... */
static void body_of_parts(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  const state *s = j->s;
  hn_pool_global_args args = s->args;
  args.is_sum = 1;
  args.plane_pixels = args.pixels;
  while (begin < end) {
    const int64_t part = begin / s->planes, plane = begin % s->planes;
    const int64_t last = hn_cpu_lesser(s->planes, plane + end - begin);
    args.x = j->x + (size_t)(s->first[part] * args.block) * s->x_element;
    args.y = j->sums + part * s->planes * args.block;
    args.pixels = s->first[part + 1] - s->first[part];
    s->kernel(&args, plane, last);
    begin += last - plane;
  }
}

static void join_parts(const state *s, const float *sums, char *y) {
  const int64_t block = s->args.block, count = s->planes * block;
  const float pixels = (float)s->args.pixels, *a = sums, *b = a + count, *c = b + count, *d = c + count;
  for (int64_t plane = 0; plane < s->planes; ++plane) {
    float lanes[MOST_LANES], *to = s->images ? lanes : (float *)(void *)y + plane * block;
    for (int64_t k = 0, i = plane * block; k < block; ++k, ++i) to[k] = ((a[i] + b[i]) + (c[i] + d[i])) / pixels;
    if (s->images) put_lanes(s, plane, lanes, y);
  }
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = state_memory;
  job j = {s, launch->in[0].data, launch->out[0].data, launch->scratch};
  if (s->has_parts) {
    hn_pool_run(hn_stream_pool(stream), s->planes * PARTS, s->grain, body_of_parts, &j);
    join_parts(s, j.sums, j.y);
  } else {
    hn_pool_run(hn_stream_pool(stream), s->planes, s->grain, body, &j);
  }
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_pool_global[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.global_max_pool.f32.avx512", .version = 1, .op = "global_max_pool",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW16C, HONE_NCHW16C}, {HONE_NCHW16C, HONE_PLAIN}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){hn_pool_global_max_f32_avx512, .is_mean = false}},
    {sizeof(hone_tactic), .name = "cpu.global_average_pool.f32.avx512", .version = 1, .op = "global_average_pool",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW16C, HONE_NCHW16C}, {HONE_NCHW16C, HONE_PLAIN}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){hn_pool_global_average_f32_avx512, .is_mean = true}},
    {sizeof(hone_tactic), .name = "cpu.global_max_pool.bf16.avx512", .version = 1, .op = "global_max_pool",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN},
                  {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C},
                  {HONE_BF16_NCHW32C, HONE_BF16_PLAIN},
                  {HONE_BF16_NCHW32C, HONE_PLAIN}},
     .plan = plan, .launch = launch, .kernel = &(const row_kernel){hn_pool_global_max_bf16_avx512, .is_mean = false}},
    {sizeof(hone_tactic), .name = "cpu.global_average_pool.bf16.avx512", .version = 1, .op = "global_average_pool",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN},
                  {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C},
                  {HONE_BF16_NCHW32C, HONE_BF16_PLAIN},
                  {HONE_BF16_NCHW32C, HONE_PLAIN}},
     .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){hn_pool_global_average_bf16_avx512, .is_mean = true}},
    {sizeof(hone_tactic), .name = "cpu.global_max_pool.f16.avx512", .version = 1, .op = "global_max_pool",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN},
                  {HONE_F16_NCHW32C, HONE_F16_NCHW32C},
                  {HONE_F16_NCHW32C, HONE_F16_PLAIN},
                  {HONE_F16_NCHW32C, HONE_PLAIN}},
     .plan = plan, .launch = launch, .kernel = &(const row_kernel){hn_pool_global_max_f16_avx512, .is_mean = false}},
    {sizeof(hone_tactic), .name = "cpu.global_average_pool.f16.avx512", .version = 1, .op = "global_average_pool",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN},
                  {HONE_F16_NCHW32C, HONE_F16_NCHW32C},
                  {HONE_F16_NCHW32C, HONE_F16_PLAIN},
                  {HONE_F16_NCHW32C, HONE_PLAIN}},
     .plan = plan, .launch = launch, .kernel = &(const row_kernel){hn_pool_global_average_f16_avx512, .is_mean = true}},
    {sizeof(hone_tactic), .name = "cpu.global_max_pool.f64.avx512", .version = 1, .op = "global_max_pool",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}},
     .plan = plan, .launch = launch, .kernel = &(const row_kernel){hn_pool_global_max_f64_avx512, .is_mean = false}},
    {sizeof(hone_tactic), .name = "cpu.global_average_pool.f64.avx512", .version = 1, .op = "global_average_pool",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}},
     .plan = plan, .launch = launch, .kernel = &(const row_kernel){hn_pool_global_average_f64_avx512, .is_mean = true}},
    {sizeof(hone_tactic), .name = "cpu.global_max_pool.f32.avx2", .version = 1, .op = "global_max_pool",
     .isa = HONE_ISA_AVX2, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW8C, HONE_NCHW8C}, {HONE_NCHW8C, HONE_PLAIN}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){hn_pool_global_max_f32_avx2, .is_mean = false}},
    {sizeof(hone_tactic), .name = "cpu.global_average_pool.f32.avx2", .version = 1, .op = "global_average_pool",
     .isa = HONE_ISA_AVX2, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW8C, HONE_NCHW8C}, {HONE_NCHW8C, HONE_PLAIN}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){hn_pool_global_average_f32_avx2, .is_mean = true}},
    {sizeof(hone_tactic), .name = "cpu.global_max_pool.bf16.avx2", .version = 1, .op = "global_max_pool",
     .isa = HONE_ISA_AVX2, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN},
                  {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C},
                  {HONE_BF16_NCHW32C, HONE_BF16_PLAIN},
                  {HONE_BF16_NCHW32C, HONE_PLAIN}},
     .plan = plan, .launch = launch, .kernel = &(const row_kernel){hn_pool_global_max_bf16_avx2, .is_mean = false}},
    {sizeof(hone_tactic), .name = "cpu.global_average_pool.bf16.avx2", .version = 1, .op = "global_average_pool",
     .isa = HONE_ISA_AVX2, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN},
                  {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C},
                  {HONE_BF16_NCHW32C, HONE_BF16_PLAIN},
                  {HONE_BF16_NCHW32C, HONE_PLAIN}},
     .plan = plan, .launch = launch, .kernel = &(const row_kernel){hn_pool_global_average_bf16_avx2, .is_mean = true}},
    {sizeof(hone_tactic), .name = "cpu.global_max_pool.f16.avx2", .version = 1, .op = "global_max_pool",
     .isa = HONE_ISA_AVX2, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN},
                  {HONE_F16_NCHW32C, HONE_F16_NCHW32C},
                  {HONE_F16_NCHW32C, HONE_F16_PLAIN},
                  {HONE_F16_NCHW32C, HONE_PLAIN}},
     .plan = plan, .launch = launch, .kernel = &(const row_kernel){hn_pool_global_max_f16_avx2, .is_mean = false}},
    {sizeof(hone_tactic), .name = "cpu.global_average_pool.f16.avx2", .version = 1, .op = "global_average_pool",
     .isa = HONE_ISA_AVX2, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN},
                  {HONE_F16_NCHW32C, HONE_F16_NCHW32C},
                  {HONE_F16_NCHW32C, HONE_F16_PLAIN},
                  {HONE_F16_NCHW32C, HONE_PLAIN}},
     .plan = plan, .launch = launch, .kernel = &(const row_kernel){hn_pool_global_average_f16_avx2, .is_mean = true}},
    {sizeof(hone_tactic), .name = "cpu.global_max_pool.f64.avx2", .version = 1, .op = "global_max_pool",
     .isa = HONE_ISA_AVX2, .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}},
     .plan = plan, .launch = launch, .kernel = &(const row_kernel){hn_pool_global_max_f64_avx2, .is_mean = false}},
    {sizeof(hone_tactic), .name = "cpu.global_average_pool.f64.avx2", .version = 1, .op = "global_average_pool",
     .isa = HONE_ISA_AVX2, .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}},
     .plan = plan, .launch = launch, .kernel = &(const row_kernel){hn_pool_global_average_f64_avx2, .is_mean = true}},
    {sizeof(hone_tactic), .name = "cpu.global_lp_pool.f32.avx512", .version = 1, .op = "global_lp_pool",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_PLAIN, HONE_PLAIN}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){hn_pool_global_norm_f32_avx512, .is_norm = true}},
    {sizeof(hone_tactic), .name = "cpu.global_lp_pool.f32.avx2", .version = 1, .op = "global_lp_pool",
     .isa = HONE_ISA_AVX2, .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_PLAIN, HONE_PLAIN}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){hn_pool_global_norm_f32_avx2, .is_norm = true}},
#endif
    {sizeof(hone_tactic), .name = "cpu.global_max_pool.f32.c", .version = 1, .op = "global_max_pool", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW8C, HONE_NCHW8C}, {HONE_NCHW8C, HONE_PLAIN}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){hn_pool_global_max_f32_c, .is_mean = false}},
    {sizeof(hone_tactic), .name = "cpu.global_average_pool.f32.c", .version = 1, .op = "global_average_pool",
     .isa = HONE_ISA_C, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW8C, HONE_NCHW8C}, {HONE_NCHW8C, HONE_PLAIN}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){hn_pool_global_average_f32_c, .is_mean = true}},
    {sizeof(hone_tactic), .name = "cpu.global_max_pool.bf16.c", .version = 1, .op = "global_max_pool",
     .isa = HONE_ISA_C, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN},
                  {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C},
                  {HONE_BF16_NCHW32C, HONE_BF16_PLAIN},
                  {HONE_BF16_NCHW32C, HONE_PLAIN}},
     .plan = plan, .launch = launch, .kernel = &(const row_kernel){hn_pool_global_max_bf16_c, .is_mean = false}},
    {sizeof(hone_tactic), .name = "cpu.global_average_pool.bf16.c", .version = 1, .op = "global_average_pool",
     .isa = HONE_ISA_C, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN},
                  {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C},
                  {HONE_BF16_NCHW32C, HONE_BF16_PLAIN},
                  {HONE_BF16_NCHW32C, HONE_PLAIN}},
     .plan = plan, .launch = launch, .kernel = &(const row_kernel){hn_pool_global_average_bf16_c, .is_mean = true}},
    {sizeof(hone_tactic), .name = "cpu.global_max_pool.f16.c", .version = 1, .op = "global_max_pool", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN},
                  {HONE_F16_NCHW32C, HONE_F16_NCHW32C},
                  {HONE_F16_NCHW32C, HONE_F16_PLAIN},
                  {HONE_F16_NCHW32C, HONE_PLAIN}},
     .plan = plan, .launch = launch, .kernel = &(const row_kernel){hn_pool_global_max_f16_c, .is_mean = false}},
    {sizeof(hone_tactic), .name = "cpu.global_average_pool.f16.c", .version = 1, .op = "global_average_pool",
     .isa = HONE_ISA_C, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN},
                  {HONE_F16_NCHW32C, HONE_F16_NCHW32C},
                  {HONE_F16_NCHW32C, HONE_F16_PLAIN},
                  {HONE_F16_NCHW32C, HONE_PLAIN}},
     .plan = plan, .launch = launch, .kernel = &(const row_kernel){hn_pool_global_average_f16_c, .is_mean = true}},
    {sizeof(hone_tactic), .name = "cpu.global_max_pool.f64.c", .version = 1, .op = "global_max_pool", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){hn_pool_global_max_f64_c, .is_mean = false}},
    {sizeof(hone_tactic), .name = "cpu.global_average_pool.f64.c", .version = 1, .op = "global_average_pool",
     .isa = HONE_ISA_C, .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){hn_pool_global_average_f64_c, .is_mean = true}},
    {sizeof(hone_tactic), .name = "cpu.global_lp_pool.f32.c", .version = 1, .op = "global_lp_pool", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_PLAIN, HONE_PLAIN}}, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){hn_pool_global_norm_f32_c, .is_norm = true}},
    {0}};
