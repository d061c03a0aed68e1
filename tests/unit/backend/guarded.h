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

/* data is aligned to 64, so up to 63 bytes lie behind it; they and the first page's rest hold a pattern. */
static guarded guarded_new(size_t bytes) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (bytes + 63) / 64 * 64;
  const size_t whole = (room + 64 + page - 1) / page * page;
  guarded g = {.page_bytes = whole + page, .bytes = bytes};
  g.pages = mmap(NULL, g.page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(g.pages != MAP_FAILED);
  assert_int_equal(mprotect(g.pages + whole, page, PROT_NONE), 0);
  memset(g.pages, 0xa5, whole);
  g.data = g.pages + whole - room;
  memset(g.data, 0xff, bytes);
  return g;
}

static bool guarded_is_whole(const guarded *g) {
  const char *end = g->data + (g->bytes + 63) / 64 * 64;
  for (const char *p = g->pages; p < end; ++p)
    if ((p < g->data || p >= g->data + g->bytes) && (unsigned char)*p != 0xa5) return false;
  return true;
}

static void guarded_free(guarded *g) {
  if (g->pages) munmap(g->pages, g->page_bytes);
  *g = (guarded){0};
}

#endif
