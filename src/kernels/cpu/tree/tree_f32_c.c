/* SPDX-License-Identifier: Apache-2.0 */
/* tree_f32_c.c - one row after the other down one tree after the other, over the operator's arrays as they are. */
#include "kernels/cpu/tree/tree.h"

static bool holds(float x, float split, int mode) {
  switch (mode & 7) {
  case 0: return x <= split;
  case 1: return x < split;
  case 2: return x >= split;
  default: return x > split;
  }
}

static int32_t leaf_of(const hn_tree_args *a, const float *row, int32_t root) {
  int32_t at = root;
  while (at >= 0) {
    const float x = row[a->features[at]];
    const bool is_true = x != x && a->modes[at] & HN_TREE_TRACKS_TRUE ? true : holds(x, a->splits[at], a->modes[at]);
    at = a->ways[2 * (int64_t)at + !is_true];
  }
  return ~at;
}

void hn_tree_f32_c(const hn_tree_args *args, int64_t first, int64_t last) {
  const hn_tree_args *a = args;
  for (int64_t row = first; row < last; ++row) {
    float *y = a->y + row * a->target_count;
    for (int64_t i = 0; i < a->target_count; ++i) y[i] = 0;
    for (int64_t t = 0; t < a->root_count; ++t) {
      const int32_t leaf = leaf_of(a, a->x + row * a->feature_count, a->roots[t]);
      for (int32_t k = a->starts[leaf]; k < a->starts[leaf + 1]; ++k) y[a->targets[k]] += a->weights[k];
    }
    for (int64_t i = 0; i < a->target_count; ++i) y[i] *= a->scale;
  }
}
