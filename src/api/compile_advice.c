/* SPDX-License-Identifier: Apache-2.0 */
/* compile_advice.c - advice for users: gathers the profile, the ledger and the model as a list of nodes, and keeps what
 * the rows of src/report/advice.h say. */
#include "api/reports.h"
#include "base/arguments.h"
#include "ir/graph.h"
#include "report/advice.h"
#include "run/session.h"
#include <stdio.h>
#include <string.h>

enum { MOST_STEPS = 64 };

struct hone_advice {
  hn_allocator allocator;
  hn_arena arena;
  hone_engine *engine; /* names of steps are its own */
  hone_report_options options;
  hn_trace trace;
  hn_profile_input input;
  hn_advising *advising;
  hone_advice_step steps[MOST_STEPS];
  int step_count;
};

/* ---- the model ---- */

typedef struct gathering {
  const hone_graph *graph;
  hn_arena *arena;
  hn_advice_model *model;
  int *number_of; /* [node id]: in the model's list; -1: not of the main block */
} gathering;

static bool gather_values(const gathering *g) {
  const hone_graph *graph = g->graph;
  for (int v = 0; v < graph->value_count; ++v) {
    const hn_value *value = graph->values[v];
    hn_advice_value *to = &g->model->values[v];
    *to = (hn_advice_value){.producer = -1, .reader = -1};
    if (!value || hn_value_is_dead(value)) continue;
    to->name = hn_arena_text(g->arena, value->name);
    to->type = value->fact.type;
    to->use_count = value->use_count;
    to->constant = hn_value_is_constant(value) ? value->fact.constant : NULL;
    if (value->node) to->producer = g->number_of[value->node->id];
    if (value->uses && value->uses->node) to->reader = g->number_of[value->uses->node->id];
    if (!to->name) return false;
  }
  return true;
}

static bool copy_ports(hn_arena *arena, hn_value *const *from, int count, const int **out) {
  int *to = HN_NEW(arena, int, count + 1);
  for (int i = 0; to && i < count; ++i) to[i] = from[i] ? from[i]->id : -1;
  *out = to;
  return to != NULL;
}

static bool gather_node(const gathering *g, const hn_node *node, hn_advice_node *to) {
  *to = (hn_advice_node){.op = node->op->name,
                         .row = node->op,
                         .attrs = &node->attrs,
                         .in_count = node->in_count,
                         .out_count = node->out_count};
  to->name = hn_arena_text(g->arena, node->origins.count > 0 ? node->origins.names[0] : node->name);
  return to->name && copy_ports(g->arena, node->in, node->in_count, &to->in) &&
         copy_ports(g->arena, node->out, node->out_count, &to->out);
}

/* The main block as it was imported: bodies of loops and branches are not looked into. */
static hone_status gather_model(const hone_graph *graph, hn_arena *arena, const hn_advice_model **out) {
  hn_advice_model *model = HN_NEW(arena, hn_advice_model, 1);
  int count = 0;
  for (const hn_node *node = graph->main->first; node; node = node->next) ++count;
  gathering g = {graph, arena, model, HN_NEW(arena, int, graph->next_node_id + 1)};
  if (!model || !g.number_of) return HONE_NO_MEMORY;
  model->nodes = HN_NEW(arena, hn_advice_node, count + 1);
  model->values = HN_NEW(arena, hn_advice_value, graph->value_count + 1);
  if (!model->nodes || !model->values) return HONE_NO_MEMORY;
  for (int i = 0; i <= graph->next_node_id; ++i) g.number_of[i] = -1;
  for (const hn_node *node = graph->main->first; node; node = node->next) {
    g.number_of[node->id] = model->node_count;
    if (!gather_node(&g, node, &model->nodes[model->node_count++])) return HONE_NO_MEMORY;
  }
  model->value_count = graph->value_count;
  if (!gather_values(&g)) return HONE_NO_MEMORY;
  *out = model;
  return HONE_OK;
}

/* ---- the public functions ---- */

static hone_status take_options(hone_diagnostics *diag, const hone_advise_options *given, hone_advise_options *out) {
  HN_OPTIONS(diag, "advise", given, hone_advise_options, no_replay, out);
  HN_TRY(hn_argument_range(diag, "advise option schedule", out->schedule, 0, HONE_MAX_SCHEDULES - 1));
  HN_TRY(hn_argument_range(diag, "advise option machine_threads", out->machine_threads, 0, 1 << 16));
  HN_TRY(hn_argument_range(diag, "advise option disabled_passes", out->disabled_passes, 0, INT32_MAX));
  HN_TRY(hn_argument_range(diag, "advise option level", out->level, -1, 5));
  HN_TRY(hn_argument_real(diag, "advise option waiting_ns", out->waiting_ns, 0));
  return hn_argument_real(diag, "advise option unprofiled_ns", out->unprofiled_ns, 0);
}

static hone_status make(hone_advice *advice, const hone_session *session, const hone_graph *graph,
                        const hone_advise_options *options, hone_diagnostics *diag) {
  hn_advice_facts facts = {.machine_threads = options->machine_threads,
                           .level = options->level,
                           .waiting_ns = options->waiting_ns,
                           .no_replay = options->no_replay,
                           .disabled_passes = options->disabled_passes,
                           .reference_only = options->reference_only,
                           .calibrated = options->calibrated,
                           .throughput = options->throughput,
                           .tactics = session->engine->devices[0]->tactics};
  hone_facts other = HONE_SIZED(hone_facts);
  hn_profile *profile;
  if (options->other_device) {
    HN_TRY(hone_device_facts(options->other_device, &other));
    facts.other = &other;
  }
  advice->options.ledger_path = options->ledger_path;
  HN_TRY(hn_session_profile(session, &advice->options, &advice->arena, &advice->trace, &advice->input, diag));
  advice->options.ledger_path = NULL; /* the caller's */
  HN_TRY(hn_profile_gather(&advice->input, &advice->options, &advice->arena, &profile));
  facts.ledger = advice->input.ledger;
  if (graph) HN_TRY(gather_model(graph, &advice->arena, &facts.model));
  const hone_status status = hn_advise(profile, &facts, &advice->arena, &advice->advising);
  if (advice->advising) {
    advice->advising->facts.other = NULL; /* ours */
    advice->advising->facts.tactics = NULL;
  }
  return status;
}

hone_status hone_advise(const hone_session *session, const hone_graph *graph, const hone_advise_options *given,
                        hone_advice **out_advice, hone_diagnostics *diag) {
  HN_GIVEN(diag, out_advice);
  *out_advice = NULL;
  HN_GIVEN(diag, session);
  hone_advise_options options;
  HN_TRY(take_options(diag, given, &options));
  if (options.one_schedule) HN_TRY(hn_engine_check_schedule(session->engine, options.schedule, diag));
  hone_advice *advice = hn_alloc_zero(&session->allocator, sizeof *advice);
  if (!advice) return HN_FAIL_MEMORY(diag);
  advice->allocator = session->allocator;
  advice->engine = session->engine;
  hone_engine_retain(advice->engine);
  hn_arena_init(&advice->arena, advice->allocator);
  advice->options = (hone_report_options){.struct_size = sizeof advice->options,
                                          .cold = options.cold,
                                          .one_schedule = options.one_schedule,
                                          .schedule = options.schedule,
                                          .unprofiled_ns = options.unprofiled_ns};
  const hone_status status = make(advice, session, graph, &options, diag);
  if (status == HONE_OK) {
    *out_advice = advice;
    return HONE_OK;
  }
  hone_advice_destroy(advice);
  return status == HONE_NO_MEMORY ? HN_FAIL_MEMORY(diag) : status;
}

void hone_advice_destroy(hone_advice *advice) {
  if (!advice) return;
  const hn_allocator allocator = advice->allocator;
  hone_engine_release(advice->engine);
  hn_arena_deinit(&advice->arena);
  hn_free(&allocator, advice, sizeof *advice);
}

int hone_advice_count(const hone_advice *advice) { return advice ? advice->advising->count : 0; }

const char *hone_advice_pattern(const hone_advice *advice) {
  return advice ? hn_pattern_name(advice->advising->pattern) : NULL;
}

hone_status hone_advice_item(const hone_advice *advice, int index, hone_advice_info *out_info) {
  HN_RESULT(NULL, out_info, hone_advice_info, removed);
  HN_GIVEN(NULL, advice);
  if (index < 0 || index >= advice->advising->count) return HONE_INVALID;
  const hn_advice_item *item = &advice->advising->items[index];
  const hone_advice_info info = {.name = item->row->name,
                                 .kind = item->row->kind,
                                 .finding = item->finding,
                                 .remedy = item->row->remedy,
                                 .flags = item->flags,
                                 .model_change = item->row->model_change,
                                 .confidence = item->row->confidence,
                                 .layer_count = item->layer_count,
                                 .layers = item->layers,
                                 .saving_ns = item->saving_ns,
                                 .saving_low_ns = item->low_ns,
                                 .saving_high_ns = item->high_ns,
                                 .timed = item->timed_share > 0,
                                 .applies_itself = item->row->applies_itself,
                                 .removed = item->removed,
                                 .timed_layers = item->timed_layers,
                                 .unknown_layers = item->unknown_layers,
                                 .expectable = item->row->expect != NULL,
                                 .timed_share = item->timed_share,
                                 .unsure = item->unsure};
  hn_result_give(&info, out_info);
  return HONE_OK;
}

hone_status hone_advice_expect(hone_advice *advice, int index, const hone_expectation *given, bool *out_used,
                               hone_diagnostics *diag) {
  HN_GIVEN(diag, advice);
  HN_GIVEN(diag, given);
  HN_GIVEN(diag, out_used);
  hone_expectation expectation;
  HN_OPTIONS(diag, "expectation", given, hone_expectation, joined_now_ns, &expectation);
  HN_TRY(hn_argument_range(diag, "the number of a remedy", index, 0, advice->advising->count - 1));
  *out_used = hn_advice_expects(advice->advising, index, &expectation);
  return HONE_OK;
}

hone_status hone_advice_add_step(hone_advice *advice, const hone_advice_step *given, hone_diagnostics *diag) {
  HN_GIVEN(diag, advice);
  HN_GIVEN(diag, given);
  hone_advice_step step;
  HN_OPTIONS(diag, "advice step", given, hone_advice_step, kept, &step);
  HN_GIVEN(diag, step.name);
  if (advice->step_count == MOST_STEPS)
    return HN_FAIL(diag, HONE_LIMIT, "a staircase has at most %d steps", MOST_STEPS);
  step.name = hn_arena_text(&advice->arena, step.name);
  step.flags = hn_arena_text(&advice->arena, step.flags);
  step.why = hn_arena_text(&advice->arena, step.why);
  step.kind = hn_arena_text(&advice->arena, step.kind);
  if (!step.name || (given->flags && !step.flags) || (given->why && !step.why) || (given->kind && !step.kind))
    return HN_FAIL_MEMORY(diag);
  advice->steps[advice->step_count++] = step;
  return HONE_OK;
}

hone_status hone_report_advice(const hone_advice *advice, const hone_report_options *given, hone_write_fn write,
                               void *user, hone_diagnostics *diag) {
  HN_GIVEN(diag, advice);
  HN_GIVEN(diag, write);
  hn_report_making r;
  HN_TRY(hn_report_options_take(diag, given, &r.options));
  hn_report_begin(&r, advice->allocator, diag);
  /* The same advice under these options, for the width of tables and their memory. */
  hn_profile profile = *advice->advising->p;
  hn_advising a = *advice->advising;
  profile.options = &r.options;
  a.p = &profile;
  a.arena = &r.arena;
  if (r.options.json)
    hn_advice_write_json(&a, advice->steps, advice->step_count, &r.text);
  else
    hn_advice_write_text(&a, advice->steps, advice->step_count, &r.text);
  return hn_report_end(&r, r.text.failed ? HONE_NO_MEMORY : HONE_OK, write, user);
}
