/* SPDX-License-Identifier: Apache-2.0 */
/* common_loss.c - negative log likelihood with class weights, an ignored class and a reduction.
 * Source: ONNX operators NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss. */
#include "ops/common_nn.h"

hone_status hn_infer_loss(hone_infer *infer) {
  HN_TRY(hn_want_text(infer, "reduction", "none sum mean"));
  HN_TRY(hn_want_rank(infer, 0, 2, HONE_MAX_RANK));
  const hone_shape *x = hn_in_shape(infer, 0), *target = hn_in_shape(infer, 1);
  HN_TRY(hn_want_rank(infer, 2, 1, 1));
  if (x->rank >= 0) {
    HN_TRY(hn_want_rank(infer, 1, x->rank - 1, x->rank - 1));
    for (int i = 0; i < target->rank; ++i)
      HN_TRY(hn_want_dim(infer, 1, i, x->dim[i ? i + 1 : 0], "that of the scores"));
    HN_TRY(hn_want_dim(infer, 2, 0, x->dim[1], "the number of classes"));
  }
  if (hn_name_equal(hn_attr_text(infer->attrs, "reduction"), "none"))
    hn_out_shape(infer, 0, target->rank, target->dim);
  else
    hn_out_shape(infer, 0, 0, NULL);
  hn_out_shape(infer, 1, x->rank, x->dim);
  return HONE_OK;
}

hone_status hn_eval_loss(hone_eval *eval, const hone_window *window) {
  (void)window; /* a reduction over everything */
  const hn_loss *row = eval->op->details;
  HN_TRY(hn_eval_begin(eval));
  const hone_tensor *x = &eval->in[0], *targets = &eval->in[1];
  const hn_rows rows = hn_rows_along(&x->type.shape, 1);
  const char *reduction = hn_attr_text(eval->attrs, "reduction");
  const bool ignores = hn_attr_has(eval->attrs, "ignore_index");
  const int64_t ignored = hn_attr_int(eval->attrs, "ignore_index"), count = rows.outer * rows.inner;
  double sum = 0, weights = 0;
  for (int64_t at = 0; at < count; ++at) {
    const int64_t target = hn_int(targets, at), first = hn_row_at(&rows, at, 0);
    const bool skip = ignores && target == ignored;
    if (!skip && (target < 0 || target >= rows.len))
      return HN_FAIL(eval->diagnostics, HONE_MALFORMED, "class %lld is not one of the %lld classes", (long long)target,
                     (long long)rows.len);
    const double weight = skip ? 0 : hn_eval_given(eval, 2) ? hn_real(&eval->in[2], target) : 1;
    const double loss = skip ? 0 : -weight * row->log_probability(x, first, rows.inner, rows.len, target);
    sum += loss, weights += weight;
    if (hn_eval_wanted(eval, 0) && reduction[0] == 'n') hn_store_real(&eval->out[0], at, loss);
  }
  if (hn_eval_wanted(eval, 0) && reduction[0] != 'n')
    hn_store_real(&eval->out[0], 0, reduction[0] == 'm' ? sum / weights : sum);
  return HONE_OK;
}
