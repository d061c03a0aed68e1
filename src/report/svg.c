/* SPDX-License-Identifier: Apache-2.0 */
/* svg.c - texts in plots. */
#include "report/svg.h"
#include "base/letters.h"
#include "report/grid.h"
#include <string.h>

void hn_svg_escape(hn_text *out, const char *text) {
  const unsigned char *at = (const unsigned char *)text;
  for (size_t left = strlen(text); left > 0;) {
    const size_t bytes = hn_utf8_bytes(at, left);
    const bool no_character = bytes == 3 && at[0] == 0xef && at[1] == 0xbf && at[2] >= 0xbe;
    const char *entity = *at == '&'   ? "&amp;"
                         : *at == '<' ? "&lt;"
                         : *at == '>' ? "&gt;"
                         : *at == '"' ? "&quot;"
                                      : NULL;
    if (entity)
      hn_text_add(out, entity);
    else if (bytes == 0 || no_character || *at < 0x20 || *at == 0x7f)
      hn_text_add(out, "?");
    else
      hn_text_add_bytes(out, at, bytes);
    const size_t step = bytes ? bytes : 1;
    at += step;
    left -= step;
  }
}

const char *hn_svg_shortened(hn_arena *arena, const char *name, int most) {
  char *made = hn_arena_text(arena, name);
  if (!made || hn_text_columns(made) <= most) return made;
  int columns = hn_text_columns(made), wide;
  while (columns > most - 2) {
    const size_t bytes = hn_text_character(made, &wide);
    made += bytes;
    columns -= wide;
  }
  hn_text text;
  hn_text_init(&text, arena->allocator);
  hn_text_printf(&text, "..%s", made);
  made = text.failed ? NULL : hn_arena_text(arena, hn_text_string(&text));
  hn_text_deinit(&text);
  return made;
}
