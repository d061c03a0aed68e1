/* SPDX-License-Identifier: Apache-2.0 */
/* matmul_nbits_dots.c - products with constant weights of 2, 4 or 8 bits by products of bytes: x becomes digits of a
 * byte first, once for all channels. */
#include "backend/cpu/gemm/matmul_nbits.h"
#include <string.h>

#ifndef HONE_NO_AVX /* no other instruction set has such products; the other rows are in matmul_nbits.c */
enum { PANEL = HN_NBITS_PANEL, LINE = 64 };
/* Bytes that the loop asks for ahead: on Emerald Rapids products wait for memory a quarter less with 4 KiB, on Zen 4
 * they take twice as long with any, so that each machine measures. */
enum { AHEAD = 4 << 10 };

typedef struct row_kernel {
  hn_gemm_nbits_dots_fn *run;
  hn_gemm_nbits_digits_fn *digits;
  double efficiency, flops_per_ns; /* of one thread */
} row_kernel;

typedef struct state {
  const row_kernel *row;
  hn_gemm_nbits_dots gemm; /* without pointers */
  size_t bias_at, zero_at; /* bytes, in what is packed: the bias, if there is one, and behind it the one zero */
  size_t sums_at, digits_at, own_bytes; /* in scratch; of one worker's digits, 0 where all share them */
  bool has_bias;
  int64_t grain, digits_grain;
} state;

/* One zero point for all, which needs no room beside the weights. */
static bool has_one_zero(const hone_query *query) {
  return !hn_cpu_given(query, HN_NBITS_ZEROS) || hn_elems(&query->in[HN_NBITS_ZEROS].type.shape) == 1;
}

static const char *read(const hone_query *query, hn_gemm_nbits_dots *out) {
  hn_gemm_nbits g;
  HN_TRY_REASON(hn_nbits_read(query, &g));
  const int64_t most_block = INT64_C(1) << 15; /* sums of digits by bytes stay below 2^30 */
  if (g.block > most_block) return "its blocks are too long for sums of 32 bits";
  *out = (hn_gemm_nbits_dots){.m = g.m,
                              .n = g.n,
                              .k = g.k,
                              .block = g.block,
                              .blocks = g.blocks,
                              .bits = g.bits,
                              .packs_zeros = !has_one_zero(query)};
  return NULL;
}

static int64_t pairs_of(const hn_gemm_nbits_dots *g) {
  return (hn_gemm_nbits_dots_panels(g) + HN_NBITS_BESIDE - 1) / HN_NBITS_BESIDE;
}

static size_t lines(int64_t bytes) { return (size_t)((bytes + LINE - 1) / LINE * LINE); }

static int64_t zero_at(const hone_query *query, int64_t at) {
  const hone_dtype dtype = query->in[HN_NBITS_B].type.dtype;
  const hone_tensor *zero = hn_cpu_given(query, HN_NBITS_ZEROS) ? query->in[HN_NBITS_ZEROS].constant : NULL;
  return hn_nbits_offset(dtype) + (zero ? hn_int(zero, at) : 0);
}

static int variants(const hone_query *query, hone_params *out, int room) {
  (void)query;
  int count = 0;
  for (int64_t ahead = 0; ahead <= AHEAD && count < room; ahead += AHEAD)
    out[count++] = (hone_params){.count = 1, .items = {{"ahead", ahead}}};
  return count;
}

/* Of a file's parameters only those of variants() are taken; what else stands there asks for nothing. */
static int32_t ahead_of(const hone_params *params) {
  return params && params->count > 0 && params->items[0].value == AHEAD ? AHEAD : 0;
}

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  state asked, *s = memory ? memory : &asked;
  hn_gemm_nbits_dots g;
  HN_TRY_REASON(read(query, &g));
  const row_kernel *row = query->tactic->kernel;
  const int64_t panels = hn_gemm_nbits_dots_panels(&g), all = g.m * g.blocks;
  *s = (state){.row = row, .gemm = g};
  s->gemm.ahead = ahead_of(query->params);
  const int64_t packed = panels * g.blocks * hn_gemm_nbits_block_bytes(&g);
  s->has_bias = hn_cpu_given(query, HN_NBITS_BIAS);
  s->bias_at = (size_t)packed;
  s->zero_at = s->bias_at + (s->has_bias ? (size_t)(panels * PANEL) * sizeof(float) : 0);
  s->sums_at = lines(all * (int64_t)sizeof(float));
  s->digits_at = s->sums_at + lines(all * HN_NBITS_DIGITS * (int64_t)sizeof(int32_t));
  s->grain = hn_cpu_grain(pairs_of(&g), 2.0 * (double)g.m * (double)(panels * PANEL) * (double)g.k / row->flops_per_ns);
  s->digits_grain = hn_cpu_grain(g.m, (double)g.m * (double)g.k);
  needs->state = sizeof *s;
  needs->scratch = s->digits_at + lines(all * HN_NBITS_DIGITS * g.block);
  const int64_t threads = hn_cpu_threads(query->facts);
  if (g.m == 1 && threads > 1) { /* a thread reads its weights from end to end: what stops that is slower */
    const int64_t each = hn_ceil_div(pairs_of(&g), threads);
    if (s->grain < each) s->grain = each;
    s->own_bytes = LINE + needs->scratch;
    needs->scratch = (size_t)threads * s->own_bytes;
  }
  needs->packed = s->zero_at + sizeof(int32_t);
  needs->efficiency = row->efficiency * hn_cpu_filled(g.n, PANEL);
  return NULL;
}

/* Four bytes of one channel: their depths from `first` on, and of 4 bits those four places on in the upper halves. */
static uint32_t word_at(const hn_gemm_nbits_dots *g, const hone_tensor *b, int64_t channel, int64_t first,
                        int64_t end) {
  const int64_t row = b->type.shape.dim[1], offset = hn_nbits_offset(b->type.dtype);
  uint32_t word = 0;
  for (int i = 0; i < 32 / g->bits; ++i) {
    const int64_t depth = first + i;
    if (depth >= end || channel >= g->n) break;
    const uint32_t q = (uint32_t)(hn_int(b, channel * row + depth) + offset);
    word |= q << (i % 4 * 8 + i / 4 * 4);
  }
  return word;
}

/* A block of the channels [begin, end): of a pair of panels, or of the last. */
static char *pack_block(const hone_query *query, const hn_gemm_nbits_dots *g, int64_t begin, int64_t end, int64_t block,
                        char *at) {
  const hone_tensor *b = query->in[HN_NBITS_B].constant, *scales = query->in[HN_NBITS_SCALES].constant;
  const int64_t first = block * g->block, last = hn_cpu_lesser(first + g->block, g->k);
  for (int64_t c = begin; c < end; ++c, at += sizeof(float)) {
    const float scale = c < g->n ? (float)hn_real(scales, c * g->blocks + block) : 0;
    memcpy(at, &scale, sizeof scale);
  }
  for (int64_t c = begin; c < end && g->packs_zeros; ++c, at += sizeof(int32_t)) {
    const int32_t zero = c < g->n ? (int32_t)zero_at(query, c * g->blocks + block) : 0;
    memcpy(at, &zero, sizeof zero);
  }
  for (int64_t depth = first; depth < first + g->block; depth += 32 / g->bits)
    for (int64_t c = begin; c < end; ++c, at += sizeof(uint32_t)) {
      const uint32_t word = word_at(g, b, c, depth, last);
      memcpy(at, &word, sizeof word);
    }
  return at;
}

static hone_status pack(const hone_query *query, void *to) {
  hn_gemm_nbits_dots g;
  if (read(query, &g)) return HONE_INTERNAL;
  const int64_t panels = hn_gemm_nbits_dots_panels(&g);
  char *at = to;
  for (int64_t panel = 0; panel < panels; panel += HN_NBITS_BESIDE) {
    const int64_t end = hn_cpu_lesser(panel + HN_NBITS_BESIDE, panels);
    for (int64_t block = 0; block < g.blocks; ++block)
      at = pack_block(query, &g, panel * PANEL, end * PANEL, block, at);
  }
  for (int64_t i = 0; hn_cpu_given(query, HN_NBITS_BIAS) && i < panels * PANEL; ++i, at += sizeof(float))
    *(float *)(void *)at = i < g.n ? (float)hn_real(query->in[HN_NBITS_BIAS].constant, i) : 0;
  *(int32_t *)(void *)at = g.packs_zeros ? 0 : (int32_t)zero_at(query, 0);
  return HONE_OK;
}

typedef struct job {
  const state *s;
  hn_gemm_nbits_dots gemm;
  char *scratch;
} job;

static void place_digits(const state *s, hn_gemm_nbits_dots *g, char *scratch) {
  g->units = (float *)(void *)scratch;
  g->digit_sums = (int32_t *)(void *)(scratch + s->sums_at);
  g->digits = (int8_t *)(scratch + s->digits_at);
}

static void digits_body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  j->s->row->digits(&j->gemm, begin, end);
}

static void product_body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  j->s->row->run(&j->gemm, begin, end);
}

/* One row: each worker makes its digits for itself, while its first weights come from memory. To wait for another's
 * would leave memory idle for as long. */
static void row_body(void *arg, int worker, int64_t begin, int64_t end) {
  const job *j = arg;
  hn_gemm_nbits_dots g = j->gemm;
  char *own = j->scratch + (size_t)worker * j->s->own_bytes;
  place_digits(j->s, &g, own + LINE);
  if (!*own) {
    const int64_t pair_bytes = HN_NBITS_BESIDE * g.blocks * hn_gemm_nbits_block_bytes(&g);
    const int64_t beside = hn_gemm_nbits_beside(&g, begin, end);
    g.fetched[0] = g.packed + begin * pair_bytes;
    g.fetched[1] = g.fetched[0] + beside * pair_bytes;
    g.fetched_lines = beside * pair_bytes / LINE;
    j->s->row->digits(&g, 0, 1);
    *own = 1;
  }
  j->s->row->run(&g, begin, end);
}

static hone_status launch(void *memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = memory;
  job j = {.s = s, .gemm = s->gemm, .scratch = launch->scratch};
  hn_gemm_nbits_dots *g = &j.gemm;
  hn_pool *pool = hn_stream_pool(stream);
  g->x = launch->in[HN_NBITS_X].data;
  g->y = launch->out[0].data;
  g->packed = launch->packed;
  g->bias = s->has_bias ? (const float *)(const void *)(g->packed + s->bias_at) : NULL;
  g->zero = *(const int32_t *)(const void *)(g->packed + s->zero_at);
  if (s->own_bytes) {
    for (int i = 0; i < hn_pool_threads(pool); ++i) j.scratch[(size_t)i * s->own_bytes] = 0;
    hn_pool_fetch(pool, launch->next_packed, launch->next_bytes);
    hn_pool_run(pool, pairs_of(g), s->grain, row_body, &j);
    return HONE_OK;
  }
  place_digits(s, g, j.scratch);
  hn_pool_run(pool, g->m, s->digits_grain, digits_body, &j);
  hn_pool_run(pool, pairs_of(g), s->grain, product_body, &j);
  return HONE_OK;
}

static const row_kernel vnni = {hn_gemm_nbits_dots_avx512_vnni, hn_gemm_nbits_digits_avx512_vnni, 0.6, 120};
#endif

const hone_tactic hn_tactics_cpu_matmul_nbits_dots[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.matmul_nbits.f32.avx512_vnni", .version = 3, .op = "matmul_nbits",
     .isa = HONE_ISA_AVX512_VNNI, .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_STREAMS, .pack_mask = 2 | 4 | 8 | 16,
     .plan = plan, .variants = variants, .pack = pack, .launch = launch, .kernel = &vnni},
#endif
    {0}};
