/* SPDX-License-Identifier: Apache-2.0 */
/* peaks.c - the report of peaks: what a device reached beside what its clock and model allow, and where its ridges are:
 * the operations that a byte of memory must be worth before computing is what takes the time. */
#include "base/json.h"
#include "report/grid.h"
#include "report/peaks.h"
#include <hone/device.h>
#include <stdio.h>

typedef struct peaks {
  const hone_report_options *options;
  hn_arena *arena;
  hn_text *out;
  hn_text terms; /* of one row */
} peaks;

static void begin(peaks *p, const hone_report_options *options, hn_arena *arena, hn_text *out) {
  *p = (peaks){.options = options, .arena = arena, .out = out};
  hn_text_init(&p->terms, arena->allocator);
}

static hone_status end(peaks *p, bool failed) {
  failed = failed || p->terms.failed || p->out->failed;
  hn_text_deinit(&p->terms);
  return failed ? HONE_NO_MEMORY : HONE_OK;
}

/* "9.746 TFLOP/s"; of integers TOP/s. */
static void rate_text(double rate, bool whole_numbers, char *out, size_t room) {
  const bool tera = rate >= 1e12;
  (void)snprintf(out, room, "%.4g %s%s", rate * (tera ? 1e-12 : 1e-9), tera ? "T" : "G",
                 whole_numbers ? "OP/s" : "FLOP/s");
}

static bool is_whole(hn_chip_type type) { return type == HN_CHIP_INT8 || type == HN_CHIP_INT4; }

/* ---- chips ---- */

static void write_chip(peaks *p, const hn_chip *chip) {
  const double bandwidth = hn_chip_bandwidth(chip);
  hn_text_printf(p->out, "%s%s%s%s\n", chip->name, *chip->vendor ? " (" : "", chip->vendor, *chip->vendor ? ")" : "");
  hn_text_clear(&p->terms);
  hn_chip_memory_terms(chip, &p->terms);
  hn_text_printf(p->out, "memory  %s = %.4g GB/s\n", hn_text_string(&p->terms), bandwidth * 1e-9);
  if (*chip->note) hn_text_printf(p->out, "note    %s\n", chip->note);
  hn_grid grid;
  hn_grid_init(&grid, p->arena, p->options, "lllrr", "b");
  static const char *const heads[] = {"type", "units", "formula", "peak", "FLOP/byte"};
  for (size_t i = 0; i < HN_COUNT(heads); ++i) hn_grid_add(&grid, "%s", heads[i]);
  for (int path = 0; path < HN_CHIP_PATHS; ++path)
    for (int type = 0; type < HN_CHIP_TYPES; ++type) {
      const double peak = hn_chip_peak(chip, path, type);
      char text[32];
      if (!(peak > 0)) continue;
      hn_text_clear(&p->terms);
      hn_chip_terms(chip, path, type, &p->terms);
      rate_text(peak, is_whole(type), text, sizeof text);
      hn_grid_add(&grid, "%s", hn_chip_type_name(type));
      hn_grid_add(&grid, "%s", hn_chip_path_name(path));
      hn_grid_add(&grid, "%s", hn_text_string(&p->terms));
      hn_grid_add(&grid, "= %s", text);
      hn_grid_add(&grid, "%.1f", peak / bandwidth);
    }
  hn_text_add(p->out, "\n");
  hn_grid_write(&grid, p->out);
  p->out->failed = p->out->failed || grid.failed;
}

static void put_chip(peaks *p, hn_json_writer *w, const hn_chip *chip) {
  const double bandwidth = hn_chip_bandwidth(chip);
  hn_json_open(w, NULL, '{');
  hn_json_put_text(w, "name", chip->name);
  hn_json_put_text(w, "vendor", chip->vendor);
  hn_json_put_text(w, "note", chip->note);
  hn_text_clear(&p->terms);
  hn_chip_memory_terms(chip, &p->terms);
  hn_json_put_real(w, "memory_bytes_per_s", bandwidth);
  hn_json_put_text(w, "memory_terms", hn_text_string(&p->terms));
  hn_json_open(w, "peaks", '[');
  for (int path = 0; path < HN_CHIP_PATHS; ++path)
    for (int type = 0; type < HN_CHIP_TYPES; ++type) {
      const double peak = hn_chip_peak(chip, path, type);
      if (!(peak > 0)) continue;
      hn_text_clear(&p->terms);
      hn_chip_terms(chip, path, type, &p->terms);
      hn_json_open_flat(w, NULL, '{');
      hn_json_put_text(w, "type", hn_chip_type_name(type));
      hn_json_put_text(w, "units", hn_chip_path_name(path));
      hn_json_put_real(w, "ops_per_s", peak);
      hn_json_put_real(w, "ridge_ops_per_byte", peak / bandwidth);
      hn_json_put_text(w, "terms", hn_text_string(&p->terms));
      hn_json_close(w, '}');
    }
  hn_json_close(w, ']');
  hn_json_close(w, '}');
}

hone_status hn_report_chips(const hn_chip *const *chips, int count, const hone_report_options *options, hn_arena *arena,
                            hn_text *out) {
  peaks p;
  begin(&p, options, arena, out);
  hn_json_writer writer, *w = &writer;
  hn_json_begin(w, out);
  if (options->json) hn_json_open(w, NULL, '[');
  for (int i = 0; i < count; ++i) {
    if (options->json) {
      put_chip(&p, w, chips[i]);
    } else {
      if (i > 0) hn_text_add(out, "\n");
      write_chip(&p, chips[i]);
    }
  }
  if (options->json) {
    hn_json_close(w, ']');
    hn_text_add(out, "\n");
  }
  return end(&p, false);
}

/* ---- the list ---- */

static double best_half(const hn_chip *chip) {
  double best = 0;
  static const hn_chip_type halves[] = {HN_CHIP_F16, HN_CHIP_BF16};
  for (int path = HN_CHIP_PLAIN; path <= HN_CHIP_MATRIX; ++path)
    for (size_t i = 0; i < HN_COUNT(halves); ++i) {
      const double peak = hn_chip_peak(chip, path, halves[i]);
      if (peak > best) best = peak;
    }
  return best;
}

static void add_tera(hn_grid *grid, double rate) {
  if (rate > 0)
    hn_grid_add(grid, "%.4g", rate * 1e-12);
  else
    hn_grid_add(grid, "-");
}

static void write_list(peaks *p, const hn_chips *chips) {
  hn_grid grid;
  hn_grid_init(&grid, p->arena, p->options, "lllrrrrl", "cbh");
  static const char *const heads[] = {"chip",        "vendor",         "units",       "GHz",
                                      "f32 TFLOP/s", "16-bit TFLOP/s", "memory GB/s", "aliases"};
  for (size_t i = 0; i < HN_COUNT(heads); ++i) hn_grid_add(&grid, "%s", heads[i]);
  for (int i = 0; i < chips->count; ++i) {
    const hn_chip *chip = &chips->items[i];
    if (hn_chips_find(chips, chip->name) != chip) continue; /* a later row stands before it */
    hn_text_clear(&p->terms);
    for (int k = 0; k < chip->kinds; ++k)
      hn_text_printf(&p->terms, "%s%g %s", k ? " + " : "", chip->units[k], chip->unit_names[k]);
    hn_grid_add(&grid, "%s", chip->name);
    hn_grid_add(&grid, "%s", chip->vendor);
    hn_grid_add(&grid, "%s", hn_text_string(&p->terms));
    hn_grid_add(&grid, "%.4g", chip->clock_ghz[0]);
    add_tera(&grid, hn_chip_peak(chip, HN_CHIP_PLAIN, HN_CHIP_F32));
    add_tera(&grid, best_half(chip));
    hn_grid_add(&grid, "%.4g", hn_chip_bandwidth(chip) * 1e-9);
    hn_grid_add(&grid, "%s", chip->aliases);
  }
  hn_grid_write(&grid, p->out);
  p->out->failed = p->out->failed || grid.failed;
}

hone_status hn_report_chip_list(const hn_chips *chips, const hone_report_options *options, hn_arena *arena,
                                hn_text *out) {
  if (options->json) {
    const hn_chip **all = HN_NEW(arena, const hn_chip *, (size_t)chips->count + 1);
    int count = 0;
    if (!all) return HONE_NO_MEMORY;
    for (int i = 0; i < chips->count; ++i)
      if (hn_chips_find(chips, chips->items[i].name) == &chips->items[i]) all[count++] = &chips->items[i];
    return hn_report_chips(all, count, options, arena, out);
  }
  peaks p;
  begin(&p, options, arena, out);
  write_list(&p, chips);
  return end(&p, false);
}

/* ---- a device ---- */

double hn_peaks_theory(const hn_peaks_input *input, hone_roof roof, hn_text *terms) {
  const hone_facts *facts = input->facts;
  hn_text_clear(terms);
  if (roof < HONE_ROOF_L1 && facts->lanes[roof] > 0 && facts->clock_hz > 0) {
    const hn_chip_rate rate = {.ports = facts->ports[roof], .lanes = facts->lanes[roof]};
    hn_rate_terms(&rate, facts->clock_hz * 1e-9, facts->cores, facts->cores == 1 ? "core" : "cores", terms);
    return facts->clock_hz * facts->cores * rate.ports * rate.lanes * 2;
  }
  if (!input->chip) return 0;
  if (roof == HONE_ROOF_MEMORY) {
    hn_chip_memory_terms(input->chip, terms);
    return hn_chip_bandwidth(input->chip);
  }
  const hn_chip_type type = hn_chip_type_of(roof);
  if (type == HN_CHIP_TYPES) return 0;
  const hn_chip_path path = hn_chip_peak(input->chip, HN_CHIP_MATRIX, type) > 0 ? HN_CHIP_MATRIX : HN_CHIP_PLAIN;
  hn_chip_terms(input->chip, path, type, terms);
  return hn_chip_peak(input->chip, path, type);
}

static double theory(peaks *p, const hn_peaks_input *input, hone_roof roof) {
  return hn_peaks_theory(input, roof, &p->terms);
}

static void roof_text(double rate, hone_roof roof, char *out, size_t room) {
  if (!(rate > 0))
    (void)snprintf(out, room, "-");
  else if (roof >= HONE_ROOF_L1)
    (void)snprintf(out, room, "%.4g GB/s", rate * 1e-9);
  else
    rate_text(rate, roof == HONE_ROOF_INT8, out, room);
}

/* Processors of a virtual machine are often threads of one core, which nothing but a measurement tells. */
static void tell_shared_cores(peaks *p, const hn_peaks_input *input) {
  const hone_facts *facts = input->facts;
  const double most = theory(p, input, HONE_ROOF_F32);
  if (!facts->host_memory || facts->cores < 2 || !(most > 0) || facts->roofs[HONE_ROOF_F32] > 0.75 * most) return;
  hn_text_printf(p->out,
                 "\nin f32 the threads together do what %.1f cores could: several processors may be threads of one "
                 "core, or others use them\n",
                 facts->cores * facts->roofs[HONE_ROOF_F32] / most);
}

static void write_device(peaks *p, const hn_peaks_input *input) {
  const hone_facts *facts = input->facts;
  const double memory = facts->roofs[HONE_ROOF_MEMORY];
  hn_grid grid;
  hn_grid_init(&grid, p->arena, p->options, "lrrrrrl", "c");
  static const char *const heads[] = {"roof", "measured", "spread", "on paper", "reached", "FLOP/byte", "formula"};
  for (size_t i = 0; i < HN_COUNT(heads); ++i) hn_grid_add(&grid, "%s", heads[i]);
  for (int r = 0; r < HONE_ROOF_COUNT; ++r) {
    const double reached = facts->roofs[r], most = theory(p, input, (hone_roof)r);
    char text[32];
    if (!(reached > 0) && !(most > 0)) continue;
    hn_grid_add(&grid, "%s", hone_roof_name((hone_roof)r));
    roof_text(reached, (hone_roof)r, text, sizeof text);
    hn_grid_add(&grid, "%s", text);
    hn_grid_add(&grid, reached > 0 ? "%.1f %%" : "-", 100 * facts->spreads[r]);
    roof_text(most, (hone_roof)r, text, sizeof text);
    hn_grid_add(&grid, "%s", text);
    hn_grid_add(&grid, most > 0 && reached > 0 ? "%.1f %%" : "-", most > 0 ? 100 * reached / most : 0);
    hn_grid_add(&grid, r < HONE_ROOF_L1 && reached > 0 && memory > 0 ? "%.1f" : "-", memory > 0 ? reached / memory : 0);
    hn_grid_add(&grid, "%s", hn_text_string(&p->terms));
  }
  hn_text_printf(p->out, "%s, %d %s", facts->name, facts->threads,
                 !facts->host_memory  ? "multiprocessors"
                 : facts->threads > 1 ? "threads"
                                      : "thread");
  if (facts->host_memory && facts->cores > 0 && facts->cores < facts->threads)
    hn_text_printf(p->out, " on %d cores", facts->cores);
  if (facts->clock_hz > 0) hn_text_printf(p->out, ", a core's clock was %.2f GHz", facts->clock_hz * 1e-9);
  hn_text_printf(p->out, "; %s\n\n", input->cached ? "measured before (--measure: anew)" : "measured now");
  if (grid.count > grid.columns)
    hn_grid_write(&grid, p->out);
  else
    hn_text_add(p->out, "nothing of this device can be measured\n");
  if (input->chip)
    hn_text_printf(p->out, "\non paper: %s; hone peaks --chip '%s'\n", input->chip->name, input->chip->name);
  tell_shared_cores(p, input);
  if (input->note) hn_text_printf(p->out, "\nnote: %s\n", input->note);
  p->out->failed = p->out->failed || grid.failed;
}

static void put_device(peaks *p, const hn_peaks_input *input) {
  const hone_facts *facts = input->facts;
  const double memory = facts->roofs[HONE_ROOF_MEMORY];
  hn_json_writer writer, *w = &writer;
  hn_json_begin(w, p->out);
  hn_json_open(w, NULL, '{');
  hn_json_put_int(w, "schema", HONE_JSON_SCHEMA);
  hn_json_put_text(w, "device", facts->name);
  hn_json_put_text(w, "version", facts->version);
  hn_json_put_int(w, "threads", facts->threads);
  hn_json_put_int(w, "cores", facts->cores);
  hn_json_put_real(w, "clock_hz", facts->clock_hz);
  hn_json_put_bool(w, "cached", input->cached);
  hn_json_put_text(w, "chip", input->chip ? input->chip->name : NULL);
  hn_json_put_text(w, "note", input->note);
  hn_json_open(w, "roofs", '[');
  for (int r = 0; r < HONE_ROOF_COUNT; ++r) {
    const double reached = facts->roofs[r], most = theory(p, input, (hone_roof)r);
    if (!(reached > 0) && !(most > 0)) continue;
    hn_json_open_flat(w, NULL, '{');
    hn_json_put_text(w, "roof", hone_roof_name((hone_roof)r));
    hn_json_put_text(w, "unit", r >= HONE_ROOF_L1 ? "bytes_per_s" : "ops_per_s");
    if (reached > 0) {
      hn_json_put_real(w, "measured", reached);
      hn_json_put_real(w, "spread", facts->spreads[r]);
    }
    if (most > 0) {
      hn_json_put_real(w, "on_paper", most);
      hn_json_put_text(w, "terms", hn_text_string(&p->terms));
    }
    if (most > 0 && reached > 0) hn_json_put_real(w, "reached", reached / most);
    if (r < HONE_ROOF_L1 && reached > 0 && memory > 0) hn_json_put_real(w, "ridge_ops_per_byte", reached / memory);
    hn_json_close(w, '}');
  }
  hn_json_close(w, ']');
  hn_json_close(w, '}');
  hn_text_add(p->out, "\n");
}

hone_status hn_report_peaks(const hn_peaks_input *input, const hone_report_options *options, hn_arena *arena,
                            hn_text *out) {
  peaks p;
  begin(&p, options, arena, out);
  if (options->json)
    put_device(&p, input);
  else
    write_device(&p, input);
  return end(&p, false);
}
