/* SPDX-License-Identifier: Apache-2.0 */
/* tree_packed_c.c - nodes packed into 8 bytes, and eight ways down at a time: a step waits for its node and then for
 * its feature, some 10 to 20 clocks, and takes eight instructions. One row goes down eight trees, eight rows go down
 * one tree. Gathers are not faster: Zen 4 loads their lanes one after another. */
#include "kernels/cpu/tree/tree.h"
#include <stddef.h>
#include <string.h>

enum { LANES = HN_TREE_LANES, ROUND = 4 /* steps between looks whether all have arrived */ };
#define MISSING UINT32_MAX
#define INLINE static inline __attribute__((always_inline))
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

/* In the order of the floats; both zeros are one, and what is no number is above all. */
INLINE uint32_t key_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  if (bits << 1 > 0xff000000u) return MISSING;
  if (bits << 1 == 0) bits = 0;
  return bits >> 31 ? ~bits : bits | 0x80000000u;
}

/* ---- packing ---- */

int hn_tree_link_shift_c(int64_t feature_count) {
  int bits = 1;
  while (bits < 31 && feature_count >> bits) ++bits;
  return 2 + bits + 1;
}

typedef struct packing {
  const hn_tree_args *args;
  hn_packed_trees *trees;
} packing;

INLINE int64_t ways_of(const packing *p, int64_t node) { return p->args->root_count + 2 * node; }

/* x >= split is the opposite of x < split: its ways change places, so that its true way is the right one. */
static void put_node(const packing *p, int64_t place, int32_t from) {
  const hn_tree_args *a = p->args;
  hn_tree_node *to = &p->trees->nodes[place];
  const int shift = p->trees->link_shift;
  if (from < 0) {
    to->key = (uint32_t)~from;
    if (a->is_single) memcpy(&to->key, &a->weights[~from], sizeof to->key);
    to->link = (uint32_t)place << shift | (uint32_t)a->feature_count << 2;
    return;
  }
  const int mode = a->modes[from] & 7;
  const bool is_swapped = mode >= 2, is_strict = mode == 1 || mode == 2;
  const bool missing_goes_left = ((a->modes[from] & HN_TREE_TRACKS_TRUE) != 0) != is_swapped;
  const uint32_t split = key_of(a->splits[from]);
  to->key = split == MISSING ? 0 : split - is_strict; /* nothing compares with what is no number */
  to->link = (uint32_t)ways_of(p, from) << shift | (uint32_t)missing_goes_left << (shift - 1) |
             (uint32_t)a->features[from] << 2;
  p->trees->steers_missing = p->trees->steers_missing || missing_goes_left;
}

/* Depths of nodes stand for a while in the keys of their left ways: a node's ways are behind it. */
static int32_t depth_at(const packing *p, int32_t node) {
  return node < 0 ? 0 : (int32_t)p->trees->nodes[ways_of(p, node)].key;
}

static void put_depths(const packing *p) {
  const hn_tree_args *a = p->args;
  for (int64_t i = a->node_count - 1; i >= 0; --i) {
    const int32_t left = depth_at(p, a->ways[2 * i]), right = depth_at(p, a->ways[2 * i + 1]);
    p->trees->nodes[ways_of(p, i)].key = 1 + (uint32_t)(left > right ? left : right);
  }
  for (int64_t t = 0; t < a->root_count; ++t) p->trees->depths[t] = depth_at(p, a->roots[t]);
}

void hn_tree_pack_c(const hn_tree_args *args, hn_packed_trees *trees) {
  const packing p = {args, trees};
  trees->link_shift = hn_tree_link_shift_c(args->feature_count);
  trees->feature_mask = (1u << (trees->link_shift - 1)) - 4;
  trees->steers_missing = false;
  put_depths(&p);
  for (int64_t t = 0; t < args->root_count; ++t) put_node(&p, t, args->roots[t]);
  for (int64_t i = 0; i < args->node_count; ++i)
    for (int64_t way = 0; way < 2; ++way) {
      const int32_t to = args->ways[2 * i + way];
      const bool is_swapped = (args->modes[i] & 7) >= 2;
      put_node(&p, ways_of(&p, i) + (is_swapped ? !way : way), to);
    }
}

/* ---- going down ---- */

/* What all steps of a walk read: locals, so that they stay in registers. */
typedef struct walk {
  const hn_tree_node *nodes;
  const unsigned char *keys; /* of one row; of LANES rows, feature after feature */
  uint32_t feature_mask;
  int link_shift;
} walk;

INLINE void take_steps(walk w, uint32_t *places, int32_t count, bool one_row, bool steers_missing) {
  uint32_t at[LANES];
  UNROLL for (int lane = 0; lane < LANES; ++lane) at[lane] = places[lane];
  for (int32_t step = 0; step < count; ++step) UNROLL for (int lane = 0; lane < LANES; ++lane) {
      const hn_tree_node node = w.nodes[at[lane]];
      const size_t feature = node.link & w.feature_mask;
      uint32_t key;
      memcpy(&key, one_row ? w.keys + feature : w.keys + feature * LANES + (size_t)lane * sizeof key, sizeof key);
      uint32_t right = node.key < key;
      if (steers_missing) right &= (uint32_t)(key != MISSING) | ~(node.link >> (w.link_shift - 1));
      at[lane] = (node.link >> w.link_shift) + right;
    }
  UNROLL for (int lane = 0; lane < LANES; ++lane) places[lane] = at[lane];
}

INLINE bool have_arrived(walk w, const uint32_t *places) {
  uint32_t apart = 0;
  for (int lane = 0; lane < LANES; ++lane) apart |= (w.nodes[places[lane]].link >> w.link_shift) ^ places[lane];
  return apart == 0;
}

/* Trees that are deep on one side alone end before their depth. */
INLINE void go_down(walk w, uint32_t *places, int32_t depth, bool one_row, bool steers_missing) {
  for (int32_t left = depth; left > 0; left -= ROUND) {
    if (left < depth && have_arrived(w, places)) break;
    take_steps(w, places, left < ROUND ? left : ROUND, one_row, steers_missing);
  }
}

INLINE void add_leaf(const hn_tree_args *a, hn_tree_node leaf, float *y) {
  if (a->is_single) {
    float weight;
    memcpy(&weight, &leaf.key, sizeof weight);
    *y += weight;
    return;
  }
  for (int32_t k = a->starts[leaf.key]; k < a->starts[leaf.key + 1]; ++k) y[a->targets[k]] += a->weights[k];
}

INLINE void one_row_down(const hn_tree_args *a, const hn_packed_trees *trees, walk w, float *y, bool steers_missing) {
  for (int64_t t = 0; t < a->root_count; t += LANES) {
    const int count = a->root_count - t < LANES ? (int)(a->root_count - t) : LANES;
    uint32_t places[LANES];
    int32_t depth = 0;
    for (int lane = 0; lane < LANES; ++lane) {
      const int64_t root = t + (lane < count ? lane : 0);
      places[lane] = (uint32_t)root;
      if (trees->depths[root] > depth) depth = trees->depths[root];
    }
    go_down(w, places, depth, true, steers_missing);
    for (int lane = 0; lane < count; ++lane) add_leaf(a, w.nodes[places[lane]], y);
  }
}

/* A tree's nodes are read once for all groups of rows. */
INLINE void rows_down(const hn_tree_args *a, const hn_packed_trees *trees, walk w, int64_t count, float *y,
                      bool steers_missing) {
  const int64_t group_bytes = LANES * (a->feature_count + 1) * (int64_t)sizeof(uint32_t);
  for (int64_t t = 0; t < a->root_count; ++t) {
    walk group = w;
    for (int64_t row = 0; row < count; row += LANES, group.keys += group_bytes) {
      uint32_t places[LANES];
      for (int lane = 0; lane < LANES; ++lane) places[lane] = (uint32_t)t;
      go_down(group, places, trees->depths[t], false, steers_missing);
      for (int lane = 0; lane < LANES && row + lane < count; ++lane)
        add_leaf(a, w.nodes[places[lane]], y + (row + lane) * a->target_count);
    }
  }
}

/* Keys of `lanes` rows, feature after feature; rows from count on are zeros. Whether a number is missing. */
static bool put_keys(const hn_tree_args *a, int64_t row, int64_t count, int lanes, uint32_t *keys) {
  bool misses = false;
  for (int lane = 0; lane < lanes; ++lane) {
    const float *x = a->x + (row + lane) * a->feature_count;
    for (int64_t f = 0; f < a->feature_count; ++f) {
      const uint32_t key = lane < count ? key_of(x[f]) : 0;
      keys[f * lanes + lane] = key;
      misses = misses || key == MISSING;
    }
    keys[a->feature_count * lanes + lane] = 0;
  }
  return misses;
}

static void run_row(const hn_tree_args *a, const hn_packed_trees *trees, walk w, int64_t row, uint32_t *keys) {
  float *y = a->y + row * a->target_count;
  if (put_keys(a, row, 1, 1, keys) && trees->steers_missing)
    one_row_down(a, trees, w, y, true);
  else
    one_row_down(a, trees, w, y, false);
}

static void run_rows(const hn_tree_args *a, const hn_packed_trees *trees, walk w, int64_t first, int64_t last,
                     uint32_t *keys) {
  bool misses = false;
  for (int64_t row = first; row < last; row += LANES, keys += LANES * (a->feature_count + 1))
    misses = put_keys(a, row, last - row, LANES, keys) || misses;
  float *y = a->y + first * a->target_count;
  if (misses && trees->steers_missing)
    rows_down(a, trees, w, last - first, y, true);
  else
    rows_down(a, trees, w, last - first, y, false);
}

void hn_tree_packed_c(const hn_tree_args *args, const hn_packed_trees *trees, int64_t first, int64_t last,
                      uint32_t *keys) {
  const walk w = {trees->nodes, (const unsigned char *)keys, trees->feature_mask, trees->link_shift};
  float *y = args->y + first * args->target_count;
  const int64_t sums = (last - first) * args->target_count;
  memset(y, 0, (size_t)sums * sizeof *y);
  if (last - first < LANES / 2)
    for (int64_t row = first; row < last; ++row) run_row(args, trees, w, row, keys);
  else
    run_rows(args, trees, w, first, last, keys);
  if (args->scale == 1) return;
  for (int64_t i = 0; i < sums; ++i) y[i] *= args->scale;
}
