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
