/* SPDX-License-Identifier: Apache-2.0 */
/* older_rows.c - a plug-in of the first headers: its table has no rewrites, which is fine, and its operator's row is
 * shorter than ours, which is not. */
#include <hone/plugin.h>
#include <stddef.h>

static const hone_op shorter = {.struct_size = offsetof(hone_op, details), .name = "shorter"};
static const hone_op *const ops[] = {&shorter, NULL};
static const hone_plugin_table table = {
    .struct_size = offsetof(hone_plugin_table, rewrites), .name = "older_rows", .version = "1", .ops = ops};
#include "plugin_table.inc"
