/* SPDX-License-Identifier: Apache-2.0 */
/* common_window.h - the cosine windows: y[n] = a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N). */
#ifndef HN_OPS_COMMON_WINDOW_H
#define HN_OPS_COMMON_WINDOW_H

#include "ops/op.h"

hone_status hn_infer_cosine_window(hone_infer *infer);
hone_status hn_eval_cosine_window(hone_eval *eval, const hone_window *window, const double *coefficients);

/* The rest of a window's row; eval is the file's own. */
#define HN_WINDOW_ROW(op_name, op_doc, onnx_name)                                                                      \
  .struct_size = sizeof(hone_op), .name = op_name, .doc = op_doc, .in = {{"size", 0, HONE_TYPES_INDEX}},               \
  .out = {{"output", 0, HONE_TYPES_NUMBER}},                                                                           \
  .attr = {HONE_INT_ATTR("output_datatype", 1), HONE_INT_ATTR("periodic", 1)}, .infer = hn_infer_cosine_window,        \
  .traits = HONE_WINDOWED, .eval = eval, .cost = hn_cost_elementwise, .onnx = {{onnx_name, 17, HONE_LATEST}}

#endif
