/* SPDX-License-Identifier: Apache-2.0 */
/* test_coupling.c - which channels belong together in small graphs, and that a graph without some of them computes what
 * the whole one does with their weights zero. */
#include "prune/coupling.h"
#include "prune/part.h"
#include "support/ref_graph.h"
#include "tensor/element.h"
#include "unit/pass/pass_support.h"
#include <hone/prune.h>
#include <math.h>

#define HEAD                                                                                                           \
  "graph \"g\" opset 17 {\n in %x: f32[1,3,6,6]\n const %w: f32[8,3,3,3] = random 1 const %b: f32[8] = random 2\n"     \
  " %c = conv(%x, %w, %b) [pads=[1,1,1,1]] @\"first\"\n"
#define LAST " const %z: f32[5,8,1,1] = random 9 %o = conv(%l, %z) @\"last\" out %o\n }\n"
#define LAST_OF_12 " const %z: f32[5,12,1,1] = random 9 %o = conv(%l, %z) @\"last\" out %o\n }\n"

/* groups: "first layer:channels of it/units" in the graph's order. */
static const struct {
  const char *name, *text, *groups, *fixed, *why;
} graphs[] = {
    {"a chain", HEAD " %l = relu(%c)" LAST, "first:8/8", "last", "it is an output of the model"},
    {"behind sigmoid, where zero does not stay zero", HEAD " %l = sigmoid(%c)" LAST, "first:8/8", "last", "output"},
    {"a normalisation has a parameter a channel",
     HEAD " const %s: f32[8] = random 3 const %m: f32[8] = random 4 const %v: f32[8] = splat 0.5\n"
          " %n = batch_norm(%c, %s, %b, %m, %v) %l = leaky_relu(%n)" LAST,
     "first:8/8", "last", "output"},
    {"a depthwise convolution is as wide as what it reads",
     HEAD " const %d: f32[8,1,3,3] = random 3 %l = conv(%c, %d) [group=8] @\"depthwise\"" LAST, "first:8/8", "last",
     "output"},
    {"a depthwise convolution of two outputs a channel",
     HEAD " const %d: f32[12,1,1,1] = random 3 const %p: f32[6,8,1,1] = random 4 %q = conv(%c, %p) @\"narrow\"\n"
          " %l = conv(%q, %d) [group=6] @\"depthwise\"" LAST_OF_12,
     "first:8/8 narrow:6/6", "last", "output"},
    {"groups go as a whole",
     HEAD " const %d: f32[12,4,1,1] = random 3 %l = conv(%c, %d) [group=2] @\"grouped\"" LAST_OF_12, "first:8/2",
     "last", "output"},
    {"a residual sum ties what it adds",
     HEAD " const %d: f32[8,8,1,1] = random 3 %r = relu(%c) %e = conv(%r, %d) @\"second\" %l = add(%e, %r)" LAST,
     "first:8/8", "last", "output"},
    {"parts of a concatenation are apart",
     HEAD " const %d: f32[4,8,1,1] = random 3 %e = conv(%c, %d) @\"second\" %l = concat(%c, %e) [axis=1]" LAST_OF_12,
     "first:8/8 second:4/4", "last", "output"},
    {"parts of a split that another layer reads",
     HEAD " const %k: i64[2] = [6, 2] %p, %q = split(%c, %k) [axis=1] const %d: f32[4,6,1,1] = random 3\n"
          " %e = conv(%p, %d) @\"second\" const %f: f32[4,2,1,1] = random 4 %g = conv(%q, %f) @\"third\"\n"
          " %l = concat(%e, %g, %e) [axis=1]" LAST_OF_12,
     "first:6/6 first:2/2 second:4/4 third:4/4", "last", "output"},
    {"a slice of the channels",
     HEAD " const %s: i64[1] = [2] const %t: i64[1] = [99] const %a: i64[1] = [1] %p = slice(%c, %s, %t, %a)\n"
          " const %d: f32[8,6,1,1] = random 3 %l = conv(%p, %d) @\"second\"" LAST,
     "first:2/2 first:6/6 second:8/8", "last", "output"}, /* two are never read */
    {"a shuffle of channels joins one of each half",
     HEAD " const %s: i64[5] = [1, 2, 4, 6, 6] const %t: i64[4] = [1, 8, 6, 6] %p = reshape(%c, %s)\n"
          " %q = transpose(%p) [perm=[0,2,1,3,4]] %l = reshape(%q, %t)" LAST,
     "first:8/4", "last", "output"},
    {"flattening makes a block of columns of a channel",
     HEAD " %l = max_pool(%c) [kernel_shape=[3,3], strides=[3,3]] %f = flatten(%l) const %g: f32[32,7] = random 3\n"
          " %h = gemm(%f, %g) @\"fully\" const %i: f32[5,7] = random 4 %o = gemm(%h, %i) [transB=1] @\"last\" out %o }",
     "first:8/8 fully:7/7", "last", "output"},
    {"squeeze and excite: factors are tied to what they scale",
     HEAD
     " %p = global_average_pool(%c) const %d: f32[4,8,1,1] = random 3 %s = conv(%p, %d) @\"squeeze\" %r = relu(%s)\n"
     " const %e: f32[8,4,1,1] = random 4 %t = conv(%r, %e) @\"excite\" %u = hard_sigmoid(%t) %l = mul(%u, %c)" LAST,
     "first:8/8 squeeze:4/4", "last", "output"},
    {"a mean over pixels by axes",
     HEAD " const %a: i64[2] = [2, 3] %m = reduce_mean(%c, %a) [keepdims=0] const %g: f32[8,5] = random 3\n"
          " %o = matmul(%m, %g) @\"last\" out %o }",
     "first:8/8", "last", "output"},
    {"a transposed convolution",
     HEAD " const %d: f32[8,8,2,2] = random 3 %l = conv_transpose(%c, %d) [strides=[2,2]] @\"up\"" LAST,
     "first:8/8 up:8/8", "last", "output"},
    {"two biases of one constant tie nothing",
     HEAD " const %d: f32[8,8,1,1] = random 3 %r = relu(%c) %l = conv(%r, %d, %b) @\"second\"" LAST,
     "first:8/8 second:8/8", "last", "output"},
    {"a bound for all channels", HEAD " const %m: f32[] = [0] const %n: f32[] = [6] %l = clip(%c, %m, %n)" LAST,
     "first:8/8", "last", "output"},
    {"a sum over the channels fixes them", HEAD " const %a: i64[1] = [1] %s = reduce_sum(%c, %a) %l = div(%c, %s)" LAST,
     "", "first", "each channel"},
    {"softmax over the channels fixes them", HEAD " %l = softmax(%c) [axis=1]" LAST, "", "first", "each channel"},
    {"an operator without a rule fixes them", HEAD " %l = lrn(%c) [size=3]" LAST, "", "first", "nothing is known"},
    {"a second output of the model fixes them", HEAD " %l = relu(%c) out %c" LAST, "", "first", "output"},
    {"channels that are added to the input stay",
     HEAD " const %d: f32[3,8,1,1] = random 3 %e = conv(%c, %d) @\"second\" %l = add(%e, %x) const %z: f32[5,3,1,1] = "
          "random 9 %o = conv(%l, %z) @\"last\" out %o }",
     "first:8/8", "second", "input"},
};

static void find(bench *b, const char *text, const hn_coupling_options *options, hn_coupling *out) {
  hn_parted parted;
  bench_parse(b, text, strlen(text));
  if (hn_constants_part(b->graph, &b->arena, &parted) != HONE_OK ||
      hn_coupling_find(b->graph, options, &b->arena, out) != HONE_OK)
    fail_msg("%s", last_message(b));
}

static void test_groups(void **state) {
  (void)state;
  for (size_t i = 0; i < HN_COUNT(graphs); ++i) {
    bench b;
    hn_coupling c;
    char got[512] = "";
    size_t used = 0;
    find(&b, graphs[i].text, &(hn_coupling_options){0}, &c);
    for (int g = 0; g < c.group_count; ++g)
      used +=
          (size_t)snprintf(got + used, sizeof got - used, "%s%s:%lld/%d", g ? " " : "",
                           c.layers[c.groups[g].layer].node->name, (long long)c.groups[g].channels, c.groups[g].count);
    if (strcmp(got, graphs[i].groups) != 0) fail_msg("%s: groups %s, not %s", graphs[i].name, got, graphs[i].groups);
    bool found = false;
    for (int k = 0; k < c.layer_count; ++k) {
      if (strcmp(c.layers[k].node->name, graphs[i].fixed) != 0) continue;
      found = c.layers[k].group < 0 && strstr(c.layers[k].fixed->why, graphs[i].why);
      if (!found)
        fail_msg("%s: %s is fixed by \"%s\"", graphs[i].name, graphs[i].fixed,
                 c.layers[k].fixed ? c.layers[k].fixed->why : "nothing");
    }
    assert_true(found);
    bench_end(&b);
  }
}

/* ---- the cut graph against the masked one ---- */

static void run(const hone_graph *graph, hn_arena *arena, const hone_tensor *inputs, hone_tensor *outputs) {
  if (ref_graph_run(graph, arena, inputs, outputs) != HONE_OK) fail_msg("the graph does not run");
}

static void check_same(const char *name, const hone_graph *pruned, const hone_graph *masked, hn_arena *arena,
                       uint64_t seed) {
  hone_tensor inputs[2], got[4], want[4];
  assert_int_equal(ref_graph_inputs(masked, arena, seed, 1, inputs), HONE_OK);
  run(pruned, arena, inputs, got);
  run(masked, arena, inputs, want);
  for (int i = 0; i < masked->main->result_count; ++i) {
    const hn_error error = hn_compare(&got[i], &want[i], 1e-6, 1e-5, 0, -1);
    if (error.mismatches > 0)
      fail_msg("%s: output %d differs by %g of %lld", name, i, error.max_abs, (long long)error.worst);
    assert_true(error.compared > 0);
  }
}

static void test_pruned_is_masked(void **state) {
  (void)state;
  static const double ratios[] = {0.2, 0.5, 0.7};
  for (size_t i = 0; i < HN_COUNT(graphs); ++i)
    for (size_t r = 0; graphs[i].groups[0] && r < HN_COUNT(ratios); ++r)
      for (int global = 0; global < 2; ++global) {
        bench b;
        hone_graph *pruned, *masked;
        hone_prune_summary summary = {.struct_size = sizeof summary};
        const hone_prune_options options = {
            .struct_size = sizeof options, .ratio = ratios[r], .multiple = 1, .global = global != 0};
        bench_parse(&b, graphs[i].text, strlen(graphs[i].text));
        if (hone_graph_prune(b.context, b.graph, NULL, 0, &options, &pruned, &masked, &summary) != HONE_OK) {
          /* a share of 0.2 of two grouped halves is none */
          if (!strstr(last_message(&b), "nothing goes")) fail_msg("%s: %s", graphs[i].name, last_message(&b));
          bench_end(&b);
          continue;
        }
        assert_true(summary.channels_kept < summary.channels && summary.weights_kept < summary.weights);
        assert_true(summary.flops_kept < summary.flops);
        check_same(graphs[i].name, pruned, masked, &b.arena, 17 * i + r);
        hone_graph_destroy(pruned);
        hone_graph_destroy(masked);
        bench_end(&b);
      }
}

/* What goes is what is worth least, and what stays keeps its numbers and names. */
static void test_least_go(void **state) {
  (void)state;
  static const char text[] =
      "graph \"g\" opset 17 { in %x: f32[1,1,1,1] const %w: f32[4,1,1,1] = [3, -1, 2, 0.5] const %v: f32[1,4,1,1] = "
      "[1, 1, 1, 1] %h = conv(%x, %w) @\"one\" %y = conv(%h, %v) @\"two\" out %y }";
  bench b;
  hone_graph *pruned;
  bench_parse(&b, text, strlen(text));
  const hone_prune_options options = {.struct_size = sizeof options, .ratio = 0.5, .multiple = 1};
  assert_int_equal(hone_graph_prune(b.context, b.graph, NULL, 0, &options, &pruned, NULL, NULL), HONE_OK);
  const hn_node *one = pruned->main->first;
  assert_string_equal(one->in[1]->name, "w");
  assert_int_equal(one->in[1]->fact.type.shape.dim[0], 2);
  const float *w = one->in[1]->fact.constant->data;
  assert_true(w[0] == 3 && w[1] == 2);
  hone_graph_destroy(pruned);
  bench_end(&b);
}

static void test_keep(void **state) {
  (void)state;
  static const char *const keep[] = {"fir*"}, *const none[] = {"nobody"};
  bench b;
  hn_coupling c;
  find(&b, graphs[0].text, &(hn_coupling_options){.keep = keep, .keep_count = 1}, &c);
  assert_int_equal(c.group_count, 0);
  assert_non_null(strstr(c.layers[0].fixed->why, "named to stay"));
  bench_end(&b);
  bench_parse(&b, graphs[0].text, strlen(graphs[0].text));
  const hn_coupling_options options = {.keep = none, .keep_count = 1};
  assert_int_equal(hn_coupling_find(b.graph, &options, &b.arena, &c), HONE_INVALID);
  assert_non_null(strstr(last_message(&b), "nobody"));
  bench_end(&b);
}

static void test_refusals(void **state) {
  (void)state;
  static const struct {
    const char *name;
    hone_prune_options options;
    hone_status status;
    const char *says;
  } rows[] = {
      {"no share", {.ratio = 0}, HONE_INVALID, "ratio is 0"},
      {"all", {.ratio = 1}, HONE_INVALID, "ratio is 1"},
      {"not a number", {.ratio = NAN}, HONE_INVALID, "ratio is"},
      {"a multiple below 1", {.ratio = 0.5, .multiple = -1}, HONE_INVALID, "multiple"},
      {"no such score", {.ratio = 0.5, .score = "l3"}, HONE_INVALID, "l3"},
      {"no samples", {.ratio = 0.5, .score = "error"}, HONE_INVALID, "samples"},
      {"less than a multiple", {.ratio = 0.01, .multiple = 2}, HONE_INVALID, "nothing goes"},
      {"as wide as a multiple", {.ratio = 0.5}, HONE_UNSUPPORTED, "it has 8 channels"},
      {"a target without a device", {.target_ms = 1}, HONE_INVALID, "needs a device"},
      {"a target and a share", {.target_ms = 1, .ratio = 0.5}, HONE_INVALID, "excludes"},
  };
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    bench b;
    hone_graph *pruned = (hone_graph *)&b;
    hone_prune_options options = rows[i].options;
    options.struct_size = sizeof options;
    bench_parse(&b, graphs[0].text, strlen(graphs[0].text));
    const hone_status status = hone_graph_prune(b.context, b.graph, NULL, 0, &options, &pruned, NULL, NULL);
    if (status != rows[i].status || !strstr(last_message(&b), rows[i].says) || pruned)
      fail_msg("%s: status %d, \"%s\"", rows[i].name, (int)status, last_message(&b));
    bench_end(&b);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_groups), cmocka_unit_test(test_pruned_is_masked),
                                     cmocka_unit_test(test_least_go), cmocka_unit_test(test_keep),
                                     cmocka_unit_test(test_refusals)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
