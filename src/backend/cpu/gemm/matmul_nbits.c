/* SPDX-License-Identifier: Apache-2.0 */
/* matmul_nbits.c - products with constant weights of 2, 4 or 8 bits, packed with their scales and zeros. */
#include "backend/cpu/gemm/matmul_nbits.h"

enum { PANEL = HN_NBITS_PANEL };
static const double size_limit = 1e12; /* elements */

typedef struct row_kernel {
  hn_gemm_nbits_fn *run;
  hn_gemm_nbits_sums_fn *sums;
  double efficiency, flops_per_ns; /* of one thread */
} row_kernel;

typedef struct state {
  const row_kernel *row;
  hn_gemm_nbits gemm; /* without pointers */
  int64_t channels;   /* padded to panels */
  int64_t grain, sums_grain;
  bool has_bias;
} state;

static int bits_of(hone_dtype dtype) { return hone_dtype_bits(dtype) <= 4 ? 4 : 8; }

static bool is_table(const hone_query *query, int port, int64_t n, int64_t blocks) {
  const hone_type *type = &query->in[port].type;
  if (type->format != HONE_PLAIN || !(query->constant_mask & (1u << port))) return false;
  return type->shape.rank == 2 && type->shape.dim[0] == n && type->shape.dim[1] == blocks;
}

static bool is_one(const hone_query *query, int port) {
  const hone_type *type = &query->in[port].type;
  return type->format == HONE_PLAIN && (query->constant_mask & (1u << port)) && type->shape.rank <= 1 &&
         hn_elems(&type->shape) == 1;
}

static const char *read_extents(const hone_query *query, hn_gemm_nbits *g) {
  const hone_shape *x = &query->in[HN_NBITS_X].type.shape, *b = &query->in[HN_NBITS_B].type.shape,
                   *y = &query->out[0].type.shape;
  if (x->rank < 1 || y->rank != x->rank || b->rank != 2) return "the ranks do not fit together";
  *g = (hn_gemm_nbits){.m = 1, .n = b->dim[0], .k = x->dim[x->rank - 1]};
  g->block = hn_attr_int(query->attrs, "block_size");
  if (y->dim[y->rank - 1] != g->n) return "the extents do not fit together";
  for (int i = 0; i < x->rank - 1; ++i) {
    if (x->dim[i] != y->dim[i]) return "the extents do not fit together";
    g->m *= x->dim[i];
  }
  if (g->m < 1 || g->n < 1 || g->k < 1) return "an extent is 0";
  if (g->block < 8 || g->block % 8 || g->block > INT32_MAX) return "a block is not of 8, 16, 24 or so many weights";
  g->blocks = g->k / g->block + (g->k % g->block != 0);
  if (b->dim[1] < g->k || b->dim[1] > g->blocks * g->block) return "the extents do not fit together";
  const double m = (double)g->m, n = (double)g->n + PANEL, k = (double)(g->blocks * g->block);
  return m * n > size_limit || m * k > size_limit || n * k > size_limit ? "the matrices are too large" : NULL;
}

const char *hn_nbits_read(const hone_query *query, hn_gemm_nbits *g) {
  HN_TRY_REASON(hn_cpu_check(query, 3, 5, 1));
  if (!hn_cpu_is(&query->in[HN_NBITS_X], HONE_F32, HONE_PLAIN) || !hn_cpu_is(&query->out[0], HONE_F32, HONE_PLAIN))
    return "it is not plain f32";
  HN_TRY_REASON(read_extents(query, g));
  if (!(query->constant_mask & (1u << HN_NBITS_B)) || query->in[HN_NBITS_B].type.format != HONE_PLAIN)
    return "the weights are not constant";
  g->bits = bits_of(query->in[HN_NBITS_B].type.dtype);
  g->row_words = g->blocks * g->block / (32 / g->bits);
  if (query->in[HN_NBITS_SCALES].type.dtype != HONE_F32 || !is_table(query, HN_NBITS_SCALES, g->n, g->blocks))
    return "the scales are not constants of f32, one for each block";
  if (hn_cpu_given(query, HN_NBITS_ZEROS) && !is_table(query, HN_NBITS_ZEROS, g->n, g->blocks) &&
      !is_one(query, HN_NBITS_ZEROS))
    return "the zero points are not constants, one for all or for each block";
  if (!hn_cpu_given(query, HN_NBITS_BIAS)) return NULL;
  const hone_type *bias = &query->in[HN_NBITS_BIAS].type;
  return hn_cpu_is(&query->in[HN_NBITS_BIAS], HONE_F32, HONE_PLAIN) && (query->constant_mask & (1u << HN_NBITS_BIAS)) &&
                 bias->shape.rank == 1 && bias->shape.dim[0] == g->n
             ? NULL
             : "the bias is not a constant of f32 for each channel";
}

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  state asked, *s = memory ? memory : &asked;
  hn_gemm_nbits g;
  HN_TRY_REASON(hn_nbits_read(query, &g));
  const row_kernel *row = query->tactic->kernel;
  *s = (state){.row = row, .gemm = g, .has_bias = hn_cpu_given(query, HN_NBITS_BIAS)};
  const int64_t panels = hn_gemm_nbits_panels(&g);
  s->channels = panels * PANEL;
  s->grain = hn_cpu_grain(panels, 2.0 * (double)g.m * (double)s->channels * (double)g.k / row->flops_per_ns);
  s->sums_grain = hn_cpu_grain(g.m, (double)g.m * (double)g.k / row->flops_per_ns);
  needs->state = sizeof *s;
  needs->scratch = (size_t)(g.m * g.blocks) * sizeof(float);
  needs->packed = (size_t)(s->channels * (g.row_words + 2 * g.blocks + (s->has_bias ? 1 : 0))) * sizeof(float);
  needs->efficiency = row->efficiency * hn_cpu_filled(g.n, PANEL);
  return NULL;
}

int64_t hn_nbits_offset(hone_dtype dtype) {
  return hn_dtype_is_unsigned(dtype) ? 0 : (int64_t)1 << (hone_dtype_bits(dtype) - 1);
}

static uint32_t word_at(const hn_gemm_nbits *g, const hone_tensor *b, int64_t channel, int64_t word) {
  const int depths = 32 / g->bits;
  const int64_t row = b->type.shape.dim[1];
  uint32_t bits = 0;
  for (int d = 0; d < depths && word * depths + d < g->k && channel < g->n; ++d) {
    const int64_t q = hn_int(b, channel * row + word * depths + d) + hn_nbits_offset(b->type.dtype);
    bits |= (uint32_t)q << (d * g->bits);
  }
  return bits;
}

static hone_status pack(const hone_query *query, void *to) {
  hn_gemm_nbits g;
  if (hn_nbits_read(query, &g)) return HONE_INTERNAL;
  const hone_tensor *b = query->in[HN_NBITS_B].constant, *scale = query->in[HN_NBITS_SCALES].constant;
  const hone_tensor *zero = hn_cpu_given(query, HN_NBITS_ZEROS) ? query->in[HN_NBITS_ZEROS].constant : NULL;
  const bool one_zero = zero && hn_elems(&zero->type.shape) == 1;
  const int64_t panels = hn_gemm_nbits_panels(&g), channels = panels * PANEL;
  uint32_t *words = to;
  float *scales = (float *)to + channels * g.row_words, *zeros = scales + channels * g.blocks;
  for (int64_t at = 0; at < channels * g.row_words; ++at)
    words[at] = word_at(&g, b, at / (g.row_words * PANEL) * PANEL + at % PANEL, at / PANEL % g.row_words);
  for (int64_t at = 0; at < channels * g.blocks; ++at) {
    const int64_t channel = at / (g.blocks * PANEL) * PANEL + at % PANEL,
                  from = channel * g.blocks + at / PANEL % g.blocks;
    const bool there = channel < g.n;
    scales[at] = there ? (float)hn_real(scale, from) : 0;
    zeros[at] = there ? (float)(hn_nbits_offset(b->type.dtype) + (zero ? hn_int(zero, one_zero ? 0 : from) : 0)) : 0;
  }
  if (!hn_cpu_given(query, HN_NBITS_BIAS)) return HONE_OK;
  float *bias = zeros + channels * g.blocks;
  for (int64_t i = 0; i < channels; ++i) bias[i] = i < g.n ? (float)hn_real(query->in[HN_NBITS_BIAS].constant, i) : 0;
  return HONE_OK;
}

typedef struct job {
  const row_kernel *row;
  hn_gemm_nbits gemm;
} job;

static void sums_body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  j->row->sums(&j->gemm, begin, end);
}

static void product_body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  j->row->run(&j->gemm, begin, end);
}

static hone_status launch(void *memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = memory;
  job j = {.row = s->row, .gemm = s->gemm};
  hn_gemm_nbits *g = &j.gemm;
  hn_pool *pool = hn_stream_pool(stream);
  g->x = launch->in[HN_NBITS_X].data;
  g->y = launch->out[0].data;
  g->words = launch->packed;
  g->scales = (const float *)launch->packed + s->channels * g->row_words;
  g->zeros = g->scales + s->channels * g->blocks;
  g->bias = s->has_bias ? g->zeros + s->channels * g->blocks : NULL;
  g->sums = launch->scratch;
  hn_pool_run(pool, g->m, s->sums_grain, sums_body, &j);
  hn_pool_run(pool, hn_gemm_nbits_panels(g), s->grain, product_body, &j);
  return HONE_OK;
}

static const row_kernel portable = {hn_gemm_nbits_c, hn_gemm_nbits_sums_c, 0.3, 4};
#ifndef HONE_NO_AVX
static const row_kernel avx2 = {hn_gemm_nbits_avx2, hn_gemm_nbits_sums_avx2, 0.3, 12};
static const row_kernel avx512 = {hn_gemm_nbits_avx512, hn_gemm_nbits_sums_avx512, 0.3, 20};
#endif

const hone_tactic hn_tactics_cpu_matmul_nbits[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.matmul_nbits.f32.avx512", .version = 1, .op = "matmul_nbits",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE, .pack_mask = 2 | 4 | 8 | 16, .plan = plan, .pack = pack,
     .launch = launch, .kernel = &avx512},
    {sizeof(hone_tactic), .name = "cpu.matmul_nbits.f32.avx2", .version = 1, .op = "matmul_nbits", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .pack_mask = 2 | 4 | 8 | 16, .plan = plan, .pack = pack, .launch = launch,
     .kernel = &avx2},
#endif
    {sizeof(hone_tactic), .name = "cpu.matmul_nbits.f32.c", .version = 1, .op = "matmul_nbits", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .pack_mask = 2 | 4 | 8 | 16, .plan = plan, .pack = pack, .launch = launch,
     .kernel = &portable},
    {0}};
