/* SPDX-License-Identifier: Apache-2.0 */
/* product_bf16.h - what the tactics over kernels/cpu/gemm/product_bf16.h share. */
#ifndef HN_BACKEND_CPU_PRODUCT_BF16_H
#define HN_BACKEND_CPU_PRODUCT_BF16_H

#include "kernels/cpu/gemm/product_bf16.h"
#include "backend/cpu/epilogue.h"

/* A row's kernels. */
typedef struct hn_cpu_bf16_kernel {
  hn_product_bf16_fn *run;
  hn_gather_bf16_fn *gather;
  double efficiency, flops_per_ns; /* of one thread */
} hn_cpu_bf16_kernel;
extern const hn_cpu_bf16_kernel hn_cpu_bf16_c, hn_cpu_bf16_amx;

/* A planned product; where it gathers, from the launch's input into its scratch memory. */
typedef struct hn_cpu_bf16 {
  const hn_cpu_bf16_kernel *kernel;
  hn_product_bf16 product; /* without pointers */
  hn_gather_bf16 gather;
  bool gathers;
  int64_t units, grain, gather_units, gather_grain;
  int64_t bias_at, slopes_at, residual; /* floats behind the weights, -1: none; a port, -1: none */
} hn_cpu_bf16;

/* The query with what is held in bf16 said to be f32: for readers that know f32 alone. in and out: room for the facts.
 */
hone_query hn_cpu_as_f32(const hone_query *query, hone_dtype held, hone_fact *in, hone_fact *out);
/* How y lies; false where no kernel of the row writes it so. */
bool hn_cpu_bf16_output(const hone_type *y, hn_product_bf16 *product);
/* Cuts the product into units, and says what the gather takes in scratch memory; 0 where that is more than memory. */
size_t hn_cpu_bf16_cut(hn_cpu_bf16 *b, const hone_facts *facts);
double hn_cpu_bf16_efficiency(const hn_cpu_bf16 *b);
/* tap_at: of the state. */
void hn_cpu_bf16_run(const hn_cpu_bf16 *b, const int64_t *tap_at, hone_stream *stream, const hone_launch *launch);

#endif
