/* SPDX-License-Identifier: Apache-2.0 */
/* dims.h - dims as expressions over named symbols. A dim is an int64_t: a number, or (HONE_SYMBOLIC) the code of an
 * expression in a table. Expressions are hash-consed and kept canonical (sums sorted with like terms joined, products
 * flattened, exact quotients cancelled), so that equal expressions have equal codes.
 * Errors stick in the table (failed) and give 0: memory, overflow, or an expression beyond a bound on its size.
 * A table without an arena is fine for arithmetic on numbers. */
#ifndef HN_TENSOR_DIMS_H
#define HN_TENSOR_DIMS_H

#include "base/memory.h"
#include "base/text.h"
#include <hone/op.h>

typedef enum hn_dim_op {
  HN_DIM_SYMBOL,
  HN_DIM_ADD,
  HN_DIM_MUL,
  HN_DIM_FLOOR_DIV,
  HN_DIM_CEIL_DIV,
  HN_DIM_MOD,
  HN_DIM_MIN,
  HN_DIM_MAX
} hn_dim_op;

/* a and b are dims (numbers or codes). For SYMBOL, a is the symbol's number. */
typedef struct hn_dim_node {
  hn_dim_op op;
  int weight; /* nodes of the tree, shared ones counted every time; bounded, so that walks are */
  int64_t a, b;
} hn_dim_node;

typedef struct hn_dim_symbol {
  const char *name;
  int64_t low, high; /* inclusive bounds; a plain dim has low 0 */
  bool after_run;    /* known only when the step that makes it has run */
} hn_dim_symbol;

struct hone_dims {
  hn_arena *arena;
  hn_dim_node *nodes;
  int node_count, node_capacity;
  hn_dim_symbol *symbols;
  int symbol_count, symbol_capacity;
  int *buckets; /* hash of nodes */
  int bucket_count;
  bool failed;
};

void hn_dims_init(hone_dims *dims, hn_arena *arena);
bool hn_dims_copy(hone_dims *to, const hone_dims *from); /* into to's arena, with the same codes; false: no memory */
int64_t hn_dim_named(hone_dims *dims,
                     const char *name); /* the symbol of that name, made on first use; bounds [0, 2^40] */
int64_t hn_dim_fresh(hone_dims *dims, const char *prefix, bool after_run, int64_t high); /* a new symbol "prefix#n" */
const hn_dim_node *hn_dim_at(const hone_dims *dims, int64_t dim);                        /* NULL for a number */
const hn_dim_symbol *hn_dim_symbol_at(const hone_dims *dims, int64_t dim, int *out_number); /* NULL unless SYMBOL */

/* Arithmetic that folds numbers and simplifies; dims may be numbers of any sign. Division by a number <= 0 is a bug. */
int64_t hn_dim_add(hone_dims *dims, int64_t a, int64_t b);
int64_t hn_dim_sub(hone_dims *dims, int64_t a, int64_t b);
int64_t hn_dim_mul(hone_dims *dims, int64_t a, int64_t b);
int64_t hn_dim_floor_div(hone_dims *dims, int64_t a,
                         int64_t b); /* exact quotients of products cancel, symbols are > 0 there */
int64_t hn_dim_ceil_div(hone_dims *dims, int64_t a, int64_t b);
int64_t hn_dim_mod(hone_dims *dims, int64_t a, int64_t b);
int64_t hn_dim_min(hone_dims *dims, int64_t a, int64_t b);
int64_t hn_dim_max(hone_dims *dims, int64_t a, int64_t b);
/* General builder used by readers: op with already canonical operands. */
int64_t hn_dim_make(hone_dims *dims, hn_dim_op op, int64_t a, int64_t b);
int64_t hn_dim_product(hone_dims *dims, int count, const int64_t *items);

bool hn_dim_bounds(const hone_dims *dims, int64_t dim, int64_t *out_low,
                   int64_t *out_high);                        /* false: unbounded or unknown */
bool hn_dim_is_after_run(const hone_dims *dims, int64_t dim); /* depends on an after_run symbol */
/* The number for given symbol values (indexed by symbol number; -1: not known yet). false when a needed symbol is not
 * known, or on overflow or division by zero. */
bool hn_dim_eval(const hone_dims *dims, int64_t dim, const int64_t *values, int value_count, int64_t *out);
bool hn_shape_eval(const hone_dims *dims, const hone_shape *shape, const int64_t *values, int value_count,
                   hone_shape *out);

/* "N", "2*N+1", "floor(H/2)": text that hn_dim_parse reads back. */
void hn_text_dim(hn_text *text, int64_t dim, const hone_dims *dims);
bool hn_dim_parse(hone_dims *dims, const char *text, size_t length, int64_t *out);

#endif
