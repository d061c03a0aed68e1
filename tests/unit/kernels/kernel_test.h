/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_test.h - what the kernels' tests share: variants this CPU can run, guarded buffers, seeded numbers, ranges. */
#ifndef HN_TESTS_KERNEL_TEST_H
#define HN_TESTS_KERNEL_TEST_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

/* What a kernel's arguments point at, for kernels in f32. */
static inline const float *as_f32(const void *p) { return p; }

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* Index 0 is the portable variant; entries that this machine cannot run are NULL. */
enum { VARIANTS = 3 };
static const char *const variant_name[VARIANTS] = {"c", "avx2", "avx512"};

#if defined(__x86_64__) && !defined(HONE_NO_AVX)
#define VARIANTS_OF(f)                                                                                                 \
  { f##_c, f##_avx2, f##_avx512 }
static inline int variant_runs(int v) {
  __builtin_cpu_init();
  const int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (v == 2)
    return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return v == 0 || avx2;
}
#else
#define VARIANTS_OF(f)                                                                                                 \
  { f##_c, NULL, NULL }
static inline int variant_runs(int v) { return v == 0; }
#endif

/* A buffer whose last byte is followed by a page that may not be touched, and whose first is preceded by a pattern:
 * an access behind it ends the test at once, a write before it is found by guarded_free. */
typedef struct {
  char *pages, *data;
  size_t page_bytes, bytes;
} guarded;

static inline guarded guarded_new(size_t bytes) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (bytes + 64 + page - 1) / page * page;
  guarded g = {.page_bytes = whole + page, .bytes = bytes};
  g.pages = mmap(NULL, g.page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(g.pages != MAP_FAILED);
  assert_int_equal(mprotect(g.pages + whole, page, PROT_NONE), 0);
  memset(g.pages, 0xa5, whole);
  g.data = g.pages + whole - bytes;
  return g;
}

static inline void guarded_free(guarded *g) {
  for (const char *p = g->pages; p < g->data; ++p) assert_int_equal((unsigned char)*p, 0xa5);
  munmap(g->pages, g->page_bytes);
}

static inline float *floats(const guarded *g) { return (float *)(void *)g->data; }

static inline uint32_t random_next(uint64_t *seed) {
  *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(*seed >> 33);
}
static inline int64_t random_below(uint64_t *seed, int64_t n) { return (int64_t)(random_next(seed) % (uint64_t)n); }
/* In [-scale, scale). */
static inline float random_float(uint64_t *seed, float scale) {
  return ((float)(random_next(seed) & 0xffffff) / 8388608.0F - 1.0F) * scale;
}
static inline guarded random_floats(uint64_t *seed, int64_t n, float scale) {
  guarded g = guarded_new((size_t)n * sizeof(float));
  for (int64_t i = 0; i < n; ++i) floats(&g)[i] = random_float(seed, scale);
  return g;
}

/* Calls run(begin, end) over [0, units) in pieces of random length, the last piece first. */
#define IN_PIECES(seed, units, call)                                                                                   \
  for (int64_t end = (units), begin; end > 0; end = begin) {                                                           \
    begin = end - 1 - random_below(seed, end < 7 ? end : 7);                                                           \
    call;                                                                                                              \
  }

#define CHECK_NEAR(got, want, bound, ...)                                                                              \
  do {                                                                                                                 \
    const double got_ = (got), want_ = (want), bound_ = (bound);                                                       \
    if (!(fabs(got_ - want_) <= bound_) && !(isnan(got_) && isnan(want_)) && !(got_ == want_)) {                       \
      print_error(__VA_ARGS__);                                                                                        \
      fail_msg(": got %.9g, want %.9g, bound %.3g", got_, want_, bound_);                                              \
    }                                                                                                                  \
  } while (0)

#endif
