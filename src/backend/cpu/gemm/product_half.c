/* SPDX-License-Identifier: Apache-2.0 */
/* product_half.c - products of halves: cutting them into units, and running them. Activations may lie in
 * f32: then they are rounded on the way in, in the same launch. */
#include "backend/cpu/gemm/product_half.h"

enum { TILE = HN_PRODUCT_HALF_TILE };
static const double size_limit = 1e12; /* elements of any operand */

/* Terms in f16: few enough that the error stays below half of what f16 is allowed (docs/NUMERICS.md). */
static const int f16_terms[] = {32, 16, 8};

const hn_cpu_half_kernel hn_cpu_bf16_c = {
    HONE_BF16, hn_product_bf16_c, hn_gather_bf16_c, hn_product_bf16_pack_c, TILE / 2, 0.1, 0.5, false};
const hn_cpu_half_kernel hn_cpu_f16_c = {
    HONE_F16, hn_product_f16_c, hn_gather_f16_c, hn_product_f16_pack_c, TILE / 4, 0.1, 0.5, false};
#ifndef HONE_NO_AVX
const hn_cpu_half_kernel hn_cpu_bf16_avx512 = {
    HONE_BF16, hn_product_bf16_avx512_bf16, hn_gather_bf16_avx512_bf16, hn_product_bf16_pack_c, TILE / 4, 0.95, 200,
    true};
const hn_cpu_half_kernel hn_cpu_bf16_amx = {
    HONE_BF16, hn_product_bf16_amx_bf16, hn_gather_bf16_amx_bf16, hn_product_bf16_pack_c, TILE / 2, 0.4, 800, false};
const hn_cpu_half_kernel hn_cpu_f16_avx512 = {
    HONE_F16, hn_product_f16_avx512_fp16, hn_gather_f16_avx512_fp16, hn_product_f16_pack_c, TILE / 4, 0.7, 250, false};
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

bool hn_cpu_half_output(const hn_cpu_half_kernel *kernel, const hone_type *y, hn_product_half *p) {
  p->y_is_half = y->dtype == kernel->held;
  p->y_is_padded = y->format != HONE_PLAIN;
  p->y_lanes = y->format == HONE_PLAIN ? TILE : hn_format_block(y->format);
  return p->y_is_half ? p->y_lanes == TILE : y->dtype == HONE_F32 && (p->y_lanes <= 16 || !p->y_is_padded);
}

int hn_cpu_half_variants(const hn_cpu_half_kernel *kernel, hone_params *out, int room) {
  const int count = kernel->held == HONE_F16 ? (int)HN_COUNT(f16_terms) : 1;
  for (int i = 0; i < count && i < room; ++i)
    out[i] =
        kernel->held == HONE_F16 ? (hone_params){.count = 1, .items = {{"terms", f16_terms[i]}}} : (hone_params){0};
  return count < room ? count : room;
}

int32_t hn_cpu_half_terms(const hone_params *params) {
  const int64_t asked = params && params->count > 0 ? params->items[0].value : 0;
  for (size_t i = 0; i < HN_COUNT(f16_terms); ++i)
    if (f16_terms[i] == asked) return f16_terms[i];
  return f16_terms[0];
}

static int64_t weight_bytes(const hn_product_half *p) {
  return p->taps * p->depth_blocks * HN_PRODUCT_HALF_WEIGHTS * (int64_t)sizeof(uint16_t);
}

/* One thread: as many blocks as the second cache holds, for all pixels. Several: weights that fill caches are shared
 * out, else pixels are. */
static void choose_units(hn_product_half *p, const hone_facts *facts) {
  const int64_t threads = hn_cpu_threads(facts), wanted = threads == 1 ? 1 : 4 * threads;
  const int64_t pixels = hn_product_half_pixels(p), blocks = hn_product_half_blocks(p);
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
  const int64_t block_units = hn_ceil_div(wanted, planes * hn_product_half_pixel_units(p));
  p->unit_blocks = hn_cpu_greater(1, hn_cpu_lesser(p->unit_blocks, hn_ceil_div(blocks, block_units)));
}

/* An image that the second cache does not hold is written, read, and written back; a band stays there until it is
 * multiplied. It and its product are one unit of work. Smaller images gain nothing and gather the rows between bands
 * twice; weights that the second cache does not hold would come again with each band. */
static void choose_bands(hn_cpu_half *b, const hone_facts *facts) {
  enum { LEAST_ROWS = 4 };
  hn_product_half *p = &b->product;
  hn_gather_half *g = &b->gather;
  const int64_t halo = g->rows - p->out_height, threads = hn_cpu_threads(facts);
  const int64_t l2 = (int64_t)hn_cpu_l2_bytes(facts);
  const int64_t line =
      hn_gather_half_blocks(g) * g->phases_height * g->phases_width * g->row_pixels * TILE * (int64_t)sizeof(uint16_t);
  int64_t rows = hn_cpu_lesser(l2 / 4 / line - halo, p->out_height);
  if (threads > 1) rows = hn_cpu_lesser(rows, hn_ceil_div(p->images * p->out_height, 4 * threads));
  if (!b->gathers || rows < LEAST_ROWS || line * g->rows < l2 || rows == p->out_height || rows < halo ||
      weight_bytes(p) * hn_product_half_blocks(p) > l2 / 2)
    return;
  b->bands = hn_ceil_div(p->out_height, rows);
  b->band_rows = rows, b->images = p->images, b->out_height = p->out_height;
  g->rows = rows + halo;
  g->images = p->images = 1;
  p->out_height = rows;
  p->x_block = g->phases_height * g->phases_width * g->rows * g->row_pixels * TILE;
  p->x_group = p->depth_blocks * p->x_block;
  p->unit_pixels = hn_ceil_div(hn_product_half_pixels(p), TILE) * TILE;
  p->unit_blocks = hn_product_half_blocks(p);
  b->band_elements = hn_gather_half_blocks(g) * p->x_block + TILE * TILE; /* may_read_behind */
}

size_t hn_cpu_half_cut(hn_cpu_half *b, const hone_facts *facts, const hone_params *params) {
  hn_product_half *p = &b->product;
  const hn_gather_half *g = &b->gather;
  p->f16_terms = hn_cpu_half_terms(params);
  p->skips = b->kernel->skips && p->row_pixels != p->out_width;
  choose_units(p, facts);
  choose_bands(b, facts);
  if (b->bands) return (size_t)(hn_cpu_threads(facts) * b->band_elements) * sizeof(uint16_t);
  b->units = hn_product_half_units(p);
  const double flops = 2.0 * (double)(p->images * p->groups) * (double)hn_product_half_pixels(p) *
                       (double)(hn_product_half_blocks(p) * TILE) * (double)(p->taps * p->depth_blocks) * TILE;
  b->grain = hn_cpu_grain(b->units, flops / b->kernel->flops_per_ns);
  if (!b->gathers) return 0;
  const double elements = (double)g->images * (double)hn_gather_half_blocks(g) *
                          (double)(g->phases_height * g->phases_width) * (double)g->rows * (double)g->row_pixels * TILE;
  b->gather_units = hn_gather_half_units(g);
  b->gather_grain = hn_cpu_grain(b->gather_units, elements * 6 * HN_CPU_NS_PER_BYTE);
  return elements > size_limit ? 0 : ((size_t)elements + TILE * TILE) * sizeof(uint16_t); /* may_read_behind */
}

double hn_cpu_half_efficiency(const hn_cpu_half *b) {
  const hn_product_half *p = &b->product;
  const double rows = (double)(p->out_height * p->out_width) / (double)hn_product_half_pixels(p);
  const bool is_f16 = b->kernel->held == HONE_F16;
  /* Of an instruction's time, what adding a run of f16 to f32 takes: some five of them. */
  const double adding = is_f16 ? (double)p->f16_terms / (p->f16_terms + 5) : 1;
  return b->kernel->efficiency * rows * adding * hn_cpu_filled(hn_product_half_pixels(p), b->kernel->step) *
         hn_cpu_filled(p->out_channels, is_f16 ? TILE : TILE / 2);
}

static void product_body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const hn_cpu_half *b = arg;
  b->kernel->run(&b->product, begin, end);
}

static void gather_body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const hn_cpu_half *b = arg;
  b->kernel->gather(&b->gather, begin, end);
}

static void band_body(void *arg, int worker, int64_t begin, int64_t end) {
  const hn_cpu_half *b = arg;
  for (int64_t at = begin; at < end; ++at) {
    hn_product_half p = b->product;
    hn_gather_half g = b->gather;
    const int64_t image = at / b->bands, first = at % b->bands * b->band_rows;
    const int64_t pixels = g.in_height * g.in_width, lanes = g.lanes ? g.lanes : 1;
    const int64_t x_at = image * hn_ceil_div(g.channels, lanes) * lanes * pixels * (g.x_is_half ? 2 : 4);
    const int64_t y_at = (image * p.y_image + first * p.out_width * p.y_pixel) * (p.y_is_half ? 2 : 4);
    g.x = (const char *)g.x + x_at;
    g.y += worker * b->band_elements;
    g.pad_top -= first * g.stride_height;
    p.x = g.y;
    p.y = (char *)p.y + y_at;
    if (p.residual) p.residual = (const char *)p.residual + y_at;
    p.out_height = hn_cpu_lesser(p.out_height, b->out_height - first);
    b->kernel->gather(&g, 0, hn_gather_half_units(&g));
    b->kernel->run(&p, 0, hn_product_half_units(&p));
  }
}

void hn_cpu_half_run(const hn_cpu_half *planned, const int64_t *tap_at, hone_stream *stream,
                     const hone_launch *launch) {
  hn_cpu_half b = *planned;
  hn_pool *pool = hn_stream_pool(stream);
  const float *floats = launch->packed;
  b.product.x = launch->in[0].data;
  b.product.tap_at = tap_at;
  if (b.gathers) {
    b.gather.x = launch->in[0].data;
    b.gather.y = launch->scratch;
    if (b.scale_at) b.gather.scale = floats + b.scale_at, b.gather.shift = floats + b.shift_at;
    if (!b.bands) hn_pool_run(pool, b.gather_units, b.gather_grain, gather_body, &b);
    b.product.x = launch->scratch;
  }
  b.product.w = launch->packed;
  b.product.y = launch->out[0].data;
  b.product.residual = b.residual >= 0 ? launch->in[b.residual].data : NULL;
  b.product.epilogue.bias = b.bias_at >= 0 ? floats + b.bias_at : NULL;
  b.product.epilogue.slope = b.slopes_at >= 0 ? floats + b.slopes_at : NULL;
  if (b.bands)
    hn_pool_run(pool, b.images * b.bands, 1, band_body, &b);
  else
    hn_pool_run(pool, b.units, b.grain, product_body, &b);
}
