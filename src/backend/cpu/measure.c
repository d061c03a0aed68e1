/* SPDX-License-Identifier: Apache-2.0 */
/* measure.c - the ceilings of a roofline, measured: multiply-adds and reads of main memory by all threads together.
 * The fastest of several passes counts, since other programs only make it slower. */
#include "backend/cpu/cpu.h"
#include "base/clock.h"
#include "kernels/cpu/peak/peak.h"
#include <stdatomic.h>
#include <string.h>

enum { PASSES = 5, UNITS_PER_THREAD = 8 };
#define ROUNDS INT64_C(20000)         /* of a unit: some 50 us */
#define READ_LEAST ((size_t)64 << 20) /* bytes; more where the last cache is larger, */
#define READ_MOST ((size_t)256 << 20) /* up to this */
#define READ_UNIT ((int64_t)1 << 18)  /* floats */

typedef struct job {
  hn_peak_fma_f32_fn *fma;
  hn_peak_read_f32_fn *read;
  float *data;
  int64_t count;
  _Atomic float sink; /* nobody reads it: it keeps the compiler from leaving the loops out */
} job;

/* The first that the unit can run is the fastest. */
static const struct {
  uint32_t isa;
  hn_peak_fma_f32_fn *fma;
  hn_peak_read_f32_fn *read;
} loops[] = {
#ifndef HONE_NO_AVX
    {HONE_ISA_AVX512, hn_peak_fma_f32_avx512, hn_peak_read_f32_avx512},
    {HONE_ISA_AVX2, hn_peak_fma_f32_avx2, hn_peak_read_f32_avx2},
#endif
    {HONE_ISA_C, hn_peak_fma_f32_c, hn_peak_read_f32_c}};

#ifndef HONE_NO_AVX
/* The first of a type that the unit can run is the fastest. */
static const struct {
  uint32_t isa;
  bool is_f16;
  hn_peak_fma_f32_fn *fma;
} half_loops[] = {{HONE_ISA_AMX_BF16, false, hn_peak_halves_amx_bf16},
                  {HONE_ISA_AVX512_BF16, false, hn_peak_halves_avx512_bf16},
                  {HONE_ISA_AVX512_FP16, true, hn_peak_halves_avx512_fp16}};
#endif

static void choose(job *j, uint32_t isa) {
  size_t i = 0;
  while ((isa & loops[i].isa) != loops[i].isa) ++i;
  j->fma = loops[i].fma;
  j->read = loops[i].read;
}

static void fma_body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  job *j = arg;
  float sink = 1;
  (void)j->fma((end - begin) * ROUNDS, &sink);
  atomic_store_explicit(&j->sink, sink, memory_order_relaxed);
}

static void touch_body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  const int64_t first = begin * READ_UNIT, last = end * READ_UNIT;
  memset(j->data + first, 0, (size_t)(last - first) * sizeof(float));
}

static void read_body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  job *j = arg;
  float sink = 0;
  j->read(j->data, begin * READ_UNIT, end * READ_UNIT, &sink);
  atomic_store_explicit(&j->sink, sink, memory_order_relaxed);
}

static int64_t fastest_ns(hn_pool *pool, int64_t units, hn_pool_body body, job *j) {
  int64_t best = INT64_MAX;
  for (int pass = 0; pass < PASSES; ++pass) {
    const int64_t begin = hn_clock_ns();
    hn_pool_run(pool, units, 1, body, j);
    const int64_t elapsed = hn_clock_ns() - begin;
    if (elapsed < best) best = elapsed;
  }
  return best > 0 ? best : 1;
}

/* A second, of all threads. */
static double fma_peak(hn_pool *pool, job *j) {
  const int64_t units = (int64_t)UNITS_PER_THREAD * hn_pool_threads(pool);
  float sink = 1;
  const double flops = j->fma(1, &sink) * (double)ROUNDS * (double)units;
  return flops * 1e9 / (double)fastest_ns(pool, units, fma_body, j);
}

/* 0: it has no instructions for it. */
static double halves_peak(const hone_unit *unit, hn_pool *pool, job *j, bool is_f16) {
#ifndef HONE_NO_AVX
  for (size_t i = 0; i < HN_COUNT(half_loops); ++i) {
    if (half_loops[i].is_f16 != is_f16 || (unit->facts.isa & half_loops[i].isa) != half_loops[i].isa) continue;
    j->fma = half_loops[i].fma;
    return fma_peak(pool, j);
  }
#endif
  (void)unit, (void)pool, (void)j, (void)is_f16;
  return 0;
}

hone_status hn_cpu_measure(hone_unit *unit) {
  job j = {.data = NULL};
  hn_pool pool = *unit->pool;
  pool.stop = unit->stop;
  choose(&j, unit->facts.isa);
  const double flops = fma_peak(&pool, &j);
  double halves[2];
  for (int f16 = 0; f16 < 2; ++f16) halves[f16] = halves_peak(unit, &pool, &j, f16);

  size_t bytes = 4 * unit->facts.l3_bytes;
  bytes = bytes < READ_LEAST ? READ_LEAST : bytes > READ_MOST ? READ_MOST : bytes;
  j.count = (int64_t)(bytes / sizeof(float)) / READ_UNIT;
  bytes = (size_t)(j.count * READ_UNIT) * sizeof(float);
  j.data = hn_alloc(&unit->allocator, bytes);
  if (!j.data) return HONE_NO_MEMORY;
  pool.at_least = j.count; /* fresh memory takes long */
  hn_pool_run(&pool, j.count, 1, touch_body, &j);
  pool.at_least = 0;
  const int64_t read_ns = fastest_ns(&pool, j.count, read_body, &j);
  hn_free(&unit->allocator, j.data, bytes);
  if (hn_stop_now(unit->stop)) return hn_stop_look(unit->stop); /* parts of it were left out */

  unit->facts.peak_flops = flops;
  unit->facts.peak_bf16 = halves[0];
  unit->facts.peak_f16 = halves[1];
  unit->facts.peak_bytes = (double)bytes * 1e9 / (double)read_ns;
  return HONE_OK;
}
