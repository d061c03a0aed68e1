/* SPDX-License-Identifier: Apache-2.0 */
/* guarded.h - memory whose end is a page that may not be touched, and whose neighbourhood is looked at. */
#ifndef TEST_GUARDED_H
#define TEST_GUARDED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

typedef struct guarded {
  char *pages, *data;
  size_t page_bytes, bytes;
} guarded;

/* Regions that were given back, by pages: a new one costs faults of its pages, and the sweep takes a million. Those of
 * up to 4 MB are kept, 256 MB in all. */
enum { GUARDED_KEPT_PAGES = 1024, GUARDED_KEPT_EACH = 24, GUARDED_KEPT_ALL = 1 << 16, GUARDED_PATTERN = 0xa5 };
static char *guarded_kept[GUARDED_KEPT_PAGES][GUARDED_KEPT_EACH];
static int guarded_kept_count[GUARDED_KEPT_PAGES];
static size_t guarded_kept_all;

static char *guarded_pages(size_t count, size_t page) {
  if (count < GUARDED_KEPT_PAGES && guarded_kept_count[count]) {
    guarded_kept_all -= count;
    return guarded_kept[count][--guarded_kept_count[count]];
  }
  char *pages = mmap(NULL, (count + 1) * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(pages != MAP_FAILED);
  assert_int_equal(mprotect(pages + count * page, page, PROT_NONE), 0);
  return pages;
}

/* data is aligned to 64, so up to 63 bytes lie behind it; they and the first page's rest hold a pattern. */
static guarded guarded_new(size_t bytes) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (bytes + 63) / 64 * 64;
  const size_t count = (room + 64 + page - 1) / page, whole = count * page;
  guarded g = {.page_bytes = whole + page, .bytes = bytes, .pages = guarded_pages(count, page)};
  g.data = g.pages + whole - room;
  memset(g.pages, GUARDED_PATTERN, whole - room);
  memset(g.data, 0xff, bytes);
  memset(g.data + bytes, GUARDED_PATTERN, room - bytes);
  return g;
}

static bool guarded_holds_pattern(const char *from, const char *to) {
  return from == to ||
         ((unsigned char)*from == GUARDED_PATTERN && memcmp(from, from + 1, (size_t)(to - from) - 1) == 0);
}

static bool guarded_is_whole(const guarded *g) {
  if (!g->pages) return true;
  const char *behind = g->data + g->bytes, *end = g->data + (g->bytes + 63) / 64 * 64;
  return guarded_holds_pattern(g->pages, g->data) && guarded_holds_pattern(behind, end);
}

static void guarded_free(guarded *g) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), count = g->page_bytes / page - 1;
  if (g->pages && count < GUARDED_KEPT_PAGES && guarded_kept_count[count] < GUARDED_KEPT_EACH &&
      guarded_kept_all + count <= GUARDED_KEPT_ALL) {
    guarded_kept_all += count;
    guarded_kept[count][guarded_kept_count[count]++] = g->pages;
  } else if (g->pages)
    munmap(g->pages, g->page_bytes);
  *g = (guarded){0};
}

#endif
