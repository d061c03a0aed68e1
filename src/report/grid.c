/* SPDX-License-Identifier: Apache-2.0 */
/* grid.c - a table of text that fits a width. */
#include "report/grid.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SHORT = 16, SHORTEST = 8, GAP = 2 };

void hn_grid_init(hn_grid *grid, hn_arena *arena, const hone_report_options *options, const char *align,
                  const char *drop) {
  *grid = (hn_grid){.arena = arena,
                    .align = align,
                    .drop = drop,
                    .columns = (int)strlen(align),
                    .width = options->width > 0 ? options->width : HN_GRID_WIDTH,
                    .color = options->color};
}

void hn_grid_add(hn_grid *grid, const char *format, ...) {
  char text[512];
  va_list list;
  va_start(list, format);
  (void)vsnprintf(text, sizeof text, format, list);
  va_end(list);
  for (char *c = text; *c; ++c) /* names come from files: no control characters on terminals */
    if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
  const char *copy = hn_arena_text(grid->arena, text);
  if (!copy || !hn_arena_grow(grid->arena, (void **)&grid->cells, &grid->capacity, grid->count + 1, sizeof(char *))) {
    grid->failed = true;
    return;
  }
  grid->cells[grid->count++] = copy;
}

/* ---- how wide each column is; -1: it is left out ---- */

static int total(const hn_grid *grid, const int *width) {
  int sum = -GAP;
  for (int c = 0; c < grid->columns; ++c)
    if (width[c] >= 0) sum += width[c] + GAP;
  return sum;
}

/* Shortens texts, the widest column first, down to `least`. */
static void squeeze(const hn_grid *grid, int *width, int least) {
  for (int over = total(grid, width) - grid->width; over > 0; --over) {
    int widest = -1;
    for (int c = 0; c < grid->columns; ++c)
      if (grid->align[c] == 'l' && width[c] > least && (widest < 0 || width[c] > width[widest])) widest = c;
    if (widest < 0) return;
    --width[widest];
  }
}

static void lay_out(const hn_grid *grid, int *width) {
  int natural[HN_GRID_COLUMNS] = {0};
  for (int i = 0; i < grid->count; ++i) {
    const int columns = hn_text_columns(grid->cells[i]), c = i % grid->columns;
    if (columns > natural[c]) natural[c] = columns;
  }
  for (const char *drop = grid->drop;; ++drop) {
    memcpy(width, natural, sizeof natural);
    squeeze(grid, width, SHORT);
    if (total(grid, width) <= grid->width || !*drop) break;
    natural[*drop - 'a'] = -1;
  }
  squeeze(grid, width, SHORTEST);
  /* What a reader of a narrow terminal misses least stands on the right. */
  for (int c = grid->columns - 1; c > 1 && total(grid, width) > grid->width; --c) width[c] = -1;
}

/* ---- writing ---- */

/* What tells long names apart stands at both ends. Returns the columns that were written. */
static int write_short(const char *text, int room, hn_text *out) {
  const int all = hn_text_columns(text), head_room = (room - 2 + 1) / 2, tail_room = room - 2 - head_room;
  if (all <= room) {
    hn_text_add(out, text);
    return all;
  }
  int columns, head = 0, left;
  size_t begin = 0, bytes = hn_text_character(text, &columns);
  for (; head + columns <= head_room; bytes = hn_text_character(text + begin, &columns)) {
    head += columns;
    begin += bytes;
  }
  const char *end = text + begin;
  for (left = all - head; *end && (left > tail_room || columns == 0); left -= columns)
    end += hn_text_character(end, &columns);
  hn_text_add_bytes(out, text, begin);
  hn_text_add(out, "..");
  hn_text_add(out, end);
  return head + 2 + left;
}

static void write_row(const hn_grid *grid, const char *const *cells, const int *width, hn_text *out) {
  int blanks = 0; /* owed: they are written before the next text only */
  for (int c = 0; c < grid->columns; ++c) {
    if (width[c] < 0) continue;
    const int columns = hn_text_columns(cells[c]), rest = columns < width[c] ? width[c] - columns : 0;
    const bool right = grid->align[c] == 'r';
    if (right) blanks += rest;
    if (*cells[c]) {
      hn_text_printf(out, "%*s", blanks, "");
      blanks = 0;
      const int written = right ? columns : write_short(cells[c], width[c], out);
      if (right) hn_text_add(out, cells[c]);
      if (!right) blanks = width[c] > written ? width[c] - written : 0;
    } else if (!right) {
      blanks += width[c];
    }
    blanks += GAP;
  }
}

void hn_grid_write(const hn_grid *grid, hn_text *out) {
  int width[HN_GRID_COLUMNS];
  lay_out(grid, width);
  for (int i = 0; i + grid->columns <= grid->count; i += grid->columns) {
    if (grid->color && i == 0) hn_text_add(out, "\033[1m");
    write_row(grid, &grid->cells[i], width, out);
    hn_text_add(out, grid->color && i == 0 ? "\033[0m\n" : "\n");
  }
  out->failed = out->failed || grid->failed;
}
