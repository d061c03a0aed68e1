/* SPDX-License-Identifier: Apache-2.0 */
/* rules_nbits.c - a product with constant weights of few bits, dequantised by blocks along their inner axis, keeps them
 * packed. It stands before constants are folded, which would make f32 of them: eight times the bytes, and with few rows
 * a product waits for those. */
#include "pass/passes.h"
#include "pass/rule_help.h"
#include "tensor/element.h"
#include "tensor/shape.h"

enum { ZERO = 2, MOST_ROWS = 64 };

/* Free extents are taken as few: the weights' memory counts then. */
static bool has_few_rows(const hone_shape *x) {
  int64_t rows = 1;
  for (int i = 0; i + 1 < x->rank; ++i)
    if (!HONE_SYMBOLIC(x->dim[i]) && (rows *= x->dim[i]) > MOST_ROWS) return false;
  return true;
}

/* inner: the axis of w that is summed over. */
static const char *when_blocked(const hn_match *match, int inner) {
  const hn_node *e = hn_bound_node(match, "e");
  const hone_shape *w = &hn_bound_type(match, "w")->shape, *x = &hn_bound_type(match, "x")->shape;
  const hn_value *zero = hn_input(e, ZERO), *scale = hn_bound(match, "s");
  const int64_t block = hn_attr_int(&e->attrs, "block_size"), axis = hn_attr_int(&e->attrs, "axis");
  if (block == 0) return ""; /* one scale for all or for each channel: folding makes f32 weights of them */
  if (w->rank != 2 || !hn_shape_known(w) || x->rank < 1) return "the weights are no matrix";
  if ((axis < 0 ? axis + 2 : axis) != inner) return "the blocks are not along the inner axis";
  if (scale->fact.type.dtype != HONE_F32 || hn_bound_type(match, "x")->dtype != HONE_F32)
    return "input or scales are not f32";
  if (zero && !hn_value_is_constant(zero)) return "the zero points are not constant";
  if (hone_dtype_bits(hn_bound_type(match, "w")->dtype) > 8) return "the weights have more than 8 bits";
  return has_few_rows(x) ? NULL : "with many rows weights of f32 are faster";
}

static const char *when_matmul(const hn_match *match) { return when_blocked(match, 0); }
static const char *when_gemm(const hn_match *match) { return when_blocked(match, 1); }

/* One summand for each output. */
static const char *when_bias(const hn_match *match) {
  const hone_type *y = hn_bound_type(match, "c"), *b = hn_bound_type(match, "b"), *w = hn_bound_type(match, "w");
  if (b->dtype != HONE_F32 || !hn_shape_known(&b->shape) || hn_elems(&b->shape) != w->shape.dim[0])
    return "the constant is not one for each output";
  return hn_varies_only_along(b, y, y->shape.rank - 1) ? NULL : "the constant does not vary along the outputs only";
}

/* The constant as [outputs, inner]. */
static hone_status bind_rows(hn_match *match, const char *name, const hn_value *value, bool swap) {
  hone_graph *graph = match->run->graph;
  const hone_tensor *from = value->fact.constant;
  const int64_t rows = from->type.shape.dim[0], columns = from->type.shape.dim[1];
  const int64_t dims[2] = {swap ? columns : rows, swap ? rows : columns};
  hone_tensor to = {.type = hn_tensor_type(from->type.dtype, 2, dims)};
  to.bytes = hn_bytes(&to.type);
  to.data = hn_arena_alloc(&graph->arena, to.bytes + 1, 64);
  if (!to.data) return HN_FAIL_MEMORY(&graph->context->diag);
  for (int64_t i = 0; i < dims[0]; ++i)
    for (int64_t j = 0; j < dims[1]; ++j) {
      const int64_t at = swap ? j * columns + i : i * columns + j;
      if (hn_dtype_is_float(from->type.dtype))
        hn_store_real(&to, i * dims[1] + j, hn_real(from, at));
      else
        hn_store_int(&to, i * dims[1] + j, hn_int(from, at));
    }
  return hn_bind(match, name, hn_constant_create(graph, NULL, &to, true));
}

static hone_status make_rows(hn_match *match, bool swap) {
  const hn_node *e = hn_bound_node(match, "e");
  const hn_value *zero = hn_input(e, ZERO);
  HN_TRY(bind_rows(match, "rows", hn_bound(match, "w"), swap));
  HN_TRY(bind_rows(match, "scales", hn_bound(match, "s"), swap));
  if (zero) return bind_rows(match, "zeros", zero, swap);
  hn_value *none = hn_constant_scalar(match->run->graph, hn_bound_type(match, "w")->dtype, 0);
  return none ? hn_bind(match, "zeros", none) : HONE_NO_MEMORY;
}

static hone_status make_matmul(hn_match *match) { return make_rows(match, true); }
static hone_status make_gemm(hn_match *match) { return make_rows(match, false); }

const hn_rewrite hn_rules_nbits[] = {
    {.name = "blocked_weights_of_matmul",
     .find = "matmul(x, e:dequantize_linear(w:const, s:const, ...))",
     .put = "matmul_nbits[block_size=e.block_size](x, rows, scales, zeros)",
     .when = when_matmul,
     .make = make_matmul,
     .why = "packed weights are read instead of floats"},
    {.name = "blocked_weights_of_gemm",
     .find = "gemm[alpha=1, transA=0, transB=1](x, e:dequantize_linear(w:const, s:const, ...))",
     .put = "matmul_nbits[block_size=e.block_size](x, rows, scales, zeros)",
     .when = when_gemm,
     .make = make_gemm,
     .why = "packed weights are read instead of floats"},
    {.name = "blocked_weights_of_biased_gemm",
     .find = "gemm[alpha=1, beta=1, transA=0, transB=1](x, e:dequantize_linear(w:const, s:const, ...), b)",
     .put = "add(matmul_nbits[block_size=e.block_size](x, rows, scales, zeros), b)",
     .when = when_gemm,
     .make = make_gemm,
     .why = "packed weights are read instead of floats"},
    {.name = "blocked_weights_of_plain_gemm",
     .find = "gemm[alpha=1, transA=0, transB=0](x, e:dequantize_linear(w:const, s:const, ...))",
     .put = "matmul_nbits[block_size=e.block_size](x, rows, scales, zeros)",
     .when = when_matmul,
     .make = make_matmul,
     .why = "packed weights are read instead of floats"},
    {.name = "blocked_weights_of_plain_biased_gemm",
     .find = "gemm[alpha=1, beta=1, transA=0, transB=0](x, e:dequantize_linear(w:const, s:const, ...), b)",
     .put = "add(matmul_nbits[block_size=e.block_size](x, rows, scales, zeros), b)",
     .when = when_matmul,
     .make = make_matmul,
     .why = "packed weights are read instead of floats"},
    {.name = "bias_into_matmul_nbits",
     .find = "add(c:matmul_nbits(x, w, s, z), b:const)",
     .put = "c(x, w, s, z, reshape(b, flat))",
     .when = when_bias,
     .make = hn_make_flat,
     .why = "the bias is added while the sums are in registers"},
    {0}};

/* ---- products of one input side by side ---- */

/* As the zeros of one product: those of `count` products, [all rows, blocks]; the one scalar where all have the same.
 */
static hone_status bind_zeros(hn_match *match, const char *const *names, int count) {
  hone_graph *graph = match->run->graph;
  const hn_value *first = hn_bound(match, names[0]);
  if (hn_elems(&first->fact.type.shape) == 1) return hn_bind(match, "zeros", hn_bound(match, names[0]));
  int64_t rows = 0, at = 0;
  for (int i = 0; i < count; ++i) rows += hn_bound_type(match, names[i])->shape.dim[0];
  const int64_t dims[2] = {rows, first->fact.type.shape.dim[1]};
  hone_tensor all = {.type = hn_tensor_type(first->fact.type.dtype, 2, dims)};
  all.bytes = hn_bytes(&all.type);
  all.data = hn_arena_alloc(&graph->arena, all.bytes + 1, 64);
  if (!all.data) return HN_FAIL_MEMORY(&graph->context->diag);
  for (int i = 0; i < count; ++i) {
    const hone_tensor *zeros = hn_bound(match, names[i])->fact.constant;
    for (int64_t j = 0; j < hn_elems(&zeros->type.shape); ++j) hn_store_int(&all, at++, hn_int(zeros, j));
  }
  return hn_bind(match, "zeros", hn_constant_create(graph, NULL, &all, true));
}

/* Weights, scales and zeros of both can stand in one tensor each. */
static const char *when_beside(const hn_match *match, const char *const *a, const char *const *b) {
  enum { NODE, WEIGHTS, SCALES, ZEROS };
  if (hn_attr_int(&hn_bound_node(match, a[NODE])->attrs, "block_size") !=
      hn_attr_int(&hn_bound_node(match, b[NODE])->attrs, "block_size"))
    return "the blocks have other sizes";
  const hone_type *w = hn_bound_type(match, a[WEIGHTS]), *v = hn_bound_type(match, b[WEIGHTS]);
  if (w->dtype != v->dtype || w->shape.dim[1] != v->shape.dim[1]) return "the weights have other types";
  if (hn_bound_type(match, a[SCALES])->dtype != hn_bound_type(match, b[SCALES])->dtype)
    return "the scales have other types";
  const hone_tensor *z = hn_bound(match, a[ZEROS])->fact.constant, *y = hn_bound(match, b[ZEROS])->fact.constant;
  const bool one = hn_elems(&z->type.shape) == 1;
  if (z->type.dtype != y->type.dtype || one != (hn_elems(&y->type.shape) == 1))
    return "the zero points have other types";
  return one && hn_int(z, 0) != hn_int(y, 0) ? "the zero points differ" : NULL;
}

static const char *const names_of[][4] = {{"c0", "w0", "s0", "z0"}, {"c1", "w1", "s1", "z1"}, {"c2", "w2", "s2", "z2"}};

static const char *when_side_by_side(const hn_match *match) {
  if (!has_few_rows(&hn_bound_type(match, "x")->shape)) return "with many rows the parts' copies cost more";
  for (int i = 1; i < match->root_count; ++i) HN_TRY_REASON(when_beside(match, names_of[0], names_of[i]));
  return NULL;
}

static hone_status make_side_by_side(hn_match *match) {
  const char *zeros[HN_MATCH_ROOTS];
  int64_t rows[HN_MATCH_ROOTS];
  for (int i = 0; i < match->root_count; ++i) {
    zeros[i] = names_of[i][3];
    rows[i] = hn_bound_type(match, names_of[i][1])->shape.dim[0];
  }
  HN_TRY(hn_bind_ints(match, "rows", match->root_count, rows));
  return bind_zeros(match, zeros, match->root_count);
}

#define PRODUCT(i, bias) "c" i ":matmul_nbits(x, w" i ":const, s" i ":const, z" i ":const" bias ")"
#define BIAS(i) ", b" i ":const"
#define JOINED(weights, scales, bias)                                                                                  \
  "y:split[axis=-1](matmul_nbits[block_size=c0.block_size](x, concat[axis=0](" weights "), concat[axis=0](" scales     \
  "), zeros" bias "), rows)"
#define BESIDE "one product reads the input once, and its threads meet once"

const hn_rewrite hn_rules_nbits_beside[] = {
    {.name = "three_nbits_side_by_side",
     .find = "(" PRODUCT("0", "") ", " PRODUCT("1", "") ", " PRODUCT("2", "") ")",
     .put = "(" JOINED("w0, w1, w2", "s0, s1, s2", "") ", y.1, y.2)",
     .when = when_side_by_side,
     .make = make_side_by_side,
     .why = BESIDE},
    {.name = "three_biased_nbits_side_by_side",
     .find = "(" PRODUCT("0", BIAS("0")) ", " PRODUCT("1", BIAS("1")) ", " PRODUCT("2", BIAS("2")) ")",
     .put = "(" JOINED("w0, w1, w2", "s0, s1, s2", ", concat[axis=0](b0, b1, b2)") ", y.1, y.2)",
     .when = when_side_by_side,
     .make = make_side_by_side,
     .why = BESIDE},
    {.name = "two_nbits_side_by_side",
     .find = "(" PRODUCT("0", "") ", " PRODUCT("1", "") ")",
     .put = "(" JOINED("w0, w1", "s0, s1", "") ", y.1)",
     .when = when_side_by_side,
     .make = make_side_by_side,
     .why = BESIDE},
    {.name = "two_biased_nbits_side_by_side",
     .find = "(" PRODUCT("0", BIAS("0")) ", " PRODUCT("1", BIAS("1")) ")",
     .put = "(" JOINED("w0, w1", "s0, s1", ", concat[axis=0](b0, b1)") ", y.1)",
     .when = when_side_by_side,
     .make = make_side_by_side,
     .why = BESIDE},
    {0}};
