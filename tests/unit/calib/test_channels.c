/* SPDX-License-Identifier: Apache-2.0 */
/* test_channels.c - factors and shifts on channels change nothing of what is computed, stay where something else reads,
 * and stop at bounds; rounding by output error is nearer than the nearest bytes. */
#include "calib/channels.h"
#include "calib/rounding.h"
#include "tensor/element.h"
#include "unit/pass/pass_support.h"
#include <math.h>

#define HEAD                                                                                                           \
  "graph \"g\" opset 17 {\n in %x: f32[1,2,1,1]\n const %w: f32[2,2,1,1] = [1, -2, 0.5, 0.25]\n"                       \
  " const %b: f32[2] = [0.5, -1]\n const %v: f32[3,2,1,1] = [1, 2, -3, 4, 0.5, -0.25]\n const %a: f32[3] = [1, 2, "    \
  "3]\n"

typedef struct example {
  bench b;
  hn_sites sites;
  hn_channels channels;
} example;

static void begin(example *e, const char *text) {
  bench_parse(&e->b, text, strlen(text));
  if (hn_sites_find(e->b.graph, NULL, 0, &e->b.arena, &e->sites) != HONE_OK) fail_msg("%s", last_message(&e->b));
  assert_int_equal(hn_channels_find(e->b.graph, &e->b.arena, &e->channels), HONE_OK);
}

static const hn_value *value_of(const example *e, const char *name) {
  for (int i = 0; i < e->b.graph->value_count; ++i)
    if (e->b.graph->values[i]->name && strcmp(e->b.graph->values[i]->name, name) == 0) return e->b.graph->values[i];
  fail_msg("there is no %s", name);
  return NULL;
}

/* Two channels of a value were seen at these numbers. */
static void see(example *e, const char *name, float first, float second) {
  float data[2] = {first, second};
  const int64_t dims[4] = {1, 2, 1, 1};
  const hone_tensor tensor = hn_tensor_over(HONE_F32, 4, dims, data);
  hn_channels_see(&e->channels, value_of(e, name), &tensor);
  e->channels.samples = 1;
}

static void layer(const hn_node *node, const double *x, int inputs, int outputs, bool bounded, double *y) {
  for (int o = 0; o < outputs; ++o) {
    y[o] = node->in_count > 2 ? hn_real(node->in[2]->fact.constant, o) : 0;
    for (int i = 0; i < inputs; ++i) y[o] += hn_real(node->in[1]->fact.constant, o * inputs + i) * x[i];
    if (bounded) y[o] = fmax(y[o], 0);
  }
}

/* conv, relu where bounded, conv: what comes out for x. */
static void compute(const example *e, bool bounded, const double *x, double *y) {
  double between[2];
  layer(value_of(e, "c")->node, x, 2, 2, bounded, between);
  layer(value_of(e, "y")->node, between, 2, 3, false, y);
}

static void check_same(example *e, bool bounded) {
  static const double points[][2] = {{1, 2}, {-3, 0.5}, {0.25, -4}};
  double before[3][3], after[3];
  for (int i = 0; i < 3; ++i) compute(e, bounded, points[i], before[i]);
  const hn_value *old = value_of(e, "c")->node->in[bounded ? 1 : 2];
  assert_int_equal(hn_channels_apply(&e->channels), HONE_OK);
  assert_ptr_not_equal(value_of(e, "c")->node->in[bounded ? 1 : 2], old);
  for (int i = 0; i < 3; ++i) {
    compute(e, bounded, points[i], after);
    for (int o = 0; o < 3; ++o) assert_true(fabs(after[o] - before[i][o]) < 1e-4);
  }
}

static void test_equalise(void **state) {
  (void)state;
  example e;
  begin(&e, HEAD " %c = conv(%x, %w, %b) %r = relu(%c) %y = conv(%r, %v, %a) out %y }");
  see(&e, "r", 8, 2);
  assert_true(hn_channels_equalise(&e.channels, &e.sites, 1));
  const int64_t first = e.channels.first[value_of(&e, "r")->id];
  assert_true(e.channels.scale[hn_channel_class(&e.channels, first)] == 1);
  assert_true(e.channels.scale[hn_channel_class(&e.channels, first + 1)] == 4);
  assert_int_equal(hn_channel_class(&e.channels, first),
                   hn_channel_class(&e.channels, e.channels.first[value_of(&e, "c")->id]));
  check_same(&e, true);
  bench_end(&e.b);
}

static void test_align(void **state) {
  (void)state;
  example e;
  begin(&e, HEAD " %c = conv(%x, %w, %b) %y = conv(%c, %v, %a) out %y }");
  see(&e, "c", 8, -2);
  assert_true(hn_channels_align(&e.channels, &e.sites));
  assert_true(e.channels.shift[e.channels.first[value_of(&e, "c")->id]] == -8);
  check_same(&e, false);
  bench_end(&e.b);
}

/* Each row: what lies behind the first layer, and whether its channels may have factors, and shifts. */
static void test_where(void **state) {
  (void)state;
  static const struct {
    const char *name, *text;
    bool factors, shifts;
  } rows[] = {
      {"a layer", " %y = conv(%c, %v, %a) out %y }", true, true},
      {"a bound", " %r = relu(%c) %y = conv(%r, %v, %a) out %y }", true, false},
      {"an output of the graph", " %y = conv(%c, %v, %a) out %y out %c }", false, false},
      {"a function that a factor does not pass", " %s = sigmoid(%c) %y = conv(%s, %v, %a) out %y }", false, false},
      {"a border of zeros", " %y = conv(%c, %v, %a) [pads=[1,1,1,1]] out %y }", true, false},
      {"a sum that an input takes part in", " %s = add(%c, %x) %y = conv(%s, %v, %a) out %y }", false, false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    char text[1024];
    example e;
    (void)snprintf(text, sizeof text, "%s %%c = conv(%%x, %%w, %%b)%s", HEAD, rows[i].text);
    begin(&e, text);
    see(&e, "c", 8, -2);
    const bool factors = hn_channels_equalise(&e.channels, &e.sites, 1) ||
                         (e.channels.axis[value_of(&e, "c")->id] >= 0 &&
                          !e.channels.fixed[hn_channel_class(&e.channels, e.channels.first[value_of(&e, "c")->id])]);
    if (factors != rows[i].factors) fail_msg("%s: factors %d", rows[i].name, factors);
    if (e.channels.shifts[value_of(&e, "c")->id] != rows[i].shifts) fail_msg("%s: shifts", rows[i].name);
    bench_end(&e.b);
  }
}

static void test_bound(void **state) {
  (void)state;
  example e;
  begin(&e, HEAD " const %low: f32[] = [0] const %six: f32[] = [6] %c = conv(%x, %w, %b) %r = clip(%c, %low, %six)\n"
                 " %y = conv(%r, %v, %a) out %y }");
  see(&e, "r", 6, 1);
  assert_true(hn_channels_equalise(&e.channels, &e.sites, 1));
  const int64_t first = e.channels.first[value_of(&e, "r")->id];
  assert_true(e.channels.scale[hn_channel_class(&e.channels, first)] == 1);
  assert_true(e.channels.scale[hn_channel_class(&e.channels, first + 1)] ==
              3); /* 6 / (2 * 1): the bound stays beyond */
  bench_end(&e.b);
}

/* Inputs that go together: an error in one weight is made good by the next. */
static void test_rounding(void **state) {
  (void)state;
  enum { INNER = 24, ROWS = 200 };
  static float x[ROWS * INNER], sums[INNER * INNER], scratch[INNER * INNER];
  float weights[INNER], work[INNER];
  int8_t bytes[INNER];
  uint32_t seed = 1;
  for (int r = 0; r < ROWS; ++r) {
    float common = 0;
    for (int i = 0; i < INNER; ++i) {
      seed = seed * 1664525u + 1013904223u;
      const float noise = (float)(seed >> 8) / 16777216.0f - 0.5f;
      if (i % 4 == 0) common = 4 * noise;
      x[r * INNER + i] = common + noise / 4;
    }
  }
  for (int i = 0; i < INNER; ++i) {
    seed = seed * 1664525u + 1013904223u;
    weights[i] = work[i] = (float)(seed >> 8) / 16777216.0f - 0.5f;
  }
  const float scale = 0.5f / 7;
  hn_add_products(x, ROWS, INNER, sums);
  assert_true(hn_error_factor(sums, INNER, 0.01, scratch));
  hn_round_by_error(work, INNER, scale, 7, sums, bytes);
  double by_error = 0, nearest = 0;
  for (int r = 0; r < ROWS; ++r) {
    double apart = 0, apart_nearest = 0;
    for (int i = 0; i < INNER; ++i) {
      const double at = (double)x[r * INNER + i], w = (double)weights[i];
      apart += at * (w - (double)bytes[i] * (double)scale);
      apart_nearest += at * (w - nearbyint(w / (double)scale) * (double)scale);
    }
    by_error += apart * apart;
    nearest += apart_nearest * apart_nearest;
  }
  assert_true(by_error < nearest / 2);
  float nothing[4] = {0};
  assert_false(hn_error_factor(nothing, 2, 0.01, scratch));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_equalise), cmocka_unit_test(test_align),
                                     cmocka_unit_test(test_where), cmocka_unit_test(test_bound),
                                     cmocka_unit_test(test_rounding)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
