/* SPDX-License-Identifier: Apache-2.0 */
/* roofline_text.c - a roofline for people and for programs. */
#include "report/grid.h"
#include "report/roofline.h"
#include <string.h>

static void add_number(hn_grid *grid, double number) {
  if (!(number > 0))
    hn_grid_add(grid, "%s", "-");
  else
    hn_grid_add(grid, number >= 99.95 ? "%.0f" : number >= 0.095 ? "%.1f" : "%.2g", number);
}

static void add_heads(hn_grid *grid, const char *const *heads, size_t count) {
  for (size_t i = 0; i < count; ++i) hn_grid_add(grid, "%s", heads[i]);
}

static void add_cells(hn_grid *grid, const hn_roofline *r, const hn_roofline_row *row) {
  char bound[40];
  hn_bound_text(row->kind, row->unit, row->level, bound, sizeof bound);
  add_number(grid, row->flops * 1e-6);
  hn_grid_add(grid, "%.3f", row->params_bytes * 1e-6);
  hn_grid_add(grid, "%.3f", row->activations_bytes * 1e-6);
  add_number(grid, hn_roofline_intensity(row));
  hn_grid_add(grid, r->on_paper ? "%.3f" : "%.4f", row->time_ns * (r->on_paper ? 1e-3 : 1e-6));
  hn_grid_add(grid, "%.1f", row->percent);
  add_number(grid, hn_roofline_reached(row) * 1e-9);
  if (!r->on_paper) {
    add_number(grid, hn_roofline_roof(row) * 1e-9);
    if (row->floor_ns > 0)
      hn_grid_add(grid, "%.0f%s", hn_percent(row->floor_ns, row->time_ns), row->reason ? "*" : "");
    else
      hn_grid_add(grid, "%s", "-");
  }
  hn_grid_add(grid, "%s", bound);
}

static void write_layers(const hn_roofline *r, const hone_report_options *options, hn_arena *arena, hn_text *out) {
  static const char *const measured[] = {"#",         "layer",   "type", "MFLOP",   "params MB",    "activ. MB",
                                         "FLOP/byte", "time ms", "%",    "GFLOP/s", "roof GFLOP/s", "roof %",
                                         "bound"};
  static const char *const paper[] = {"#",         "layer",   "type", "MFLOP",   "params MB", "activ. MB",
                                      "FLOP/byte", "time us", "%",    "GFLOP/s", "bound"};
  hn_grid grid;
  hn_grid_init(&grid, arena, options, r->on_paper ? "rllrrrrrrrl" : "rllrrrrrrrrrl", r->on_paper ? "caeid" : "caeik");
  if (r->on_paper)
    add_heads(&grid, paper, HN_COUNT(paper));
  else
    add_heads(&grid, measured, HN_COUNT(measured));
  for (int i = 0; i < r->count; ++i) {
    const hn_roofline_row *row = &r->rows[i];
    hn_grid_add(&grid, "%d", i + 1);
    hn_grid_add(&grid, "%s", row->name);
    hn_grid_add(&grid, "%s", row->type);
    add_cells(&grid, r, row);
  }
  hn_grid_write(&grid, out);
  out->failed = out->failed || grid.failed;
}

/* Does a layer compute under this roof? Where products have no units of their own, it is one roof for all. */
static bool uses(const hn_roofline *r, int product, int unit) {
  const bool alike = strcmp(r->roofs.units[0][unit], r->roofs.units[1][unit]) == 0;
  return r->used[product][unit] || (alike && r->used[!product][unit]);
}

/* Operations that a byte must be worth, for each type and each level that it may come from. */
static void write_ridges(const hn_roofline *r, const hone_report_options *options, hn_arena *arena, hn_text *out) {
  char align[2 + HONE_ROOF_COUNT] = "lr";
  size_t columns = 2;
  hn_grid grid;
  for (int level = HONE_ROOF_L1; level < HONE_ROOF_COUNT; ++level)
    if (r->roofs.levels[level] > 0) align[columns++] = 'r';
  align[columns] = 0;
  hn_grid_init(&grid, arena, options, align, "");
  hn_grid_add(&grid, "%s", "ridge points");
  hn_grid_add(&grid, "%s", "GFLOP/s");
  for (int level = HONE_ROOF_L1; level < HONE_ROOF_COUNT; ++level)
    if (r->roofs.levels[level] > 0)
      hn_grid_add(&grid, "%s %.4g GB/s", hone_roof_name((hone_roof)level), r->roofs.levels[level] * 1e-9);
  for (int product = 0; product < 2; ++product)
    for (int unit = 0; unit < HONE_ROOF_L1; ++unit) {
      const double peak = r->roofs.peaks[product][unit];
      if (!(peak > 0) || (product && strcmp(r->roofs.units[0][unit], r->roofs.units[1][unit]) == 0)) continue;
      hn_grid_add(&grid, "%s%s", r->roofs.units[product][unit], uses(r, product, unit) ? " (used)" : "");
      hn_grid_add(&grid, "%.4g", peak * 1e-9);
      for (int level = HONE_ROOF_L1; level < HONE_ROOF_COUNT; ++level)
        if (r->roofs.levels[level] > 0) add_number(&grid, peak / r->roofs.levels[level]);
    }
  hn_text_add(out, "\n");
  if (grid.count > grid.columns)
    hn_grid_write(&grid, out);
  else
    hn_text_add(out, "ridge points: no roofs were measured on this device\n");
  out->failed = out->failed || grid.failed;
}

static void write_reasons(const hn_roofline *r, hn_text *out) {
  for (int i = 0; i < r->count; ++i) {
    const char *reason = r->rows[i].reason;
    bool again = !reason;
    for (int k = 0; k < i && !again; ++k) again = r->rows[k].reason && strcmp(r->rows[k].reason, reason) == 0;
    if (!again) hn_text_printf(out, "* %s\n", reason);
  }
}

static int count_of(const hn_roofline *r, hn_bound_kind kind) {
  int count = 0;
  for (int i = 0; i < r->count; ++i) count += r->rows[i].kind == kind;
  return count;
}

static void write_share(const hn_roofline *r, const char *name, hn_bound_kind kind, double ns, hn_text *out) {
  const int count = count_of(r, kind);
  double sum = 0;
  for (int i = 0; i < r->count; ++i) sum += r->rows[i].time_ns;
  hn_text_printf(out, "%s %d %s, %.1f %% of the layers' time", name, count, count == 1 ? "layer" : "layers",
                 hn_percent(ns, sum));
}

void hn_roofline_write(const hn_roofline *r, const hone_report_options *options, hn_arena *arena, hn_text *out) {
  const hn_roofline_row *whole = &r->whole;
  hn_text_printf(out, "%s on %s", r->model, r->roofs.name);
  if (r->on_paper)
    hn_text_add(out, ", on paper: each layer at its roof\n\n");
  else
    hn_text_printf(out, ", %d %s\n\n", r->threads, r->threads == 1 ? "thread" : "threads");
  write_layers(r, options, arena, out);
  write_reasons(r, out);
  hn_text_printf(out, "\nmodel   %.4g MFLOP, %.4g MB of parameters, %.4g MB of activations: %.4g FLOP/byte\n",
                 whole->flops * 1e-6, whole->params_bytes * 1e-6, whole->activations_bytes * 1e-6,
                 hn_roofline_intensity(whole));
  hn_text_printf(out, "time    %.4f ms, %.4g GFLOP/s", whole->time_ns * 1e-6, hn_roofline_reached(whole) * 1e-9);
  if (!r->on_paper && whole->floor_ns > 0)
    hn_text_printf(out, "; at the layers' roofs %.4f ms: %.0f %%", whole->floor_ns * 1e-6,
                   hn_percent(whole->floor_ns, whole->time_ns));
  write_share(r, "\nbound   compute:", HN_BOUND_COMPUTE, r->compute_ns, out);
  write_share(r, "; memory:", HN_BOUND_MEMORY, r->memory_ns, out);
  if (count_of(r, HN_BOUND_LATENCY) > 0) hn_text_printf(out, "; latency: %d", count_of(r, HN_BOUND_LATENCY));
  hn_text_add(out, "\n");
  write_ridges(r, options, arena, out);
}

/* ---- JSON ---- */

static void put_row(hn_json_writer *w, const hn_roofline *r, const hn_roofline_row *row) {
  static const char *const kinds[] = {NULL, "compute", "memory", "latency"};
  hn_json_put_real(w, "flops", row->flops);
  hn_json_put_real(w, "parameter_bytes", row->params_bytes);
  hn_json_put_real(w, "activation_bytes", row->activations_bytes);
  hn_json_put_real(w, "flop_per_byte", hn_roofline_intensity(row));
  hn_json_put_real(w, "time_ms", row->time_ns * 1e-6);
  hn_json_put_real(w, "percent", row->percent);
  hn_json_put_real(w, "flop_per_second", hn_roofline_reached(row));
  if (row->floor_ns > 0) {
    hn_json_put_real(w, "roof_ms", row->floor_ns * 1e-6);
    hn_json_put_real(w, "roof_flop_per_second", hn_roofline_roof(row));
    hn_json_put_real(w, "roof_percent", hn_percent(row->floor_ns, row->time_ns));
  }
  if (row == &r->whole || row->kind == HN_BOUND_UNKNOWN) return;
  hn_json_put_text(w, "bound", kinds[row->kind]);
  hn_json_put_text(w, "unit", row->unit);
  hn_json_put_text(w, "level", row->level);
  if (row->reason) hn_json_put_text(w, "roof_reason", row->reason);
}

static void put_ridges(hn_json_writer *w, const hn_roofline *r) {
  hn_json_open(w, "ridges", '[');
  for (int product = 0; product < 2; ++product)
    for (int unit = 0; unit < HONE_ROOF_L1; ++unit) {
      const double peak = r->roofs.peaks[product][unit];
      if (!(peak > 0) || (product && strcmp(r->roofs.units[0][unit], r->roofs.units[1][unit]) == 0)) continue;
      for (int level = HONE_ROOF_L1; level < HONE_ROOF_COUNT; ++level) {
        if (!(r->roofs.levels[level] > 0)) continue;
        hn_json_open_flat(w, NULL, '{');
        hn_json_put_text(w, "unit", r->roofs.units[product][unit]);
        hn_json_put_text(w, "level", hone_roof_name((hone_roof)level));
        hn_json_put_real(w, "flop_per_second", peak);
        hn_json_put_real(w, "byte_per_second", r->roofs.levels[level]);
        hn_json_put_real(w, "flop_per_byte", peak / r->roofs.levels[level]);
        hn_json_put_bool(w, "used", uses(r, product, unit));
        hn_json_close(w, '}');
      }
    }
  hn_json_close(w, ']');
}

void hn_roofline_put(const hn_roofline *r, hn_json_writer *w) {
  hn_json_put_text(w, "model", r->model);
  hn_json_put_text(w, r->on_paper ? "chip" : "device", r->roofs.name);
  if (!r->on_paper) hn_json_put_int(w, "threads", r->threads);
  hn_json_open(w, "layers", '[');
  for (int i = 0; i < r->count; ++i) {
    hn_json_open_flat(w, NULL, '{');
    hn_json_put_text(w, "name", r->rows[i].name);
    hn_json_put_text(w, "type", r->rows[i].type);
    hn_json_put_text(w, "class", r->rows[i].report_class);
    put_row(w, r, &r->rows[i]);
    hn_json_close(w, '}');
  }
  hn_json_close(w, ']');
  hn_json_open_flat(w, "whole", '{');
  put_row(w, r, &r->whole);
  hn_json_put_int(w, "compute_bound_layers", count_of(r, HN_BOUND_COMPUTE));
  hn_json_put_int(w, "memory_bound_layers", count_of(r, HN_BOUND_MEMORY));
  hn_json_put_real(w, "compute_bound_ms", r->compute_ns * 1e-6);
  hn_json_put_real(w, "memory_bound_ms", r->memory_ns * 1e-6);
  hn_json_close(w, '}');
  put_ridges(w, r);
}
