/* SPDX-License-Identifier: Apache-2.0 */
/* byte_lookup.c - y = table[x]: any function of one byte, such as a chain between dequantising and quantising. An i8 x
 * counts by its bits: -1 is entry 255. */
#include "ops/common_quant.h"

static hone_status infer(hone_infer *infer) {
  HN_TRY(hn_want_rank(infer, 1, 1, 1));
  HN_TRY(hn_want_dim(infer, 1, 0, 256, "the number of bytes"));
  hn_out_shape(infer, 0, hn_in_shape(infer, 0)->rank, hn_in_shape(infer, 0)->dim);
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const uint8_t *x = eval->in[0].data, *table = eval->in[1].data;
  uint8_t *y = eval->out[0].data;
  int64_t first, last;
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t flat = first; flat < last; ++flat) y[flat] = table[x[flat]];
  return HONE_OK;
}

const hone_op hn_op_byte_lookup = {
    .struct_size = sizeof(hone_op),
    .name = "byte_lookup",
    .doc = "table[x], for bytes",
    .in = {{"x", 0, HN_TYPES_BYTE, 0}, {"table", 't', HN_TYPES_BYTE, HONE_PORT_PARAM}},
    .out = {{"y", 't', 0, 0}},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_elementwise,
    .report_class = "Elementwise",
};
