/* SPDX-License-Identifier: Apache-2.0 */
/* tensor.c - tiles of tensor-core products, how many blocks share one, launches, and what is packed for them. */
#include "backend/cuda/product/tensor.h"
#include <math.h>
#include <string.h>

enum {
  BIAS = 2,
  RESIDUAL = 3,
  BYTE_ROWS = 64,
  STORED_ROWS = 64, /* of the boxes that are stored */
  MOST_SPLIT = 16,
  MOST_SHARED = 227 << 10,
  MOST_TILES = 1 << 20,
  UNITS = 132
};

typedef struct tile {
  int rows, columns, stages, threads;
  hn_cuda_builtin kernels[HN_CUDA_TENSOR_TYPES]; /* 0: there is none */
  int buffers, byte_buffers;                     /* of blocks that last, of wider values and of bytes */
  bool alternates;                               /* two teams take turns (alternating.cuh) */
} tile;

static const tile stage_tiles[] = {
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
static const tile first_tiles[] = {
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
static const tile bulk_tiles[] = {
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
static const tile lasting_tiles[] = {
    LASTING_TILE(64, 3, 2, 4, 64_3),
    LASTING_TILE(64, 6, 5, 8, 64_6),
    LASTING_TILE(128, 4, 3, 6, 128_4),
    LASTING_TILE(256, 3, 1, 2, 256_3),
    LASTING_TILE(192, 4, 1, 2, 192_4),
    {128, 128, 2, 320, {0, 0, HN_CUDA_lasting_u8_128_2, HN_CUDA_lasting_i8_128_2}, 0, 2, false},
    {128, 64, 6, 320, {[HN_CUDA_TENSOR_TF32] = HN_CUDA_lasting_tf32_64_6}, 2, 0, false},
    {128, 128, 4, 320, {[HN_CUDA_TENSOR_TF32] = HN_CUDA_lasting_tf32_128_4}, 1, 0, false},
    {128, 192, 3, 320, {[HN_CUDA_TENSOR_TF32] = HN_CUDA_lasting_tf32_192_3}, 1, 0, false},
    {128, 256, 2, 320, {[HN_CUDA_TENSOR_TF32] = HN_CUDA_lasting_tf32_256_2}, 1, 0, false},
    {128, 256, 2, 320, {0, 0, HN_CUDA_lasting_u8_256_2, HN_CUDA_lasting_i8_256_2}, 0, 4, false},
    {192, 128, 4, 448, {HN_CUDA_tall_f16_128_4, HN_CUDA_tall_bf16_128_4}, 1, 0, false},
    {192, 192, 3, 448, {HN_CUDA_tall_f16_192_3, HN_CUDA_tall_bf16_192_3}, 1, 0, false},
    ALTERNATING_TILE(128, 192, 5, 384, 128_192_5),
    ALTERNATING_TILE(192, 128, 5, 384, 192_128_5),
    ALTERNATING_TILE(128, 128, 7, 640, 128_128_7),
    ALTERNATING_TILE(64, 192, 7, 384, 64_192_7),
    ALTERNATING_TILE(128, 64, 9, 640, 128_64_9),
};
static const tile short_tiles[] = {
    {128, 64, 7, 320, {0, 0, HN_CUDA_short_u8_64_7, HN_CUDA_short_i8_64_7}, 0, 2, false},
    {128, 128, 4, 320, {0, 0, HN_CUDA_short_u8_128_4, HN_CUDA_short_i8_128_4}, 0, 2, false},
    {128, 128, 8, 320, {0, 0, HN_CUDA_short_u8_128_8, HN_CUDA_short_i8_128_8}, 0, 6, false},
    {128, 256, 4, 320, {0, 0, HN_CUDA_short_u8_256_4, HN_CUDA_short_i8_256_4}, 0, 4, false},
    {128, 64, 5, 320, {0, 0, HN_CUDA_short_u8_64_5, HN_CUDA_short_i8_64_5}, 0, 6, false},
};

/* The tiles of a row, and how many blocks may share one; deep: bytes of a block of k. */
typedef struct choices {
  const tile *tiles;
  int count, least_split, most_split, deep;
  bool bulk, lasts;
} choices;
static choices choices_of(const hone_query *query) {
  static const choices ways[] = {
      [HN_CUDA_TENSOR_STAGES] = {stage_tiles, sizeof stage_tiles / sizeof *stage_tiles, 1, 1, 128, false, false},
      [HN_CUDA_TENSOR_FIRST] = {first_tiles, sizeof first_tiles / sizeof *first_tiles, 1, 1, 128, false, false},
      [HN_CUDA_TENSOR_CLUSTER] = {stage_tiles, sizeof stage_tiles / sizeof *stage_tiles, 2, MOST_SPLIT, 128, false,
                                  false},
      [HN_CUDA_TENSOR_BULK] = {bulk_tiles, sizeof bulk_tiles / sizeof *bulk_tiles, 1, MOST_SPLIT, 128, true, false},
      [HN_CUDA_TENSOR_LASTING] = {lasting_tiles, sizeof lasting_tiles / sizeof *lasting_tiles, 1, 1, 128, true, true},
      [HN_CUDA_TENSOR_SHORT] = {short_tiles, sizeof short_tiles / sizeof *short_tiles, 1, 1, 64, true, true}};
  return ways[*(const hn_cuda_tensor_way *)query->tactic->kernel];
}

static hn_cuda_tensor_type type_of(hone_dtype compute) {
  return compute == HONE_TF32 ? HN_CUDA_TENSOR_TF32 : compute == HONE_BF16 ? HN_CUDA_TENSOR_BF16 : HN_CUDA_TENSOR_F16;
}

const char *hn_cuda_tensor_begin(const hone_query *query, hn_cuda_tensor_plan *p) {
  const hn_activation activation = hn_cuda_activation(query);
  *p = (hn_cuda_tensor_plan){.groups = 1,
                             .type = type_of(query->tactic->compute),
                             .residual = hn_cuda_given(query, RESIDUAL) ? RESIDUAL : 0,
                             .args = {.act = (int)activation,
                                      .alpha = (float)hn_cuda_attr_float(query->attrs, "act_alpha", 0),
                                      .beta = (float)hn_cuda_attr_float(query->attrs, "act_beta", 0)}};
  if (activation == HN_ACTIVATION_PRELU || activation == HN_ACTIVATION_COUNT)
    return "its activation is not the kernel's own";
  if (!hn_cuda_is_weight(query, 1)) return "its weights are not constants in f32, f16 or bf16";
  if (hn_cuda_given(query, BIAS) && !hn_cuda_is_weight(query, BIAS))
    return "its bias is not constant in f32, f16 or bf16";
  return NULL;
}

/* ---- tiles and splits ---- */

static bool is_of_bytes(const hn_cuda_tensor_plan *p) {
  return p->type == HN_CUDA_TENSOR_U8 || p->type == HN_CUDA_TENSOR_I8;
}
static bool is_of_floats(const hn_cuda_tensor_plan *p) { return p->type == HN_CUDA_TENSOR_TF32; }
static int element_bytes(const hn_cuda_tensor_plan *p) { return is_of_bytes(p) ? 1 : is_of_floats(p) ? 4 : 2; }
static int tiles_of(int extent, int size) { return (extent + size - 1) / size; }
static int64_t tile_count(const hn_cuda_tensor_plan *p, const tile *t) {
  return (int64_t)tiles_of(p->args.m, t->rows) * tiles_of(p->args.n, t->columns) * p->groups;
}
/* What is launched once or twice on a device keeps its residual in shared memory; more of them hide its latency. */
static bool keeps_residual(const hn_cuda_tensor_plan *p, const tile *t, int split) {
  return p->residual && tile_count(p, t) * split <= 3 * UNITS;
}

/* Of bytes a chunk of a first layer is a pixel: as many threads as eight rows have chunks. */
static int threads_of(const hn_cuda_tensor_plan *p, const tile *t, const choices *way) {
  return is_of_bytes(p) && way->tiles == first_tiles ? 256 : t->threads;
}

/* Of bytes in whole sixty-fours: a lane's columns are spread over so many (lasting.cuh). */
static int64_t weight_rows(const hn_cuda_tensor_plan *p) {
  const int rows = p->args.n * p->groups;
  return is_of_bytes(p) && p->lasts ? tiles_of(rows, BYTE_ROWS) * (int64_t)BYTE_ROWS : rows;
}
int64_t hn_cuda_tensor_rows_bytes(const hn_cuda_tensor_plan *p) {
  return weight_rows(p) * p->args.blocks * p->row * element_bytes(p);
}

/* Biases (and barriers), stages, sums (of one block alone: over the stages), and behind them the rows of a residual. */
static int64_t shared_bytes(const hn_cuda_tensor_plan *p, const choices *way, const tile *t, int split,
                            int *out_residual_at) {
  const int64_t rows_each = tiles_of(t->rows, split), stages = (int64_t)t->stages * (t->rows + t->columns) * way->deep;
  const int64_t row_bytes = (int64_t)t->columns * element_bytes(p);
  if (out_residual_at) *out_residual_at = 0;
  if (way->lasts) return 1024 + stages + (is_of_bytes(p) ? t->byte_buffers : t->buffers) * t->rows * row_bytes;
  const int64_t sums = split * rows_each * (t->columns + 8) * (int64_t)sizeof(float);
  const int64_t most = split > 1 ? stages + sums : stages > sums ? stages : sums;
  const int64_t biases = t->columns * (int64_t)sizeof(float) * (is_of_bytes(p) ? 2 : 1);
  const int64_t front = way->bulk ? (biases + t->stages * 16 + 1023) / 1024 * 1024 : biases;
  const bool keeps = keeps_residual(p, t, split);
  if (out_residual_at) *out_residual_at = keeps ? (int)(front + most) : 0;
  return front + most + (keeps ? rows_each * row_bytes : 0);
}

/* Blocks of a multiprocessor that last: two overlap, one has more of a tile in a row. */
static int beside_of(const hn_cuda_tensor_plan *p, const choices *way, const tile *t) {
  return MOST_SHARED / (shared_bytes(p, way, t, 1, NULL) + 1024) > 1 ? 2 : 1;
}

/* What a tile should take by blocks that last, over bytes: issue slots of what follows the sums (seven a value, with a
 * residual fifteen), bytes from the second cache, or what one block does in turn. */
static double byte_clocks(const hn_cuda_tensor_plan *p, const choices *way, const tile *t) {
  const double area = (double)t->rows * t->columns, edge = (double)(t->rows + t->columns) * way->deep;
  const double products = area * way->deep / 1400, copies = edge / 40;
  const double sums = p->args.blocks * (products > copies ? products : copies);
  const double issued = area * (p->residual ? 15 : 7) / 128, moved = area * (p->residual ? 2 : 1) / 20;
  const double alone = sums + 1.8 * issued + 800, most = issued * 1.8 > moved ? issued * 1.8 : moved;
  const int beside = beside_of(p, way, t);
  const double together = beside * (most > sums ? most : sums);
  const double rounds = ceil((double)tile_count(p, t) / (UNITS * beside));
  return 2000 + rounds * (alone > together ? alone : together);
}

/* The same of wider values: products, or copies; what follows them takes clocks of its own, or, where teams take turns,
 * those in which the other team multiplies. */
static double lasting_clocks(const hn_cuda_tensor_plan *p, const choices *way, const tile *t) {
  const double area = (double)t->rows * t->columns, copies = (double)(t->rows + t->columns) * way->deep / 75;
  const double products = area / 30, sums = p->args.blocks * (products > copies ? products : copies);
  const bool is_gelu = p->args.act == HN_ACTIVATION_GELU;
  const double rest = area * (t->alternates ? (is_gelu ? 0.4 : 0.2) : (is_gelu ? 0.22 : 0.14));
  const int beside = beside_of(p, way, t);
  const double rounds = ceil((double)tile_count(p, t) / (UNITS * beside));
  if (!t->alternates)
    return 2500 + rounds * (beside > 1 && sums > rest ? beside * sums + rest : beside * (sums + rest));
  const double turn = 1.1 * sums, shared = (sums + rest) / 2;
  return 2500 + rest + rounds * (turn > shared ? turn : shared);
}

/* What a tile should take, in clocks: the round trips of one block, or what all blocks of a multiprocessor multiply and
 * copy, whichever takes longer. The numbers are fitted to times of 2,000 pairs of layer and tile on an H200. For the
 * order of timing alone, and of no device's facts: variants must be the same when an engine's file is checked before a
 * device is known. */
static double clocks(const hn_cuda_tensor_plan *p, const choices *way, const tile *t, int split) {
  if (way->lasts) return is_of_bytes(p) ? byte_clocks(p, way, t) : lasting_clocks(p, way, t);
  const double blocks = (double)tile_count(p, t) * split, turns = (double)tiles_of(p->args.blocks, split);
  const double area = (double)t->rows * t->columns, edge = (double)(t->rows + t->columns) * way->deep;
  const double products = area * way->deep / 1400, loads = edge / 61,
               busy = (products > loads ? products : loads) + 160;
  const double first = way->bulk ? 2130 : 1160, turn = way->bulk ? 238 : 316 + area / 38 * 128 / t->threads;
  const int resident = (int)(MOST_SHARED / shared_bytes(p, way, t, split, NULL)), beside = resident > 1 ? resident : 1;
  const double waits = ceil(blocks / UNITS / beside) * (first + turns * turn);
  const double works = (blocks > UNITS ? blocks / UNITS : 1) * (turns * busy + area / 1.75);
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
static void second_kind(const hn_cuda_tensor_plan *p, const choices *way, choice *best, int count) {
  int other = 1;
  while (other < count &&
         beside_of(p, way, &way->tiles[best[other].tile]) == beside_of(p, way, &way->tiles[best[0].tile]))
    ++other;
  for (; other > 1 && other < count; --other) {
    const choice one = best[other];
    best[other] = best[other - 1], best[other - 1] = one;
  }
}

static int list_variants(const hone_query *query, const hn_cuda_tensor_plan *p, hone_params *out, int room) {
  enum { MOST = 8 };
  static const int splits[] = {1, 2, 3, 4, 6, 8, 12, 16};
  const choices way = choices_of(query);
  choice best[MOST];
  int count = 0;
  for (int t = 0; t < way.count; ++t)
    for (size_t i = 0; i < sizeof splits / sizeof *splits; ++i) {
      const int split = splits[i];
      const int64_t tile_number = tile_count(p, &way.tiles[t]);
      if (!way.tiles[t].kernels[p->type]) break;
      if (split < way.least_split || split > way.most_split || tile_number > MOST_TILES) continue;
      if (split > 1 && (split > p->args.blocks || tile_number * split > 4 * UNITS)) break;
      if (shared_bytes(p, &way, &way.tiles[t], split, NULL) > MOST_SHARED) continue;
      insert(best, &count, MOST < room ? MOST : room, (choice){t, split, clocks(p, &way, &way.tiles[t], split)});
    }
  if (way.lasts && is_of_bytes(p)) second_kind(p, &way, best, count);
  for (int i = 0; i < count; ++i) {
    out[i] = (hone_params){
        .count = 2, .items = {{.name = "tile", .value = best[i].tile}, {.name = "split", .value = best[i].split}}};
  }
  return count;
}

int hn_cuda_tensor_variants(const hone_query *query, hone_params *out, int room) {
  hn_cuda_tensor_plan p;
  hone_needs needs = {0};
  return query->tactic->plan(query, &p, &needs) ? 0 : list_variants(query, &p, out, room);
}

/* Blocks that last bound what they store, and pay for many tiles. */
static const char *check_lasting(hn_cuda_tensor_plan *p) {
  hn_cuda_tensor *a = &p->args;
  if (a->act > HN_ACTIVATION_CLIP && a->act != HN_ACTIVATION_GELU) return "its activation is neither a bound nor gelu";
  if (p->groups > 1 || a->is_wide) return "it has groups, or its output is f32";
  if (a->m < 64 * UNITS && (int64_t)a->m * a->n < (int64_t)64 * 64 * UNITS) return "it has few tiles";
  if (a->act != HN_ACTIVATION_CLIP) a->alpha = a->act == HN_ACTIVATION_RELU ? 0 : -INFINITY, a->beta = INFINITY;
  return NULL;
}

/* Where the pixels of a bulk copy begin and end, and whether it can say so. */
static const char *check_bulk(const hn_cuda_tensor_plan *p, const choices *way) {
  const hn_cuda_tensor *a = &p->args;
  const int end_h = (a->out_h - 1) * a->stride_h - a->pad_h - (a->in_h - 1);
  const int end_w = (a->out_w - 1) * a->stride_w - a->pad_w - (a->in_w - 1);
  const bool is_cheap =
      way->deep < 128 && a->kernel_h * a->kernel_w == 1; /* one block of k, beside a longer epilogue */
  if (!is_cheap && 2 * a->depth <= tiles_of(a->depth, p->row) * p->row)
    return "most of its blocks of channels would be zeros";
  if (way->deep < 128 && (a->depth - 1) % 128 >= 64) return "its channels fill the longer blocks";
  if (p->groups > 1 && a->depth % p->row) return "the channels of a group are no multiple of a block's";
  if (a->bytes.pad && (a->pad_h > 0 || a->pad_w > 0 || end_h > 0 || end_w > 0))
    return "its pads are no zeros, as those of bulk copies are";
  if (a->pad_h > 128 || a->pad_w > 128 || end_h < -128 || end_h > 127 || end_w < -128 || end_w > 127)
    return "its pads are too large for bulk copies";
  if (a->stride_h > 8 || a->stride_w > 8) return "its strides are too large for bulk copies";
  if ((a->kernel_h - 1) * a->dilation_h > 255 || (a->kernel_w - 1) * a->dilation_w > 255)
    return "its window is too large for bulk copies";
  return NULL;
}

const char *hn_cuda_tensor_plan_it(const hone_query *query, hn_cuda_tensor_plan *p, hone_needs *needs) {
  hn_cuda_tensor *a = &p->args;
  hone_params first;
  const hone_params *params = query->params ? query->params : &first;
  const choices way = choices_of(query);
  p->row = way.deep / element_bytes(p);
  p->lasts = way.lasts;
  const int64_t taps = (int64_t)a->kernel_h * a->kernel_w, depth = tiles_of(a->depth, p->row) * (int64_t)p->row;
  if (taps < 1 || a->depth < 1 || taps * depth > 1 << 24) return "it has nothing to sum, or too much";
  if (way.bulk) HN_TRY_REASON(check_bulk(p, &way));
  if (way.lasts) HN_TRY_REASON(check_lasting(p));
  a->blocks = way.bulk ? (int)(taps * depth / p->row) : tiles_of((int)taps * a->depth, p->row);
  p->tap_pitch = way.bulk ? (int)depth : a->depth;
  if (!list_variants(query, p, &first, 1)) return "no tile fits it";
  if (params->count != 2) return "no tile and split are given";
  const int64_t number = params->items[0].value, split = params->items[1].value;
  if (number < 0 || number >= way.count || split < way.least_split || split > way.most_split)
    return "no such tile or split";
  const tile *t = &way.tiles[number];
  if (!t->kernels[p->type]) return "no such tile of its type";
  a->split = split < a->blocks ? (int)split : a->blocks; /* other extents than were tuned for may need it */
  const int64_t shared = shared_bytes(p, &way, t, a->split, &a->residual_at);
  if (shared > MOST_SHARED || tile_count(p, t) > MOST_TILES) return "it is too large";
  a->group_tiles = tiles_of(a->n, t->columns);
  a->n_tiles = a->group_tiles * p->groups;
  a->step_c = p->row % a->depth;
  a->step_x = p->row / a->depth % a->kernel_w;
  a->step_y = p->row / a->depth / a->kernel_w;
  p->box_pixels = way.bulk ? t->rows : 0;
  p->box_columns = is_of_floats(p) ? 32 : is_of_bytes(p) && t->columns % 128 == 0 ? 128 : 64;
  p->box_rows = t->columns;
  p->residual_rows = t->alternates ? t->rows : STORED_ROWS;
  p->blocks_each = way.lasts ? (int)(MOST_SHARED / (shared + 1024)) : 0;
  p->kernel = t->kernels[p->type];
  p->shape = (hn_cuda_shape){.grid = {(unsigned)(tile_count(p, t) * a->split), 1, 1},
                             .threads = (unsigned)threads_of(p, t, &way),
                             .shared_bytes = (unsigned)shared,
                             .cluster = (unsigned)a->split,
                             .dependent = true};
  a->scales_at = is_of_bytes(p) ? tiles_of(a->n * p->groups, BYTE_ROWS) * BYTE_ROWS : 0;
  const int64_t vectors = is_of_bytes(p) ? hn_cuda_tensor_byte_words(p) : tiles_of(a->n * p->groups, 8) * (int64_t)8;
  needs->packed = (size_t)(hn_cuda_tensor_rows_bytes(p) + vectors * (int64_t)sizeof(float));
  needs->efficiency = 0.5;
  return NULL;
}

static bool map_image(const hn_cuda_tensor_plan *p, const hn_cuda_driver_api *api, const void *x, CUtensorMap *out) {
  const hn_cuda_tensor *a = &p->args;
  hn_cuda_boxes boxes = {.type = p->type, .columns = p->row, .pixels = p->box_pixels, .pitch = a->in_pitch};
  boxes.images = a->m / (a->out_h * a->out_w), boxes.out_h = a->out_h, boxes.out_w = a->out_w;
  boxes.in_h = a->in_h, boxes.in_w = a->in_w, boxes.stride_h = a->stride_h, boxes.stride_w = a->stride_w;
  boxes.pad_h = a->pad_h, boxes.pad_w = a->pad_w;
  return hn_cuda_map_images(api, &boxes, x, out);
}

static bool map_weights(const hn_cuda_tensor_plan *p, const hn_cuda_driver_api *api, const void *w, CUtensorMap *out) {
  const hn_cuda_row_boxes boxes = {.type = p->type,
                                   .columns = p->args.blocks * p->row,
                                   .count = weight_rows(p),
                                   .box_columns = p->row,
                                   .box_rows = p->box_rows};
  return hn_cuda_map_rows(api, &boxes, w, out);
}

typedef struct operands {
  const void *x, *w, *bias, *residual;
  void *y;
} operands;

static hone_status launch_lasting(const hn_cuda_tensor_plan *p, hone_stream *stream, const operands *o) {
  const hn_cuda_tensor *a = &p->args;
  const hn_cuda_driver_api *api = &stream->unit->driver->api;
  hn_cuda_shape shape = p->shape;
  const unsigned most = (unsigned)(stream->unit->facts.threads * p->blocks_each);
  if (most > 0 && shape.grid.x > most) shape.grid.x = most;
  const hn_cuda_row_boxes rows = {.type = p->type,
                                  .columns = a->out_pitch,
                                  .count = a->m,
                                  .box_columns = p->box_columns,
                                  .box_rows = STORED_ROWS,
                                  .stored = true};
  hn_cuda_row_boxes added = rows;
  added.box_rows = p->residual_rows;
  hn_cuda_lasting_maps maps = {.to = o->y};
  int adds = p->residual != 0;
  if (!map_image(p, api, o->x, &maps.x) || !map_weights(p, api, o->w, &maps.w) ||
      !hn_cuda_map_rows(api, &rows, o->y, &maps.y) ||
      !hn_cuda_map_rows(api, &added, adds ? o->residual : o->y, &maps.residual))
    return HONE_DEVICE;
  void *arguments[] = {&maps, (void *)(uintptr_t)&o->bias, &adds, (void *)(uintptr_t)a};
  return hn_cuda_launch_shaped(stream, p->kernel, &shape, arguments);
}

static hone_status launch_bulk(const hn_cuda_tensor_plan *p, hone_stream *stream, operands *o) {
  const hn_cuda_tensor *a = &p->args;
  const hn_cuda_driver_api *api = &stream->unit->driver->api;
  hn_cuda_tensor_maps maps;
  if (!map_image(p, api, o->x, &maps.x) || !map_weights(p, api, o->w, &maps.w)) return HONE_DEVICE;
  void *arguments[] = {&o->y, &maps, (void *)&o->bias, (void *)&o->residual, (void *)(uintptr_t)a};
  return hn_cuda_launch_shaped(stream, p->kernel, &p->shape, arguments);
}

hone_status hn_cuda_tensor_launch(void *state, hone_stream *stream, const hone_launch *launch) {
  const hn_cuda_tensor_plan *p = state;
  const hn_cuda_tensor *a = &p->args;
  operands o = {.x = launch->in[0].data, .w = launch->packed, .y = launch->out[0].data};
  o.bias = (const char *)o.w + hn_cuda_tensor_rows_bytes(p);
  o.residual = p->residual ? launch->in[p->residual].data : NULL;
  if (p->blocks_each) return launch_lasting(p, stream, &o);
  if (p->box_pixels) return launch_bulk(p, stream, &o);
  void *arguments[] = {&o.y, (void *)&o.x, (void *)&o.w, (void *)&o.bias, (void *)&o.residual, (void *)(uintptr_t)a};
  return hn_cuda_launch_shaped(stream, p->kernel, &p->shape, arguments);
}

/* ---- constants ---- */

hn_cuda_tensor_rows hn_cuda_tensor_packed(const hone_query *query, const hn_cuda_tensor_plan *p, void *to) {
  const hn_cuda_tensor *a = &p->args;
  const int64_t rows_bytes = hn_cuda_tensor_rows_bytes(p), rows = weight_rows(p);
  const hn_cuda_tensor_rows packed = {to, (float *)((char *)to + rows_bytes), (int64_t)a->blocks * p->row};
  memset(to, 0, (size_t)rows_bytes + (size_t)tiles_of((int)rows, 8) * 8 * sizeof(float));
  if (hn_cuda_given(query, BIAS))
    for (int64_t i = 0; i < rows; ++i) packed.bias[i] = hn_cuda_weight(query->in[BIAS].constant, i);
  return packed;
}

void hn_cuda_tensor_put(const hn_cuda_tensor_plan *p, const hn_cuda_tensor_rows *to, int64_t at, float value) {
  if (is_of_floats(p))
    ((float *)to->rows)[at] = hn_cuda_tf32_of(value);
  else
    ((uint16_t *)to->rows)[at] = hn_cuda_half_of(p->type == HN_CUDA_TENSOR_BF16 ? HONE_BF16 : HONE_F16, value);
}
