/* SPDX-License-Identifier: Apache-2.0 */
/* dims_eval.c - bounds and numbers of symbolic dims. Recursion is bounded by the weight of a node. */
#include "tensor/dims.h"
#include "base/checked.h"

/* Inclusive; INT64_MIN and INT64_MAX stand for no bound. */
typedef struct range {
  int64_t low, high;
} range;

static const range anything = {INT64_MIN, INT64_MAX};

static bool is_infinite(int64_t end) { return end == INT64_MIN || end == INT64_MAX; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

static int64_t saturating_add(int64_t a, int64_t b, int64_t otherwise) {
  int64_t sum;
  return is_infinite(a) || is_infinite(b) || !hn_add_i64(a, b, &sum) ? otherwise : sum;
}

static int64_t saturating_mul(int64_t a, int64_t b) {
  int64_t product;
  if (a == 0 || b == 0) return 0;
  if (is_infinite(a) || is_infinite(b) || !hn_mul_i64(a, b, &product))
    return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
  return product;
}

static int64_t floor_quotient(int64_t a, int64_t b) {
  if (is_infinite(a)) return a;
  if (b == INT64_MAX) return a < 0 ? -1 : 0;
  return a / b - (a % b != 0 && a < 0);
}

static range multiply(range a, range b) {
  const int64_t p = saturating_mul(a.low, b.low), q = saturating_mul(a.low, b.high);
  const int64_t r = saturating_mul(a.high, b.low), s = saturating_mul(a.high, b.high);
  return (range){least(least(p, q), least(r, s)), most(most(p, q), most(r, s))};
}

static range divide(range a, range b) {
  const int64_t low = most(b.low, 1), high = most(b.high, 1); /* dividing by zero gives no value to bound */
  return (range){least(floor_quotient(a.low, low), floor_quotient(a.low, high)),
                 most(floor_quotient(a.high, low), floor_quotient(a.high, high))};
}

static range remainder_of(range a, range b) {
  const int64_t top = is_infinite(b.high) ? INT64_MAX : most(b.high - 1, 0);
  return (range){0, a.low >= 0 ? least(a.high, top) : top};
}

static range range_of(const hone_dims *dims, int64_t dim) {
  const hn_dim_node *node = hn_dim_at(dims, dim);
  if (!HONE_SYMBOLIC(dim)) return (range){dim, dim};
  if (!node) return anything;
  if (node->op == HN_DIM_SYMBOL) {
    const hn_dim_symbol *symbol = hn_dim_symbol_at(dims, dim, NULL);
    return symbol ? (range){symbol->low, symbol->high} : anything;
  }
  const range a = range_of(dims, node->a), b = range_of(dims, node->b);
  switch (node->op) {
  case HN_DIM_ADD: return (range){saturating_add(a.low, b.low, INT64_MIN), saturating_add(a.high, b.high, INT64_MAX)};
  case HN_DIM_MUL: return multiply(a, b);
  case HN_DIM_FLOOR_DIV: return divide(a, b);
  case HN_DIM_MOD: return remainder_of(a, b);
  case HN_DIM_MIN: return (range){least(a.low, b.low), least(a.high, b.high)};
  case HN_DIM_MAX: return (range){most(a.low, b.low), most(a.high, b.high)};
  default: return anything;
  }
}

bool hn_dim_bounds(const hone_dims *dims, int64_t dim, int64_t *out_low, int64_t *out_high) {
  const range ends = range_of(dims, dim);
  *out_low = ends.low;
  *out_high = ends.high;
  return !HONE_SYMBOLIC(dim) || (!is_infinite(ends.low) && !is_infinite(ends.high));
}

bool hn_dim_is_after_run(const hone_dims *dims, int64_t dim) {
  const hn_dim_node *node = hn_dim_at(dims, dim);
  if (!node) return false;
  const hn_dim_symbol *symbol = hn_dim_symbol_at(dims, dim, NULL);
  if (node->op == HN_DIM_SYMBOL) return symbol && symbol->after_run;
  return hn_dim_is_after_run(dims, node->a) || hn_dim_is_after_run(dims, node->b);
}

bool hn_dim_eval(const hone_dims *dims, int64_t dim, const int64_t *values, int value_count, int64_t *out) {
  *out = dim;
  if (!HONE_SYMBOLIC(dim)) return true;
  const hn_dim_node *node = hn_dim_at(dims, dim);
  if (!node) return false;
  if (node->op == HN_DIM_SYMBOL) {
    if (node->a < 0 || node->a >= value_count || values[node->a] < 0) return false;
    *out = values[node->a];
    return true;
  }
  int64_t a, b;
  if (!hn_dim_eval(dims, node->a, values, value_count, &a) || !hn_dim_eval(dims, node->b, values, value_count, &b))
    return false;
  switch (node->op) {
  case HN_DIM_ADD: return hn_add_i64(a, b, out);
  case HN_DIM_MUL: return hn_mul_i64(a, b, out);
  case HN_DIM_FLOOR_DIV:
    if (b <= 0) return false;
    *out = a / b - (a % b < 0);
    return true;
  case HN_DIM_CEIL_DIV:
    if (b <= 0) return false;
    *out = a / b + (a % b > 0);
    return true;
  case HN_DIM_MOD:
    if (b <= 0) return false;
    *out = a % b < 0 ? a % b + b : a % b;
    return true;
  case HN_DIM_MIN: *out = least(a, b); return true;
  case HN_DIM_MAX: *out = most(a, b); return true;
  default: return false;
  }
}

bool hn_shape_eval(const hone_dims *dims, const hone_shape *shape, const int64_t *values, int value_count,
                   hone_shape *out) {
  const hone_shape from = *shape; /* out may be shape itself */
  hone_shape known = {.rank = from.rank};
  *out = (hone_shape){.rank = -1};
  if (from.rank < 0 || from.rank > HONE_MAX_RANK) return false;
  for (int i = 0; i < from.rank; ++i)
    if (!hn_dim_eval(dims, from.dim[i], values, value_count, &known.dim[i]) || known.dim[i] < 0) return false;
  *out = known;
  return true;
}
