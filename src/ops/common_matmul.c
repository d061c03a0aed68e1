/* SPDX-License-Identifier: Apache-2.0 */
/* common_matmul.c - numpy's matmul: a 1-D operand is a row or column whose axis then leaves the result. */
#include "ops/common_matmul.h"

/* The matrix form of an operand: at least two dims. */
static hone_shape matrix(const hone_shape *shape, bool left) {
  if (shape->rank != 1) return *shape;
  const int64_t dim[2] = {left ? 1 : shape->dim[0], left ? shape->dim[0] : 1};
  return hn_shape(2, dim);
}

hone_status hn_infer_matmul(hone_infer *infer, int a, int b) {
  HN_TRY(hn_want_rank(infer, a, 1, HONE_MAX_RANK));
  HN_TRY(hn_want_rank(infer, b, 1, HONE_MAX_RANK));
  const hone_shape *as = hn_in_shape(infer, a), *bs = hn_in_shape(infer, b);
  if (as->rank < 0 || bs->rank < 0) return HONE_OK;
  hone_shape am = matrix(as, true), bm = matrix(bs, false), out;
  const int64_t inner = am.dim[am.rank - 1], m = am.dim[am.rank - 2], n = bm.dim[bm.rank - 1];
  if (hn_dims_differ(inner, bm.dim[bm.rank - 2]))
    return HN_INFER_FAIL(infer, "the inner dims of a matrix product differ: %lld and %lld", (long long)inner,
                         (long long)bm.dim[bm.rank - 2]);
  am.rank -= 2, bm.rank -= 2;
  const hone_shape *batches[2] = {&am, &bm};
  HN_TRY(hn_infer_broadcast_shapes(infer, 2, batches, &out));
  if (as->rank > 1) out.dim[out.rank++] = m;
  if (bs->rank > 1) out.dim[out.rank++] = n;
  hn_out_shape(infer, 0, out.rank, out.dim);
  return HONE_OK;
}

void hn_matmul_make(const hone_shape *a, const hone_shape *b, hn_matmul *out) {
  const hone_shape am = matrix(a, true), bm = matrix(b, false);
  const int rank = am.rank > bm.rank ? am.rank - 2 : bm.rank - 2;
  out->m = am.dim[am.rank - 2], out->k = am.dim[am.rank - 1], out->n = bm.dim[bm.rank - 1];
  out->batch.rank = rank;
  int64_t a_step = out->m * out->k, b_step = out->k * out->n;
  for (int i = rank - 1; i >= 0; --i) {
    const int ai = i - rank + am.rank - 2, bi = i - rank + bm.rank - 2;
    const int64_t ad = ai >= 0 ? am.dim[ai] : 1, bd = bi >= 0 ? bm.dim[bi] : 1;
    out->batch.dim[i] = ad == 1 ? bd : ad;
    out->a_stride[i] = ad == 1 ? 0 : a_step;
    out->b_stride[i] = bd == 1 ? 0 : b_step;
    a_step *= ad, b_step *= bd;
  }
}

void hn_matmul_at(const hn_matmul *matmul, int64_t flat, int64_t *a_at, int64_t *b_at) {
  int64_t at[HONE_MAX_RANK];
  const int64_t column = flat % matmul->n, row = flat / matmul->n % matmul->m;
  hn_unflatten(&matmul->batch, flat / matmul->n / matmul->m, at);
  *a_at = hn_flatten(matmul->batch.rank, at, matmul->a_stride) + row * matmul->k;
  *b_at = hn_flatten(matmul->batch.rank, at, matmul->b_stride) + column;
}

hone_status hn_infer_side(hone_infer *infer, int matrix, int input, bool rows) {
  if (!hn_in_given(infer, input) || hn_in_rank(infer, input) < 0 || hn_in_rank(infer, matrix) < 0) return HONE_OK;
  const hone_shape *m = hn_in_shape(infer, matrix), *side = hn_in_shape(infer, input);
  if (side->rank == 0 || (side->rank == 1 && side->dim[0] == 1)) return HONE_OK;
  if (m->rank < 2)
    return HN_INFER_FAIL(infer, "%s must have one element, for a matrix of rank 1", infer->op->in[input].name);
  const int kept = rows ? m->rank - 2 : m->rank - 1;
  if (side->rank == 1) return hn_want_dim(infer, input, 0, m->dim[kept], "that of the matrix");
  HN_TRY(hn_want_rank(infer, input, m->rank, m->rank));
  for (int i = 0; i < m->rank; ++i) {
    const bool inner = i >= m->rank - 2 && i != kept;
    HN_TRY(hn_want_dim(infer, input, i, inner ? 1 : m->dim[i], "what fits the matrix"));
  }
  return HONE_OK;
}

int64_t hn_side_at(const hn_matmul *matmul, const hone_eval *eval, int input, int64_t at, bool rows) {
  const hone_shape *side = &eval->in[input].type.shape;
  if (!hn_eval_given(eval, input) || side->rank == 0 || matmul->k == 0) return 0; /* of no products, any will do */
  if (rows) return at / matmul->k % (side->rank == 1 ? matmul->m : INT64_MAX);
  const int64_t column = at % matmul->n;
  return side->rank == 1 ? column : at / matmul->n / matmul->k * matmul->n + column;
}

hone_cost hn_cost_matmul(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out,
                         int out_count) {
  (void)attrs;
  const hone_shape *a = &in[0].type.shape;
  return hn_cost_work(2.0 * (double)hn_elems(&out[0].type.shape) * (double)a->dim[a->rank - 1], in, in_count, out,
                      out_count);
}
