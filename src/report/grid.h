/* SPDX-License-Identifier: Apache-2.0 */
/* grid.h - a table of text that fits a width: cells are added row by row, columns become as wide as their widest cell.
 * Where that is too wide, in this order: texts are shortened in their middle, the widest column first, down to 16
 * columns; then whole columns are left out, as the grid's `drop` lists them; then texts are shortened to 8; then
 * columns are left out from the right, but the first two. Numbers are never shortened. Columns are those of a terminal:
 * Chinese characters take two, combining marks none. */
#ifndef HN_REPORT_GRID_H
#define HN_REPORT_GRID_H

#include "base/diag.h"
#include "base/memory.h"
#include "base/text.h"
#include <hone/report.h>

enum { HN_GRID_COLUMNS = 18, HN_GRID_WIDTH = 120 /* where nothing is said about it */ };

typedef struct hn_grid {
  hn_arena *arena;
  const char *align; /* one letter a column: l (a text) or r (a number) */
  const char *drop;  /* the columns that may be left out, as letters from a on, the first first */
  int columns, width, count, capacity;
  const char **cells;
  bool failed, color;
} hn_grid;

/* align and drop are borrowed. */
void hn_grid_init(hn_grid *grid, hn_arena *arena, const hone_report_options *options, const char *align,
                  const char *drop);
void hn_grid_add(hn_grid *grid, const char *format, ...) HONE_PRINTF(2, 3);
/* The first row is a heading, in bold when the options want color. Blanks at the ends of lines are left out. */
void hn_grid_write(const hn_grid *grid, hn_text *out);

/* Columns that a text takes on a terminal (columns.c). */
int hn_text_columns(const char *text);
/* One character of it: its bytes, at least 1, and its columns, 0 to 2. */
size_t hn_text_character(const char *text, int *out_columns);

#endif
