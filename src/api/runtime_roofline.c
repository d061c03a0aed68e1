/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_roofline.c - rooflines, for users: of a profiled session, of an engine on paper, or formulas alone. */
#include "api/reports.h"
#include "base/arguments.h"
#include "base/file.h"
#include "device/device.h"
#include "report/peaks.h"
#include "report/roofline.h"

enum { MOST_NAMED = 256 };

typedef struct maker {
  hone_roofline_options options;
  hone_report_options report;
  const hone_engine *engine;
  const hone_session *session;
  hn_report_making making;
  hn_text plot;
  hone_diagnostics *diag;
  hn_chips chips;
  hn_json_writer json;
  hone_dtype formula_type;
} maker;

static hone_status take_options(hone_diagnostics *diag, const hone_roofline_options *given,
                                hone_roofline_options *out) {
  HN_OPTIONS(diag, "roofline", given, hone_roofline_options, schedule, out);
  HN_TRY(hn_argument_range(diag, "roofline option width", out->width, 0, 1 << 16));
  HN_TRY(hn_argument_pointers(diag, "roofline option chips", out->chips, out->chip_count, MOST_NAMED));
  if (out->type != HONE_NONE && out->type != HONE_F32 && out->type != HONE_F16 && out->type != HONE_BF16 &&
      out->type != HONE_I8)
    return HN_FAIL(diag, HONE_INVALID, "roofline option type is %s; allowed: none, f32, f16, bf16, i8",
                   hone_dtype_name(out->type));
  if (out->svg_path && out->chip_count > 1)
    return HN_FAIL(diag, HONE_INVALID, "roofline option svg_path: a plot shows one chip, and %d are named",
                   out->chip_count);
  return HONE_OK;
}

/* One roofline, or none where no model was given, and the formulas under the same roofs. */
static void write_one(maker *m, const hn_roofline *roofline, const hn_roof_set *set) {
  if (m->report.json) {
    hn_json_open(&m->json, NULL, '{');
    hn_json_put_int(&m->json, "schema", HONE_JSON_SCHEMA);
  }
  if (m->report.json && roofline)
    hn_roofline_put(roofline, &m->json);
  else if (roofline)
    hn_roofline_write(roofline, &m->report, &m->making.arena, &m->making.text);
  if (m->report.json && !roofline) hn_json_put_text(&m->json, m->options.chip_count ? "chip" : "device", set->name);
  if (m->options.what_if && m->report.json) hn_what_if_put(set, m->formula_type, &m->json);
  if (m->options.what_if && !m->report.json) {
    if (roofline) hn_text_add(&m->making.text, "\n");
    hn_what_if_write(set, m->formula_type, &m->report, &m->making.arena, &m->making.text);
  }
  if (m->report.json) hn_json_close(&m->json, '}');
}

/* Roofs that a device's clock, or the row of a GPU, tells of. */
static hone_status find_theory(maker *m, const hone_facts *facts, double *theory) {
  const hn_peaks_input input = {.facts = facts,
                                .chip = facts->host_memory ? NULL : hn_chips_find(&m->chips, facts->name)};
  hn_text terms;
  hn_text_init(&terms, m->making.arena.allocator);
  for (int r = 0; r < HONE_ROOF_COUNT; ++r) theory[r] = hn_peaks_theory(&input, (hone_roof)r, &terms);
  const bool failed = terms.failed;
  hn_text_deinit(&terms);
  return failed ? HONE_NO_MEMORY : HONE_OK;
}

static hone_status make_measured(maker *m) {
  double theory[HONE_ROOF_COUNT];
  hn_trace trace;
  hn_profile_input input;
  hn_profile *profile;
  hn_roofline roofline;
  HN_TRY(hn_session_profile(m->session, &m->report, &m->making.arena, &trace, &input, m->diag));
  HN_TRY(hn_profile_gather(&input, &m->report, &m->making.arena, &profile));
  HN_TRY(find_theory(m, input.facts, theory));
  HN_TRY(hn_roofline_measured(profile, theory, &m->making.arena, &roofline));
  if (m->options.svg_path) HN_TRY(hn_roofline_plot(&roofline, &m->making.arena, &m->plot));
  write_one(m, &roofline, &roofline.roofs);
  return HONE_OK;
}

static hone_status make_of_device(maker *m) {
  double theory[HONE_ROOF_COUNT];
  hn_roof_set set;
  HN_TRY(find_theory(m, &m->options.device->facts, theory));
  hn_roof_set_measured(&m->options.device->facts, theory, &set);
  write_one(m, NULL, &set);
  return HONE_OK;
}

static hone_status make_on_paper(maker *m, const hn_chip *chip) {
  hn_roofline roofline;
  hn_roof_set set;
  if (!m->engine) {
    hn_roof_set_chip(chip, &set);
    write_one(m, NULL, &set);
    return HONE_OK;
  }
  const hn_plan *plan = m->engine->schedules->plans[m->options.one_schedule ? m->options.schedule : 0];
  hone_shape *opt = HN_NEW(&m->making.arena, hone_shape, plan->input_count + 1);
  int64_t *symbols = HN_NEW(&m->making.arena, int64_t, plan->dims.symbol_count + 1);
  if (!opt || !symbols) return HONE_NO_MEMORY;
  for (int i = 0; i < plan->input_count; ++i) opt[i] = plan->inputs[i].opt;
  HN_TRY(hn_plan_bind_symbols(plan, opt, symbols, m->diag));
  HN_TRY(hn_roofline_on_paper(m->engine->schedules->name, plan, symbols, chip, m->options.type, &m->making.arena,
                              &roofline));
  if (m->options.svg_path) HN_TRY(hn_roofline_plot(&roofline, &m->making.arena, &m->plot));
  write_one(m, &roofline, &roofline.roofs);
  return HONE_OK;
}

static hone_status make(maker *m) {
  const hone_roofline_options *options = &m->options;
  HN_TRY(hn_chips_open(&m->making.arena, m->diag, options->chip_file, &m->chips));
  m->formula_type = options->type == HONE_NONE ? HONE_F32 : options->type;
  hn_json_begin(&m->json, &m->making.text);
  if (options->chip_count == 0) {
    HN_TRY(m->session ? make_measured(m) : make_of_device(m));
  } else if (m->report.json) {
    hn_json_open(&m->json, NULL, '[');
  }
  for (int i = 0; i < options->chip_count; ++i) {
    const hn_chip *chip;
    HN_TRY(hn_chips_named(&m->chips, options->chips[i], m->diag, &chip));
    if (i > 0 && !m->report.json) hn_text_add(&m->making.text, "\n");
    HN_TRY(make_on_paper(m, chip));
  }
  if (options->chip_count > 0 && m->report.json) hn_json_close(&m->json, ']');
  if (m->report.json) hn_text_add(&m->making.text, "\n");
  if (m->making.text.failed || m->plot.failed) return HONE_NO_MEMORY;
  if (!options->svg_path) return HONE_OK;
  return hn_file_replace(m->diag, options->svg_path, hn_text_string(&m->plot), m->plot.length);
}

/* Is there what the options ask about? */
static hone_status check_subject(const maker *m) {
  const hone_roofline_options *options = &m->options;
  if (options->one_schedule && m->engine) HN_TRY(hn_engine_check_schedule(m->engine, options->schedule, m->diag));
  if (m->session || (options->chip_count > 0 && m->engine)) return HONE_OK;
  if (options->svg_path)
    return HN_FAIL(m->diag, HONE_INVALID, "roofline option svg_path: formulas alone are not plotted");
  if (!options->what_if)
    return hn_argument_missing(m->diag, "hone_report_roofline", options->chip_count > 0 ? "engine" : "session");
  if (options->chip_count == 0 && !options->device)
    return HN_FAIL(m->diag, HONE_INVALID, "roofline option device is NULL, and so are session and chips");
  return HONE_OK;
}

hone_status hone_report_roofline(const hone_engine *engine, const hone_session *session,
                                 const hone_roofline_options *given, hone_write_fn write, void *user,
                                 hone_diagnostics *diag) {
  HN_GIVEN(diag, write);
  maker m = {.engine = engine ? engine : session ? session->engine : NULL, .session = session, .diag = diag};
  HN_TRY(take_options(diag, given, &m.options));
  HN_TRY(check_subject(&m));
  m.report = (hone_report_options){.struct_size = sizeof m.report,
                                   .json = m.options.json,
                                   .color = m.options.color,
                                   .width = m.options.width,
                                   .one_schedule = m.options.one_schedule,
                                   .schedule = m.options.schedule};
  const hn_allocator allocator = m.engine ? m.engine->allocator : hn_allocator_default();
  hn_report_begin(&m.making, allocator, diag);
  hn_text_init(&m.plot, allocator);
  const hone_status status = hn_report_end(&m.making, make(&m), write, user);
  hn_text_deinit(&m.plot);
  return status;
}
