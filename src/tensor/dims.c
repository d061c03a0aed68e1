/* SPDX-License-Identifier: Apache-2.0 */
/* dims.c - symbolic dims in canonical form.
 *
 * A dim is read as a polynomial: terms with number coefficients, over monomials of atoms (symbols, quotients,
 * remainders, minima, maxima), and a number. Written back, terms are in graded lexicographic order with the number
 * last, atoms in a monomial by code. Quotients keep only what does not divide: floor((a*q + r) / a) is
 * q + floor(r / a), nested ones are joined, and ceil(a / b) is floor((a + b - 1) / b). */
#include "tensor/dims.h"
#include "base/checked.h"
#include <string.h>

enum { MAX_TERMS = 48, MAX_ATOMS = 24, MAX_WEIGHT = 1024, MAX_OPERANDS = 16 };

static const int64_t named_high = (int64_t)1 << 40;

typedef struct poly {
  int count;
  int64_t coefficient[MAX_TERMS], monomial[MAX_TERMS]; /* monomials are codes */
  int64_t number;
} poly;

static int64_t fail(hone_dims *dims) {
  dims->failed = true;
  return 0;
}

static int64_t code_of(int index) { return HONE_SYMBOL_BASE - index; }

void hn_dims_init(hone_dims *dims, hn_arena *arena) { *dims = (hone_dims){.arena = arena}; }

const hn_dim_node *hn_dim_at(const hone_dims *dims, int64_t dim) {
  if (!HONE_SYMBOLIC(dim) || HONE_SYMBOL_BASE - dim >= dims->node_count) return NULL;
  return &dims->nodes[HONE_SYMBOL_BASE - dim];
}

const hn_dim_symbol *hn_dim_symbol_at(const hone_dims *dims, int64_t dim, int *out_number) {
  const hn_dim_node *node = hn_dim_at(dims, dim);
  if (out_number) *out_number = -1;
  if (!node || node->op != HN_DIM_SYMBOL || node->a < 0 || node->a >= dims->symbol_count) return NULL;
  if (out_number) *out_number = (int)node->a;
  return &dims->symbols[node->a];
}

/* ---- the table ---- */

static uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t z = (a ^ (b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2))) * 0xbf58476d1ce4e5b9u;
  return z ^ (z >> 29);
}

static uint64_t hash_name(const char *name) {
  uint64_t hash = 0x94d049bb133111ebu;
  for (; *name; ++name) hash = mix(hash, (unsigned char)*name);
  return hash;
}

static uint64_t hash_node(const hone_dims *dims, const hn_dim_node *node) {
  if (node->op == HN_DIM_SYMBOL) return hash_name(dims->symbols[node->a].name);
  return mix(mix((uint64_t)node->op, (uint64_t)node->a), (uint64_t)node->b);
}

static void put_bucket(const hone_dims *dims, int *buckets, int bucket_count, int index) {
  uint64_t at = hash_node(dims, &dims->nodes[index]);
  while (buckets[at & (uint64_t)(bucket_count - 1)]) ++at;
  buckets[at & (uint64_t)(bucket_count - 1)] = index + 1;
}

/* Room for one more node, with at most half of the buckets in use. */
static bool make_room(hone_dims *dims) {
  if (!dims->arena || dims->node_count >= INT32_MAX / 4) return false;
  if (!hn_arena_grow(dims->arena, (void **)&dims->nodes, &dims->node_capacity, dims->node_count + 1,
                     sizeof *dims->nodes))
    return false;
  if (dims->node_count < dims->bucket_count / 2) return true;
  const int count = dims->bucket_count ? dims->bucket_count * 2 : 64;
  int *buckets = HN_NEW(dims->arena, int, count);
  if (!buckets) return false;
  for (int i = 0; i < dims->node_count; ++i) put_bucket(dims, buckets, count, i);
  dims->buckets = buckets;
  dims->bucket_count = count;
  return true;
}

static int weight_of(const hone_dims *dims, int64_t dim) {
  const hn_dim_node *node = hn_dim_at(dims, dim);
  return node ? node->weight : 1;
}

static int64_t add_node(hone_dims *dims, hn_dim_node node) {
  if (dims->failed || !make_room(dims)) return fail(dims);
  dims->nodes[dims->node_count] = node;
  put_bucket(dims, dims->buckets, dims->bucket_count, dims->node_count);
  return code_of(dims->node_count++);
}

/* The node itself, found or made, with no simplification. */
static int64_t intern(hone_dims *dims, hn_dim_op op, int64_t a, int64_t b) {
  const hn_dim_node node = {op, 1 + weight_of(dims, a) + weight_of(dims, b), a, b};
  if (dims->failed || node.weight > MAX_WEIGHT) return fail(dims);
  if (dims->bucket_count) {
    for (uint64_t at = hash_node(dims, &node);; ++at) {
      const int index = dims->buckets[at & (uint64_t)(dims->bucket_count - 1)] - 1;
      if (index < 0) break;
      const hn_dim_node *other = &dims->nodes[index];
      if (other->op == op && other->a == a && other->b == b) return code_of(index);
    }
  }
  return add_node(dims, node);
}

static int64_t find_symbol(const hone_dims *dims, const char *name) {
  if (!dims->bucket_count) return 0;
  for (uint64_t at = hash_name(name);; ++at) {
    const int index = dims->buckets[at & (uint64_t)(dims->bucket_count - 1)] - 1;
    if (index < 0) return 0;
    const hn_dim_node *node = &dims->nodes[index];
    if (node->op == HN_DIM_SYMBOL && strcmp(dims->symbols[node->a].name, name) == 0) return code_of(index);
  }
}

/* name is kept: it lies in the arena. */
static int64_t add_symbol(hone_dims *dims, const char *name, bool after_run, int64_t high) {
  if (dims->failed || !name ||
      !hn_arena_grow(dims->arena, (void **)&dims->symbols, &dims->symbol_capacity, dims->symbol_count + 1,
                     sizeof *dims->symbols))
    return fail(dims);
  dims->symbols[dims->symbol_count] = (hn_dim_symbol){name, 0, high, after_run};
  return add_node(dims, (hn_dim_node){HN_DIM_SYMBOL, 1, dims->symbol_count++, 0});
}

int64_t hn_dim_named(hone_dims *dims, const char *name) {
  const int64_t found = find_symbol(dims, name);
  if (found) return found;
  return dims->arena ? add_symbol(dims, hn_arena_text(dims->arena, name), false, named_high) : fail(dims);
}

int64_t hn_dim_fresh(hone_dims *dims, const char *prefix, bool after_run, int64_t high) {
  if (!dims->arena) return fail(dims);
  for (int number = dims->symbol_count;; ++number) {
    const char *name = hn_arena_printf(dims->arena, "%s#%d", prefix, number);
    if (!name) return fail(dims);
    if (!find_symbol(dims, name)) return add_symbol(dims, name, after_run, high);
  }
}

/* ---- polynomials ---- */

/* The atoms of a monomial, by code. */
static int atoms_of(const hone_dims *dims, int64_t monomial, int64_t *atoms) {
  int count = 0;
  for (const hn_dim_node *node; (node = hn_dim_at(dims, monomial)) && node->op == HN_DIM_MUL && count < MAX_ATOMS - 1;
       monomial = node->b)
    atoms[count++] = node->a;
  atoms[count++] = monomial;
  return count;
}

static int64_t monomial_of(hone_dims *dims, int count, const int64_t *atoms) {
  int64_t monomial = atoms[count - 1];
  for (int i = count - 2; i >= 0; --i) monomial = intern(dims, HN_DIM_MUL, atoms[i], monomial);
  return monomial;
}

static int64_t multiply_monomials(hone_dims *dims, int64_t a, int64_t b) {
  int64_t x[MAX_ATOMS], y[MAX_ATOMS], merged[2 * MAX_ATOMS];
  const int x_count = atoms_of(dims, a, x), y_count = atoms_of(dims, b, y);
  if (x_count + y_count > MAX_ATOMS) return fail(dims);
  int count = 0;
  for (int i = 0, j = 0; i < x_count || j < y_count;)
    merged[count++] = j == y_count || (i < x_count && x[i] >= y[j]) ? x[i++] : y[j++];
  return monomial_of(dims, count, merged);
}

/* a / b as a monomial into *out (0 when it is the number 1); false when b does not divide a. */
static bool divide_monomials(hone_dims *dims, int64_t a, int64_t b, int64_t *out) {
  int64_t x[MAX_ATOMS], y[MAX_ATOMS], rest[MAX_ATOMS];
  const int x_count = atoms_of(dims, a, x), y_count = atoms_of(dims, b, y);
  int count = 0, j = 0;
  for (int i = 0; i < x_count; ++i) {
    if (j < y_count && x[i] == y[j])
      ++j;
    else
      rest[count++] = x[i];
  }
  if (j < y_count) return false;
  *out = count ? monomial_of(dims, count, rest) : 0;
  return true;
}

/* Graded lexicographic order: > 0 when a comes first. Earlier symbols count as larger. */
static int monomial_order(const hone_dims *dims, int64_t a, int64_t b) {
  int64_t x[MAX_ATOMS], y[MAX_ATOMS];
  if (a == b) return 0;
  const int x_count = atoms_of(dims, a, x), y_count = atoms_of(dims, b, y);
  if (x_count != y_count) return x_count - y_count;
  for (int i = 0; i < x_count; ++i)
    if (x[i] != y[i]) return x[i] > y[i] ? 1 : -1;
  return 0;
}

/* Adds coefficient * monomial at its place. monomial 0: the number. */
static bool poly_add_term(hone_dims *dims, poly *p, int64_t coefficient, int64_t monomial) {
  if (coefficient == 0 || dims->failed) return !dims->failed;
  if (!HONE_SYMBOLIC(monomial)) return hn_add_i64(p->number, coefficient, &p->number) || fail(dims);
  int at = 0;
  while (at < p->count && monomial_order(dims, p->monomial[at], monomial) > 0) ++at;
  if (at < p->count && p->monomial[at] == monomial) {
    if (!hn_add_i64(p->coefficient[at], coefficient, &p->coefficient[at])) return fail(dims);
    if (p->coefficient[at] != 0) return true;
    --p->count;
    for (int i = at; i < p->count; ++i) {
      p->coefficient[i] = p->coefficient[i + 1];
      p->monomial[i] = p->monomial[i + 1];
    }
    return true;
  }
  if (p->count == MAX_TERMS) return fail(dims);
  for (int i = p->count++; i > at; --i) {
    p->coefficient[i] = p->coefficient[i - 1];
    p->monomial[i] = p->monomial[i - 1];
  }
  p->coefficient[at] = coefficient;
  p->monomial[at] = monomial;
  return true;
}

static void poly_add_dim(hone_dims *dims, poly *p, int64_t dim, int64_t factor) {
  while (!dims->failed) {
    const hn_dim_node *node = hn_dim_at(dims, dim);
    int64_t term = node && node->op == HN_DIM_ADD ? node->a : dim, coefficient = factor;
    const hn_dim_node *product = hn_dim_at(dims, term);
    const int64_t number = !product ? term : product->op == HN_DIM_MUL && !HONE_SYMBOLIC(product->a) ? product->a : 1;
    if (!hn_mul_i64(factor, number, &coefficient))
      fail(dims);
    else
      poly_add_term(dims, p, coefficient, !product ? 0 : number == 1 ? term : product->b);
    if (!node || node->op != HN_DIM_ADD) return;
    dim = node->b;
  }
}

static int64_t number_dim(hone_dims *dims, int64_t number) {
  return number <= HONE_SYMBOL_BASE ? fail(dims) : number; /* it would read as a symbol */
}

static int64_t term_dim(hone_dims *dims, int64_t coefficient, int64_t monomial) {
  return coefficient == 1 ? monomial : intern(dims, HN_DIM_MUL, number_dim(dims, coefficient), monomial);
}

static int64_t poly_dim(hone_dims *dims, const poly *p) {
  int64_t sum = number_dim(dims, p->number);
  for (int i = p->count - 1; i >= 0; --i) {
    const int64_t term = term_dim(dims, p->coefficient[i], p->monomial[i]);
    sum = sum == 0 ? term : intern(dims, HN_DIM_ADD, term, sum);
  }
  return dims->failed ? 0 : sum;
}

static void poly_add_product(hone_dims *dims, poly *p, const poly *a, int64_t coefficient, int64_t monomial) {
  for (int i = 0; i <= a->count && !dims->failed; ++i) {
    const int64_t own = i < a->count ? a->coefficient[i] : a->number;
    int64_t product, joined = i < a->count ? a->monomial[i] : 0;
    if (own == 0) continue;
    if (!hn_mul_i64(own, coefficient, &product)) fail(dims);
    if (monomial && joined)
      joined = multiply_monomials(dims, joined, monomial);
    else if (monomial)
      joined = monomial;
    if (!dims->failed) poly_add_term(dims, p, product, joined);
  }
}

/* ---- arithmetic ---- */

int64_t hn_dim_add(hone_dims *dims, int64_t a, int64_t b) {
  poly p = {.number = 0};
  poly_add_dim(dims, &p, a, 1);
  poly_add_dim(dims, &p, b, 1);
  return poly_dim(dims, &p);
}

int64_t hn_dim_sub(hone_dims *dims, int64_t a, int64_t b) {
  poly p = {.number = 0};
  poly_add_dim(dims, &p, a, 1);
  poly_add_dim(dims, &p, b, -1);
  return poly_dim(dims, &p);
}

int64_t hn_dim_mul(hone_dims *dims, int64_t a, int64_t b) {
  poly x = {.number = 0}, y = {.number = 0}, product = {.number = 0};
  poly_add_dim(dims, &x, a, 1);
  poly_add_dim(dims, &y, b, 1);
  for (int i = 0; i < y.count; ++i) poly_add_product(dims, &product, &x, y.coefficient[i], y.monomial[i]);
  poly_add_product(dims, &product, &x, y.number, 0);
  return poly_dim(dims, &product);
}

int64_t hn_dim_product(hone_dims *dims, int count, const int64_t *items) {
  int64_t product = 1;
  for (int i = 0; i < count; ++i) product = hn_dim_mul(dims, product, items[i]);
  return product;
}

static int64_t floor_quotient(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

static int64_t common_divisor(int64_t a, int64_t b) {
  uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
  while (y) {
    const uint64_t rest = x % y;
    x = y;
    y = rest;
  }
  return x > INT64_MAX ? 1 : (int64_t)x;
}

/* Polynomial long division; true when nothing is left. */
static bool divide_exactly(hone_dims *dims, poly rest, const poly *divisor, poly *out) {
  *out = (poly){.number = 0};
  if (divisor->count == 0) return false;
  for (int step = 0; step < MAX_TERMS && rest.count > 0; ++step) {
    int64_t monomial;
    if (rest.coefficient[0] % divisor->coefficient[0] != 0) return false;
    if (!divide_monomials(dims, rest.monomial[0], divisor->monomial[0], &monomial)) return false;
    const int64_t coefficient = rest.coefficient[0] / divisor->coefficient[0];
    poly_add_term(dims, out, coefficient, monomial);
    poly_add_product(dims, &rest, divisor, -coefficient, monomial);
    if (dims->failed) return false;
  }
  return rest.count == 0 && rest.number == 0;
}

/* Moves what the number b divides from p to *whole; the coefficients and the number left are in [0, b). */
static void split_by_number(hone_dims *dims, poly *p, int64_t b, poly *whole) {
  const poly all = *p;
  *p = (poly){.number = 0};
  for (int i = 0; i <= all.count; ++i) {
    const int64_t coefficient = i < all.count ? all.coefficient[i] : all.number;
    const int64_t monomial = i < all.count ? all.monomial[i] : 0, quotient = floor_quotient(coefficient, b);
    poly_add_term(dims, whole, quotient, monomial);
    poly_add_term(dims, p, coefficient - quotient * b, monomial);
  }
}

/* The same for a single term as divisor: terms that it divides, monomial and coefficient. */
static void split_by_term(hone_dims *dims, poly *p, const poly *b, poly *whole) {
  const poly all = *p;
  *p = (poly){.number = all.number};
  for (int i = 0; i < all.count; ++i) {
    int64_t monomial;
    if (all.coefficient[i] % b->coefficient[0] == 0 &&
        divide_monomials(dims, all.monomial[i], b->monomial[0], &monomial))
      poly_add_term(dims, whole, all.coefficient[i] / b->coefficient[0], monomial);
    else
      poly_add_term(dims, p, all.coefficient[i], all.monomial[i]);
  }
}

/* Divides both by what their numbers have in common. The number of the numerator may round down: the quotient by a
 * whole number is not changed by a fraction of one. */
static void reduce_numbers(poly *p, poly *b) {
  int64_t divisor = b->number;
  for (int i = 0; i < b->count; ++i) divisor = common_divisor(divisor, b->coefficient[i]);
  for (int i = 0; i < p->count; ++i) divisor = common_divisor(divisor, p->coefficient[i]);
  if (divisor <= 1) return;
  for (int i = 0; i < p->count; ++i) p->coefficient[i] /= divisor;
  for (int i = 0; i < b->count; ++i) b->coefficient[i] /= divisor;
  p->number = floor_quotient(p->number, divisor);
  b->number /= divisor;
}

/* Drops atoms that every term of p and the single term b have. */
static void reduce_atoms(hone_dims *dims, poly *p, poly *b) {
  int64_t atoms[MAX_ATOMS];
  if (b->count != 1 || b->number != 0 || p->number != 0) return;
  const int count = atoms_of(dims, b->monomial[0], atoms);
  for (int i = 0; i < count; ++i) {
    poly quotients = {.number = 0}, divisor = {.number = 0};
    int64_t monomial;
    bool all = b->count == 1;
    for (int j = 0; all && j < p->count; ++j) {
      all = divide_monomials(dims, p->monomial[j], atoms[i], &monomial);
      if (all) poly_add_term(dims, &quotients, p->coefficient[j], monomial);
    }
    if (!all || dims->failed || !divide_monomials(dims, b->monomial[0], atoms[i], &monomial)) continue;
    poly_add_term(dims, &divisor, b->coefficient[0], monomial);
    *p = quotients;
    *b = divisor;
    if (p->number != 0) return;
  }
}

/* floor((floor(x / a) + r) / b) = floor((x + r*a) / (a*b)) for numbers a, b, r. */
static bool join_nested(hone_dims *dims, const poly *p, int64_t b, int64_t *out) {
  if (p->count != 1 || p->coefficient[0] != 1) return false;
  const hn_dim_node *node = hn_dim_at(dims, p->monomial[0]);
  if (!node || node->op != HN_DIM_FLOOR_DIV || HONE_SYMBOLIC(node->b)) return false;
  const int64_t x = node->a, a = node->b;
  int64_t more, product;
  if (!hn_mul_i64(p->number, a, &more) || !hn_mul_i64(a, b, &product)) return false;
  *out = hn_dim_floor_div(dims, hn_dim_add(dims, x, more), product);
  return true;
}

/* What is left of a quotient, as an atom. */
static int64_t quotient_atom(hone_dims *dims, const poly *p, const poly *b) {
  int64_t joined;
  if (b->count == 0 && b->number == 1) return poly_dim(dims, p);
  if (b->count == 0 && p->count == 0) return number_dim(dims, floor_quotient(p->number, b->number));
  if (b->count == 0 && join_nested(dims, p, b->number, &joined)) return joined;
  const int64_t numerator = poly_dim(dims, p), divisor = poly_dim(dims, b);
  if (numerator == 0) return 0;
  int64_t low, high, divisor_low, divisor_high;
  if (hn_dim_bounds(dims, numerator, &low, &high) && hn_dim_bounds(dims, divisor, &divisor_low, &divisor_high) &&
      low >= 0 && high < divisor_low)
    return 0;
  return dims->failed ? 0 : intern(dims, HN_DIM_FLOOR_DIV, numerator, divisor);
}

int64_t hn_dim_floor_div(hone_dims *dims, int64_t a, int64_t b) {
  if (!HONE_SYMBOLIC(b) && b <= 0) return fail(dims);
  poly p = {.number = 0}, divisor = {.number = 0}, whole = {.number = 0};
  poly_add_dim(dims, &p, a, 1);
  poly_add_dim(dims, &divisor, b, 1);
  if (dims->failed) return 0;
  if (divide_exactly(dims, p, &divisor, &whole)) return poly_dim(dims, &whole);
  whole = (poly){.number = 0};
  reduce_atoms(dims, &p, &divisor);
  reduce_numbers(&p, &divisor);
  if (divisor.count == 0)
    split_by_number(dims, &p, divisor.number, &whole);
  else if (divisor.count == 1 && divisor.number == 0)
    split_by_term(dims, &p, &divisor, &whole);
  if (dims->failed || (p.count == 0 && p.number == 0)) return poly_dim(dims, &whole);
  if (whole.count == 0 && whole.number == 0) return quotient_atom(dims, &p, &divisor);
  /* What is left may have more in common with the divisor; it is smaller, so this ends. */
  const int64_t rest = hn_dim_floor_div(dims, poly_dim(dims, &p), poly_dim(dims, &divisor));
  poly_add_dim(dims, &whole, rest, 1);
  return poly_dim(dims, &whole);
}

int64_t hn_dim_ceil_div(hone_dims *dims, int64_t a, int64_t b) {
  if (!HONE_SYMBOLIC(b) && b <= 0) return fail(dims);
  return hn_dim_floor_div(dims, hn_dim_sub(dims, hn_dim_add(dims, a, b), 1), b);
}

int64_t hn_dim_mod(hone_dims *dims, int64_t a, int64_t b) {
  if (!HONE_SYMBOLIC(b) && b <= 0) return fail(dims);
  poly p = {.number = 0}, divisor = {.number = 0}, whole = {.number = 0};
  poly_add_dim(dims, &p, a, 1);
  poly_add_dim(dims, &divisor, b, 1);
  if (dims->failed || divide_exactly(dims, p, &divisor, &whole)) return 0;
  if (divisor.count == 0)
    split_by_number(dims, &p, divisor.number, &whole);
  else if (divisor.count == 1 && divisor.number == 0)
    split_by_term(dims, &p, &divisor, &whole);
  const int64_t rest = poly_dim(dims, &p);
  int64_t low, high, divisor_low, divisor_high;
  if (!HONE_SYMBOLIC(rest) && !HONE_SYMBOLIC(b)) return rest;
  if (rest == 0 || dims->failed) return 0;
  if (hn_dim_bounds(dims, rest, &low, &high) && hn_dim_bounds(dims, b, &divisor_low, &divisor_high) && low >= 0 &&
      high < divisor_low)
    return rest;
  return intern(dims, HN_DIM_MOD, rest, b);
}

/* Operands of a nest of the same operation, each once, by code; numbers are joined into the last one. */
static bool gather(hone_dims *dims, hn_dim_op op, int64_t dim, int64_t *items, int *count, int64_t *number, bool *any) {
  const hn_dim_node *node = hn_dim_at(dims, dim);
  if (node && node->op == op) {
    const int64_t a = node->a, b = node->b;
    return gather(dims, op, a, items, count, number, any) && gather(dims, op, b, items, count, number, any);
  }
  if (!node) {
    if (!*any || (op == HN_DIM_MIN ? dim < *number : dim > *number)) *number = dim;
    *any = true;
    return true;
  }
  int at = 0;
  while (at < *count && items[at] > dim) ++at;
  if (at < *count && items[at] == dim) return true;
  if (*count == MAX_OPERANDS) return false;
  for (int i = (*count)++; i > at; --i) items[i] = items[i - 1];
  items[at] = dim;
  return true;
}

/* Drops every operand that another one surely reaches or exceeds. */
static int drop_dominated(hone_dims *dims, hn_dim_op op, int64_t *items, int count) {
  bool dropped[MAX_OPERANDS + 1] = {false};
  int kept = 0;
  for (int i = 0; i < count; ++i) {
    for (int j = i + 1; j < count && !dropped[i]; ++j) {
      int64_t low, high;
      if (dropped[j]) continue;
      const int64_t difference = hn_dim_sub(dims, items[i], items[j]);
      if (dims->failed) return count;
      (void)hn_dim_bounds(dims, difference, &low, &high);
      if (op == HN_DIM_MAX ? low >= 0 : high <= 0)
        dropped[j] = true;
      else if (op == HN_DIM_MAX ? high <= 0 : low >= 0)
        dropped[i] = true;
    }
  }
  for (int i = 0; i < count; ++i)
    if (!dropped[i]) items[kept++] = items[i];
  return kept;
}

static int64_t extreme(hone_dims *dims, hn_dim_op op, int64_t a, int64_t b) {
  int64_t items[MAX_OPERANDS + 1], number = 0;
  int count = 0;
  bool any = false;
  if (!gather(dims, op, a, items, &count, &number, &any) || !gather(dims, op, b, items, &count, &number, &any))
    return intern(dims, op, a, b);
  if (any) items[count++] = number;
  count = drop_dominated(dims, op, items, count);
  int64_t result = items[count - 1];
  for (int i = count - 2; i >= 0; --i) result = intern(dims, op, items[i], result);
  return dims->failed ? 0 : result;
}

int64_t hn_dim_min(hone_dims *dims, int64_t a, int64_t b) { return extreme(dims, HN_DIM_MIN, a, b); }
int64_t hn_dim_max(hone_dims *dims, int64_t a, int64_t b) { return extreme(dims, HN_DIM_MAX, a, b); }

int64_t hn_dim_make(hone_dims *dims, hn_dim_op op, int64_t a, int64_t b) {
  switch (op) {
  case HN_DIM_ADD: return hn_dim_add(dims, a, b);
  case HN_DIM_MUL: return hn_dim_mul(dims, a, b);
  case HN_DIM_FLOOR_DIV: return hn_dim_floor_div(dims, a, b);
  case HN_DIM_CEIL_DIV: return hn_dim_ceil_div(dims, a, b);
  case HN_DIM_MOD: return hn_dim_mod(dims, a, b);
  case HN_DIM_MIN: return hn_dim_min(dims, a, b);
  case HN_DIM_MAX: return hn_dim_max(dims, a, b);
  default: return fail(dims);
  }
}
