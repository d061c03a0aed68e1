/* SPDX-License-Identifier: Apache-2.0 */
/* sensitivity_plot.c - a line a layer: how far the outputs are with it alone in 8 bits (a bar, on a logarithm's scale)
 * and with all before it (a mark), and beside it what it takes in f32 and in 8 bits. The file needs nothing else, and
 * follows the browser's light or dark. */
#include "report/sensitivity_plot.h"
#include "report/svg.h"
#include <math.h>

enum {
  LINE = 18,
  HEAD = 74,
  FOOT = 30,
  NAME = 260,
  ERROR_LEFT = 276,
  ERROR_WIDTH = 420,
  TIME_LEFT = 740,
  WIDTH = 1180
};
enum { TIME_WIDTH = 300, NAME_COLUMNS = 38, LEAST_POWER = -6 };

static void draw_style(hn_text *out) {
  hn_text_add(out, "<style>\n"
                   "text{font-family:system-ui,'Segoe UI','DejaVu Sans',sans-serif;font-size:11px;fill:#1c2128}\n"
                   ".back{fill:#ffffff}.title{font-size:17px;font-weight:600}.mild{fill:#57606a}\n"
                   ".grid{stroke:#e4e7eb;stroke-width:1}.alone{fill:#1f6fb4}.all{fill:#d1600a}\n"
                   ".f32{fill:#8c959f}.int8{fill:#23894a}.slower{fill:#c1121f}\n"
                   "@media (prefers-color-scheme: dark){\n"
                   "text{fill:#e6edf3}.back{fill:#0d1117}.mild{fill:#9da7b3}.grid{stroke:#2b323b}\n"
                   ".alone{fill:#63aef0}.all{fill:#f59a4a}.f32{fill:#a3abb8}.int8{fill:#5ccb85}.slower{fill:#ff6b6b}\n"
                   "}\n</style>\n");
}

/* Powers of ten that the errors lie between. */
static void find_powers(const hone_sensitivity *alone, const hone_sensitivity *all, int64_t count, int *low,
                        int *high) {
  double least = 1, most = 1e-3;
  for (int64_t i = 0; i < count; ++i) {
    const double smaller = fmin(alone[i].rel_l2, all[i].rel_l2);
    if (smaller > 0) least = fmin(least, smaller);
    most = fmax(most, fmax(alone[i].rel_l2, all[i].rel_l2));
  }
  *low = (int)fmax(floor(log10(least)), LEAST_POWER);
  *high = (int)ceil(log10(fmin(most, 1e6)));
  if (*high <= *low) *high = *low + 1;
}

static double at_error(double error, int low, int high) {
  const double share = error > 0 ? (log10(error) - low) / (high - low) : 0;
  return fmin(fmax(share, 0), 1) * ERROR_WIDTH;
}

static void draw_grid(hn_text *out, int low, int high, int bottom) {
  for (int power = low; power <= high; ++power) {
    const double x = ERROR_LEFT + (double)(power - low) / (high - low) * ERROR_WIDTH;
    hn_text_printf(out, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>", x, x, HEAD - 4, bottom);
    hn_text_printf(out, "<text class=\"mild\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">1e%d</text>\n", x, HEAD - 8,
                   power);
  }
}

static void draw_times(hn_text *out, const hone_layer_time *row, double most_ns, int y) {
  const double f32 = row->f32_ns / most_ns * TIME_WIDTH, int8 = row->int8_ns / most_ns * TIME_WIDTH;
  hn_text_printf(out, "<rect class=\"f32\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"6\"/>", TIME_LEFT, y + 2, f32);
  hn_text_printf(out, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"6\"/>",
                 row->int8_ns > row->f32_ns ? "slower" : "int8", TIME_LEFT, y + 9, int8);
  hn_text_printf(out, "<text class=\"mild\" x=\"%.1f\" y=\"%d\">%.1f to %.1f us%s</text>\n",
                 TIME_LEFT + fmax(f32, int8) + 6, y + 12, row->f32_ns * 1e-3, row->int8_ns * 1e-3,
                 row->shared > 1 ? " (of a fused step)" : "");
}

static void draw_row(hn_text *out, const hone_sensitivity *one, const hone_sensitivity *all, int low, int high, int y,
                     hn_arena *arena) {
  const char *name = hn_svg_shortened(arena, one->layer, NAME_COLUMNS);
  hn_text_printf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", NAME, y + 13);
  hn_svg_escape(out, name ? name : "");
  hn_text_add(out, "</text>");
  hn_text_printf(out, "<rect class=\"alone\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"11\"><title>", ERROR_LEFT, y + 3,
                 at_error(one->rel_l2, low, high));
  hn_svg_escape(out, one->layer);
  hn_text_printf(out, ": %.3g alone, %.3g with all before it; the same largest output on %.1f %%</title></rect>",
                 one->rel_l2, all->rel_l2, 100 * one->top1);
  hn_text_printf(out, "<circle class=\"all\" cx=\"%.1f\" cy=\"%d\" r=\"4\"/>\n",
                 ERROR_LEFT + at_error(all->rel_l2, low, high), y + 8);
}

void hn_sensitivity_plot(const char *title, const hone_sensitivity *alone, const hone_sensitivity *all,
                         const hone_layer_time *times, int64_t count, hn_arena *arena, hn_text *out) {
  const int height = HEAD + LINE * (int)count + FOOT, bottom = height - FOOT;
  double most_ns = 0;
  int low, high;
  find_powers(alone, all, count, &low, &high);
  for (int64_t i = 0; times && i < count; ++i) most_ns = fmax(most_ns, fmax(times[i].f32_ns, times[i].int8_ns));
  hn_text_printf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\">\n", WIDTH, height);
  draw_style(out);
  hn_text_printf(out, "<rect class=\"back\" width=\"%d\" height=\"%d\"/>\n", WIDTH, height);
  hn_text_add(out, "<text class=\"title\" x=\"16\" y=\"28\">");
  hn_svg_escape(out, title);
  hn_text_add(out, ": what 8 bits in each layer do</text>\n");
  hn_text_printf(out,
                 "<text x=\"%d\" y=\"50\">relative L2 of the outputs: <tspan class=\"alone\">alone</tspan>, "
                 "<tspan class=\"all\">with all before it</tspan></text>\n",
                 ERROR_LEFT);
  draw_grid(out, low, high, bottom);
  if (most_ns > 0)
    hn_text_printf(out,
                   "<text x=\"%d\" y=\"50\">time in <tspan class=\"f32\">f32</tspan>, in <tspan class=\"int8\">8 "
                   "bits</tspan>, <tspan class=\"slower\">slower there</tspan></text>\n",
                   TIME_LEFT);
  for (int64_t i = 0; i < count; ++i) {
    draw_row(out, &alone[i], &all[i], low, high, HEAD + LINE * (int)i, arena);
    if (most_ns > 0) draw_times(out, &times[i], most_ns, HEAD + LINE * (int)i);
  }
  hn_text_add(out, "</svg>\n");
}
