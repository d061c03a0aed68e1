/* SPDX-License-Identifier: Apache-2.0 */
/* size.c - the number of elements of its input. */
#include "ops/common_move.h"

static hone_status infer(hone_infer *infer) {
  hn_out_shape(infer, 0, 0, NULL);
  if (hn_in_rank(infer, 0) < 0) return HONE_OK;
  int64_t *value = hn_infer_value(infer, 0, 1);
  if (value) value[0] = hn_dim_product(infer->dims, hn_in_rank(infer, 0), hn_in_shape(infer, 0)->dim);
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  (void)window;
  hn_store_int(&eval->out[0], 0, hn_elems(&eval->in[0].type.shape));
  return HONE_OK;
}

const hone_op hn_op_size = {
    .struct_size = sizeof(hone_op),
    .name = "size",
    .doc = "the number of elements of its input",
    .in = {{"data", 0, HONE_TYPES_ANY}},
    .out = {{"size", 0, HONE_BIT(HONE_I64)}},
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_copy,
    .onnx = {{"Size", 1, HONE_LATEST}},
};
