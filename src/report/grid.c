/* SPDX-License-Identifier: Apache-2.0 */
/* grid.c - a table of text. */
#include "report/grid.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void hn_grid_init(hn_grid *grid, hn_arena *arena, const char *align) {
  *grid = (hn_grid){.arena = arena, .align = align, .columns = (int)strlen(align)};
}

/* What tells long names apart stands at both ends. */
static void shorten(char *text, size_t length) {
  enum { HEAD = 28, ROOM = 58 };
  if (length <= ROOM) return;
  const size_t tail = ROOM - HEAD - 2;
  memcpy(text + HEAD, "..", 2);
  memmove(text + HEAD + 2, text + length - tail, tail + 1);
}

void hn_grid_add(hn_grid *grid, const char *format, ...) {
  char text[512];
  va_list list;
  va_start(list, format);
  const int length = vsnprintf(text, sizeof text, format, list);
  va_end(list);
  if (length >= 0) shorten(text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
  const char *copy = hn_arena_text(grid->arena, text);
  if (!copy || !hn_arena_grow(grid->arena, (void **)&grid->cells, &grid->capacity, grid->count + 1, sizeof(char *))) {
    grid->failed = true;
    return;
  }
  grid->cells[grid->count++] = copy;
}

void hn_grid_write(const hn_grid *grid, bool color, hn_text *out) {
  int width[HN_GRID_COLUMNS] = {0};
  for (int i = 0; i < grid->count; ++i) {
    const int length = (int)strlen(grid->cells[i]), column = i % grid->columns;
    if (length > width[column]) width[column] = length;
  }
  for (int i = 0; i < grid->count; ++i) {
    const int column = i % grid->columns;
    const bool last = column == grid->columns - 1;
    if (column == 0) hn_text_add(out, color && i == 0 ? "\033[1m" : "");
    if (grid->align[column] == 'r')
      hn_text_printf(out, "%*s", width[column], grid->cells[i]);
    else if (last)
      hn_text_add(out, grid->cells[i]);
    else
      hn_text_printf(out, "%-*s", width[column], grid->cells[i]);
    hn_text_add(out, last ? (color && i == grid->columns - 1 ? "\033[0m\n" : "\n") : "  ");
  }
  out->failed = out->failed || grid->failed;
}
