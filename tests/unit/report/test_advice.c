/* SPDX-License-Identifier: Apache-2.0 */
/* test_advice.c - the decision tree leaf by leaf, and each row of a run on a profile made by hand that meets its
 * condition and on one that does not. */
#include "report/advice.h"
#include "ops/registry.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void check_near(double got, double want) {
  if (!(fabs(got - want) < 1)) fail_msg("%g, not %g", got, want);
}

/* ---- the tree ---- */

static void test_patterns(void **state) {
  (void)state;
  static const struct {
    hn_pattern_shares shares;
    bool roofs;
    int steps;
    hn_pattern want;
  } rows[] = {
      {{.reference = 0.5, .transfer = 0.9}, true, 40, HN_PATTERN_REFERENCE},
      {{.transfer = 0.4, .between = 0.4}, true, 40, HN_PATTERN_TRANSFER},
      {{.between = 0.3, .latency = 0.9}, true, 40, HN_PATTERN_LAUNCH},
      {{.between = 0.3}, false, 40, HN_PATTERN_LAUNCH},
      {{.compute = 0.9}, false, 40, HN_PATTERN_UNKNOWN},
      {{.latency = 0.5, .convert = 0.3}, true, 40, HN_PATTERN_SMALL},
      {{.latency = 0.5, .compute = 0.5}, true, 3, HN_PATTERN_MIXED},
      {{.convert = 0.3, .memory = 0.9}, true, 40, HN_PATTERN_FORMAT},
      {{.waiting = 0.3, .compute = 0.9}, true, 40, HN_PATTERN_UNBALANCED},
      {{.compute = 0.7, .memory = 0.3}, true, 40, HN_PATTERN_COMPUTE},
      {{.compute = 0.3, .memory = 0.7}, true, 40, HN_PATTERN_MEMORY},
      {{.compute = 0.5, .memory = 0.5}, true, 40, HN_PATTERN_MIXED},
  };
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    const hn_pattern got = hn_pattern_of(&rows[i].shares, rows[i].roofs, rows[i].steps);
    if (got != rows[i].want) fail_msg("row %zu: %s, not %s", i, hn_pattern_name(got), hn_pattern_name(rows[i].want));
  }
  assert_string_equal(hn_pattern_name(HN_PATTERN_COUNT), "unknown");
}

/* ---- a profile by hand: two products and what lies between them ---- */

enum { STEPS = 4, TENSORS = 5 };

typedef struct fixture {
  hn_arena arena;
  hone_facts facts;
  hone_tactic tactic, reference;
  hn_plan_tensor tensors[TENSORS];
  hn_plan_port input;
  hn_plan_step steps[STEPS];
  int in[STEPS], out[STEPS];
  hn_plan plan;
  hn_trace trace;
  hn_trace_step times[STEPS];
  hn_work work[STEPS];
  hn_profile_row rows[STEPS];
  hn_profile_input in_profile;
  hone_report_options options;
  hn_profile profile;
  hn_advice_facts known;
} fixture;

static void make_steps(fixture *f) {
  static const char *const ops[STEPS] = {"conv", "relu", "max_pool", "conv"}, *const names[STEPS] = {"c1", "r", "p",
                                                                                                     "c2"};
  const hn_op_list *list = hn_builtin_ops();
  for (int t = 0; t < TENSORS; ++t)
    f->tensors[t] = (hn_plan_tensor){.name = "t",
                                     .type = {HONE_TENSOR, HONE_F32, HONE_PLAIN, {4, {1, 64, 56, 56}}},
                                     .dtype = HONE_F32,
                                     .place = t == 0       ? HN_PLACE_INPUT
                                              : t == STEPS ? HN_PLACE_OUTPUT
                                                           : HN_PLACE_ARENA,
                                     .alias_of = -1,
                                     .part_of = -1};
  for (int s = 0; s < STEPS; ++s) {
    f->in[s] = s;
    f->out[s] = s + 1;
    f->steps[s] = (hn_plan_step){.kind = HN_STEP_CALL,
                                 .name = names[s],
                                 .op = hn_op_find(list, ops[s]),
                                 .provider = "cpu",
                                 .tactic = &f->tactic,
                                 .in_count = 1,
                                 .out_count = 1,
                                 .in = &f->in[s],
                                 .out = &f->out[s]};
    assert_non_null(f->steps[s].op);
    f->work[s] = (hn_work){.cost = {.flops = 1e8, .bytes_read = 8e5, .bytes_written = 8e5},
                           .params_bytes = 1e4,
                           .in_bytes = 8e5,
                           .out_bytes = 8e5};
  }
}

/* Each step takes 1 ms; the products are bound by arithmetic at 80 % of their roof, the others by main memory. */
static fixture *open_fixture(void) {
  fixture *f = calloc(1, sizeof *f);
  assert_non_null(f);
  hn_arena_init(&f->arena, hn_allocator_default());
  f->tactic = (hone_tactic){.name = "cpu.fast"};
  f->reference = (hone_tactic){.name = "ref.eval", .flags = HONE_TACTIC_REFERENCE};
  f->facts = (hone_facts){
      .name = "box", .threads = 2, .host_memory = true, .roofs = {[HONE_ROOF_F32] = 1e11, [HONE_ROOF_MEMORY] = 1e10}};
  make_steps(f);
  f->input = (hn_plan_port){.name = "x", .tensor = 0, .opt = {4, {1, 64, 56, 56}}};
  f->plan = (hn_plan){.step_count = STEPS,
                      .steps = f->steps,
                      .tensor_count = TENSORS,
                      .tensors = f->tensors,
                      .input_count = 1,
                      .inputs = &f->input};
  f->trace = (hn_trace){.runs = 10, .step_count = STEPS, .steps = f->times};
  f->in_profile = (hn_profile_input){"net", &f->plan, 1, &f->trace, f->work, &f->facts, 1, NULL};
  for (int s = 0; s < STEPS; ++s) {
    const bool product = s == 0 || s == STEPS - 1;
    f->rows[s] = (hn_profile_row){.step = &f->steps[s],
                                  .times = &f->times[s],
                                  .work = &f->work[s],
                                  .mean_ns = 1e6,
                                  .median_ns = 1e6,
                                  .share = 25,
                                  .bound = {.kind = product ? HN_BOUND_COMPUTE : HN_BOUND_MEMORY,
                                            .unit = HONE_ROOF_F32,
                                            .level = HONE_ROOF_MEMORY,
                                            .compute_ns = product ? 8e5 : 1e4,
                                            .memory_ns = product ? 1e5 : 8e5,
                                            .floor_ns = 8e5,
                                            .share = 0.8}};
  }
  f->profile = (hn_profile){.in = &f->in_profile,
                            .options = &f->options,
                            .arena = &f->arena,
                            .count = STEPS,
                            .rows = f->rows,
                            .sum_ns = 4e6,
                            .mean_sum_ns = 4e6,
                            .mean_ns = 4e6,
                            .median_ns = 4e6,
                            .gemm_ns = 2e6,
                            .floor_ns = 3.2e6};
  return f;
}

static void close_fixture(fixture *f) {
  hn_arena_deinit(&f->arena);
  free(f);
}

static const hn_advice_item *advise(fixture *f, const char *name) {
  hn_advising *a;
  assert_int_equal(hn_advise(&f->profile, &f->known, &f->arena, &a), HONE_OK);
  for (int i = 0; i < a->count; ++i)
    if (strcmp(a->items[i].row->name, name) == 0) return &a->items[i];
  return NULL;
}

/* ---- what each row needs ---- */

static void more_threads(fixture *f) { f->known.machine_threads = 8; }
static void waiting(fixture *f) { f->known.waiting_ns = 3.5e6; }
static void bf16(fixture *f) { f->facts.roofs[HONE_ROOF_BF16] = 4e11; }
static void f16(fixture *f) { f->facts.roofs[HONE_ROOF_F16] = 4e11; }
static void equal_halves(fixture *f) {
  bf16(f);
  f16(f);
}
static void faster_bf16(fixture *f) {
  f16(f);
  f->facts.roofs[HONE_ROOF_BF16] = 8e11;
}
static void int8(fixture *f) { f->facts.roofs[HONE_ROOF_INT8] = 4e11; }
static void calibrated(fixture *f) {
  int8(f);
  f->known.calibrated = true;
}
static void cores_left(fixture *f) {
  f->known.machine_threads = 8; /* of which the fixture's engine takes two */
  f->known.throughput = true;
}
static void reference(fixture *f) {
  f->steps[1].tactic = &f->reference;
  f->rows[1].bound.floor_ns = 1e4;
  f->profile.reference_ns = 1e6;
}
static void reference_only(fixture *f) {
  reference(f);
  f->known.reference_only = true;
}
static void disabled(fixture *f) { f->known.disabled_passes = 3; }
static void convert(fixture *f) { f->steps[1].caused_by = "p"; }
static void copies(fixture *f) {
  f->steps[1].kind = HN_STEP_COPY;
  f->steps[1].caused_by = "p";
  f->profile.to_device_ns = 1e6;
}
static void no_replay(fixture *f) {
  f->facts.host_memory = false;
  f->known.no_replay = true;
}
static void heavy_weights(fixture *f) {
  for (int s = 1; s < 3; ++s) f->work[s].params_bytes = 1e8;
}
static int64_t at_begin(const hone_query *query, int input, int output) {
  (void)query;
  return input + output == 0 ? 0 : -1;
}
static void free_dims(fixture *f) {
  f->plan.dynamic = true;
  f->reference = (hone_tactic){.name = "cpu.concat", .overlay = at_begin};
  f->steps[1].tactic = &f->reference; /* no reference here: its name and flags are another's */
}
static void untimed(fixture *f) {
  f->known.level = -1;
  f->rows[3].bound.share = 0.2;
  f->rows[3].bound.floor_ns = 2e5;
}
static void odd_depth(fixture *f) {
  f->tensors[3].type.shape.dim[1] = 61;
  f->rows[3].bound.share = 0.4;
  f->rows[3].bound.floor_ns = 4e5;
}
static void reread(fixture *f) { (void)f; } /* as it is: two steps in turn, bound by main memory */
static void near(fixture *f) {
  for (int s = 1; s < 3; ++s) f->rows[s].bound.level = HONE_ROOF_L2;
}
/* 2.4 MB in 1 ms: pageable. */
static void slow_copies(fixture *f) {
  copies(f);
  f->facts.host_memory = false;
  f->work[1].in_bytes = f->work[1].out_bytes = 2.4e6;
}
static void fast_copies(fixture *f) {
  slow_copies(f);
  f->work[1].in_bytes = f->work[1].out_bytes = 2e7;
}
static void host_copies(fixture *f) {
  slow_copies(f);
  f->facts.host_memory = true;
}
static const hone_facts gpu = {.name = "gpu", .roofs = {[HONE_ROOF_F32] = 5e13, [HONE_ROOF_MEMORY] = 4e12}},
                        slow = {.name = "gpu", .roofs = {[HONE_ROOF_F32] = 1e11, [HONE_ROOF_MEMORY] = 1e10}};
static void fast_device(fixture *f) { f->known.other = &gpu; }
static void slow_device(fixture *f) { f->known.other = &slow; }
static void on_device(fixture *f) { f->facts.host_memory = false; }
static void short_layers(fixture *f) {
  on_device(f);
  for (int s = 1; s < STEPS; ++s) f->rows[s].bound.kind = HN_BOUND_LATENCY;
}
static void low_roofs(fixture *f) {
  on_device(f);
  for (int s = 0; s < STEPS; ++s) f->rows[s].bound.floor_ns = 1e4;
}
static void nothing(fixture *f) { (void)f; }

static const struct {
  const char *name;
  void (*with)(fixture *f);
  void (*without)(fixture *f);
  const char *flags; /* of the item; NULL: none */
} run_rows[] = {
    {"threads", more_threads, nothing, "--threads 8"},
    {"fewer-threads", waiting, nothing, "--threads 1"},
    {"streams", waiting, nothing, "--streams 2 --threads 1"},
    {"bf16", bf16, f16, "--bf16"},
    {"bf16", faster_bf16, equal_halves, "--bf16"},
    {"fp16", f16, faster_bf16, "--fp16"},
    {"fp16", equal_halves, bf16, "--fp16"},
    {"int8", int8, bf16, "--int8 --calib FOLDER"},
    {"int8", calibrated, bf16, "--int8"},
    {"streams", cores_left, more_threads, "--streams 4 --threads 2"},
    {"reference", reference, reference_only, NULL},
    {"converts", convert, nothing, NULL},
    {"copies", copies, convert, "--device-io"},
    {"pageable-copies", slow_copies, fast_copies, NULL},
    {"waiting-copies", slow_copies, host_copies, "hone bench --includeDataTransfers, or two sessions in turns"},
    {"replay", no_replay, nothing, "without --no-replay"},
    {"reference-only", reference_only, reference, "without --reference"},
    {"passes", disabled, nothing, "without --disable"},
    {"batch", heavy_weights, nothing, NULL},
    {"batch", low_roofs, on_device, NULL},
    {"streams", short_layers, on_device, "--streams 4"},
    {"free-dims", free_dims, nothing, "without --minShapes --maxShapes"},
    {"level", untimed, odd_depth, "--level 3"},
    {"device", fast_device, slow_device, "--device gpu"},
    {"padding", odd_depth, nothing, NULL},
    {"region", reread, near, NULL},
};

static void test_run_rows(void **state) {
  (void)state;
  for (size_t i = 0; i < HN_COUNT(run_rows); ++i) {
    fixture *f = open_fixture();
    run_rows[i].with(f);
    const hn_advice_item *item = advise(f, run_rows[i].name);
    if (!item) fail_msg("%s was not found", run_rows[i].name);
    if ((item->flags == NULL) != (run_rows[i].flags == NULL)) fail_msg("%s has flags, or lacks them", run_rows[i].name);
    if (item->flags) assert_string_equal(item->flags, run_rows[i].flags);
    assert_true(item->saving_ns > 0 && item->saving_ns < 4e6);
    assert_true(item->low_ns <= item->saving_ns && item->saving_ns <= item->high_ns && item->high_ns <= 4e6);
    close_fixture(f);
    f = open_fixture();
    run_rows[i].without(f);
    if (advise(f, run_rows[i].name)) fail_msg("%s was found where it is not", run_rows[i].name);
    close_fixture(f);
  }
}

/* A traced run is longer on the host: what lies between is what an untraced one takes beyond the queue, and gaps. */
static void test_traced(void **state) {
  (void)state;
  static const struct {
    double plain_ns, device_ns, gap_ns;
    bool launch_bound;
  } rows[] = {{4.4e6, 4e6, 1e5, false}, {6e6, 4e6, 1e5, true}, {4.4e6, 4e6, 1e6, true}, {0, 0, 1e5, false}};
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    fixture *f = open_fixture();
    hn_advising *a;
    on_device(f);
    f->profile.traced = true;
    f->profile.mean_ns = f->profile.median_ns = 16e6;
    f->trace.queue = (hn_trace_queue){.runs = 10, .gap_ns = rows[i].gap_ns, .span_ns = 4e6};
    f->options.unprofiled_ns = rows[i].plain_ns;
    f->options.unprofiled_device_ns = rows[i].device_ns;
    assert_int_equal(hn_advise(&f->profile, &f->known, &f->arena, &a), HONE_OK);
    if ((a->pattern == HN_PATTERN_LAUNCH) != rows[i].launch_bound)
      fail_msg("row %zu is %s", i, hn_pattern_name(a->pattern));
    close_fixture(f);
  }
}

/* Told although it saves no time; of a device that waits for memory. */
static void test_power(void **state) {
  (void)state;
  fixture *f = open_fixture();
  f->facts.host_memory = false;
  assert_null(advise(f, "power")); /* half of it computes */
  for (int s = 0; s < STEPS; ++s) f->rows[s].bound.kind = HN_BOUND_MEMORY;
  const hn_advice_item *item = advise(f, "power");
  assert_non_null(item);
  assert_true(item->saving_ns == 0);
  assert_non_null(strstr(item->finding, "100 % of a run waits"));
  f->facts.host_memory = true;
  assert_null(advise(f, "power"));
  close_fixture(f);
}

/* Two regions: one falls behind the other, or does not. */
static const hn_advice_item *region_of_share(fixture *f, double share) {
  static const char *const nodes[3] = {"a", "b", "c"};
  f->steps[1].op = hn_op_find(hn_builtin_ops(), "inverted_residual");
  f->steps[3].op = f->steps[1].op;
  f->steps[1].origin_count = f->steps[3].origin_count = 3;
  f->steps[1].origins = f->steps[3].origins = nodes;
  f->rows[1].bound =
      (hn_bound){.kind = HN_BOUND_COMPUTE, .compute_ns = share * 1e6, .floor_ns = share * 1e6, .share = share};
  return advise(f, "parts");
}

static void test_parts(void **state) {
  (void)state;
  fixture *f = open_fixture();
  const hn_advice_item *item = region_of_share(f, 0.4);
  assert_non_null(item);
  assert_string_equal(item->flags, "--tactic r=parts");
  check_near(item->saving_ns, 0.25 * (1e6 - 4e5 / 0.8));
  f->known.level = 3; /* where the parts were timed */
  assert_null(region_of_share(f, 0.4));
  f->known.level = 1;
  assert_null(region_of_share(f, 0.7));
  close_fixture(f);
}

static void test_ledger_rows(void **state) {
  (void)state;
  static const char text_a[] =
      "{\"passes\": [{\"pass\": \"fuse_conv\", \"rule\": \"relu_into_conv\", "
      "\"node\": \"r\", \"fired\": false, "
      "\"unmet\": \"the convolution is read elsewhere\"}, {\"pass\": \"regions\", \"rule\": \"pool_into_conv\", "
      "\"node\": \"r\", \"unmet\": \"no device has a kernel for the fused form\"}, {\"pass\": \"fuse_conv\", \"rule\": "
      "\"bias_into_conv\", "
      "\"node\": \"c1\", \"fired\": true}], \"nodes\": [{\"node\": \"c1\", \"chosen\": 0, \"candidates\": ["
      "{\"tactic\": \"a\", \"state\": \"timed\", \"estimate_ns\": 9e5, \"time_ns\": 1e6, \"low_ns\": 1e6},"
      "{\"tactic\": \"b\", \"state\": \"",
                    text_b[] = "\", \"estimate_ns\": 4e5}]}]}";
  for (int holds = 0; holds < 2; ++holds) {
    char ledger[1024];
    fixture *f = open_fixture();
    hn_json *read;
    const int length = snprintf(ledger, sizeof ledger, "%s%s%s", text_a, holds ? "estimated" : "rejected", text_b);
    assert_int_equal(hn_json_read(&f->arena, NULL, "ledger", ledger, (size_t)length, &read), HONE_OK);
    f->known.ledger = read;
    const hn_advice_item *item = advise(f, "untimed");
    assert_int_equal(item != NULL, holds);
    if (item) check_near(item->saving_ns, 0.3 * 6e5);
    item = advise(f, "refused-fusion");
    assert_non_null(item);
    assert_int_equal(item->layer_count, 1);
    assert_string_equal(item->layers[0], "r");
    assert_non_null(strstr(item->finding, "the convolution is read elsewhere"));
    item = advise(f, "missing-kernel");
    assert_non_null(item);
    assert_string_equal(item->layers[0], "r");
    close_fixture(f);
  }
  fixture *f = open_fixture();
  assert_null(advise(f, "refused-fusion")); /* without a ledger nothing is known of it */
  close_fixture(f);
}

/* ---- predictions ---- */

static void test_narrow_types(void **state) {
  (void)state;
  fixture *f = open_fixture();
  bf16(f);
  /* Two products of 1 ms at 80 %: four times the roof, three fifths of that gain: 1 + 3 * 0.6 = 2.8; what lies
   * beyond 90 % of the roof stays; of the others nothing but half of what halved bytes win. */
  const hn_advice_item *item = advise(f, "bf16");
  const double product = 0.95 * (8e5 / 0.9 - 8e5 / 2.8 / 0.9), moved = 0.25 * 1e6;
  check_near(item->saving_ns, 2 * product + 2 * moved);
  /* By Winograd f32 does a quarter of the operations, and bf16 has no such kernel. */
  f->tactic.fewer = 4;
  for (int s = 0; s < STEPS; ++s) f->rows[s].bound.compute_ns = f->rows[s].bound.kind == HN_BOUND_COMPUTE ? 8e5 : 1e3;
  item = advise(f, "bf16");
  assert_true(item->saving_ns < 2 * product + 2 * moved - 1e5);
  close_fixture(f);
}

/* What takes its fixed costs whatever its type has no prediction, but it is not said to win nothing either. */
static void test_layers_too_short_to_tell(void **state) {
  (void)state;
  fixture *f = open_fixture();
  equal_halves(f);
  assert_false(advise(f, "fp16")->unsure);
  for (int s = 0; s < STEPS; ++s) f->rows[s].bound.kind = HN_BOUND_LATENCY;
  const hn_advice_item *item = advise(f, "fp16");
  assert_true(item->unsure && item->saving_ns == 0 && item->high_ns > 1e6);
  close_fixture(f);
}

/* Of kernels in the type that the device can run; recurrent layers halve with their weights. */
static void test_kernels_that_are_there(void **state) {
  (void)state;
  static const hone_tactic wide = {.name = "cpu.conv.f32", .op = "conv"},
                           narrow = {.name = "cpu.conv.bf16", .op = "conv", .compute = HONE_BF16, .isa = 4};
  const hone_tactic *const rows[] = {&wide, &narrow, NULL};
  fixture *f = open_fixture();
  bf16(f);
  const double all = advise(f, "bf16")->saving_ns;
  f->known.tactics = rows;
  const double none = advise(f, "bf16")->saving_ns;
  check_near(none, 2 * 0.25 * 1e6); /* what is no product */
  f->facts.isa = 4;
  check_near(advise(f, "bf16")->saving_ns, all);
  f->known.tactics = NULL;
  f->steps[3].op = hn_op_find(hn_builtin_ops(), "lstm");
  const double conv = (all - none) / 2, waiting = 0.32 * 0.5, reading = 0.5 / (0.5 + waiting);
  check_near(advise(f, "bf16")->saving_ns, none + conv + 1e6 * reading * 0.5);
  close_fixture(f);
}

/* A clip vanishes but for its arithmetic, a function costs its own, and a residual is read all the same. */
static void test_fused(void **state) {
  (void)state;
  fixture *f = open_fixture();
  disabled(f);
  check_near(advise(f, "passes")->saving_ns, 1e6 - 2e4);
  f->steps[1].op = hn_op_find(hn_builtin_ops(), "gelu");
  const double elements = 64.0 * 56 * 56;
  check_near(advise(f, "passes")->saving_ns, fmax(0, 1e6 - elements * 84 / 1e11 * 1e9));
  int both[2] = {1, 0};
  f->steps[1].op = hn_op_find(hn_builtin_ops(), "add");
  f->steps[1].in = both;
  f->steps[1].in_count = 2;
  check_near(advise(f, "passes")->saving_ns, 1e6 * 2 / 3);
  f->steps[2].op = NULL; /* a convert that it alone needed goes with it, one of a product stays */
  f->steps[2].caused_by = "c2";
  check_near(advise(f, "passes")->saving_ns, 1e6 * 2 / 3);
  f->steps[2].caused_by = "r";
  check_near(advise(f, "passes")->saving_ns, 1e6 * 2 / 3 + 1e6 - 2e4);
  f->times[2].gap_ns = 100; /* ... and the gap before it */
  check_near(advise(f, "passes")->saving_ns, 1e6 * 2 / 3 + 1e6 - 2e4 + 100);
  close_fixture(f);
}

static void test_threads_of_short_layers(void **state) {
  (void)state;
  fixture *f = open_fixture();
  more_threads(f);
  const double all = advise(f, "threads")->saving_ns;
  /* From 2 to 8, 15 % serial; of what is no product 28 %, and main memory gives twice, no more. */
  const double product = 1e6 * (1 - (0.15 + 0.85 / 8) / (0.15 + 0.85 / 2));
  const double moved = 1e6 * (1 - fmax(0.5, (0.28 + 0.72 / 8) / (0.28 + 0.72 / 2)));
  check_near(all, 2 * product + 2 * moved);
  f->rows[0].median_ns = 5e3; /* 10 us on one thread are not shared */
  check_near(advise(f, "threads")->saving_ns, all - product);
  close_fixture(f);
}

/* The same by times of the layers that change: shares of a run, as far as enough of it is known. */
static void test_expected(void **state) {
  (void)state;
  static const struct {
    const char *name;
    void (*with)(fixture *f);
    hone_expectation e;
    double saved, timed; /* shares of a run; saved < 0: the expectation tells nothing */
  } rows[] = {
      {"threads", more_threads, {.run_ns = 30, .like_ns = 50, .known_share = 0.9}, 0.4, 0.9},
      {"threads", more_threads, {.run_ns = 30, .like_ns = 50, .known_share = 0.4}, -1, 0},
      {"threads", more_threads, {.run_ns = 30, .known_share = 0.9}, -1, 0},
      {"bf16", bf16, {.run_ns = 60, .like_ns = 50, .known_share = 1}, 0, 1}, /* nothing is won */
      {"level", untimed, {.run_ns = 48, .like_ns = 50, .known_share = 0.9}, 0.04, 0.9},
      {"level", untimed, {.run_ns = 48, .known_share = 0.9}, -1, 0},
      /* What no layers are joined for is told by the profile: 1 ms but for a clip's arithmetic, of a run of 4 ms. */
      {"passes", disabled, {.run_ns = 45, .like_ns = 50, .known_share = 0.9, .taken_ns = 4}, 0.98 / 4, 0},
      {"passes",
       disabled,
       {.run_ns = 45,
        .like_ns = 50,
        .known_share = 0.9,
        .joined_ns = 5,
        .joined_now_ns = 7,
        .taken_ns = 4,
        .joined_taken_ns = 1},
       0.75 * 0.98 / 4 + 0.04,
       5.0 / 45},
  };
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    fixture *f = open_fixture();
    hn_advising *a;
    int at = 0;
    rows[i].with(f);
    assert_int_equal(hn_advise(&f->profile, &f->known, &f->arena, &a), HONE_OK);
    while (at < a->count && strcmp(a->items[at].row->name, rows[i].name) != 0) ++at;
    if (at == a->count) fail_msg("row %zu: %s was not found", i, rows[i].name);
    const double before_ns = a->items[at].saving_ns;
    const bool used = hn_advice_expects(a, at, &rows[i].e);
    if (used != (rows[i].saved >= 0)) fail_msg("row %zu: the expectation was %s", i, used ? "used" : "left");
    for (at = 0; strcmp(a->items[at].row->name, rows[i].name) != 0; ++at) assert_true(at + 1 < a->count);
    check_near(a->items[at].saving_ns, used ? rows[i].saved * a->run_ns : before_ns);
    assert_float_equal(a->items[at].timed_share, rows[i].timed, 1e-9);
    close_fixture(f);
  }
}

static void test_order_and_json(void **state) {
  (void)state;
  fixture *f = open_fixture();
  hn_advising *a;
  hn_text out;
  bf16(f);
  more_threads(f);
  hn_text_init(&out, hn_allocator_default());
  assert_int_equal(hn_advise(&f->profile, &f->known, &f->arena, &a), HONE_OK);
  assert_true(a->count >= 2);
  for (int i = 1; i < a->count; ++i) assert_true(a->items[i - 1].saving_ns >= a->items[i].saving_ns);
  hn_advice_write_json(a, NULL, 0, &out);
  const char *const keys[] = {
      "\"name\": \"bf16\"",  "\"kind\": \"precision\"",  "\"layers\": [\"c1\"",  "\"finding\": ",
      "\"remedy\": ",        "\"flags\": \"--bf16\"",    "\"model_change\": ",   "\"saving_ms\": ",
      "\"saving_low_ms\": ", "\"saving_high_ms\": ",     "\"saving_percent\": ", "\"confidence\": ",
      "\"timed\": false",    "\"applies_itself\": true", "\"staircase\": ["};
  for (size_t i = 0; i < HN_COUNT(keys); ++i)
    if (!strstr(hn_text_string(&out), keys[i])) fail_msg("no %s in:\n%s", keys[i], hn_text_string(&out));
  hn_text_deinit(&out);
  close_fixture(f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_patterns),
                                     cmocka_unit_test(test_run_rows),
                                     cmocka_unit_test(test_parts),
                                     cmocka_unit_test(test_ledger_rows),
                                     cmocka_unit_test(test_narrow_types),
                                     cmocka_unit_test(test_layers_too_short_to_tell),
                                     cmocka_unit_test(test_threads_of_short_layers),
                                     cmocka_unit_test(test_traced),
                                     cmocka_unit_test(test_power),
                                     cmocka_unit_test(test_fused),
                                     cmocka_unit_test(test_kernels_that_are_there),
                                     cmocka_unit_test(test_expected),
                                     cmocka_unit_test(test_order_and_json)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
