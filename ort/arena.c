/* SPDX-License-Identifier: Apache-2.0 */
/* arena.c - memory of the provider: blocks that are freed together, bytes that grow, and names with numbers. */
#include "ep.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 16384, ALIGNMENT = 64 };

typedef struct ep_block {
  struct ep_block *older;
  size_t room;
  _Alignas(ALIGNMENT) unsigned char data[];
} ep_block;

void *ep_alloc(ep_arena *arena, size_t count, size_t bytes) {
  size_t total;
  if (__builtin_mul_overflow(count, bytes, &total) || total > SIZE_MAX / 2) return NULL;
  total = (total + ALIGNMENT) / ALIGNMENT * ALIGNMENT; /* one byte more: never empty */
  if (!arena->blocks || arena->blocks->room - arena->used < total) {
    const size_t room = total > BLOCK_BYTES ? total : BLOCK_BYTES;
    ep_block *block = aligned_alloc(ALIGNMENT, sizeof(ep_block) + room);
    if (!block) return NULL;
    block->older = arena->blocks;
    block->room = room;
    arena->blocks = block;
    arena->used = 0;
  }
  void *out = arena->blocks->data + arena->used;
  arena->used += total;
  return memset(out, 0, total);
}

char *ep_copy_text(ep_arena *arena, const char *text) {
  const size_t count = strlen(text) + 1;
  char *copy = ep_alloc(arena, count, 1);
  return copy ? memcpy(copy, text, count) : NULL;
}

void ep_arena_free(ep_arena *arena) {
  while (arena->blocks) {
    ep_block *older = arena->blocks->older;
    free(arena->blocks);
    arena->blocks = older;
  }
  *arena = (ep_arena){0};
}

void ep_bytes_add(ep_bytes *bytes, const void *data, size_t count) {
  if (bytes->failed) return;
  if (bytes->room - bytes->count < count) {
    size_t room;
    bytes->failed = __builtin_add_overflow(bytes->count, count, &room) || room > SIZE_MAX / 2;
    uint8_t *moved = bytes->failed ? NULL : realloc(bytes->data, room * 2);
    bytes->failed = !moved;
    if (!moved) return;
    bytes->data = moved;
    bytes->room = room * 2;
  }
  if (count > 0) memcpy(bytes->data + bytes->count, data, count);
  bytes->count += count;
}

void ep_bytes_printf(ep_bytes *bytes, const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (length > 0) ep_bytes_add(bytes, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

/* FNV-1a. */
static uint64_t hash_of(const char *name) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (; *name; ++name) hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
  return hash ^ hash >> 32;
}

bool ep_names_init(ep_names *names, ep_arena *arena, int most) {
  int room = 16;
  while (room / 2 < most) room *= 2;
  *names = (ep_names){.room = room, .names = EP_NEW(arena, const char *, room), .numbers = EP_NEW(arena, int, room)};
  return names->names && names->numbers;
}

/* Where the name is, or the empty place for it; at least half of them are empty. */
static int place_of(const ep_names *names, const char *name) {
  int at = (int)(hash_of(name) & (uint64_t)(names->room - 1));
  while (names->names[at] && strcmp(names->names[at], name) != 0) at = (at + 1) & (names->room - 1);
  return at;
}

int ep_names_get(const ep_names *names, const char *name) {
  const int at = place_of(names, name);
  return names->names[at] ? names->numbers[at] : -1;
}

void ep_names_put(ep_names *names, const char *name, int number) {
  const int at = place_of(names, name);
  names->count += !names->names[at];
  names->names[at] = name;
  names->numbers[at] = number;
}
