/* SPDX-License-Identifier: Apache-2.0 */
/* sweep_report.c - what a sweep says: which points are worth choosing, as a table, JSON, CSV and a drawing. */
#include "sweep.h"
#include <math.h>
#include <stdlib.h>

/* ---- which points matter ---- */

static bool is_beaten(const sweep *s, const sweep_point *point) {
  for (int i = 0; i < s->count; ++i) {
    const sweep_point *other = &s->points[i];
    if (other == point || other->code != CLI_EXIT_OK) continue;
    if (other->samples >= point->samples && other->latency_ms <= point->latency_ms &&
        (other->samples > point->samples || other->latency_ms < point->latency_ms || other < point))
      return true;
  }
  return false;
}

/* The frontier's points by latency; how many. */
static int list_frontier(const sweep *s, int out[SWEEP_MOST_POINTS]) {
  int count = 0;
  for (int i = 0; i < s->count; ++i) {
    if (!s->points[i].frontier) continue;
    int at = count++;
    for (; at > 0 && s->points[out[at - 1]].latency_ms > s->points[i].latency_ms; --at) out[at] = out[at - 1];
    out[at] = i;
  }
  return count;
}

static int find_knee(const sweep *s) {
  int order[SWEEP_MOST_POINTS], knee = -1;
  const int count = list_frontier(s, order);
  if (count < 3) return count > 0 ? order[count - 1] : -1;
  const sweep_point *first = &s->points[order[0]], *last = &s->points[order[count - 1]];
  double most = -HUGE_VAL;
  for (int i = 0; i < count; ++i) {
    const sweep_point *point = &s->points[order[i]];
    const double x = (point->latency_ms - first->latency_ms) / (last->latency_ms - first->latency_ms),
                 y = (point->samples - first->samples) / (last->samples - first->samples);
    if (y - x > most) {
      most = y - x;
      knee = order[i];
    }
  }
  return knee;
}

void sweep_judge(sweep *s) {
  s->best = -1;
  for (int i = 0; i < s->count; ++i) {
    sweep_point *point = &s->points[i];
    if (point->code != CLI_EXIT_OK) continue;
    point->frontier = !is_beaten(s, point);
    if ((s->max_latency_ms <= 0 || point->latency_ms <= s->max_latency_ms) &&
        (s->best < 0 || point->samples > s->points[s->best].samples))
      s->best = i;
  }
  s->knee = find_knee(s);
}

/* ---- text ---- */

static void print_table(const sweep *s) {
  char head[32];
  (void)snprintf(head, sizeof head, "p%g ms", s->percentile);
  printf("%7s %8s %12s %10s %10s\n", "batch", "streams", "samples/s", "median ms", head);
  for (int i = 0; i < s->count; ++i) {
    const sweep_point *point = &s->points[i];
    if (point->code != CLI_EXIT_OK) {
      printf("%7lld %8d   failed (exit %d)\n", (long long)point->batch, point->streams, point->code);
      continue;
    }
    printf("%7lld %8d %12.1f %10.3f %10.3f %s%s%s\n", (long long)point->batch, point->streams, point->samples,
           point->median_ms, point->latency_ms, point->frontier ? " *" : "", i == s->knee ? " knee" : "",
           i == s->best ? " best" : "");
  }
  printf(
      "\n*: no other point has as much throughput at less latency; knee: behind it, throughput costs most latency\n");
  if (s->best >= 0) {
    const sweep_point *best = &s->points[s->best];
    printf("best");
    if (s->max_latency_ms > 0) printf(" within %g ms", s->max_latency_ms);
    printf(": batch %lld, %d stream%s: %.1f samples/s, %.3f ms (p%g)\n", (long long)best->batch, best->streams,
           best->streams == 1 ? "" : "s", best->samples, best->latency_ms, s->percentile);
  }
}

static void print_csv(const sweep *s) {
  printf("batch,streams,samples_per_second,median_ms,p%g_ms,frontier,knee,best\n", s->percentile);
  for (int i = 0; i < s->count; ++i) {
    const sweep_point *point = &s->points[i];
    if (point->code != CLI_EXIT_OK) continue;
    printf("%lld,%d,%.9g,%.9g,%.9g,%d,%d,%d\n", (long long)point->batch, point->streams, point->samples,
           point->median_ms, point->latency_ms, point->frontier, i == s->knee, i == s->best);
  }
}

static void print_index(const char *name, int index) {
  if (index >= 0)
    printf(", \"%s\": %d", name, index);
  else
    printf(", \"%s\": null", name);
}

static void print_json(const sweep *s) {
  printf(CLI_JSON_BEGIN "\"model\": ");
  cli_json_text(stdout, s->model);
  printf(", \"percentile\": %g", s->percentile);
  if (s->max_latency_ms > 0) printf(", \"max_latency_ms\": %.9g", s->max_latency_ms);
  printf(", \"points\": [");
  for (int i = 0; i < s->count; ++i) {
    const sweep_point *point = &s->points[i];
    printf("%s{\"batch\": %lld, \"streams\": %d, ", i ? ", " : "", (long long)point->batch, point->streams);
    if (point->code != CLI_EXIT_OK)
      printf("\"exit_code\": %d}", point->code);
    else
      printf("\"samples_per_second\": %.9g, \"median_ms\": %.9g, \"latency_ms\": %.9g, \"frontier\": %s}",
             point->samples, point->median_ms, point->latency_ms, point->frontier ? "true" : "false");
  }
  printf("]");
  print_index("knee", s->knee);
  print_index("best", s->best);
  printf("}\n");
}

void sweep_print(const sweep *s) {
  if (cli_has(s->cli, "json"))
    print_json(s);
  else if (cli_has(s->cli, "csv"))
    print_csv(s);
  else
    print_table(s);
}

/* ---- the drawing: latency to the right, throughput upwards, both from 0 ---- */

enum { WIDTH = 720, HEIGHT = 440, LEFT = 76, RIGHT = 130, TOP = 36, BOTTOM = 52, TICKS = 5 };

typedef struct chart {
  const sweep *of;
  FILE *to;
  double most_ms, most_samples;
} chart;

static double x_of(const chart *c, double ms) { return LEFT + (WIDTH - LEFT - RIGHT) * ms / c->most_ms; }
static double y_of(const chart *c, double samples) {
  return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * samples / c->most_samples;
}

/* 1, 2 or 5 times a power of ten, so that about TICKS of them reach the end. */
static double step_of(double most) {
  const double rough = most / TICKS, power = pow(10, floor(log10(rough)));
  return power * (rough / power > 5 ? 10 : rough / power > 2 ? 5 : rough / power > 1 ? 2 : 1);
}

static void draw_axes(const chart *c) {
  fprintf(c->to, "<path d=\"M%d,%dV%dH%d\" class=\"axis\"/>\n", LEFT, TOP, HEIGHT - BOTTOM, WIDTH - RIGHT);
  for (double ms = 0, step = step_of(c->most_ms); ms <= c->most_ms; ms += step)
    fprintf(c->to, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n", x_of(c, ms), HEIGHT - BOTTOM + 16,
            ms);
  for (double samples = 0, step = step_of(c->most_samples); samples <= c->most_samples; samples += step)
    fprintf(c->to, "<path d=\"M%d,%.1fH%d\" class=\"grid\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
            LEFT, y_of(c, samples), WIDTH - RIGHT, LEFT - 6, y_of(c, samples) + 4, samples);
  fprintf(c->to, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">latency of a batch, p%g, ms</text>\n",
          (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, c->of->percentile);
  fprintf(c->to, "<text x=\"%d\" y=\"20\">samples/s</text>\n", LEFT - 60);
}

static const char *color_of(int streams) {
  static const char *const colors[] = {"#1565a0", "#c2410c", "#2e7d32", "#6a1b9a", "#8d6e00", "#00838f"};
  int at = 0;
  while (streams > 1) streams /= 2, ++at;
  return colors[(size_t)at % CLI_COUNT(colors)];
}

static void draw_points(const chart *c) {
  for (int i = 0; i < c->of->count; ++i) {
    const sweep_point *p = &c->of->points[i];
    if (p->code != CLI_EXIT_OK) continue;
    const double x = x_of(c, p->latency_ms), y = y_of(c, p->samples);
    const bool marked = i == c->of->knee || i == c->of->best;
    fprintf(c->to,
            "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%d\" fill=\"%s\" fill-opacity=\"%s\"><title>batch %lld, %d streams: "
            "%.1f samples/s, %.3f ms</title></circle>",
            x, y, marked ? 6 : 4, color_of(p->streams), p->frontier ? "1" : "0.35", (long long)p->batch, p->streams,
            p->samples, p->latency_ms);
    if (p->frontier || marked)
      fprintf(c->to, "<text x=\"%.1f\" y=\"%.1f\">%lld x %d%s%s</text>\n", x + 8, y + 4, (long long)p->batch,
              p->streams, i == c->of->knee ? ", knee" : "", i == c->of->best ? ", best" : "");
  }
}

static void draw_legend(const chart *c) {
  int row = 0;
  fprintf(c->to, "<text x=\"%d\" y=\"%d\">batch x streams</text>\n", WIDTH - RIGHT + 16, TOP);
  for (int i = 0; i < c->of->count; ++i) {
    const int streams = c->of->points[i].streams;
    bool told = false;
    for (int k = 0; k < i; ++k) told = told || c->of->points[k].streams == streams;
    if (told) continue;
    const int y = TOP + 18 * ++row;
    fprintf(c->to, "<circle cx=\"%d\" cy=\"%d\" r=\"4\" fill=\"%s\"/><text x=\"%d\" y=\"%d\">%d stream%s</text>\n",
            WIDTH - RIGHT + 22, y - 4, color_of(streams), WIDTH - RIGHT + 32, y, streams, streams == 1 ? "" : "s");
  }
}

void sweep_draw(const sweep *s, FILE *to) {
  chart c = {.of = s, .to = to, .most_ms = s->max_latency_ms, .most_samples = 0};
  int order[SWEEP_MOST_POINTS];
  for (int i = 0; i < s->count; ++i) {
    if (s->points[i].code != CLI_EXIT_OK) continue;
    c.most_ms = fmax(c.most_ms, s->points[i].latency_ms);
    c.most_samples = fmax(c.most_samples, s->points[i].samples);
  }
  fprintf(to,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "
          "font-size=\"11\">\n<style>.axis{fill:none;stroke:#888}.grid{stroke:#ddd}.limit{stroke:#c00;"
          "stroke-dasharray:4}.frontier{fill:none;stroke:#444;stroke-width:1.2}</style>\n"
          "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
          WIDTH, HEIGHT);
  if (c.most_ms > 0 && c.most_samples > 0) {
    draw_axes(&c);
    if (s->max_latency_ms > 0)
      fprintf(to, "<path d=\"M%.1f,%dV%d\" class=\"limit\"/>\n", x_of(&c, s->max_latency_ms), TOP, HEIGHT - BOTTOM);
    fprintf(to, "<polyline class=\"frontier\" points=\"");
    for (int i = 0, count = list_frontier(s, order); i < count; ++i)
      fprintf(to, "%s%.1f,%.1f", i ? " " : "", x_of(&c, s->points[order[i]].latency_ms),
              y_of(&c, s->points[order[i]].samples));
    fprintf(to, "\"/>\n");
    draw_points(&c);
    draw_legend(&c);
  }
  fprintf(to, "</svg>\n");
}
