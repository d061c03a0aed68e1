/* SPDX-License-Identifier: Apache-2.0 */
/* test_report.c - reports of a plan and a trace made by hand: every number in them is known. */
#include "ops/registry.h"
#include "report/bound.h"
#include "report/grid.h"
#include "report/report.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

typedef struct fixture {
  hn_arena arena;
  hn_text out;
  hone_tactic fast, slow;
  hn_plan_step steps[4];
  hn_trace_step times[4];
  hn_work work[4];
  hn_plan plan;
  hn_trace trace;
  hone_facts facts;
  hn_profile_input input;
} fixture;

/* Two runs: a convolution of 3 ms, a view, a relu of 1 ms on the reference, a convert of 1 ms; 5.5 ms end to end. */
static fixture *open_fixture(void) {
  fixture *f = calloc(1, sizeof *f);
  const hn_op_list *ops = hn_builtin_ops();
  hn_arena_init(&f->arena, hn_allocator_default());
  hn_text_init(&f->out, hn_allocator_default());
  f->fast = (hone_tactic){.name = "cpu.fast"};
  f->slow = (hone_tactic){.name = "ref.eval", .flags = HONE_TACTIC_REFERENCE};
  static const struct {
    const char *name, *op;
    hn_step_kind kind;
    double total_ns, flops, bytes;
  } rows[4] = {{"c", "conv", HN_STEP_CALL, 6e6, 6e8, 3e6},
               {"v", "flatten", HN_STEP_VIEW, 0, 0, 0},
               {"r", "relu", HN_STEP_CALL, 2e6, 1e3, 8e3},
               {"c/convert_0", "convert", HN_STEP_CALL, 2e6, 0, 1e6}};
  for (int i = 0; i < 4; ++i) {
    f->steps[i] = (hn_plan_step){.kind = rows[i].kind,
                                 .name = rows[i].name,
                                 .op = hn_op_find(ops, rows[i].op),
                                 .provider = i == 2 ? "ref" : "cpu",
                                 .tactic = i == 2 ? &f->slow : &f->fast};
    assert_non_null(f->steps[i].op);
    f->times[i] = (hn_trace_step){.step = i,
                                  .runs = 2,
                                  .total_ns = rows[i].total_ns,
                                  .median_ns = rows[i].total_ns / 2,
                                  .p99_ns = rows[i].total_ns};
    f->work[i] = (hn_work){.cost = {.flops = rows[i].flops, .bytes_read = rows[i].bytes}, .in_bytes = rows[i].bytes};
  }
  f->steps[0].params = (hone_params){.count = 1, .items = {{"oc", 4}}};
  f->steps[3].caused_by = "c";
  f->plan = (hn_plan){.step_count = 4, .steps = f->steps};
  f->trace = (hn_trace){.runs = 2, .step_count = 4, .steps = f->times, .total_ns = 11e6, .median_ns = 5.4e6};
  f->facts = (hone_facts){.name = "box", .threads = 1, .roofs = {[HONE_ROOF_F32] = 400e9, [HONE_ROOF_MEMORY] = 10e9}};
  f->input = (hn_profile_input){"net", &f->plan, 1, &f->trace, f->work, &f->facts, 3, NULL};
  return f;
}

static void close_fixture(fixture *f) {
  hn_text_deinit(&f->out);
  hn_arena_deinit(&f->arena);
  free(f);
}

static void check_has(const fixture *f, const char *want) {
  if (!strstr(hn_text_string(&f->out), want)) fail_msg("no \"%s\" in:\n%s", want, hn_text_string(&f->out));
}

static void test_profile_text(void **state) {
  (void)state;
  fixture *f = open_fixture();
  const hone_report_options options = {.struct_size = sizeof options};
  assert_int_equal(hn_report_profile(&f->input, &options, &f->arena, &f->out), HONE_OK);
  check_has(f, "net on box, 1 thread\n");
  check_has(f, "1  c            conv      3.0000  6.0000  60.0  600.0  3.00    200.0   1.0  compute f32      50");
  check_has(f, "2  r            relu      1.0000  2.0000  20.0      -  0.01        -     -  memory            0");
  check_has(f, "total       5.4000 ms a run, 555.6 FPS (median of 2 runs, p99 0.0000 ms, batch 3)\n");
  check_has(f, "5.0000 ms in sum + 0.5000 ms between them (9.1 %) = 5.5000 ms end to end, in the mean\n");
  check_has(f, "GEMM share  60.0 % of the time");
  check_has(f, "the rest: Activation 20.0 %, Convert 20.0 %\n");
  check_has(f, "roofs       1.6008 ms: the layers in sum reach 32 % of what their roofs allow\n");
  check_has(f, "transfers   none: every step works in the host's memory\n");
  check_has(f, "20.00 % of the time ran on the reference: r (relu)\n");
  check_has(f, "Top 3 optimization candidates, by what lies above their roofs\n"
               "  1. c (conv): 3.0000 ms, 60.0 %; compute f32, 50 % of the roof, 1.5000 ms above it\n");
  check_has(f, "runs on the reference: no fast tactic takes it");
  check_has(f, "changes the layout for c\n");
  check_has(f, "Convolution       60.0 %");
  assert_null(strstr(hn_text_string(&f->out), "flatten")); /* nothing of it runs */
  close_fixture(f);
}

/* Two of the steps become transfers: the view's tensor goes to a device, the last one's comes back. */
static void test_profile_transfers(void **state) {
  (void)state;
  static hn_plan_tensor tensors[2] = {{.name = "at_device", .device = 0}, {.name = "at_host", .device = 1}};
  static const char *const kinds[] = {"far", "cpu"};
  static int numbers[2] = {0, 1}, spaces[2] = {0, 1};
  fixture *f = open_fixture();
  f->plan.tensors = tensors;
  f->plan.tensor_count = 2;
  f->plan.device_kinds = kinds;
  f->plan.spaces = spaces;
  f->plan.host = 1;
  f->steps[1] =
      (hn_plan_step){.kind = HN_STEP_COPY, .name = "c/copy_0", .in = &numbers[1], .out = &numbers[0], .caused_by = "c"};
  f->steps[3] = (hn_plan_step){
      .kind = HN_STEP_COPY, .name = "y/copy_out", .in = &numbers[0], .out = &numbers[1], .caused_by = "y"};
  f->times[0].total_ns = 5e6;
  f->times[1].total_ns = 1e6;
  f->times[3].total_ns = 2e6;
  for (int i = 0; i < 4; ++i) f->times[i].median_ns = f->times[i].total_ns / 2;
  const hone_report_options options = {.struct_size = sizeof options, .top = 3};
  assert_int_equal(hn_report_profile(&f->input, &options, &f->arena, &f->out), HONE_OK);
  check_has(f, "a transfer between host and device for y\n");
  check_has(f, "H2D 0.5000 ms (9.3 %), inference 72.2 %, D2H 1.0000 ms (18.5 %), 2 copies\n");
  check_has(f, "Top 3 optimization candidates, by what lies above their roofs\n  1. c (conv)");
  const hone_report_options json = {.struct_size = sizeof json, .json = true};
  assert_int_equal(hn_report_profile(&f->input, &json, &f->arena, &f->out), HONE_OK);
  check_has(f, "\"h2d_ms\": 0.5");
  check_has(f, "\"tensor_core_percent\": 0");

  check_has(f, "\"d2h_ms\": 1");
  check_has(f, "\"transfers\": 2");
  close_fixture(f);
}

static void test_profile_json(void **state) {
  (void)state;
  fixture *f = open_fixture();
  const hone_report_options options = {.struct_size = sizeof options, .json = true};
  assert_int_equal(hn_report_profile(&f->input, &options, &f->arena, &f->out), HONE_OK);
  check_has(f, "\"mean_ms\": 5.5");
  check_has(f, "\"reference_percent\": 20");
  check_has(f, "\"candidates\": [\"c\", \"c/convert_0\", \"r\"]");
  check_has(f, "\"caused_by\": \"c\"");
  close_fixture(f);
}

/* Rows of types, nodes and modules, CSV, and the cost of profiling. */
static void test_profile_views(void **state) {
  (void)state;
  fixture *f = open_fixture();
  static const char *const nodes[] = {"/body/block.0/conv/Conv", "/body/block.0/act/Relu"};
  f->steps[0].origins = nodes;
  f->steps[0].origin_count = 2;
  f->steps[2].origins = &nodes[1];
  f->steps[2].origin_count = 1;
  hone_report_options options = {.struct_size = sizeof options, .by = HONE_BY_MODULE, .unprofiled_ns = 5e6};
  assert_int_equal(hn_report_profile(&f->input, &options, &f->arena, &f->out), HONE_OK);
  check_has(f, "body/block.0   4.0000  80.0       2  600.0    150.0   0.8      38\n");
  check_has(f, "(no module)    1.0000  20.0       1      -        -   1.0      10\n");
  check_has(f, "profiling   +8.0 %: a run without it takes 5.0000 ms\n");
  options.by = HONE_BY_ONNX_NODE;
  assert_int_equal(hn_report_profile(&f->input, &options, &f->arena, &f->out), HONE_OK);
  check_has(f, "/body/block.0/conv/Conv + /body/block.0/act/Relu   3.0000");
  options.by = HONE_BY_TYPE;
  options.csv = true;
  hn_text_clear(&f->out);
  assert_int_equal(hn_report_profile(&f->input, &options, &f->arena, &f->out), HONE_OK);
  assert_string_equal(hn_text_string(&f->out),
                      "name,median_ms,percent,layers,flops,compulsory_bytes,roof_percent\r\n"
                      "conv,3.000000,60.000,1,600000000,3000000,50.00\r\n"
                      "convert,1.000000,20.000,1,0,1000000,10.00\r\nrelu,1.000000,20.000,1,1000,8000,0.08\r\n");
  options.by = HONE_BY_LAYER;
  f->steps[0].name = "a \"b\", c";
  assert_int_equal(hn_report_profile(&f->input, &options, &f->arena, &f->out), HONE_OK);
  check_has(
      f, "1,\"a \"\"b\"\", c\",conv,Convolution,cpu.fast{oc=4},,3.000000,6.000000,60.000,600000000,3000000,0,3000000,0,"
         "compute f32,50.00,1.500000\r\n");
  close_fixture(f);
}

static void assert_close(double got, double want, double within) {
  if (fabs(got - want) > within) fail_msg("%.12g, not %.12g", got, want);
}

/* Which roof a step is held against: by the type it multiplies, the caches that hold its bytes, and its algorithm. */
static void test_bounds(void **state) {
  (void)state;
  fixture *f = open_fixture();
  static int numbers[2] = {0, 1};
  static hn_plan_tensor tensors[2] = {{.name = "x", .type.dtype = HONE_F32}, {.name = "y", .type.dtype = HONE_F32}};
  f->plan.tensors = tensors;
  f->steps[0].in_count = f->steps[0].out_count = 1;
  f->steps[0].in = &numbers[0];
  f->steps[0].out = &numbers[1];
  f->plan.weights_bytes = 4000;
  hone_facts facts = {.threads = 1, .host_memory = true, .l1_bytes = 1000, .l2_bytes = 10000};
  facts.roofs[HONE_ROOF_F32] = 100e9;
  facts.roofs[HONE_ROOF_L1] = 100e9;
  facts.roofs[HONE_ROOF_L2] = 50e9;
  facts.roofs[HONE_ROOF_MEMORY] = 10e9;
  hn_work work = {.in_bytes = 300, .out_bytes = 300};
  hn_bound bound = hn_step_bound(&f->plan, &f->steps[0], &work, &facts, false, 60);
  assert_int_equal(bound.kind, HN_BOUND_LATENCY); /* 3 of 60 ns, and short */
  assert_int_equal(bound.level, HONE_ROOF_L1);
  assert_close(bound.memory_ns, 3, 1e-9); /* caches take in and give out at once */
  work.params_bytes = 1000; /* the network's 4,000 bytes lie a quarter in L1, the rest in L2; so do these */
  bound = hn_step_bound(&f->plan, &f->steps[0], &work, &facts, false, 30);
  assert_int_equal(bound.kind, HN_BOUND_MEMORY);
  assert_close(bound.memory_ns, 300 * (0.625 / 100 + 0.375 / 50) + 1000 * (0.25 / 100 + 0.75 / 50), 1e-9);
  assert_int_equal(bound.level, HONE_ROOF_L2);
  bound = hn_step_bound(&f->plan, &f->steps[0], &work, &facts, true, 160);
  assert_close(bound.memory_ns, 160, 1e-9);
  assert_close(bound.share, 1, 1e-9);
  work.cost.flops = 1e6;
  bound = hn_step_bound(&f->plan, &f->steps[0], &work, &facts, false, 20e3);
  assert_int_equal(bound.kind, HN_BOUND_COMPUTE);
  assert_close(bound.compute_ns, 1e4, 1e-6);
  assert_null(bound.reason);
  f->fast.algorithm = "Winograd F(2x2,3x3)";
  f->fast.fewer = 2.25;
  bound = hn_step_bound(&f->plan, &f->steps[0], &work, &facts, false, 20e3);
  assert_close(bound.compute_ns, 1e4 / 2.25, 1e-6);
  assert_string_equal(bound.reason, "Winograd F(2x2,3x3)");
  f->fast.fewer = 0;
  bound = hn_step_bound(&f->plan, &f->steps[0], &work, &facts, false, 5e3);
  assert_non_null(bound.reason); /* twice the roof is not left without a word */
  tensors[0].type.dtype = HONE_U8;
  assert_int_equal(hn_step_bound(&f->plan, &f->steps[0], &work, &facts, false, 20e3).unit, HONE_ROOF_F32);
  facts.roofs[HONE_ROOF_INT8] = 400e9; /* there is a roof of bytes, now */
  bound = hn_step_bound(&f->plan, &f->steps[0], &work, &facts, false, 20e3);
  assert_int_equal(bound.unit, HONE_ROOF_INT8);
  assert_close(bound.compute_ns, 2.5e3, 1e-6);
  tensors[0].type.dtype = HONE_F32;
  close_fixture(f);
}

static const char ledger[] =
    "{\"ledger\": 2, \"device\": \"box\", \"threads\": 2, \"schedules\": [\n"
    "{\"schedule\": 0, \"formats_proved_best\": true, \"expected_ns\": 2e6, \"nodes\": [{\"node\": \"c\", \"op\": "
    "\"conv\", \"origins\": [\"c\", \"act\"], \"chosen\": 1, \"why\": "
    "\"fastest\","
    "\"flops\": 2e6, \"bytes\": 1e6, \"candidates\": ["
    "{\"tactic\": \"cpu.a\", \"in\": \"plain\", \"out\": \"plain\", \"state\": \"rejected\", \"reason\": \"too "
    "small\"},"
    "{\"tactic\": \"cpu.b\", \"in\": \"plain\", \"out\": \"nchw16c\", \"params\": {\"oc\": 2}, \"state\": \"timed\","
    "\"time_ns\": 1500000, \"low_ns\": 1400000, \"high_ns\": 1600000, \"error\": 1e-7, \"bound\": 1e-5}]},"
    "{\"node\": \"other\", \"op\": \"relu\", \"why\": \"only one\", \"candidates\": []}],\n"
    "\"passes\": [{\"pass\": \"fuse\", \"rule\": \"act\", \"node\": \"act\", \"fired\": true},"
    "{\"pass\": \"fuse\", \"rule\": \"bias\", \"node\": \"c\", \"fired\": false, \"unmet\": \"no bias\"}]},\n"
    "{\"schedule\": 1, \"expected_ns\": 1e6, \"nodes\": ["
    "{\"node\": \"c\", \"op\": \"conv\", \"origins\": [\"c\"], \"why\": \"the lock\"}], \"passes\": []}]}";

static void test_explain(void **state) {
  (void)state;
  static const struct {
    const char *node, *has, *lacks;
    hone_status want;
    int schedule; /* one more than the number; 0: all */
    bool all;
  } rows[] = {
      {"c", "cpu.b{oc=2}", "other (relu)", HONE_OK, 0, false},
      {"act", "act (fuse) fired on act", "other (relu)", HONE_OK, 0, false},
      {"c", "bias (fuse) did not fire on c: no bias", NULL, HONE_OK, 0, false},
      {"c", "1.5000 [1.4000, 1.6000]", NULL, HONE_OK, 0, false},
      {"c", "too small", NULL, HONE_OK, 0, false},
      {"c", "proved best", NULL, HONE_OK, 0, false},
      {"other", "only one", "cpu.b", HONE_OK, 0, false},
      {NULL, "other (relu)", NULL, HONE_OK, 0, true},
      {NULL, "1 layer, 1.4000 ms without converts", "other (relu)", HONE_OK, 1, false},
      {"absent", "", NULL, HONE_INVALID, 0, false},
      {"c", "schedule 1: expected 1.0000 ms", NULL, HONE_OK, 0, false},
      {"c", "the lock", "cpu.b", HONE_OK, 2, false},
      {"c", "cpu.b", "the lock", HONE_OK, 1, false},
      {"other", "", NULL, HONE_INVALID, 2, false},
      {"c", "", NULL, HONE_INVALID, 3, false},
  };
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    fixture *f = open_fixture();
    const hone_report_options options = {.struct_size = sizeof options,
                                         .node = rows[i].node,
                                         .all = rows[i].all,
                                         .one_schedule = rows[i].schedule > 0,
                                         .schedule = rows[i].schedule - 1};
    assert_int_equal(hn_report_explain("a ledger", ledger, strlen(ledger), 0, &options, &f->arena, &f->out, NULL),
                     rows[i].want);
    check_has(f, rows[i].has);
    if (rows[i].lacks) assert_null(strstr(hn_text_string(&f->out), rows[i].lacks));
    close_fixture(f);
  }
}

/* A ledger is a file: whatever is in it, the answer is a report or an error. */
static void test_explain_damaged(void **state) {
  (void)state;
  const hone_report_options options = {.struct_size = sizeof options};
  for (size_t length = 0; length < strlen(ledger); ++length) {
    fixture *f = open_fixture();
    assert_int_equal(hn_report_explain("a ledger", ledger, length, 0, &options, &f->arena, &f->out, NULL),
                     HONE_MALFORMED);
    close_fixture(f);
  }
  static const char *const odd[] = {
      "{\"schedules\": [{\"nodes\": [1, null, \"x\", [], {}]}]}",
      "{\"schedules\": [{\"nodes\": {}}]}",
      "{\"schedules\": [1, null]}",
      "{\"schedules\": {}}",
      "{}",
      "{\"schedules\": [{\"nodes\": [{\"node\": 5, \"origins\": 3, \"candidates\": [7]}], \"passes\": 2}]}"};
  for (size_t i = 0; i < HN_COUNT(odd); ++i) {
    fixture *f = open_fixture();
    const hone_status status =
        hn_report_explain("a ledger", odd[i], strlen(odd[i]), 0, &options, &f->arena, &f->out, NULL);
    assert_true(status == HONE_OK || status == HONE_MALFORMED);
    close_fixture(f);
  }
}

/* One row below the heading, at a width. */
static void test_grid(void **state) {
  (void)state;
  static const struct {
    int width;
    bool color;
    const char *align, *drop, *cells[6], *want;
  } rows[] = {
      {40, true, "rl", "", {"n", "name", "123", "conv"}, "\033[1m  n  name\033[0m\n123  conv\n"},
      {80, false, "rl", "", {"n", "name", "123", "short"}, "  n  name\n123  short\n"},
      /* texts are shortened in their middle, down to 16 columns; numbers never */
      {40,
       false,
       "rl",
       "",
       {"n", "name", "123", "a/very/long/name/that/ends/unlike/the/others_17"},
       "  n  name\n123  a/very/long/name/..ke/the/others_17\n"},
      /* then columns are left out as it is said, */
      {30,
       false,
       "lrl",
       "b",
       {"tactic", "ms", "reason", "cpu.conv.f32.nchw16c", "1.2345678", "its extents are odd"},
       "tactic          reason\ncpu.co..chw16c  its ex..re odd\n"},
      /* then texts are shortened further */
      {24,
       false,
       "lrl",
       "",
       {"tactic", "ms", "reason", "cpu.conv.f32.nchw16c", "1.25", "its extents are odd"},
       "tactic      ms  reason\ncpu..16c  1.25  its..odd\n"},
      /* Chinese characters take two columns, an accent of its own none; nothing breaks in a character */
      {80,
       false,
       "lr",
       "",
       {"layer", "ms", "\xe5\x8d\xb7\xe7\xa7\xaf", "12"},
       "layer  ms\n\xe5\x8d\xb7\xe7\xa7\xaf   12\n"},
      {80, false, "lr", "", {"layer", "ms", "e\xcc\x81t\xc3\xa9", "12"}, "layer  ms\ne\xcc\x81t\xc3\xa9    12\n"},
      {10,
       false,
       "l",
       "",
       {"n", "\xe5\x8d\xb7\xe7\xa7\xaf\xe5\x8d\xb7\xe7\xa7\xaf\xe5\x8d\xb7\xe7\xa7\xaf"},
       "n\n\xe5\x8d\xb7\xe7\xa7\xaf..\xe5\x8d\xb7\xe7\xa7\xaf\n"},
      /* names come from files: no control characters, no half characters */
      {80, false, "l", "", {"n", "a\033[2J\nb"}, "n\na?[2J?b\n"},
      {80, false, "lr", "", {"n", "m", "\xe5\x8d", "1"}, "n   m\n\xe5\x8d  1\n"},
  };
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    fixture *f = open_fixture();
    const hone_report_options options = {.struct_size = sizeof options, .width = rows[i].width, .color = rows[i].color};
    hn_grid grid;
    hn_grid_init(&grid, &f->arena, &options, rows[i].align, rows[i].drop);
    for (int c = 0; c < 6 && rows[i].cells[c]; ++c) hn_grid_add(&grid, "%s", rows[i].cells[c]);
    hn_grid_write(&grid, &f->out);
    assert_string_equal(hn_text_string(&f->out), rows[i].want);
    close_fixture(f);
  }
}

/* Any texts at any width: no line is wider than it, as long as numbers and the least of texts fit. */
static void test_grid_fits(void **state) {
  (void)state;
  uint64_t seed = 5;
  for (int round = 0; round < 2000; ++round) {
    fixture *f = open_fixture();
    const int width = 60 + round % 100;
    const hone_report_options options = {.struct_size = sizeof options, .width = width};
    hn_grid grid;
    hn_grid_init(&grid, &f->arena, &options, "llrlr", "ec");
    for (int i = 0; i < 30; ++i) {
      char text[256] = "";
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      const int length = (int)(seed >> 33) % (i % 5 == 2 || i % 5 == 4 ? 8 : 60);
      for (int k = 0; k < length; ++k)
        strcat(text, i % 5 == 2 || i % 5 == 4 ? "7" : (seed >> k & 1) ? "x" : "\xe5\x8d\xb7");
      hn_grid_add(&grid, "%s", text);
    }
    hn_grid_write(&grid, &f->out);
    char *text = strdup(hn_text_string(&f->out));
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) assert_true(hn_text_columns(line) <= width);
    free(text);
    close_fixture(f);
  }
}

static void test_classes(void **state) {
  (void)state;
  static const char *const rows[][2] = {{"conv", "Convolution"}, {"linear", "Matrix product"},  {"relu", "Activation"},
                                        {"add", "Elementwise"},  {"reduce_sum", "Reduction"},   {"if", "Control flow"},
                                        {"max_pool", "Pooling"}, {"transpose", "Data movement"}};
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    const hone_op *op = hn_op_find(hn_builtin_ops(), rows[i][0]);
    assert_non_null(op);
    assert_string_equal(hn_report_class(op), rows[i][1]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_profile_text),    cmocka_unit_test(test_profile_transfers),
      cmocka_unit_test(test_profile_json),    cmocka_unit_test(test_profile_views),
      cmocka_unit_test(test_bounds),          cmocka_unit_test(test_explain),
      cmocka_unit_test(test_explain_damaged), cmocka_unit_test(test_grid),
      cmocka_unit_test(test_grid_fits),       cmocka_unit_test(test_classes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
