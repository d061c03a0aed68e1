/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.c - one matrix product with transposes; the addend becomes the kernel's bias or residual. */
#include "backend/cpu/gemm/product_f64.h"

static const char *read_addend(const hone_query *query, hn_gemm_f32 *g, hn_cpu_product_ports *ports) {
  const double beta = hn_attr_float(query->attrs, "beta");
  if (!hn_cpu_given(query, 2) || beta == 0) return NULL;
  if (beta != 1) return "beta is neither 0 nor 1";
  const hone_shape *c = &query->in[2].type.shape;
  if (!hn_cpu_is(&query->in[2], HONE_F32, HONE_PLAIN)) return "the addend is not plain f32";
  if (c->rank < 1 || c->rank > 2) return "the addend has rank 0";
  const int64_t rows = c->rank == 2 ? c->dim[0] : 1, columns = c->dim[c->rank - 1];
  if (rows == 1 && columns == g->n) {
    ports->bias = 2;
  } else if (rows == g->m && columns == 1) {
    ports->bias = 2;
    g->bias_per_row = 1;
  } else if (rows == g->m && columns == g->n) {
    ports->residual = 2;
    g->epilogue.residual_stride = g->n;
  } else {
    return "the addend is one number, or does not fit the product";
  }
  return NULL;
}

static const char *read(const hone_query *query, hn_cpu_product *p, hn_cpu_product_ports *ports) {
  HN_TRY_REASON(hn_cpu_product_check(query, 3));
  const hone_shape *a = &query->in[0].type.shape, *b = &query->in[1].type.shape, *y = &query->out[0].type.shape;
  if (a->rank != 2 || b->rank != 2 || y->rank != 2) return "it is not a product of two matrices";
  if (hn_attr_float(query->attrs, "alpha") != 1) return "alpha is not 1";
  const int ta = hn_attr_int(query->attrs, "transA") != 0, tb = hn_attr_int(query->attrs, "transB") != 0;
  hn_gemm_f32 *g = &p->gemm;
  g->m = a->dim[ta];
  g->k = a->dim[!ta];
  g->n = b->dim[!tb];
  if (b->dim[tb] != g->k || y->dim[0] != g->m || y->dim[1] != g->n) return "the extents do not fit together";
  g->a_row_stride = ta ? 1 : g->k;
  g->a_column_stride = ta ? g->m : 1;
  g->c_row_stride = g->n;
  p->batch.b_matrices = 1;
  p->b_row_stride = tb ? 1 : g->n;
  p->b_column_stride = tb ? g->k : 1;
  return read_addend(query, g, ports);
}

#define COMMON                                                                                                         \
  .flags = HONE_TACTIC_REPEATABLE, .pack_mask = 2, .plan = hn_cpu_product_plan_query,                                  \
  .pack = hn_cpu_product_pack_query, .launch = hn_cpu_product_launch
#define COMMON_F64                                                                                                     \
  .flags = HONE_TACTIC_REPEATABLE, .pack_mask = 2, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}},                     \
  .plan = hn_cpu_product_f64_plan, .pack = hn_cpu_product_f64_pack, .launch = hn_cpu_product_f64_launch
const hone_tactic hn_tactics_cpu_gemm[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.gemm.f32.14x32.avx512", .version = 1, .op = "gemm", .isa = HONE_ISA_AVX512,
     .kernel = &(const hn_cpu_product_kernel){&hn_cpu_gemm_avx512, read}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.gemm.f32.6x16.avx2", .version = 1, .op = "gemm", .isa = HONE_ISA_AVX2,
     .kernel = &(const hn_cpu_product_kernel){&hn_cpu_gemm_avx2, read}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.gemm.f64.12x16.avx512", .version = 1, .op = "gemm", .isa = HONE_ISA_AVX512,
     .kernel = &(const hn_cpu_product_f64_kernel){&hn_cpu_gemm_f64_avx512, read}, COMMON_F64},
    {sizeof(hone_tactic), .name = "cpu.gemm.f64.6x8.avx2", .version = 1, .op = "gemm", .isa = HONE_ISA_AVX2,
     .kernel = &(const hn_cpu_product_f64_kernel){&hn_cpu_gemm_f64_avx2, read}, COMMON_F64},
#endif
    {sizeof(hone_tactic), .name = "cpu.gemm.f32.4x8.c", .version = 1, .op = "gemm", .isa = HONE_ISA_C,
     .kernel = &(const hn_cpu_product_kernel){&hn_cpu_gemm_c, read}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.gemm.f64.4x4.c", .version = 1, .op = "gemm", .isa = HONE_ISA_C,
     .kernel = &(const hn_cpu_product_f64_kernel){&hn_cpu_gemm_f64_c, read}, COMMON_F64},
    {0}};
