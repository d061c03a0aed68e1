/* SPDX-License-Identifier: Apache-2.0 */
/* test_tune.c - choosing under a fake clock: levels, pruning, dropping, formats, parts, budgets, wishes. */
#include "fake_device.h"
#include <stdatomic.h>
#include <unistd.h>

static void test_fastest(void **state) {
  (void)state;
  tuning_case t;
  case_begin(&t, ONE_RELU);
  fake[RELU_A].plain_ns = 90e3;
  fake[RELU_B].plain_ns = 40e3;
  const hone_build_options options = {.struct_size = sizeof options};
  case_tune_ok(&t, &options);
  assert_string_equal(chosen_of(&t, "r")->tactic->name, "fake.relu.b");
  assert_true(chosen_of(&t, "r")->time_ns == 40e3 && chosen_of(&t, "r")->error_rel_l2 == 0);
  assert_string_equal(choice_of(&t, "r")->why, "fastest");
  fake[RELU_B].wrong = true;
  case_tune_ok(&t, &options);
  assert_string_equal(chosen_of(&t, "r")->tactic->name, "fake.relu.a");
  assert_int_equal(candidate_of(&t, "r", "fake.relu.b", 0)->state, HN_CANDIDATE_INEXACT);
  case_end(&t);
}

/* Two variants over the bound by the same error: the other four are not even tried. */
static void test_variants_alike(void **state) {
  (void)state;
  static const int levels[] = {-1, 3, 5};
  for (size_t i = 0; i < HN_COUNT(levels); ++i) {
    tuning_case t;
    case_begin(&t, ONE_RELU);
    fake[RELU_A] = (fake_row){.plain_ns = 90e3, .variants = 6, .wrong = true};
    fake[RELU_B].plain_ns = 200e3;
    const hone_build_options options = {.struct_size = sizeof options, .level = levels[i]};
    case_tune_ok(&t, &options);
    assert_string_equal(chosen_of(&t, "r")->tactic->name, "fake.relu.b");
    assert_int_equal(fake[RELU_A].launches, 2);
    assert_int_equal(candidate_of(&t, "r", "fake.relu.a", 5)->state, HN_CANDIDATE_REJECTED);
    assert_non_null(strstr(candidate_of(&t, "r", "fake.relu.a", 5)->reason, "two other variants"));
    case_end(&t);
  }
}

static void test_levels(void **state) {
  (void)state;
  static const struct { int level, timed; } rows[] = {{-1, 0}, {1, 1}, {2, 2}, {3, 6}, {4, 6}, {5, 6}};
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    tuning_case t;
    case_begin(&t, ONE_RELU);
    fake[RELU_A] = (fake_row){.plain_ns = 90e3, .variants = 6};
    const hone_build_options options = {.struct_size = sizeof options, .level = rows[i].level};
    case_tune_ok(&t, &options);
    int timed = 0;
    for (int k = 0; k < 6; ++k) timed += candidate_of(&t, "r", "fake.relu.a", k)->state == HN_CANDIDATE_TIMED;
    if (timed != rows[i].timed) fail_msg("level %d timed %d variants, want %d", rows[i].level, timed, rows[i].timed);
    if (rows[i].level < 0) assert_int_equal(fake[RELU_A].launches, 1); /* its error is measured even so */
    if (rows[i].timed == 6) assert_int_equal(chosen_of(&t, "r")->params.items[0].value, 6);
    assert_true(chosen_of(&t, "r")->error_rel_l2 == 0);
    case_end(&t);
  }
}

/* 0.5 MiB are moved at 10 GB/s of main memory, so that no cache lets it take less than 6.5 us. */
static void test_pruning(void **state) {
  (void)state;
  tuning_case t;
  case_begin(&t, ONE_RELU);
  fake[RELU_A].plain_ns = 5e3; /* a machine faster than its peaks */
  fake[RELU_B].plain_ns = 2e3;
  const hone_build_options options = {.struct_size = sizeof options};
  case_tune_ok(&t, &options);
  assert_string_equal(chosen_of(&t, "r")->tactic->name, "fake.relu.a");
  assert_non_null(strstr(candidate_of(&t, "r", "fake.relu.b", 0)->reason, "by the device's peaks"));
  assert_int_equal(fake[RELU_B].launches, 0);
  const hone_build_options all = {.struct_size = sizeof all, .level = 5};
  case_tune_ok(&t, &all);
  assert_string_equal(chosen_of(&t, "r")->tactic->name, "fake.relu.b");
  case_end(&t);
}

static void test_dropping(void **state) {
  (void)state;
  tuning_case t;
  case_begin(&t, ONE_RELU);
  fake[RELU_A].plain_ns = 50e3;
  fake[RELU_B].plain_ns = 55e3;
  fake[RELU_C].plain_ns = 90e3;
  const hone_build_options options = {.struct_size = sizeof options};
  case_tune_ok(&t, &options);
  const int a = chosen_of(&t, "r")->runs, b = candidate_of(&t, "r", "fake.relu.b", 0)->runs;
  assert_string_equal(chosen_of(&t, "r")->tactic->name, "fake.relu.a");
  assert_int_equal(candidate_of(&t, "r", "fake.relu.c", 0)->runs, 3);
  assert_true(b > 3 && b <= a && a <= 9);
  assert_non_null(candidate_of(&t, "r", "fake.relu.b", 0)->reason);
  assert_null(chosen_of(&t, "r")->reason);
  case_end(&t);
}

/* The likeliest get a time, and what the timing cache knows counts. */
static void test_max_tactics(void **state) {
  (void)state;
  for (int most = 0; most <= 4; ++most) {
    tuning_case t;
    case_begin(&t, ONE_RELU);
    fake[RELU_A] = (fake_row){.plain_ns = 90e3, .variants = 6};
    const hone_build_options options = {.struct_size = sizeof options, .max_tactics = most};
    case_tune_ok(&t, &options);
    int timed = 0;
    for (int k = 0; k < 6; ++k) {
      const hn_candidate *candidate = candidate_of(&t, "r", "fake.relu.a", k);
      timed += candidate->state == HN_CANDIDATE_TIMED;
      if (candidate->state != HN_CANDIDATE_TIMED) assert_non_null(strstr(candidate->reason, "max-tactics limit"));
    }
    assert_int_equal(timed, most ? most : 6);
    assert_int_equal(chosen_of(&t, "r")->state, HN_CANDIDATE_TIMED);
    case_end(&t);
  }
}

static void test_sources(void **state) {
  (void)state;
  tuning_case t;
  case_begin(&t, ONE_RELU);
  fake[RELU_A].plain_ns = 40e3;
  const char *sources[] = {"-REF", "-null", "+Null"};
  hone_build_options options = {.struct_size = sizeof options, .tactic_sources = sources, .tactic_source_count = 2};
  assert_int_equal(case_tune(&t, &options), HONE_UNSUPPORTED);
  options.tactic_source_count = 3;
  case_tune_ok(&t, &options);
  assert_string_equal(chosen_of(&t, "r")->tactic->name, "fake.relu.a");
  sources[0] = "-CUBLAS";
  assert_int_equal(case_tune(&t, &options), HONE_INVALID);
  sources[0] = "";
  assert_int_equal(case_tune(&t, &options), HONE_INVALID);
  case_end(&t);
}

static void test_formats(void **state) {
  (void)state;
  static const struct {
    double convert_ns;
    hone_format want;
  } rows[] = {{30e3, HONE_NCHW16C}, {200e3, HONE_PLAIN}};
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    tuning_case t;
    case_begin(&t, "graph \"g\" opset 17 { in %x: f32[1,64,32,32] %a = relu(%x) @\"a\" %b = relu(%a) @\"b\""
                   " %c = relu(%b) @\"c\" %y = exp(%c) @\"e\" out %y }");
    fake[RELU_A] = (fake_row){.plain_ns = 100e3, .blocked_ns = 40e3};
    fake[EXP].plain_ns = 50e3;
    fake[TO_BLOCKED].blocked_ns = fake[FROM_BLOCKED].blocked_ns = rows[i].convert_ns;
    const hone_build_options options = {.struct_size = sizeof options};
    case_tune_ok(&t, &options);
    assert_int_equal(chosen_of(&t, "b")->storages.in, rows[i].want);
    assert_true(t.choices->optimal);
    const double want = 50e3 + (rows[i].want ? 3 * 40e3 + 2 * rows[i].convert_ns : 3 * 100e3);
    assert_true(t.choices->total_ns > 0.999 * want && t.choices->total_ns < 1.001 * want);
    case_end(&t);
  }
}

/* A result leaves plain; what makes it may be blocked all the same, where a convert behind it costs less than it
 * saves. The second graph's result is read, too. */
static void test_result_formats(void **state) {
  (void)state;
  static const char *const graphs[] = {
      "graph \"g\" opset 17 { in %x: f32[1,64,32,32] %v = relu(%x) @\"a\" %y = relu(%v) @\"b\" out %y }",
      "graph \"g\" opset 17 { in %x: f32[1,64,32,32] %v = relu(%x) @\"a\" %y = relu(%v) @\"b\" out %y out %v }"};
  for (size_t i = 0; i < HN_COUNT(graphs); ++i)
    for (int cheap = 0; cheap < 2; ++cheap) {
      tuning_case t;
      case_begin(&t, graphs[i]);
      fake[RELU_A] = (fake_row){.plain_ns = 200e3, .blocked_ns = 40e3};
      const double convert = fake[TO_BLOCKED].blocked_ns = fake[FROM_BLOCKED].blocked_ns = cheap ? 30e3 : 300e3;
      const hone_build_options options = {.struct_size = sizeof options};
      case_tune_ok(&t, &options);
      assert_int_equal(chosen_of(&t, "b")->storages.out, cheap ? HONE_NCHW16C : HONE_PLAIN);
      assert_true(t.choices->optimal);
      const double want = cheap ? 2 * 40e3 + (2 + (double)i) * convert : 2 * 200e3;
      assert_true(t.choices->total_ns > 0.999 * want && t.choices->total_ns < 1.001 * want);
      case_end(&t);
    }
}

/* Where no convert was measured, its price is that of the bytes it moves: three channels fill a block of 16. */
static void test_padded_convert(void **state) {
  (void)state;
  tuning_case t;
  case_begin(&t, ONE_RELU);
  fake[RELU_A].plain_ns = 50e3;
  const hone_build_options options = {.struct_size = sizeof options, .level = -1};
  case_tune_ok(&t, &options);
  const hone_type few = hn_tensor_type(HONE_F32, 4, (const int64_t[]){1, 3, 300, 300});
  const hone_type full = hn_tensor_type(HONE_F32, 4, (const int64_t[]){1, 16, 300, 300});
  const double start = 1000, peak = t.devices[0]->facts.roofs[HONE_ROOF_MEMORY], plane = 300.0 * 300 * sizeof(float);
  assert_true(peak > 0);
  const double want = (3 + 16) * plane / 2 / peak * 1e9;
  for (int back = 0; back < 2; ++back) {
    const hone_storage from = back ? HONE_NCHW16C : HONE_PLAIN, to = back ? HONE_PLAIN : HONE_NCHW16C;
    const double got = hn_convert_ns(t.choices, &few, from, to) - start;
    assert_true(got > 0.999 * want && got < 1.001 * want);
    assert_true(got < hn_convert_ns(t.choices, &full, from, to) - start);
  }
  case_end(&t);
}

/* Equal layers are measured once; one with weights is proved by itself, for its weights are its own. */
static void test_identical_layers(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int proofs; /* more than one layer alone */
  } rows[] = {
      {ONE_RELU, 0},
      {"graph \"g\" opset 17 { in %x: f32[1,64,32,32] %a = relu(%x) @\"a\" %b = relu(%a) @\"b\" out %b }", 0},
      {"graph \"g\" opset 17 { const %v: f32[1,64,32,32] = random 1 const %w: f32[1,64,32,32] = random 2"
       " %a = relu(%v) @\"a\" %b = relu(%w) @\"b\" out %a out %b }",
       1},
  };
  int alone = 0;
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    tuning_case t;
    case_begin(&t, rows[i].text);
    fake[RELU_A].plain_ns = 50e3;
    const hone_build_options options = {.struct_size = sizeof options};
    case_tune_ok(&t, &options);
    if (i == 0) alone = fake[RELU_A].launches;
    assert_int_equal(fake[RELU_A].launches, alone + rows[i].proofs);
    if (i > 0) {
      assert_int_equal(choice_of(&t, "b")->same_as, 0);
      assert_true(chosen_of(&t, "b")->time_ns == 50e3);
      assert_true(chosen_of(&t, "b")->error_rel_l2 == 0);
    }
    case_end(&t);
  }
}

static void expect_text(const hn_choices *choices, hone_status (*write)(const hn_choices *, hn_text *),
                        const char *wanted) {
  hn_text text;
  hn_text_init(&text, choices->context->allocator);
  assert_int_equal(write(choices, &text), HONE_OK);
  if (!strstr(hn_text_string(&text), wanted)) fail_msg("%s is not in:\n%s", wanted, hn_text_string(&text));
  hn_text_deinit(&text);
}

static hone_status write_ledger(const hn_choices *choices, hn_text *out) {
  const hn_pass_log none = {0};
  hn_ledger ledger;
  hn_ledger_begin(&ledger, &choices->devices[0]->facts, NULL, out);
  hn_ledger_add(&ledger, choices, &none);
  hn_ledger_end(&ledger);
  return HONE_OK;
}

static void test_parts(void **state) {
  (void)state;
  static const struct {
    double fused_ns;
    int level;
    bool split;
  } rows[] = {{40e3, 3, false}, {150e3, 3, true}, {150e3, 1, false}, {0, -1, true}, {0, 1, true}, {150e3, 4, true}};
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    tuning_case t;
    case_begin(&t, EXP_TANH_FUSED);
    fake[FUSED].plain_ns = rows[i].fused_ns;
    fake[EXP].plain_ns = fake[TANH].plain_ns = 50e3;
    const hone_build_options options = {.struct_size = sizeof options, .level = rows[i].level};
    case_tune_ok(&t, &options);
    assert_int_equal(t.choices->split_count, rows[i].split);
    assert_int_equal(t.choices->count, rows[i].split ? 2 : 1);
    assert_int_equal(hn_graph_verify(t.graph), HONE_OK);
    if (rows[i].split) {
      assert_string_equal(chosen_of(&t, "e")->tactic->name, "fake.exp");
      assert_string_equal(chosen_of(&t, "t")->tactic->name, "fake.tanh");
      expect_text(t.choices, hn_lock_write, "f\tparts\n");
      expect_text(t.choices, write_ledger, "\"node\": \"f\"");
    } else if (rows[i].level == 3) {
      expect_text(t.choices, write_ledger, "they are not 5 % faster");
      expect_text(t.choices, write_ledger, "fake.tanh");
      assert_true(choice_of(&t, "f")->trial->ns[0] == 100e3);
    }
    case_end(&t);
  }
}

/* f16 is allowed, another layer has it and the fused node has not: its parts are timed at a level that times none. */
static void test_parts_without_type(void **state) {
  (void)state;
  static const char *const text =
      "graph \"g\" opset 17 { in %x: f32[1,64,32,32]\n%y = fused(%x) [expr=\"tanh(exp(x0))\"] @\"f\" parts "
      "(%p: f32[1,64,32,32]) {\n%q = exp(%p) @\"e\"\n%r = tanh(%q) @\"t\"\nyield %r }\n%z = relu(%y) @\"z\"\nout %z }";
  static const struct {
    uint32_t precisions;
    int level;
    bool split;
  } rows[] = {{0, 2, false}, {HONE_BIT(HONE_F16), 2, true}, {HONE_BIT(HONE_F16), -1, false}};
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    tuning_case t;
    case_begin(&t, text);
    fake[FUSED].plain_ns = 150e3;
    fake[EXP].plain_ns = fake[TANH].plain_ns = fake[RELU_A].plain_ns = 50e3;
    fake[RELU_HALF].plain_ns = 20e3;
    const hone_build_options options = {
        .struct_size = sizeof options, .level = rows[i].level, .precisions = rows[i].precisions};
    case_tune_ok(&t, &options);
    assert_int_equal(t.choices->split_count, rows[i].split);
    if (!rows[i].split) expect_text(t.choices, write_ledger, "not timed at this level");
    case_end(&t);
  }
}

/* The device's own memory is the host's all the same, but known by addresses. */
static hone_status copy_by_address(hone_stream *stream, hone_slice to, hone_slice from) {
  (void)stream;
  memcpy((char *)(uintptr_t)to.memory->address + to.offset, (const char *)(uintptr_t)from.memory->address + from.offset,
         to.bytes);
  return HONE_OK;
}

/* A device with memory of its own, the host beside it, and the reference. */
typedef struct two_memories {
  tuning_case t;
  hone_device *host;
} two_memories;

static void begin_two(two_memories *two, const char *text) {
  const hone_device_options one = {.struct_size = sizeof one, .threads = 1};
  tuning_case *t = &two->t;
  case_begin(t, text);
  assert_int_equal(hn_device_open(t->context, &t->backend, 0, &one, &two->host), HONE_OK);
  t->backend.copy = copy_by_address;
  t->devices[0]->facts.host_memory = t->devices[0]->unit->facts.host_memory = false;
}

static void tune_two(two_memories *two, const hone_build_options *options, const hn_judge *judge) {
  tuning_case *t = &two->t;
  hone_device *devices[] = {t->devices[0], two->host, t->devices[1]};
  hone_shape shape = t->graph->main->params[0]->fact.type.shape;
  hn_tuner *tuner;
  assert_int_equal(hn_tuner_open(t->context, options, 1, NULL, &tuner), HONE_OK);
  const hone_status status =
      hn_tune(tuner, t->graph, devices, 3, &(const hn_ranges){&shape, &shape, &shape}, judge, &t->choices);
  if (hn_tuner_close(tuner, status) != HONE_OK) fail_msg("%s", t->context->diag.entries[0].text);
  for (int i = 0; i < t->choices->count; ++i) { /* none left for the host */
    const hn_choice *choice = &t->choices->items[i];
    assert_int_equal(choice->candidates[choice->chosen].device, 0);
  }
}

static void end_two(two_memories *two) {
  case_end(&two->t);
  hn_device_release(two->host);
}

/* Inexact on a device with memory of its own and exact on the host: the parts stay on the device, at a level that times
 * none, however fast the host's fused node is. */
static void test_parts_that_stay(void **state) {
  (void)state;
  for (int wrong = 0; wrong < 2; ++wrong) {
    two_memories two;
    begin_two(&two, EXP_TANH_FUSED);
    fake[FUSED] = (fake_row){.plain_ns = 30e3, .wrong_away = wrong};
    fake[EXP].plain_ns = fake[TANH].plain_ns = 50e3;
    const hone_build_options options = {.struct_size = sizeof options, .level = 1};
    tune_two(&two, &options, NULL);
    assert_int_equal(two.t.choices->split_count, wrong);
    end_two(&two);
  }
}

static hone_status judge_halves(void *user, const hn_choices *choices, bool as_reference, double *out_errors) {
  (void)user;
  out_errors[0] = 0;
  for (int i = 0; i < choices->count && !as_reference; ++i) {
    const hn_choice *choice = &choices->items[i];
    if (hn_candidate_is_narrow(&choice->candidates[choice->chosen])) out_errors[0] = 1e-2;
  }
  return HONE_OK;
}

/* A fused node that the device has in f16 alone gives it back by its parts, not to the host. */
static void test_parts_in_f32(void **state) {
  (void)state;
  for (int bounded = 0; bounded < 2; ++bounded) {
    two_memories two;
    begin_two(&two, EXP_TANH_FUSED);
    fake[FUSED] = (fake_row){.plain_ns = 30e3, .host_only = true};
    fake[FUSED_HALF].plain_ns = 20e3;
    fake[TO_HALF].plain_ns = fake[FROM_HALF].plain_ns = 1e3;
    fake[EXP].plain_ns = fake[TANH].plain_ns = 50e3;
    const hone_build_options options = {
        .struct_size = sizeof options, .level = 1, .precisions = HONE_BIT(HONE_F16), .max_error = bounded ? 1e-3 : 0};
    tune_two(&two, &options, &(const hn_judge){.run = judge_halves});
    assert_int_equal(two.t.choices->split_count, bounded);
    if (bounded) assert_non_null(strstr(two.t.choices->splits[0].why, "would leave its device"));
    end_two(&two);
  }
}

/* A lock holds the split, too, and the same lock makes the same graph again. */
static void test_lock_of_parts(void **state) {
  (void)state;
  char path[] = "/tmp/hone_tune_XXXXXX";
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  assert_int_equal(unlink(path), 0);
  const hone_build_options options = {.struct_size = sizeof options, .lock_path = path};
  for (int round = 0; round < 2; ++round) {
    tuning_case t;
    case_begin(&t, EXP_TANH_FUSED);
    fake[FUSED].plain_ns = round ? 10e3 : 150e3; /* the lock is older than that */
    fake[EXP].plain_ns = fake[TANH].plain_ns = 50e3;
    case_tune_ok(&t, &options);
    assert_int_equal(t.choices->count, 2);
    assert_string_equal(choice_of(&t, "e")->why, round ? "lock" : "fastest");
    case_end(&t);
  }
  unlink(path);
  close(fd);
}

/* A wish for parts, and one for the fused node. */
static void test_wanted_parts(void **state) {
  (void)state;
  tuning_case t;
  case_begin(&t, EXP_TANH_FUSED);
  fake[FUSED].plain_ns = 10e3;
  fake[EXP].plain_ns = fake[TANH].plain_ns = 50e3;
  const char *const parts[] = {"f=parts"}, *const fused[] = {"f=fake.fused"};
  const hone_build_options options = {.struct_size = sizeof options, .tactics = parts, .tactic_count = 1};
  case_tune_ok(&t, &options);
  assert_int_equal(t.choices->count, 2);
  case_end(&t);
  case_begin(&t, EXP_TANH_FUSED);
  fake[FUSED].plain_ns = 1e6;
  fake[EXP].plain_ns = fake[TANH].plain_ns = 50e3;
  const hone_build_options stay = {.struct_size = sizeof stay, .tactics = fused, .tactic_count = 1};
  case_tune_ok(&t, &stay);
  assert_int_equal(t.choices->count, 1);
  case_end(&t);
}

static void test_wanted(void **state) {
  (void)state;
  static const struct {
    const char *option;
    hone_status want;
    const char *says; /* in the message, or the tactic chosen */
  } rows[] = {
      {"r=fake.relu.a", HONE_OK, "fake.relu.a"},
      {"r=fake.relu.?", HONE_OK, "fake.relu.b"},
      {"*=fake.relu.a", HONE_OK, "fake.relu.a"},
      {"r=fake.relu.a:k=2", HONE_OK, "fake.relu.a"},
      {"r=fake.relu.a:k=9", HONE_UNSUPPORTED, "other parameters were requested"},
      {"r=fake.relu.d", HONE_INVALID, "near it: fake.relu.a"},
      {"r=fake.relu.c", HONE_UNSUPPORTED, "the test does not want it"},
      {"q=fake.relu.a", HONE_INVALID, "no such node"},
      {"nonsense", HONE_INVALID, "a choice is NODE=TACTIC"},
  };
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    tuning_case t;
    case_begin(&t, ONE_RELU);
    fake[RELU_A] = (fake_row){.plain_ns = 90e3, .variants = 3};
    fake[RELU_B].plain_ns = 40e3;
    const hone_build_options options = {.struct_size = sizeof options, .tactics = &rows[i].option, .tactic_count = 1};
    const hone_status status = case_tune(&t, &options);
    if (status != rows[i].want) fail_msg("%s: %s", rows[i].option, hone_status_name(status));
    const char *got = status == HONE_OK ? chosen_of(&t, "r")->tactic->name : t.context->diag.entries[0].text;
    if (!strstr(got, rows[i].says)) fail_msg("%s: %s", rows[i].option, got);
    if (strstr(rows[i].option, "k=2")) assert_int_equal(chosen_of(&t, "r")->params.items[0].value, 2);
    case_end(&t);
  }
}

/* ---- budgets ---- */

typedef struct stopper {
  atomic_bool flag;
  int after, calls;
} stopper;

static void stop_after(void *user, const char *what, int64_t done, int64_t total) {
  stopper *s = user;
  (void)what, (void)done, (void)total;
  if (s->calls++ == s->after) atomic_store(&s->flag, true);
}

#define FIVE_LAYERS                                                                                                    \
  "graph \"g\" opset 17 { in %x: f32[1,64,32,32] %a = relu(%x) @\"a\" %b = exp(%a) @\"b\" %c = tanh(%b) @\"c\""        \
  " %p = max_pool(%c) [kernel_shape=[2,2], strides=[2,2]] @\"p\" %d = relu(%p) @\"d\" %e = exp(%d) @\"e\" out %e }"

static void test_budget(void **state) {
  (void)state;
  int last = 99;
  for (int after = 0; after < 8; ++after) {
    tuning_case t;
    stopper s = {.after = after};
    case_begin(&t, FIVE_LAYERS);
    fake[RELU_A].plain_ns = fake[RELU_B].plain_ns = fake[EXP].plain_ns = fake[TANH].plain_ns = 50e3;
    const hone_build_options options = {
        .struct_size = sizeof options, .progress = stop_after, .progress_user = &s, .stop_timing = &s.flag};
    case_tune_ok(&t, &options);
    for (int i = 0; i < t.choices->count; ++i) assert_true(t.choices->items[i].chosen >= 0);
    assert_true(chosen_of(&t, "a")->error_rel_l2 == 0); /* measured whatever happens */
    assert_true(t.choices->untimed_count <= last);
    last = t.choices->untimed_count;
    if (after == 0) assert_int_equal(last, 5); /* the pool has the reference alone */
    case_end(&t);
  }
  assert_int_equal(last, 0);
}

static void test_deadline(void **state) {
  (void)state;
  tuning_case t;
  case_begin(&t, ONE_RELU);
  fake[RELU_A].plain_ns = 50e3;
  hone_build_options options = {.struct_size = sizeof options, .time_budget_ms = 600000};
  case_tune_ok(&t, &options);
  assert_int_equal(t.choices->untimed_count, 0);
  options.time_budget_ms = 1;
  options.level = 5;
  options.timing_runs = 64;
  fake[RELU_A].variants = 16; /* each launch computes 65,536 elements: more than a millisecond in all */
  case_tune_ok(&t, &options);
  assert_true(chosen_of(&t, "r")->error_rel_l2 == 0);
  const hn_candidate *untimed = candidate_of(&t, "r", "fake.relu.a", 15);
  assert_int_equal(untimed->state, HN_CANDIDATE_ESTIMATED);
  assert_string_equal(untimed->reason, "not timed: the tuning time budget ran out");
  case_end(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_fastest),
      cmocka_unit_test(test_variants_alike),
      cmocka_unit_test(test_levels),
      cmocka_unit_test(test_pruning),
      cmocka_unit_test(test_dropping),
      cmocka_unit_test(test_formats),
      cmocka_unit_test(test_identical_layers),
      cmocka_unit_test(test_parts),
      cmocka_unit_test(test_parts_without_type),
      cmocka_unit_test(test_parts_that_stay),
      cmocka_unit_test(test_parts_in_f32),
      cmocka_unit_test(test_lock_of_parts),
      cmocka_unit_test(test_wanted_parts),
      cmocka_unit_test(test_wanted),
      cmocka_unit_test(test_budget),
      cmocka_unit_test(test_deadline),
      cmocka_unit_test(test_sources),
      cmocka_unit_test(test_max_tactics),
      cmocka_unit_test(test_result_formats),
      cmocka_unit_test(test_padded_convert),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
