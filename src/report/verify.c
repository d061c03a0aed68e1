/* SPDX-License-Identifier: Apache-2.0 */
/* verify.c - the report of a verification. */
#include "base/json.h"
#include "report/grid.h"
#include "report/report.h"

static bool is_over(const hn_verified_step *row) { return !row->left_out && !(row->error <= row->bound); }

static void write_text(const hn_plan *plan, const hn_verified_step *rows, const hone_report_options *options,
                       hn_arena *arena, hn_text *out) {
  hn_grid grid;
  hn_grid_init(&grid, arena, options, "lllrrrl", "dc");
  static const char *const heads[] = {"step", "type", "tactic", "compared", "error", "bound", ""};
  for (size_t i = 0; i < HN_COUNT(heads); ++i) hn_grid_add(&grid, "%s", heads[i]);
  int run = 0, over = 0, left_out = 0;
  double worst = 0;
  for (int s = 0; s < plan->step_count; ++s) {
    const hn_plan_step *step = &plan->steps[s];
    if (rows[s].left_out) {
      left_out += hn_step_runs(step);
      if (hn_step_runs(step) && !hn_step_is_reference(step))
        hn_text_printf(out, "step %s is left out: %s\n", step->name, rows[s].left_out);
      continue;
    }
    ++run;
    over += is_over(&rows[s]);
    if (rows[s].error > worst) worst = rows[s].error;
    hn_grid_add(&grid, "%s", step->name);
    hn_grid_add(&grid, "%s", hn_step_type(step));
    hn_grid_add(&grid, "%s", step->tactic->name);
    hn_grid_add(&grid, "%lld", (long long)rows[s].compared);
    hn_grid_add(&grid, "%.2e", rows[s].error);
    hn_grid_add(&grid, "%.0e", rows[s].bound);
    hn_grid_add(&grid, "%s", is_over(&rows[s]) ? "OVER ITS BOUND" : "");
  }
  hn_grid_write(&grid, out);
  hn_text_printf(out,
                 "\nweights are intact; %d steps compared, the largest error is %.2e; %d over their bound; %d on "
                 "the reference or left out\n",
                 run, worst, over, left_out);
}

/* The steps of one schedule. Returns how many are over their bound. */
static int put_schedule(hn_json_writer *w, const hn_plan *plan, int number, const hn_verified_step *rows) {
  int over = 0;
  hn_json_open(w, NULL, '{');
  hn_json_put_int(w, "schedule", number);
  hn_json_open(w, "steps", '[');
  for (int s = 0; s < plan->step_count; ++s) {
    const hn_plan_step *step = &plan->steps[s];
    if (!hn_step_runs(step)) continue;
    hn_json_open_flat(w, NULL, '{');
    hn_json_put_text(w, "name", step->name);
    hn_json_put_text(w, "type", hn_step_type(step));
    if (rows[s].left_out) {
      hn_json_put_text(w, "left_out", rows[s].left_out);
    } else {
      hn_json_put_text(w, "tactic", step->tactic->name);
      hn_json_put_int(w, "compared", rows[s].compared);
      hn_json_put_real(w, "error_rel_l2", rows[s].error);
      hn_json_put_real(w, "bound", rows[s].bound);
      hn_json_put_bool(w, "within", !is_over(&rows[s]));
      over += is_over(&rows[s]);
    }
    hn_json_close(w, '}');
  }
  hn_json_close(w, ']');
  hn_json_put_int(w, "over", over);
  hn_json_close(w, '}');
  return over;
}

static void write_json(const hn_schedules *schedules, hn_verified_step *const *rows, hn_text *out) {
  hn_json_writer writer, *w = &writer;
  int over = 0;
  hn_json_begin(w, out);
  hn_json_open(w, NULL, '{');
  hn_json_put_int(w, "schema", HONE_JSON_SCHEMA);
  hn_json_put_text(w, "engine", schedules->name);
  hn_json_open(w, "schedules", '[');
  for (int k = 0; k < schedules->count; ++k)
    if (rows[k]) over += put_schedule(w, schedules->plans[k], k, rows[k]);
  hn_json_close(w, ']');
  hn_json_put_int(w, "over", over);
  hn_json_put_bool(w, "within", over == 0);
  hn_json_close(w, '}');
  hn_text_add(out, "\n");
}

void hn_report_verify(const hn_schedules *schedules, hn_verified_step *const *rows, const hone_report_options *options,
                      hn_arena *arena, hn_text *out) {
  if (options->json) {
    write_json(schedules, rows, out);
    return;
  }
  for (int k = 0; k < schedules->count; ++k) {
    if (!rows[k]) continue;
    if (schedules->count > 1) hn_text_printf(out, "%sschedule %d\n", k ? "\n" : "", k);
    write_text(schedules->plans[k], rows[k], options, arena, out);
  }
}
