/* SPDX-License-Identifier: Apache-2.0 */
/* wrong_extent.c - a plug-in whose operators infer what no tensor has: an extent below zero, and no type. */
#include "rows.inc"

static hone_status infer_negative(hone_infer *infer) {
  infer->out[0].type = infer->in[0].type;
  infer->out[0].type.shape.dim[0] = -3;
  return HONE_OK;
}

static hone_status infer_nothing(hone_infer *infer) {
  infer->out[0].type = (hone_type){.kind = HONE_ABSENT};
  return HONE_OK;
}

static const hone_op below = {PORTS, .name = "below_zero", .doc = "x", .infer = infer_negative, .eval = eval_copy};
static const hone_op untyped = {PORTS, .name = "untyped", .doc = "x", .infer = infer_nothing, .eval = eval_copy};
static const hone_op *const ops[] = {&below, &untyped, NULL};
static const hone_plugin_table table = {
    .struct_size = sizeof(hone_plugin_table), .name = "wrong_extent", .version = "1", .ops = ops};
#include "plugin_table.inc"
