/* SPDX-License-Identifier: Apache-2.0 */
/* dropout.c - in inference dropout is the identity, and its mask keeps everything. Training is refused.
 * mask_like_data: before opset 10 the mask had the data's type. */
#include "ops/common_move.h"

/* Known to be inference, or to drop nothing. What only a run would tell is refused too: nobody may take the node for
 * an identity otherwise. */
static bool keeps_all(const hone_infer *infer) {
  int64_t count;
  if (!hn_in_given(infer, 2)) return true;
  const int64_t *training = hn_in_value(infer, 2, &count);
  if (training && count == 1 && training[0] == 0) return true;
  const hone_tensor *ratio = hn_in_given(infer, 1) ? infer->in[1].constant : NULL;
  return ratio && hn_elems(&ratio->type.shape) == 1 && hn_real(ratio, 0) == 0;
}

static hone_status infer(hone_infer *infer) {
  if (!keeps_all(infer))
    return HN_INFER_UNSUPPORTED(infer, "dropout in training mode, or in a mode known only at run time");
  if (infer->out_count > 1)
    hn_out_dtype(infer, 1, hn_attr_int(infer->attrs, "mask_like_data") ? infer->in[0].type.dtype : HONE_BOOL);
  hn_infer_keep_value(infer, 0, 0);
  return hn_infer_same(infer);
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_same_bytes(eval, window));
  if (eval->out_count < 2 || !eval->out[1].data) return HONE_OK;
  const int64_t count = hn_elems(&eval->out[1].type.shape);
  for (int64_t at = 0; at < count; ++at) hn_store_int(&eval->out[1], at, 1);
  return HONE_OK;
}

const hone_op hn_op_dropout = {
    .struct_size = sizeof(hone_op),
    .name = "dropout",
    .doc = "identity in inference; the mask is all true",
    .in = {{"data", 'T', HONE_TYPES_FLOAT | HONE_TYPES_F8},
           {"ratio", 0, HONE_TYPES_FLOAT | HONE_TYPES_F8, HONE_PORT_OPTIONAL},
           {"training_mode", 0, HONE_TYPES_BOOL, HONE_PORT_OPTIONAL}},
    .out = {{"output", 'T'}, {"mask", 0, HONE_TYPES_BOOL | HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL}},
    .attr = {HONE_OPTIONAL_ATTR("seed", HONE_ATTR_INT), HONE_INT_ATTR("mask_like_data", 0)},
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_copy,
    .onnx = {{"Dropout", 1, 9, .set = "mask_like_data=1", .drop = "consumed_inputs is_test ratio"},
             {"Dropout", 10, 11, .drop = "ratio"},
             {"Dropout", 12, HONE_LATEST}},
};
