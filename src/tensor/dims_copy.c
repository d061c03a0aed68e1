/* SPDX-License-Identifier: Apache-2.0 */
/* dims_copy.c - a table of dims in another arena, with the same codes. */
#include "tensor/dims.h"

bool hn_dims_copy(hone_dims *to, const hone_dims *from) {
  hn_arena *arena = to->arena;
  hone_dims copy = *from;
  copy.arena = arena;
  copy.node_capacity = from->node_count;
  copy.symbol_capacity = from->symbol_count;
  copy.nodes = hn_arena_copy(arena, from->nodes, (size_t)from->node_count * sizeof *from->nodes);
  copy.symbols = hn_arena_copy(arena, from->symbols, (size_t)from->symbol_count * sizeof *from->symbols);
  copy.buckets = hn_arena_copy(arena, from->buckets, (size_t)from->bucket_count * sizeof *from->buckets);
  if (!copy.nodes || !copy.symbols || !copy.buckets) return false;
  for (int i = 0; i < copy.symbol_count; ++i) {
    copy.symbols[i].name = hn_arena_text(arena, from->symbols[i].name);
    if (!copy.symbols[i].name) return false;
  }
  *to = copy;
  return true;
}
