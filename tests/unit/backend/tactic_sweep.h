/* SPDX-License-Identifier: Apache-2.0 */
/* tactic_sweep.h - every tactic of the CPU backend on every case that it accepts, in every format and variant, with one
 * thread and with two, in place too where it says so: the result is the op's own eval's within the tactic's bound, the
 * same bits at any thread count, and nothing outside the buffers is touched.
 *
 * Each case is run with several random shapes: a program that includes this says how many (from SWEEP_FIRST,
 * SWEEP_LEAST, up to SWEEP_MOST), how long it goes on beyond the least (SWEEP_SECONDS), and whether it runs one variant
 * of a case or all (SWEEP_ONE_VARIANT), and in how many rounds more a tactic may find the case that it must accept
 * (SWEEP_MORE_ROUNDS; 0: it need not); SWEEP_CASES: a file of cases instead of all; SWEEP_L2_BYTES: another second
 * cache. A case's numbers depend on its row, the seed and the round alone. A failure names both; to repeat it:
 * HONE_TEST_SEED=N (another seed than 1), HONE_TEST_ROUND=N (this round only), HONE_TEST_OP=NAME (the cases of one op
 * only). */
#ifndef TEST_TACTIC_SWEEP_H
#define TEST_TACTIC_SWEEP_H

#include "guarded.h"
#include "tactic_case.h"
#include "base/clock.h"
#include "base/hash.h"
#include "device/device.h"
#include "support/share.h"
#include "tensor/storage.h"

extern const hone_backend hn_backend_cpu;

enum { MAX_TACTICS = 1024, MAX_VARIANTS = 16, DEVICES = 2 };

static const case_row rows[] = {
#ifdef SWEEP_CASES
#include SWEEP_CASES
#else
#include "cases_f64.inc"
#include "cases_gemm_conv.inc"
#include "cases_move.inc"
#include "cases_nn.inc"
#include "cases_qbytes.inc"
#include "cases_qconv.inc"
#include "cases_scalar.inc"
#endif
};

/* ---- one run ---- */

typedef struct run {
  const tactic_case *c;
  const hone_tensor *want;
  const hone_tactic *tactic;
  hone_query query;
  hone_fact in[CASE_PORTS], out[CASE_PORTS];
  hone_params params;
  char what[600];
} run;

typedef struct buffers {
  guarded in[CASE_PORTS], out[CASE_PORTS], packed, scratch;
} buffers;

static hone_device *devices[DEVICES]; /* of one and of two threads */

/* The inputs as the storages of a run have them: one run at a time. */
static struct {
  void *data;
  size_t room;
} input_kept[CASE_PORTS];

static void store_inputs(const run *r) {
  for (int i = 0; i < r->c->in_count; ++i) {
    if (r->in[i].type.kind == HONE_ABSENT) continue;
    hone_tensor to = {.type = r->in[i].type, .bytes = hn_bytes(&r->in[i].type)};
    if (to.bytes + 1 > input_kept[i].room) {
      free(input_kept[i].data);
      input_kept[i].room = to.bytes + 1;
      input_kept[i].data = malloc(input_kept[i].room);
      assert_non_null(input_kept[i].data);
    }
    to.data = input_kept[i].data;
    assert_true(hn_layout_convert(&r->c->in_data[i], &to));
  }
}

static void drop_inputs(void) {
  for (int i = 0; i < CASE_PORTS; ++i) free(input_kept[i].data);
}

static void fill_inputs(const run *r, buffers *b) {
  for (int i = 0; i < r->c->in_count; ++i) {
    if (r->in[i].type.kind == HONE_ABSENT) continue;
    b->in[i] = guarded_new(hn_bytes(&r->in[i].type));
    memcpy(b->in[i].data, input_kept[i].data, b->in[i].bytes);
  }
}

static void pack(const run *r, buffers *b) {
  hone_needs needs;
  if (hn_tactic_plan(&r->query, NULL, &needs) || !needs.packed) return;
  b->packed = guarded_new(needs.packed);
  if (r->tactic->pack(&r->query, b->packed.data) != HONE_OK) fail_msg("%s: pack fails", r->what);
}

/* What is known to a tactic for data-dependent shapes before its launch. */
static void hide_types(hone_fact *to, const hone_fact *from, int count) {
  for (int i = 0; i < count; ++i) {
    to[i] = (hone_fact){.type = from[i].type, .constant = from[i].constant};
    to[i].type.shape.rank = -1;
  }
}

static bool is_data_dependent(const hone_tactic *tactic) { return tactic->flags & HONE_TACTIC_DATA_DEPENDENT; }

/* Those for data-dependent shapes have scratch for the reference, others what they ask for. */
static size_t scratch_bytes(const run *r, const hone_query *query) {
  const tactic_case *c = r->c;
  hone_needs needs;
  if (is_data_dependent(r->tactic))
    return c->op->eval_scratch ? c->op->eval_scratch(&c->attrs, r->in, c->in_count, r->out, c->out_count) : 0;
  return hn_tactic_plan(query, NULL, &needs) ? 0 : needs.scratch;
}

/* Runs with one thread once, with two twice: a state serves many runs. in_place: the input whose memory the output
 * takes, or -1: then once. */
static void launch(const run *r, buffers *b, hone_device *device, int in_place) {
  hn_diag_entry entries[4];
  hone_diagnostics diag;
  hn_diag_init(&diag, entries, 4);
  hone_tensor in[CASE_PORTS] = {0}, out[CASE_PORTS] = {0};
  fill_inputs(r, b);
  pack(r, b);
  hone_query query = r->query;
  query.facts = &device->facts;
  b->scratch = guarded_new(scratch_bytes(r, &query));
  hone_fact facts[CASE_PORTS], hidden[CASE_PORTS]; /* at run time packed constants are gone */
  memcpy(facts, r->in, sizeof facts);
  if (is_data_dependent(r->tactic)) {
    hide_types(facts, r->in, query.in_count);
    hide_types(hidden, r->out, query.out_count);
    query.out = hidden;
  }
  for (int i = 0; i < query.in_count; ++i) {
    in[i] = (hone_tensor){.type = r->in[i].type, .data = b->in[i].data, .bytes = b->in[i].bytes};
    if (!(r->tactic->pack_mask & query.constant_mask & (1u << i))) continue;
    facts[i].constant = NULL;
    in[i].data = NULL;
  }
  query.in = facts;
  for (int i = 0; i < query.out_count; ++i) {
    const size_t bytes = hn_bytes(&r->out[i].type);
    if (in_place >= 0 && i == 0)
      out[i] = (hone_tensor){.type = r->out[i].type, .data = b->in[in_place].data, .bytes = bytes};
    else {
      b->out[i] = guarded_new(bytes);
      out[i] = (hone_tensor){.type = r->out[i].type, .data = b->out[i].data, .bytes = bytes};
    }
  }
  hn_prepared prepared;
  hone_stream *stream;
  if (hn_prepare(device, &query, &prepared, &diag) != HONE_OK)
    fail_msg("%s: prepare: %s", r->what, diag.count ? diag.entries[0].text : "");
  assert_int_equal(hn_stream_open(device, 0, &stream, &diag), HONE_OK);
  const hone_launch l = {.in_count = query.in_count,
                         .out_count = query.out_count,
                         .in = in,
                         .out = out,
                         .packed = b->packed.data,
                         .scratch = b->scratch.data,
                         .diagnostics = &diag};
  for (int again = 0; again < (in_place >= 0 || device == devices[0] ? 1 : 2); ++again)
    if (r->tactic->launch(prepared.state, stream, &l) != HONE_OK)
      fail_msg("%s: launch: %s", r->what, diag.count ? diag.entries[0].text : "");
  hn_stream_close(device, stream);
  hn_unprepare(&prepared);
}

static void drop(buffers *b) {
  for (int i = 0; i < CASE_PORTS; ++i) {
    guarded_free(&b->in[i]);
    guarded_free(&b->out[i]);
  }
  guarded_free(&b->packed);
  guarded_free(&b->scratch);
}

/* Padded channels of a blocked tensor must be zeros. */
static void check_tail(const run *r, const hone_type *type, const char *data) {
  hone_type plain = *type;
  plain.format = HONE_PLAIN;
  guarded there = guarded_new(hn_bytes(&plain)), back = guarded_new(hn_bytes(type));
  hone_tensor stored = {.type = *type, .data = (void *)(uintptr_t)data, .bytes = hn_bytes(type)};
  hone_tensor as_plain = {.type = plain, .data = there.data, .bytes = there.bytes};
  hone_tensor again = {.type = *type, .data = back.data, .bytes = back.bytes};
  assert_true(hn_layout_convert(&stored, &as_plain) && hn_layout_convert(&as_plain, &again));
  if (memcmp(stored.data, again.data, stored.bytes) != 0) fail_msg("%s: padded channels are not zero", r->what);
  guarded_free(&there);
  guarded_free(&back);
}

/* The type that rounds most of those that hold what is f32 in the case. */
static hone_dtype narrowest(const run *r) {
  hone_dtype narrow = HONE_NONE;
  for (int i = 0; i < r->c->in_count; ++i)
    if (r->in[i].type.dtype != r->c->in[i].type.dtype) narrow = hn_storage_coarser(narrow, r->in[i].type.dtype);
  return narrow;
}

/* The case's input as it is where it is held in a narrower type. */
static hone_tensor rounded_input(tactic_case *c, int i, hone_dtype narrow) {
  hone_tensor rounded = c->in_data[i], held = rounded;
  held.type.dtype = narrow;
  held.bytes = hn_bytes(&held.type);
  held.data = hn_arena_alloc(&c->arena, held.bytes + 1, 64);
  rounded.data = hn_arena_alloc(&c->arena, rounded.bytes + 1, 64);
  assert_true(hn_layout_convert(&c->in_data[i], &held) && hn_layout_convert(&held, &rounded));
  return rounded;
}

/* What the outputs should be. What is held in a narrower type is rounded before a tactic sees it: its result is that of
 * the rounded inputs. */
static const hone_tensor *wanted(tactic_case *c, const hone_fact *in, hone_dtype narrow) {
  hn_diag_entry entries[4];
  hone_diagnostics diag;
  hn_diag_init(&diag, entries, 4);
  if (narrow == HONE_NONE) {
    if (!c->is_evaluated) evaluate(c, c->in_data, c->want, &diag);
    c->is_evaluated = true;
    return c->want;
  }
  uint32_t mask = 0;
  for (int i = 0; i < c->in_count; ++i)
    if (in[i].type.dtype != c->in[i].type.dtype) mask |= 1u << i;
  for (int i = 0; i < c->held_count; ++i)
    if (c->held[i].dtype == narrow && c->held[i].mask == mask) return c->held[i].want;
  hone_tensor rounded[CASE_PORTS], *known = HN_NEW(&c->arena, hone_tensor, CASE_PORTS);
  for (int i = 0; i < c->in_count; ++i)
    rounded[i] = mask & 1u << i ? rounded_input(c, i, in[i].type.dtype) : c->in_data[i];
  for (int i = 0; i < c->out_count; ++i) {
    known[i] = c->want[i];
    known[i].data = hn_arena_alloc(&c->arena, c->want[i].bytes + 1, 64);
    memset(known[i].data, 0, c->want[i].bytes);
  }
  evaluate(c, rounded, known, &diag);
  if (c->held_count < CASE_HELD) c->held[c->held_count++] = (case_held){narrow, mask, known};
  return known;
}

/* One rounding of the result, where the arithmetic is in f32; a tactic that multiplies in a narrower type has its own
 * bound. */
static double bound_of_run(const run *r, hone_dtype out) {
  const hone_dtype narrow = narrowest(r);
  const double bound = hn_tactic_bound(r->tactic, out, narrow);
  if (narrow == HONE_NONE || r->tactic->compute != HONE_NONE || bound <= 0) return bound;
  return narrow == HONE_BF16 ? 4e-3 : 6e-4; /* 2^-8 and 2^-11, and what is f32's */
}

/* Beyond f16's largest number a result held in it is infinite: that is its right rounding. */
static void overflow_as_held(const run *r, int i, const hone_tensor *want, float *to) {
  hone_tensor rounded = {.type = want->type, .data = to, .bytes = want->bytes};
  hone_tensor held = {.type = r->out[i].type};
  held.type.format = HONE_PLAIN;
  held.bytes = hn_bytes(&held.type);
  guarded room = guarded_new(held.bytes);
  held.data = room.data;
  assert_true(hn_layout_convert(want, &held) && hn_layout_convert(&held, &rounded));
  const float *exact = want->data;
  for (int64_t k = 0, count = (int64_t)(want->bytes / sizeof *to); k < count; ++k)
    if (!isinf(to[k])) to[k] = exact[k];
  guarded_free(&room);
}

static void check_output(const run *r, int i, const char *data) {
  const hone_type *type = &r->out[i].type;
  hone_type plain = *type;
  plain.format = HONE_PLAIN;
  if (type->format != HONE_PLAIN) check_tail(r, type, data);
  guarded there = guarded_new(hn_bytes(&plain));
  hone_tensor stored = {.type = *type, .data = (void *)(uintptr_t)data, .bytes = hn_bytes(type)};
  hone_tensor got = {.type = plain, .data = there.data, .bytes = there.bytes};
  assert_true(hn_layout_convert(&stored, &got));
  hone_tensor as_held = r->want[i];
  const hone_tensor *want = &as_held;
  guarded overflown = {0};
  if (type->dtype == HONE_F16 && as_held.type.dtype == HONE_F32) {
    overflown = guarded_new(as_held.bytes);
    overflow_as_held(r, i, &r->want[i], (float *)(void *)overflown.data);
    as_held.data = overflown.data;
  }
  const hn_error error = hn_compare(&got, want, 0, 0, 0, -1);
  const double bound = bound_of_run(r, type->dtype);
  const bool right = hn_dtype_is_float(type->dtype) ? error.rel_l2 <= bound : error.mismatches == 0;
  if (!right)
    fail_msg("%s: output %d: error %g, allowed %g, %lld of %lld differ, worst at %lld: %.9g, not %.9g", r->what, i,
             error.rel_l2, bound, (long long)error.mismatches, (long long)error.compared, (long long)error.worst,
             error.worst >= 0 ? hn_real(&got, error.worst) : 0.0, error.worst >= 0 ? hn_real(want, error.worst) : 0.0);
  guarded_free(&overflown);
  guarded_free(&there);
}

static void check_guards(const run *r, const buffers *b, int in_place) {
  for (int i = 0; i < CASE_PORTS; ++i) {
    if (b->out[i].pages && !guarded_is_whole(&b->out[i])) fail_msg("%s: wrote beside output %d", r->what, i);
    if (b->in[i].pages && !guarded_is_whole(&b->in[i])) fail_msg("%s: wrote beside input %d", r->what, i);
  }
  if (!guarded_is_whole(&b->scratch)) fail_msg("%s: wrote beside its scratch", r->what);
  for (int i = 0; i < r->c->in_count; ++i) {
    if (i == in_place || r->in[i].type.kind == HONE_ABSENT) continue;
    if (memcmp(input_kept[i].data, b->in[i].data, b->in[i].bytes) != 0) fail_msg("%s: wrote into input %d", r->what, i);
  }
}

static void run_everywhere(const run *r) {
  buffers one = {0}, two = {0};
  launch(r, &one, devices[0], -1);
  launch(r, &two, devices[1], -1);
  check_guards(r, &one, -1);
  check_guards(r, &two, -1);
  for (int i = 0; i < r->c->out_count; ++i) {
    check_output(r, i, one.out[i].data);
    if (memcmp(one.out[i].data, two.out[i].data, one.out[i].bytes) != 0)
      fail_msg("%s: output %d depends on the number of threads", r->what, i);
  }
  drop(&two);
  for (int i = 0; (r->tactic->flags & HONE_TACTIC_IN_PLACE) && i < r->c->in_count; ++i) {
    const hone_type *in = &r->in[i].type, *out = &r->out[0].type;
    if (in->kind == HONE_ABSENT || in->dtype != out->dtype || hn_bytes(in) != hn_bytes(out)) continue;
    if (r->tactic->pack_mask & r->query.constant_mask & (1u << i)) continue;
    launch(r, &two, devices[1], i);
    check_guards(r, &two, i);
    if (memcmp(one.out[0].data, two.in[i].data, one.out[0].bytes) != 0)
      fail_msg("%s: in the memory of input %d it gives other bits", r->what, i);
    drop(&two);
  }
  drop(&one);
}

/* Later rounds, slow builds and rows that imitate another machine run one variant of a case, drawn with it. */
static bool one_variant(const hone_tactic *tactic) {
  return SWEEP_ONE_VARIANT || TEST_SHARE > 1 || case_imitates(tactic);
}

/* How many variants ran; 0: rejected. */
static int try_format(tactic_case *c, const hone_tactic *tactic, int pair, const char **reason) {
  run r = {.c = c, .tactic = tactic};
  hone_params variants[MAX_VARIANTS] = {{0}};
  memcpy(r.in, c->in, sizeof r.in);
  memcpy(r.out, c->out, sizeof r.out);
  hn_query_apply_storages(c->op, &tactic->storages[pair], r.in, c->in_count, r.out, c->out_count);
  uint32_t constants = 0;
  for (int i = 0; i < c->in_count; ++i)
    if (c->in[i].constant) constants |= 1u << i;
  r.query = (hone_query){.tactic = tactic,
                         .op = c->op,
                         .attrs = &c->attrs,
                         .in_count = c->in_count,
                         .out_count = c->out_count,
                         .in = r.in,
                         .out = r.out,
                         .constant_mask = constants,
                         .facts = &devices[0]->facts};
  hone_query asked = r.query;
  hone_fact hidden[2][CASE_PORTS];
  if (is_data_dependent(tactic)) {
    hide_types(hidden[0], r.in, c->in_count);
    hide_types(hidden[1], r.out, c->out_count);
    asked.in = hidden[0];
    asked.out = hidden[1];
  }
  hone_needs needs;
  *reason = hn_tactic_plan(&asked, NULL, &needs);
  if (*reason) return 0;
  r.want = wanted(c, r.in, narrowest(&r));
  store_inputs(&r);
  const int count = tactic->variants ? tactic->variants(&r.query, variants, MAX_VARIANTS) : 1;
  for (int v = 0; v < count; ++v) {
    if (count > 1 && one_variant(tactic) && v != (int)(c->random.state % (uint64_t)count)) continue;
    hn_text text;
    hn_text_init(&text, hn_allocator_default());
    for (int i = 0; i < c->in_count; ++i) {
      hn_text_add(&text, " ");
      hn_text_type(&text, &r.in[i].type, NULL);
    }
    r.params = variants[v];
    r.query.params = &r.params;
    snprintf(r.what, sizeof r.what, "%s: %s variant %d, %s [%s]%s", c->where, tactic->name, v, c->row->op,
             c->row->attrs, hn_text_string(&text));
    hn_text_deinit(&text);
    run_everywhere(&r);
  }
  return count;
}

static bool is_last_pair(const hone_tactic *tactic, int pair) {
  return pair > 0 && tactic->storages[pair].in == HONE_PLAIN && tactic->storages[pair].out == HONE_PLAIN;
}

static bool runs_here(const hone_tactic *tactic) { return (tactic->isa & devices[0]->facts.isa) == tactic->isa; }

/* What the environment asks for. */
typedef struct sweep {
  uint64_t seed;
  int first, least, most;
  const char *only;
} sweep;

static sweep sweep_read(void) {
  const char *seed = getenv("HONE_TEST_SEED"), *round = getenv("HONE_TEST_ROUND");
  sweep s = {.seed = 1, .first = SWEEP_FIRST, .least = SWEEP_LEAST, .most = SWEEP_MOST, .only = getenv("HONE_TEST_OP")};
  if (seed) s.seed = strtoull(seed, NULL, 10);
  if (round) {
    s.first = atoi(round);
    s.least = s.most = s.first + 1;
  }
  printf("HONE_TEST_SEED=%llu\n", (unsigned long long)s.seed);
  return s;
}

static uint64_t case_seed(const sweep *s, const case_row *row, int round) {
  const uint64_t name = hn_hash_join(hn_hash_text(row->op), hn_hash_text(row->attrs));
  return hn_hash_join(hn_hash_join(name, hn_hash_text(row->inputs)), s->seed * 1000003 + (uint64_t)round);
}

static bool is_asked(const sweep *s, const char *op) { return !s->only || strcmp(s->only, op) == 0; }

/* Variants run of a tactic in a format pair, and why the last query was declined. */
static int accepted[MAX_TACTICS][HONE_MAX_STORAGE_PAIRS];
static const char *reasons[MAX_TACTICS];

/* Of what is slow to run only some of the cases that are left are run; its first ones all are. */
enum { ENOUGH_CASES = TEST_SHARE > 5 ? 1 : TEST_SHARE > 1 ? 2 : 3 };
static int one_in(const hone_tactic *tactic) {
  const bool slow = case_imitates(tactic) || is_data_dependent(tactic); /* the last evaluate as the reference does */
  return TEST_SHARE * (slow ? 3 : 1);
}

static bool is_first_of_op(const case_row *row) {
  const case_row *first = rows;
  while (strcmp(first->op, row->op) != 0) ++first;
  return first == row;
}

static bool is_left_out(tactic_case *c, const hone_tactic *tactic, int have) {
  const uint64_t share = (uint64_t)one_in(tactic);
  if (share == 1 || have < ENOUGH_CASES || (is_data_dependent(tactic) && is_first_of_op(c->row))) return false;
  return hn_random_u64(&c->random) % share != 0;
}

/* silent: only tactics and format pairs that accepted nothing yet. */
static void sweep_case(const sweep *s, const case_row *row, int round, bool silent) {
  tactic_case c;
  case_draw(&c, row, case_seed(s, row, round));
  snprintf(c.where, sizeof c.where, "HONE_TEST_SEED=%llu HONE_TEST_ROUND=%d HONE_TEST_OP=%s",
           (unsigned long long)s->seed, round, row->op);
  for (int t = 0; devices[0]->tactics[t]; ++t) {
    const hone_tactic *tactic = devices[0]->tactics[t];
    assert_true(t < MAX_TACTICS);
    if (!hn_tactic_covers(tactic, c.op) || !runs_here(tactic)) continue;
    for (int pair = 0; pair < HONE_MAX_STORAGE_PAIRS && !is_last_pair(tactic, pair); ++pair) {
      const char *reason = NULL;
      if (silent ? accepted[t][pair] > 0 : is_left_out(&c, tactic, accepted[t][pair])) continue;
      accepted[t][pair] += try_format(&c, tactic, pair, &reason);
      if (reason) reasons[t] = reason;
    }
  }
  case_drop(&c);
}

/* Whether a tactic for the operator has accepted nothing as one of its format pairs. */
static bool has_silent(const char *op) {
  for (int t = 0; devices[0]->tactics[t]; ++t) {
    const hone_tactic *tactic = devices[0]->tactics[t];
    if (strcmp(tactic->op, op) != 0 || is_data_dependent(tactic) || !runs_here(tactic)) continue;
    for (int pair = 0; pair < HONE_MAX_STORAGE_PAIRS && !is_last_pair(tactic, pair); ++pair)
      if (!accepted[t][pair]) return true;
  }
  return false;
}

/* One round alone may draw shapes that a tactic does not take: more are drawn for it alone. */
static void sweep_silent(const sweep *s, int round) {
  for (int more = 0; more < SWEEP_MORE_ROUNDS; ++more, ++round)
    for (size_t i = 0; i < HN_COUNT(rows); ++i)
      if (is_asked(s, rows[i].op) && has_silent(rows[i].op)) sweep_case(s, &rows[i], round, true);
}

/* A tactic whose every query was declined is one that nothing here has looked at. */
static int count_silent(const sweep *s, int *runs) {
  int silent = 0;
  for (int t = 0; devices[0]->tactics[t]; ++t) {
    const hone_tactic *tactic = devices[0]->tactics[t];
    if (!is_asked(s, tactic->op) || (is_data_dependent(tactic) && strcmp(tactic->op, "*") != 0))
      continue; /* test_data_dependent.c */
    for (int pair = 0; runs_here(tactic) && pair < HONE_MAX_STORAGE_PAIRS && !is_last_pair(tactic, pair); ++pair) {
      *runs += accepted[t][pair];
      if (accepted[t][pair]) continue;
      ++silent;
      printf("%s accepts no case as %s -> %s (%s)\n", tactic->name, hone_format_name(tactic->storages[pair].in),
             hone_format_name(tactic->storages[pair].out), reasons[t] ? reasons[t] : "never asked");
    }
  }
  return silent;
}

/* A program of later rounds runs every second case. */
enum { EVERY = SWEEP_FIRST > 0 ? 2 : 1 };

static void test_every_tactic(void **state) {
  (void)state;
  const sweep s = sweep_read();
  const int64_t end_ns = hn_clock_ns() + (int64_t)SWEEP_SECONDS * 1000000000;
  int round = s.first, runs = 0;
  const bool asserts_all = SWEEP_MORE_ROUNDS > 0 && !getenv("HONE_TEST_ROUND");
  for (; round < s.most && (round < s.least || hn_clock_ns() < end_ns); ++round)
    for (size_t i = (size_t)round % EVERY; i < HN_COUNT(rows); i += EVERY)
      if (is_asked(&s, rows[i].op)) sweep_case(&s, &rows[i], round, false);
  if (asserts_all) sweep_silent(&s, round);
  const int silent = count_silent(&s, &runs);
  printf("%d runs in %d rounds over %d cases\n", runs, round - s.first, (int)HN_COUNT(rows));
  if (asserts_all) assert_int_equal(silent, 0);
}

#include "changed_queries.inc.h"

/* Names are keys of engines and caches: unique, and those of the CPU's own. */
static void test_names(void **state) {
  (void)state;
  const hone_tactic *const *tactics = devices[0]->tactics;
  for (int i = 0; tactics[i]; ++i) {
    assert_int_equal(tactics[i]->struct_size, sizeof(hone_tactic));
    assert_int_equal(strncmp(tactics[i]->name, "cpu.", 4), 0);
    assert_true(tactics[i]->flags & HONE_TACTIC_REPEATABLE);
    for (int j = 0; j < i; ++j) assert_string_not_equal(tactics[i]->name, tactics[j]->name);
  }
}

static int sweep_main(void) {
  hone_context *context;
  if (hone_context_create(NULL, &context) != HONE_OK) return 1;
  for (int i = 0; i < DEVICES; ++i) {
    const hone_device_options options = {.struct_size = sizeof options, .threads = i + 1};
    if (hn_device_open(context, &hn_backend_cpu, 0, &options, &devices[i]) != HONE_OK) return 1;
#ifdef SWEEP_L2_BYTES
    devices[i]->facts.l2_bytes = SWEEP_L2_BYTES;
#endif
  }
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_names), cmocka_unit_test(test_every_tactic),
                                     cmocka_unit_test(test_changed_queries)};
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  drop_inputs();
  for (int i = 0; i < DEVICES; ++i) hn_device_release(devices[i]);
  hone_context_destroy(context);
  return failed;
}

#endif
