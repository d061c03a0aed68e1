/* SPDX-License-Identifier: Apache-2.0 */
/* test_memory.c - the allocator's and the arena's promises: alignment, limits, growth, nothing left behind. */
#include "base/memory.h"
#include "base/checked.h"
#include "unit/base/faults.h"
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

/* The address sanitizer would end the program where the C library returns NULL. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }

static bool is_aligned(const void *block, size_t alignment) { return ((uintptr_t)block & (alignment - 1)) == 0; }

static void test_allocator(void **state) {
  (void)state;
  faults f = {.countdown = -1};
  const hn_allocator a = faults_allocator(&f);
  unsigned char *block = hn_alloc(&a, 100);
  assert_true(is_aligned(block, 64));
  for (int i = 0; i < 100; ++i) block[i] = (unsigned char)i;
  block = hn_resize(&a, block, 100, 1000);
  assert_true(is_aligned(block, 64));
  for (int i = 0; i < 100; ++i) assert_int_equal(block[i], i);
  block = hn_resize(&a, block, 1000, 10);
  for (int i = 0; i < 10; ++i) assert_int_equal(block[i], i);
  hn_free(&a, block, 10);
  void *none = hn_alloc(&a, 0), *other = hn_alloc(&a, 0);
  assert_non_null(none);
  assert_ptr_not_equal(none, other);
  hn_free(&a, other, 0);
  none = hn_resize(&a, none, 0, 0);
  assert_non_null(none);
  hn_free(&a, none, 0);
  hn_free(&a, NULL, 5);
  unsigned char *zero = hn_alloc_zero(&a, 300);
  for (int i = 0; i < 300; ++i) assert_int_equal(zero[i], 0);
  hn_free(&a, zero, 300);
  void *from_null = hn_resize(&a, NULL, 0, 8);
  assert_non_null(from_null);
  hn_free(&a, from_null, 8);
  assert_int_equal(f.live, 0);
  assert_int_equal(f.live_bytes, 0);
}

static void test_too_much(void **state) {
  (void)state;
  const hn_allocator a = hn_allocator_default();
  assert_null(hn_alloc(&a, SIZE_MAX / 2));
  char *small = hn_alloc(&a, 4);
  memcpy(small, "abc", 4);
  assert_null(hn_resize(&a, small, 4, SIZE_MAX / 2));
  assert_string_equal(small, "abc"); /* untouched */
  hn_free(&a, small, 4);
  hn_arena arena;
  hn_arena_init(&arena, a);
  assert_null(hn_arena_alloc(&arena, SIZE_MAX, 16));
  assert_null(hn_arena_alloc(&arena, SIZE_MAX - 64, 64));
  assert_null(hn_arena_zero(&arena, SIZE_MAX / 2, 3));
  assert_null(hn_arena_copy(&arena, "x", SIZE_MAX / 2));
  assert_non_null(hn_arena_alloc(&arena, 1, 1)); /* still usable */
  hn_arena_deinit(&arena);
}

/* The same blocks again after a reset ask the allocator for nothing. */
static void test_arena_reset(void **state) {
  (void)state;
  faults f = {.countdown = -1};
  hn_arena arena;
  hn_arena_init(&arena, faults_allocator(&f));
  hn_arena_reset(&arena);
  long calls = 0;
  for (int round = 0; round < 4; ++round) {
    if (round == 2) calls = f.calls;
    for (size_t bytes = 1; bytes < 3000000; bytes *= 3) memset(hn_arena_alloc(&arena, bytes, 64), round, bytes);
    hn_arena_reset(&arena);
    assert_int_equal(arena.used_bytes, 0);
  }
  assert_int_equal(f.calls, calls);
  hn_arena_deinit(&arena);
  assert_int_equal(f.live, 0);
}

static void test_arena_alignment(void **state) {
  (void)state;
  faults f = {.countdown = -1};
  hn_arena arena;
  hn_arena_init(&arena, faults_allocator(&f));
  for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
    for (size_t bytes = 0; bytes < 9000; bytes = bytes * 3 + 1) {
      unsigned char *block = hn_arena_alloc(&arena, bytes, alignment);
      assert_non_null(block);
      assert_true(is_aligned(block, alignment));
      memset(block, 0x5a, bytes); /* the address sanitizer checks that it is ours */
    }
  }
  hn_arena_deinit(&arena);
  assert_int_equal(f.live, 0);
  assert_int_equal(f.live_bytes, 0);
  assert_int_equal(arena.used_bytes, 0);
  assert_non_null(hn_arena_alloc(&arena, 10, 1)); /* may be used again */
  hn_arena_deinit(&arena);
  assert_int_equal(f.live, 0);
}

/* Blocks never overlap, whatever mix of sizes. */
static void test_arena_blocks_are_apart(void **state) {
  (void)state;
  hn_arena arena;
  hn_arena_init(&arena, hn_allocator_default());
  enum { BLOCKS = 600 };
  static unsigned char *block[BLOCKS];
  size_t bytes[BLOCKS];
  for (int i = 0; i < BLOCKS; ++i) {
    bytes[i] = (size_t)(i * 131 % 997) + (i % 50 == 0 ? 20000 : 0);
    block[i] = hn_arena_alloc(&arena, bytes[i], (size_t)1 << i % 7);
    assert_non_null(block[i]);
    memset(block[i], i & 0xff, bytes[i]);
  }
  for (int i = 0; i < BLOCKS; ++i) {
    for (size_t k = 0; k < bytes[i]; ++k) assert_int_equal(block[i][k], i & 0xff);
  }
  hn_arena_deinit(&arena);
}

static void test_arena_chunks_grow(void **state) {
  (void)state;
  faults f = {.countdown = -1};
  hn_arena arena;
  hn_arena_init(&arena, faults_allocator(&f));
  assert_non_null(hn_arena_alloc(&arena, 1, 1));
  assert_int_equal(f.live_bytes, 4096);
  for (int i = 0; i < 16 << 10; ++i) assert_non_null(hn_arena_alloc(&arena, 1024, 16)); /* 16 MiB */
  assert_true(f.calls < 32);                                                            /* not one call for each */
  assert_true(f.live_bytes < (size_t)18 << 20);                                         /* little waste */
  const long before = f.calls;
  assert_non_null(hn_arena_alloc(&arena, 8 << 20, 64)); /* its own chunk */
  assert_int_equal(f.calls, before + 1);
  assert_non_null(hn_arena_alloc(&arena, 16, 16)); /* the chunk before it still has room */
  assert_int_equal(f.calls, before + 1);
  hn_arena_deinit(&arena);
  assert_int_equal(f.live_bytes, 0);
}

static void test_arena_limit(void **state) {
  (void)state;
  hn_arena arena;
  hn_arena_init(&arena, hn_allocator_default());
  arena.limit_bytes = 1000;
  assert_non_null(hn_arena_alloc(&arena, 600, 16)); /* counts as 608: the next one is aligned, too */
  assert_null(hn_arena_alloc(&arena, 393, 1));
  assert_non_null(hn_arena_alloc(&arena, 392, 1));
  assert_int_equal(arena.used_bytes, 1000);
  assert_null(hn_arena_alloc(&arena, 1, 1));
  assert_null(hn_arena_text(&arena, "more"));
  hn_arena_deinit(&arena);
  assert_non_null(hn_arena_alloc(&arena, 1000, 1));
  hn_arena_deinit(&arena);
}

/* Going back gives the same memory again, whatever the blocks' sizes; older blocks stay as they are. */
static void test_arena_marks(void **state) {
  (void)state;
  faults f = {.countdown = -1};
  hn_arena arena;
  hn_arena_init(&arena, faults_allocator(&f));
  for (int warm = 0; warm < 3; ++warm) {
    char *old = hn_arena_alloc(&arena, 100, 64);
    memset(old, 7, 100);
    const hn_arena_mark mark = hn_arena_here(&arena);
    const long before = f.calls;
    for (int turn = 0; turn < 100; ++turn) {
      for (int i = 0; i < 10; ++i) {
        const size_t bytes = (size_t)1 << (2 * i);
        char *block = hn_arena_alloc(&arena, bytes, 64);
        memset(block, turn, bytes);
        assert_true(hn_arena_is_younger(&arena, &mark, block));
        assert_true(hn_arena_is_younger(&arena, &mark, block + bytes - 1));
      }
      assert_false(hn_arena_is_younger(&arena, &mark, old));
      assert_false(hn_arena_is_younger(&arena, &mark, &arena));
      hn_arena_back(&arena, &mark);
      assert_int_equal(arena.used_bytes, mark.used_bytes);
    }
    assert_true(f.calls - before < (warm ? 1 : 20)); /* not one for each turn; none when all is there */
    assert_true(f.live_bytes < (size_t)4 << 20);
    for (int i = 0; i < 100; ++i) assert_int_equal(old[i], 7);
    hn_arena_reset(&arena);
  }
  const hn_arena_mark start = hn_arena_here(&arena);
  for (size_t turn = 1; turn < 200; ++turn) { /* what grows leaves nothing behind */
    assert_non_null(hn_arena_alloc(&arena, turn << 16, 64));
    hn_arena_back(&arena, &start);
  }
  assert_true(f.live_bytes < (size_t)20 << 20);
  const long grown = f.calls;
  hn_arena_reset(&arena);
  assert_non_null(hn_arena_alloc(&arena, (size_t)199 << 16, 64)); /* a reset keeps the most that was used */
  assert_true(f.calls <= grown + 1);
  hn_arena_deinit(&arena);
  assert_int_equal(f.live_bytes, 0);
}

static void test_arena_text(void **state) {
  (void)state;
  hn_arena arena;
  hn_arena_init(&arena, hn_allocator_default());
  assert_null(hn_arena_text(&arena, NULL));
  assert_string_equal(hn_arena_text(&arena, ""), "");
  assert_string_equal(hn_arena_text(&arena, "abc"), "abc");
  assert_string_equal(hn_arena_printf(&arena, "%s_%d", "conv", 12), "conv_12");
  char *wide = hn_arena_printf(&arena, "%*d", 5000, 7);
  assert_int_equal(strlen(wide), 5000);
  assert_int_equal(wide[4999], '7');
  assert_memory_equal(hn_arena_copy(&arena, "xyz", 3), "xyz", 3);
  assert_non_null(hn_arena_copy(&arena, NULL, 0));
  const int *zeros = HN_NEW(&arena, int, 50);
  for (int i = 0; i < 50; ++i) assert_int_equal(zeros[i], 0);
  hn_arena_deinit(&arena);
}

static void test_arena_list(void **state) {
  (void)state;
  hn_arena arena;
  hn_arena_init(&arena, hn_allocator_default());
  int *list = NULL, capacity = 0;
  for (int i = 0; i < 5000; ++i) {
    assert_true(hn_arena_grow(&arena, (void **)&list, &capacity, i + 1, sizeof *list));
    assert_true(capacity > i);
    list[i] = i * 3;
  }
  for (int i = 0; i < 5000; ++i) assert_int_equal(list[i], i * 3);
  assert_true(hn_arena_grow(&arena, (void **)&list, &capacity, 3, sizeof *list)); /* never shrinks */
  assert_true(capacity >= 5000);
  const int before = capacity;
  assert_false(hn_arena_grow(&arena, (void **)&list, &capacity, INT_MAX, SIZE_MAX / 4)); /* the product overflows */
  assert_int_equal(capacity, before);
  assert_int_equal(list[4999], 4999 * 3);
  hn_arena_deinit(&arena);
}

/* A little of everything; false as soon as something failed. */
static bool use_arena(hn_arena *arena) {
  int *list = NULL, capacity = 0;
  return hn_arena_alloc(arena, 100, 16) && hn_arena_text(arena, "text") && HN_NEW(arena, double, 3000) &&
         hn_arena_printf(arena, "%*d", 9000, 1) && hn_arena_copy(arena, "abc", 3) &&
         hn_arena_grow(arena, (void **)&list, &capacity, 20000, sizeof *list) && hn_arena_alloc(arena, 3 << 20, 4096);
}

static void test_arena_faults(void **state) {
  (void)state;
  for (int at = 0;; ++at) {
    faults f = {.countdown = at};
    hn_arena arena;
    hn_arena_init(&arena, faults_allocator(&f));
    const bool done = use_arena(&arena);
    hn_arena_deinit(&arena);
    assert_int_equal(f.live, 0);
    assert_int_equal(f.live_bytes, 0);
    if (done) {
      assert_true(at >= 4);
      return;
    }
  }
}

static void test_checked(void **state) {
  (void)state;
  size_t size;
  int64_t i;
  assert_true(hn_add_size(SIZE_MAX - 1, 1, &size));
  assert_false(hn_add_size(SIZE_MAX, 1, &size));
  assert_false(hn_mul_size(SIZE_MAX / 2 + 1, 2, &size));
  assert_false(hn_mul_i64(INT64_MIN, -1, &i));
  assert_false(hn_sub_i64(INT64_MIN, 1, &i));
  assert_false(hn_add_i64(INT64_MAX, 1, &i));
  assert_true(hn_align_size(65, 64, &size));
  assert_int_equal(size, 128);
  assert_true(hn_align_size(0, 64, &size));
  assert_int_equal(size, 0);
  assert_false(hn_align_size(SIZE_MAX - 3, 64, &size));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_allocator),
      cmocka_unit_test(test_too_much),
      cmocka_unit_test(test_arena_reset),
      cmocka_unit_test(test_arena_alignment),
      cmocka_unit_test(test_arena_blocks_are_apart),
      cmocka_unit_test(test_arena_chunks_grow),
      cmocka_unit_test(test_arena_limit),
      cmocka_unit_test(test_arena_marks),
      cmocka_unit_test(test_arena_text),
      cmocka_unit_test(test_arena_list),
      cmocka_unit_test(test_arena_faults),
      cmocka_unit_test(test_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
