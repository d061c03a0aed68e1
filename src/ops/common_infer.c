/* SPDX-License-Identifier: Apache-2.0 */
/* common_infer.c - what infer functions share: looking at inputs, writing outputs, broadcasting, and carrying the
 * values of small integer tensors through elementwise ops, symbolic dims included. */
#include "ops/op.h"
#include <assert.h>

bool hn_in_given(const hone_infer *infer, int input) {
  return input >= 0 && input < infer->in_count && infer->in[input].type.kind != HONE_ABSENT;
}

int hn_in_rank(const hone_infer *infer, int input) {
  return input >= 0 && input < infer->in_count ? infer->in[input].type.shape.rank : -1;
}

const hone_shape *hn_in_shape(const hone_infer *infer, int input) {
  assert(input >= 0 && input < infer->in_count);
  return &infer->in[input].type.shape;
}

/* The elements of a small constant, copied; NULL when one of them would read as a symbolic dim. */
static const int64_t *value_of_constant(const hone_infer *infer, const hone_tensor *constant, int64_t *out_count) {
  int64_t count;
  const hone_dtype dtype = constant->type.dtype;
  if (!infer->arena || !constant->data || !hn_elems_checked(&constant->type.shape, &count)) return NULL;
  if (count > HONE_MAX_FACT_VALUES || !(hn_dtype_is_int(dtype) || dtype == HONE_BOOL)) return NULL;
  int64_t *value = HN_NEW((hn_arena *)infer->arena, int64_t, count > 0 ? count : 1);
  for (int64_t i = 0; value && i < count; ++i) {
    value[i] = hn_int(constant, i);
    if (HONE_SYMBOLIC(value[i])) return NULL;
  }
  *out_count = count;
  return value;
}

const int64_t *hn_in_value(const hone_infer *infer, int input, int64_t *out_count) {
  *out_count = 0;
  if (!hn_in_given(infer, input)) return NULL;
  const hone_fact *fact = &infer->in[input];
  if (!fact->value) return fact->constant ? value_of_constant(infer, fact->constant, out_count) : NULL;
  *out_count = fact->value_count;
  return fact->value;
}

int64_t *hn_infer_value(hone_infer *infer, int output, int64_t count) {
  if (count < 0 || count > HONE_MAX_FACT_VALUES || !infer->arena) return NULL;
  int64_t *value = HN_NEW((hn_arena *)infer->arena, int64_t, count > 0 ? count : 1);
  if (!value) return NULL;
  infer->out[output].value = value;
  infer->out[output].value_count = count;
  return value;
}

void hn_out_shape(hone_infer *infer, int output, int rank, const int64_t *dims) {
  if (output < infer->out_count) infer->out[output].type.shape = hn_shape(rank, dims);
}

void hn_out_dtype(hone_infer *infer, int output, hone_dtype dtype) {
  if (output < infer->out_count) infer->out[output].type.dtype = dtype;
}

hone_status hn_out_after_run(hone_infer *infer, int output, int rank, int64_t high) {
  int64_t dims[HONE_MAX_RANK] = {0};
  if (output >= infer->out_count) return HONE_OK;
  for (int i = 0; i < rank; ++i) dims[i] = hn_dim_fresh(infer->dims, infer->op->name, true, high);
  if (infer->dims->failed) return HN_FAIL(infer->diagnostics, HONE_NO_MEMORY, "no room for the dims of an output");
  hn_out_shape(infer, output, rank, dims);
  return HONE_OK;
}

hone_status hn_infer_axis(hone_infer *infer, int64_t axis, int rank, int *out) {
  *out = 0;
  if (rank == 0) return HN_INFER_FAIL(infer, "axis %lld, but a scalar has no axes", (long long)axis);
  if (axis < -rank || axis >= rank)
    return HN_INFER_FAIL(infer, "axis %lld is not in [%d, %d]", (long long)axis, -rank, rank - 1);
  *out = (int)(axis < 0 ? axis + rank : axis);
  return HONE_OK;
}

hone_status hn_infer_join(hone_infer *infer, int64_t a, int64_t b, int64_t *out) {
  const bool a_symbolic = HONE_SYMBOLIC(a), b_symbolic = HONE_SYMBOLIC(b);
  *out = a;
  if (a == b || b == 1) return HONE_OK;
  if (a == 1 || (a_symbolic && !b_symbolic)) {
    *out = b;
    return HONE_OK;
  }
  if (!a_symbolic && b_symbolic) return HONE_OK;
  if (!a_symbolic) return HN_INFER_FAIL(infer, "extents %lld and %lld do not broadcast", (long long)a, (long long)b);
  *out = hn_dim_max(infer->dims, a, b); /* equal, or one of them is 1 */
  return infer->dims->failed ? HN_FAIL(infer->diagnostics, HONE_LIMIT, "the expressions of dims are too large")
                             : HONE_OK;
}

hone_status hn_infer_broadcast_shapes(hone_infer *infer, int count, const hone_shape *const *shapes, hone_shape *out) {
  hone_shape joined = {.rank = 0};
  *out = (hone_shape){.rank = -1};
  for (int i = 0; i < count; ++i) {
    if (shapes[i]->rank < 0) return HONE_OK;
    if (shapes[i]->rank > joined.rank) joined.rank = shapes[i]->rank;
  }
  for (int axis = 0; axis < joined.rank; ++axis) {
    int64_t dim = 1;
    for (int i = 0; i < count; ++i) {
      const int own = axis - (joined.rank - shapes[i]->rank);
      if (own < 0) continue;
      HN_TRY_NOTE(infer->diagnostics, hn_infer_join(infer, dim, shapes[i]->dim[own], &dim),
                  "along axis %d of the output, which has rank %d", axis, joined.rank);
    }
    joined.dim[axis] = dim;
  }
  *out = joined;
  return HONE_OK;
}

hone_status hn_infer_same(hone_infer *infer) {
  const hone_shape *shape = hn_in_shape(infer, 0);
  for (int i = 0; i < infer->out_count; ++i) hn_out_shape(infer, i, shape->rank, shape->dim);
  return HONE_OK;
}

hone_status hn_infer_along_axis(hone_infer *infer) {
  int axis;
  const int rank = hn_in_rank(infer, 0);
  if (rank >= 0) HN_TRY(hn_infer_axis(infer, hn_attr_int(infer->attrs, "axis"), rank, &axis));
  return hn_infer_same(infer);
}

/* ---- values ---- */

/* 1: a < b or a == b surely, 0: surely not, -1: not known. */
static int surely(const hone_dims *dims, hn_expr_op op, int64_t a, int64_t b) {
  int64_t a_low, a_high, b_low, b_high;
  if (a == b) return op == HN_EXPR_EQ;
  (void)hn_dim_bounds(dims, a, &a_low, &a_high); /* an end that is not known proves nothing by itself */
  (void)hn_dim_bounds(dims, b, &b_low, &b_high);
  const bool below = a_high<b_low, above = a_low> b_high;
  if (op == HN_EXPR_EQ) return below || above ? 0 : -1;
  return below ? 1 : a_low >= b_high ? 0 : -1;
}

/* One instruction on dims; false: not known. Only what stays true whatever the symbols are. */
static bool step_on_dims(hone_dims *dims, const hn_expr_step *step, const int64_t *values, int64_t *out) {
  const int64_t a = values[step->a], b = values[step->b];
  int64_t low, high;
  int answer = -1;
  switch (step->op) {
  case HN_EXPR_CONST: *out = step->integer; return !HONE_SYMBOLIC(step->integer);
  case HN_EXPR_ADD: *out = hn_dim_add(dims, a, b); break;
  case HN_EXPR_SUB: *out = hn_dim_sub(dims, a, b); break;
  case HN_EXPR_MUL: *out = hn_dim_mul(dims, a, b); break;
  case HN_EXPR_NEG: *out = hn_dim_sub(dims, 0, a); break;
  case HN_EXPR_MIN: *out = hn_dim_min(dims, a, b); break;
  case HN_EXPR_MAX: *out = hn_dim_max(dims, a, b); break;
  case HN_EXPR_DIV:
  case HN_EXPR_MOD:
  case HN_EXPR_FMOD: /* truncated and floored division agree from zero on */
    (void)hn_dim_bounds(dims, a, &low, &high);
    if (low < 0 || (!HONE_SYMBOLIC(b) && b <= 0)) return false;
    (void)hn_dim_bounds(dims, b, &low, &high);
    if (low < 0) return false;
    *out = step->op == HN_EXPR_DIV ? hn_dim_floor_div(dims, a, b) : hn_dim_mod(dims, a, b);
    break;
  case HN_EXPR_ABS:
    (void)hn_dim_bounds(dims, a, &low, &high);
    if (low < 0) return false;
    *out = a;
    break;
  case HN_EXPR_FLOOR:
  case HN_EXPR_CEIL:
  case HN_EXPR_ROUND: *out = a; break;
  case HN_EXPR_EQ:
  case HN_EXPR_NE:
    answer = surely(dims, HN_EXPR_EQ, a, b);
    *out = step->op == HN_EXPR_EQ ? answer : !answer;
    return answer >= 0;
  case HN_EXPR_LT:
  case HN_EXPR_GE:
    answer = surely(dims, HN_EXPR_LT, a, b);
    *out = step->op == HN_EXPR_LT ? answer : !answer;
    return answer >= 0;
  case HN_EXPR_GT:
  case HN_EXPR_LE:
    answer = surely(dims, HN_EXPR_LT, b, a);
    *out = step->op == HN_EXPR_GT ? answer : !answer;
    return answer >= 0;
  case HN_EXPR_SELECT:
    if (HONE_SYMBOLIC(a)) return false;
    *out = a ? b : values[step->c];
    break;
  default: return false;
  }
  return !dims->failed;
}

/* A value that is not known is no failure: the table forgets an overflow that happened here. */
static bool eval_on_dims(hone_dims *dims, const hn_expr *expr, const int64_t *in, int64_t *out) {
  int64_t values[HN_EXPR_MAX_STEPS];
  bool known = true;
  if (dims->failed) return false;
  for (int i = 0; known && i < expr->count; ++i) {
    if (expr->steps[i].op == HN_EXPR_INPUT)
      values[i] = in[expr->steps[i].a];
    else
      known = step_on_dims(dims, &expr->steps[i], values, &values[i]);
  }
  dims->failed = false;
  if (known) *out = values[expr->count - 1];
  return known;
}

/* The number as the output's dtype holds it. */
static int64_t wrapped(hone_dtype dtype, int64_t number) {
  uint64_t storage = 0;
  hone_tensor one = hn_tensor_over(dtype, 0, NULL, &storage);
  hn_store_int(&one, 0, number);
  return hn_int(&one, 0);
}

enum { MAX_FOLDED_INPUTS = 16, MAX_EXPR_INPUTS = 32 /* always fit */ };

typedef struct folding {
  hn_expr expr;
  const int64_t *value[MAX_FOLDED_INPUTS];
  int64_t strides[MAX_FOLDED_INPUTS][HONE_MAX_RANK];
  bool wide_unsigned;
} folding;

/* Everything that folding needs is known. */
static bool folding_begin(hone_infer *infer, folding *fold) {
  const hone_type *type = &infer->out[0].type;
  int64_t count;
  if (!infer->op->expr || infer->in_count > MAX_FOLDED_INPUTS || !hn_elems_checked(&type->shape, &count)) return false;
  if (count > HONE_MAX_FACT_VALUES || !(hn_dtype_is_int(type->dtype) || type->dtype == HONE_BOOL)) return false;
  fold->wide_unsigned = type->dtype == HONE_U64;
  for (int i = 0; i < infer->in_count; ++i) {
    const hone_type *in = &infer->in[i].type;
    int64_t in_elems;
    if (hn_dtype_is_float(in->dtype) || !(fold->value[i] = hn_in_value(infer, i, &count))) return false;
    if (!hn_elems_checked(&in->shape, &in_elems) || in_elems != count) return false;
    hn_broadcast_strides(&in->shape, &type->shape, fold->strides[i]);
    fold->wide_unsigned = fold->wide_unsigned || in->dtype == HONE_U64;
  }
  return hn_expr_of_op(NULL, infer->op, infer->attrs, infer->in_count, &fold->expr) == HONE_OK;
}

static void fold_values(hone_infer *infer) {
  folding fold;
  if (!folding_begin(infer, &fold)) return;
  const hone_type *type = &infer->out[0].type;
  int64_t result[HONE_MAX_FACT_VALUES], index[HONE_MAX_RANK];
  const int64_t count = hn_elems(&type->shape);
  for (int64_t at = 0; at < count; ++at) {
    int64_t in[MAX_FOLDED_INPUTS];
    bool symbolic = false;
    hn_unflatten(&type->shape, at, index);
    for (int i = 0; i < infer->in_count; ++i) {
      in[i] = fold.value[i][hn_flatten(type->shape.rank, index, fold.strides[i])];
      symbolic = symbolic || HONE_SYMBOLIC(in[i]);
    }
    if (symbolic) {
      if (!eval_on_dims(infer->dims, &fold.expr, in, &result[at])) return;
    } else {
      result[at] = wrapped(type->dtype, hn_expr_eval_int(&fold.expr, in, fold.wide_unsigned));
      if (HONE_SYMBOLIC(result[at])) return;
    }
  }
  int64_t *value = hn_infer_value(infer, 0, count);
  for (int64_t i = 0; value && i < count; ++i) value[i] = result[i];
}

hone_status hn_infer_broadcast(hone_infer *infer) {
  hn_expr expr; /* a run would find out late that there is none */
  if (infer->op->expr && infer->in_count > MAX_EXPR_INPUTS)
    HN_TRY(hn_expr_of_op(infer->diagnostics, infer->op, infer->attrs, infer->in_count, &expr));
  hone_shape shape = {.rank = 0};
  for (int i = 0; i < infer->in_count && shape.rank >= 0; ++i) {
    if (!hn_in_given(infer, i)) continue;
    const hone_shape so_far = shape, *const pair[] = {&so_far, hn_in_shape(infer, i)};
    HN_TRY_NOTE(infer->diagnostics, hn_infer_broadcast_shapes(infer, 2, pair, &shape), "joining input %d", i);
  }
  hn_out_shape(infer, 0, shape.rank, shape.dim);
  fold_values(infer);
  return HONE_OK;
}
