/* SPDX-License-Identifier: Apache-2.0 */
/* test_shared.c - values with several readers: a convert that serves all of them is paid once, and so is what the
 * tuner expects of a plan; with nodes that follow their neighbours the solver is held against all assignments. */
#include "fake_device.h"
#include "base/random.h"
#include <math.h>

static hone_format read_in(const tuning_case *t, const char *node) { return chosen_of(t, node)->storages.in; }

/* Two blocked layers save 3.2 us, and cost 3 us of converts when x is converted once, 4 us when twice. */
static void test_two_readers(void **state) {
  (void)state;
  for (int given = 0; given < 2; ++given) { /* of a layer's output, and of the graph's input */
    tuning_case t;
    case_begin(&t, given ? "graph \"g\" opset 17 { in %v: f32[1,64,32,32] %a = relu(%v) @\"a\" %b = relu(%v) @\"b\" "
                           "%c = exp(%a) @\"c\" %d = exp(%b) @\"d\" out %c out %d }"
                         : "graph \"g\" opset 17 { in %x: f32[1,64,32,32] %v = exp(%x) @\"v\" %a = relu(%v) @\"a\" "
                           "%b = relu(%v) @\"b\" %c = exp(%a) @\"c\" %d = exp(%b) @\"d\" out %c out %d }");
    fake[EXP].plain_ns = 50e3;
    fake[RELU_A] = (fake_row){.plain_ns = 50e3, .blocked_ns = 48.4e3};
    fake[TO_BLOCKED].blocked_ns = fake[FROM_BLOCKED].blocked_ns = 1e3;
    const hone_build_options options = {.struct_size = sizeof options};
    case_tune_ok(&t, &options);
    assert_int_equal(read_in(&t, "a"), HONE_NCHW16C);
    assert_int_equal(read_in(&t, "b"), HONE_NCHW16C);
    assert_true(fabs(t.choices->total_ns - ((given ? 2 : 3) * 50e3 + 2 * 48.4e3 + 3e3)) < 1);
    assert_true(t.choices->optimal);
    fake[RELU_A].blocked_ns = 48.6e3; /* now it is not worth it */
    case_tune_ok(&t, &options);
    assert_int_equal(read_in(&t, "a"), HONE_PLAIN);
    assert_int_equal(read_in(&t, "b"), HONE_PLAIN);
    case_end(&t);
  }
}

/* ---- three storages, against all assignments ---- */

enum { PLAIN, BLOCKED, HALF, STORAGES, LAYERS = 4 };

typedef struct prices {
  double layer[STORAGES];
  double convert[STORAGES][STORAGES];
} prices;

/* x -> a -> b -> c and b -> d, which leave plain; what b's readers want is converted once each. */
static double price_of(const prices *p, const int *in) {
  double ns = p->convert[PLAIN][in[0]] + p->convert[in[0]][in[1]] + p->convert[in[2]][PLAIN] + p->convert[in[3]][PLAIN];
  for (int i = 0; i < LAYERS; ++i) ns += p->layer[in[i]];
  ns += p->convert[in[1]][in[2]];
  return in[3] == in[2] ? ns : ns + p->convert[in[1]][in[3]];
}

static double least_price(const prices *p) {
  double least = HUGE_VAL;
  for (int code = 0; code < STORAGES * STORAGES * STORAGES * STORAGES; ++code) {
    const int in[LAYERS] = {code % 3, code / 3 % 3, code / 9 % 3, code / 27};
    least = fmin(least, price_of(p, in));
  }
  return least;
}

static void set_price(prices *p, int from, int to, fake_row *row, double ns) {
  const bool blocked = from == BLOCKED || to == BLOCKED;
  p->convert[from][to] = ns;
  *(blocked ? &row->blocked_ns : &row->plain_ns) = ns;
}

static void test_three_storages(void **state) {
  (void)state;
  enum { ROUNDS = 40 };
  int with_halves = 0, with_blocks = 0;
  for (int round = 0; round < ROUNDS; ++round) {
    hn_random random = {.state = (uint64_t)round + 1};
    tuning_case t;
    prices p = {0};
    case_begin(&t, "graph \"g\" opset 17 { in %x: f32[1,64,32,32] %v = relu(%x) @\"a\" %b = relu(%v) @\"b\" "
                   "%c = relu(%b) @\"c\" %d = relu(%b) @\"d\" out %c out %d }");
    for (int s = 0; s < STORAGES; ++s) p.layer[s] = floor(50e3 + hn_random_unit(&random) * 50e3);
    fake[RELU_A] = (fake_row){.plain_ns = p.layer[PLAIN], .blocked_ns = p.layer[BLOCKED]};
    fake[RELU_HALF].plain_ns = p.layer[HALF];
    set_price(&p, PLAIN, BLOCKED, &fake[TO_BLOCKED], floor(5e3 + hn_random_unit(&random) * 20e3));
    set_price(&p, BLOCKED, PLAIN, &fake[FROM_BLOCKED], floor(5e3 + hn_random_unit(&random) * 20e3));
    set_price(&p, PLAIN, HALF, &fake[TO_HALF], floor(5e3 + hn_random_unit(&random) * 20e3));
    set_price(&p, BLOCKED, HALF, &fake[TO_HALF], floor(5e3 + hn_random_unit(&random) * 20e3));
    set_price(&p, HALF, PLAIN, &fake[FROM_HALF], floor(5e3 + hn_random_unit(&random) * 20e3));
    set_price(&p, HALF, BLOCKED, &fake[FROM_HALF], floor(5e3 + hn_random_unit(&random) * 20e3));
    const hone_build_options options = {.struct_size = sizeof options, .precisions = HONE_BIT(HONE_F16)};
    case_tune_ok(&t, &options);
    assert_true(t.choices->optimal);
    const double want = least_price(&p);
    if (fabs(t.choices->total_ns - want) > 1e-6 * want)
      fail_msg("round %d: %g, but %g is possible", round, t.choices->total_ns, want);
    with_halves += chosen_of(&t, "b")->storages.in == HONE_F16_PLAIN;
    with_blocks += chosen_of(&t, "b")->storages.in == HONE_NCHW16C;
    case_end(&t);
  }
  assert_true(with_halves > 0 && with_blocks > 0);
}

/* ---- the solver with followers ---- */

enum { M = HN_PBQP_MAX, MAKERS = 5, MOST = 9, MOST_EDGES = 32 };

typedef struct problem {
  hn_pbqp pbqp;
  int alternatives[MOST];
  double cost[MOST * M];
  bool follows[MOST];
  hn_pbqp_edge edges[MOST_EDGES];
} problem;

static int below(hn_random *random, int limit) { return (int)(hn_random_u64(random) % (uint64_t)limit); }

/* Nodes of two states, and for each of the first four values a set of states; every later node may read it. */
static void make(problem *p, uint64_t seed) {
  hn_random random = {.state = seed};
  memset(p, 0, sizeof *p);
  p->pbqp = (hn_pbqp){
      .node_count = MOST, .alternatives = p->alternatives, .cost = p->cost, .edges = p->edges, .follows = p->follows};
  for (int n = 0; n < MOST; ++n) {
    p->alternatives[n] = n < MAKERS ? 2 : 3;
    p->follows[n] = n >= MAKERS;
    for (int i = 0; i < 2 && n < MAKERS; ++i) p->cost[n * M + i] = below(&random, 60);
  }
  for (int v = 0; v < MOST - MAKERS; ++v) {
    hn_pbqp_edge *made = &p->edges[p->pbqp.edge_count++];
    *made = (hn_pbqp_edge){.from = v, .to = MAKERS + v};
    const double convert = 10 + below(&random, 30);
    for (int i = 0; i < 2; ++i)
      for (int k = 0; k < 3; ++k) made->cost[i * M + k] = !((k + 1) >> i & 1) ? HN_FORBIDDEN_NS : k == 2 ? convert : 0;
    for (int reader = v + 1; reader < MAKERS; ++reader) {
      if (below(&random, 4) == 0) continue;
      hn_pbqp_edge *read = &p->edges[p->pbqp.edge_count++];
      *read = (hn_pbqp_edge){.from = MAKERS + v, .to = reader};
      for (int k = 0; k < 3; ++k)
        for (int j = 0; j < 2; ++j) read->cost[k * M + j] = (k + 1) >> j & 1 ? 0 : HN_FORBIDDEN_NS;
    }
  }
}

static double best_of_all(const hn_pbqp *pbqp) {
  int assignment[MOST] = {0};
  double best = HUGE_VAL;
  for (;;) {
    best = fmin(best, hn_pbqp_total(pbqp, assignment));
    int n = 0;
    while (n < pbqp->node_count && ++assignment[n] == pbqp->alternatives[n]) assignment[n++] = 0;
    if (n == pbqp->node_count) return best;
  }
}

static void test_followers(void **state) {
  (void)state;
  int proved_count = 0, best_count = 0;
  enum { RUNS = 200 };
  for (int run = 0; run < RUNS; ++run) {
    problem p;
    hn_arena arena;
    make(&p, (uint64_t)run);
    hn_arena_init(&arena, hn_allocator_default());
    int assignment[MOST], start[MOST] = {0}; /* all in the first state */
    bool proved;
    assert_int_equal(hn_pbqp_solve(&p.pbqp, start, 1, &arena, assignment, &proved), HONE_OK);
    const double got = hn_pbqp_total(&p.pbqp, assignment), want = best_of_all(&p.pbqp);
    assert_true(got < HN_FORBIDDEN_NS && got <= hn_pbqp_total(&p.pbqp, start) + 1e-9);
    if (proved && got > want + 1e-6) fail_msg("run %d: %g proved, but %g is possible", run, got, want);
    proved_count += proved;
    best_count += got <= want + 1e-6;
    hn_arena_deinit(&arena);
  }
  print_message("followers: %d of %d proved, %d best\n", proved_count, RUNS, best_count);
  assert_true(best_count > RUNS * 9 / 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_two_readers), cmocka_unit_test(test_three_storages),
                                     cmocka_unit_test(test_followers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
