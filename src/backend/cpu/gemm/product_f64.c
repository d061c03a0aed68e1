/* SPDX-License-Identifier: Apache-2.0 */
/* product_f64.c - products of doubles cut into units: rows first, since each chunk of rows packs its part of A, and
 * columns where there are too few rows. A unit is worth 5 ms at most, so that a stop is looked at in time. */
#include "backend/cpu/gemm/product_f64.h"

const hn_cpu_gemm_f64 hn_cpu_gemm_f64_c = {hn_gemm_f64_c, HN_GEMM_F64_PANEL_C, HN_GEMM_F64_ROWS_C, 5};
#ifndef HONE_NO_AVX
const hn_cpu_gemm_f64 hn_cpu_gemm_f64_avx2 = {hn_gemm_f64_avx2, HN_GEMM_F64_PANEL_AVX2, HN_GEMM_F64_ROWS_AVX2, 30};
const hn_cpu_gemm_f64 hn_cpu_gemm_f64_avx512 = {hn_gemm_f64_avx512, HN_GEMM_F64_PANEL_AVX512, HN_GEMM_F64_ROWS_AVX512,
                                                50};
#endif

static const double unit_ns = 5e6, ns_per_b_byte = 0.05, ns_per_packed = 0.5;

int64_t hn_cpu_gemm_f64_block(const hn_cpu_gemm_f64 *kernel, int64_t m, int64_t k, size_t l2_bytes) {
  const int64_t tile = kernel->rows * hn_cpu_greater(1, k) * (int64_t)sizeof(double);
  const int64_t fitting = hn_cpu_greater(1, (int64_t)(l2_bytes / 2) / tile);
  return hn_cpu_lesser(fitting, hn_ceil_div(m, kernel->rows)) * kernel->rows;
}

hn_epilogue_f64 hn_cpu_epilogue_f64(const hone_attrs *attrs, const hn_epilogue_f32 *read) {
  hn_epilogue_f64 e = {.activation = read->activation, .residual_stride = read->residual_stride};
  if (e.activation == HN_ACTIVATION_NONE) return e;
  e.alpha = hn_attr_float(attrs, "act_alpha");
  e.beta = hn_attr_float(attrs, "act_beta");
  return e;
}

typedef struct state {
  const hn_cpu_gemm_f64 *kernel;
  hn_cpu_product shape; /* batches, strides and steps: what `read` fills */
  hn_cpu_product_ports ports;
  hn_gemm_f64 gemm; /* no pointers */
  int64_t batches, panels, packed;
  int64_t row_chunk, row_chunks, panel_chunk, panel_chunks, grain, pack_grain;
  int64_t packed_scratch, worker_doubles;
} state;

static void cut(state *s, const hone_facts *facts) {
  const hn_gemm_f64 *g = &s->gemm;
  const int64_t threads = hn_cpu_threads(facts);
  const double m = (double)g->m, n = (double)g->n, k = (double)g->k;
  const double total_ns =
      (double)s->batches * (2 * m * n * k / s->kernel->flops_per_ns + n * k * sizeof(double) * ns_per_b_byte);
  const int64_t shared = threads > 1 ? threads * HN_CPU_UNITS_PER_THREAD : 1;
  const int64_t wanted = hn_ceil_div(hn_cpu_greater(shared, (int64_t)(total_ns / unit_ns)), s->batches);
  const int64_t rows = hn_cpu_lesser(wanted, hn_cpu_greater(1, g->m / (4 * s->kernel->rows)));
  s->row_chunk = hn_ceil_div(hn_ceil_div(g->m, rows), s->kernel->rows) * s->kernel->rows;
  s->row_chunks = hn_ceil_div(g->m, s->row_chunk);
  s->panel_chunk = hn_ceil_div(s->panels, hn_cpu_lesser(s->panels, hn_ceil_div(wanted, s->row_chunks)));
  s->panel_chunks = hn_ceil_div(s->panels, s->panel_chunk);
  s->grain = hn_cpu_grain(s->batches * s->row_chunks * s->panel_chunks, total_ns);
  s->pack_grain = hn_cpu_grain(s->shape.batch.b_matrices * s->panels,
                               (double)(s->shape.batch.b_matrices * s->packed) * ns_per_packed);
}

const char *hn_cpu_product_f64_plan(const hone_query *query, void *memory, hone_needs *needs) {
  const hn_cpu_product_f64_kernel *row = query->tactic->kernel;
  state room, *s = memory ? memory : &room;
  hn_cpu_asked asked;
  *s = (state){.kernel = row->gemm, .ports = {-1, -1, -1}};
  hn_cpu_product *p = &s->shape;
  HN_TRY_REASON(hn_cpu_ask_f32(query, &asked));
  HN_TRY_REASON(row->read(&asked.query, p, &s->ports));
  HN_TRY_REASON(hn_cpu_product_check_sizes(p));
  const hn_gemm_f32 *g = &p->gemm;
  p->b_packed_before = query->constant_mask & 2;
  s->batches = hn_cpu_batch_count(&p->batch);
  s->gemm = (hn_gemm_f64){.m = g->m,
                          .n = g->n,
                          .k = g->k,
                          .a_row_stride = g->a_row_stride,
                          .a_column_stride = g->a_column_stride,
                          .c_row_stride = g->c_row_stride,
                          .epilogue = hn_cpu_epilogue_f64(query->attrs, &g->epilogue),
                          .bias_per_row = g->bias_per_row};
  s->panels = hn_gemm_f64_panels(g->n, s->kernel->panel);
  s->packed = hn_gemm_f64_packed(g->k, g->n, s->kernel->panel);
  cut(s, query->facts);
  s->gemm.block_rows = hn_cpu_gemm_f64_block(s->kernel, s->row_chunk, g->k, hn_cpu_l2_bytes(query->facts));
  s->packed_scratch = p->b_packed_before ? 0 : hn_cpu_whole_lines_f64(p->batch.b_matrices * s->packed);
  s->worker_doubles = hn_cpu_whole_lines_f64(s->gemm.block_rows * g->k);
  needs->state = sizeof *s;
  needs->packed = p->b_packed_before ? (size_t)(p->batch.b_matrices * s->packed) * sizeof(double) : 0;
  needs->scratch = (size_t)(s->packed_scratch + hn_cpu_threads(query->facts) * s->worker_doubles) * sizeof(double);
  needs->efficiency = 0.4 * hn_cpu_filled(g->n, s->kernel->panel); /* of the peak in f32 */
  return NULL;
}

/* Panels [begin, end) of all of B's matrices. */
static void pack_panels(const state *s, const double *b, double *to, int64_t begin, int64_t end) {
  const hn_gemm_f64 *g = &s->gemm;
  while (begin < end) {
    const int64_t matrix = begin / s->panels, first = begin % s->panels;
    const int64_t last = hn_cpu_lesser(s->panels, first + end - begin);
    hn_gemm_f64_pack_b_c(b + matrix * g->k * g->n, s->shape.b_row_stride, s->shape.b_column_stride, g->k, g->n,
                         s->kernel->panel, first, last, to + matrix * s->packed);
    begin += last - first;
  }
}

hone_status hn_cpu_product_f64_pack(const hone_query *query, void *to) {
  state s;
  hone_needs needs;
  if (hn_cpu_product_f64_plan(query, &s, &needs)) return HONE_INTERNAL;
  if (s.shape.b_packed_before) pack_panels(&s, query->in[1].constant->data, to, 0, s.shape.batch.b_matrices * s.panels);
  return HONE_OK;
}

typedef struct job {
  const state *s;
  const hone_launch *launch;
  const double *b;
  double *packed, *workers;
} job;

static void pack_body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  pack_panels(j->s, j->launch->in[1].data, j->packed, begin, end);
}

static const double *port(const job *j, int number) { return number >= 0 ? j->launch->in[number].data : NULL; }

/* The product at matrix number `batch` of the output. */
static hn_gemm_f64 product_at(const job *j, int64_t batch) {
  const state *s = j->s;
  hn_gemm_f64 g = s->gemm;
  int64_t a, b;
  hn_cpu_batch_at(&s->shape.batch, batch, &a, &b);
  g.a = (const double *)j->launch->in[0].data + a;
  g.b_packed = j->b + b * s->packed;
  g.c = (double *)j->launch->out[0].data + batch * g.m * g.c_row_stride;
  g.epilogue.bias = port(j, s->ports.bias);
  g.epilogue.slope = port(j, s->ports.slope);
  g.epilogue.residual = port(j, s->ports.residual);
  if (g.epilogue.residual) g.epilogue.residual += batch * g.m * g.epilogue.residual_stride;
  return g;
}

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  const job *j = arg;
  const state *s = j->s;
  for (int64_t unit = begin; unit < end; ++unit) {
    const hn_gemm_f64 g = product_at(j, unit / s->panel_chunks / s->row_chunks);
    const int64_t row = unit / s->panel_chunks % s->row_chunks * s->row_chunk;
    const int64_t panel = unit % s->panel_chunks * s->panel_chunk;
    s->kernel->run(&g, row, hn_cpu_lesser(g.m, row + s->row_chunk), panel,
                   hn_cpu_lesser(s->panels, panel + s->panel_chunk), j->workers + worker * s->worker_doubles);
  }
}

hone_status hn_cpu_product_f64_launch(void *memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = memory;
  hn_pool *pool = hn_stream_pool(stream);
  job j = {.s = s, .launch = launch, .b = launch->packed, .packed = launch->scratch};
  j.workers = j.packed + s->packed_scratch;
  if (!s->shape.b_packed_before) {
    hn_pool_run(pool, s->shape.batch.b_matrices * s->panels, s->pack_grain, pack_body, &j);
    j.b = j.packed;
  }
  hn_pool_run(pool, s->batches * s->row_chunks * s->panel_chunks, s->grain, body, &j);
  return HONE_OK;
}
