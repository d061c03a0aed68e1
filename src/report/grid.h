/* SPDX-License-Identifier: Apache-2.0 */
/* grid.h - a table of text: cells are added row by row, columns become as wide as their widest cell. */
#ifndef HN_REPORT_GRID_H
#define HN_REPORT_GRID_H

#include "base/memory.h"
#include "base/text.h"

enum { HN_GRID_COLUMNS = 12 }; /* cells of more than 58 bytes lose their middle */

typedef struct hn_grid {
  hn_arena *arena;
  const char *align; /* one letter a column: l or r */
  int columns, count, capacity;
  const char **cells;
  bool failed;
} hn_grid;

void hn_grid_init(hn_grid *grid, hn_arena *arena, const char *align);
void hn_grid_add(hn_grid *grid, const char *format, ...) HONE_PRINTF(2, 3);
/* The first row is a heading, in bold when color. */
void hn_grid_write(const hn_grid *grid, bool color, hn_text *out);

#endif
