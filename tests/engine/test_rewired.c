/* SPDX-License-Identifier: Apache-2.0 */
/* test_rewired.c - plans in which one number of one step or block stands for another tensor, or for none: the plan's
 * check refuses it, or it runs to an end without touching anything beyond its blocks (behind which stand forbidden
 * pages). Absent captures, carried values and results are among them. */
#include "ir/text.h"
#include "run/engine.h"
#include "support/guard.h"
#include "support/small_net.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static const char *const texts[] = {
    /* captures of a branch */
    "graph \"g\" opset 17 {\n in %x: f32[1,16,6,6]\n in %ask: bool[]\n const %w: f32[16,16,3,3] = random 1\n"
    " %y = relu(%x)\n %r = if(%ask, %x, %y)\n"
    "  (%a: f32[1,16,6,6], %o: f32[1,16,6,6]) {\n %b = conv(%a, %w) [pads=[1,1,1,1]]\n %c = add(%b, %o)\n yield %c\n "
    "}\n"
    "  (%e: f32[1,16,6,6], %p: f32[1,16,6,6]) {\n %f = neg(%p)\n yield %f\n }\n"
    " %s = softmax(%r) [axis=1]\n out %s\n}\n",
    /* a loop that carries, hands on, captures and stacks */
    "graph \"g\" opset 17 {\n in %n: i64[]\n in %go: bool[]\n in %x: f32[4,8]\n const %w: f32[8,8] = random 1\n"
    " %k = tanh(%x)\n"
    " %y, %z, %all = loop(%n, %go, %x, %x, %k) [captures=1]\n"
    "  (%i: i64[], %on: bool[], %s: f32[4,8], %old: f32[4,8], %c: f32[4,8]) {\n"
    "  %m = matmul(%s, %w)\n %o = mul(%m, %c)\n %q = add(%o, %old)\n %l = cast(%i) [to=9]\n %g = not(%l)\n"
    "  yield %g, %q, %s, %o\n }\n out %y\n out %z\n out %all\n}\n",
    /* extents that come out of the run, and a view of them */
    "graph \"g\" opset 17 {\n in %x: f32[6,9]\n in %y: f32[6,9]\n in %mask: bool[6]\n const %to: i64[3] = [0, 3, 3]\n"
    " %s = compress(%x, %mask) [axis=0]\n %t = compress(%y, %mask) [axis=0]\n %a = add(%s, %t)\n"
    " %r = reshape(%a, %to)\n %q = exp(%r)\n out %q\n}\n",
    /* more than one kind, and storage that is shared */
    "graph \"g\" opset 17 {\n in %x: f32[2,16,6,6]\n in %v: i64[3]\n const %w: f32[16,16,1,1] = random 1\n"
    " const %to: i64[2] = [2, -1]\n const %d: f32[576,4] = random 2\n"
    " %a = conv(%x, %w)\n %b = relu(%a)\n %c = add(%b, %x)\n %r = reshape(%c, %to)\n %m = matmul(%r, %d)\n"
    " %i = add(%v, %v)\n %f = cast(%i) [to=1]\n %s = reduce_sum(%f) [keepdims=0]\n %o = mul(%m, %s)\n"
    " out %o\n out %i\n}\n",
};

typedef struct bench {
  hone_context *context;
  hone_device *device;
  hone_engine *engine;
  long refused, failed, ran;
} bench;

static void fill(hone_session *session, const char *name) {
  hone_tensor t;
  if (hone_session_tensor(session, name, &t) != HONE_OK || !t.data) return;
  if (t.type.dtype == HONE_F32) small_net_fill(&t, 3);
  if (t.type.dtype == HONE_I64)
    for (size_t i = 0; i < t.bytes / 8; ++i) ((int64_t *)t.data)[i] = 2;
  if (t.type.dtype == HONE_BOOL) memset(t.data, 1, t.bytes);
}

static void run(bench *b) {
  hone_session *session;
  const hone_session_options options = {.struct_size = sizeof options, .heap_limit_bytes = 16 << 20};
  hone_context_clear_messages(b->context);
  hone_status status = hone_session_create(b->engine, &options, &session, hone_context_diagnostics(b->context));
  if (status == HONE_OK) {
    const hn_plan *plan = hn_engine_common(b->engine);
    for (int i = 0; i < plan->input_count; ++i) fill(session, plan->inputs[i].name);
    status = hone_session_run(session);
    assert_true(status == HONE_OK || hone_session_message_count(session) > 0);
  }
  hone_session_destroy(session);
  ++*(status == HONE_OK ? &b->ran : &b->failed);
}

/* What the engine does when *number is another one. */
static void with(bench *b, int *number, int other) {
  const int right = *number;
  const hn_plan *plan = hn_engine_common(b->engine);
  if (right == other) return;
  *number = other;
  hone_context_clear_messages(b->context);
  if (hn_plan_check(plan, hone_context_diagnostics(b->context)) == HONE_OK) {
    run(b);
  } else {
    assert_true(hone_context_message_count(b->context) > 0);
    ++b->refused;
  }
  *number = right;
}

static void with_all(bench *b, int *numbers, int count, int least) {
  for (int i = 0; i < count; ++i)
    for (int t = least; t < hn_engine_common(b->engine)->tensor_count; ++t) with(b, &numbers[i], t);
}

static void fewer(bench *b, int *count) {
  if (*count > 0) with(b, count, *count - 1);
}

static void rewire(bench *b) {
  hn_plan *plan = b->engine->schedules->plans[0];
  for (int s = 0; s < plan->step_count; ++s) {
    hn_plan_step *step = &plan->steps[s];
    with_all(b, step->in, step->in_count, -1);
    with_all(b, step->out, step->out_count, -1);
    fewer(b, &step->in_count);
    fewer(b, &step->out_count);
  }
  for (int k = 0; k < plan->block_count; ++k) { /* a file cannot say -1 here */
    hn_plan_block *block = &plan->blocks[k];
    with_all(b, block->params, block->param_count, 0);
    with_all(b, block->results, block->result_count, 0);
    fewer(b, &block->param_count);
    fewer(b, &block->result_count);
  }
  for (int o = 0; o < plan->output_count; ++o)
    for (int t = 0; t < plan->tensor_count; ++t) with(b, &plan->outputs[o].tensor, t);
  for (int t = 0; t < plan->tensor_count; ++t)
    for (int from = -1; from < t; ++from) with(b, &plan->tensors[t].alias_of, from);
}

static void check_text(const char *text, bool reference) {
  const hone_context_options guarded = {.struct_size = sizeof guarded, .resize = guard_resize};
  const hone_device_options one = {.struct_size = sizeof one, .threads = 1};
  const hone_build_options options = {.struct_size = sizeof options, .level = -1, .reference_only = reference};
  bench b = {0};
  hone_graph *graph;
  assert_int_equal(hone_context_create(&guarded, &b.context), HONE_OK);
  assert_int_equal(hone_device_open(b.context, "cpu", 0, &one, &b.device), HONE_OK);
  if (hn_graph_parse(b.context, text, strlen(text), NULL, 0, &graph) != HONE_OK ||
      hone_engine_build(b.context, graph, &b.device, 1, &options, &b.engine) != HONE_OK)
    fail_msg("%s", hone_context_message(b.context, 0, NULL));
  hone_graph_destroy(graph);
  run(&b);
  if (b.ran != 1) fail_msg("it does not run as it is: %s", text);
  rewire(&b);
  print_message("%ld refused, %ld failed in words, %ld ran\n", b.refused, b.failed, b.ran);
  assert_true(b.refused > 100);
  hone_engine_release(b.engine);
  hone_device_close(b.device);
  hone_context_destroy(b.context);
}

static void test_tuned(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) check_text(texts[i], false);
}

static void test_reference(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) check_text(texts[i], true);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_tuned), cmocka_unit_test(test_reference)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
