/* SPDX-License-Identifier: Apache-2.0 */
/* product_f64.h - matrix products of doubles, as gemm, linear and matmul run them and as convolutions call them. */
#ifndef HN_BACKEND_CPU_PRODUCT_F64_H
#define HN_BACKEND_CPU_PRODUCT_F64_H

#include "backend/cpu/gemm/gemm_common.h"
#include "kernels/cpu/gemm/gemm_f64.h"

typedef struct hn_cpu_gemm_f64 {
  hn_gemm_f64_fn *run;
  int panel, rows;     /* of a tile: columns of B, rows of A */
  double flops_per_ns; /* of one thread, about: for grains alone */
} hn_cpu_gemm_f64;
extern const hn_cpu_gemm_f64 hn_cpu_gemm_f64_c, hn_cpu_gemm_f64_avx2, hn_cpu_gemm_f64_avx512;

/* Rows of A that are packed at once, for a cache of l2_bytes. */
int64_t hn_cpu_gemm_f64_block(const hn_cpu_gemm_f64 *kernel, int64_t m, int64_t k, size_t l2_bytes);
/* Workers' buffers begin on cache lines of their own. */
static inline int64_t hn_cpu_whole_lines_f64(int64_t doubles) { return (doubles + 7) / 8 * 8; }

/* Of a query with operands and parameters in f64, `read` as rows of f32 have it fills the shape. */
typedef struct hn_cpu_product_f64_kernel {
  const hn_cpu_gemm_f64 *gemm;
  const char *(*read)(const hone_query *query, hn_cpu_product *product, hn_cpu_product_ports *ports);
} hn_cpu_product_f64_kernel;
const char *hn_cpu_product_f64_plan(const hone_query *query, void *state, hone_needs *needs);
hone_status hn_cpu_product_f64_pack(const hone_query *query, void *to);
hone_status hn_cpu_product_f64_launch(void *state, hone_stream *stream, const hone_launch *launch);

/* Of the attributes, in double; the pointers are a launch's. */
hn_epilogue_f64 hn_cpu_epilogue_f64(const hone_attrs *attrs, const hn_epilogue_f32 *read);

#endif
