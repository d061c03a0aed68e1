/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_common.h - matrix products as gemm, linear, matmul and the recurrent layers run them: how a product, or a batch
 * of them, is cut into units, and where packed panels of B come from. */
#ifndef HN_BACKEND_CPU_GEMM_COMMON_H
#define HN_BACKEND_CPU_GEMM_COMMON_H

#include "kernels/cpu/epilogue.h"
#include "kernels/cpu/gemm/gemm.h"
#include "backend/cpu/epilogue.h"

/* A register tile's kernel. */
typedef struct hn_cpu_gemm_kernel {
  void (*run)(const hn_gemm_f32 *gemm, int64_t row_begin, int64_t row_end, int64_t panel_begin, int64_t panel_end,
              float *scratch);
  int64_t (*a_tiles)(const hn_gemm_f32 *gemm);
  void (*pack_a)(const hn_gemm_f32 *gemm, int64_t begin, int64_t end, float *to);
  int panel, rows;              /* of a tile: columns of B, rows of A */
  double flops_per_ns;          /* of one thread, about: for grains alone */
  hn_activate_f32_fn *activate; /* for sums of several products */
} hn_cpu_gemm_kernel;
/* About what one thread takes: computing, and reading B where it is too large for the inner caches. */
double hn_cpu_gemm_ns(const hn_cpu_gemm_kernel *kernel, int64_t m, int64_t n, int64_t k);
extern const hn_cpu_gemm_kernel hn_cpu_gemm_c, hn_cpu_gemm_avx2, hn_cpu_gemm_avx512;

/* `batches` products of m x k and k x n matrices; B's and C's lie one after the other, or apart. The results do not
 * depend on how the work is cut. Filled by the caller down to b_packed_before, then by hn_cpu_product_plan. */
typedef struct hn_cpu_product {
  const hn_cpu_gemm_kernel *kernel;
  hn_gemm_f32 gemm;   /* m, n, k, strides, residual_stride, activation, bias_per_row; no pointers */
  hn_cpu_batch batch; /* A's steps in floats */
  int64_t b_row_stride, b_column_stride;
  bool b_packed_before; /* else every launch packs it into scratch */
  bool is_apart;        /* B's matrices and C's lie where these say, in floats */
  int64_t b_from[HONE_MAX_RANK], c_step[HONE_MAX_RANK];

  int64_t batches, packed_floats; /* of one matrix */
  int64_t panels, row_chunk, row_chunks, panel_chunk, panel_chunks;
  int64_t grain, workers, worker_floats;
  int64_t pack_rows, pack_units, pack_grain; /* of B: a unit is as many of a panel's k */
  int64_t a_floats, a_tiles, a_grain;        /* A packed once for all threads; a_floats 0: each unit packs its own */
} hn_cpu_product;

/* NULL when sizes are within what index arithmetic can carry. */
const char *hn_cpu_product_check_sizes(const hn_cpu_product *product);
void hn_cpu_product_plan(hn_cpu_product *product, const hone_facts *facts);
size_t hn_cpu_product_scratch_bytes(const hn_cpu_product *product); /* of a planned one */

/* Memory of one run. b: packed panels when packed before, else the plain matrices. */
typedef struct hn_cpu_product_data {
  const float *a, *b, *bias, *residual, *slope;
  float *c, *scratch;
} hn_cpu_product_data;
void hn_cpu_product_run(const hn_cpu_product *product, hn_pool *pool, const hn_cpu_product_data *data);

/* What the rows of gemm, linear and matmul share: their ports 0 and 1 are the operands. read fills the product down to
 * b_packed_before and says why not; bias, residual and slope are numbers of ports, -1 for none. */
typedef struct hn_cpu_product_ports {
  int bias, residual, slope;
  bool swaps; /* port 0 is B */
} hn_cpu_product_ports;
/* A row's kernel. */
typedef struct hn_cpu_product_kernel {
  const hn_cpu_gemm_kernel *gemm;
  const char *(*read)(const hone_query *query, hn_cpu_product *product, hn_cpu_product_ports *ports);
} hn_cpu_product_kernel;

/* NULL when there are both operands, plain f32 as the product is, and `most` inputs at most: read's first question. */
const char *hn_cpu_product_check(const hone_query *query, int most);
const char *hn_cpu_product_plan_query(const hone_query *query, void *state, hone_needs *needs);
hone_status hn_cpu_product_pack_query(const hone_query *query, void *to);
hone_status hn_cpu_product_launch(void *state, hone_stream *stream, const hone_launch *launch);

#endif
