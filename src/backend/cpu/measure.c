/* SPDX-License-Identifier: Apache-2.0 */
/* measure.c - the roofs of a roofline, measured: multiply-adds of each type by the fastest unit that has it, and reads
 * of each cache and of main memory, by all threads together. The fastest of many short passes counts, since other
 * programs only make it slower. */
#include "backend/cpu/cpu.h"
#include "base/clock.h"
#include "kernels/cpu/peak/peak.h"
#include <stdatomic.h>
#include <string.h>

enum { LEAST_PASSES = 5, MOST_PASSES = 512, UNITS_PER_THREAD = 8 };
#define LEAST_NS INT64_C(30000000)    /* of a roof's passes: some turns of a scheduler, */
#define MOST_NS INT64_C(150000000)    /* or more of them, until LEAST_PASSES were nearly as fast as the fastest */
#define ROUNDS INT64_C(20000)         /* of a unit: some 50 us */
#define READ_LEAST ((size_t)64 << 20) /* bytes; more where the last cache is larger, */
#define READ_MOST ((size_t)256 << 20) /* up to this */
#define READ_UNIT ((int64_t)1 << 18)  /* floats */
#define CACHE_UNIT ((int64_t)1 << 21) /* floats read out of a cache by a unit, at least */

typedef struct job {
  hn_peak_compute_fn *compute;
  hn_peak_read_f32_fn *read;
  float *data;
  int64_t floats;     /* of a worker's share of data: its place in a cache */
  _Atomic float sink; /* nobody reads it: it keeps the compiler from leaving the loops out */
} job;

/* The first of a type that the unit can run is the fastest. */
static const struct {
  hone_roof roof;
  uint32_t isa;
  hn_peak_compute_fn *compute;
} computes[] = {
#ifndef HONE_NO_AVX
    {HONE_ROOF_F16, HONE_ISA_AVX512_FP16, hn_peak_halves_avx512_fp16},
    {HONE_ROOF_BF16, HONE_ISA_AMX_BF16, hn_peak_halves_amx_bf16},
    {HONE_ROOF_BF16, HONE_ISA_AVX512_BF16, hn_peak_halves_avx512_bf16},
    {HONE_ROOF_INT8, HONE_ISA_AMX_INT8, hn_peak_bytes_amx_int8},
    {HONE_ROOF_INT8, HONE_ISA_AVX512_VNNI, hn_peak_bytes_avx512_vnni},
    {HONE_ROOF_INT8, HONE_ISA_AVX_VNNI, hn_peak_bytes_avx_vnni},
    {HONE_ROOF_INT8, HONE_ISA_AVX2, hn_peak_bytes_avx2},
    {HONE_ROOF_F64, HONE_ISA_AVX512, hn_peak_fma_f64_avx512},
    {HONE_ROOF_F64, HONE_ISA_AVX2, hn_peak_fma_f64_avx2},
    {HONE_ROOF_F32, HONE_ISA_AVX512, hn_peak_fma_f32_avx512},
    {HONE_ROOF_F32, HONE_ISA_AVX2, hn_peak_fma_f32_avx2},
#endif
    {HONE_ROOF_F64, HONE_ISA_C, hn_peak_fma_f64_c},
    {HONE_ROOF_F32, HONE_ISA_C, hn_peak_fma_f32_c}};

static const struct {
  uint32_t isa;
  hn_peak_read_f32_fn *read;
} reads[] = {
#ifndef HONE_NO_AVX
    {HONE_ISA_AVX512, hn_peak_read_f32_avx512},
    {HONE_ISA_AVX2, hn_peak_read_f32_avx2},
#endif
    {HONE_ISA_C, hn_peak_read_f32_c}};

static bool has(const hone_unit *unit, uint32_t isa) { return (unit->facts.isa & isa) == isa; }

static void compute_body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  job *j = arg;
  float sink = 1;
  (void)j->compute((end - begin) * ROUNDS, &sink);
  atomic_store_explicit(&j->sink, sink, memory_order_relaxed);
}

static void touch_body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  const int64_t first = begin * READ_UNIT, last = end * READ_UNIT;
  memset(j->data + first, 0, (size_t)(last - first) * sizeof(float));
}

static void drop_body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  hn_peak_drop_f32(j->data, begin * READ_UNIT, end * READ_UNIT);
}

static void read_body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  job *j = arg;
  float sink = 0;
  j->read(j->data, begin * READ_UNIT, end * READ_UNIT, 1, &sink);
  atomic_store_explicit(&j->sink, sink, memory_order_relaxed);
}

static int64_t reads_of_a_unit(const job *j) { return (CACHE_UNIT + j->floats - 1) / j->floats; }

static void reread_body(void *arg, int worker, int64_t begin, int64_t end) {
  job *j = arg;
  float sink = 0;
  j->read(j->data + worker * j->floats, 0, j->floats, (end - begin) * reads_of_a_unit(j), &sink);
  atomic_store_explicit(&j->sink, sink, memory_order_relaxed);
}

/* Others on the machine take turns with some of the threads: then a pass that all of them had to themselves is rare. */
static bool is_enough(const int64_t *ns, int count, int64_t spent_ns) {
  if (count < LEAST_PASSES || spent_ns < LEAST_NS) return count == MOST_PASSES;
  return ns[LEAST_PASSES - 1] <= ns[0] + ns[0] / 50 || spent_ns >= MOST_NS || count == MOST_PASSES;
}

/* Sets the roof to what, `amount` of it a pass, the fastest pass did a second. before: what each pass begins with and
 * is not timed, or NULL. */
static void pass_over(hone_unit *unit, hn_pool *pool, hone_roof roof, double amount, int64_t units, hn_pool_body before,
                      hn_pool_body body, job *j) {
  int64_t ns[MOST_PASSES], spent_ns = 0;
  int count = 0;
  while (!is_enough(ns, count, spent_ns) && !hn_stop_now(unit->stop)) {
    const int64_t begin = hn_clock_ns();
    if (before) hn_pool_run(pool, units, 1, before, j);
    const int64_t timed = hn_clock_ns();
    hn_pool_run(pool, units, 1, body, j);
    const int64_t end = hn_clock_ns(), elapsed = end - timed;
    int at = count++;
    for (; at > 0 && ns[at - 1] > elapsed; --at) ns[at] = ns[at - 1];
    ns[at] = elapsed > 0 ? elapsed : 1;
    spent_ns += end - begin;
  }
  if (count == 0) return;
  unit->facts.roofs[roof] = amount * 1e9 / (double)ns[0];
  unit->facts.spreads[roof] = (double)(ns[count / 2] - ns[0]) / (double)ns[0];
}

static void measure_computing(hone_unit *unit, hn_pool *pool, job *j) {
  const int64_t units = (int64_t)UNITS_PER_THREAD * hn_pool_threads(pool);
  bool done[HONE_ROOF_COUNT] = {false};
  for (size_t i = 0; i < HN_COUNT(computes); ++i) {
    const hone_roof roof = computes[i].roof;
    if (done[roof] || !has(unit, computes[i].isa)) continue;
    done[roof] = true;
    j->compute = computes[i].compute;
    float sink = 1;
    pass_over(unit, pool, roof, j->compute(1, &sink) * (double)ROUNDS * (double)units, units, NULL, compute_body, j);
  }
}

/* Shares of data that lie in one cache and not in the one before it: a half of it, of a shared one's part. Of a
 * server's third cache, which others fill, no more than some times the second. */
static void measure_caches(hone_unit *unit, hn_pool *pool, job *j, size_t room) {
  const hone_facts *facts = &unit->facts;
  const size_t threads = (size_t)hn_pool_threads(pool);
  const size_t third = facts->l3_bytes / 2 / threads, most = 8 * facts->l2_bytes;
  const size_t shares[] = {facts->l1_bytes / 2, facts->l2_bytes / 2, third < most ? third : most};
  for (int level = 0; level < 3; ++level) {
    const size_t share = shares[level] < room / threads ? shares[level] : room / threads;
    if (share < sizeof(float) * 1024 || (level > 0 && share < 3 * shares[level - 1])) continue;
    j->floats = (int64_t)(share / sizeof(float) / 1024 * 1024);
    const int64_t units = (int64_t)UNITS_PER_THREAD * (int64_t)threads;
    const double bytes = (double)(units * reads_of_a_unit(j) * j->floats) * sizeof(float);
    pass_over(unit, pool, (hone_roof)(HONE_ROOF_L1 + level), bytes, units, NULL, reread_body, j);
  }
}

static void measure_clock(hone_unit *unit, job *j) {
  int64_t best_ns = INT64_MAX;
  float sink = 1;
  for (int pass = 0; pass < LEAST_PASSES; ++pass) {
    const int64_t begin = hn_clock_ns();
    (void)hn_peak_cycles(ROUNDS / 4, &sink);
    const int64_t elapsed = hn_clock_ns() - begin;
    if (elapsed < best_ns) best_ns = elapsed;
  }
  atomic_store_explicit(&j->sink, sink, memory_order_relaxed);
  unit->facts.clock_hz = hn_peak_cycles(ROUNDS / 4, &sink) * 1e9 / (double)(best_ns > 0 ? best_ns : 1);
}

hone_status hn_cpu_measure(hone_unit *unit) {
  job j = {.data = NULL};
  hn_pool pool = *unit->pool;
  pool.stop = unit->stop;
  size_t first = 0;
  while (!has(unit, reads[first].isa)) ++first;
  j.read = reads[first].read;
  size_t bytes = 4 * unit->facts.l3_bytes;
  bytes = bytes < READ_LEAST ? READ_LEAST : bytes > READ_MOST ? READ_MOST : bytes;
  const int64_t units = (int64_t)(bytes / sizeof(float)) / READ_UNIT;
  bytes = (size_t)(units * READ_UNIT) * sizeof(float);
  j.data = hn_alloc(&unit->allocator, bytes);
  if (!j.data) return HONE_NO_MEMORY;
  pool.at_least = units; /* fresh memory takes long */
  hn_pool_run(&pool, units, 1, touch_body, &j);
  pool.at_least = 0;
  const hone_facts before = unit->facts;
  measure_clock(unit, &j);
  measure_computing(unit, &pool, &j);
  measure_caches(unit, &pool, &j, bytes);
  pass_over(unit, &pool, HONE_ROOF_MEMORY, (double)bytes, units, drop_body, read_body, &j);
  hn_free(&unit->allocator, j.data, bytes);
  if (!hn_stop_now(unit->stop)) return HONE_OK;
  unit->facts = before; /* parts of it were left out */
  return hn_stop_look(unit->stop);
}
