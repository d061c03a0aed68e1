/* SPDX-License-Identifier: Apache-2.0 */
/* optional_has_element.c - does an optional hold something? Tensors and sequences are always there. */
#include "ops/common_list.h"
#include "tensor/element.h"

static bool is_optional(hone_kind kind) { return kind == HONE_OPTIONAL || kind == HONE_OPTIONAL_SEQUENCE; }

static hone_status infer(hone_infer *infer) {
  hn_out_shape(infer, 0, 0, NULL);
  if (hn_in_given(infer, 0) && is_optional(infer->in[0].type.kind)) return HONE_OK;
  int64_t *value = hn_infer_value(infer, 0, 1);
  if (value) *value = hn_in_given(infer, 0);
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  (void)window;
  HN_TRY(hn_eval_sized(eval));
  const bool given = hn_eval_given(eval, 0);
  const bool holds = given && (!is_optional(eval->in[0].type.kind) || hn_eval_list_count(eval, 0) > 0);
  hn_store_int(&eval->out[0], 0, holds);
  return HONE_OK;
}

const hone_op hn_op_optional_has_element = {
    .struct_size = sizeof(hone_op),
    .name = "optional_has_element",
    .doc = "does an optional hold something",
    .in = {{"input", 0, HONE_TYPES_ANY, HONE_PORT_OPTIONAL}},
    .out = {{"output", 0, HONE_TYPES_BOOL}},
    .traits = HONE_ANY_KIND | HONE_WHOLE,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_copy,
    .onnx = {{"OptionalHasElement", 15, HONE_LATEST}},
};
