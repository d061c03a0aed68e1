/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_clash.c - a plug-in whose operator has the ONNX name of examples/plugins/shifted_relu.c's. */
#include "rows.inc"

static const hone_op same = {PORTS,
                             .name = "shifted_relu_too",
                             .doc = "x",
                             .infer = infer_same,
                             .eval = eval_copy,
                             .onnx = {{.name = "ShiftedRelu", .first = 1, .last = 7, .domain = "com.example"}}};
static const hone_op *const ops[] = {&same, NULL};
static const hone_plugin_table table = {
    .struct_size = sizeof(hone_plugin_table), .name = "onnx_clash", .version = "1", .ops = ops};
#include "plugin_table.inc"
