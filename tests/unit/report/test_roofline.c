/* SPDX-License-Identifier: Apache-2.0 */
/* test_roofline.c - rooflines of a plan made by hand, measured and on paper; the formulas; and the plot: well-formed,
 * with a point for each layer and no label on a point or on another label. */
#include "ops/registry.h"
#include "report/plot_labels.h"
#include "report/roofline.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { STEPS = 40, BOXES = 200 };
#define ODD_NAME "a<b>&\"c\" \x01\xff \xe5\xb1\x82"

typedef struct fixture {
  hn_arena arena;
  hn_text out;
  hn_plan_step steps[STEPS];
  hn_trace_step times[STEPS];
  hn_work work[STEPS];
  char names[STEPS][64];
  hn_plan plan;
  hn_trace trace;
  hone_facts facts;
  hn_profile_input input;
  hn_roofline roofline;
} fixture;

static const double no_theory[HONE_ROOF_COUNT];

/* A convolution of 600 MFLOP in 3 ms, a relu of 1 ms, a transpose of 1 ms; then many like the first one, so that labels
 * have little room. */
static fixture *open_fixture(int count) {
  fixture *f = calloc(1, sizeof *f);
  hn_arena_init(&f->arena, hn_allocator_default());
  hn_text_init(&f->out, hn_allocator_default());
  for (int i = 0; i < count; ++i) {
    static const char *const ops[] = {"conv", "relu", "transpose"};
    static const double flops[] = {6e8, 1e5, 0}, bytes[] = {3e6, 8e5, 1e6};
    const int kind = i < 3 ? i : 0;
    (void)snprintf(f->names[i], sizeof f->names[i], "layer.of.some.length.%d", i);
    if (i == 0) (void)snprintf(f->names[i], sizeof f->names[i], "%s", ODD_NAME);
    f->steps[i] = (hn_plan_step){.name = f->names[i],
                                 .op = hn_op_find(hn_builtin_ops(), ops[kind]),
                                 .provider = "cpu",
                                 .cost.flops = flops[kind]};
    assert_non_null(f->steps[i].op);
    const double ns = i == 0 ? 3e6 : i < 3 ? 1e6 : 3e6 + 1e3 * i;
    f->times[i] = (hn_trace_step){.step = i, .runs = 1, .total_ns = ns, .median_ns = ns};
    f->work[i] = (hn_work){.cost = {.flops = flops[kind], .bytes_read = bytes[kind]},
                           .in_bytes = bytes[kind] / 2,
                           .out_bytes = bytes[kind] / 4,
                           .params_bytes = bytes[kind] / 4};
  }
  f->plan = (hn_plan){.step_count = count, .steps = f->steps};
  f->trace = (hn_trace){.runs = 1, .step_count = count, .steps = f->times, .total_ns = 6e6, .median_ns = 6e6};
  f->facts = (hone_facts){.name = "box",
                          .threads = 2,
                          .roofs = {[HONE_ROOF_F32] = 400e9, [HONE_ROOF_MEMORY] = 10e9, [HONE_ROOF_L2] = 80e9}};
  f->input = (hn_profile_input){"net <1>", &f->plan, 1, &f->trace, f->work, &f->facts, 1, NULL};
  return f;
}

static void measure(fixture *f, const double *theory) {
  static const hone_report_options options = {.struct_size = sizeof options};
  hn_profile *profile;
  assert_int_equal(hn_profile_gather(&f->input, &options, &f->arena, &profile), HONE_OK);
  assert_int_equal(hn_roofline_measured(profile, theory, &f->arena, &f->roofline), HONE_OK);
}

static void close_fixture(fixture *f) {
  hn_text_deinit(&f->out);
  hn_arena_deinit(&f->arena);
  free(f);
}

static void near_by(const char *what, double got, double want) {
  if (!(fabs(got - want) <= 1e-9 * fabs(want))) fail_msg("%s: %g, want %g", what, got, want);
}

static void check_has(const fixture *f, const char *want) {
  if (!strstr(hn_text_string(&f->out), want)) fail_msg("no \"%s\" in:\n%s", want, hn_text_string(&f->out));
}

static void test_measured(void **state) {
  (void)state;
  fixture *f = open_fixture(3);
  measure(f, no_theory);
  const hn_roofline *r = &f->roofline;
  assert_int_equal(r->count, 3);
  near_by("intensity", hn_roofline_intensity(&r->rows[0]), 200);
  near_by("reached", hn_roofline_reached(&r->rows[0]), 200e9);
  near_by("roof", hn_roofline_roof(&r->rows[0]), 400e9);
  near_by("percent", r->rows[0].percent, 60);
  assert_int_equal(r->rows[0].kind, HN_BOUND_COMPUTE);
  assert_int_equal(r->rows[1].kind, HN_BOUND_MEMORY);
  near_by("no operations", hn_roofline_intensity(&r->rows[2]), 0);
  near_by("the model's operations", r->whole.flops, 6.001e8);
  near_by("the model's bytes", hn_roofline_bytes(&r->whole), 4.8e6);
  near_by("the model's time", r->whole.time_ns, 6e6);
  near_by("bound by computing", r->compute_ns, 3e6);
  const hone_report_options options = {.struct_size = sizeof options};
  hn_roofline_write(r, &options, &f->arena, &f->out);
  check_has(f, "net <1> on box, 2 threads\n");
  check_has(f, "compute f32");
  check_has(f, "bound   compute: 1 layer, 60.0 % of the layers' time; memory: 2 layers");
  check_has(f, "f32 (used)        400         5.0            40.0"); /* the ridges of L2 and memory */
  close_fixture(f);
}

static const hn_what_if_row *find(const hn_what_if_row *rows, int count, const char *curve, const char *at) {
  for (int i = 0; i < count; ++i)
    if (strcmp(rows[i].curve, curve) == 0 && strcmp(rows[i].at, at) == 0) return &rows[i];
  fail_msg("no row %s %s", curve, at);
  return NULL;
}

static void test_formulas(void **state) {
  (void)state;
  hone_facts facts = {.name = "box", .roofs = {[HONE_ROOF_F32] = 100e9, [HONE_ROOF_MEMORY] = 10e9}};
  hn_roof_set set;
  hn_what_if_row rows[HN_WHAT_IF_MOST];
  hn_roof_set_measured(&facts, no_theory, &set);
  const int count = hn_what_if(&set, HONE_F32, rows);
  assert_in_range(count, 40, HN_WHAT_IF_MOST);
  const hn_what_if_row *base = find(rows, count, "kernel", "3x3");
  near_by("operations", base->flops, 2.0 * 64 * 64 * 9 * 56 * 56);
  near_by("bytes", base->bytes, 4.0 * (2 * 64 * 56 * 56 + 64 * 64 * 9));
  near_by("time", base->time_ns, base->flops / 100e9 * 1e9);
  assert_true(base->computes);
  const hn_what_if_row *depthwise = find(rows, count, "groups", "64: depthwise");
  near_by("depthwise", depthwise->flops, base->flops / 64);
  assert_false(depthwise->computes);
  near_by("time by bytes", depthwise->time_ns, depthwise->bytes / 10e9 * 1e9);
  near_by("int8", find(rows, count, "type", "int8")->bytes, base->bytes / 4);
  near_by("fully connected", find(rows, count, "fully connected, 2048 to 1000", "batch 1")->flops, 4096000);
  near_by("a view", find(rows, count, "reshape, 64x56x56", "a view")->time_ns, 0);
}

/* ---- the plot ---- */

/* Tags close in order, attributes are quoted, entities are known, no control characters. */
static void check_xml(const char *text) {
  char open[32][32];
  int depth = 0;
  for (const char *at = text; *at; ++at) {
    if ((unsigned char)*at < 0x20 && *at != '\n') fail_msg("a control character: %.40s", at);
    if (*at == '&' && strncmp(at, "&amp;", 5) && strncmp(at, "&lt;", 4) && strncmp(at, "&gt;", 4) &&
        strncmp(at, "&quot;", 6))
      fail_msg("an entity: %.40s", at);
    if (*at != '<' || at[1] == '?') continue;
    const size_t length = strcspn(at + 1, " >/\n");
    if (at[1] == '/') {
      if (depth == 0 || strncmp(open[depth - 1], at + 2, strlen(open[depth - 1])) != 0) fail_msg("closes: %.40s", at);
      --depth;
      continue;
    }
    bool quoted = false;
    const char *end = at + 1;
    for (; *end && (quoted || *end != '>'); ++end) {
      if (*end == '"') quoted = !quoted;
      if (*end == '<') fail_msg("< in a tag: %.40s", at);
    }
    if (!*end || length >= sizeof open[0] || depth >= 32) fail_msg("a tag: %.40s", at);
    if (end[-1] != '/') (void)snprintf(open[depth++], sizeof open[0], "%.*s", (int)length, at + 1);
  }
  assert_int_equal(depth, 0);
}

static double number(const char *tag, const char *name) {
  const char *at = strstr(tag, name);
  assert_non_null(at);
  return strtod(at + strlen(name), NULL);
}

/* Boxes of what is drawn by tags that begin so; with a tip: those of layers, not of the legend. */
static int boxes_of(const char *text, const char *begins, bool with_tip, hn_plot_box *out) {
  int count = 0;
  for (const char *at = strstr(text, begins); at; at = strstr(at + 1, begins)) {
    const char *end = strchr(at, '>');
    if (with_tip && strncmp(end, "><title>", 8) != 0) continue;
    assert_in_range(count, 0, BOXES - 1);
    if (strncmp(at, "<circle", 7) == 0) {
      const double r = number(at, " r=\"");
      out[count++] = (hn_plot_box){number(at, "cx=\"") - r, number(at, "cy=\"") - r, 2 * r, 2 * r};
    } else {
      out[count++] =
          (hn_plot_box){number(at, " x=\""), number(at, " y=\""), number(at, "width=\""), number(at, "height=\"")};
    }
  }
  return count;
}

/* Coordinates are rounded to a tenth of a pixel. */
static bool overlap(hn_plot_box a, hn_plot_box b) {
  a = (hn_plot_box){a.x + 0.2, a.y + 0.2, a.width - 0.4, a.height - 0.4};
  return hn_plot_boxes_meet(&a, &b);
}

static void check_plot(const fixture *f, int least_labels) {
  static hn_plot_box points[BOXES], labels[BOXES];
  const char *text = hn_text_string(&f->out);
  check_xml(text);
  int count = boxes_of(text, "<circle class=\"point", true, points);
  count += boxes_of(text, "<rect class=\"point", true, points + count);
  assert_int_equal(count, f->roofline.count);
  const int label_count = boxes_of(text, "<rect class=\"under\"", false, labels);
  assert_in_range(label_count, least_labels, BOXES);
  for (int i = 0; i < label_count; ++i) {
    assert_true(labels[i].x >= 0 && labels[i].x + labels[i].width <= 1280 && labels[i].y >= 0 && labels[i].y < 800);
    for (int k = 0; k < i; ++k)
      if (overlap(labels[i], labels[k])) fail_msg("labels %d and %d overlap", i, k);
    for (int k = 0; k < count; ++k)
      if (overlap(labels[i], points[k])) fail_msg("label %d is on point %d", i, k);
  }
  for (int k = 0; k < count; ++k)
    if (points[k].y + points[k].height < 62 || points[k].y > 735 || points[k].x < 0 || points[k].x > 976)
      fail_msg("point %d is outside: %g %g", k, points[k].x, points[k].y);
}

static void test_plot(void **state) {
  (void)state;
  static const int counts[] = {3, STEPS, 1, 0};
  static const double theory[HONE_ROOF_COUNT] = {[HONE_ROOF_F32] = 450e9, [HONE_ROOF_MEMORY] = 12e9};
  for (size_t i = 0; i < HN_COUNT(counts); ++i) {
    fixture *f = open_fixture(counts[i]);
    measure(f, i == 1 ? no_theory : theory);
    assert_int_equal(hn_roofline_plot(&f->roofline, &f->arena, &f->out), HONE_OK);
    check_plot(f, counts[i] > 0 ? 2 : 0);
    check_has(f, "net &lt;1&gt; on box, 2 threads");
    if (counts[i] > 0) check_has(f, "a&lt;b&gt;&amp;&quot;c&quot; ?? \xe5\xb1\x82 (conv)");
    if (counts[i] == 3) check_has(f, "f32 on paper 450 GFLOP/s");
    if (counts[i] == 3) check_has(f, "prefers-color-scheme: dark");
    close_fixture(f);
  }
}

/* A product of 512 x 512 with a constant, and a relu: operations, bytes and types are known. */
static void test_on_paper(void **state) {
  (void)state;
  enum { N = 512 };
  fixture *f = open_fixture(0);
  static hn_plan_tensor tensors[4];
  static int numbers[4] = {0, 1, 2, 3};
  for (int t = 0; t < 4; ++t)
    tensors[t] = (hn_plan_tensor){.type = {HONE_TENSOR, HONE_F32, HONE_PLAIN, {2, {N, N}}},
                                  .place = t == 0   ? HN_PLACE_INPUT
                                           : t == 1 ? HN_PLACE_CONSTANT
                                           : t == 2 ? HN_PLACE_ARENA
                                                    : HN_PLACE_OUTPUT,
                                  .alias_of = -1,
                                  .part_of = -1};
  static const char *const ops[] = {"matmul", "relu"};
  for (int s = 0; s < 2; ++s) {
    f->steps[s] = (hn_plan_step){.name = ops[s],
                                 .op = hn_op_find(hn_builtin_ops(), ops[s]),
                                 .in_count = s ? 1 : 2,
                                 .out_count = 1,
                                 .in = &numbers[2 * s],
                                 .out = &numbers[2 + s],
                                 .cost.flops = s ? 1.0 * N * N : 2.0 * N * N * N};
    assert_non_null(f->steps[s].op);
  }
  f->plan.tensors = tensors;
  f->plan.tensor_count = 4;
  f->plan.step_count = 2;
  hone_diagnostics diag;
  hn_diag_entry entries[2];
  hn_diag_init(&diag, entries, 2);
  hn_chips chips = {0};
  static const char text[] =
      "chip: mine\nunits: 4 cores\nclock: 2\nplain: f32 2x8\nmatrix: f16 512\nmemory: 64 x 3.2 x 2\n";
  assert_int_equal(hn_chips_read(&f->arena, &diag, "text", text, sizeof text - 1, &chips), HONE_OK);
  /* 256 GFLOP/s in f32, 8192 in f16, 51.2 GB/s. */
  static const hone_dtype types[] = {HONE_NONE, HONE_F16, HONE_BF16};
  static const double peaks[] = {256e9, 8192e9, 256e9}, sizes[] = {4, 2, 2};
  static const char *const units[] = {"f32", "f16 matrix", "f32"};
  for (size_t i = 0; i < HN_COUNT(types); ++i) {
    hn_roofline *r = &f->roofline;
    assert_int_equal(hn_roofline_on_paper("net", &f->plan, NULL, &chips.items[0], types[i], &f->arena, r), HONE_OK);
    near_by("time at the roof", r->rows[0].time_ns, 2.0 * N * N * N / peaks[i] * 1e9);
    assert_string_equal(r->rows[0].unit, units[i]);
    assert_int_equal(r->rows[0].kind, HN_BOUND_COMPUTE);
    near_by("parameters", r->rows[0].params_bytes, sizes[i] * N * N);
    near_by("activations", r->rows[0].activations_bytes, 2 * sizes[i] * N * N);
    assert_string_equal(r->rows[1].unit, "f32"); /* a relu is nothing for matrix units */
    assert_int_equal(r->rows[1].kind, HN_BOUND_MEMORY);
    near_by("a relu's time", r->rows[1].time_ns, 2 * sizes[i] * N * N / 51.2e9 * 1e9);
    near_by("the sum", r->whole.time_ns, r->rows[0].time_ns + r->rows[1].time_ns);
  }
  assert_int_equal(hn_roofline_plot(&f->roofline, &f->arena, &f->out), HONE_OK);
  check_plot(f, 2);
  check_has(f, "net on mine, on paper");
  close_fixture(f);
}

/* Of a device whose roofs nobody measured, and layers that took no time. */
static void test_plot_without_roofs(void **state) {
  (void)state;
  fixture *f = open_fixture(3);
  f->facts = (hone_facts){.name = "box", .threads = 1};
  f->times[1].median_ns = 0;
  measure(f, no_theory);
  assert_int_equal(hn_roofline_plot(&f->roofline, &f->arena, &f->out), HONE_OK);
  check_plot(f, 0);
  assert_null(strstr(hn_text_string(&f->out), "nan"));
  assert_null(strstr(hn_text_string(&f->out), "inf"));
  close_fixture(f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_measured), cmocka_unit_test(test_on_paper),
                                     cmocka_unit_test(test_formulas), cmocka_unit_test(test_plot),
                                     cmocka_unit_test(test_plot_without_roofs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
