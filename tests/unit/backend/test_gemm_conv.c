/* SPDX-License-Identifier: Apache-2.0 */
/* test_gemm_conv.c - what a plan's file may say wrongly: every accepted query with one extent, rank, dtype or format of
 * one port changed must be declined, unless the operator's own infer finds the change consistent. */
#include "tactic_case.h"
#include "base/context.h"
#include "device/device.h"
#include "support/tactic_rows.h"

enum { MAX_TACTICS = 1024 };

extern const hone_backend hn_backend_cpu;

static const case_row rows[] = {
#include "cases_gemm_conv.inc"
#include "cases_qconv.inc"
};

static const char *declines(const hone_query *query) {
  hone_needs needs;
  return hn_tactic_plan(query, NULL, &needs);
}

typedef struct attempt {
  const tactic_case *c;
  const hone_tactic *tactic;
  hone_fact in[CASE_PORTS], out[CASE_PORTS];
  hone_query query;
  int changes;
} attempt;

/* What the graph knows of a port: not the narrow type that a storage holds it in. */
static hone_dtype graph_dtype(const hone_fact *changed, const hone_fact *given) {
  const bool is_held = changed->type.dtype == HONE_BF16 || changed->type.dtype == HONE_F16;
  return is_held ? given->type.dtype : changed->type.dtype;
}

/* The outputs that infer gives for these inputs are those of the query. */
static bool is_consistent(const attempt *a) {
  hone_fact in[CASE_PORTS], out[CASE_PORTS] = {0};
  hn_diag_entry entries[4];
  hone_diagnostics diag;
  hn_arena arena;
  hone_dims dims;
  hn_diag_init(&diag, entries, 4);
  hn_arena_init(&arena, hn_allocator_default());
  hn_dims_init(&dims, &arena);
  memcpy(in, a->in, sizeof in);
  for (int i = 0; i < a->c->in_count; ++i) in[i].type.dtype = graph_dtype(&a->in[i], &a->c->in[i]);
  hone_infer infer = {.op = a->c->op,
                      .attrs = &a->c->attrs,
                      .in_count = a->c->in_count,
                      .out_count = a->c->out_count,
                      .in = in,
                      .out = out,
                      .dims = &dims,
                      .diagnostics = &diag,
                      .arena = &arena};
  bool same = hn_ports_bind(&diag, a->c->op, infer.in_count, in, infer.out_count, out) == HONE_OK &&
              a->c->op->infer(&infer) == HONE_OK;
  for (int i = 0; same && i < a->c->out_count; ++i)
    same = hn_shape_equal(&out[i].type.shape, &a->out[i].type.shape) &&
           out[i].type.dtype == graph_dtype(&a->out[i], &a->c->out[i]);
  hn_arena_deinit(&arena);
  return same;
}

static void expect_declined(attempt *a, const char *what, const char *port, int index) {
  ++a->changes;
  const char *reason = declines(&a->query);
  if (!reason && !is_consistent(a))
    fail_msg("%s accepts %s [%s] %s with another %s of %s %d", a->tactic->name, a->c->row->op, a->c->row->attrs,
             a->c->row->inputs, what, port, index);
}

/* A row that serves several pairs of storages takes their formats, too. */
static bool names_format(const hone_tactic *tactic, const char *port, hone_format format) {
  for (int pair = 0; pair < HONE_MAX_STORAGE_PAIRS; ++pair)
    if ((strcmp(port, "input") == 0 ? tactic->storages[pair].in : tactic->storages[pair].out) == format) return true;
  return false;
}

static void change_type(attempt *a, hone_type *type, const char *port, int index) {
  const hone_type before = *type;
  if (before.kind == HONE_ABSENT) return;
  for (int d = 0; d < before.shape.rank; ++d) {
    const int64_t others[] = {before.shape.dim[d] + 1, before.shape.dim[d] - 1, 0, (int64_t)1 << 40, INT64_MAX, -1};
    for (size_t i = 0; i < HN_COUNT(others); ++i) {
      type->shape.dim[d] = others[i];
      if (others[i] == before.shape.dim[d]) continue;
      expect_declined(a, "extent", port, index);
    }
    *type = before;
  }
  type->shape.rank = before.shape.rank + 1;
  type->shape.dim[before.shape.rank] = 2;
  expect_declined(a, "rank", port, index);
  *type = before;
  type->shape.rank = before.shape.rank - 1;
  expect_declined(a, "rank", port, index);
  *type = before;
  type->dtype = HONE_F64;
  expect_declined(a, "dtype", port, index);
  *type = before;
  for (int format = HONE_PLAIN; format <= HONE_NCHW8C; ++format) {
    type->format = (hone_format)format;
    if (format != HONE_PLAIN && names_format(a->tactic, port, type->format)) continue;
    if (hn_reads_as(&before, type->format) || declines(&a->query)) continue; /* the same bytes may be taken */
    fail_msg("%s accepts format %d of %s %d", a->tactic->name, format, port, index);
  }
  *type = before;
}

static int change_everything(const tactic_case *c, const hone_tactic *tactic, const hone_facts *facts) {
  attempt a = {.c = c, .tactic = tactic};
  memcpy(a.in, c->in, sizeof a.in);
  memcpy(a.out, c->out, sizeof a.out);
  hn_query_apply_storages(c->op, &tactic->storages[0], a.in, c->in_count, a.out, c->out_count);
  a.query = (hone_query){.tactic = tactic,
                         .op = c->op,
                         .attrs = &c->attrs,
                         .in_count = c->in_count,
                         .out_count = c->out_count,
                         .in = a.in,
                         .out = a.out,
                         .facts = facts};
  for (int i = 0; i < c->in_count; ++i)
    if (c->in[i].constant) a.query.constant_mask |= 1u << i;
  if (declines(&a.query)) return 0;
  for (int i = 0; i < c->in_count; ++i) change_type(&a, &a.in[i].type, "input", i);
  for (int i = 0; i < c->out_count; ++i) change_type(&a, &a.out[i].type, "output", i);
  a.query.in_count = 1;
  assert_non_null(declines(&a.query));
  return a.changes;
}

static void test_changes_are_declined(void **state) {
  (void)state;
  const hone_facts facts = {.isa = UINT32_MAX, .threads = 1, .host_memory = true};
  const char *given = getenv("HONE_TEST_SEED");
  const uint64_t seed = given ? strtoull(given, NULL, 10) : 1; /* HONE_TEST_SEED=N tries others */
  const hone_tactic *tactics[MAX_TACTICS];
  const int row_count = tactic_rows(&hn_backend_cpu, tactics, MAX_TACTICS);
  int changes = 0;
  assert_true(row_count <= MAX_TACTICS);
  printf("HONE_TEST_SEED=%llu\n", (unsigned long long)seed);
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    if (strstr(rows[i].attrs, "beta=0")) continue; /* its addend is never read */
    tactic_case c;
    case_draw(&c, &rows[i], seed + i * 7919);
    for (int t = 0; t < row_count; ++t)
      if (hn_tactic_covers(tactics[t], c.op)) changes += change_everything(&c, tactics[t], &facts);
    case_drop(&c);
  }
  printf("%d changes\n", changes);
  assert_true(changes > 1000);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_changes_are_declined)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
