/* SPDX-License-Identifier: Apache-2.0 */
/* rotary_embedding.c - turns pairs of features by an angle that grows with the position. Source: ONNX operator
 * RotaryEmbedding (Su et al. 2021). x is [batch, heads, length, size] or [batch, length, heads * size]. */
#include "ops/common_nn.h"

enum { X, COS, SIN, POSITIONS };

typedef struct extents {
  int64_t batch, heads, len, size, turned; /* turned: how many features of each head are turned */
} extents;

static extents extents_of(const hone_attrs *attrs, const hone_shape *x) {
  const int64_t heads = x->rank == 3 ? hn_attr_int(attrs, "num_heads") : x->dim[1];
  extents e = {x->dim[0], heads, x->rank == 3 ? x->dim[1] : x->dim[2], 0, hn_attr_int(attrs, "rotary_embedding_dim")};
  e.size = x->rank == 4 ? x->dim[3] : HONE_SYMBOLIC(x->dim[2]) ? HONE_SYMBOL_BASE : x->dim[2] / heads;
  if (!e.turned) e.turned = e.size;
  return e;
}

static hone_status check_cache(hone_infer *infer, const extents *e, int input) {
  const bool by_position = hn_in_given(infer, POSITIONS);
  const int rank = by_position ? 2 : 3;
  HN_TRY(hn_want_rank(infer, input, rank, rank));
  if (!by_position) {
    HN_TRY(hn_want_dim(infer, input, 0, e->batch, "the batch size"));
    HN_TRY(hn_want_dim(infer, input, 1, e->len, "the sequence length"));
  }
  return HONE_SYMBOLIC(e->turned) ? HONE_OK
                                  : hn_want_dim(infer, input, -1, e->turned / 2, "half of the turned features");
}

static hone_status infer(hone_infer *infer) {
  HN_TRY(hn_want_rank(infer, X, 3, 4));
  const hone_shape *x = hn_in_shape(infer, X);
  if (x->rank < 0) return HONE_OK;
  if (x->rank == 3) HN_TRY(hn_want_int(infer, "num_heads", 1, INT32_MAX));
  HN_TRY(hn_want_int(infer, "rotary_embedding_dim", 0, INT32_MAX));
  const extents e = extents_of(infer->attrs, x);
  if (x->rank == 3 && !HONE_SYMBOLIC(x->dim[2]) && x->dim[2] % e.heads)
    return HN_INFER_FAIL(infer, "%lld features cannot be split into %lld heads", (long long)x->dim[2],
                         (long long)e.heads);
  if (!HONE_SYMBOLIC(e.turned) && (e.turned % 2 || (!HONE_SYMBOLIC(e.size) && e.turned > e.size)))
    return HN_INFER_FAIL(infer, "%lld features are to be turned; expected an even number up to the head's size",
                         (long long)e.turned);
  HN_TRY(check_cache(infer, &e, COS));
  HN_TRY(check_cache(infer, &e, SIN));
  HN_TRY(hn_want_rank(infer, POSITIONS, 2, 2));
  HN_TRY(hn_want_dim(infer, POSITIONS, 0, e.batch, "the batch size"));
  HN_TRY(hn_want_dim(infer, POSITIONS, 1, e.len, "the sequence length"));
  return hn_infer_same(infer);
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const hone_tensor *x = &eval->in[X];
  const hone_shape *shape = &x->type.shape;
  const extents e = extents_of(eval->attrs, shape);
  const bool interleaved = hn_attr_int(eval->attrs, "interleaved") != 0, by_position = hn_eval_given(eval, POSITIONS);
  const int64_t half = e.turned / 2;
  int64_t first, last;
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t flat = first; flat < last; ++flat) {
    const int64_t d = flat % e.size, row = flat / e.size;
    const int64_t b = row / (e.heads * e.len), i = shape->rank == 3 ? row / e.heads % e.len : row % e.len;
    if (d >= e.turned) {
      hn_copy_element(&eval->out[0], flat, x, flat);
      continue;
    }
    int64_t angle = b * e.len + i;
    if (by_position) angle = hn_int(&eval->in[POSITIONS], angle);
    if (by_position &&
        (angle < 0 || angle >= hn_eval_dim(&eval->in[COS], 0) || angle >= hn_eval_dim(&eval->in[SIN], 0)))
      return HN_FAIL(eval->diagnostics, HONE_MALFORMED, "position %lld is outside the caches", (long long)angle);
    const int64_t pair = interleaved ? d / 2 : d % half;
    const bool second = interleaved ? d % 2 : d >= half;
    const double c = hn_real(&eval->in[COS], angle * half + pair), s = hn_real(&eval->in[SIN], angle * half + pair);
    const int64_t other = flat + (second ? -1 : 1) * (interleaved ? 1 : half);
    const double own = hn_real(x, flat), mate = hn_real(x, other);
    hn_store_real(&eval->out[0], flat, second ? s * mate + c * own : c * own - s * mate);
  }
  return HONE_OK;
}

static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  (void)attrs;
  return hn_cost_work(3.0 * (double)hn_elems(&in[0].type.shape), in, in_count, out, out_count);
}

const hone_op hn_op_rotary_embedding = {
    .struct_size = sizeof(hone_op),
    .name = "rotary_embedding",
    .doc = "turns pairs of features by an angle that grows with the position",
    .in = {{"x", 't', HONE_TYPES_FLOAT, 0},
           {"cos_cache", 't', HONE_TYPES_FLOAT, 0},
           {"sin_cache", 't', HONE_TYPES_FLOAT, 0},
           {"position_ids", 0, HONE_BIT(HONE_I64), HONE_PORT_OPTIONAL}},
    .out = {{"y", 't', 0, 0}},
    .attr = {HONE_INT_ATTR("interleaved", 0), HONE_OPTIONAL_ATTR("num_heads", HONE_ATTR_INT),
             HONE_INT_ATTR("rotary_embedding_dim", 0)},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = cost,
    .report_class = "Attention",
    .onnx = {{.name = "RotaryEmbedding", .first = 23, .last = HONE_LATEST}},
};
