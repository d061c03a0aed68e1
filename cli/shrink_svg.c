/* SPDX-License-Identifier: Apache-2.0 */
/* shrink_svg.c - staircases as small charts beside each other. */
#include "shrink.h"

enum { COLUMNS = 4, CELL_WIDTH = 260, CELL_HEIGHT = 150, LEFT = 44, RIGHT = 10, TOP = 34, BOTTOM = 24 };

static void escape(const char *text, int most, FILE *to) {
  for (int i = 0; text[i] && i < most; ++i) {
    if (text[i] == '<')
      fputs("&lt;", to);
    else if (text[i] == '&')
      fputs("&amp;", to);
    else if ((unsigned char)text[i] >= ' ')
      fputc(text[i], to);
  }
}

static double x_of(const hone_shrink_stairs *s, int64_t width) {
  return LEFT + (CELL_WIDTH - LEFT - RIGHT) * (double)width / (double)s->full;
}

static double y_of(const hone_shrink_stairs *s, double ns, double most_ns) {
  (void)s;
  return CELL_HEIGHT - BOTTOM - (CELL_HEIGHT - TOP - BOTTOM) * ns / most_ns;
}

static void draw(const hone_shrink_stairs *s, FILE *to) {
  double most = 0;
  for (int i = 0; i < s->count; ++i)
    if (s->steps[i].ns > most) most = s->steps[i].ns;
  fprintf(to, "<text x=\"8\" y=\"14\" class=\"name\">");
  escape(s->layer, 40, to);
  fprintf(to, "</text><text x=\"8\" y=\"27\">%s, %lld %s</text>\n", s->op, (long long)s->full,
          s->inputs ? "inputs" : "outputs");
  if (most <= 0) return;
  fprintf(to, "<path d=\"M%d,%dV%dH%d\" class=\"axis\"/>", LEFT, TOP, CELL_HEIGHT - BOTTOM, CELL_WIDTH - RIGHT);
  fprintf(to, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.3g us</text>\n", LEFT - 4, TOP + 4, most * 1e-3);
  fprintf(to, "<polyline class=\"time\" points=\"");
  for (int i = 0; i < s->count; ++i)
    if (s->steps[i].ns > 0)
      fprintf(to, "%s%.1f,%.1f", i ? " " : "", x_of(s, s->steps[i].width), y_of(s, s->steps[i].ns, most));
  fprintf(to, "\"/>\n");
  for (int i = 0; i < s->count; ++i) {
    if (s->steps[i].ns <= 0 || (!s->steps[i].edge && i > 0)) continue;
    const double x = x_of(s, s->steps[i].width);
    fprintf(to, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%g\" class=\"edge\"/>", x, y_of(s, s->steps[i].ns, most),
            i > 0 && i == s->next ? 4.5 : 2.5);
    if (i == 0 || i == s->next)
      fprintf(to, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%lld</text>\n", x, CELL_HEIGHT - 8,
              (long long)s->steps[i].width);
  }
}

void cli_stairs_svg(const cli_stairs_list *list, FILE *to) {
  int cells = 0;
  for (int i = 0; i < list->count; ++i) cells += !list->items[i].stairs.like;
  const int rows = (cells + COLUMNS - 1) / COLUMNS;
  fprintf(
      to,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "
      "font-size=\"10\">\n<style>.axis{fill:none;stroke:#888}.time{fill:none;stroke:#1565a0;stroke-width:1.5}"
      ".edge{fill:#c2410c}.name{font-weight:bold}</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
      COLUMNS * CELL_WIDTH, rows * CELL_HEIGHT);
  for (int i = 0, at = 0; i < list->count; ++i) {
    if (list->items[i].stairs.like) continue;
    fprintf(to, "<g transform=\"translate(%d,%d)\">", at % COLUMNS * CELL_WIDTH, at / COLUMNS * CELL_HEIGHT);
    draw(&list->items[i].stairs, to);
    fprintf(to, "</g>\n");
    ++at;
  }
  fprintf(to, "</svg>\n");
}
