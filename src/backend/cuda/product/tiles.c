/* SPDX-License-Identifier: Apache-2.0 */
/* tiles.c - which tiles there are, what each should take, and which are timed first. */
#include "backend/cuda/product/tiles.h"
#include <math.h>

enum { MOST_SPLIT = 16 };

static const hn_cuda_tile stage_tiles[] = {
    {16,
     64,
     6,
     128,
     {HN_CUDA_tensor_f16_16_64_16_16, HN_CUDA_tensor_bf16_16_64_16_16, HN_CUDA_tensor_u8_16_64_16_16,
      HN_CUDA_tensor_i8_16_64_16_16, HN_CUDA_tensor_tf32_16_64_16_16},
     0,
     0,
     false},
    {32,
     32,
     6,
     128,
     {HN_CUDA_tensor_f16_32_32_16_16, HN_CUDA_tensor_bf16_32_32_16_16, HN_CUDA_tensor_u8_32_32_16_16,
      HN_CUDA_tensor_i8_32_32_16_16, HN_CUDA_tensor_tf32_32_32_16_16},
     0,
     0,
     false},
    {32,
     64,
     5,
     128,
     {HN_CUDA_tensor_f16_32_64_16_32, HN_CUDA_tensor_bf16_32_64_16_32, HN_CUDA_tensor_u8_32_64_16_32,
      HN_CUDA_tensor_i8_32_64_16_32, HN_CUDA_tensor_tf32_32_64_16_32},
     0,
     0,
     false},
    {64,
     32,
     5,
     128,
     {HN_CUDA_tensor_f16_64_32_32_16, HN_CUDA_tensor_bf16_64_32_32_16, HN_CUDA_tensor_u8_64_32_32_16,
      HN_CUDA_tensor_i8_64_32_32_16, HN_CUDA_tensor_tf32_64_32_32_16},
     0,
     0,
     false},
    {64,
     64,
     4,
     128,
     {HN_CUDA_tensor_f16_64_64_32_32, HN_CUDA_tensor_bf16_64_64_32_32, HN_CUDA_tensor_u8_64_64_32_32,
      HN_CUDA_tensor_i8_64_64_32_32, HN_CUDA_tensor_tf32_64_64_32_32},
     0,
     0,
     false},
    {128,
     64,
     3,
     256,
     {HN_CUDA_tensor_f16_128_64_32_32, HN_CUDA_tensor_bf16_128_64_32_32, HN_CUDA_tensor_u8_128_64_32_32,
      HN_CUDA_tensor_i8_128_64_32_32, HN_CUDA_tensor_tf32_128_64_32_32},
     0,
     0,
     false},
    {64,
     128,
     3,
     256,
     {HN_CUDA_tensor_f16_64_128_32_32, HN_CUDA_tensor_bf16_64_128_32_32, HN_CUDA_tensor_u8_64_128_32_32,
      HN_CUDA_tensor_i8_64_128_32_32, HN_CUDA_tensor_tf32_64_128_32_32},
     0,
     0,
     false},
    {128,
     128,
     3,
     256,
     {HN_CUDA_tensor_f16_128_128_64_32, HN_CUDA_tensor_bf16_128_128_64_32, HN_CUDA_tensor_u8_128_128_64_32,
      HN_CUDA_tensor_i8_128_128_64_32, HN_CUDA_tensor_tf32_128_128_64_32},
     0,
     0,
     false},
};
static const hn_cuda_tile first_tiles[] = {
    {32,
     64,
     5,
     128,
     {HN_CUDA_tensor_f16_first_32_64, HN_CUDA_tensor_bf16_first_32_64, HN_CUDA_tensor_u8_first_32_64,
      HN_CUDA_tensor_i8_first_32_64, HN_CUDA_tensor_tf32_first_32_64},
     0,
     0,
     false},
    {64,
     32,
     5,
     128,
     {HN_CUDA_tensor_f16_first_64_32, HN_CUDA_tensor_bf16_first_64_32, HN_CUDA_tensor_u8_first_64_32,
      HN_CUDA_tensor_i8_first_64_32, HN_CUDA_tensor_tf32_first_64_32},
     0,
     0,
     false},
    {128,
     64,
     3,
     256,
     {HN_CUDA_tensor_f16_first_128_64, HN_CUDA_tensor_bf16_first_128_64, HN_CUDA_tensor_u8_first_128_64,
      HN_CUDA_tensor_i8_first_128_64, HN_CUDA_tensor_tf32_first_128_64},
     0,
     0,
     false},
};
static const hn_cuda_tile bulk_tiles[] = {
    {64,
     32,
     6,
     160,
     {HN_CUDA_bulk_f16_64_32_6, HN_CUDA_bulk_bf16_64_32_6, HN_CUDA_bulk_u8_64_32_6, HN_CUDA_bulk_i8_64_32_6,
      HN_CUDA_bulk_tf32_64_32_6},
     0,
     0,
     false},
    {64,
     64,
     5,
     160,
     {HN_CUDA_bulk_f16_64_64_5, HN_CUDA_bulk_bf16_64_64_5, HN_CUDA_bulk_u8_64_64_5, HN_CUDA_bulk_i8_64_64_5,
      HN_CUDA_bulk_tf32_64_64_5},
     0,
     0,
     false},
    {64,
     64,
     10,
     160,
     {HN_CUDA_bulk_f16_64_64_10, HN_CUDA_bulk_bf16_64_64_10, HN_CUDA_bulk_u8_64_64_10, HN_CUDA_bulk_i8_64_64_10,
      HN_CUDA_bulk_tf32_64_64_10},
     0,
     0,
     false},
    {64,
     128,
     4,
     160,
     {HN_CUDA_bulk_f16_64_128_4, HN_CUDA_bulk_bf16_64_128_4, HN_CUDA_bulk_u8_64_128_4, HN_CUDA_bulk_i8_64_128_4,
      HN_CUDA_bulk_tf32_64_128_4},
     0,
     0,
     false},
    {128,
     64,
     4,
     288,
     {HN_CUDA_bulk_f16_128_64_4, HN_CUDA_bulk_bf16_128_64_4, HN_CUDA_bulk_u8_128_64_4, HN_CUDA_bulk_i8_128_64_4,
      HN_CUDA_bulk_tf32_128_64_4},
     0,
     0,
     false},
    {128,
     128,
     3,
     288,
     {HN_CUDA_bulk_f16_128_128_3, HN_CUDA_bulk_bf16_128_128_3, HN_CUDA_bulk_u8_128_128_3, HN_CUDA_bulk_i8_128_128_3,
      HN_CUDA_bulk_tf32_128_128_3},
     0,
     0,
     false},
    {128,
     128,
     6,
     288,
     {HN_CUDA_bulk_f16_128_128_6, HN_CUDA_bulk_bf16_128_128_6, HN_CUDA_bulk_u8_128_128_6, HN_CUDA_bulk_i8_128_128_6,
      HN_CUDA_bulk_tf32_128_128_6},
     0,
     0,
     false},
    {128,
     256,
     4,
     288,
     {HN_CUDA_bulk_f16_128_256_4, HN_CUDA_bulk_bf16_128_256_4, HN_CUDA_bulk_u8_128_256_4, HN_CUDA_bulk_i8_128_256_4,
      HN_CUDA_bulk_tf32_128_256_4},
     0,
     0,
     false},
};
#define LASTING_TILE(columns, stages, halves, bytes, name)                                                             \
  {                                                                                                                    \
    128, columns, stages, 320,                                                                                         \
        {HN_CUDA_lasting_f16_##name, HN_CUDA_lasting_bf16_##name, HN_CUDA_lasting_u8_##name,                           \
         HN_CUDA_lasting_i8_##name},                                                                                   \
        halves, bytes, false                                                                                           \
  }
#define ALTERNATING_TILE(rows, columns, stages, threads, name)                                                         \
  { rows, columns, stages, threads, {HN_CUDA_alternating_f16_##name, HN_CUDA_alternating_bf16_##name}, 0, 0, true }
static const hn_cuda_tile lasting_tiles[] = {
    LASTING_TILE(64, 3, 2, 4, 64_3),
    LASTING_TILE(64, 6, 5, 8, 64_6),
    LASTING_TILE(128, 4, 3, 5, 128_4),
    LASTING_TILE(256, 3, 1, 2, 256_3),
    LASTING_TILE(192, 4, 1, 2, 192_4),
    {128, 128, 5, 640, {0, 0, HN_CUDA_teams_u8_128_5, HN_CUDA_teams_i8_128_5}, 0, 3, true},
    {128, 64, 6, 320, {[HN_CUDA_TENSOR_TF32] = HN_CUDA_lasting_tf32_64_6}, 2, 0, false},
    {128, 128, 4, 320, {[HN_CUDA_TENSOR_TF32] = HN_CUDA_lasting_tf32_128_4}, 1, 0, false},
    {128, 192, 3, 320, {[HN_CUDA_TENSOR_TF32] = HN_CUDA_lasting_tf32_192_3}, 1, 0, false},
    {128, 256, 2, 320, {[HN_CUDA_TENSOR_TF32] = HN_CUDA_lasting_tf32_256_2}, 1, 0, false},
    {192, 128, 4, 448, {HN_CUDA_tall_f16_128_4, HN_CUDA_tall_bf16_128_4}, 1, 0, false},
    {192, 192, 3, 448, {HN_CUDA_tall_f16_192_3, HN_CUDA_tall_bf16_192_3}, 1, 0, false},
    ALTERNATING_TILE(128, 192, 5, 384, 128_192_5),
    ALTERNATING_TILE(192, 128, 5, 384, 192_128_5),
    ALTERNATING_TILE(128, 128, 7, 640, 128_128_7),
    ALTERNATING_TILE(64, 192, 7, 384, 64_192_7),
    ALTERNATING_TILE(128, 64, 9, 640, 128_64_9),
};
static const hn_cuda_tile short_tiles[] = {
    {128, 64, 7, 320, {0, 0, HN_CUDA_short_u8_64_7, HN_CUDA_short_i8_64_7}, 0, 2, false},
    {128, 128, 4, 320, {0, 0, HN_CUDA_short_u8_128_4, HN_CUDA_short_i8_128_4}, 0, 2, false},
    {128, 128, 8, 320, {0, 0, HN_CUDA_short_u8_128_8, HN_CUDA_short_i8_128_8}, 0, 5, false},
    {128, 256, 4, 320, {0, 0, HN_CUDA_short_u8_256_4, HN_CUDA_short_i8_256_4}, 0, 3, false},
    {128, 64, 5, 320, {0, 0, HN_CUDA_short_u8_64_5, HN_CUDA_short_i8_64_5}, 0, 6, false},
    {128, 128, 6, 640, {0, 0, HN_CUDA_teams_u8_short_128_6, HN_CUDA_teams_i8_short_128_6}, 0, 5, true},
};

hn_cuda_tiles hn_cuda_tiles_of(const hone_query *query) {
  static const hn_cuda_tiles ways[] = {
      [HN_CUDA_TENSOR_STAGES] = {stage_tiles, sizeof stage_tiles / sizeof *stage_tiles, 1, 1, 128, false, false},
      [HN_CUDA_TENSOR_FIRST] = {first_tiles, sizeof first_tiles / sizeof *first_tiles, 1, 1, 128, false, false},
      [HN_CUDA_TENSOR_CLUSTER] = {stage_tiles, sizeof stage_tiles / sizeof *stage_tiles, 2, MOST_SPLIT, 128, false,
                                  false},
      [HN_CUDA_TENSOR_BULK] = {bulk_tiles, sizeof bulk_tiles / sizeof *bulk_tiles, 1, MOST_SPLIT, 128, true, false},
      [HN_CUDA_TENSOR_LASTING] = {lasting_tiles, sizeof lasting_tiles / sizeof *lasting_tiles, 1, 1, 128, true, true},
      [HN_CUDA_TENSOR_SHORT] = {short_tiles, sizeof short_tiles / sizeof *short_tiles, 1, 1, 64, true, true}};
  return ways[*(const hn_cuda_tensor_way *)query->tactic->kernel];
}

/* ---- what a tile should take ---- */

int64_t hn_cuda_tiles_count(const hn_cuda_tensor_plan *p, const hn_cuda_tile *t) {
  return (int64_t)hn_cuda_pieces_of(p->args.m, t->rows) * hn_cuda_pieces_of(p->args.n, t->columns) * p->groups;
}

/* What is launched once or twice on a device keeps its residual in shared memory; more of them hide its latency. */
static bool keeps_residual(const hn_cuda_tensor_plan *p, const hn_cuda_tile *t, int split) {
  return p->residual && hn_cuda_tiles_count(p, t) * split <= 3 * HN_CUDA_UNITS;
}

/* Biases (and barriers), stages, sums (of one block alone: over the stages), and behind them the rows of a residual. */
int64_t hn_cuda_tiles_shared(const hn_cuda_tensor_plan *p, const hn_cuda_tiles *way, const hn_cuda_tile *t, int split,
                             int *out_residual_at) {
  const int64_t rows_each = hn_cuda_pieces_of(t->rows, split),
                stages = (int64_t)t->stages * (t->rows + t->columns) * way->deep;
  const int64_t row_bytes = (int64_t)t->columns * hn_cuda_tensor_bytes_each(p);
  if (out_residual_at) *out_residual_at = 0;
  if (way->lasts && hn_cuda_of_bytes(p)) /* and what sums begin with and scales of a buffer's channels */
    return 1024 + stages + t->byte_buffers * (t->rows * row_bytes + t->columns * 8);
  if (way->lasts) return 1024 + stages + t->buffers * t->rows * row_bytes;
  const int64_t sums = split * rows_each * (t->columns + 8) * (int64_t)sizeof(float);
  const int64_t most = split > 1 ? stages + sums : stages > sums ? stages : sums;
  const int64_t biases = t->columns * (int64_t)sizeof(float) * (hn_cuda_of_bytes(p) ? 2 : 1);
  const int64_t front = way->bulk ? (biases + t->stages * 16 + 1023) / 1024 * 1024 : biases;
  const bool keeps = keeps_residual(p, t, split);
  if (out_residual_at) *out_residual_at = keeps ? (int)(front + most) : 0;
  return front + most + (keeps ? rows_each * row_bytes : 0);
}

/* Blocks of a multiprocessor that last: two overlap, one has more of a tile in a row. */
static int beside_of(const hn_cuda_tensor_plan *p, const hn_cuda_tiles *way, const hn_cuda_tile *t) {
  return HN_CUDA_MOST_SHARED / (hn_cuda_tiles_shared(p, way, t, 1, NULL) + 1024) > 1 ? 2 : 1;
}

/* What a tile should take by blocks that last, over bytes: issue slots of what follows the sums (seven a value, with a
 * residual fifteen), bytes from the second cache, or what one block does in turn. Of teams that take turns: fitted to
 * the eleven convolutions of ResNet-50 with 256 images. */
static double byte_clocks(const hn_cuda_tensor_plan *p, const hn_cuda_tiles *way, const hn_cuda_tile *t) {
  const double area = (double)t->rows * t->columns, edge = (double)(t->rows + t->columns) * way->deep;
  const double products = area * way->deep / 1400, copies = edge / 40;
  const double sums = p->args.blocks * (products > copies ? products : copies);
  const double issued = area * (p->residual ? 15 : 7) / 128, moved = area * (p->residual ? 2 : 1) / 20;
  const double alone = sums + 1.8 * issued + 800, most = issued * 1.8 > moved ? issued * 1.8 : moved;
  if (t->alternates)
    return 2000 + ceil((double)hn_cuda_tiles_count(p, t) / HN_CUDA_UNITS) *
                      (p->args.blocks * area * way->deep / 3500 + 1.3 * issued);
  const int beside = beside_of(p, way, t);
  const double together = beside * (most > sums ? most : sums);
  const double rounds = ceil((double)hn_cuda_tiles_count(p, t) / (HN_CUDA_UNITS * beside));
  return 2000 + rounds * (alone > together ? alone : together);
}

/* The same of wider values: products, or copies; what follows them takes clocks of its own, or, where teams take turns,
 * those in which the other team multiplies. */
static double lasting_clocks(const hn_cuda_tensor_plan *p, const hn_cuda_tiles *way, const hn_cuda_tile *t) {
  const double area = (double)t->rows * t->columns, copies = (double)(t->rows + t->columns) * way->deep / 75;
  const double products = area / 30, sums = p->args.blocks * (products > copies ? products : copies);
  const bool is_gelu = p->args.act == HN_ACTIVATION_GELU;
  const double rest = area * (t->alternates ? (is_gelu ? 0.4 : 0.2) : (is_gelu ? 0.22 : 0.14));
  const int beside = beside_of(p, way, t);
  const double rounds = ceil((double)hn_cuda_tiles_count(p, t) / (HN_CUDA_UNITS * beside));
  if (!t->alternates)
    return 2500 + rounds * (beside > 1 && sums > rest ? beside * sums + rest : beside * (sums + rest));
  const double turn = 1.1 * sums, shared = (sums + rest) / 2;
  return 2500 + rest + rounds * (turn > shared ? turn : shared);
}

/* What a tile should take, in clocks: the round trips of one block, or what all blocks of a multiprocessor multiply and
 * copy, whichever takes longer. The numbers are fitted to times of 2,000 pairs of layer and tile on an H200. For the
 * order of timing alone, and of no device's facts: variants must be the same when an engine's file is checked before a
 * device is known. */
static double clocks(const hn_cuda_tensor_plan *p, const hn_cuda_tiles *way, const hn_cuda_tile *t, int split) {
  if (way->lasts) return hn_cuda_of_bytes(p) ? byte_clocks(p, way, t) : lasting_clocks(p, way, t);
  const double blocks = (double)hn_cuda_tiles_count(p, t) * split,
               turns = (double)hn_cuda_pieces_of(p->args.blocks, split);
  const double area = (double)t->rows * t->columns, edge = (double)(t->rows + t->columns) * way->deep;
  const double products = area * way->deep / 1400, loads = edge / 61,
               busy = (products > loads ? products : loads) + 160;
  const double first = way->bulk ? 2130 : 1160, turn = way->bulk ? 238 : 316 + area / 38 * 128 / t->threads;
  const int resident = (int)(HN_CUDA_MOST_SHARED / hn_cuda_tiles_shared(p, way, t, split, NULL)),
            beside = resident > 1 ? resident : 1;
  const double waits = ceil(blocks / HN_CUDA_UNITS / beside) * (first + turns * turn);
  const double works = (blocks > HN_CUDA_UNITS ? blocks / HN_CUDA_UNITS : 1) * (turns * busy + area / 1.75);
  return (waits > works ? waits : works) + (split == 1 ? 0 : way->bulk ? 330 + 515 * split : 1424 + 568 * split);
}

typedef struct choice {
  int tile, split;
  double clocks;
} choice;

static void insert(choice *best, int *count, int room, choice c) {
  int at = *count < room ? (*count)++ : room;
  if (at == room && c.clocks >= best[--at].clocks) return;
  for (; at > 0 && best[at - 1].clocks > c.clocks; --at) best[at] = best[at - 1];
  best[at] = c;
}

/* Which of one block or two a multiprocessor is faster is what the clocks say least of: the best of the other kind is
 * second. */
static void second_kind(const hn_cuda_tensor_plan *p, const hn_cuda_tiles *way, choice *best, int count) {
  int other = 1;
  while (other < count &&
         beside_of(p, way, &way->tiles[best[other].tile]) == beside_of(p, way, &way->tiles[best[0].tile]))
    ++other;
  for (; other > 1 && other < count; --other) {
    const choice one = best[other];
    best[other] = best[other - 1], best[other - 1] = one;
  }
}

int hn_cuda_tiles_list(const hone_query *query, const hn_cuda_tensor_plan *p, hone_params *out, int room) {
  enum { MOST = 8 };
  static const int splits[] = {1, 2, 3, 4, 6, 8, 12, 16};
  const hn_cuda_tiles way = hn_cuda_tiles_of(query);
  choice best[MOST];
  int count = 0;
  for (int t = 0; t < way.count; ++t)
    for (size_t i = 0; i < sizeof splits / sizeof *splits; ++i) {
      const int split = splits[i];
      const int64_t tile_number = hn_cuda_tiles_count(p, &way.tiles[t]);
      if (!way.tiles[t].kernels[p->type]) break;
      if (split < way.least_split || split > way.most_split || tile_number > HN_CUDA_MOST_TILES) continue;
      if (split > 1 && (split > p->args.blocks || tile_number * split > 4 * HN_CUDA_UNITS)) break;
      if (hn_cuda_tiles_shared(p, &way, &way.tiles[t], split, NULL) > HN_CUDA_MOST_SHARED) continue;
      insert(best, &count, MOST < room ? MOST : room, (choice){t, split, clocks(p, &way, &way.tiles[t], split)});
    }
  if (way.lasts && hn_cuda_of_bytes(p)) second_kind(p, &way, best, count);
  for (int i = 0; i < count; ++i) {
    out[i] = (hone_params){
        .count = 2, .items = {{.name = "tile", .value = best[i].tile}, {.name = "split", .value = best[i].split}}};
  }
  return count;
}
