/* SPDX-License-Identifier: Apache-2.0 */
/* roofline_plot.c - a roofline as SVG: both axes logarithmic, roofs as lines, each layer a point whose area is its
 * share of the time. What does no operation has no place on such axes: it stands at the left edge, where the line of
 * its bytes a second begins. The file needs nothing else, and follows the browser's light or dark. */
#include "base/letters.h"
#include "report/grid.h"
#include "report/plot_labels.h"
#include "report/roofline.h"
#include "report/svg.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 1280, HEIGHT = 800, LEFT = 84, RIGHT = 976, TOP = 62, BOTTOM = 734, LEGEND = 996 };
enum { COLORS = 8, LABELS = 20, NAME_COLUMNS = 34 };
#define LETTER 6.2 /* px that a column of a label takes at most, in 11 px sans-serif */

typedef struct plot {
  const hn_roofline *r;
  hn_arena *arena;
  hn_text *out;
  hn_plot_labels labels;
  double low_x, high_x, low_y, high_y; /* powers of ten */
  double best_level, best_peak;        /* the highest roofs that are drawn */
  const char *classes[COLORS];         /* by time; the last one that there is room for is "other" */
  double class_ns[COLORS];
  int class_count;
  const hn_roofline_row **order; /* by time, the longest first */
} plot;

static double at_x(const plot *p, double intensity) {
  return LEFT + (log10(intensity) - p->low_x) / (p->high_x - p->low_x) * (RIGHT - LEFT);
}

static double at_y(const plot *p, double rate) {
  return BOTTOM - (log10(rate) - p->low_y) / (p->high_y - p->low_y) * (BOTTOM - TOP);
}

/* ---- texts ---- */

/* "145.2 GFLOP/s" */
static void rate_text(double rate, const char *unit, char *out, size_t room) {
  static const char *const letters[] = {"", "k", "M", "G", "T", "P"};
  int k = 0;
  while (k < 5 && rate >= 999.5) {
    rate *= 1e-3;
    ++k;
  }
  (void)snprintf(out, room, rate >= 99.5 ? "%.0f %s%s" : "%.3g %s%s", rate, letters[k], unit);
}

/* ---- what is shown ---- */

static bool is_drawn(const hn_roofline *r, int product, int unit) {
  if (!r->used[product][unit] || !(r->roofs.peaks[product][unit] > 0)) return false;
  return !product || !r->used[0][unit] || strcmp(r->roofs.units[0][unit], r->roofs.units[1][unit]) != 0;
}

/* What has no operations is placed by its bytes a second. */
static double height_of(const plot *p, const hn_roofline_row *row, double intensity) {
  if (row->flops > 0) return hn_roofline_reached(row);
  (void)p;
  return row->time_ns > 0 ? hn_roofline_bytes(row) / row->time_ns * 1e9 * intensity : 0;
}

static bool has_point(const hn_roofline_row *row) { return row->time_ns > 0 && hn_roofline_bytes(row) > 0; }

static void widen(double *low, double *high, double value) {
  if (!(value > 0) || !isfinite(value)) return;
  *low = fmin(*low, value);
  *high = fmax(*high, value);
}

static void find_axes(plot *p) {
  const hn_roofline *r = p->r;
  double low = 0.5, high = 20, low_y = INFINITY, high_y = 0;
  for (int level = HONE_ROOF_L1; level < HONE_ROOF_COUNT; ++level)
    p->best_level = fmax(p->best_level, r->roofs.levels[level]);
  for (int product = 0; product < 2; ++product)
    for (int unit = 0; unit < HONE_ROOF_L1; ++unit) {
      if (!is_drawn(r, product, unit)) continue;
      p->best_peak = fmax(p->best_peak, r->roofs.peaks[product][unit]);
      widen(&low_y, &high_y, r->roofs.peaks[product][unit]);
      widen(&low_y, &high_y, r->roofs.theory[unit]);
      if (r->roofs.levels[HONE_ROOF_MEMORY] > 0)
        widen(&low, &high, 4 * r->roofs.peaks[product][unit] / r->roofs.levels[HONE_ROOF_MEMORY]);
    }
  for (int i = 0; i < r->count; ++i) {
    if (!has_point(&r->rows[i])) continue;
    widen(&low, &high, hn_roofline_intensity(&r->rows[i]));
  }
  p->low_x = floor(log10(low) * 4 - 0.5) / 4;
  p->high_x = ceil(log10(high) * 4 + 0.5) / 4;
  for (int i = 0; i < r->count; ++i)
    if (has_point(&r->rows[i])) widen(&low_y, &high_y, height_of(p, &r->rows[i], pow(10, p->low_x)));
  if (!(high_y > 0)) low_y = high_y = 1e9;
  p->low_y = floor(log10(low_y) * 4 - 1) / 4;
  p->high_y = ceil(log10(high_y) * 4 + 1) / 4;
}

static int by_time(const void *a, const void *b) {
  const hn_roofline_row *x = *(const hn_roofline_row *const *)a, *y = *(const hn_roofline_row *const *)b;
  if (x->time_ns != y->time_ns) return x->time_ns < y->time_ns ? 1 : -1;
  return (x > y) - (x < y);
}

static int class_of(const plot *p, const hn_roofline_row *row) {
  for (int i = 0; i < p->class_count; ++i)
    if (strcmp(p->classes[i], row->report_class) == 0) return i;
  return COLORS - 1;
}

static bool find_order(plot *p) {
  const hn_roofline *r = p->r;
  p->order = HN_NEW(p->arena, const hn_roofline_row *, r->count + 1);
  if (!p->order) return false;
  for (int i = 0; i < r->count; ++i) p->order[i] = &r->rows[i];
  if (r->count > 1) qsort(p->order, (size_t)r->count, sizeof *p->order, by_time);
  for (int i = 0; i < r->count; ++i) { /* the class of the longest layer first */
    const hn_roofline_row *row = p->order[i];
    int c = class_of(p, row);
    if (c == COLORS - 1 && p->class_count < COLORS - 1) {
      c = p->class_count++;
      p->classes[c] = row->report_class;
    }
    p->class_ns[c] += row->time_ns;
  }
  return true;
}

/* ---- drawing ---- */

static void draw_style(const plot *p) {
  static const char *const light[COLORS] = {"#1f6fb4", "#d1600a", "#23894a", "#b52d86",
                                            "#6f55c0", "#8a6914", "#0b7f87", "#6b7280"};
  static const char *const dark[COLORS] = {"#63aef0", "#f59a4a", "#5ccb85", "#ee7fc5",
                                           "#ab97f2", "#d6b34d", "#45c9d1", "#a3abb8"};
  hn_text_add(p->out,
              "<style>\n"
              "text{font-family:system-ui,'Segoe UI','DejaVu Sans',sans-serif;font-size:11px;fill:#1c2128}\n"
              ".back{fill:#ffffff}.under{fill:#ffffff;fill-opacity:.82}.title{font-size:17px;font-weight:600}"
              ".axis{font-size:13px}.mild{fill:#57606a}\n"
              ".grid{stroke:#e4e7eb;stroke-width:1}.fine{stroke:#f2f4f6;stroke-width:1}"
              ".frame{fill:none;stroke:#8c959f}\n"
              ".roof{stroke:#24292f;stroke-width:1.8;fill:none}.slant{stroke:#57606a;stroke-width:1.5;fill:none}"
              ".paper{stroke:#57606a;stroke-width:1.3;fill:none;stroke-dasharray:7 5}\n"
              ".ridge{fill:#ffffff;stroke:#24292f;stroke-width:1.5}"
              ".lead{stroke:#8c959f;stroke-width:.8}"
              ".point{fill-opacity:.62;stroke-width:1.2}.whole{fill:none;stroke:#c1121f;stroke-width:2.4}\n");
  for (int i = 0; i < COLORS; ++i) hn_text_printf(p->out, ".c%d{fill:%s;stroke:%s}", i, light[i], light[i]);
  hn_text_add(p->out, "\n@media (prefers-color-scheme: dark){\n"
                      "text{fill:#e6edf3}.back{fill:#0d1117}.under{fill:#0d1117}.mild{fill:#9da7b3}\n"
                      ".grid{stroke:#2b323b}.fine{stroke:#1a2028}.frame{stroke:#6e7681}"
                      ".roof{stroke:#e6edf3}.slant,.paper{stroke:#9da7b3}.ridge{fill:#0d1117;stroke:#e6edf3}"
                      ".lead{stroke:#6e7681}.whole{stroke:#ff6b6b}\n");
  for (int i = 0; i < COLORS; ++i) hn_text_printf(p->out, ".c%d{fill:%s;stroke:%s}", i, dark[i], dark[i]);
  hn_text_add(p->out, "\n}\n</style>\n");
}

static void draw_line(const plot *p, const char *style, double x1, double y1, double x2, double y2) {
  hn_text_printf(p->out, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", style, x1, y1, x2,
                 y2);
}

/* One axis: a line at each decade, fine ones between them. */
static void draw_scale(const plot *p, bool is_x) {
  const double low = is_x ? p->low_x : p->low_y, high = is_x ? p->high_x : p->high_y;
  char text[32];
  for (int decade = (int)floor(low); decade <= (int)ceil(high); ++decade)
    for (int digit = 1; digit < 10; ++digit) {
      const double value = digit * pow(10, decade), place = log10(value);
      if (place < low - 1e-9 || place > high + 1e-9) continue;
      const char *style = digit == 1 ? "grid" : "fine";
      const double at = is_x ? at_x(p, value) : at_y(p, value);
      if (is_x)
        draw_line(p, style, at, TOP, at, BOTTOM);
      else
        draw_line(p, style, LEFT, at, RIGHT, at);
      if (digit > 1) continue;
      if (is_x)
        (void)snprintf(text, sizeof text, "%g", value);
      else
        rate_text(value, "", text, sizeof text);
      hn_text_printf(p->out, "<text class=\"axis\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n",
                     is_x ? at : LEFT - 8, is_x ? BOTTOM + 20 : at + 4, is_x ? "middle" : "end", text);
    }
}

static void draw_frame(const plot *p) {
  const hn_roofline *r = p->r;
  draw_scale(p, true);
  draw_scale(p, false);
  hn_text_printf(p->out, "<rect class=\"frame\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", LEFT, TOP,
                 RIGHT - LEFT, BOTTOM - TOP);
  hn_text_printf(
      p->out,
      "<text class=\"axis\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">arithmetic intensity, FLOP/byte</text>\n"
      "<text class=\"axis\" transform=\"translate(22 %d) rotate(-90)\" text-anchor=\"middle\">%s, "
      "FLOP/s</text>\n<text class=\"title\" x=\"%d\" y=\"36\">",
      (LEFT + RIGHT) / 2, BOTTOM + 46, (TOP + BOTTOM) / 2, r->on_paper ? "at the roof" : "attained", LEFT);
  hn_svg_escape(p->out, r->model);
  hn_text_add(p->out, " on ");
  hn_svg_escape(p->out, r->roofs.name);
  if (r->on_paper)
    hn_text_add(p->out, ", on paper");
  else
    hn_text_printf(p->out, ", %d %s", r->threads, r->threads == 1 ? "thread" : "threads");
  hn_text_add(p->out, "</text>\n");
}

/* A label over a patch of the background. */
static void draw_label(const plot *p, const hn_plot_box *box, const char *text) {
  hn_text_printf(p->out,
                 "<rect class=\"under\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>"
                 "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">",
                 box->x, box->y, box->width, box->height, box->x + box->width / 2, box->y + box->height - 3.5);
  hn_svg_escape(p->out, text);
  hn_text_add(p->out, "</text>\n");
}

/* Along a horizontal roof, from its right end on; over it, or under it. */
static bool label_peak(plot *p, double y, double from_x, const char *text) {
  const double width = hn_text_columns(text) * LETTER + 6;
  for (double right = RIGHT - 4; right - width > from_x; right -= 40)
    for (int under = 0; under < 2; ++under) {
      const hn_plot_box box = {right - width, under ? y + 2 : y - 16, width, 14};
      if (!hn_plot_is_free(&p->labels, &box)) continue;
      draw_label(p, &box, text);
      return hn_plot_take(&p->labels, p->arena, &box);
    }
  return true;
}

static bool draw_peak(plot *p, double rate, const char *name, bool paper) {
  char number[32], text[96];
  const double y = at_y(p, rate), x = p->best_level > 0 ? fmax(LEFT, at_x(p, rate / p->best_level)) : LEFT;
  rate_text(rate, "FLOP/s", number, sizeof number);
  (void)snprintf(text, sizeof text, "%s%s %s", name, paper && !p->r->on_paper ? " on paper" : "", number);
  draw_line(p, paper ? "paper" : "roof", x, y, RIGHT, y);
  return label_peak(p, y, x, text);
}

/* Along a slanted roof, as steep as it is: small boxes keep later labels off. */
static bool label_level(plot *p, double x1, double y1, double x2, double y2, const char *text) {
  const double length = hypot(x2 - x1, y2 - y1), width = hn_text_columns(text) * LETTER + 4;
  const double dx = (x2 - x1) / length, dy = (y2 - y1) / length;
  enum { PARTS = 12 };
  for (double from = 24; from + width < length - 12; from += 30) {
    hn_plot_box boxes[PARTS];
    bool is_free = true;
    for (int i = 0; i < PARTS && is_free; ++i) {
      const double along = from + width * (i + 0.5) / PARTS, x = x1 + dx * along + dy * 9, y = y1 + dy * along - dx * 9;
      boxes[i] = (hn_plot_box){x - 7, y - 7, 14, 14};
      is_free = hn_plot_is_free(&p->labels, &boxes[i]);
    }
    if (!is_free) continue;
    for (int i = 0; i < PARTS; ++i)
      if (!hn_plot_take(&p->labels, p->arena, &boxes[i])) return false;
    const double at = from + width / 2;
    hn_text_printf(
        p->out,
        "<text class=\"mild\" text-anchor=\"middle\" transform=\"translate(%.1f %.1f) rotate(%.2f)\">%s</text>\n",
        x1 + dx * at + dy * 5, y1 + dy * at - dx * 5, atan2(dy, dx) * 57.29577951308232, text);
    return true;
  }
  return true;
}

static bool draw_level(plot *p, double rate, const char *name, bool paper) {
  char number[32], text[96];
  const double low = pow(10, p->low_x), floor_rate = pow(10, p->low_y), top = p->best_peak > 0 ? p->best_peak : rate;
  const double from = fmax(low, floor_rate / rate), to = fmin(pow(10, p->high_x), top / rate);
  if (from >= to) return true;
  const double x1 = at_x(p, from), y1 = at_y(p, from * rate), x2 = at_x(p, to), y2 = at_y(p, to * rate);
  rate_text(rate, "B/s", number, sizeof number);
  (void)snprintf(text, sizeof text, "%s%s %s", name, paper && !p->r->on_paper ? " on paper" : "", number);
  draw_line(p, paper ? "paper" : "slant", x1, y1, x2, y2);
  return label_level(p, x1, y1, x2, y2, text);
}

static bool draw_levels(plot *p) {
  const hn_roof_set *roofs = &p->r->roofs;
  for (int level = HONE_ROOF_L1; level < HONE_ROOF_COUNT; ++level) {
    const char *name = hone_roof_name((hone_roof)level);
    if (roofs->levels[level] > 0 && !draw_level(p, roofs->levels[level], name, p->r->on_paper)) return false;
    if (roofs->theory[level] > 0 && !draw_level(p, roofs->theory[level], name, true)) return false;
  }
  return true;
}

static bool draw_peaks(plot *p) {
  const hn_roof_set *roofs = &p->r->roofs;
  for (int product = 0; product < 2; ++product)
    for (int unit = 0; unit < HONE_ROOF_L1; ++unit) {
      if (!is_drawn(p->r, product, unit)) continue;
      const char *name = roofs->units[product][unit];
      if (!draw_peak(p, roofs->peaks[product][unit], name, p->r->on_paper)) return false;
      if (roofs->theory[unit] > 0 && !draw_peak(p, roofs->theory[unit], name, true)) return false;
    }
  return true;
}

/* draw: else the points' places are taken, which labels keep off. */
static bool each_ridge(plot *p, bool draw) {
  const hn_roof_set *roofs = &p->r->roofs;
  char number[32];
  for (int product = 0; product < 2; ++product)
    for (int unit = 0; unit < HONE_ROOF_L1; ++unit)
      for (int level = HONE_ROOF_L1; level < HONE_ROOF_COUNT; ++level) {
        if (!is_drawn(p->r, product, unit) || !(roofs->levels[level] > 0)) continue;
        const double peak = roofs->peaks[product][unit], at = peak / roofs->levels[level];
        if (log10(at) < p->low_x || log10(at) > p->high_x) continue;
        const double x = at_x(p, at), y = at_y(p, peak);
        const hn_plot_box box = {x - 5, y - 5, 10, 10};
        if (!draw && !hn_plot_take(&p->labels, p->arena, &box)) return false;
        if (!draw) continue;
        rate_text(peak, "FLOP/s", number, sizeof number);
        hn_text_printf(
            p->out,
            "<circle class=\"ridge\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"><title>ridge point of %s and %s: %.3g "
            "FLOP/byte, %s</title></circle>\n",
            x, y, roofs->units[product][unit], hone_roof_name((hone_roof)level), at, number);
      }
  return true;
}

/* ---- points ---- */

typedef struct spot {
  double x, y, radius;
} spot;

/* Area by share: 1 % has a radius of 3.4 px. */
static spot spot_of(const plot *p, const hn_roofline_row *row) {
  spot s = {LEFT, BOTTOM, fmax(2.4, 3.4 * sqrt(row->percent))};
  const double intensity = row->flops > 0 ? hn_roofline_intensity(row) : pow(10, p->low_x);
  const double height = height_of(p, row, intensity);
  if (has_point(row)) s.x = at_x(p, intensity);
  if (has_point(row) && height > 0) s.y = at_y(p, height);
  return s;
}

static void add_tip(plot *p, const hn_roofline_row *row) {
  char bound[40], number[32];
  hn_bound_text(row->kind, row->unit, row->level, bound, sizeof bound);
  rate_text(hn_roofline_reached(row), "FLOP/s", number, sizeof number);
  hn_text_add(p->out, "<title>");
  hn_svg_escape(p->out, row->name);
  hn_text_printf(p->out, " (%s): %.4f ms, %.1f %%; %.4g MFLOP, %.4g MB of parameters, %.4g MB of activations, ",
                 row->type, row->time_ns * 1e-6, row->percent, row->flops * 1e-6, row->params_bytes * 1e-6,
                 row->activations_bytes * 1e-6);
  hn_text_printf(p->out, "%.4g FLOP/byte; %s, %.0f %% of its roof, %s</title>", hn_roofline_intensity(row), number,
                 hn_percent(row->floor_ns, row->time_ns), bound);
}

static void draw_points(plot *p) {
  for (int i = 0; i < p->r->count; ++i) {
    const hn_roofline_row *row = p->order[i];
    const spot s = spot_of(p, row);
    const int color = class_of(p, row);
    if (row->flops > 0)
      hn_text_printf(p->out, "<circle class=\"point c%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\">", color, s.x, s.y,
                     s.radius);
    else
      hn_text_printf(p->out, "<rect class=\"point c%d\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">", color,
                     s.x - 0.886 * s.radius, s.y - 0.886 * s.radius, 1.772 * s.radius, 1.772 * s.radius);
    add_tip(p, row);
    hn_text_add(p->out, row->flops > 0 ? "</circle>\n" : "</rect>\n");
  }
}

static void draw_whole(plot *p) {
  const hn_roofline_row *whole = &p->r->whole;
  if (!(whole->flops > 0) || !has_point(whole)) return;
  const double x = at_x(p, hn_roofline_intensity(whole)), y = at_y(p, hn_roofline_reached(whole));
  hn_text_printf(p->out, "<path class=\"whole\" d=\"M%.1f %.1fl16 16m0 -16l-16 16\">", x - 8, y - 8);
  hn_text_printf(p->out, "<title>the whole model: %.4f ms, %.4g MFLOP, %.4g FLOP/byte, %.4g GFLOP/s</title></path>\n",
                 whole->time_ns * 1e-6, whole->flops * 1e-6, hn_roofline_intensity(whole),
                 hn_roofline_reached(whole) * 1e-9);
}

/* Points keep labels off, whichever layers they are of. */
static bool take_points(plot *p) {
  for (int i = 0; i <= p->r->count; ++i) {
    const bool is_whole = i == p->r->count;
    const hn_roofline_row *row = is_whole ? &p->r->whole : p->order[i];
    spot s = spot_of(p, row);
    if (is_whole) s.radius = 9;
    const hn_plot_box box = {s.x - s.radius, s.y - s.radius, 2 * s.radius, 2 * s.radius};
    if ((!is_whole || has_point(row)) && !hn_plot_take(&p->labels, p->arena, &box)) return false;
  }
  return true;
}

/* A line to the point where the label is not beside it; under all labels. */
static void draw_lead(const plot *p, const spot *s, const hn_plot_box *box) {
  double x, y;
  if (!hn_plot_lead(s->x, s->y, s->radius, box, &x, &y)) return;
  const double part = s->radius / hypot(x - s->x, y - s->y);
  draw_line(p, "lead", s->x + (x - s->x) * part, s->y + (y - s->y) * part, x, y);
}

/* The longest layers' names, as many as there is room for. */
static bool draw_names(plot *p) {
  hn_plot_box boxes[LABELS];
  char texts[LABELS][256];
  int count = 0;
  for (int i = 0; i < p->r->count && i < LABELS; ++i) {
    const hn_roofline_row *row = p->order[i];
    const spot s = spot_of(p, row);
    const char *name = hn_svg_shortened(p->arena, row->name, NAME_COLUMNS);
    hn_plot_box *box = &boxes[count];
    if (!name) return false;
    (void)snprintf(texts[count], sizeof texts[count], "%s %.1f %%", name, row->percent);
    if (!hn_plot_place(&p->labels, s.x, s.y, s.radius, hn_text_columns(texts[count]) * LETTER + 4, 14, box)) continue;
    if (!hn_plot_take(&p->labels, p->arena, box)) return false;
    draw_lead(p, &s, box);
    ++count;
  }
  for (int i = 0; i < count; ++i) draw_label(p, &boxes[i], texts[i]);
  return true;
}

/* ---- the legend ---- */

static void draw_entry(const plot *p, double *y, const char *mark, const char *text, double percent) {
  hn_text_printf(p->out, "<g transform=\"translate(%d %.0f)\">%s<text class=\"axis\" x=\"34\" y=\"4\">", LEGEND, *y,
                 mark);
  hn_svg_escape(p->out, text);
  if (percent >= 0) hn_text_printf(p->out, " <tspan class=\"mild\">%.1f %%</tspan>", percent);
  hn_text_add(p->out, "</text></g>\n");
  *y += 24;
}

static bool has_moves(const hn_roofline *r) {
  for (int i = 0; i < r->count; ++i)
    if (!(r->rows[i].flops > 0)) return true;
  return false;
}

static void draw_legend(const plot *p) {
  double y = TOP + 10, sum = 0;
  char mark[160], text[64];
  for (int i = 0; i < COLORS; ++i) sum += p->class_ns[i];
  hn_text_printf(p->out,
                 "<text class=\"axis\" font-weight=\"600\" x=\"%d\" y=\"%.0f\">layers, by share of the time</text>\n",
                 LEGEND, y + 4);
  y += 26;
  for (int i = 0; i < COLORS; ++i) {
    if (i >= p->class_count && !(p->class_ns[i] > 0)) continue;
    (void)snprintf(mark, sizeof mark, "<circle class=\"point c%d\" cx=\"12\" cy=\"0\" r=\"7\"/>", i);
    draw_entry(p, &y, mark, i < p->class_count ? p->classes[i] : "other classes", hn_percent(p->class_ns[i], sum));
  }
  y += 10;
  static const int shares[] = {1, 5, 25};
  for (size_t i = 0; i < HN_COUNT(shares); ++i) {
    const double radius = 3.4 * sqrt(shares[i]);
    (void)snprintf(mark, sizeof mark, "<circle class=\"frame\" cx=\"12\" cy=\"0\" r=\"%.1f\"/>", radius);
    (void)snprintf(text, sizeof text, "%d %% of the time", shares[i]);
    y += i == 2 ? 8 : 0;
    draw_entry(p, &y, mark, text, -1);
  }
  y += 10;
  if (has_moves(p->r))
    draw_entry(p, &y, "<rect class=\"frame\" x=\"6\" y=\"-6\" width=\"12\" height=\"12\"/>",
               "no operations: by bytes a second", -1);
  draw_entry(p, &y, "<path class=\"whole\" d=\"M4 -8l16 16m0 -16l-16 16\"/>", "the whole model", -1);
  draw_entry(p, &y, "<circle class=\"ridge\" cx=\"12\" cy=\"0\" r=\"3.5\"/>", "ridge point", -1);
  if (!p->r->on_paper) {
    draw_entry(p, &y, "<line class=\"roof\" x1=\"0\" y1=\"0\" x2=\"26\" y2=\"0\"/>", "measured, of computing", -1);
    draw_entry(p, &y, "<line class=\"slant\" x1=\"0\" y1=\"8\" x2=\"26\" y2=\"-8\"/>", "measured, of reading", -1);
  }
  draw_entry(p, &y, "<line class=\"paper\" x1=\"0\" y1=\"0\" x2=\"26\" y2=\"0\"/>", "on paper", -1);
}

hone_status hn_roofline_plot(const hn_roofline *roofline, hn_arena *arena, hn_text *out) {
  plot p = {.r = roofline,
            .arena = arena,
            .out = out,
            .labels.field = {LEFT + 1, TOP + 1, RIGHT - LEFT - 2, BOTTOM - TOP - 2}};
  if (!find_order(&p)) return HONE_NO_MEMORY;
  find_axes(&p);
  hn_text_printf(
      out,
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
      "width=\"%d\" height=\"%d\">\n<title>",
      WIDTH, HEIGHT, WIDTH, HEIGHT);
  hn_svg_escape(out, roofline->model);
  hn_text_add(out, "</title>\n");
  draw_style(&p);
  hn_text_printf(out, "<rect class=\"back\" width=\"%d\" height=\"%d\"/>\n", WIDTH, HEIGHT);
  draw_frame(&p);
  bool ok = take_points(&p) && each_ridge(&p, false) && draw_levels(&p) && draw_peaks(&p);
  draw_points(&p);
  draw_whole(&p);
  ok = ok && each_ridge(&p, true) && draw_names(&p);
  draw_legend(&p);
  hn_text_add(out, "</svg>\n");
  return ok && !out->failed ? HONE_OK : HONE_NO_MEMORY;
}
