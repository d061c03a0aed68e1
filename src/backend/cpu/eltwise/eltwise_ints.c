/* SPDX-License-Identifier: Apache-2.0 */
/* eltwise_ints.c - elementwise ops on integers and bools: widened, computed a block at a time, cut on the way out, as
 * the reference does. Programs of common steps run in vectors; the others go through the expression's own code. */
#include "kernels/cpu/eltwise/eltwise_ints.h"
#include "backend/cpu/copy/copy.h"
#include "tensor/element.h"
#include "tensor/expr.h"
#include <string.h>

enum { BLOCK = HN_INTS_BLOCK, MOST_STEPS = HN_INTS_STEPS };
static const double ns_per_step = 0.5; /* of an element, without vectors */

typedef struct row_kernel {
  hn_ints_fn *run_typed, *run; /* programs of one instruction on one type; all that have vector code */
  bool takes_all;              /* also what has no vector code */
} row_kernel;

typedef struct state {
  hn_expr expr;
  bool is_wide_unsigned;
  int rank;
  int64_t dim[HONE_MAX_RANK], stride[MOST_STEPS][HONE_MAX_RANK]; /* strides of INPUT steps */
  hone_dtype from[MOST_STEPS], to;
  int64_t elements, grain;
  hn_ints_fn *kernel; /* NULL: a step has no vector code */
  hn_ints_program program;
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

static const char *read(const hone_query *query, state *s) {
  HN_TRY_REASON(hn_cpu_check(query, 1, HONE_MAX_PORTS, 1));
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

/* ---- programs in vectors ---- */

static const hn_ints_op vector_ops[HN_EXPR_OP_COUNT] = {
    [HN_EXPR_INPUT] = HN_INTS_INPUT, [HN_EXPR_CONST] = HN_INTS_CONST, [HN_EXPR_ADD] = HN_INTS_ADD,
    [HN_EXPR_SUB] = HN_INTS_SUB,     [HN_EXPR_MUL] = HN_INTS_MUL,     [HN_EXPR_MIN] = HN_INTS_MIN,
    [HN_EXPR_MAX] = HN_INTS_MAX,     [HN_EXPR_LT] = HN_INTS_LT,       [HN_EXPR_LE] = HN_INTS_LE,
    [HN_EXPR_GT] = HN_INTS_GT,       [HN_EXPR_GE] = HN_INTS_GE,       [HN_EXPR_EQ] = HN_INTS_EQ,
    [HN_EXPR_NE] = HN_INTS_NE,       [HN_EXPR_AND] = HN_INTS_AND,     [HN_EXPR_OR] = HN_INTS_OR,
    [HN_EXPR_XOR] = HN_INTS_XOR,     [HN_EXPR_NOT] = HN_INTS_NOT,     [HN_EXPR_SELECT] = HN_INTS_SELECT,
    [HN_EXPR_DIV] = HN_INTS_DIV,     [HN_EXPR_FMOD] = HN_INTS_FMOD,   [HN_EXPR_MOD] = HN_INTS_MOD};

static hn_ints_type type_of(hone_dtype dtype) {
  switch (dtype) {
  case HONE_I8: return HN_INTS_I8;
  case HONE_I16: return HN_INTS_I16;
  case HONE_U16: return HN_INTS_U16;
  case HONE_I32: return HN_INTS_I32;
  case HONE_U32: return HN_INTS_U32;
  case HONE_I64: return HN_INTS_I64;
  case HONE_U64: return HN_INTS_U64;
  case HONE_BOOL: return HN_INTS_BOOL;
  default: return HN_INTS_U8;
  }
}

static bool fits(hone_dtype dtype, int64_t number) {
  const int bits = (int)hone_dtype_bits(dtype);
  if (dtype == HONE_BOOL) return number == 0 || number == 1;
  if (bits >= 64) return dtype == HONE_I64 || number >= 0;
  const bool has_sign = dtype == HONE_I8 || dtype == HONE_I16 || dtype == HONE_I32;
  return has_sign ? number >= -((int64_t)1 << (bits - 1)) && number < (int64_t)1 << (bits - 1)
                  : number >= 0 && number < (int64_t)1 << bits;
}

/* Is the program one instruction whose operands, but for a condition, have one type? */
static bool has_one_type(const state *s, hn_ints_type *out_type) {
  const hn_expr *e = &s->expr;
  const hn_expr_step *last = &e->steps[e->count - 1];
  const hn_ints_op op = vector_ops[last->op];
  const uint8_t reads[3] = {last->a, last->b, last->c};
  const int arity = hn_expr_row_of((hn_expr_op)last->op)->arity;
  const bool is_logic = op >= HN_INTS_AND && op <= HN_INTS_NOT;
  hone_dtype type = HONE_DTYPE_COUNT;
  if (arity == 0 || op == HN_INTS_NONE) return false;
  for (int i = 0; i + 1 < e->count; ++i)
    if (e->steps[i].op != HN_EXPR_INPUT && e->steps[i].op != HN_EXPR_CONST) return false;
  for (int k = 0; k < arity; ++k) {
    const bool is_input = e->steps[reads[k]].op == HN_EXPR_INPUT;
    const hone_dtype from = s->from[reads[k]];
    if (op == HN_INTS_SELECT && k == 0) {
      if (!is_input || from != HONE_BOOL) return false;
    } else if (!is_input)
      continue;
    else if (type == HONE_DTYPE_COUNT)
      type = from;
    else if (from != type)
      return false;
  }
  if (type == HONE_DTYPE_COUNT || (is_logic && type != HONE_BOOL)) return false;
  for (int k = 0; k < arity; ++k)
    if (e->steps[reads[k]].op == HN_EXPR_CONST && !fits(type, e->steps[reads[k]].integer)) return false;
  *out_type = type_of(type);
  return s->to == (op >= HN_INTS_LT && op <= HN_INTS_NOT ? HONE_BOOL : type);
}

/* Fills the program; *out_typed: it is one instruction on one type. */
static const char *vectorize(const state *s, hn_ints_program *p, bool *out_typed) {
  static const char *const none = "a step has no vector code";
  *p = (hn_ints_program){.count = s->expr.count, .rank = s->rank, .to = type_of(s->to)};
  memcpy(p->dim, s->dim, sizeof p->dim);
  *out_typed = has_one_type(s, &p->from);
  for (int i = 0; i < s->expr.count; ++i) {
    const hn_expr_step *step = &s->expr.steps[i];
    hn_ints_step *to = &p->step[i];
    *to = (hn_ints_step){vector_ops[step->op], step->a, step->b, step->c, .constant = step->integer};
    if (to->op == HN_INTS_NONE) return none;
    if (!*out_typed && s->is_wide_unsigned && to->op >= HN_INTS_DIV && to->op <= HN_INTS_GE)
      return none; /* lanes have a sign */
    if (to->op != HN_INTS_INPUT) continue;
    to->type = type_of(s->from[i]);
    memcpy(to->stride, s->stride[i], sizeof to->stride);
  }
  return NULL;
}

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  const row_kernel *row = query->tactic->kernel;
  state asked = {0}, *s = memory ? memory : &asked;
  bool typed;
  HN_TRY_REASON(read(query, s));
  double steps = (double)s->expr.count;
  const char *reason = vectorize(s, &s->program, &typed);
  if (reason && !row->takes_all) return reason;
  if (!reason) {
    s->kernel = typed ? row->run_typed : row->run;
    steps = typed ? 0.25 : steps / 4;
  }
  s->grain = hn_cpu_grain(s->elements, (double)s->elements * steps * ns_per_step);
  needs->state = sizeof *s;
  return NULL;
}

/* ---- launching ---- */

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
    else if (step->op == HN_EXPR_CONST)
      for (int lane = 0; lane < count; ++lane) values[i][lane] = step->integer;
    else
      slow_step(s, i, count, values);
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

static void vector_body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  const void *x[HONE_MAX_PORTS];
  for (int i = 0; i < j->launch->in_count && i < HONE_MAX_PORTS; ++i) x[i] = j->launch->in[i].data;
  j->state->kernel(&(hn_ints_args){.program = &j->state->program, .x = x, .y = j->launch->out[0].data}, begin, end);
}

static hone_status launch(void *memory, hone_stream *stream, const hone_launch *l) {
  const state *s = memory;
  job j = {.state = s, .launch = l};
  hn_pool_run(hn_stream_pool(stream), s->elements, s->grain, s->kernel ? vector_body : body, &j);
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_eltwise_ints[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.elementwise.ints.avx512", .version = 3, .op = "*elementwise",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){hn_eltwise_ints_typed_avx512, hn_eltwise_ints_avx512, .takes_all = false}},
    {sizeof(hone_tactic), .name = "cpu.elementwise.ints.avx2", .version = 3, .op = "*elementwise", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){hn_eltwise_ints_typed_avx2, hn_eltwise_ints_avx2, .takes_all = false}},
#endif
    {sizeof(hone_tactic), .name = "cpu.elementwise.ints.c", .version = 3, .op = "*elementwise", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){hn_eltwise_ints_typed_c, hn_eltwise_ints_c, .takes_all = true}},
    {0}};
