/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_common.c - cutting matrix products into units. Rows or panels: every row chunk reads all of B again, every panel
 * chunk packs all of A again, so the cheaper cut depends on which of the two is large. */
#include "backend/cpu/gemm/gemm_common.h"

const hn_cpu_gemm_kernel hn_cpu_gemm_c = {
    hn_gemm_f32_4x8_c, hn_gemm_f32_a_tiles_c, hn_gemm_f32_pack_a_c, HN_GEMM_F32_PANEL_C, 4, 10, hn_activate_f32_c};
#ifndef HONE_NO_AVX
const hn_cpu_gemm_kernel hn_cpu_gemm_avx2 = {
    hn_gemm_f32_6x16_avx2, hn_gemm_f32_a_tiles_avx2, hn_gemm_f32_pack_a_avx2, HN_GEMM_F32_PANEL_AVX2, 6, 70,
    hn_activate_f32_avx2};
const hn_cpu_gemm_kernel hn_cpu_gemm_avx512 = {
    hn_gemm_f32_14x32_avx512, hn_gemm_f32_a_tiles_avx512, hn_gemm_f32_pack_a_avx512, HN_GEMM_F32_PANEL_AVX512, 14, 140,
    hn_activate_f32_avx512};
#endif

enum { LEAST_ROWS = 28, SHARED_UNITS_PER_THREAD = 2 /* each reads all of A */ };
static const double ns_per_b_byte = 0.03;  /* B from the last cache level */
static const double inner_bytes = 1 << 20; /* of B that stay in L2 */
static const double ns_per_a_float = 0.2;  /* packing A */
static const double unit_ns = 10e3;        /* least work of a unit */
static const double share_ns = 100e3;      /* of a product whose threads share A */
static const double size_limit = 1e13;     /* floats of any operand */
static const double piece_ns = 5e6;        /* between two looks at the stop */
static const double ns_per_fresh_byte = 4; /* of C, where nobody has touched its page before */
enum { PACK_BYTES = 1 << 20 /* of a panel, likewise: at most so many in one go */ };

const char *hn_cpu_product_check_sizes(const hn_cpu_product *p) {
  const hn_gemm_f32 *g = &p->gemm;
  double batches = 1;
  if (g->m < 1 || g->n < 1 || g->k < 1) return "an extent is 0";
  for (int i = 0; i < p->batch.rank; ++i) {
    if (p->batch.dim[i] < 1) return "an extent is 0";
    batches *= (double)p->batch.dim[i];
  }
  const double m = (double)g->m + 16, n = (double)g->n + 16, k = (double)g->k + 16;
  if ((double)p->batch.b_matrices * k * n > size_limit || batches * m * n > size_limit || batches * m * k > size_limit)
    return "the matrices are too large";
  return NULL;
}

double hn_cpu_gemm_ns(const hn_cpu_gemm_kernel *kernel, int64_t m, int64_t n, int64_t k) {
  const double b_bytes = (double)n * (double)k * sizeof(float);
  const double compute_ns = 2.0 * (double)m * (double)n * (double)k / kernel->flops_per_ns;
  return compute_ns + (b_bytes > inner_bytes ? b_bytes * ns_per_b_byte : 0);
}

static double matrix_ns(const hn_cpu_product *p) { return hn_cpu_gemm_ns(p->kernel, p->gemm.m, p->gemm.n, p->gemm.k); }

static bool reads_a_in_place(const hn_gemm_f32 *g) {
  return g->m <= HN_GEMM_F32_DIRECT_ROWS && g->a_column_stride == 1;
}

/* All threads work on all rows of one matrix, each on its own columns: then A is packed once, by all of them. */
static bool shares_a(const hn_cpu_product *p) {
  return p->workers > 1 && p->batches == 1 && !reads_a_in_place(&p->gemm) && p->panels >= 4 * p->workers &&
         matrix_ns(p) > share_ns;
}

/* Row chunks and panel chunks of one matrix, about `wanted` units together. */
static void cut(hn_cpu_product *p, int64_t wanted) {
  const hn_gemm_f32 *g = &p->gemm;
  const int64_t pairs = hn_ceil_div(p->panels, 2);
  int64_t most_rows = hn_cpu_greater(1, g->m / LEAST_ROWS);
  const double b_ns = (double)(g->k * p->panels * p->kernel->panel) * sizeof(float) * ns_per_b_byte;
  const double a_ns = reads_a_in_place(g) || shares_a(p) ? 0 : (double)(g->m * g->k) * ns_per_a_float;
  double best = -1;
  if (shares_a(p)) most_rows = 1;
  for (int64_t rows = 1;; rows = hn_cpu_lesser(2 * rows, most_rows)) {
    const int64_t columns = hn_cpu_lesser(pairs, hn_ceil_div(wanted, rows));
    const double short_by = (double)wanted / (double)hn_cpu_lesser(wanted, rows * columns);
    const double cost = short_by * ((double)rows * b_ns + (double)columns * a_ns + matrix_ns(p));
    if (best < 0 || cost < best) {
      best = cost;
      p->row_chunk = hn_ceil_div(g->m, rows);
      p->panel_chunk = hn_cpu_lesser(p->panels, 2 * hn_ceil_div(pairs, columns));
    }
    if (rows >= most_rows || rows >= wanted) break;
  }
  p->row_chunks = hn_ceil_div(g->m, p->row_chunk);
  p->panel_chunks = hn_ceil_div(p->panels, p->panel_chunk);
}

void hn_cpu_product_plan(hn_cpu_product *p, const hone_facts *facts) {
  hn_gemm_f32 *g = &p->gemm;
  const int panel = p->kernel->panel;
  p->workers = hn_cpu_threads(facts);
  p->batches = hn_cpu_batch_count(&p->batch);
  p->panels = hn_gemm_f32_panels(g->n, panel);
  p->packed_floats = hn_gemm_f32_packed_floats(g->k, g->n, panel);
  const double total_ns = (double)p->batches * matrix_ns(p);
  const int64_t most_units = p->workers * (shares_a(p) ? SHARED_UNITS_PER_THREAD : HN_CPU_UNITS_PER_THREAD);
  const int64_t units = p->workers == 1 ? 1 : hn_cpu_lesser(most_units, (int64_t)(total_ns / unit_ns) + 1);
  cut(p, hn_ceil_div(units, p->batches));
  const int64_t rows = g->m;
  g->m = p->row_chunk;
  hn_gemm_f32_choose(g, panel, hn_cpu_l2_bytes(facts));
  g->m = rows;
  p->worker_floats = reads_a_in_place(g) || shares_a(p) ? 0 : hn_cpu_whole_lines(hn_gemm_f32_scratch_floats(g));
  if (shares_a(p)) {
    p->a_floats = hn_cpu_whole_lines(hn_gemm_f32_a_floats(g));
    p->a_tiles = p->kernel->a_tiles(g);
    p->a_grain = hn_cpu_grain(p->a_tiles, (double)(g->m * g->k) * ns_per_a_float);
  }
  p->grain = hn_cpu_grain(p->batches * p->row_chunks * p->panel_chunks, total_ns);
  p->pack_rows = PACK_BYTES / (panel * (int64_t)sizeof(float));
  p->pack_units = p->batch.b_matrices * p->panels * hn_ceil_div(g->k, p->pack_rows);
  p->pack_grain = hn_cpu_grain(p->pack_units, (double)(p->batch.b_matrices * p->packed_floats) * ns_per_a_float);
}

/* Of all of B's matrices. */
static size_t packed_bytes(const hn_cpu_product *p) {
  return (size_t)(p->batch.b_matrices * hn_gemm_f32_packed_floats(p->gemm.k, p->gemm.n, p->kernel->panel)) *
         sizeof(float);
}

static int64_t packed_scratch_floats(const hn_cpu_product *p) {
  return p->b_packed_before ? 0 : hn_cpu_whole_lines(p->batch.b_matrices * p->packed_floats);
}

size_t hn_cpu_product_scratch_bytes(const hn_cpu_product *p) {
  return (size_t)(packed_scratch_floats(p) + p->a_floats + p->workers * p->worker_floats) * sizeof(float);
}

typedef struct job {
  const hn_cpu_product *product;
  hn_cpu_product_data data;
  float *packed; /* where this launch packs B */
  hn_stop *stop;
} job;

/* Where matrix number `matrix` of B begins, in floats. */
static int64_t b_offset(const hn_cpu_product *p, int64_t matrix) {
  int64_t offset = 0;
  if (!p->is_apart) return matrix * p->gemm.k * p->gemm.n;
  for (int i = 0; i < p->batch.rank; ++i)
    if (p->batch.b_step[i] > 0) offset += matrix / p->batch.b_step[i] % p->batch.dim[i] * p->b_from[i];
  return offset;
}

static void pack_panels(const hn_cpu_product *p, const float *b, float *to, int64_t begin, int64_t end) {
  const hn_gemm_f32 *g = &p->gemm;
  while (begin < end) {
    const int64_t panels = hn_gemm_f32_panels(g->n, p->kernel->panel), matrix = begin / panels;
    const int64_t first = begin % panels, last = hn_cpu_lesser(panels, first + end - begin);
    hn_gemm_f32_pack_b_c(b + b_offset(p, matrix), p->b_row_stride, p->b_column_stride, g->k, g->n, p->kernel->panel,
                         first, last, to + matrix * hn_gemm_f32_packed_floats(g->k, g->n, p->kernel->panel));
    begin += last - first;
  }
}

static void pack_matrices(const hn_cpu_product *p, const float *b, float *to) {
  pack_panels(p, b, to, 0, p->batch.b_matrices * hn_gemm_f32_panels(p->gemm.n, p->kernel->panel));
}

/* Units are panels, or parts of long ones. */
static void pack_body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  const hn_cpu_product *p = j->product;
  const int64_t parts = hn_ceil_div(p->gemm.k, p->pack_rows), panel = p->kernel->panel;
  if (parts == 1) {
    pack_panels(p, j->data.b, j->packed, begin, end);
    return;
  }
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t matrix = unit / parts / p->panels, column = unit / parts % p->panels * panel;
    const int64_t row = unit % parts * p->pack_rows;
    hn_gemm_f32_pack_b_c(j->data.b + b_offset(p, matrix) + row * p->b_row_stride + column * p->b_column_stride,
                         p->b_row_stride, p->b_column_stride, hn_cpu_lesser(p->pack_rows, p->gemm.k - row),
                         p->gemm.n - column, (int)panel, 0, 1,
                         j->packed + matrix * p->packed_floats + column * p->gemm.k + row * panel);
  }
}

/* Points a product at matrix number `batch` of the output. */
static void point(const hn_cpu_product *p, const job *j, int64_t batch, hn_gemm_f32 *g) {
  int64_t a, b, c = p->is_apart ? 0 : batch * g->m * g->c_row_stride, left = batch;
  hn_cpu_batch_at(&p->batch, batch, &a, &b);
  for (int i = p->batch.rank - 1; p->is_apart && i >= 0; --i) {
    c += left % p->batch.dim[i] * p->c_step[i];
    left /= p->batch.dim[i];
  }
  g->a = j->data.a + a;
  g->b_packed = (p->b_packed_before ? j->data.b : j->packed) + b * p->packed_floats;
  g->c = j->data.c + c;
  g->a_packed = p->a_floats ? j->data.scratch + packed_scratch_floats(p) : NULL;
  g->epilogue.bias = j->data.bias;
  g->epilogue.slope = j->data.slope;
  g->epilogue.residual = j->data.residual ? j->data.residual + batch * g->m * g->epilogue.residual_stride : NULL;
}

/* About what rows x panels x k take in memory that is fresh. */
static double piece_takes(const hn_cpu_product *p, int64_t rows, int64_t panels, int64_t k) {
  const int64_t columns = panels * p->kernel->panel;
  return hn_cpu_gemm_ns(p->kernel, rows, columns, k) + (double)(rows * columns) * sizeof(float) * ns_per_fresh_byte;
}

/* How many of `count` make a piece, in whole blocks; `takes`: what one block does. */
static int64_t piece_of(int64_t count, int64_t block, double takes) {
  const double blocks = takes < piece_ns ? piece_ns / takes : 1;
  return blocks * (double)block < (double)count ? (int64_t)blocks * block : count;
}

/* Rows [row, row_end) x panels [panel, panel_end). What takes long is cut where the kernel itself goes from one block
 * to the next, which costs nothing, and looks at the stop there. */
static void run_pieces(const job *j, hn_gemm_f32 *g, int64_t row, int64_t row_end, int64_t panel, int64_t panel_end,
                       float *scratch) {
  const hn_cpu_product *p = j->product;
  const int64_t panels = panel_end - panel, block_panels = g->block_n / p->kernel->panel;
  if (!hn_stop_armed(j->stop) || piece_takes(p, row_end - row, panels, g->k) <= piece_ns) {
    p->kernel->run(g, row, row_end, panel, panel_end, scratch);
    return;
  }
  const int64_t m = piece_of(row_end - row, g->block_m, piece_takes(p, g->block_m, panels, g->k));
  const int64_t n = piece_of(panels, block_panels, piece_takes(p, m, block_panels, g->k));
  const int64_t k = piece_of(g->k, g->block_k, piece_takes(p, m, n, g->block_k));
  for (int64_t i = row; i < row_end; i += m)
    for (int64_t c = panel; c < panel_end; c += n)
      for (g->k_begin = 0; g->k_begin < g->k; g->k_begin = g->k_end) {
        if (hn_stop_now(j->stop)) return;
        g->k_end = hn_cpu_lesser(g->k_begin + k, g->k);
        p->kernel->run(g, i, hn_cpu_lesser(i + m, row_end), c, hn_cpu_lesser(c + n, panel_end), scratch);
      }
  g->k_begin = g->k_end = 0;
}

/* Units next to each other in a row chunk become one call, which then packs A once. */
static void body(void *arg, int worker, int64_t begin, int64_t end) {
  const job *j = arg;
  const hn_cpu_product *p = j->product;
  float *scratch =
      p->worker_floats ? j->data.scratch + packed_scratch_floats(p) + (int64_t)worker * p->worker_floats : NULL;
  hn_gemm_f32 g = p->gemm;
  while (begin < end) {
    const int64_t chunk = begin % p->panel_chunks, row = begin / p->panel_chunks % p->row_chunks;
    const int64_t count = hn_cpu_lesser(p->panel_chunks - chunk, end - begin);
    point(p, j, begin / p->panel_chunks / p->row_chunks, &g);
    run_pieces(j, &g, row * p->row_chunk, hn_cpu_lesser(g.m, (row + 1) * p->row_chunk), chunk * p->panel_chunk,
               hn_cpu_lesser(p->panels, (chunk + count) * p->panel_chunk), scratch);
    begin += count;
  }
}

static void pack_a_body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  hn_gemm_f32 g = j->product->gemm;
  g.a = j->data.a;
  j->product->kernel->pack_a(&g, begin, end, j->data.scratch + packed_scratch_floats(j->product));
}

void hn_cpu_product_run(const hn_cpu_product *p, hn_pool *pool, const hn_cpu_product_data *data) {
  job j = {.product = p, .data = *data, .packed = data->scratch, .stop = pool ? pool->stop : NULL};
  if (!p->b_packed_before) hn_pool_run(pool, p->pack_units, p->pack_grain, pack_body, &j);
  if (p->a_floats) hn_pool_run(pool, p->a_tiles, p->a_grain, pack_a_body, &j);
  hn_pool_run(pool, p->batches * p->row_chunks * p->panel_chunks, p->grain, body, &j);
}

const char *hn_cpu_product_check(const hone_query *query, int most) {
  HN_TRY_REASON(hn_cpu_check(query, 2, most, 1));
  const bool is_plain = hn_cpu_is(&query->in[0], HONE_F32, HONE_PLAIN) &&
                        hn_cpu_is(&query->in[1], HONE_F32, HONE_PLAIN) &&
                        hn_cpu_is(&query->out[0], HONE_F32, HONE_PLAIN);
  return is_plain ? NULL : "it is not plain f32";
}

typedef struct state {
  hn_cpu_product product;
  hn_cpu_product_ports ports;
} state;

const char *hn_cpu_product_plan_query(const hone_query *query, void *memory, hone_needs *needs) {
  const hn_cpu_product_kernel *kernel = query->tactic->kernel;
  state asked, *s = memory ? memory : &asked;
  hn_cpu_product *p = &s->product;
  *s = (state){.product = {.kernel = kernel->gemm}, .ports = {-1, -1, -1, false}};
  HN_TRY_REASON(kernel->read(query, p, &s->ports));
  HN_TRY_REASON(hn_cpu_product_check_sizes(p));
  p->b_packed_before = query->constant_mask & query->tactic->pack_mask & 2;
  hn_cpu_product_plan(p, query->facts);
  needs->state = sizeof *s;
  needs->scratch = hn_cpu_product_scratch_bytes(p);
  needs->packed = p->b_packed_before ? packed_bytes(p) : 0;
  /* Measured on layers with many rows; those with few wait for B, which the estimate counts beside it. */
  const double rows = p->gemm.m < p->kernel->rows ? 1 : hn_cpu_filled(p->gemm.m, p->kernel->rows);
  needs->efficiency = 0.85 * rows * hn_cpu_filled(p->gemm.n, p->kernel->panel);
  return NULL;
}

hone_status hn_cpu_product_pack_query(const hone_query *query, void *to) {
  state s;
  hone_needs needs;
  if (hn_cpu_product_plan_query(query, &s, &needs)) return HONE_INTERNAL;
  if (s.product.b_packed_before) pack_matrices(&s.product, query->in[1].constant->data, to);
  return HONE_OK;
}

hone_status hn_cpu_product_launch(void *memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = memory;
  const bool swaps = s->ports.swaps;
  const hn_cpu_product_data data = {
      .a = launch->in[swaps].data,
      .b = s->product.b_packed_before ? launch->packed : launch->in[!swaps].data,
      .bias = s->ports.bias >= 0 ? launch->in[s->ports.bias].data : NULL,
      .residual = s->ports.residual >= 0 ? launch->in[s->ports.residual].data : NULL,
      .slope = s->ports.slope >= 0 ? launch->in[s->ports.slope].data : NULL,
      .c = launch->out[0].data,
      .scratch = launch->scratch,
  };
  hn_cpu_product_run(&s->product, hn_stream_pool(stream), &data);
  return HONE_OK;
}
