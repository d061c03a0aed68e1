/* SPDX-License-Identifier: Apache-2.0 */
/* linear.c - a matrix of weights applied to the last axis: all leading axes are rows of one product. */
#include "backend/cpu/gemm/product_f64.h"

static const char *read(const hone_query *query, hn_cpu_product *p, hn_cpu_product_ports *ports) {
  HN_TRY_REASON(hn_cpu_product_check(query, 5));
  const hone_shape *x = &query->in[0].type.shape, *w = &query->in[1].type.shape, *y = &query->out[0].type.shape;
  if (x->rank < 1 || w->rank != 2 || y->rank != x->rank) return "the ranks do not fit together";
  const bool transposed = hn_attr_int(query->attrs, "transpose_w") != 0;
  hn_gemm_f32 *g = &p->gemm;
  g->k = w->dim[transposed ? 1 : 0];
  g->n = w->dim[transposed ? 0 : 1];
  if (x->dim[x->rank - 1] != g->k || y->dim[y->rank - 1] != g->n) return "the extents do not fit together";
  g->m = 1;
  for (int i = 0; i < x->rank - 1; ++i) {
    if (x->dim[i] != y->dim[i]) return "the extents do not fit together";
    g->m *= x->dim[i];
  }
  g->a_row_stride = g->k;
  g->a_column_stride = 1;
  g->c_row_stride = g->epilogue.residual_stride = g->n;
  p->batch.b_matrices = 1;
  p->b_row_stride = transposed ? 1 : g->n;
  p->b_column_stride = transposed ? g->k : 1;
  HN_TRY_REASON(hn_cpu_epilogue_check(query, 2, 3, g->n));
  hn_cpu_activation(query->attrs, &g->epilogue);
  if (hn_cpu_given(query, 2)) ports->bias = 2;
  if (hn_cpu_given(query, 3)) ports->residual = 3;
  if (hn_cpu_has_slope(&g->epilogue)) ports->slope = 4;
  return NULL;
}

#define COMMON                                                                                                         \
  .flags = HONE_TACTIC_REPEATABLE, .pack_mask = 2, .plan = hn_cpu_product_plan_query,                                  \
  .pack = hn_cpu_product_pack_query, .launch = hn_cpu_product_launch
#define COMMON_F64                                                                                                     \
  .flags = HONE_TACTIC_REPEATABLE, .pack_mask = 2, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}},                     \
  .plan = hn_cpu_product_f64_plan, .pack = hn_cpu_product_f64_pack, .launch = hn_cpu_product_f64_launch
const hone_tactic hn_tactics_cpu_linear[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.linear.f32.14x32.avx512", .version = 1, .op = "linear", .isa = HONE_ISA_AVX512,
     .kernel = &(const hn_cpu_product_kernel){&hn_cpu_gemm_avx512, read}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.linear.f32.6x16.avx2", .version = 1, .op = "linear", .isa = HONE_ISA_AVX2,
     .kernel = &(const hn_cpu_product_kernel){&hn_cpu_gemm_avx2, read}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.linear.f64.12x16.avx512", .version = 1, .op = "linear", .isa = HONE_ISA_AVX512,
     .kernel = &(const hn_cpu_product_f64_kernel){&hn_cpu_gemm_f64_avx512, read}, COMMON_F64},
    {sizeof(hone_tactic), .name = "cpu.linear.f64.6x8.avx2", .version = 1, .op = "linear", .isa = HONE_ISA_AVX2,
     .kernel = &(const hn_cpu_product_f64_kernel){&hn_cpu_gemm_f64_avx2, read}, COMMON_F64},
#endif
    {sizeof(hone_tactic), .name = "cpu.linear.f32.4x8.c", .version = 1, .op = "linear", .isa = HONE_ISA_C,
     .kernel = &(const hn_cpu_product_kernel){&hn_cpu_gemm_c, read}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.linear.f64.4x4.c", .version = 1, .op = "linear", .isa = HONE_ISA_C,
     .kernel = &(const hn_cpu_product_f64_kernel){&hn_cpu_gemm_f64_c, read}, COMMON_F64},
    {0}};
