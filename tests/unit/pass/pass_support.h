/* SPDX-License-Identifier: Apache-2.0 */
/* pass_support.h - a context, graphs from text, and comparing a graph with itself after a pass. */
#ifndef TEST_PASS_SUPPORT_H
#define TEST_PASS_SUPPORT_H

#include "ir/text.h"
#include "pass/passes.h"
#include "support/ref_graph.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { MOST_PORTS = 8 };

/* What a test needs of a graph: its results before, to compare with those after. */
typedef struct bench {
  hone_context *context;
  hone_graph *graph;
  hn_arena arena;
  hone_tensor inputs[MOST_PORTS], want[MOST_PORTS];
  hn_pass_log log;
  hn_pass_run run;
} bench;

static inline const char *last_message(const bench *b) {
  return b->context->diag.count > 0 ? b->context->diag.entries[b->context->diag.count - 1].text : "no message";
}

static inline void bench_begin(bench *b) {
  memset(b, 0, sizeof *b);
  assert_int_equal(hone_context_create(NULL, &b->context), HONE_OK);
  hn_arena_init(&b->arena, b->context->allocator);
  b->log.arena = &b->arena;
}

static inline void bench_end(bench *b) {
  hn_graph_destroy(b->graph);
  hn_arena_deinit(&b->arena);
  hone_context_destroy(b->context);
}

/* Runs the graph as it is on inputs of its own. */
static inline void bench_measure(bench *b, uint64_t seed) {
  b->run = (hn_pass_run){.context = b->context, .graph = b->graph, .log = &b->log};
  assert_true(b->graph->main->param_count <= MOST_PORTS && b->graph->main->result_count <= MOST_PORTS);
  if (ref_graph_inputs(b->graph, &b->arena, seed, 3, b->inputs) != HONE_OK ||
      ref_graph_run(b->graph, &b->arena, b->inputs, b->want) != HONE_OK)
    fail_msg("before: %s", last_message(b));
}

static inline void bench_parse(bench *b, const char *text, size_t length) {
  bench_begin(b);
  if (hn_graph_parse(b->context, text, length, NULL, 0, &b->graph) != HONE_OK) fail_msg("%s", last_message(b));
  bench_measure(b, 1);
}

/* The same results now as before, to what reassociation in f32 leaves. */
static inline void bench_compare(bench *b, const char *what) {
  hone_tensor got[MOST_PORTS];
  if (hn_graph_verify(b->graph) != HONE_OK) fail_msg("%s: %s", what, last_message(b));
  if (ref_graph_run(b->graph, &b->arena, b->inputs, got) != HONE_OK) fail_msg("%s: %s", what, last_message(b));
  for (int i = 0; i < b->graph->main->result_count; ++i) {
    if (!hn_type_equal(&got[i].type, &b->want[i].type)) fail_msg("%s: output %d has another type", what, i);
    const hn_error error = hn_compare(&got[i], &b->want[i], 1e-5, 1e-4, 0, -1);
    if (error.rel_l2 > 1e-5 || error.mismatches > 0)
      fail_msg("%s: output %d differs, relative L2 %g, %lld elements", what, i, error.rel_l2,
               (long long)error.mismatches);
  }
  assert_int_equal(b->context->diag.count, 0);
}

/* Did the rule fire? *out_unmet: the reason when it nearly did. */
static inline bool bench_fired(const bench *b, const char *rule, const char **out_unmet) {
  bool fired = false;
  *out_unmet = NULL;
  for (int i = 0; i < b->log.count; ++i) {
    if (strcmp(b->log.events[i].rule, rule) != 0) continue;
    fired = fired || b->log.events[i].fired;
    if (!b->log.events[i].fired) *out_unmet = b->log.events[i].unmet;
  }
  return fired;
}

static inline int bench_count(const bench *b, const char *op) {
  int count = 0;
  for (const hn_node *node = b->graph->main->first; node; node = node->next) count += strcmp(node->op->name, op) == 0;
  return count;
}

#endif
