/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - maximum, average and p-norm pooling in f32, maximum of bytes, under sliding windows of one to three
 * dimensions, plain or blocked; the maxima's indices of plain f32. */
#include "backend/cpu/quant/quant.h"
#include "kernels/cpu/pool/pool.h"
#include "tensor/sliding.h"

#define NS_PER_TAP 0.15

typedef hn_pool_fn range_kernel;
typedef hn_pool_args range_args;
#include "backend/cpu/range.inc.h"

/* A unit is part_rows output rows of one plane; all planes of the first rows come first. */
typedef struct pooling {
  range r;
  int64_t planes, part_rows;
} pooling;

typedef struct row_kernel {
  hn_pool_fn *run;
  bool bytes, indices, is_norm;
} row_kernel;

/* Lanes behind the last channel must stay zero, and a window that holds nothing would make them -infinity. */
static bool has_empty_windows(const hn_sliding *sliding) {
  for (int i = 0; i < sliding->spatial; ++i)
    if (sliding->dilation[i] != 1 || sliding->pad_begin[i] >= sliding->kernel[i] ||
        sliding->pad_end[i] >= sliding->kernel[i])
      return true;
  return false;
}

static bool has_indices(const hone_query *query, const hone_type *x) {
  int64_t plane = 1;
  for (int i = 2; i < x->shape.rank; ++i)
    if (!hn_mul_i64(plane, x->shape.dim[i], &plane)) return false;
  return plane <= INT32_MAX && hn_cpu_is(&query->out[1], HONE_I64, HONE_PLAIN) &&
         hn_shape_equal(&query->out[1].type.shape, &query->out[0].type.shape);
}

static const char *read(const hone_query *query, hn_sliding *sliding) {
  HN_TRY_REASON(hn_cpu_check(query, 1, 1, 2));
  const hone_type *x = &query->in[0].type, *y = &query->out[0].type;
  const int64_t *kernel;
  const row_kernel *row = query->tactic->kernel;
  const bool indices = query->out_count == 2 && query->out[1].type.kind != HONE_ABSENT;
  if (indices != row->indices)
    return indices ? "the indices of the maxima are requested" : "no indices of the maxima are requested";
  if (x->dtype != y->dtype) return "input and output have different types";
  if (row->is_norm && hn_attr_int(query->attrs, "p") > HN_POOL_MOST_POWER) return "floats do not hold its powers";
  const bool bytes = row->bytes;
  if (bytes ? !hn_cpu_is_byte(x->dtype) : x->dtype != hn_cpu_held(query->tactic)) return "it is of another type";
  if (!hn_reads_as(y, x->format)) return "input and output have different formats";
  if (x->shape.rank < 3 || x->shape.rank > 5) return "it has more than three spatial dimensions";
  if (hn_attr_ints(query->attrs, "kernel_shape", &kernel) != x->shape.rank - 2) return "kernel_shape has another rank";
  if (hn_sliding_make(NULL, NULL, query->attrs, &x->shape, kernel, sliding) != HONE_OK)
    return "its windows do not fit the input";
  hone_shape shape = x->shape;
  for (int i = 0; i < sliding->spatial; ++i) shape.dim[2 + i] = sliding->out[i];
  if (!hn_shape_equal(&shape, &y->shape)) return "the output has another shape";
  const int block = hn_format_block(x->format);
  if (indices && !has_indices(query, x)) return "the indices have another type, or a plane is too large";
  if (bytes && x->shape.dim[x->shape.rank - 1] > HN_POOL_BYTES_WIDTH) return "its rows are too long";
  if (block > 1 && x->shape.dim[1] % block != 0 && has_empty_windows(sliding))
    return "a window may lie in the padding alone";
  return NULL;
}

static const char *plan(const hone_query *query, void *state, hone_needs *needs) {
  hn_sliding sliding;
  pooling *p = state;
  const char *reason = read(query, &sliding);
  needs->state = sizeof *p;
  if (reason || !p) return reason;
  const hone_type *x = &query->in[0].type;
  const int w = sliding.spatial - 1, h = w - 1, d = w - 2, block = hn_format_block(x->format); /* h -1: one row */
  range *s = &p->r;
  const row_kernel *row = query->tactic->kernel;
  s->kernel = row->run;
  s->args = (hn_pool_args){.in_h = 1, .out_h = 1, .kernel_h = 1, .stride_h = 1, .dilation_h = 1};
  s->args.in_d = s->args.out_d = s->args.kernel_d = s->args.stride_d = s->args.dilation_d = 1;
  s->args.block = block;
  s->args.flip = hn_cpu_flip(x->dtype);
  s->args.by_column = row->indices && hn_attr_int(query->attrs, "storage_order") == 1;
  s->args.count_include_pad = hn_attr_int(query->attrs, "count_include_pad") != 0;
  if (row->is_norm) s->args.power = hn_attr_int(query->attrs, "p");
  s->args.in_w = sliding.in[w], s->args.out_w = sliding.out[w], s->args.kernel_w = sliding.kernel[w];
  s->args.stride_w = sliding.stride[w], s->args.dilation_w = sliding.dilation[w];
  s->args.pad_left = sliding.pad_begin[w], s->args.pad_right = sliding.pad_end[w];
  if (h >= 0) {
    s->args.in_h = sliding.in[h], s->args.out_h = sliding.out[h], s->args.kernel_h = sliding.kernel[h];
    s->args.stride_h = sliding.stride[h], s->args.dilation_h = sliding.dilation[h];
    s->args.pad_top = sliding.pad_begin[h], s->args.pad_bottom = sliding.pad_end[h];
  }
  if (d >= 0) {
    s->args.in_d = sliding.in[d], s->args.out_d = sliding.out[d], s->args.kernel_d = sliding.kernel[d];
    s->args.stride_d = sliding.stride[d], s->args.dilation_d = sliding.dilation[d];
    s->args.pad_front = sliding.pad_begin[d], s->args.pad_back = sliding.pad_end[d];
  }
  p->planes = x->shape.dim[0] * hn_ceil_div(x->shape.dim[1], block);
  const int64_t rows = s->args.out_d * s->args.out_h, width = s->args.out_w;
  const int64_t enough = hn_ceil_div(HN_CPU_UNITS_PER_THREAD * hn_cpu_threads(query->facts), p->planes + 1);
  const int64_t parts = hn_cpu_greater(enough, hn_cpu_row_parts(query->facts, x->shape.dim[0], rows, width));
  p->part_rows = hn_cpu_greater(1, hn_ceil_div(rows, parts));
  s->units = width > 0 ? p->planes * hn_ceil_div(rows, p->part_rows) : 0;
  const double taps = (double)s->args.kernel_d * (double)s->args.kernel_h * (double)s->args.kernel_w;
  s->grain = hn_cpu_grain(s->units, (double)hn_cpu_stored(&query->out[0].type) * (taps * NS_PER_TAP + 0.5));
  return NULL;
}

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const pooling *p = arg;
  const int64_t rows = p->r.args.out_d * p->r.args.out_h;
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t plane = unit % p->planes * rows, first = unit / p->planes * p->part_rows;
    p->r.kernel(&p->r.args, plane + first, plane + hn_cpu_lesser(rows, first + p->part_rows));
  }
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  pooling p = *(const pooling *)state_memory;
  p.r.args.x = launch->in[0].data;
  p.r.args.y = launch->out[0].data;
  if (launch->out_count == 2) p.r.args.indices = launch->out[1].data;
  hn_pool_run(hn_stream_pool(stream), p.r.units, p.r.grain, body, &p);
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_pool[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.max_pool_indices.f32.avx512", .version = 1, .op = "max_pool",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){.run = hn_pool_index_f32_avx512, .indices = true}},
    {sizeof(hone_tactic), .name = "cpu.max_pool.f32.avx512", .version = 2, .op = "max_pool", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW16C, HONE_NCHW16C}},
     .plan = plan, .launch = launch, .kernel = &(const row_kernel){.run = hn_pool_max_f32_avx512}},
    {sizeof(hone_tactic), .name = "cpu.average_pool.f32.avx512", .version = 2, .op = "average_pool",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW16C, HONE_NCHW16C}}, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){.run = hn_pool_average_f32_avx512}},
    {sizeof(hone_tactic), .name = "cpu.max_pool.bf16.avx512", .version = 1, .op = "max_pool", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){.run = hn_pool_max_bf16_avx512}},
    {sizeof(hone_tactic), .name = "cpu.average_pool.bf16.avx512", .version = 1, .op = "average_pool",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){.run = hn_pool_average_bf16_avx512}},
    {sizeof(hone_tactic), .name = "cpu.max_pool.f16.avx512", .version = 1, .op = "max_pool", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){.run = hn_pool_max_f16_avx512}},
    {sizeof(hone_tactic), .name = "cpu.average_pool.f16.avx512", .version = 1, .op = "average_pool",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){.run = hn_pool_average_f16_avx512}},
    {sizeof(hone_tactic), .name = "cpu.max_pool.bytes.avx512", .version = 1, .op = "max_pool", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW64C, HONE_NCHW64C}},
     .plan = plan, .launch = launch, .kernel = &(const row_kernel){.run = hn_pool_max_bytes_avx512, .bytes = true}},
    {sizeof(hone_tactic), .name = "cpu.max_pool.f64.avx512", .version = 2, .op = "max_pool", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){.run = hn_pool_max_f64_avx512}},
    {sizeof(hone_tactic), .name = "cpu.average_pool.f64.avx512", .version = 2, .op = "average_pool",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}},
     .plan = plan, .launch = launch, .kernel = &(const row_kernel){.run = hn_pool_average_f64_avx512}},
    {sizeof(hone_tactic), .name = "cpu.max_pool.f32.avx2", .version = 2, .op = "max_pool", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW8C, HONE_NCHW8C}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){.run = hn_pool_max_f32_avx2}},
    {sizeof(hone_tactic), .name = "cpu.average_pool.f32.avx2", .version = 2, .op = "average_pool", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW8C, HONE_NCHW8C}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){.run = hn_pool_average_f32_avx2}},
    {sizeof(hone_tactic), .name = "cpu.max_pool.bf16.avx2", .version = 1, .op = "max_pool", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){.run = hn_pool_max_bf16_avx2}},
    {sizeof(hone_tactic), .name = "cpu.average_pool.bf16.avx2", .version = 1, .op = "average_pool",
     .isa = HONE_ISA_AVX2, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){.run = hn_pool_average_bf16_avx2}},
    {sizeof(hone_tactic), .name = "cpu.max_pool.f16.avx2", .version = 1, .op = "max_pool", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){.run = hn_pool_max_f16_avx2}},
    {sizeof(hone_tactic), .name = "cpu.average_pool.f16.avx2", .version = 1, .op = "average_pool", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){.run = hn_pool_average_f16_avx2}},
    {sizeof(hone_tactic), .name = "cpu.max_pool.bytes.avx2", .version = 1, .op = "max_pool", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW64C, HONE_NCHW64C}},
     .plan = plan, .launch = launch, .kernel = &(const row_kernel){.run = hn_pool_max_bytes_avx2, .bytes = true}},
    {sizeof(hone_tactic), .name = "cpu.max_pool.f64.avx2", .version = 2, .op = "max_pool", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){.run = hn_pool_max_f64_avx2}},
    {sizeof(hone_tactic), .name = "cpu.average_pool.f64.avx2", .version = 2, .op = "average_pool", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){.run = hn_pool_average_f64_avx2}},
    {sizeof(hone_tactic), .name = "cpu.max_pool_indices.f32.avx2", .version = 1, .op = "max_pool", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){.run = hn_pool_index_f32_avx2, .indices = true}},
    {sizeof(hone_tactic), .name = "cpu.lp_pool.f32.avx512", .version = 1, .op = "lp_pool", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){.run = hn_pool_norm_f32_avx512, .is_norm = true}},
    {sizeof(hone_tactic), .name = "cpu.lp_pool.f32.avx2", .version = 1, .op = "lp_pool", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){.run = hn_pool_norm_f32_avx2, .is_norm = true}},
#endif
    {sizeof(hone_tactic), .name = "cpu.max_pool.f32.c", .version = 2, .op = "max_pool", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW8C, HONE_NCHW8C}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){.run = hn_pool_max_f32_c}},
    {sizeof(hone_tactic), .name = "cpu.average_pool.f32.c", .version = 2, .op = "average_pool", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW8C, HONE_NCHW8C}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){.run = hn_pool_average_f32_c}},
    {sizeof(hone_tactic), .name = "cpu.max_pool.bf16.c", .version = 1, .op = "max_pool", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){.run = hn_pool_max_bf16_c}},
    {sizeof(hone_tactic), .name = "cpu.average_pool.bf16.c", .version = 1, .op = "average_pool", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){.run = hn_pool_average_bf16_c}},
    {sizeof(hone_tactic), .name = "cpu.max_pool.f16.c", .version = 1, .op = "max_pool", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){.run = hn_pool_max_f16_c}},
    {sizeof(hone_tactic), .name = "cpu.average_pool.f16.c", .version = 1, .op = "average_pool", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){.run = hn_pool_average_f16_c}},
    {sizeof(hone_tactic), .name = "cpu.max_pool.bytes.c", .version = 1, .op = "max_pool", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW64C, HONE_NCHW64C}},
     .plan = plan, .launch = launch, .kernel = &(const row_kernel){.run = hn_pool_max_bytes_c, .bytes = true}},
    {sizeof(hone_tactic), .name = "cpu.max_pool.f64.c", .version = 2, .op = "max_pool", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){.run = hn_pool_max_f64_c}},
    {sizeof(hone_tactic), .name = "cpu.average_pool.f64.c", .version = 2, .op = "average_pool", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){.run = hn_pool_average_f64_c}},
    {sizeof(hone_tactic), .name = "cpu.max_pool_indices.f32.c", .version = 1, .op = "max_pool", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){.run = hn_pool_index_f32_c, .indices = true}},
    {sizeof(hone_tactic), .name = "cpu.lp_pool.f32.c", .version = 1, .op = "lp_pool", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){.run = hn_pool_norm_f32_c, .is_norm = true}},
    {0}};
