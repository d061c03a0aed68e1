/* SPDX-License-Identifier: Apache-2.0 */
/* matmul.c - matrix products over broadcast batch axes, as numpy's. When all share one B, the batch is rows. */
#include "backend/cpu/gemm/product_f64.h"
#include "kernels/cpu/gemm/few_rows.h"

/* A one-dimensional operand is a row on the left, a column on the right. */
static hone_shape matrix(const hone_shape *shape, bool left) {
  if (shape->rank != 1) return *shape;
  const int64_t dim[2] = {left ? 1 : shape->dim[0], left ? shape->dim[0] : 1};
  return hn_shape(2, dim);
}

static bool fits_output(const hone_query *query, const hn_cpu_product *p) {
  const hone_shape *y = &query->out[0].type.shape;
  int rank = p->batch.rank;
  if (y->rank < rank) return false;
  for (int i = 0; i < rank; ++i)
    if (y->dim[i] != p->batch.dim[i]) return false;
  if (query->in[0].type.shape.rank > 1 && (y->rank <= rank || y->dim[rank++] != p->gemm.m)) return false;
  if (query->in[1].type.shape.rank > 1 && (y->rank <= rank || y->dim[rank++] != p->gemm.n)) return false;
  return y->rank == rank;
}

static const char *read(const hone_query *query, hn_cpu_product *p, hn_cpu_product_ports *ports) {
  (void)ports;
  HN_TRY_REASON(hn_cpu_product_check(query, 2));
  if (query->in[0].type.shape.rank < 1 || query->in[1].type.shape.rank < 1) return "an operand is a scalar";
  const hone_shape a = matrix(&query->in[0].type.shape, true), b = matrix(&query->in[1].type.shape, false);
  hn_gemm_f32 *g = &p->gemm;
  g->m = a.dim[a.rank - 2];
  g->k = a.dim[a.rank - 1];
  g->n = b.dim[b.rank - 1];
  if (b.dim[b.rank - 2] != g->k) return "the inner extents differ";
  if (hn_elems(&a) == 0 || hn_elems(&b) == 0) return "an extent is 0";
  if (!hn_cpu_batch_of(&a, &b, &p->batch) || !fits_output(query, p)) return "the extents do not fit together";
  for (int i = 0; i < p->batch.rank; ++i) p->batch.a_step[i] *= g->m * g->k;
  bool is_dense = p->batch.b_matrices == 1; /* then A's matrices are rows below each other */
  int64_t rows = g->m;
  for (int i = 0; i < p->batch.rank; ++i) {
    is_dense = is_dense && (p->batch.a_step[i] != 0 || p->batch.dim[i] == 1);
    rows *= p->batch.dim[i];
  }
  if (is_dense) {
    g->m = rows;
    p->batch.rank = 0;
  }
  g->a_row_stride = g->k;
  g->a_column_stride = 1;
  g->c_row_stride = g->n;
  p->b_row_stride = g->n;
  p->b_column_stride = 1;
  return NULL;
}

/* ---- few rows: a right side that is no constant is read as it lies, once, and not packed ---- */

typedef struct few_rows {
  hn_few_rows_fn *kernel;
  hn_few_rows_args args;
  hn_cpu_batch batch;
  int64_t columns, pieces, units, grain; /* of a unit; of a product */
} few_rows;

typedef struct few_rows_row {
  hn_few_rows_fn *kernel;
} few_rows_row;

static const char *plan_few_rows(const hone_query *query, void *memory, hone_needs *needs) {
  enum { LEAST_COLUMNS = 256, UNITS_EACH = 4 };
  few_rows asked, *s = memory ? memory : &asked;
  hn_cpu_product p = {0};
  HN_TRY_REASON(read(query, &p, NULL));
  const hn_gemm_f32 *g = &p.gemm;
  if (g->m > HN_FEW_ROWS) return "it has more than four rows";
  if (query->constant_mask >> 1 & 1) return "its right side is constant: it may be packed beforehand";
  const int64_t products = hn_cpu_batch_count(&p.batch), threads = hn_cpu_threads(query->facts);
  const int64_t wanted = hn_ceil_div(g->n * products, threads * UNITS_EACH);
  *s = (few_rows){.kernel = ((const few_rows_row *)query->tactic->kernel)->kernel,
                  .args = {.m = g->m, .k = g->k, .n = g->n},
                  .batch = p.batch};
  s->columns = hn_cpu_lesser(hn_ceil_div(hn_cpu_greater(wanted, LEAST_COLUMNS), 16) * 16, g->n);
  s->pieces = hn_ceil_div(g->n, s->columns);
  s->units = products * s->pieces;
  s->grain = hn_cpu_grain(s->units, 4.0 * (double)(products * g->k * g->n) * HN_CPU_NS_PER_BYTE);
  needs->state = sizeof *s;
  needs->efficiency = 0.5;
  return NULL;
}

static void few_rows_body(void *arg, int worker, int64_t begin, int64_t end) {
  const few_rows *s = arg;
  (void)worker;
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t product = unit / s->pieces, first = unit % s->pieces * s->columns;
    hn_few_rows_args args = s->args;
    int64_t a, b;
    hn_cpu_batch_at(&s->batch, product, &a, &b);
    args.a += a;
    args.b += b * args.k * args.n;
    args.y += product * args.m * args.n;
    s->kernel(&args, first, hn_cpu_lesser(first + s->columns, args.n));
  }
}

static hone_status launch_few_rows(void *memory, hone_stream *stream, const hone_launch *l) {
  few_rows s = *(const few_rows *)memory;
  s.args.a = l->in[0].data, s.args.b = l->in[1].data, s.args.y = l->out[0].data;
  hn_pool_run(hn_stream_pool(stream), s.units, s.grain, few_rows_body, &s);
  return HONE_OK;
}

#define COMMON                                                                                                         \
  .flags = HONE_TACTIC_REPEATABLE, .pack_mask = 2, .plan = hn_cpu_product_plan_query,                                  \
  .pack = hn_cpu_product_pack_query, .launch = hn_cpu_product_launch
#define COMMON_F64                                                                                                     \
  .flags = HONE_TACTIC_REPEATABLE, .pack_mask = 2, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}},                     \
  .plan = hn_cpu_product_f64_plan, .pack = hn_cpu_product_f64_pack, .launch = hn_cpu_product_f64_launch
const hone_tactic hn_tactics_cpu_matmul[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.matmul.f32.14x32.avx512", .version = 1, .op = "matmul", .isa = HONE_ISA_AVX512,
     .kernel = &(const hn_cpu_product_kernel){&hn_cpu_gemm_avx512, read}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.matmul.f32.6x16.avx2", .version = 1, .op = "matmul", .isa = HONE_ISA_AVX2,
     .kernel = &(const hn_cpu_product_kernel){&hn_cpu_gemm_avx2, read}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.matmul.f64.12x16.avx512", .version = 1, .op = "matmul", .isa = HONE_ISA_AVX512,
     .kernel = &(const hn_cpu_product_f64_kernel){&hn_cpu_gemm_f64_avx512, read}, COMMON_F64},
    {sizeof(hone_tactic), .name = "cpu.matmul.f64.6x8.avx2", .version = 1, .op = "matmul", .isa = HONE_ISA_AVX2,
     .kernel = &(const hn_cpu_product_f64_kernel){&hn_cpu_gemm_f64_avx2, read}, COMMON_F64},
    {sizeof(hone_tactic), .name = "cpu.matmul.f32.few_rows.avx512", .version = 1, .op = "matmul",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE, .plan = plan_few_rows, .launch = launch_few_rows,
     .kernel = &(const few_rows_row){hn_few_rows_f32_avx512}},
    {sizeof(hone_tactic), .name = "cpu.matmul.f32.few_rows.avx2", .version = 1, .op = "matmul", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_few_rows, .launch = launch_few_rows,
     .kernel = &(const few_rows_row){hn_few_rows_f32_avx2}},
#endif
    {sizeof(hone_tactic), .name = "cpu.matmul.f32.few_rows.c", .version = 1, .op = "matmul", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_few_rows, .launch = launch_few_rows,
     .kernel = &(const few_rows_row){hn_few_rows_f32_c}},
    {sizeof(hone_tactic), .name = "cpu.matmul.f32.4x8.c", .version = 1, .op = "matmul", .isa = HONE_ISA_C,
     .kernel = &(const hn_cpu_product_kernel){&hn_cpu_gemm_c, read}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.matmul.f64.4x4.c", .version = 1, .op = "matmul", .isa = HONE_ISA_C,
     .kernel = &(const hn_cpu_product_f64_kernel){&hn_cpu_gemm_f64_c, read}, COMMON_F64},
    {0}};
