/* SPDX-License-Identifier: Apache-2.0 */
/* unique.c - the distinct elements, or slices along an axis: sorted, or in order of first appearance; with the index of
 * the first of each, which one every element is, and how many there are. */
#include "ops/common_move.h"
#include <math.h>
#include <string.h>

enum { Y = 0, FIRSTS = 1, INVERSE = 2, COUNTS = 3 };

static hone_status infer(hone_infer *infer) {
  const int rank = hn_in_rank(infer, 0);
  int64_t items = -1, elems;
  int axis;
  const bool flat = !hn_attr_has(infer->attrs, "axis");
  if (!flat && rank < 0) return HONE_OK;
  hone_shape shape = {.rank = 1};
  if (!flat) {
    HN_TRY(hn_infer_axis(infer, hn_attr_int(infer->attrs, "axis"), rank, &axis));
    shape = *hn_in_shape(infer, 0);
    items = shape.dim[axis];
  } else {
    axis = 0;
    if (rank >= 0 && hn_elems_checked(hn_in_shape(infer, 0), &elems)) items = elems;
  }
  const int64_t distinct = hn_dim_fresh(infer->dims, "unique", true, items >= 0 ? items : INT64_MAX);
  shape.dim[axis] = distinct;
  hn_out_shape(infer, Y, shape.rank, shape.dim);
  hn_out_shape(infer, FIRSTS, 1, &distinct);
  hn_out_shape(infer, COUNTS, 1, &distinct);
  if (!flat)
    hn_out_shape(infer, INVERSE, 1, &items);
  else if (rank >= 0) {
    const int64_t all = hn_dim_product(infer->dims, rank, hn_in_shape(infer, 0)->dim);
    hn_out_shape(infer, INVERSE, 1, &all);
  } else if (infer->out_count > INVERSE)
    return hn_out_after_run(infer, INVERSE, 1, INT64_MAX);
  return HONE_OK;
}

static int compare_texts(const hone_string *a, const hone_string *b) {
  const size_t shared = a->length < b->length ? a->length : b->length;
  const int order = shared > 0 ? memcmp(a->data, b->data, shared) : 0;
  return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

/* Negative, zero or positive; NaN is the largest number and equal to itself. */
static int compare_elements(const hone_tensor *x, int64_t a, int64_t b) {
  const hone_dtype dtype = x->type.dtype;
  if (dtype == HONE_STRING) return compare_texts((const hone_string *)x->data + a, (const hone_string *)x->data + b);
  if (hn_dtype_is_float(dtype)) {
    const double left = hn_real(x, a), right = hn_real(x, b);
    if (isnan(left) || isnan(right)) return isnan(left) - isnan(right);
    return (left > right) - (left < right);
  }
  const int64_t left = hn_int(x, a), right = hn_int(x, b);
  if (hn_dtype_is_unsigned(dtype)) return ((uint64_t)left > (uint64_t)right) - ((uint64_t)left < (uint64_t)right);
  return (left > right) - (left < right);
}

typedef struct item_list {
  const hone_tensor *x;
  hn_rows rows; /* item i: element i of every row */
} item_list;

static int compare_items(const item_list *items, int64_t a, int64_t b) {
  for (int64_t row = 0; row < items->rows.outer * items->rows.inner; ++row) {
    const int order = compare_elements(items->x, hn_row_at(&items->rows, row, a), hn_row_at(&items->rows, row, b));
    if (order != 0) return order;
  }
  return 0;
}

static bool before(const void *context, int64_t a, int64_t b) {
  const int order = compare_items(context, a, b);
  return order != 0 ? order < 0 : a < b;
}

static item_list items_of(const hone_attrs *attrs, const hone_tensor *x) {
  if (hn_attr_has(attrs, "axis")) return (item_list){x, hn_rows_along(&x->type.shape, hn_attr_int(attrs, "axis"))};
  return (item_list){x, {1, hn_elems(&x->type.shape), 1}};
}

/* Scratch: what order sorts, the group of each item, and of each group its first item, size and final number. */
typedef struct groups {
  int64_t *order, *group, *first, *size, *number;
  int64_t count;
} groups;

/* False: it was stopped. */
static bool group_items(const hone_eval *eval, const item_list *items, int64_t *scratch, bool sorted, groups *out) {
  const int64_t n = items->rows.len;
  groups g = {scratch, scratch + n, scratch + 2 * n, scratch + 3 * n, scratch + 4 * n, 0};
  if (!hn_sort_indices(eval, g.order, n, before, items)) return false;
  for (int64_t i = 0; i < n; ++i) {
    if (hn_eval_ends(eval, i)) return false;
    if (i == 0 || compare_items(items, g.order[i - 1], g.order[i]) != 0) {
      g.first[g.count] = g.order[i];
      g.number[g.count] = g.count;
      g.size[g.count++] = 0;
    }
    g.group[g.order[i]] = g.count - 1;
    ++g.size[g.count - 1];
  }
  for (int64_t i = 0, next = 0; !sorted && i < n; ++i)
    if (g.first[g.group[i]] == i) g.number[g.group[i]] = next++;
  *out = g;
  return true;
}

static hone_status resize_all(hone_eval *eval, const groups *g, int64_t item_count) {
  hone_shape shape = {.rank = 1, .dim = {g->count}};
  if (hn_attr_has(eval->attrs, "axis")) {
    int axis;
    shape = eval->in[0].type.shape;
    HN_TRY(hn_eval_axis(eval, hn_attr_int(eval->attrs, "axis"), shape.rank, &axis));
    shape.dim[axis] = g->count;
  }
  for (int output = 0; output < eval->out_count; ++output) {
    if (eval->out[output].type.kind == HONE_ABSENT) continue;
    const int64_t length = output == INVERSE ? item_count : g->count;
    const int rank = output == Y ? shape.rank : 1;
    const int64_t *dims = output == Y ? shape.dim : &length;
    if (!eval->out[output].data) HN_TRY(eval->resize(eval, output, rank, dims));
    HN_TRY(hn_eval_expect(eval, output, rank, dims));
  }
  return HONE_OK;
}

static bool is_wanted(const hone_eval *eval, int output) {
  return output < eval->out_count && eval->out[output].type.kind != HONE_ABSENT;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  (void)window; /* everything depends on everything */
  const item_list all = items_of(eval->attrs, &eval->in[0]);
  groups g;
  if (!group_items(eval, &all, eval->scratch, hn_attr_int(eval->attrs, "sorted") != 0, &g)) return HONE_OK;
  HN_TRY(resize_all(eval, &g, all.rows.len));
  const hn_rows kept = {all.rows.outer, g.count, all.rows.inner};
  for (int64_t i = 0; i < g.count && !hn_eval_ends(eval, i); ++i) {
    const int64_t to = g.number[i];
    for (int64_t row = 0; is_wanted(eval, Y) && row < kept.outer * kept.inner; ++row)
      hn_copy_element(&eval->out[Y], hn_row_at(&kept, row, to), &eval->in[0], hn_row_at(&all.rows, row, g.first[i]));
    if (is_wanted(eval, FIRSTS)) hn_store_int(&eval->out[FIRSTS], to, g.first[i]);
    if (is_wanted(eval, COUNTS)) hn_store_int(&eval->out[COUNTS], to, g.size[i]);
  }
  for (int64_t i = 0; is_wanted(eval, INVERSE) && i < all.rows.len && !hn_eval_ends(eval, i); ++i)
    hn_store_int(&eval->out[INVERSE], i, g.number[g.group[i]]);
  return HONE_OK;
}

static size_t eval_scratch(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out,
                           int out_count) {
  (void)in_count;
  (void)out;
  (void)out_count;
  const hone_tensor x = {.type = in[0].type};
  return 5 * sizeof(int64_t) * (size_t)items_of(attrs, &x).rows.len;
}

const hone_op hn_op_unique = {
    .struct_size = sizeof(hone_op),
    .name = "unique",
    .doc = "the distinct elements, or slices along an axis",
    .in = {{"x", 'T', HONE_TYPES_NUMBER | HONE_TYPES_BOOL | HONE_BIT(HONE_STRING)}},
    .out = {{"y", 'T'},
            {"indices", 0, HONE_BIT(HONE_I64), HONE_PORT_OPTIONAL},
            {"inverse_indices", 0, HONE_BIT(HONE_I64), HONE_PORT_OPTIONAL},
            {"counts", 0, HONE_BIT(HONE_I64), HONE_PORT_OPTIONAL}},
    .attr = {HONE_OPTIONAL_ATTR("axis", HONE_ATTR_INT), HONE_INT_ATTR("sorted", 1)},
    .traits = HONE_AFTER_RUN,
    .infer = infer,
    .eval = eval,
    .eval_scratch = eval_scratch,
    .cost = hn_cost_copy,
    .onnx = {{"Unique", 11, HONE_LATEST}},
};
