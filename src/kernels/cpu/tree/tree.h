/* SPDX-License-Identifier: Apache-2.0 */
/* tree.h - rows of features down decision trees. */
#ifndef HN_KERNELS_CPU_TREE_H
#define HN_KERNELS_CPU_TREE_H

#include <stdbool.h>
#include <stdint.h>

enum { HN_TREE_TRACKS_TRUE = 8 }; /* of a mode: missing numbers go the way of true */

/* Arrays as the operator tree_ensemble has them; its row's plan has held them against each other. */
typedef struct hn_tree_args {
  const float *x, *splits, *weights;
  const int32_t *features, *ways, *roots, *starts, *targets;
  const uint8_t *modes; /* 0: x <= split, 1: x < split, 2: x >= split, 3: x > split */
  float *y;
  int64_t row_count, feature_count, node_count, root_count, target_count;
  bool is_single; /* one target, and leaf i has weight i alone */
  float scale;    /* of the sums: 1 / trees for means */
} hn_tree_args;

/* Rows [first, last). */
void hn_tree_f32_c(const hn_tree_args *args, int64_t first, int64_t last);

/* Nodes of 8 bytes: those of the roots first, then the two ways of each inner node, side by side. Floats are compared
 * as whole numbers in the same order, so that the way is the carry of one subtraction: right where key < x.
 *
 *   bits of link, from the lowest   two of zero, the feature, one: missing numbers go left, the place of the left way
 *
 * A leaf leads to itself by a feature that is behind all others and 0; its key is its weight's bits where is_single,
 * else its number. */
typedef struct hn_tree_node {
  uint32_t key, link;
} hn_tree_node;

enum { HN_TREE_LANES = 8 }; /* ways down side by side: of trees of one row, or of rows down one tree */

typedef struct hn_packed_trees {
  hn_tree_node *nodes; /* root_count + 2 node_count */
  int32_t *depths;     /* steps from each root to its deepest leaf */
  uint32_t feature_mask;
  int link_shift;
  bool steers_missing; /* some node sends missing numbers left */
} hn_packed_trees;

/* Bits of a link that features take, those that are no number's included; the rest is for places. */
int hn_tree_link_shift_c(int64_t feature_count);
/* Fills nodes, depths and steers_missing from args; feature_mask and link_shift are filled too. */
void hn_tree_pack_c(const hn_tree_args *args, hn_packed_trees *trees);
/* Rows [first, last); keys: (feature_count + 1) numbers for each row and up to HN_TREE_LANES - 1 more, written before
 * they are read. */
void hn_tree_packed_c(const hn_tree_args *args, const hn_packed_trees *trees, int64_t first, int64_t last,
                      uint32_t *keys);

#endif
