/* SPDX-License-Identifier: Apache-2.0 */
/* trilu.c - the upper or lower triangle of the last two axes; the rest is zero. */
#include "ops/common_move.h"

static hone_status infer(hone_infer *infer) {
  const int rank = hn_in_rank(infer, 0);
  if (rank >= 0 && rank < 2) return HN_INFER_FAIL(infer, "input must have rank 2 or more, but has rank %d", rank);
  return hn_infer_same(infer);
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  const int64_t rows = hn_eval_dim(&eval->in[0], -2), columns = hn_eval_dim(&eval->in[0], -1);
  const bool upper = hn_attr_int(eval->attrs, "upper") != 0;
  const int64_t given = hn_eval_given(eval, 1) && hn_elems(&eval->in[1].type.shape) == 1 ? hn_int(&eval->in[1], 0) : 0;
  const int64_t k = given > columns ? columns : given < -rows ? -rows : given; /* farther changes nothing */
  uint8_t zero[16] = {0};
  const hone_tensor nothing = {.type = eval->in[0].type, .data = zero, .bytes = sizeof zero};
  int64_t first, last;
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t at = first; at < last; ++at) {
    const int64_t distance = at % columns - at / columns % rows;
    const bool kept = upper ? distance >= k : distance <= k;
    hn_copy_element(&eval->out[0], at, kept ? &eval->in[0] : &nothing, kept ? at : 0);
  }
  return HONE_OK;
}

const hone_op hn_op_trilu = {
    .struct_size = sizeof(hone_op),
    .name = "trilu",
    .doc = "the upper or lower triangle of matrices",
    .in = {{"input", 'T', HONE_TYPES_ANY}, {"k", 0, HONE_BIT(HONE_I64), HONE_PORT_OPTIONAL}},
    .out = {{"output", 'T'}},
    .attr = {HONE_INT_ATTR("upper", 1)},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_copy,
    .onnx = {{"Trilu", 14, HONE_LATEST}, {"Trilu", 1, HONE_LATEST, "com.microsoft", .alias = true}},
};
