/* SPDX-License-Identifier: Apache-2.0 */
/* ledger.c - the decision ledger: every candidate with its time, interval or reason, and every fusion tried with its
 * first unmet condition, as JSON for `hone explain` and for people's own tools. */
#include "tensor/storage.h"
#include "base/json.h"
#include "tune/tuning.h"

static const char *const states[] = {"rejected", "estimated", "timed", "inexact", "withheld"};

void hn_text_candidate(hn_text *out, const hn_candidate *candidate) {
  hn_text_add(out, candidate->tactic->name);
  for (int p = 0; p < candidate->params.count; ++p)
    hn_text_printf(out, "%s%s=%lld", p ? "," : "{", candidate->params.items[p].name,
                   (long long)candidate->params.items[p].value);
  hn_text_printf(out, "%s %s->%s", candidate->params.count ? "}" : "", hn_storage_name(candidate->storages.in),
                 hn_storage_name(candidate->storages.out));
}

static void put_candidate(hn_json_writer *w, const hn_candidate *candidate) {
  hn_json_open_flat(w, NULL, '{');
  hn_json_put_text(w, "tactic", candidate->tactic->name);
  hn_json_put_text(w, "provider", candidate->provider);
  hn_json_put_text(w, "in", hn_storage_name(candidate->storages.in));
  hn_json_put_text(w, "out", hn_storage_name(candidate->storages.out));
  if (candidate->params.count) {
    hn_json_open_flat(w, "params", '{');
    for (int p = 0; p < candidate->params.count; ++p)
      hn_json_put_int(w, candidate->params.items[p].name, candidate->params.items[p].value);
    hn_json_close(w, '}');
  }
  hn_json_put_text(w, "state", states[candidate->state]);
  if (candidate->reason) hn_json_put_text(w, "reason", candidate->reason);
  if (candidate->state != HN_CANDIDATE_REJECTED) hn_json_put_real(w, "estimate_ns", candidate->estimate_ns);
  if (candidate->state == HN_CANDIDATE_TIMED) {
    hn_json_put_real(w, "time_ns", candidate->time_ns);
    hn_json_put_real(w, "low_ns", candidate->time_low_ns);
    hn_json_put_real(w, "high_ns", candidate->time_high_ns);
    hn_json_put_int(w, "runs", candidate->runs);
    if (candidate->from_cache) hn_json_put_bool(w, "from_cache", true);
  }
  if (candidate->error_rel_l2 >= 0) {
    hn_json_put_real(w, "error", candidate->error_rel_l2);
    hn_json_put_real(w, "bound", candidate->error_bound);
  }
  hn_json_close(w, '}');
}

/* What runs a part, at the formats where the parts are fastest. */
static void put_part(hn_json_writer *w, const hn_choice *part) {
  hn_json_open_flat(w, NULL, '{');
  hn_json_put_text(w, "node", part->node->name);
  hn_json_put_text(w, "op", part->node->op->name);
  if (part->split)
    hn_json_put_real(w, "time_ns", part->parts_ns);
  else if (hn_choice_runs(part) && part->chosen >= 0) {
    const hn_candidate *candidate = &part->candidates[part->chosen];
    hn_json_put_text(w, "tactic", candidate->tactic->name);
    hn_json_put_text(w, "in", hn_storage_name(candidate->storages.in));
    hn_json_put_text(w, "out", hn_storage_name(candidate->storages.out));
    const bool timed = candidate->state == HN_CANDIDATE_TIMED;
    hn_json_put_real(w, timed ? "time_ns" : "estimate_ns", timed ? candidate->time_ns : candidate->estimate_ns);
  }
  hn_json_close(w, '}');
}

static void put_trial(hn_json_writer *w, const hn_parts_trial *trial) {
  hn_json_open(w, "parts", '{');
  hn_json_put_text(w, "why", trial->why);
  if (trial->count > 0) {
    hn_json_open(w, "times", '[');
    for (int i = 0; i < trial->count; ++i) {
      if (!(trial->ns[i] < HN_FORBIDDEN_NS)) continue;
      hn_json_open_flat(w, NULL, '{');
      hn_json_put_text(w, "in", hn_storage_name(trial->storages[i].in));
      hn_json_put_text(w, "out", hn_storage_name(trial->storages[i].out));
      hn_json_put_real(w, "time_ns", trial->ns[i]);
      hn_json_close(w, '}');
    }
    hn_json_close(w, ']');
    hn_json_open(w, "nodes", '[');
    for (int i = 0; i < trial->choices->count; ++i) put_part(w, &trial->choices->items[i]);
    hn_json_close(w, ']');
  }
  hn_json_close(w, '}');
}

static void put_splits(hn_json_writer *w, const hn_choices *choices) {
  hn_json_open(w, "splits", '[');
  for (int i = 0; i < choices->split_count; ++i) {
    const hn_split *split = &choices->splits[i];
    hn_json_open_flat(w, NULL, '{');
    hn_json_put_text(w, "node", split->node);
    hn_json_put_text(w, "op", split->op);
    hn_json_put_text(w, "why", split->why);
    if (split->fused_ns > 0) hn_json_put_real(w, "fused_ns", split->fused_ns);
    if (split->parts_ns > 0) hn_json_put_real(w, "parts_ns", split->parts_ns);
    hn_json_close(w, '}');
  }
  hn_json_close(w, ']');
}

/* What running it in f32 would win and cost, or did. */
static void put_precision(hn_json_writer *w, const hn_choice *choice) {
  if (!choice->widened && choice->f32_won == 0) return;
  hn_json_open_flat(w, "f32", '{');
  hn_json_put_bool(w, "taken", choice->widened);
  if (choice->f32_probed) hn_json_put_real(w, "outputs_error", choice->f32_error);
  hn_json_put_real(w, "won", choice->f32_won);
  hn_json_put_real(w, "lost_ns", choice->f32_lost_ns);
  hn_json_close(w, '}');
}

static void put_choice(hn_json_writer *w, const hn_choices *choices, const hn_choice *choice) {
  hn_json_open(w, NULL, '{');
  hn_json_put_text(w, "node", choice->node->name);
  hn_json_put_text(w, "op", choice->node->op->name);
  hn_json_open_flat(w, "origins", '[');
  for (int i = 0; i < choice->node->origins.count; ++i) hn_json_put_text(w, NULL, choice->node->origins.names[i]);
  hn_json_close(w, ']');
  if (!hn_choice_runs(choice)) {
    hn_json_put_text(w, "why", choice->view ? "only the shape changes: nothing runs" : "its blocks run");
  } else {
    hn_json_put_int(w, "chosen", choice->chosen);
    hn_json_put_text(w, "why", choice->why);
    hn_json_put_real(w, "flops", choice->cost.flops);
    hn_json_put_real(w, "bytes", choice->cost.bytes_read + choice->cost.bytes_written);
    put_precision(w, choice);
    if (choice->same_as >= 0) hn_json_put_text(w, "measured_with", choices->items[choice->same_as].node->name);
    hn_json_open(w, "candidates", '[');
    for (int k = 0; k < choice->candidate_count; ++k) put_candidate(w, &choice->candidates[k]);
    hn_json_close(w, ']');
    if (choice->trial) put_trial(w, choice->trial);
  }
  hn_json_close(w, '}');
}

void hn_ledger_begin(hn_ledger *ledger, const hone_facts *facts, const hn_json *quantised, hn_text *out) {
  hn_json_writer *w = &ledger->writer;
  ledger->schedule_count = 0;
  hn_json_begin(w, out);
  hn_json_open(w, NULL, '{');
  hn_json_put_int(w, "ledger", 2);
  hn_json_put_text(w, "device", facts->name);
  hn_json_put_int(w, "threads", facts->threads);
  if (quantised) hn_json_put(w, "quantised", quantised);
  hn_json_open(w, "schedules", '[');
}

void hn_ledger_add(hn_ledger *ledger, const hn_choices *choices, const hn_pass_log *passes) {
  hn_json_writer *w = &ledger->writer;
  hn_json_open(w, NULL, '{');
  hn_json_put_int(w, "schedule", ledger->schedule_count++);
  hn_json_put_bool(w, "formats_proved_best", choices->optimal);
  hn_json_put_real(w, "expected_ns", choices->total_ns);
  hn_json_put_int(w, "untimed_nodes", choices->untimed_count);
  if (choices->output_errors) {
    hn_json_put_real(w, "f32_ns", choices->f32_ns);
    hn_json_put_real(w, "fastest_ns", choices->fastest_ns);
    hn_json_put_real(w, "fastest_error", choices->fastest_error);
    hn_json_open_flat(w, "output_errors", '[');
    for (int i = 0; i < choices->root->result_count; ++i) hn_json_put_real(w, NULL, choices->output_errors[i]);
    hn_json_close(w, ']');
  }
  put_splits(w, choices);
  hn_json_open(w, "nodes", '[');
  for (int i = 0; i < choices->count; ++i) put_choice(w, choices, &choices->items[i]);
  hn_json_close(w, ']');
  hn_json_open(w, "passes", '[');
  for (int i = 0; i < passes->count; ++i) {
    const hn_pass_event *event = &passes->events[i];
    hn_json_open_flat(w, NULL, '{');
    hn_json_put_text(w, "pass", event->pass);
    hn_json_put_text(w, "rule", event->rule);
    hn_json_put_text(w, "node", event->node);
    hn_json_put_bool(w, "fired", event->fired);
    if (event->unmet) hn_json_put_text(w, "unmet", event->unmet);
    hn_json_close(w, '}');
  }
  hn_json_close(w, ']');
  hn_json_close(w, '}');
}

void hn_ledger_end(hn_ledger *ledger) {
  hn_json_close(&ledger->writer, ']');
  hn_json_close(&ledger->writer, '}');
  hn_text_add(ledger->writer.text, "\n");
}
