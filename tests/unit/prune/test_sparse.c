/* SPDX-License-Identifier: Apache-2.0 */
/* test_sparse.c - two of four: which weights stay, that an order of channels keeps more, and that a model in another
 * order computes the same. */
#include "prune/sparse.h"
#include "tensor/element.h"
#include "unit/pass/pass_support.h"
#include <hone/prune.h>
#include <math.h>

/* Channels 0 to 3 of h are heavy for all outputs, 4 to 7 light: in their own order two heavy ones of four go. */
#define HEAVY                                                                                                          \
  "graph \"g\" opset 17 { in %x: f32[1,4,3,3] const %w: f32[8,4,1,1] = random 1\n"                                     \
  " const %v: f32[4,8,1,1] = [9,8,7,6,1,1,1,1, 9,8,7,6,1,1,1,1, 6,7,8,9,1,1,1,1, 9,9,9,9,1,1,1,1]\n"                   \
  " %h = conv(%x, %w) @\"first\" %r = relu(%h) %y = conv(%r, %v) @\"second\" out %y }"

typedef struct told {
  double plain[4], kept[4];
  bool permuted[4];
  const char *why[4];
  int count;
} told;

static void tell(void *user, const hone_sparse_layer *layer) {
  told *t = user;
  assert_true(t->count < 4);
  t->plain[t->count] = layer->plain;
  t->kept[t->count] = layer->kept;
  t->permuted[t->count] = layer->permuted;
  t->why[t->count++] = layer->why ? "dense" : NULL;
}

static hone_graph *sparsify(bench *b, const char *text, bool in_order, told *t) {
  hone_graph *made;
  memset(t, 0, sizeof *t);
  bench_parse(b, text, strlen(text));
  const hone_sparse_options options = {
      .struct_size = sizeof options, .in_order = in_order, .layer = tell, .layer_user = t};
  if (hone_graph_sparsify(b->context, b->graph, &options, &made) != HONE_OK) fail_msg("%s", last_message(b));
  return made;
}

static const hn_node *node_named(const hone_graph *graph, const char *name) {
  for (const hn_node *node = graph->main->first; node; node = node->next)
    if (strcmp(node->name, name) == 0) return node;
  fail_msg("no node %s", name);
  return NULL;
}

static void test_order_keeps_more(void **state) {
  (void)state;
  bench b;
  told plain, found;
  hone_graph *graph = sparsify(&b, HEAVY, true, &plain);
  assert_true(fabs(plain.plain[1] - plain.kept[1]) < 1e-12);
  const hone_tensor *v = node_named(graph, "second")->in[1]->fact.constant;
  static const float row[] = {9, 8, 0, 0, 1, 1, 0, 0};
  for (int i = 0; i < 8; ++i) assert_true(hn_real(v, i) == (double)row[i]); /* of equal ones the first */
  hone_graph_destroy(graph);
  bench_end(&b);
  graph = sparsify(&b, HEAVY, false, &found);
  /* The best order has two heavy ones in each four: all of them stay. */
  double heavy = 0, all = 0;
  for (int i = 0; i < 32; ++i) {
    const double x = hn_real(node_named(b.graph, "second")->in[1]->fact.constant, i);
    all += x;
    heavy += x > 1 ? x : 0;
  }
  assert_true(fabs(found.kept[1] - heavy / all) < 1e-6 && found.permuted[1]);
  assert_true(found.plain[1] < found.kept[1]);
  assert_true(hn_sparse_is_two_of_four(node_named(graph, "second")->in[1]->fact.constant, 1));
  assert_true(hn_sparse_is_two_of_four(node_named(graph, "first")->in[1]->fact.constant, 1));
  hone_graph_destroy(graph);
  bench_end(&b);
}

/* Weights with two zeros in each four already lose nothing, so another order must leave all results as they are. */
static void test_order_computes_the_same(void **state) {
  (void)state;
  static const char *const texts[] = {
      "graph \"g\" opset 17 { in %x: f32[1,3,3,3] const %w: f32[8,3,1,1] = random 1 const %b: f32[8] = random 2\n"
      " const %v: f32[2,8,1,1] = [9,8,0,0,0,0,1,2, 0,0,3,4,5,6,0,0]\n"
      " const %d: f32[8,1,3,3] = random 3 %h = conv(%x, %w, %b) @\"first\" %s = sigmoid(%h)\n"
      " %e = conv(%s, %d) [group=8, pads=[1,1,1,1]] @\"depthwise\" %a = add(%e, %h) %y = conv(%a, %v) @\"second\" out "
      "%y }",
      "graph \"g\" opset 17 { in %x: f32[2,3] const %w: f32[3,8] = random 1 const %b: f32[8] = random 2\n"
      " const %v: f32[8,2] = [9,0, 8,0, 0,1, 0,2, 0,0, 0,0, 5,6, 7,8]\n"
      " %h = matmul(%x, %w) @\"first\" %a = add(%h, %b) %s = tanh(%a) %y = matmul(%s, %v) @\"second\" out %y }",
  };
  for (size_t i = 0; i < HN_COUNT(texts); ++i) {
    bench b;
    hn_coupling c;
    hn_sparse sparse;
    hn_cut cut;
    bench_parse(&b, texts[i], strlen(texts[i]));
    assert_int_equal(hn_coupling_find(b.graph, &(hn_coupling_options){0}, &b.arena, &c), HONE_OK);
    const bool dense[4] = {false};
    assert_int_equal(hn_sparse_begin(&c, dense, &b.arena, &sparse), HONE_OK);
    assert_int_equal(hn_cut_begin(&c, b.graph, &b.arena, &cut), HONE_OK);
    /* Any order will do: the reverse one. */
    int reverse[16];
    assert_int_equal(c.group_count, 1);
    for (int k = 0; k < c.groups[0].count; ++k) reverse[k] = c.groups[0].count - 1 - k;
    assert_int_equal(hn_cut_add_places(&cut, 0, reverse), HONE_OK);
    if (hn_cut_apply(&cut) != HONE_OK) fail_msg("%s", last_message(&b));
    bench_compare(&b, "in reverse order");
    bench_end(&b);
  }
}

static void test_check(void **state) {
  (void)state;
  static const struct {
    const char *what;
    float w[8];
    bool good;
  } rows[] = {{"two of four", {1, 0, 2, 0, 0, 3, 0, 4}, true},
              {"all zero", {0}, true},
              {"three of the first four", {1, 1, 2, 0, 0, 0, 0, 0}, false},
              {"two of eight across the middle", {0, 0, 0, 1, 1, 1, 1, 0}, false},
              {"NaN is no zero", {NAN, 1, 1, 0, 0, 0, 0, 0}, false}};
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    float w[8];
    memcpy(w, rows[i].w, sizeof w);
    const int64_t dims[] = {1, 8}, short_dims[] = {1, 6};
    const hone_tensor tensor = hn_tensor_over(HONE_F32, 2, dims, w), odd = hn_tensor_over(HONE_F32, 2, short_dims, w);
    if (hn_sparse_is_two_of_four(&tensor, 1) != rows[i].good) fail_msg("%s", rows[i].what);
    assert_false(hn_sparse_is_two_of_four(&odd, 1));
  }
}

static void test_refusals(void **state) {
  (void)state;
  static const char *const none[] = {"nobody"}, *const all[] = {"*"};
  static const char odd[] =
      "graph \"g\" opset 17 { in %x: f32[1,3,3,3] const %w: f32[8,3,1,1] = random 1 %y = conv(%x, "
      "%w) @\"first\" out %y }";
  bench b;
  hone_graph *made;
  bench_parse(&b, odd, strlen(odd));
  assert_int_equal(hone_graph_sparsify(b.context, b.graph, NULL, &made), HONE_UNSUPPORTED);
  assert_non_null(strstr(last_message(&b), "no multiple of 4"));
  assert_null(made);
  bench_end(&b);
  bench_parse(&b, HEAVY, strlen(HEAVY));
  hone_sparse_options options = {.struct_size = sizeof options, .keep = none, .keep_count = 1};
  assert_int_equal(hone_graph_sparsify(b.context, b.graph, &options, &made), HONE_INVALID);
  bench_end(&b);
  bench_parse(&b, HEAVY, strlen(HEAVY));
  options.keep = all;
  assert_int_equal(hone_graph_sparsify(b.context, b.graph, &options, &made), HONE_UNSUPPORTED);
  bench_end(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_order_keeps_more),
                                     cmocka_unit_test(test_order_computes_the_same), cmocka_unit_test(test_check),
                                     cmocka_unit_test(test_refusals)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
