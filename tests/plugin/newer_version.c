/* SPDX-License-Identifier: Apache-2.0 */
/* newer_version.c - a plug-in of headers to come, whose table has more fields; it must be refused. */
#include <hone/plugin.h>

static const struct {
  hone_plugin_table table;
  const void *const *more;
} longer = {.table = {.struct_size = sizeof longer, .name = "newer_version", .version = "1"}};
#define table longer.table
#include "plugin_table.inc"
