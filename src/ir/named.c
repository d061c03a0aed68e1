/* SPDX-License-Identifier: Apache-2.0 */
/* named.c - nodes as users name them. */
#include "ir/named.h"
#include <fnmatch.h>
#include <string.h>

static bool fits(const char *pattern, const char *text) {
  return strcmp(pattern, text) == 0 || fnmatch(pattern, text, 0) == 0;
}

bool hn_node_is_named(const hn_node *node, const char *pattern) {
  bool named = fits(pattern, node->name) || fits(pattern, node->op->name);
  for (int i = 0; i < node->origins.count && !named; ++i) named = fits(pattern, node->origins.names[i]);
  return named;
}
