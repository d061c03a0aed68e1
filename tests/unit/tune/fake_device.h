/* SPDX-License-Identifier: Apache-2.0 */
/* fake_device.h - a device whose tactics take exactly as long as a test says, by the null backend's clock. */
#ifndef TEST_FAKE_DEVICE_H
#define TEST_FAKE_DEVICE_H

#include "device/host_unit.h"
#include "ir/text.h"
#include "tensor/storage.h"
#include "tensor/shape.h"
#include "tune/tuning.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* What a row does: time in plain format and in nchw16c (0: not accepted), and how often it was launched. */
typedef struct fake_row {
  double plain_ns, blocked_ns;
  int variants;    /* k = 1, 2, ...: the time is for the last one, each before it takes half as long again */
  bool wrong;      /* the first element is off */
  bool wrong_away; /* on a device with memory of its own alone */
  bool host_only;  /* refused by a device with memory of its own */
  int launches;
} fake_row;

enum {
  RELU_A,
  RELU_B,
  RELU_C,
  EXP,
  TANH,
  FUSED,
  TO_BLOCKED,
  FROM_BLOCKED,
  RELU_HALF,
  FUSED_HALF,
  TO_HALF,
  FROM_HALF,
  FAKE_ROWS
};
static fake_row fake[FAKE_ROWS];

typedef struct fake_state {
  hn_eval_state eval; /* the first, for hn_eval_prepare */
  fake_row *row;
  double ns;
  bool computed;
} fake_state;

static inline bool is_blocked(const hone_query *query) {
  return query->in[0].type.format != HONE_PLAIN || query->out[0].type.format != HONE_PLAIN;
}

static inline int fake_variants(const hone_query *query, hone_params *out, int room) {
  const fake_row *row = query->tactic->kernel;
  const int count = row->variants ? row->variants : 1;
  for (int v = 0; v < count && v < room; ++v) {
    out[v] = (hone_params){0};
    if (row->variants) out[v] = (hone_params){.count = 1, .items = {{"k", v + 1}}};
  }
  return count < room ? count : room;
}

static inline const char *fake_plan(const hone_query *query, void *state, hone_needs *needs) {
  fake_state *s = state;
  fake_row *row = (fake_row *)(uintptr_t)query->tactic->kernel;
  const double ns = is_blocked(query) ? row->blocked_ns : row->plain_ns;
  if (ns <= 0 || (row->host_only && !query->facts->host_memory)) return "the test does not want it";
  if (!is_blocked(query)) (void)hn_eval_plan(query, NULL, needs); /* its scratch */
  needs->state = sizeof *s;
  if (!s) return NULL;
  *s = (fake_state){.eval = {.op = query->op, .attrs = query->attrs}, .row = row, .ns = ns};
  for (int64_t k = query->params && query->params->count ? query->params->items[0].value : row->variants;
       k < row->variants; ++k)
    s->ns *= 1.5;
  return NULL;
}

/* A relu of blocks is one of all their floats; converts move elements; the rest is the op's own eval. A state's first
 * launch is the one whose error the tuner measures; of those that follow it asks the time alone, and they do nothing.
 */
static inline hone_status fake_launch(void *state, hone_stream *stream, const hone_launch *launch) {
  fake_state *s = state;
  ++s->row->launches;
  hone_status status = HONE_OK;
  const double before = stream->fake_now_ns;
  if (s->computed) {
    stream->fake_now_ns = before + s->ns;
    return HONE_OK;
  }
  s->computed = true;
  if (strcmp(s->eval.op->name, "convert") == 0) {
    status = hn_layout_convert(&launch->in[0], &launch->out[0]) ? HONE_OK : HONE_INTERNAL;
  } else if (launch->in[0].type.format != HONE_PLAIN) {
    const float *x = launch->in[0].data;
    float *y = launch->out[0].data;
    for (size_t i = 0; i < launch->in[0].bytes / sizeof *x; ++i) y[i] = x[i] > 0 ? x[i] : 0;
  } else {
    status = hn_eval_launch(&s->eval, stream, launch);
  }
  if (s->row->wrong || (s->row->wrong_away && !stream->unit->facts.host_memory)) ((float *)launch->out[0].data)[0] += 1;
  stream->fake_now_ns = before + s->ns;
  return status;
}

static const hone_tactic fake_tactics[] = {
    {sizeof(hone_tactic), .name = "fake.relu.a", .version = 1, .op = "relu", .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW16C, HONE_NCHW16C}}, .plan = fake_plan, .variants = fake_variants,
     .prepare = hn_eval_prepare, .launch = fake_launch, .efficiency = 0.9, .kernel = &fake[RELU_A]},
    {sizeof(hone_tactic), .name = "fake.relu.b", .version = 1, .op = "relu", .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW16C, HONE_NCHW16C}}, .plan = fake_plan, .variants = fake_variants,
     .prepare = hn_eval_prepare, .launch = fake_launch, .efficiency = 0.6, .kernel = &fake[RELU_B]},
    {sizeof(hone_tactic), .name = "fake.relu.c", .version = 1, .op = "relu", .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW16C, HONE_NCHW16C}}, .plan = fake_plan, .variants = fake_variants,
     .prepare = hn_eval_prepare, .launch = fake_launch, .efficiency = 0.5, .kernel = &fake[RELU_C]},
    {sizeof(hone_tactic), .name = "fake.exp", .version = 1, .op = "exp", .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}}, .plan = fake_plan, .variants = fake_variants, .prepare = hn_eval_prepare,
     .launch = fake_launch, .efficiency = 0.9, .kernel = &fake[EXP]},
    {sizeof(hone_tactic), .name = "fake.tanh", .version = 1, .op = "tanh", .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}}, .plan = fake_plan, .variants = fake_variants, .prepare = hn_eval_prepare,
     .launch = fake_launch, .efficiency = 0.9, .kernel = &fake[TANH]},
    {sizeof(hone_tactic), .name = "fake.fused", .version = 1, .op = "fused", .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}}, .plan = fake_plan, .variants = fake_variants, .prepare = hn_eval_prepare,
     .launch = fake_launch, .efficiency = 0.9, .kernel = &fake[FUSED]},
    {sizeof(hone_tactic), .name = "fake.block", .version = 1, .op = "convert", .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_NCHW16C}}, .plan = fake_plan, .variants = fake_variants, .prepare = hn_eval_prepare,
     .launch = fake_launch, .efficiency = 0.9, .kernel = &fake[TO_BLOCKED]},
    {sizeof(hone_tactic), .name = "fake.unblock", .version = 1, .op = "convert", .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_NCHW16C, HONE_PLAIN}}, .plan = fake_plan, .variants = fake_variants, .prepare = hn_eval_prepare,
     .launch = fake_launch, .efficiency = 0.9, .kernel = &fake[FROM_BLOCKED]},
    {sizeof(hone_tactic), .name = "fake.relu.half", .version = 1, .op = "relu", .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}}, .compute = HONE_F16, .plan = fake_plan, .variants = fake_variants,
     .prepare = hn_eval_prepare, .launch = fake_launch, .efficiency = 0.9, .kernel = &fake[RELU_HALF]},
    {sizeof(hone_tactic), .name = "fake.fused.half", .version = 1, .op = "fused", .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}}, .compute = HONE_F16, .plan = fake_plan, .variants = fake_variants,
     .prepare = hn_eval_prepare, .launch = fake_launch, .efficiency = 0.9, .kernel = &fake[FUSED_HALF]},
    {sizeof(hone_tactic), .name = "fake.halve", .version = 1, .op = "convert", .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_F16_PLAIN}, {HONE_NCHW16C, HONE_F16_PLAIN}}, .plan = fake_plan,
     .variants = fake_variants, .prepare = hn_eval_prepare, .launch = fake_launch, .efficiency = 0.9,
     .kernel = &fake[TO_HALF]},
    {sizeof(hone_tactic), .name = "fake.unhalve", .version = 1, .op = "convert", .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_F16_PLAIN, HONE_PLAIN}, {HONE_F16_PLAIN, HONE_NCHW16C}}, .plan = fake_plan,
     .variants = fake_variants, .prepare = hn_eval_prepare, .launch = fake_launch, .efficiency = 0.9,
     .kernel = &fake[FROM_HALF]},
    {0}};
static const hone_tactic *const fake_families[] = {fake_tactics, NULL};

/* One tuning: the graph, the devices (fake, then the reference), the outcome. */
typedef struct tuning_case {
  hone_context *context;
  hone_graph *graph;
  hone_device *devices[2];
  hone_backend backend;
  hn_choices *choices;
} tuning_case;

static inline void case_begin(tuning_case *t, const char *text) {
  memset(t, 0, sizeof *t);
  memset(fake, 0, sizeof fake);
  assert_int_equal(hone_context_create(NULL, &t->context), HONE_OK);
  t->backend = *hn_backend_find("null");
  t->backend.families = fake_families;
  const hone_device_options one = {.struct_size = sizeof one, .threads = 1};
  assert_int_equal(hn_device_open(t->context, &t->backend, 0, &one, &t->devices[0]), HONE_OK);
  assert_int_equal(hn_device_open(t->context, hn_backend_find("ref"), 0, &one, &t->devices[1]), HONE_OK);
  if (hn_graph_parse(t->context, text, strlen(text), NULL, 0, &t->graph) != HONE_OK)
    fail_msg("%s", t->context->diag.entries[0].text);
}

static inline hone_status case_tune(tuning_case *t, const hone_build_options *options) {
  hone_shape shapes[4];
  for (int i = 0; i < t->graph->main->param_count; ++i) shapes[i] = t->graph->main->params[i]->fact.type.shape;
  hn_choices_destroy(t->choices);
  hn_diag_clear(&t->context->diag);
  t->choices = NULL;
  hn_tuner *tuner;
  HN_TRY(hn_tuner_open(t->context, options, 1, NULL, &tuner));
  return hn_tuner_close(
      tuner, hn_tune(tuner, t->graph, t->devices, 2, &(const hn_ranges){shapes, shapes, shapes}, NULL, &t->choices));
}

static inline void case_tune_ok(tuning_case *t, const hone_build_options *options) {
  if (case_tune(t, options) != HONE_OK) fail_msg("%s", t->context->diag.entries[0].text);
}

static inline void case_end(tuning_case *t) {
  hn_choices_destroy(t->choices);
  hn_graph_destroy(t->graph);
  hn_device_release(t->devices[0]);
  hn_device_release(t->devices[1]);
  hone_context_destroy(t->context);
}

static inline hn_choice *choice_of(const tuning_case *t, const char *node) {
  for (int i = 0; i < t->choices->count; ++i)
    if (strcmp(t->choices->items[i].node->name, node) == 0) return &t->choices->items[i];
  fail_msg("no node %s", node);
  return NULL;
}

static inline const hn_candidate *chosen_of(const tuning_case *t, const char *node) {
  const hn_choice *choice = choice_of(t, node);
  assert_true(choice->chosen >= 0);
  return &choice->candidates[choice->chosen];
}

/* The n-th candidate of a tactic in plain format. */
static inline const hn_candidate *candidate_of(const tuning_case *t, const char *node, const char *tactic, int n) {
  const hn_choice *choice = choice_of(t, node);
  for (int k = 0; k < choice->candidate_count; ++k)
    if (strcmp(choice->candidates[k].tactic->name, tactic) == 0 && choice->candidates[k].storages.in == HONE_PLAIN &&
        n-- == 0)
      return &choice->candidates[k];
  fail_msg("node %s has no candidate %s", node, tactic);
  return NULL;
}

#define ONE_RELU "graph \"g\" opset 17 { in %x: f32[1,64,32,32] %y = relu(%x) @\"r\" out %y }"
#define EXP_TANH_FUSED                                                                                                 \
  "graph \"g\" opset 17 { in %x: f32[1,64,32,32]\n"                                                                    \
  "%y = fused(%x) [expr=\"tanh(exp(x0))\"] @\"f\" parts (%p: f32[1,64,32,32]) {\n"                                     \
  "%q = exp(%p) @\"e\"\n%r = tanh(%q) @\"t\"\nyield %r }\nout %y }"

#endif
