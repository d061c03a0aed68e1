/* SPDX-License-Identifier: Apache-2.0 */
/* wrong_shape.c - a plug-in whose elementwise operator makes one element more than it is given; it must be refused. */
#include "rows.inc"

static hone_status infer(hone_infer *infer) {
  infer->out[0].type = infer->in[0].type;
  if (infer->out[0].type.shape.rank > 0) ++infer->out[0].type.shape.dim[0];
  return HONE_OK;
}

static const hone_op longer = {PORTS,       .name = "longer", .doc = "x",       .traits = HONE_ELEMENTWISE,
                               .expr = "x", .infer = infer,   .eval = eval_copy};
static const hone_op *const ops[] = {&longer, NULL};
static const hone_plugin_table table = {
    .struct_size = sizeof(hone_plugin_table), .name = "wrong_shape", .version = "1", .ops = ops};
#include "plugin_table.inc"
