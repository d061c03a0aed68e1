/* SPDX-License-Identifier: Apache-2.0 */
/* region.h - fused chains of convolutions as the kernels of single ones see them. A region computes bands of rows in
 * memory of its worker's own with the kernels for whole images: these take a plane's extents as strides, and a caller
 * that asks for the units of the first rows alone gets a band. */
#ifndef HN_BACKEND_CPU_REGION_H
#define HN_BACKEND_CPU_REGION_H

#include "kernels/cpu/pool/pool.h"
#include "backend/cpu/conv/conv_common.h"
#include "tensor/sliding.h"

enum { HN_REGION_ATTRS = 16 };

/* One layer's attributes out of the region's: those behind the prefix, and group when it is above 0. */
typedef struct hn_region_attrs {
  hone_attr items[HN_REGION_ATTRS];
  hone_attrs attrs;
} hn_region_attrs;
void hn_cpu_region_attrs(const hone_query *query, const char *prefix, int64_t group, hn_region_attrs *out);

/* The type between two layers: x's with other channels, and its planes as the window `sliding` leaves them. */
hone_type hn_cpu_region_type(const hone_type *x, int64_t channels, const hn_sliding *sliding);

/* hn_cpu_conv_read for one layer; weights and bias are inputs of the region. residual: an input, or -1. */
const char *hn_cpu_region_read(const hone_query *query, const hn_region_attrs *attrs, const hone_type *x, int weights,
                               int residual, const hone_type *y, hn_conv_f32 *out);

/* The pool of conv_pool over `middle`, which the convolution makes in blocks of `block` channels: its attributes begin
 * with pool_. out has no pointers. */
const char *hn_cpu_region_read_pool(const hone_query *query, int block, const hone_type *middle, hn_pool_args *out,
                                    bool *out_averages);

/* How many strips of rows an image is cut into: each thread takes whole ones, and rows at a strip's ends are computed
 * twice, so that there are few. */
int64_t hn_cpu_region_strip_rows(const hone_query *query, int64_t images, int64_t rows);

/* The rows that a worker keeps of planes of `rows` rows, each `row` floats: those from `from` on move to the front. */
void hn_cpu_region_keep(float *planes, int64_t count, int64_t rows, int64_t row, int64_t from, int64_t kept);

/* Where their layers' kernels are timed alone, regions reach about this share of the peak. */
#define HN_CPU_REGION_EFFICIENCY 0.7

#endif
