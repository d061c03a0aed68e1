/* SPDX-License-Identifier: Apache-2.0 */
/* conv_sparse.c - 1x1 convolution in f32 by weights that are two of four (`hone prune --sparsity 2:4`), on blocks of 16
 * channels. Its row is one among the dense ones: it is taken where it was faster. Packed are the weights with their
 * places, then the bias, then the slopes of the activation. */
#include "backend/cpu/conv/conv_common.h"

#ifndef HONE_NO_AVX /* no other instruction set picks by lane */
enum { BLOCK = 16, MOST = 4 };
static const double flops_per_ns = 200;

typedef struct state {
  hn_conv_f32 conv; /* without pointers */
  hn_cpu_conv_layout packed;
  int64_t units, grain;
} state;

static bool is_pointwise(const hn_conv_f32 *c) {
  return c->kernel_height * c->kernel_width == 1 && c->stride_height * c->stride_width == 1 &&
         c->out_height == c->in_height && c->out_width == c->in_width && c->pad_top + c->pad_left == 0;
}

/* The weights are looked at wherever they are there: what packed them has seen them. */
static const char *accept(const hone_query *query, hn_conv_f32 *c) {
  HN_TRY_REASON(hn_cpu_conv_read(query, c));
  if (query->in[0].type.format != HONE_NCHW16C || query->out[0].type.format != HONE_NCHW16C)
    return "it is not in blocks of 16 channels";
  HN_TRY_REASON(hn_cpu_conv_constants(query));
  if (!is_pointwise(c)) return "it is not 1x1 with stride 1 and no pads";
  if (c->groups != 1) return "it has groups";
  const hone_tensor *w = query->in[1].constant;
  if (c->in_channels % 4 || (w && !hn_conv_f32_is_sparse(w->data, c->out_channels, c->in_channels)))
    return "its weights are not two of four";
  return NULL;
}

static hn_cpu_conv_layout lay_out(const hone_query *query, const hn_conv_f32 *c) {
  return hn_cpu_conv_lay_out(query, c, BLOCK,
                             hn_ceil_div(c->out_channels, BLOCK) * hn_conv_f32_sparse_block_floats(c->in_channels));
}

static hone_status pack(const hone_query *query, void *to) {
  hn_conv_f32 c;
  if (hn_cpu_conv_read(query, &c)) return HONE_INTERNAL;
  hn_conv_f32_sparse_pack_c(query->in[1].constant->data, c.out_channels, c.in_channels, to);
  const hn_cpu_conv_layout at = lay_out(query, &c);
  hn_cpu_conv_pack_epilogue(query, &at, &c, BLOCK, to);
  return HONE_OK;
}

/* The first guess leads. */
static int variants(const hone_query *query, hone_params *out, int room) {
  hn_conv_f32 c;
  int count = 0;
  if (hn_cpu_conv_read(query, &c)) return 0;
  hn_conv_f32_choose(&c, BLOCK, MOST, 1, HN_CPU_DEFAULT_L2_BYTES, 1);
  for (int at = 0; at <= MOST && count < room; ++at) {
    const int oc_blocks = at == 0 ? c.oc_blocks : at;
    if (at > 0 && (at == c.oc_blocks || at > hn_ceil_div(c.out_channels, BLOCK) || at == 1)) continue;
    out[count++] = (hone_params){.count = 1, .items = {{"oc_blocks", oc_blocks}}};
  }
  return count;
}

static const char *plan(const hone_query *query, void *state_memory, hone_needs *needs) {
  hn_conv_f32 c;
  HN_TRY_REASON(accept(query, &c));
  const hn_cpu_conv_layout packed = lay_out(query, &c);
  needs->state = sizeof(state);
  needs->packed = (size_t)packed.end * sizeof(float);
  needs->efficiency = 1.1 * hn_cpu_filled(c.out_channels, BLOCK) * hn_cpu_filled(c.in_channels, BLOCK);
  if (!state_memory) return NULL;
  state *s = state_memory;
  *s = (state){.conv = c, .packed = packed};
  hn_conv_f32_choose(&s->conv, BLOCK, MOST, 1, hn_cpu_l2_bytes(query->facts), query->facts->threads);
  s->conv.oc_blocks = (int32_t)hn_cpu_conv_param(query, 0, MOST, s->conv.oc_blocks);
  s->units = hn_conv_f32_units(&s->conv, BLOCK, 1);
  s->grain = hn_cpu_grain(s->units, hn_cpu_conv_flops(&c) / flops_per_ns);
  return NULL;
}

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  hn_conv_f32_sparse_nchw16c_avx512(arg, begin, end);
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = state_memory;
  hn_conv_f32 conv = s->conv;
  hn_cpu_conv_bind(&s->packed, launch, &conv);
  hn_pool_run(hn_stream_pool(stream), s->units, s->grain, body, &conv);
  return HONE_OK;
}
#endif

const hone_tactic hn_tactics_cpu_conv_sparse[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw16c.1x1_sparse.avx512", .version = 1, .op = "conv",
     .isa = HONE_ISA_AVX512, .algorithm = "two of four weights", .fewer = 2,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_TWO_OF_FOUR, .pack_mask = HN_CPU_CONV_PACKED,
     .storages = {{HONE_NCHW16C, HONE_NCHW16C}}, .plan = plan, .variants = variants, .pack = pack, .launch = launch},
#endif
    {0}};
