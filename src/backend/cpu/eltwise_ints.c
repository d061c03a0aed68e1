/* SPDX-License-Identifier: Apache-2.0 */
/* eltwise_ints.c - elementwise ops on integers and bools: widened to 64 bits, computed a block at a time, cut on the
 * way out, as the reference does. Common steps are loops over the block; the others go through the expression's own
 * code. */
#include "backend/cpu/copy.h"
#include "tensor/element.h"
#include "tensor/expr.h"
#include <string.h>

enum { BLOCK = 256, MOST_STEPS = 12 };
static const double ns_per_step = 0.5; /* of an element */

typedef struct state {
  hn_expr expr;
  bool is_wide_unsigned;
  int rank;
  int64_t dim[HONE_MAX_RANK], stride[MOST_STEPS][HONE_MAX_RANK]; /* strides of INPUT steps */
  hone_dtype from[MOST_STEPS], to;
  int64_t elements, grain;
} state;

static bool is_integer(hone_dtype dtype) {
  return (hn_dtype_is_int(dtype) || dtype == HONE_BOOL) && hn_cpu_element_bytes(dtype) > 0;
}

static bool spreads(const hone_shape *from, const hone_shape *to) {
  for (int i = 1; i <= from->rank; ++i)
    if (i > to->rank || (from->dim[from->rank - i] != 1 && from->dim[from->rank - i] != to->dim[to->rank - i]))
      return false;
  return true;
}

static bool joins(const state *s, int axis) {
  for (int i = 0; i < s->expr.count; ++i)
    if (s->expr.steps[i].op == HN_EXPR_INPUT && s->stride[i][axis] != s->stride[i][axis + 1] * s->dim[axis + 1])
      return false;
  return true;
}

/* Neighbouring axes that every input walks as one become one. */
static void join_axes(state *s) {
  for (int axis = s->rank - 2; axis >= 0; --axis) {
    if (!joins(s, axis)) continue;
    s->dim[axis] *= s->dim[axis + 1];
    for (int i = 0; i < MOST_STEPS; ++i) s->stride[i][axis] = s->stride[i][axis + 1];
    for (int later = axis + 1; later + 1 < s->rank; ++later) {
      s->dim[later] = s->dim[later + 1];
      for (int i = 0; i < MOST_STEPS; ++i) s->stride[i][later] = s->stride[i][later + 1];
    }
    --s->rank;
  }
}

static const char *plan(const hone_query *query, state *s) {
  const char *reason = hn_cpu_check(query, 1, HONE_MAX_PORTS, 1);
  if (reason) return reason;
  const hone_type *out = &query->out[0].type;
  if (!is_integer(out->dtype) || out->format != HONE_PLAIN) return "the output is not of plain integers";
  s->to = out->dtype;
  s->is_wide_unsigned = out->dtype == HONE_U64;
  for (int i = 0; i < query->in_count; ++i) {
    const hone_type *in = &query->in[i].type;
    if (in->kind == HONE_ABSENT) return "an optional input is absent";
    if (!is_integer(in->dtype) || in->format != HONE_PLAIN) return "an input is not of plain integers";
    s->is_wide_unsigned = s->is_wide_unsigned || in->dtype == HONE_U64;
  }
  if (hn_expr_of_op(NULL, query->op, query->attrs, query->in_count, &s->expr) != HONE_OK) return "it has no expression";
  if (s->expr.count > MOST_STEPS) return "its expression is too long";
  s->rank = out->shape.rank;
  memcpy(s->dim, out->shape.dim, sizeof s->dim);
  for (int i = 0; i < s->expr.count; ++i) {
    if (s->expr.steps[i].op != HN_EXPR_INPUT) continue;
    const hone_type *in = &query->in[s->expr.steps[i].a].type;
    if (!spreads(&in->shape, &out->shape)) return "an input does not spread over the output";
    hn_broadcast_strides(&in->shape, &out->shape, s->stride[i]);
    s->from[i] = in->dtype;
  }
  if (s->rank == 0) s->dim[s->rank++] = 1;
  join_axes(s);
  s->elements = hn_elems(&out->shape);
  s->grain = hn_cpu_grain(s->elements, (double)s->elements * (double)s->expr.count * ns_per_step);
  return NULL;
}

#define LOAD(code, type)                                                                                               \
  case code:                                                                                                           \
    for (int i = 0; i < count; ++i) to[i] = (int64_t)((const type *)from)[first + i * stride];                         \
    break;
static void load(hone_dtype dtype, const void *from, int64_t first, int64_t stride, int count, int64_t *to) {
  switch (dtype) {
    LOAD(HONE_I8, int8_t)
    LOAD(HONE_I16, int16_t)
    LOAD(HONE_U16, uint16_t)
    LOAD(HONE_I32, int32_t)
    LOAD(HONE_U32, uint32_t)
    LOAD(HONE_I64, int64_t)
    LOAD(HONE_U64, uint64_t)
  default:
    for (int i = 0; i < count; ++i) to[i] = ((const uint8_t *)from)[first + i * stride];
  }
}

#define STORE(code, type)                                                                                              \
  case code:                                                                                                           \
    for (int i = 0; i < count; ++i) ((type *)to)[first + i] = (type)(uint64_t)from[i];                                 \
    break;
static void store(hone_dtype dtype, const int64_t *from, int count, int64_t first, void *to) {
  switch (dtype) {
    STORE(HONE_I8, int8_t)
    STORE(HONE_U8, uint8_t)
    STORE(HONE_I16, int16_t)
    STORE(HONE_U16, uint16_t)
    STORE(HONE_I32, int32_t)
    STORE(HONE_U32, uint32_t)
    STORE(HONE_I64, int64_t)
    STORE(HONE_U64, uint64_t)
  default:
    for (int i = 0; i < count; ++i) ((uint8_t *)to)[first + i] = from[i] != 0;
  }
}

/* The rest, as many lanes at a time as the expression's own code takes. */
static void slow_step(const state *s, int number, int count, int64_t (*values)[BLOCK]) {
  const hn_expr_step *step = &s->expr.steps[number];
  hn_expr one = {.count = 4, .in_count = 3};
  for (int i = 0; i < 3; ++i) one.steps[i] = (hn_expr_step){.op = HN_EXPR_INPUT, .a = (uint8_t)i};
  one.steps[3] = *step;
  one.steps[3].a = 0, one.steps[3].b = 1, one.steps[3].c = 2;
  const int arity = hn_expr_row_of((hn_expr_op)step->op)->arity;
  const uint8_t operands[3] = {step->a, step->b, step->c};
  for (int first = 0; first < count; first += HN_EXPR_LANES) {
    int64_t lanes[4][HN_EXPR_LANES] = {{0}};
    const int n = count - first < HN_EXPR_LANES ? count - first : HN_EXPR_LANES;
    for (int i = 0; i < arity; ++i) memcpy(lanes[i], values[operands[i]] + first, (size_t)n * sizeof(int64_t));
    hn_expr_run_ints(&one, n, s->is_wide_unsigned, lanes);
    memcpy(values[number] + first, lanes[3], (size_t)n * sizeof(int64_t));
  }
}

#define EACH(result)                                                                                                   \
  for (int i = 0; i < count; ++i) out[i] = (result);                                                                   \
  return
static void run_step(const state *s, int number, int count, int64_t (*values)[BLOCK]) {
  const hn_expr_step *step = &s->expr.steps[number];
  const int64_t *a = values[step->a], *b = values[step->b], *c = values[step->c];
  int64_t *out = values[number];
  switch ((hn_expr_op)step->op) {
  case HN_EXPR_CONST: EACH(step->integer);
  case HN_EXPR_ADD: EACH((int64_t)((uint64_t)a[i] + (uint64_t)b[i]));
  case HN_EXPR_SUB: EACH((int64_t)((uint64_t)a[i] - (uint64_t)b[i]));
  case HN_EXPR_MUL: EACH((int64_t)((uint64_t)a[i] * (uint64_t)b[i]));
  case HN_EXPR_EQ: EACH(a[i] == b[i]);
  case HN_EXPR_NE: EACH(a[i] != b[i]);
  case HN_EXPR_AND: EACH((a[i] != 0) & (b[i] != 0));
  case HN_EXPR_OR: EACH((a[i] != 0) | (b[i] != 0));
  case HN_EXPR_XOR: EACH((a[i] != 0) ^ (b[i] != 0));
  case HN_EXPR_NOT: EACH(a[i] == 0);
  case HN_EXPR_SELECT: EACH(a[i] ? b[i] : c[i]);
  default: break;
  }
  if (!s->is_wide_unsigned) {
    switch ((hn_expr_op)step->op) {
    case HN_EXPR_MIN: EACH(a[i] < b[i] ? a[i] : b[i]);
    case HN_EXPR_MAX: EACH(a[i] < b[i] ? b[i] : a[i]);
    case HN_EXPR_LT: EACH(a[i] < b[i]);
    case HN_EXPR_LE: EACH(a[i] <= b[i]);
    case HN_EXPR_GT: EACH(a[i] > b[i]);
    case HN_EXPR_GE: EACH(a[i] >= b[i]);
    default: break;
    }
  }
  slow_step(s, number, count, values);
}

typedef struct job {
  const state *state;
  const hone_launch *launch;
} job;

static void run_block(const job *j, const int64_t *index, int64_t first, int count) {
  const state *s = j->state;
  int64_t values[MOST_STEPS][BLOCK];
  for (int i = 0; i < s->expr.count; ++i) {
    const hn_expr_step *step = &s->expr.steps[i];
    if (step->op == HN_EXPR_INPUT)
      load(s->from[i], j->launch->in[step->a].data, hn_flatten(s->rank, index, s->stride[i]), s->stride[i][s->rank - 1],
           count, values[i]);
    else
      run_step(s, i, count, values);
  }
  store(s->to, values[s->expr.count - 1], count, first, j->launch->out[0].data);
}

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  const state *s = j->state;
  const hone_shape shape = hn_shape(s->rank, s->dim);
  int64_t index[HONE_MAX_RANK];
  for (int64_t at = begin; at < end;) {
    hn_unflatten(&shape, at, index);
    const int64_t left = hn_cpu_lesser(s->dim[s->rank - 1] - index[s->rank - 1], end - at);
    const int count = (int)hn_cpu_lesser(left, BLOCK);
    run_block(j, index, at, count);
    at += count;
  }
}

static const char *reject(const hone_query *query) {
  state s = {0};
  return plan(query, &s);
}

static size_t state_bytes(const hone_query *query) {
  (void)query;
  return sizeof(state);
}

static hone_status prepare(hone_unit *unit, const hone_query *query, void *memory, hone_diagnostics *diag) {
  (void)unit;
  const char *reason = plan(query, memory);
  return reason ? HN_FAIL(diag, HONE_INTERNAL, "%s", reason) : HONE_OK;
}

static hone_status launch(void *memory, hone_stream *stream, const hone_launch *l) {
  const state *s = memory;
  job j = {.state = s, .launch = l};
  hn_pool_run(hn_stream_pool(stream), s->elements, s->grain, body, &j);
  return HONE_OK;
}

const hone_tactic hn_tactic_cpu_elementwise_ints_c = {.struct_size = sizeof(hone_tactic),
                                                      .name = "cpu.elementwise.ints.c",
                                                      .version = 1,
                                                      .op = "*elementwise",
                                                      .flags = HONE_TACTIC_REPEATABLE,
                                                      .reject = reject,
                                                      .state_bytes = state_bytes,
                                                      .prepare = prepare,
                                                      .launch = launch};
