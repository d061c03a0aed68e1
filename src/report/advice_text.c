/* SPDX-License-Identifier: Apache-2.0 */
/* advice_text.c - advice for people: the pattern, remedies by what they save, what the build removed, the staircase. */
#include "report/advice.h"
#include "report/grid.h"
#include <string.h>

static void write_pattern(const hn_advising *a, hn_text *out) {
  hn_text_printf(out, "pattern     %s: %s\n", hn_pattern_name(a->pattern), a->pattern_text);
}

static void write_layers(const hn_advice_item *item, hn_text *out) {
  enum { NAMED = 3 };
  if (item->layer_count == 0) return;
  for (int i = 0; i < item->layer_count && i < NAMED; ++i)
    hn_text_printf(out, "%s%s", i ? ", " : "     in ", item->layers[i]);
  if (item->layer_count > NAMED) hn_text_printf(out, " and %d more", item->layer_count - NAMED);
  hn_text_add(out, "\n");
}

static void write_item(const hn_advising *a, int number, const hn_advice_item *item, hn_text *out) {
  hn_text_printf(out, "  %d. %s (%s): ", number, item->row->name, item->row->kind);
  if (item->saving_ns > 0)
    hn_text_printf(out, "about %.4f ms, %.1f %% of a run (%.4f to %.4f ms), %s confidence\n", item->saving_ns * 1e-6,
                   hn_percent(item->saving_ns, a->run_ns), item->low_ns * 1e-6, item->high_ns * 1e-6,
                   item->row->confidence);
  else
    hn_text_printf(out, "%s\n",
                   strcmp(item->row->kind, HN_ADVICE_POWER) == 0 ? "energy, no time"
                   : item->timed_share > 0                       ? "no time, as its layers were timed"
                                                                 : "nothing that shows here");
  if (item->timed_share > 0)
    hn_text_printf(out, "     by the times of layers that are %.0f %% of a run, %d of them timed for it\n",
                   100 * item->timed_share, item->timed_layers);
  hn_text_printf(out, "     %s\n     remedy: %s", item->finding, item->row->remedy);
  if (item->flags) hn_text_printf(out, ": %s", item->flags);
  if (!item->row->applies_itself)
    hn_text_printf(out, "%s", item->flags ? " (--apply leaves it to you)" : " (hone cannot do it itself)");
  hn_text_add(out, "\n");
  if (item->row->model_change) hn_text_printf(out, "     in the model: %s\n", item->row->model_change);
  write_layers(item, out);
}

static void write_removed(const hn_advising *a, hn_text *out) {
  bool any = false;
  for (int i = 0; i < a->count; ++i) {
    if (!a->items[i].removed) continue;
    hn_text_printf(out, "%s  %s: %s\n", any ? "" : "\nremoved by the build\n", a->items[i].row->name,
                   a->items[i].finding);
    any = true;
  }
}

static void add_ms(hn_grid *grid, double ns) {
  if (ns > 0)
    hn_grid_add(grid, "%.4f", ns * 1e-6);
  else
    hn_grid_add(grid, "%s", "-");
}

static void add_step(hn_grid *grid, const hone_advice_step *s, bool first) {
  const bool measured = !first && s->measured_ns > 0;
  hn_grid_add(grid, "%s", s->name);
  hn_grid_add(grid, "%s", s->flags ? s->flags : "");
  if (measured)
    add_ms(grid, s->before_ns);
  else
    hn_grid_add(grid, "%s", "");
  if (first)
    hn_grid_add(grid, "%s", "");
  else
    add_ms(grid, s->predicted_ns);
  add_ms(grid, s->measured_ns);
  hn_grid_add(grid, "%+.1f", s->change_percent);
  if (s->error >= 0)
    hn_grid_add(grid, "%.1e", s->error);
  else
    hn_grid_add(grid, "%s", "");
  hn_grid_add(grid, "%s", s->kept ? "yes" : "no");
  if (measured)
    hn_grid_add(grid, "%+.4f to %+.4f", s->low_ns * 1e-6, s->high_ns * 1e-6);
  else
    hn_grid_add(grid, "%s", "");
  if (measured)
    hn_grid_add(grid, "%d of %d", s->timed_nodes - s->known_nodes, s->timed_nodes);
  else
    hn_grid_add(grid, "%s", "");
  hn_grid_add(grid, "%s", s->why ? s->why : "");
}

/* How good the predictions were, and how many rest on nothing that was timed for them. */
static void write_predictions(const hone_advice_step *steps, int count, hn_text *out) {
  int built = 0, fit = 0, told = 0;
  for (int i = 1; i < count; ++i) {
    if (steps[i].measured_ns <= 0) continue;
    ++built;
    fit += hn_advice_step_fits(&steps[i]);
    told += !(steps[i].timed_share > 0);
  }
  if (built > 0)
    hn_text_printf(
        out,
        "%d of %d saved what was predicted, within 30 %% or the measured interval; nothing was timed for %d of the "
        "predictions\n",
        fit, built, told);
}

static void write_staircase(const hn_advising *a, const hone_advice_step *steps, int count, hn_text *out) {
  static const char *const heads[] = {
      "step",  "flags", "beside ms",        "predicted ms", "measured ms", "of the first %",
      "error", "kept",  "95 % interval ms", "new kernels",  "why"};
  if (count == 0) return;
  hn_grid grid;
  hn_grid_init(&grid, a->arena, a->p->options, "llrrrrrllll", "gji");
  for (size_t i = 0; i < HN_COUNT(heads); ++i) hn_grid_add(&grid, "%s", heads[i]);
  for (int i = 0; i < count; ++i) add_step(&grid, &steps[i], i == 0);
  hn_text_add(out, "\nstaircase\n");
  hn_grid_write(&grid, out);
  /* By the changes, each measured beside its own step: a machine that drifts moves both. */
  const double first_ms = steps[0].measured_ns * 1e-6;
  double change = 0;
  hn_text_printf(out, "%.4f", first_ms);
  for (int i = 1; i < count; ++i) {
    if (!steps[i].kept) continue;
    change = steps[i].change_percent;
    hn_text_printf(out, " -> %.4f", first_ms * (1 + change / 100));
  }
  hn_text_printf(out, " ms: %.1f %% less\n", 0 - change);
  write_predictions(steps, count, out);
}

void hn_advice_write_text(const hn_advising *a, const hone_advice_step *steps, int step_count, hn_text *out) {
  const hn_profile *p = a->p;
  hn_text_printf(out, "%s on %s, %d %s: %.4f ms a run\n", p->in->name, p->in->facts->name, p->in->facts->threads,
                 p->in->facts->threads == 1 ? "thread" : "threads", a->run_ns * 1e-6);
  write_pattern(a, out);
  int number = 0;
  for (int i = 0; i < a->count; ++i) {
    if (a->items[i].removed) continue;
    if (number == 0) hn_text_add(out, "\nadvice, by what each would save alone\n");
    write_item(a, ++number, &a->items[i], out);
  }
  if (number == 0) hn_text_add(out, "\nno advice: nothing that is known would save half a percent of a run\n");
  write_removed(a, out);
  write_staircase(a, steps, step_count, out);
}

void hn_advice_write_top(const hn_advising *a, int most, hn_text *out) {
  hn_text_add(out, "\n");
  write_pattern(a, out);
  int number = 0;
  for (int i = 0; i < a->count && number < most; ++i) {
    const hn_advice_item *item = &a->items[i];
    if (item->removed || item->saving_ns <= 0) continue;
    hn_text_printf(out, "%s%d. %s: %s%s%s; about %.4f ms, %.0f %%\n", number ? "            " : "advice      ",
                   number + 1, item->row->name, item->row->remedy, item->flags ? ": " : "",
                   item->flags ? item->flags : "", item->saving_ns * 1e-6, hn_percent(item->saving_ns, a->run_ns));
    ++number;
  }
}
