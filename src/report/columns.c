/* SPDX-License-Identifier: Apache-2.0 */
/* columns.c - how wide a text is on a terminal. Source: Unicode 15, East Asian Width (W and F are two columns wide) and
 * the marks that stand on the character before them; the ranges are whole blocks, as terminals take them. */
#include "base/letters.h"
#include "report/grid.h"
#include <string.h>

typedef struct range {
  uint32_t first, last;
} range;

static const range wide[] = {
    {0x1100, 0x115f}, {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},   {0x4e00, 0x9fff},
    {0xa000, 0xa4cf}, {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},
    {0xffe0, 0xffe6}, {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
};
static const range none[] = {{0x0300, 0x036f}, {0x200b, 0x200f}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};

static bool is_in(const range *ranges, size_t count, uint32_t code) {
  for (size_t i = 0; i < count; ++i)
    if (code >= ranges[i].first && code <= ranges[i].last) return true;
  return false;
}

size_t hn_text_character(const char *text, int *out_columns) {
  const unsigned char *c = (const unsigned char *)text;
  const size_t bytes = hn_utf8_bytes(c, strnlen(text, 4));
  *out_columns = 1;
  if (bytes < 2) return 1;
  uint32_t code = c[0] & (0x7fu >> bytes);
  for (size_t i = 1; i < bytes; ++i) code = code << 6 | (c[i] & 0x3f);
  if (is_in(wide, HN_COUNT(wide), code)) *out_columns = 2;
  if (is_in(none, HN_COUNT(none), code)) *out_columns = 0;
  return bytes;
}

int hn_text_columns(const char *text) {
  int sum = 0, columns;
  while (*text) {
    text += hn_text_character(text, &columns);
    sum += columns;
  }
  return sum;
}
