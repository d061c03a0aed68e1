/* SPDX-License-Identifier: Apache-2.0 */
/* byte_matmul.c - qlinear_matmul and matmul_integer over broadcast batch axes. Constant matrices on the right are
 * packed with the engine, others at each launch. Where all share one, the batch is rows. Scales and zero points are
 * read at each launch: they may be known only then. */
#include "backend/cpu/quant/quant.h"
#include "kernels/cpu/quant/gemm_bytes.h"
#include <string.h>

/* depth_step 64: products in tiles. */
typedef struct row_kernel {
  hn_gemm_bytes_fn *run;
  int word, depth_step;
  bool requantises;
  double efficiency; /* of many rows, against the peak of the row's own type */
} row_kernel;

/* Ports; -1: there is none. */
typedef struct ports {
  int b, a_scale, a_zero, b_scale, b_zero, y_scale, y_zero, bias;
} ports;
static const ports quantised = {3, 1, 2, 4, 5, 6, 7, 8}, integer = {1, -1, 2, -1, 3, -1, -1, -1};

typedef struct multiplying {
  const row_kernel *row;
  hn_gemm_bytes args; /* but for what a launch alone knows */
  int32_t b_shift;    /* 128 where B is u8 */
  bool packs;         /* at each launch */
  hn_cpu_batch batch;
  int64_t products, row_chunk, row_chunks, panel_chunk, panel_chunks, units, grain, worker_bytes;
} multiplying;

/* matrices: the right side's, packed; columns: what fill_columns writes, for each of them; scratch: the workers'. */
typedef struct job {
  const multiplying *m;
  const hone_launch *launch;
  hn_gemm_bytes gemm;
  char *matrices, *columns, *scratch;
} job;

static const double products_per_ns = 40;
static const double most_products = 1e15, most_bytes = 1e12;
enum { A_BYTES = 1 << 18, LEAST_ROWS = 24, TILE_ROWS = 32, TILE_DEPTH = 64 };

static bool is_tiled(const multiplying *m) { return m->row->depth_step == TILE_DEPTH; }

static const ports *ports_of(const hone_query *query) {
  return ((const row_kernel *)query->tactic->kernel)->requantises ? &quantised : &integer;
}

/* One element, or one for each column. */
static bool is_side(const hone_query *query, int port, hone_dtype dtype, int64_t n) {
  const hone_type *side = &query->in[port].type;
  const int64_t count = hn_elems(&side->shape);
  return side->dtype == dtype && side->format == HONE_PLAIN && side->shape.rank <= 2 && (count == 1 || count == n);
}

static const char *read_sides(const hone_query *query, const ports *at, int64_t n) {
  const hone_dtype a = query->in[0].type.dtype, b = query->in[at->b].type.dtype, y = query->out[0].type.dtype;
  if (hn_cpu_given(query, at->a_zero) && !is_side(query, at->a_zero, a, 1)) return "rows have zero points of their own";
  if (hn_cpu_given(query, at->b_zero) && !is_side(query, at->b_zero, b, n)) return "zero points are not of columns";
  if (at->bias < 0) return NULL;
  if (!is_side(query, at->a_scale, HONE_F32, 1)) return "rows have scales of their own";
  if (!is_side(query, at->b_scale, HONE_F32, n)) return "the scales are not f32, or not of columns";
  if (!is_side(query, at->y_scale, HONE_F32, 1) || !is_side(query, at->y_zero, y, 1))
    return "the output has many scales";
  if (hn_cpu_given(query, at->bias) && !is_side(query, at->bias, HONE_I32, n)) return "the bias is not of columns";
  return NULL;
}

static const char *read_extents(const hone_query *query, const ports *at, multiplying *m) {
  const hone_type *a = &query->in[0].type, *b = &query->in[at->b].type, *y = &query->out[0].type;
  hn_gemm_bytes *g = &m->args;
  if (a->format != HONE_PLAIN || b->format != HONE_PLAIN || y->format != HONE_PLAIN) return "it is not plain";
  if (a->shape.rank < 1 || b->shape.rank < 2) return "the right side is no matrix";
  hone_shape left = a->shape, wanted = {0};
  if (left.rank == 1) left = hn_shape(2, (const int64_t[2]){1, left.dim[0]});
  g->k = b->shape.dim[b->shape.rank - 2], g->n = b->shape.dim[b->shape.rank - 1], g->m = left.dim[left.rank - 2];
  if (left.dim[left.rank - 1] != g->k) return "the inner extents differ";
  if (hn_elems(&left) < 1 || hn_elems(&b->shape) < 1) return "an extent is 0";
  if (!hn_cpu_batch_of(&left, &b->shape, &m->batch)) return "the batches do not broadcast";
  while (wanted.rank < m->batch.rank) wanted.dim[wanted.rank] = m->batch.dim[wanted.rank], ++wanted.rank;
  if (a->shape.rank > 1) wanted.dim[wanted.rank++] = g->m;
  wanted.dim[wanted.rank++] = g->n;
  if (!hn_shape_equal(&wanted, &y->shape)) return "the output has another shape";
  m->products = hn_cpu_batch_count(&m->batch);
  if (m->batch.b_matrices == 1 && m->products * g->m * g->k == hn_elems(&left)) /* A's are rows below each other */
    g->m *= m->products, m->products = 1, m->batch.rank = 0;
  if ((double)m->products * (double)g->m * (double)g->n * (double)g->k > most_products || g->k > INT32_MAX / 2)
    return "it is too large";
  return NULL;
}

static const char *read(const hone_query *query, multiplying *m) {
  const ports *at = ports_of(query);
  const bool requantises = at->bias >= 0;
  HN_TRY_REASON(requantises ? hn_cpu_check(query, 8, 9, 1) : hn_cpu_check(query, 2, 4, 1));
  const hone_dtype a = query->in[0].type.dtype, b = query->in[at->b].type.dtype, y = query->out[0].type.dtype;
  if (!hn_cpu_is_byte(a) || !hn_cpu_is_byte(b)) return "it is not of bytes";
  if (requantises ? !hn_cpu_is_byte(y) : y != HONE_I32) return "the output has another type";
  m->packs = !(query->constant_mask >> at->b & 1);
  HN_TRY_REASON(read_extents(query, at, m));
  HN_TRY_REASON(read_sides(query, at, m->args.n));
  m->row = query->tactic->kernel;
  m->args.word = m->row->word, m->args.depth_step = m->row->depth_step;
  m->args.a_is_signed = is_tiled(m) && a == HONE_I8;
  m->args.a_flip = m->args.a_is_signed ? 0 : hn_cpu_flip(a);
  m->args.c_flip = hn_cpu_flip(y);
  m->b_shift = b == HONE_U8 ? 128 : 0;
  if (!requantises) return NULL;
  float low, high;
  hn_cpu_byte_bounds(query, &low, &high);
  m->args.low = (int32_t)low + m->args.c_flip;
  m->args.high = (int32_t)high + m->args.c_flip;
  return NULL;
}

/* Rows whose elements fill half of an L2 cache; where there are few, the threads share the panels. */
static void cut(multiplying *m, const hone_facts *facts) {
  const hn_gemm_bytes *g = &m->args;
  const int64_t threads = hn_cpu_threads(facts), panels = hn_gemm_bytes_panels(g->n);
  const int64_t all = threads == 1 ? 1 : threads * HN_CPU_UNITS_PER_THREAD, wanted = hn_ceil_div(all, m->products);
  int64_t rows = hn_cpu_greater(LEAST_ROWS, A_BYTES / (2 * hn_gemm_bytes_depth(g)));
  rows = hn_cpu_lesser(rows, hn_cpu_greater(LEAST_ROWS, hn_ceil_div(g->m, wanted)));
  if (is_tiled(m)) rows = hn_ceil_div(rows, TILE_ROWS) * TILE_ROWS;
  m->row_chunk = hn_cpu_lesser(rows, g->m);
  m->row_chunks = hn_ceil_div(g->m, m->row_chunk);
  m->panel_chunk = hn_ceil_div(panels, hn_cpu_lesser(panels, hn_ceil_div(wanted, m->row_chunks)));
  if (is_tiled(m)) m->panel_chunk = hn_ceil_div(m->panel_chunk, 2) * 2;
  m->panel_chunks = hn_ceil_div(panels, m->panel_chunk);
  m->units = m->products * m->row_chunks * m->panel_chunks;
  m->grain = hn_cpu_grain(m->units, (double)m->products * (double)g->m * (double)g->n * (double)g->k / products_per_ns);
  m->worker_bytes = hn_ceil_div(hn_gemm_bytes_scratch(g, m->row_chunk), 64) * 64;
}

/* A matrix that is packed: the panels, then the sums of the columns. */
static int64_t packed_columns(const hn_gemm_bytes *g) { return hn_gemm_bytes_panels(g->n) * HN_GEMM_BYTES_PANEL; }
static int64_t packed_sums_at(const multiplying *m) { return packed_columns(&m->args) * hn_gemm_bytes_depth(&m->args); }
static int64_t packed_bytes(const multiplying *m) {
  return packed_sums_at(m) + packed_columns(&m->args) * (int64_t)sizeof(int32_t);
}
static int64_t packed_step(const multiplying *m) { return hn_ceil_div(packed_bytes(m), 64) * 64; }
static int64_t all_packed_bytes(const multiplying *m) {
  return (m->batch.b_matrices - 1) * packed_step(m) + packed_bytes(m);
}
/* What belongs to its columns: base, zero points and scales. */
static int64_t column_bytes(const multiplying *m) { return 3 * packed_columns(&m->args) * (int64_t)sizeof(int32_t); }

/* Panels [begin, end) of all right sides, which lie one after the other. */
static void pack_panels(const multiplying *m, const uint8_t *b, int64_t begin, int64_t end, char *packed) {
  const hn_gemm_bytes *g = &m->args;
  const int64_t panels = hn_gemm_bytes_panels(g->n);
  for (int64_t next; begin < end; begin = next) {
    const int64_t matrix = begin / panels, first = begin % panels;
    char *to = packed + matrix * packed_step(m);
    next = hn_cpu_lesser(end, (matrix + 1) * panels);
    hn_gemm_bytes_pack_c(g, b + matrix * g->k * g->n, m->b_shift, first, first + next - begin, (int8_t *)to,
                         (int32_t *)(to + packed_sums_at(m)));
  }
}

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  multiplying m = {0};
  HN_TRY_REASON(read(query, &m));
  cut(&m, query->facts);
  const double bytes = (double)m.batch.b_matrices * (double)(packed_step(&m) + column_bytes(&m));
  if (bytes > most_bytes) return "its right sides are too large";
  const size_t packed = (size_t)all_packed_bytes(&m);
  needs->state = sizeof m;
  needs->packed = m.packs ? 0 : packed;
  needs->scratch = (size_t)(m.batch.b_matrices * (column_bytes(&m) + (m.packs ? packed_step(&m) : 0)) +
                            hn_cpu_threads(query->facts) * m.worker_bytes);
  needs->efficiency = m.row->efficiency * (is_tiled(&m) ? hn_cpu_filled(m.args.m, TILE_ROWS / 2) : 1);
  if (memory) *(multiplying *)memory = m;
  return NULL;
}

static hone_status pack(const hone_query *query, void *to) {
  multiplying m = {0};
  if (read(query, &m)) return HONE_INVALID;
  const hone_tensor *b = query->in[ports_of(query)->b].constant;
  pack_panels(&m, b->data, 0, m.batch.b_matrices * hn_gemm_bytes_panels(m.args.n), to);
  return HONE_OK;
}

static int32_t byte_at(const hone_launch *launch, int port, int64_t column) {
  if (port >= launch->in_count || !launch->in[port].data) return 0;
  const hone_tensor *t = &launch->in[port];
  const int64_t at = hn_elems(&t->type.shape) == 1 ? 0 : column;
  return t->type.dtype == HONE_I8 ? ((const int8_t *)t->data)[at] : ((const uint8_t *)t->data)[at];
}

static float scale_at(const hone_launch *launch, int port, int64_t column) {
  const hone_tensor *t = &launch->in[port];
  return ((const float *)t->data)[hn_elems(&t->type.shape) == 1 ? 0 : column];
}

/* What belongs to the columns of a panel; sums wrap, as they do where they are added. */
static void fill_panel(const multiplying *m, const hone_launch *launch, int64_t panel, const int32_t *sums, char *to) {
  const hn_gemm_bytes *g = &m->args;
  const ports *at = m->row->requantises ? &quantised : &integer;
  const int64_t columns = packed_columns(g), first = panel * HN_GEMM_BYTES_PANEL;
  const uint32_t a_zero = (uint32_t)(byte_at(launch, at->a_zero, 0) + m->args.a_flip);
  const bool has_bias = at->bias >= 0 && at->bias < launch->in_count && launch->in[at->bias].data;
  int32_t *base = (int32_t *)to, *b_zero = base + columns;
  float *scale = (float *)(b_zero + columns);
  for (int64_t j = first; j < first + HN_GEMM_BYTES_PANEL; ++j) {
    base[j] = b_zero[j] = 0, scale[j] = 0;
    if (j >= g->n) continue;
    b_zero[j] = byte_at(launch, at->b_zero, j) - m->b_shift;
    uint32_t sum = (uint32_t)g->k * a_zero * (uint32_t)b_zero[j] - a_zero * (uint32_t)sums[j];
    if (has_bias) {
      const hone_tensor *bias = &launch->in[at->bias];
      sum += (uint32_t)((const int32_t *)bias->data)[hn_elems(&bias->type.shape) == 1 ? 0 : j];
    }
    base[j] = (int32_t)sum;
    if (!m->row->requantises) continue;
    const float product = scale_at(launch, at->a_scale, 0) * scale_at(launch, at->b_scale, j);
    scale[j] = product / scale_at(launch, at->y_scale, 0);
  }
}

/* Panels [begin, end) of all right sides. */
static void prepare(void *arg, int worker, int64_t begin, int64_t end) {
  const job *j = arg;
  const multiplying *m = j->m;
  const int64_t panels = hn_gemm_bytes_panels(m->args.n);
  const hone_tensor *b = &j->launch->in[m->row->requantises ? quantised.b : integer.b];
  (void)worker;
  if (m->packs) pack_panels(m, b->data, begin, end, j->matrices);
  for (int64_t i = begin; i < end; ++i) {
    const int64_t matrix = i / panels;
    fill_panel(m, j->launch, i % panels, (const int32_t *)(j->matrices + matrix * packed_step(m) + packed_sums_at(m)),
               j->columns + matrix * column_bytes(m));
  }
}

/* One product of the batch. */
static hn_gemm_bytes product_of(const job *j, int64_t product) {
  const multiplying *m = j->m;
  const int64_t columns = packed_columns(&m->args);
  hn_gemm_bytes g = j->gemm;
  int64_t a, b;
  hn_cpu_batch_at(&m->batch, product, &a, &b);
  g.a += a * g.m * g.k;
  g.c = (char *)g.c + product * g.m * g.n * (m->row->requantises ? 1 : (int64_t)sizeof(int32_t));
  g.b_packed = (const int8_t *)j->matrices + b * packed_step(m);
  g.base = (const int32_t *)(j->columns + b * column_bytes(m));
  if (g.b_zero) g.b_zero = g.base + columns;
  g.scale = m->row->requantises ? (const float *)(g.base + 2 * columns) : NULL;
  return g;
}

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  const job *j = arg;
  const multiplying *m = j->m;
  const int64_t panels = hn_gemm_bytes_panels(m->args.n), each = m->row_chunks * m->panel_chunks;
  for (int64_t unit = begin; unit < end; ++unit) {
    const hn_gemm_bytes g = product_of(j, unit / each);
    const int64_t row = unit % each / m->panel_chunks * m->row_chunk, panel = unit % m->panel_chunks * m->panel_chunk;
    m->row->run(&g, row, hn_cpu_lesser(m->args.m, row + m->row_chunk), panel,
                hn_cpu_lesser(panels, panel + m->panel_chunk), j->scratch + worker * m->worker_bytes);
  }
}

static bool any_zero_point(const multiplying *m, const hone_launch *launch, int port) {
  const bool given = port < launch->in_count && launch->in[port].data;
  const int64_t count = given ? hn_elems(&launch->in[port].type.shape) : 1;
  for (int64_t j = 0; j < count; ++j)
    if (byte_at(launch, port, j) != m->b_shift) return true;
  return false;
}

static hone_status launch(void *state, hone_stream *stream, const hone_launch *launch) {
  const multiplying *m = state;
  const ports *at = m->row->requantises ? &quantised : &integer;
  const int64_t panels = m->batch.b_matrices * hn_gemm_bytes_panels(m->args.n);
  const double bytes = (double)m->batch.b_matrices * (double)(column_bytes(m) + (m->packs ? packed_step(m) : 0));
  job j = {.m = m, .launch = launch, .gemm = m->args, .columns = launch->scratch};
  char *behind = j.columns + m->batch.b_matrices * column_bytes(m);
  if (m->packs && !launch->in[at->b].data) return HONE_INVALID;
  j.matrices = m->packs ? behind : (char *)(uintptr_t)launch->packed;
  j.scratch = behind + (m->packs ? m->batch.b_matrices * packed_step(m) : 0);
  j.gemm.a = launch->in[0].data, j.gemm.c = launch->out[0].data;
  j.gemm.b_zero = any_zero_point(m, launch, at->b_zero) ? (const int32_t *)j.columns : NULL; /* each product's own */
  if (m->row->requantises) j.gemm.c_zero = byte_at(launch, at->y_zero, 0) + j.gemm.c_flip;
  hn_pool_run(hn_stream_pool(stream), panels, hn_cpu_grain(panels, bytes), prepare, &j);
  hn_pool_run(hn_stream_pool(stream), m->units, m->grain, body, &j);
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_byte_matmul[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.qlinear_matmul.tiles.amx_int8", .version = 1, .op = "qlinear_matmul",
     .isa = HONE_ISA_AMX_INT8, .flags = HONE_TACTIC_REPEATABLE, .pack_mask = 8, .plan = plan, .pack = pack,
     .launch = launch, .kernel = &(const row_kernel){hn_gemm_bytes_tiles_amx_int8, 4, TILE_DEPTH, true, 0.5}},
    {sizeof(hone_tactic), .name = "cpu.matmul_integer.tiles.amx_int8", .version = 1, .op = "matmul_integer",
     .isa = HONE_ISA_AMX_INT8, .flags = HONE_TACTIC_REPEATABLE, .pack_mask = 2, .plan = plan, .pack = pack,
     .launch = launch, .kernel = &(const row_kernel){hn_gemm_bytes_tiles_amx_int8, 4, TILE_DEPTH, false, 0.5}},
    {sizeof(hone_tactic), .name = "cpu.qlinear_matmul.u8s8.avx512_vnni", .version = 1, .op = "qlinear_matmul",
     .isa = HONE_ISA_AVX512_VNNI, .flags = HONE_TACTIC_REPEATABLE, .pack_mask = 8, .plan = plan, .pack = pack,
     .launch = launch, .kernel = &(const row_kernel){hn_gemm_bytes_avx512_vnni, 4, 4, true, 0.6}},
    {sizeof(hone_tactic), .name = "cpu.matmul_integer.u8s8.avx512_vnni", .version = 1, .op = "matmul_integer",
     .isa = HONE_ISA_AVX512_VNNI, .flags = HONE_TACTIC_REPEATABLE, .pack_mask = 2, .plan = plan, .pack = pack,
     .launch = launch, .kernel = &(const row_kernel){hn_gemm_bytes_avx512_vnni, 4, 4, false, 0.6}},
    {sizeof(hone_tactic), .name = "cpu.qlinear_matmul.u8s8.avx512", .version = 1, .op = "qlinear_matmul",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE, .pack_mask = 8, .plan = plan, .pack = pack,
     .launch = launch, .kernel = &(const row_kernel){hn_gemm_bytes_avx512, 2, 2, true, 1.1}},
    {sizeof(hone_tactic), .name = "cpu.matmul_integer.u8s8.avx512", .version = 1, .op = "matmul_integer",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE, .pack_mask = 2, .plan = plan, .pack = pack,
     .launch = launch, .kernel = &(const row_kernel){hn_gemm_bytes_avx512, 2, 2, false, 1.1}},
    {sizeof(hone_tactic), .name = "cpu.qlinear_matmul.u8s8.avx_vnni", .version = 1, .op = "qlinear_matmul",
     .isa = HONE_ISA_AVX_VNNI, .flags = HONE_TACTIC_REPEATABLE, .pack_mask = 8, .plan = plan, .pack = pack,
     .launch = launch, .kernel = &(const row_kernel){hn_gemm_bytes_avx_vnni, 4, 4, true, 0.6}},
    {sizeof(hone_tactic), .name = "cpu.matmul_integer.u8s8.avx_vnni", .version = 1, .op = "matmul_integer",
     .isa = HONE_ISA_AVX_VNNI, .flags = HONE_TACTIC_REPEATABLE, .pack_mask = 2, .plan = plan, .pack = pack,
     .launch = launch, .kernel = &(const row_kernel){hn_gemm_bytes_avx_vnni, 4, 4, false, 0.6}},
    {sizeof(hone_tactic), .name = "cpu.qlinear_matmul.u8s8.avx2", .version = 1, .op = "qlinear_matmul",
     .isa = HONE_ISA_AVX2, .flags = HONE_TACTIC_REPEATABLE, .pack_mask = 8, .plan = plan, .pack = pack,
     .launch = launch, .kernel = &(const row_kernel){hn_gemm_bytes_avx2, 2, 2, true, 1.1}},
    {sizeof(hone_tactic), .name = "cpu.matmul_integer.u8s8.avx2", .version = 1, .op = "matmul_integer",
     .isa = HONE_ISA_AVX2, .flags = HONE_TACTIC_REPEATABLE, .pack_mask = 2, .plan = plan, .pack = pack,
     .launch = launch, .kernel = &(const row_kernel){hn_gemm_bytes_avx2, 2, 2, false, 1.1}},
#endif
    {sizeof(hone_tactic), .name = "cpu.qlinear_matmul.u8s8.c", .version = 1, .op = "qlinear_matmul", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .pack_mask = 8, .plan = plan, .pack = pack, .launch = launch,
     .kernel = &(const row_kernel){hn_gemm_bytes_c, 2, 2, true, 1.1}},
    {sizeof(hone_tactic), .name = "cpu.matmul_integer.u8s8.c", .version = 1, .op = "matmul_integer", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .pack_mask = 2, .plan = plan, .pack = pack, .launch = launch,
     .kernel = &(const row_kernel){hn_gemm_bytes_c, 2, 2, false, 1.1}},
    {sizeof(hone_tactic), .name = "cpu.qlinear_matmul.tiles.c", .version = 1, .op = "qlinear_matmul", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .pack_mask = 8, .plan = plan, .pack = pack, .launch = launch,
     .kernel = &(const row_kernel){hn_gemm_bytes_tiles_c, 4, TILE_DEPTH, true, 0.05}},
    {sizeof(hone_tactic), .name = "cpu.matmul_integer.tiles.c", .version = 1, .op = "matmul_integer", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .pack_mask = 2, .plan = plan, .pack = pack, .launch = launch,
     .kernel = &(const row_kernel){hn_gemm_bytes_tiles_c, 4, TILE_DEPTH, false, 0.05}},
    {0}};
