/* SPDX-License-Identifier: Apache-2.0 */
/* product_half.h - what the tactics over kernels/cpu/gemm/product_half.h share. */
#ifndef HN_BACKEND_CPU_PRODUCT_HALF_H
#define HN_BACKEND_CPU_PRODUCT_HALF_H

#include "kernels/cpu/gemm/product_half.h"
#include "backend/cpu/epilogue.h"

/* A row's kernels. */
typedef struct hn_cpu_half_kernel {
  hone_dtype held; /* what it multiplies, and holds activations in */
  hn_product_half_fn *run;
  hn_gather_half_fn *gather;
  hn_product_half_pack_fn *pack;
  int step;                        /* pixels that it multiplies at least */
  double efficiency, flops_per_ns; /* of one thread */
  bool skips;                      /* can leave out pixels behind a row's last */
} hn_cpu_half_kernel;
extern const hn_cpu_half_kernel hn_cpu_bf16_c, hn_cpu_bf16_avx512, hn_cpu_bf16_amx, hn_cpu_f16_c, hn_cpu_f16_avx512;

/* A planned product; where it gathers, from the launch's input into its scratch memory: all of it before the product,
 * or a band of rows at a time, which caches hold until it is multiplied. */
typedef struct hn_cpu_half {
  const hn_cpu_half_kernel *kernel;
  hn_product_half product; /* without pointers */
  hn_gather_half gather;
  bool gathers;
  int64_t units, grain, gather_units, gather_grain;
  int64_t bands, band_elements; /* of an image, of band_rows rows of outputs, 0: all at once; each worker's scratch */
  int64_t band_rows, images, out_height; /* product and gather are those of one band */
  int64_t bias_at, slopes_at;            /* floats behind the weights, -1: none */
  int64_t scale_at, shift_at;            /* those of the gather, 0: none */
  int64_t residual;                      /* a port, -1: none */
} hn_cpu_half;

/* The query with what is held in halves said to be f32: for readers that know f32 alone. in and out: room for the
 * facts.
 */
hone_query hn_cpu_as_f32(const hone_query *query, hone_dtype held, hone_fact *in, hone_fact *out);
/* How y lies; false where no kernel of the row writes it so. */
bool hn_cpu_half_output(const hn_cpu_half_kernel *kernel, const hone_type *y, hn_product_half *product);
/* Rows that sum in f16 have a variant for each number of terms that they sum so; the others have one. */
int hn_cpu_half_variants(const hn_cpu_half_kernel *kernel, hone_params *out, int room);
/* That number; what no row has written is the first of them. */
int32_t hn_cpu_half_terms(const hone_params *params);
/* Cuts the product into units, and says what the gather takes in scratch memory; 0 where that is more than memory.
 * params: the query's, of hn_cpu_half_variants; NULL: the first. */
size_t hn_cpu_half_cut(hn_cpu_half *b, const hone_facts *facts, const hone_params *params);
double hn_cpu_half_efficiency(const hn_cpu_half *b);
/* tap_at: of the state. */
void hn_cpu_half_run(const hn_cpu_half *b, const int64_t *tap_at, hone_stream *stream, const hone_launch *launch);

#endif
