/* SPDX-License-Identifier: Apache-2.0 */
/* name_clash.c - a plug-in with an operator of its own, and then one that examples/plugins/shifted_relu.c has, too:
 * where that is loaded, nothing of this must stay. */
#include "rows.inc"

static const hone_op own = {PORTS, .name = "only_here", .doc = "x", .infer = infer_same, .eval = eval_copy};
static const hone_op same = {PORTS, .name = "shifted_relu", .doc = "x", .infer = infer_same, .eval = eval_copy};
static const hone_op *const ops[] = {&own, &same, NULL};
static const hone_plugin_table table = {
    .struct_size = sizeof(hone_plugin_table), .name = "name_clash", .version = "1", .ops = ops};
#include "plugin_table.inc"
