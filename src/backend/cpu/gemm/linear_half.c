/* SPDX-License-Identifier: Apache-2.0 */
/* linear_half.c - a matrix of weights applied to the last axis, in halves with f32 sums. Packed are the weights, then
 * the bias, then the slopes of the activation, in floats. */
#include "backend/cpu/gemm/product_half.h"

enum { TILE = HN_PRODUCT_HALF_TILE };
static const double size_limit = 1e12; /* elements */

typedef struct state {
  hn_cpu_half half;
  int64_t tap_at[1];
} state;

typedef struct layer {
  int64_t m, n, k, w_out, w_in; /* strides of w in floats */
  int64_t weights;              /* packed, in floats */
  bool has_bias, has_slopes;
} layer;

static const char *read(const hone_query *query, layer *out, hn_epilogue_f32 *epilogue) {
  const hn_cpu_half_kernel *kernel = query->tactic->kernel;
  hone_fact in[5], y_fact[1];
  HN_TRY_REASON(hn_cpu_check(query, 2, 5, 1));
  const hone_query q = hn_cpu_as_f32(query, kernel->held, in, y_fact);
  if (!hn_cpu_is(&q.in[0], HONE_F32, HONE_PLAIN) || !hn_cpu_is(&query->in[1], HONE_F32, HONE_PLAIN) ||
      !hn_cpu_is(&q.out[0], HONE_F32, HONE_PLAIN))
    return "it is neither plain f32 nor held as the row holds";
  const hone_shape *x = &q.in[0].type.shape, *w = &q.in[1].type.shape, *y = &q.out[0].type.shape;
  if (x->rank < 1 || w->rank != 2 || y->rank != x->rank) return "the ranks do not fit together";
  const bool transposed = hn_attr_int(q.attrs, "transpose_w") != 0;
  *out = (layer){.m = 1, .k = w->dim[transposed ? 1 : 0], .n = w->dim[transposed ? 0 : 1]};
  if (x->dim[x->rank - 1] != out->k || y->dim[y->rank - 1] != out->n) return "the extents do not fit together";
  for (int i = 0; i < x->rank - 1; ++i) {
    if (x->dim[i] != y->dim[i]) return "the extents do not fit together";
    out->m *= x->dim[i];
  }
  if (out->m < 1 || out->n < 1 || out->k < 1) return "an extent is 0";
  const double m = (double)out->m + TILE, n = (double)out->n + TILE, k = (double)out->k + TILE;
  if (m * n > size_limit || m * k > size_limit || n * k > size_limit) return "the matrices are too large";
  HN_TRY_REASON(hn_cpu_epilogue_check(&q, 2, 3, out->n));
  if (hn_cpu_given(query, 3) && query->in[3].type.dtype != query->out[0].type.dtype)
    return "the residual has another type than the output";
  if (!(query->constant_mask & 2)) return "the weights are not constant";
  if (hn_cpu_given(query, 2) && !(query->constant_mask & 4)) return "the bias is not constant";
  if (hn_cpu_given(query, 4) && !(query->constant_mask & 16)) return "the slopes are not constant";
  hn_cpu_activation(q.attrs, epilogue);
  out->w_out = transposed ? out->k : 1;
  out->w_in = transposed ? 1 : out->n;
  out->weights = hn_product_half_packed(1, out->n, out->k, 1) / 2;
  out->has_bias = hn_cpu_given(query, 2);
  out->has_slopes = hn_cpu_has_slope(epilogue);
  return NULL;
}

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  layer l;
  hn_epilogue_f32 epilogue = {0};
  HN_TRY_REASON(read(query, &l, &epilogue));
  state asked, *s = memory ? memory : &asked;
  const hone_type *x = &query->in[0].type;
  const int64_t channels = hn_ceil_div(l.n, TILE) * TILE;
  *s = (state){.half = {.kernel = query->tactic->kernel,
                        .bias_at = l.has_bias ? l.weights : -1,
                        .slopes_at = l.has_slopes ? l.weights + (l.has_bias ? channels : 0) : -1,
                        .residual = hn_cpu_given(query, 3) ? 3 : -1}};
  hn_cpu_half *b = &s->half;
  hn_product_half *p = &b->product;
  b->gathers =
      true; /* rows of a matrix meet in a few sets of the first cache; rows of tiles lie one behind the other */
  *p = (hn_product_half){.images = 1,
                         .groups = 1,
                         .taps = 1,
                         .depth_blocks = hn_ceil_div(l.k, TILE),
                         .out_channels = l.n,
                         .row_pixels = l.m,
                         .out_width = l.m,
                         .out_height = 1,
                         .last_pairs = hn_product_half_last_pairs(l.k),
                         .x_block = l.m * TILE,
                         .y_pixel = l.n,
                         .y_block = TILE,
                         .may_read_behind = true,
                         .epilogue = epilogue};
  if (!hn_cpu_half_output(b->kernel, &query->out[0].type, p)) return "the output has another format";
  b->gather = (hn_gather_half){.images = 1,
                               .channels = l.k,
                               .in_height = 1,
                               .in_width = l.m,
                               .rows = 1,
                               .row_pixels = l.m,
                               .phases_height = 1,
                               .phases_width = 1,
                               .stride_height = 1,
                               .stride_width = 1,
                               .x_is_half = x->dtype == b->kernel->held};
  needs->scratch = hn_cpu_half_cut(b, query->facts, query->params);
  needs->state = sizeof *s;
  needs->packed = (size_t)(l.weights + (l.has_bias ? channels : 0) + (l.has_slopes ? channels : 0)) * sizeof(float);
  needs->efficiency = hn_cpu_half_efficiency(b);
  return NULL;
}

static hone_status pack(const hone_query *query, void *to) {
  layer l;
  hn_epilogue_f32 epilogue = {0};
  if (read(query, &l, &epilogue)) return HONE_INTERNAL;
  const hn_product_half_weights weights = {.w = query->in[1].constant->data,
                                           .groups = 1,
                                           .outs = l.n,
                                           .depth = l.k,
                                           .taps = 1,
                                           .out = l.w_out,
                                           .in = l.w_in};
  const hn_cpu_half_kernel *kernel = query->tactic->kernel;
  kernel->pack(&weights, to);
  float *floats = (float *)to + l.weights;
  for (int port = 2; port <= 4; port += 2) {
    if (port == 2 ? !l.has_bias : !l.has_slopes) continue;
    const float *from = query->in[port].constant->data;
    for (int64_t i = 0; i < hn_ceil_div(l.n, TILE) * TILE; ++i) *floats++ = i < l.n ? from[i] : 0;
  }
  return HONE_OK;
}

static int variants(const hone_query *query, hone_params *out, int room) {
  return hn_cpu_half_variants(query->tactic->kernel, out, room);
}

static hone_status launch(void *memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = memory;
  hn_cpu_half_run(&s->half, s->tap_at, stream, launch);
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_linear_half[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.linear.bf16.amx_bf16", .version = 2, .op = "linear", .isa = HONE_ISA_AMX_BF16,
     .flags = HONE_TACTIC_REPEATABLE, .pack_mask = 2 | 4 | 16, .compute = HONE_BF16,
     .storages = {{HONE_PLAIN, HONE_PLAIN},
                  {HONE_BF16_PLAIN, HONE_BF16_PLAIN},
                  {HONE_PLAIN, HONE_BF16_PLAIN},
                  {HONE_BF16_PLAIN, HONE_PLAIN}},
     .plan = plan, .pack = pack, .launch = launch, .kernel = &hn_cpu_bf16_amx},
    {sizeof(hone_tactic), .name = "cpu.linear.bf16.avx512_bf16", .version = 2, .op = "linear",
     .isa = HONE_ISA_AVX512_BF16, .flags = HONE_TACTIC_REPEATABLE, .pack_mask = 2 | 4 | 16, .compute = HONE_BF16,
     .storages = {{HONE_PLAIN, HONE_PLAIN},
                  {HONE_BF16_PLAIN, HONE_BF16_PLAIN},
                  {HONE_PLAIN, HONE_BF16_PLAIN},
                  {HONE_BF16_PLAIN, HONE_PLAIN}},
     .plan = plan, .pack = pack, .launch = launch, .kernel = &hn_cpu_bf16_avx512},
    {sizeof(hone_tactic), .name = "cpu.linear.f16.avx512_fp16", .version = 2, .op = "linear",
     .isa = HONE_ISA_AVX512_FP16, .flags = HONE_TACTIC_REPEATABLE, .pack_mask = 2 | 4 | 16, .compute = HONE_F16,
     .storages = {{HONE_PLAIN, HONE_PLAIN},
                  {HONE_F16_PLAIN, HONE_F16_PLAIN},
                  {HONE_PLAIN, HONE_F16_PLAIN},
                  {HONE_F16_PLAIN, HONE_PLAIN}},
     .plan = plan, .variants = variants, .pack = pack, .launch = launch, .kernel = &hn_cpu_f16_avx512},
#endif
    {sizeof(hone_tactic), .name = "cpu.linear.bf16.c", .version = 2, .op = "linear", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .pack_mask = 2 | 4 | 16, .compute = HONE_BF16,
     .storages = {{HONE_PLAIN, HONE_PLAIN},
                  {HONE_BF16_PLAIN, HONE_BF16_PLAIN},
                  {HONE_PLAIN, HONE_BF16_PLAIN},
                  {HONE_BF16_PLAIN, HONE_PLAIN}},
     .plan = plan, .pack = pack, .launch = launch, .kernel = &hn_cpu_bf16_c},
    {sizeof(hone_tactic), .name = "cpu.linear.f16.c", .version = 2, .op = "linear", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .pack_mask = 2 | 4 | 16, .compute = HONE_F16,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_F16_PLAIN, HONE_F16_PLAIN}}, .plan = plan, .variants = variants,
     .pack = pack, .launch = launch, .kernel = &hn_cpu_f16_c},
    {0}};
