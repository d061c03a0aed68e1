/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c - the decision ledger for people: why each node runs as it does, what else was tried and why not. */
#include "report/explain.h"
#include "report/grid.h"
#include "report/report.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef hn_explanation explanation;

/* By its own name, or by that of an ONNX node that it came from. */
static bool is_node(const hn_json *node, const char *wanted) {
  if (!wanted || strcmp(hn_ledger_text(node, "node"), wanted) == 0) return true;
  const hn_json *origins = hn_json_get(node, "origins");
  for (size_t i = 0; i < hn_ledger_count(origins); ++i)
    if (origins->items[i].kind == HN_JSON_STRING && strcmp(origins->items[i].string, wanted) == 0) return true;
  return false;
}

static void add_time(hn_grid *grid, const hn_json *candidate) {
  const double time_ns = hn_ledger_real(candidate, "time_ns", -1),
               estimate_ns = hn_ledger_real(candidate, "estimate_ns", -1);
  if (time_ns >= 0)
    hn_grid_add(grid, "%.4f [%.4f, %.4f]", time_ns * 1e-6, hn_ledger_real(candidate, "low_ns", 0) * 1e-6,
                hn_ledger_real(candidate, "high_ns", 0) * 1e-6);
  else if (estimate_ns > 0)
    hn_grid_add(grid, "about %.4f", estimate_ns * 1e-6);
  else
    hn_grid_add(grid, "%s", "-");
}

static void add_candidate(const explanation *e, hn_grid *grid, const hn_json *candidate, bool chosen) {
  hn_text name;
  hn_text_init(&name, e->arena->allocator);
  hn_text_ledger_tactic(&name, candidate);
  hn_grid_add(grid, "%s", chosen ? "*" : "");
  hn_grid_add(grid, "%s", hn_text_string(&name));
  grid->failed = grid->failed || name.failed;
  hn_text_deinit(&name);
  const char *in = hn_ledger_text(candidate, "in"), *out = hn_ledger_text(candidate, "out");
  if (strcmp(in, out) == 0)
    hn_grid_add(grid, "%s", in);
  else
    hn_grid_add(grid, "%s to %s", in, out);
  hn_grid_add(grid, "%s", hn_ledger_text(candidate, "state"));
  add_time(grid, candidate);
  if (hn_ledger_real(candidate, "error", -1) >= 0)
    hn_grid_add(grid, "%.1e of %.0e", hn_ledger_real(candidate, "error", -1), hn_ledger_real(candidate, "bound", 0));
  else
    hn_grid_add(grid, "%s", "-");
  hn_grid_add(grid, "%s", hn_ledger_text(candidate, "reason"));
}

/* The passes' events whose root was this node or an ONNX node that it came from. */
static void write_events(const explanation *e, const hn_json *node) {
  const hn_json *events = hn_json_get(e->schedule, "passes");
  bool any = false;
  for (size_t i = 0; i < hn_ledger_count(events); ++i) {
    const hn_json *event = &events->items[i], *fired = hn_json_get(event, "fired");
    if (!is_node(node, hn_ledger_text(event, "node"))) continue;
    if (!any) hn_text_add(e->out, "  passes\n");
    any = true;
    hn_text_printf(e->out, "    %s", hn_ledger_text(event, "rule"));
    if (strcmp(hn_ledger_text(event, "rule"), hn_ledger_text(event, "pass")) != 0)
      hn_text_printf(e->out, " (%s)", hn_ledger_text(event, "pass"));
    if (fired && fired->i)
      hn_text_printf(e->out, " fired on %s\n", hn_ledger_text(event, "node"));
    else
      hn_text_printf(e->out, " did not fire on %s: %s\n", hn_ledger_text(event, "node"),
                     hn_ledger_text(event, "unmet"));
  }
}

/* Reads and writes which format, and what it would be without neighbours. */
static void write_formats(const explanation *e, const hn_json *candidates, int chosen) {
  if (chosen < 0 || (size_t)chosen >= hn_ledger_count(candidates)) return;
  const hn_json *taken = &candidates->items[chosen], *alone = taken;
  for (size_t i = 0; i < candidates->length; ++i)
    if (hn_ledger_best_ns(&candidates->items[i]) >= 0 &&
        hn_ledger_best_ns(&candidates->items[i]) < hn_ledger_best_ns(alone))
      alone = &candidates->items[i];
  hn_text_printf(e->out, "  formats: reads %s, writes %s", hn_ledger_text(taken, "in"), hn_ledger_text(taken, "out"));
  if (alone == taken)
    hn_text_add(e->out, ": its own best\n");
  else
    hn_text_printf(e->out, "; alone %s, %s to %s, would take %.4f ms, but the neighbours or converts cost more\n",
                   hn_ledger_text(alone, "tactic"), hn_ledger_text(alone, "in"), hn_ledger_text(alone, "out"),
                   hn_ledger_best_ns(alone) * 1e-6);
}

/* What f32 costs and buys here, where layers gave narrow types back for the sake of the outputs' error. */
static void write_precision(const explanation *e, const hn_json *node) {
  const hn_json *f32 = hn_json_get(node, "f32"), *taken = f32 ? hn_json_get(f32, "taken") : NULL;
  if (!f32) return;
  const double fastest = hn_ledger_real(e->schedule, "fastest_error", 0),
               alone = hn_ledger_real(f32, "outputs_error", -1);
  hn_text_printf(e->out, "  precision: %s; alone in f32 it costs %.4f ms of the network",
                 taken && taken->i ? "returned to f32" : "stays narrow", hn_ledger_real(f32, "lost_ns", 0) * 1e-6);
  if (alone >= 0)
    hn_text_printf(e->out, " and brings the outputs' error from %.2e to %.2e\n", fastest, alone);
  else
    hn_text_printf(e->out, "; by its own error it has %.0f %% of the outputs' (time was up)\n",
                   fastest > 0 ? 100 * hn_ledger_real(f32, "won", 0) / (fastest * fastest) : 0);
}

/* The fused node against its parts. */
static void write_parts(const explanation *e, const hn_json *node) {
  const hn_json *trial = hn_json_get(node, "parts");
  const hn_json *times = trial ? hn_json_get(trial, "times") : NULL;
  const hn_json *nodes = trial ? hn_json_get(trial, "nodes") : NULL;
  if (!trial) return;
  hn_text_printf(e->out, "  against its parts: %s\n", hn_ledger_text(trial, "why"));
  for (size_t i = 0; i < hn_ledger_count(times); ++i)
    hn_text_printf(e->out, "    parts from %s to %s: %.4f ms\n", hn_ledger_text(&times->items[i], "in"),
                   hn_ledger_text(&times->items[i], "out"), hn_ledger_real(&times->items[i], "time_ns", 0) * 1e-6);
  for (size_t i = 0; i < hn_ledger_count(nodes); ++i) {
    const hn_json *part = &nodes->items[i];
    const double ns = hn_ledger_real(part, "time_ns", hn_ledger_real(part, "estimate_ns", -1));
    hn_text_printf(e->out, "    %s (%s) %s", hn_ledger_text(part, "node"), hn_ledger_text(part, "op"),
                   hn_ledger_text(part, "tactic"));
    if (ns >= 0) hn_text_printf(e->out, " %.4f ms", ns * 1e-6);
    hn_text_add(e->out, "\n");
  }
}

/* Fused nodes that gave way to their parts; how many of those that were asked for. */
static int write_splits(const explanation *e, const char *wanted) {
  const hn_json *splits = hn_json_get(e->schedule, "splits");
  int found = 0;
  for (size_t i = 0; i < hn_ledger_count(splits); ++i) {
    const hn_json *split = &splits->items[i];
    const double fused_ns = hn_ledger_real(split, "fused_ns", 0), parts_ns = hn_ledger_real(split, "parts_ns", 0);
    if (wanted && strcmp(hn_ledger_text(split, "node"), wanted) != 0) continue;
    ++found;
    hn_text_printf(e->out, "%s (%s) runs as its parts: %s", hn_ledger_text(split, "node"), hn_ledger_text(split, "op"),
                   hn_ledger_text(split, "why"));
    if (fused_ns > 0) hn_text_printf(e->out, ": fused %.4f ms, parts %.4f ms", fused_ns * 1e-6, parts_ns * 1e-6);
    hn_text_add(e->out, "\n");
  }
  if (found) hn_text_add(e->out, "\n");
  return found;
}

static void write_node(const explanation *e, const hn_json *node) {
  const hn_json *candidates = hn_json_get(node, "candidates"), *origins = hn_json_get(node, "origins");
  const int chosen = (int)hn_ledger_real(node, "chosen", -1);
  hn_text_printf(e->out, "%s (%s)", hn_ledger_text(node, "node"), hn_ledger_text(node, "op"));
  for (size_t i = 0; i < hn_ledger_count(origins); ++i)
    if (origins->items[i].kind == HN_JSON_STRING)
      hn_text_printf(e->out, "%s%s", i ? ", " : " from ", origins->items[i].string);
  hn_text_printf(e->out, "\n  why: %s\n", hn_ledger_text(node, "why"));
  hn_explain_quantised(e, node);
  const char *lack = hn_ledger_lack(node);
  if (lack) hn_text_printf(e->out, "  the reference alone runs it, slowly: %s\n", lack);
  if (hn_ledger_text(node, "measured_with")[0])
    hn_text_printf(e->out, "  measured once, with the same layer %s\n", hn_ledger_text(node, "measured_with"));
  const double flops = hn_ledger_real(node, "flops", 0), bytes = hn_ledger_real(node, "bytes", 0);
  if (flops > 0 || bytes > 0) hn_text_printf(e->out, "  work: %.4g MFLOP, %.4g MB\n", flops * 1e-6, bytes * 1e-6);
  if (hn_ledger_count(candidates) > 0) {
    hn_grid grid;
    hn_grid_init(&grid, e->arena, e->options, "llllrll", "fd");
    static const char *const heads[] = {"", "tactic", "format", "state", "ms [least, 95 %]", "error", "reason"};
    for (size_t i = 0; i < HN_COUNT(heads); ++i) hn_grid_add(&grid, "%s", heads[i]);
    for (size_t i = 0; i < candidates->length; ++i) add_candidate(e, &grid, &candidates->items[i], (int)i == chosen);
    write_formats(e, candidates, chosen);
    hn_grid_write(&grid, e->out);
  }
  write_precision(e, node);
  hn_explain_plan(e, node);
  write_parts(e, node);
  write_events(e, node);
  hn_text_add(e->out, "\n");
}

static void write_head(const explanation *e) {
  const int threads = (int)hn_ledger_real(e->ledger, "threads", 0);
  hn_text_printf(e->out, "built for %s, %d %s%s", hn_ledger_text(e->ledger, "device"), threads,
                 threads == 1 ? "thread" : "threads", e->schedule_count > 1 ? "\n" : "; ");
}

static void write_errors(const explanation *e) {
  const hn_json *errors = hn_json_get(e->schedule, "output_errors");
  double worst = 0;
  if (!errors) return;
  for (size_t i = 0; i < hn_ledger_count(errors); ++i)
    if (errors->items[i].kind == HN_JSON_REAL || errors->items[i].kind == HN_JSON_INT)
      worst = fmax(worst, errors->items[i].kind == HN_JSON_INT ? (double)errors->items[i].i : errors->items[i].real);
  const double now = hn_ledger_real(e->schedule, "expected_ns", 0),
               fastest = hn_ledger_real(e->schedule, "fastest_ns", 0);
  hn_text_printf(e->out, "outputs %.2e relative L2 from those of f32, which would take %.4f ms\n", worst,
                 hn_ledger_real(e->schedule, "f32_ns", 0) * 1e-6);
  if (now > fastest)
    hn_text_printf(e->out, "layers returned to f32 for that: the fastest plan takes %.4f ms and is %.2e away\n",
                   fastest * 1e-6, hn_ledger_real(e->schedule, "fastest_error", 0));
  hn_text_add(e->out, "\n");
}

static void write_schedule_head(const explanation *e) {
  const hn_json *proved = hn_json_get(e->schedule, "formats_proved_best");
  if (e->schedule_count > 1) hn_text_printf(e->out, "\nschedule %d: ", (int)hn_ledger_real(e->schedule, "schedule", 0));
  hn_text_printf(e->out, "expected %.4f ms a run\nthe choice of formats is %s\n\n",
                 hn_ledger_real(e->schedule, "expected_ns", 0) * 1e-6,
                 proved && proved->i ? "proved best under the measured times" : "the best found, not proved");
  write_errors(e);
  hn_explain_plan_head(e);
  hn_explain_quantised_head(e);
  const int untimed = (int)hn_ledger_real(e->schedule, "untimed_nodes", 0);
  if (untimed > 0)
    hn_text_printf(e->out, "the tuning time budget ran out: %d layers were chosen by estimates\n\n", untimed);
}

/* Of layers that the planner or the quantiser tells of, those that the node stands for. */
static void copy_layers(hn_json_writer *w, const hn_json *node, const char *key, const hn_json *layers) {
  if (!layers) return;
  hn_json_open(w, key, '[');
  for (size_t i = 0; i < hn_ledger_count(layers); ++i)
    if (hn_explain_stands_for(node, &layers->items[i])) hn_json_put(w, NULL, &layers->items[i]);
  hn_json_close(w, ']');
}

/* The node's part of the ledger, and what the passes did to it. */
static void copy_node(const explanation *e, hn_json_writer *w, const hn_json *node) {
  const hn_json *events = hn_json_get(e->schedule, "passes");
  hn_json_open(w, NULL, '{');
  hn_json_put_int(w, "schedule", (int64_t)hn_ledger_real(e->schedule, "schedule", 0));
  for (size_t i = 0; i < node->length; ++i) hn_json_put(w, node->items[i].key, &node->items[i]);
  hn_json_open(w, "passes", '[');
  for (size_t i = 0; i < hn_ledger_count(events); ++i)
    if (is_node(node, hn_ledger_text(&events->items[i], "node"))) hn_json_put(w, NULL, &events->items[i]);
  hn_json_close(w, ']');
  copy_layers(w, node, "planned", hn_explain_planned(e));
  copy_layers(w, node, "quantised", hn_explain_quantised_layers(e));
  hn_json_close(w, '}');
}

/* *found counts the nodes that were asked for. */
static hone_status explain_schedule(const explanation *e, hn_json_writer *w, int *found, hone_diagnostics *diag) {
  const hn_json *nodes;
  HN_TRY(hn_json_array(e->schedule, "nodes", &nodes, diag));
  if (!e->options->json) {
    write_schedule_head(e);
    if (e->options->node || e->options->all) *found += write_splits(e, e->options->node);
  }
  if (!e->options->json && !e->options->node && !e->options->all) {
    hn_explain_summary(e, nodes);
    return HONE_OK;
  }
  for (size_t i = 0; i < nodes->length; ++i) {
    if (!is_node(&nodes->items[i], e->options->node)) continue;
    ++*found;
    if (e->options->json)
      copy_node(e, w, &nodes->items[i]);
    else
      write_node(e, &nodes->items[i]);
  }
  return HONE_OK;
}

/* Is the ledger the engine's? */
static hone_status check_engine(const hn_json *ledger, const char *what, uint64_t hash, hone_diagnostics *diag) {
  char want[17];
  snprintf(want, sizeof want, "%016" PRIx64, hash);
  const char *named = hn_ledger_text(ledger, "engine");
  if (hash == 0 || strcmp(named, want) == 0) return HONE_OK;
  if (!*named)
    return HN_FAIL(diag, HONE_INVALID, "%s: the ledger does not say which engine it is of; build the engine again",
                   what);
  return HN_FAIL(
      diag, HONE_INVALID,
      "%s: the ledger is of another build: it tells of engine %s, and this one is %s; build the engine again", what,
      named, want);
}

hone_status hn_ledger_read(const char *what, const char *text, size_t length, uint64_t engine_hash, int schedule,
                           hn_arena *arena, const hn_json **out, hone_diagnostics *diag) {
  hn_json *ledger;
  const hn_json *schedules;
  *out = NULL;
  HN_TRY(hn_json_read(arena, diag, what, text, length, &ledger));
  HN_TRY(check_engine(ledger, what, engine_hash, diag));
  HN_TRY(hn_json_array(ledger, "schedules", &schedules, diag));
  if (schedule < 0 || schedule >= (int)schedules->length)
    return HN_FAIL(diag, HONE_INVALID, "%s: there is no schedule %d; it tells of %d, from 0 on", what, schedule,
                   (int)schedules->length);
  *out = &schedules->items[schedule];
  return HONE_OK;
}

hone_status hn_report_explain(const char *what, const char *text, size_t length, uint64_t engine_hash,
                              const hone_report_options *options, hn_arena *arena, hn_text *out,
                              hone_diagnostics *diag) {
  hn_json *ledger;
  const hn_json *schedules;
  HN_TRY(hn_json_read(arena, diag, what, text, length, &ledger));
  HN_TRY(check_engine(ledger, what, engine_hash, diag));
  HN_TRY(hn_json_array(ledger, "schedules", &schedules, diag));
  explanation e = {
      .ledger = ledger, .schedule_count = (int)schedules->length, .options = options, .arena = arena, .out = out};
  if (options->one_schedule && (options->schedule < 0 || options->schedule >= e.schedule_count))
    return HN_FAIL(diag, HONE_INVALID, "%s: there is no schedule %d; it tells of %d, from 0 on", what,
                   options->schedule, e.schedule_count);
  hn_json_writer writer;
  hn_json_begin(&writer, out);
  if (options->json)
    hn_json_open(&writer, NULL, '[');
  else
    write_head(&e);
  int found = 0;
  for (int k = 0; k < e.schedule_count; ++k) {
    if (!hn_report_wants(options, k)) continue;
    e.schedule = &schedules->items[k];
    HN_TRY(explain_schedule(&e, &writer, &found, diag));
  }
  if (options->json) {
    hn_json_close(&writer, ']');
    hn_text_add(out, "\n");
  }
  if (found == 0 && options->node)
    return HN_FAIL(diag, HONE_INVALID, "%s: no node %s, nor one that came from it", what, options->node);
  return out->failed ? HN_FAIL_MEMORY(diag) : HONE_OK;
}
