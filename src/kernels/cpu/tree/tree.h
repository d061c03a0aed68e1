/* SPDX-License-Identifier: Apache-2.0 */
/* tree.h - rows of features down decision trees. */
#ifndef HN_KERNELS_CPU_TREE_H
#define HN_KERNELS_CPU_TREE_H

#include <stdbool.h>
#include <stdint.h>

enum {
  HN_TREE_ROWS = 16,
  HN_TREE_TRACKS_TRUE = 8
}; /* rows of a block; of a mode: missing numbers go the way of true */

/* Arrays as the operator tree_ensemble has them; its row's plan has held them against each other. */
typedef struct hn_tree_args {
  const float *x, *splits, *weights;
  const int32_t *features, *ways, *roots, *starts, *targets;
  const uint8_t *modes;
  float *y;
  int64_t row_count, feature_count, node_count, root_count, target_count;
  bool is_strict; /* x < split, else x <= split */
  bool is_single; /* one target, and leaf i has weight i alone */
  float scale;    /* of the sums: 1 / trees for means */
} hn_tree_args;

/* Rows [first, last). */
typedef void hn_tree_f32_fn(const hn_tree_args *args, int64_t first, int64_t last);
hn_tree_f32_fn hn_tree_f32_c, hn_tree_f32_avx512;

#endif
