/* SPDX-License-Identifier: Apache-2.0 */
/* product_bf16.c - products of bf16 with f32 sums: cutting them into units, and linear layers. Activations may lie in
 * f32: then they are rounded on the way in, in the same launch. */
#include "backend/cpu/gemm/product_bf16.h"

enum { TILE = HN_PRODUCT_BF16_TILE };
static const double size_limit = 1e12; /* elements of any operand */

const hn_cpu_bf16_kernel hn_cpu_bf16_c = {hn_product_bf16_c, hn_gather_bf16_c, 0.1, 0.5};
#ifndef HONE_NO_AVX
const hn_cpu_bf16_kernel hn_cpu_bf16_amx = {hn_product_bf16_amx_bf16, hn_gather_bf16_amx_bf16, 0.4, 800};
#endif

hone_query hn_cpu_as_f32(const hone_query *query, hone_dtype held, hone_fact *in, hone_fact *out) {
  hone_query asked = *query;
  for (int i = 0; i < query->in_count; ++i) {
    in[i] = query->in[i];
    if (in[i].type.dtype == held) in[i].type.dtype = HONE_F32;
  }
  for (int i = 0; i < query->out_count; ++i) {
    out[i] = query->out[i];
    if (out[i].type.dtype == held) out[i].type.dtype = HONE_F32;
  }
  asked.in = in, asked.out = out;
  return asked;
}

bool hn_cpu_bf16_output(const hone_type *y, hn_product_bf16 *p) {
  p->y_is_bf16 = y->dtype == HONE_BF16;
  p->y_is_padded = y->format != HONE_PLAIN;
  p->y_lanes = y->format == HONE_PLAIN ? TILE : hn_format_block(y->format);
  return p->y_is_bf16 ? p->y_lanes == TILE : y->dtype == HONE_F32 && (p->y_lanes <= 16 || !p->y_is_padded);
}

static int64_t weight_bytes(const hn_product_bf16 *p) {
  return p->taps * p->depth_blocks * HN_PRODUCT_BF16_WEIGHTS * (int64_t)sizeof(uint16_t);
}

/* One thread: as many blocks as the second cache holds, for all pixels. Several: weights that fill caches are shared
 * out, else pixels are. */
static void choose_units(hn_product_bf16 *p, const hone_facts *facts) {
  const int64_t threads = hn_cpu_threads(facts), wanted = threads == 1 ? 1 : 4 * threads;
  const int64_t pixels = hn_product_bf16_pixels(p), blocks = hn_product_bf16_blocks(p);
  const int64_t cached = (int64_t)hn_cpu_l2_bytes(facts) / 2 / weight_bytes(p), planes = p->images * p->groups;
  p->unit_blocks = hn_cpu_greater(1, hn_cpu_lesser(blocks, cached));
  const bool is_wide = p->unit_blocks < blocks;
  const int64_t x_bytes = pixels * p->depth_blocks * TILE * (int64_t)sizeof(uint16_t);
  p->blocks_first = is_wide && x_bytes < (int64_t)hn_cpu_l2_bytes(facts);
  if (p->blocks_first) p->unit_blocks = blocks;
  const int64_t most_pixels = hn_ceil_div(pixels, 2 * TILE);
  int64_t pixel_units = hn_cpu_lesser(most_pixels, hn_ceil_div(wanted, planes));
  if (is_wide) pixel_units = hn_cpu_lesser(most_pixels, hn_ceil_div(wanted, planes * blocks));
  p->unit_pixels = hn_ceil_div(hn_ceil_div(pixels, hn_cpu_greater(1, pixel_units)), TILE) * TILE;
  const int64_t block_units = hn_ceil_div(wanted, planes * hn_product_bf16_pixel_units(p));
  p->unit_blocks = hn_cpu_greater(1, hn_cpu_lesser(p->unit_blocks, hn_ceil_div(blocks, block_units)));
}

size_t hn_cpu_bf16_cut(hn_cpu_bf16 *b, const hone_facts *facts) {
  hn_product_bf16 *p = &b->product;
  const hn_gather_bf16 *g = &b->gather;
  choose_units(p, facts);
  b->units = hn_product_bf16_units(p);
  const double flops = 2.0 * (double)(p->images * p->groups) * (double)hn_product_bf16_pixels(p) *
                       (double)(hn_product_bf16_blocks(p) * TILE) * (double)(p->taps * p->depth_blocks) * TILE;
  b->grain = hn_cpu_grain(b->units, flops / b->kernel->flops_per_ns);
  if (!b->gathers) return 0;
  const double elements = (double)g->images * (double)hn_gather_bf16_blocks(g) *
                          (double)(g->phases_height * g->phases_width) * (double)g->rows * (double)g->row_pixels * TILE;
  b->gather_units = hn_gather_bf16_units(g);
  b->gather_grain = hn_cpu_grain(b->gather_units, elements * 6 * HN_CPU_NS_PER_BYTE);
  return elements > size_limit ? 0 : ((size_t)elements + TILE * TILE) * sizeof(uint16_t); /* may_read_behind */
}

double hn_cpu_bf16_efficiency(const hn_cpu_bf16 *b) {
  const hn_product_bf16 *p = &b->product;
  const double rows = (double)(p->out_height * p->out_width) / (double)hn_product_bf16_pixels(p);
  return b->kernel->efficiency * rows * hn_cpu_filled(hn_product_bf16_pixels(p), TILE / 2) *
         hn_cpu_filled(p->out_channels, TILE / 2);
}

static void product_body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const hn_cpu_bf16 *b = arg;
  b->kernel->run(&b->product, begin, end);
}

static void gather_body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const hn_cpu_bf16 *b = arg;
  b->kernel->gather(&b->gather, begin, end);
}

void hn_cpu_bf16_run(const hn_cpu_bf16 *planned, const int64_t *tap_at, hone_stream *stream,
                     const hone_launch *launch) {
  hn_cpu_bf16 b = *planned;
  hn_pool *pool = hn_stream_pool(stream);
  const float *floats = launch->packed;
  b.product.x = launch->in[0].data;
  b.product.tap_at = tap_at;
  if (b.gathers) {
    b.gather.x = launch->in[0].data;
    b.gather.y = launch->scratch;
    hn_pool_run(pool, b.gather_units, b.gather_grain, gather_body, &b);
    b.product.x = launch->scratch;
  }
  b.product.w = launch->packed;
  b.product.y = launch->out[0].data;
  b.product.residual = b.residual >= 0 ? launch->in[b.residual].data : NULL;
  b.product.epilogue.bias = b.bias_at >= 0 ? floats + b.bias_at : NULL;
  b.product.epilogue.slope = b.slopes_at >= 0 ? floats + b.slopes_at : NULL;
  hn_pool_run(pool, b.units, b.grain, product_body, &b);
}
