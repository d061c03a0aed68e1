/* SPDX-License-Identifier: Apache-2.0 */
/* guard.c - an allocator with a forbidden page behind every block. */
#include "support/guard.h"
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALIGNMENT = 64 };

static size_t page_bytes(void) { return (size_t)sysconf(_SC_PAGESIZE); }
static size_t rounded(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

static void *take(size_t bytes, int pattern) {
  const size_t page = page_bytes();
  if (bytes > SIZE_MAX / 4) return NULL;
  const size_t used = rounded(bytes, page);
  char *pages = mmap(NULL, used + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return NULL;
  if (mprotect(pages + used, page, PROT_NONE) != 0) return NULL;
  char *block = pages + used - rounded(bytes, ALIGNMENT);
  memset(pages, pattern, used);
  return block;
}

static void give(void *block, size_t bytes) {
  const size_t page = page_bytes(), used = rounded(bytes, page);
  char *pages = (char *)block - (used - rounded(bytes, ALIGNMENT));
  (void)munmap(pages, used + page);
}

void *guard_resize(void *user, void *old, size_t old_bytes, size_t new_bytes) {
  void *block = new_bytes ? take(new_bytes, user ? *(const unsigned char *)user : GUARD_PATTERN) : NULL;
  if (new_bytes && !block) return NULL; /* the old block stays */
  if (block && old) memcpy(block, old, old_bytes < new_bytes ? old_bytes : new_bytes);
  if (old) give(old, old_bytes);
  return block;
}
