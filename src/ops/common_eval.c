/* SPDX-License-Identifier: Apache-2.0 */
/* common_eval.c - what eval functions share: windows, rows, inference on actual inputs, and the evaluation of
 * elementwise expressions. Nothing here allocates. */
#include "ops/op.h"
#include <string.h>

bool hn_eval_given(const hone_eval *eval, int input) {
  return input >= 0 && input < eval->in_count && eval->in[input].type.kind != HONE_ABSENT;
}

int64_t hn_eval_dim(const hone_tensor *tensor, int axis) {
  const hone_shape *shape = &tensor->type.shape;
  if (axis < 0) axis += shape->rank;
  return axis >= 0 && axis < shape->rank ? shape->dim[axis] : 1;
}

void hn_copy_bytes(hone_eval *eval, int output, int input) {
  const hone_tensor *from = &eval->in[input];
  hone_tensor *to = &eval->out[output];
  const size_t bytes = from->bytes < to->bytes ? from->bytes : to->bytes;
  const uintptr_t source = (uintptr_t)from->data, target = (uintptr_t)to->data;
  if (bytes == 0 || source == target) return;
  if (source < target + bytes && target < source + bytes)
    memmove(to->data, from->data, bytes);
  else
    (void)hn_stop_copy((hn_stop *)eval->stop, to->data, from->data, bytes);
}

void hn_window_range(const hone_eval *eval, const hone_window *window, int output, int64_t *first, int64_t *last) {
  const int64_t elems = hn_elems(&eval->out[output].type.shape);
  *first = 0;
  *last = elems;
  if (!window || window->output != output) return;
  if (window->first > 0) *first = window->first < elems ? window->first : elems;
  if (window->last < elems) *last = window->last;
  if (*last < *first) *last = *first;
}

hn_rows hn_rows_along(const hone_shape *shape, int64_t axis) {
  hn_rows rows = {1, 1, 1};
  const int64_t at = axis < 0 ? axis + shape->rank : axis;
  for (int i = 0; i < shape->rank; ++i) {
    if (i < at)
      rows.outer *= shape->dim[i];
    else if (i == at)
      rows.len = shape->dim[i];
    else
      rows.inner *= shape->dim[i];
  }
  return rows;
}

void hn_rows_window(const hone_eval *eval, const hone_window *window, const hn_rows *rows, int64_t *first,
                    int64_t *last) {
  int64_t begin, end;
  *first = 0;
  *last = rows->outer * rows->inner;
  if (!window || rows->len <= 0 || rows->inner <= 0) return;
  hn_window_range(eval, window, window->output, &begin, &end);
  if (begin >= end) {
    *last = 0;
    return;
  }
  const int64_t slab = rows->len * rows->inner, from = begin / slab, to = (end - 1) / slab;
  *first = from * rows->inner;
  if ((to + 1) * rows->inner < *last) *last = (to + 1) * rows->inner;
  if (begin / rows->inner == (end - 1) / rows->inner) { /* one line of inner elements: exactly these rows */
    *last = *first + (end - 1) % rows->inner + 1;
    *first += begin % rows->inner;
  }
}

/* ---- inference on actual inputs ---- */

enum { REINFER_PORTS = 64, REINFER_VALUES = 2048 };

/* Fills facts from tensors; values of small integers go into the pool while there is room. */
static void facts_of_inputs(const hone_eval *eval, hone_fact *facts, int64_t *pool) {
  int64_t used = 0;
  for (int i = 0; i < eval->in_count; ++i) {
    const hone_tensor *tensor = &eval->in[i];
    const hone_dtype dtype = tensor->type.dtype;
    int64_t count;
    facts[i] = (hone_fact){.type = tensor->type};
    if (tensor->type.kind != HONE_TENSOR || !hn_elems_checked(&tensor->type.shape, &count)) continue;
    if (!tensor->data && count > 0) continue;
    facts[i].constant = tensor;
    if (!(hn_dtype_is_int(dtype) || dtype == HONE_BOOL)) continue;
    if (count > HONE_MAX_FACT_VALUES || count > REINFER_VALUES - used) continue;
    bool plain = true;
    for (int64_t j = 0; j < count; ++j) {
      pool[used + j] = hn_int(tensor, j);
      plain = plain && !HONE_SYMBOLIC(pool[used + j]);
    }
    if (!plain) continue; /* a number that would read as a symbolic dim */
    facts[i].value = &pool[used];
    facts[i].value_count = count;
    used += count;
  }
}

hone_status hn_eval_infer(hone_eval *eval, hone_fact *in, hone_fact *out) {
  for (int i = 0; i < eval->out_count; ++i) {
    out[i] = (hone_fact){.type = eval->out[i].type};
    out[i].type.shape.rank = -1;
  }
  hone_dims dims; /* without an arena it makes no symbols: everything is a number here */
  hn_dims_init(&dims, NULL);
  hone_infer infer = {.op = eval->op,
                      .attrs = eval->attrs,
                      .in_count = eval->in_count,
                      .out_count = eval->out_count,
                      .in = in,
                      .out = out,
                      .dims = &dims,
                      .diagnostics = eval->diagnostics};
  return eval->op->infer(&infer);
}

hone_status hn_eval_reinfer(hone_eval *eval) {
  hone_fact in[REINFER_PORTS], out[REINFER_PORTS];
  int64_t pool[REINFER_VALUES];
  bool wanted = false;
  for (int i = 0; i < eval->out_count; ++i)
    wanted = wanted || (eval->out[i].type.kind != HONE_ABSENT && !eval->out[i].data);
  if (!wanted) return HONE_OK;
  if (eval->in_count > REINFER_PORTS || eval->out_count > REINFER_PORTS)
    return HN_FAIL(eval->diagnostics, HONE_UNSUPPORTED,
                   "%s: more than %d inputs or outputs, and a shape that is known "
                   "only when it runs",
                   eval->op->name, REINFER_PORTS);
  facts_of_inputs(eval, in, pool);
  HN_TRY(hn_eval_infer(eval, in, out));
  for (int i = 0; i < eval->out_count; ++i) {
    if (eval->out[i].type.kind == HONE_ABSENT || eval->out[i].data) continue;
    if (!hn_shape_known(&out[i].type.shape))
      return HN_FAIL(eval->diagnostics, HONE_UNSUPPORTED, "%s: the shape of output %d does not follow from its inputs",
                     eval->op->name, i);
    HN_TRY(eval->resize(eval, i, out[i].type.shape.rank, out[i].type.shape.dim));
  }
  return HONE_OK;
}

/* ---- elementwise ---- */

/* A walk over a range of the output in row-major order, with the place in every INPUT instruction's tensor.
 * Neighbouring axes that every input walks as one are joined, so that the last axis is as long as it can be. */
typedef struct walker {
  int rank;
  int64_t dim[HONE_MAX_RANK], index[HONE_MAX_RANK];
  int64_t stride[HN_EXPR_MAX_STEPS][HONE_MAX_RANK], offset[HN_EXPR_MAX_STEPS];
} walker;

static bool joins(const walker *walk, const hn_expr *expr, int axis) {
  for (int i = 0; i < expr->count; ++i)
    if (expr->steps[i].op == HN_EXPR_INPUT && walk->stride[i][axis] != walk->stride[i][axis + 1] * walk->dim[axis + 1])
      return false;
  return true;
}

static void join_axes(walker *walk, const hn_expr *expr) {
  for (int axis = walk->rank - 2; axis >= 0; --axis) {
    if (!joins(walk, expr, axis)) continue;
    walk->dim[axis] *= walk->dim[axis + 1];
    for (int i = 0; i < expr->count; ++i) walk->stride[i][axis] = walk->stride[i][axis + 1];
    for (int later = axis + 1; later + 1 < walk->rank; ++later) {
      walk->dim[later] = walk->dim[later + 1];
      for (int i = 0; i < expr->count; ++i) walk->stride[i][later] = walk->stride[i][later + 1];
    }
    --walk->rank;
  }
}

static void walk_begin(walker *walk, const hone_eval *eval, const hn_expr *expr, int64_t first) {
  const hone_shape *shape = &eval->out[0].type.shape;
  memset(walk, 0, sizeof *walk);
  walk->rank = shape->rank;
  memcpy(walk->dim, shape->dim, sizeof walk->dim);
  for (int i = 0; i < expr->count; ++i)
    if (expr->steps[i].op == HN_EXPR_INPUT)
      hn_broadcast_strides(&eval->in[expr->steps[i].a].type.shape, shape, walk->stride[i]);
  if (walk->rank == 0) walk->dim[walk->rank++] = 1;
  join_axes(walk, expr);
  const hone_shape joined = hn_shape(walk->rank, walk->dim);
  hn_unflatten(&joined, first, walk->index);
  for (int i = 0; i < expr->count; ++i) walk->offset[i] = hn_flatten(walk->rank, walk->index, walk->stride[i]);
}

/* Elements up to the end of the last axis, at most `most`. */
static int walk_run(const walker *walk, int64_t most) {
  const int64_t left = walk->dim[walk->rank - 1] - walk->index[walk->rank - 1];
  if (left < most) most = left;
  return most < HN_EXPR_LANES ? (int)most : HN_EXPR_LANES;
}

static void walk_on(walker *walk, const hn_expr *expr, int count) {
  int axis = walk->rank - 1;
  int64_t step = count;
  while (true) {
    walk->index[axis] += step;
    for (int i = 0; i < expr->count; ++i) walk->offset[i] += step * walk->stride[i][axis];
    if (walk->index[axis] < walk->dim[axis] || axis == 0) return;
    for (int i = 0; i < expr->count; ++i) walk->offset[i] -= walk->dim[axis] * walk->stride[i][axis];
    walk->index[axis] = 0;
    step = 1;
    --axis;
  }
}

static void eval_reals(hone_eval *eval, const hn_expr *expr, walker *walk, int64_t first, int64_t last) {
  double values[HN_EXPR_MAX_STEPS][HN_EXPR_LANES];
  while (first < last) {
    const int lanes = walk_run(walk, last - first);
    for (int i = 0; i < expr->count; ++i) {
      if (expr->steps[i].op != HN_EXPR_INPUT) continue;
      const hone_tensor *in = &eval->in[expr->steps[i].a];
      const int64_t stride = walk->stride[i][walk->rank - 1];
      for (int lane = 0; lane < lanes; ++lane) values[i][lane] = hn_real(in, walk->offset[i] + lane * stride);
    }
    hn_expr_run_reals(expr, lanes, values);
    for (int lane = 0; lane < lanes; ++lane) hn_store_real(&eval->out[0], first + lane, values[expr->count - 1][lane]);
    walk_on(walk, expr, lanes);
    first += lanes;
  }
}

static void eval_ints(hone_eval *eval, const hn_expr *expr, walker *walk, int64_t first, int64_t last) {
  int64_t values[HN_EXPR_MAX_STEPS][HN_EXPR_LANES];
  bool wide_unsigned = eval->out[0].type.dtype == HONE_U64;
  for (int i = 0; i < eval->in_count; ++i) wide_unsigned = wide_unsigned || eval->in[i].type.dtype == HONE_U64;
  while (first < last) {
    const int lanes = walk_run(walk, last - first);
    for (int i = 0; i < expr->count; ++i) {
      if (expr->steps[i].op != HN_EXPR_INPUT) continue;
      const hone_tensor *in = &eval->in[expr->steps[i].a];
      const int64_t stride = walk->stride[i][walk->rank - 1];
      for (int lane = 0; lane < lanes; ++lane) values[i][lane] = hn_int(in, walk->offset[i] + lane * stride);
    }
    hn_expr_run_ints(expr, lanes, wide_unsigned, values);
    for (int lane = 0; lane < lanes; ++lane) hn_store_int(&eval->out[0], first + lane, values[expr->count - 1][lane]);
    walk_on(walk, expr, lanes);
    first += lanes;
  }
}

static bool text_equal(const hone_tensor *a, int64_t a_at, const hone_tensor *b, int64_t b_at) {
  const hone_string *x = (const hone_string *)a->data + a_at, *y = (const hone_string *)b->data + b_at;
  return x->length == y->length && (x->length == 0 || memcmp(x->data, y->data, x->length) == 0);
}

/* Elements that no arithmetic fits, strings and complex numbers: they can be chosen between, and strings compared. */
static hone_status eval_opaque(hone_eval *eval, const hn_expr *expr, walker *walk, int64_t first, int64_t last) {
  const hn_expr_step *root = &expr->steps[expr->count - 1], *steps = expr->steps;
  const bool selects = root->op == HN_EXPR_SELECT && steps[root->a].op == HN_EXPR_INPUT &&
                       steps[root->b].op == HN_EXPR_INPUT && steps[root->c].op == HN_EXPR_INPUT;
  const bool compares = (root->op == HN_EXPR_EQ || root->op == HN_EXPR_NE) && steps[root->a].op == HN_EXPR_INPUT &&
                        steps[root->b].op == HN_EXPR_INPUT && eval->in[steps[root->a].a].type.dtype == HONE_STRING &&
                        eval->in[steps[root->b].a].type.dtype == HONE_STRING;
  if (!selects && !compares && root->op != HN_EXPR_INPUT)
    return HN_FAIL(eval->diagnostics, HONE_UNSUPPORTED, "%s has no meaning for %s", eval->op->name,
                   hone_dtype_name(eval->out[0].type.dtype));
  for (; first < last; ++first, walk_on(walk, expr, 1)) {
    if (compares) {
      const bool equal = text_equal(&eval->in[steps[root->a].a], walk->offset[root->a], &eval->in[steps[root->b].a],
                                    walk->offset[root->b]);
      hn_store_int(&eval->out[0], first, equal == (root->op == HN_EXPR_EQ));
      continue;
    }
    int chosen = expr->count - 1;
    if (selects) chosen = hn_int(&eval->in[steps[root->a].a], walk->offset[root->a]) ? root->b : root->c;
    hn_copy_element(&eval->out[0], first, &eval->in[steps[chosen].a], walk->offset[chosen]);
  }
  return HONE_OK;
}

static bool is_opaque(hone_dtype dtype) { return dtype == HONE_STRING || dtype == HONE_C64 || dtype == HONE_C128; }

hone_status hn_eval_expr(hone_eval *eval, const hone_window *window) {
  hn_expr expr;
  walker walk;
  int64_t first, last;
  HN_TRY(hn_eval_reinfer(eval));
  HN_TRY(hn_expr_of_op(eval->diagnostics, eval->op, eval->attrs, eval->in_count, &expr));
  bool real = hn_dtype_is_float(eval->out[0].type.dtype), opaque = is_opaque(eval->out[0].type.dtype);
  for (int i = 0; i < expr.count; ++i) {
    if (expr.steps[i].op != HN_EXPR_INPUT) continue;
    if (!hn_eval_given(eval, expr.steps[i].a))
      return HN_FAIL(eval->diagnostics, HONE_INVALID, "%s needs input %d", eval->op->name, expr.steps[i].a);
    const hone_dtype dtype = eval->in[expr.steps[i].a].type.dtype;
    real = real || hn_dtype_is_float(dtype);
    opaque = opaque || is_opaque(dtype);
  }
  hn_window_range(eval, window, 0, &first, &last);
  if (first >= last) return HONE_OK;
  walk_begin(&walk, eval, &expr, first);
  if (opaque) return eval_opaque(eval, &expr, &walk, first, last);
  if (real)
    eval_reals(eval, &expr, &walk, first, last);
  else
    eval_ints(eval, &expr, &walk, first, last);
  return HONE_OK;
}
