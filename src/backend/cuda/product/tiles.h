/* SPDX-License-Identifier: Apache-2.0 */
/* tiles.h - the tiles of tensor-core products, and in which order a layer's build times them. */
#ifndef HN_BACKEND_CUDA_TILES_H
#define HN_BACKEND_CUDA_TILES_H

#include "backend/cuda/product/tensor.h"

/* Bytes of shared memory of a block, and multiprocessors, of the device that times were fitted to. */
enum { HN_CUDA_MOST_SHARED = 227 << 10, HN_CUDA_MOST_TILES = 1 << 20, HN_CUDA_UNITS = 132 };

typedef struct hn_cuda_tile {
  int rows, columns, stages, threads;
  hn_cuda_builtin kernels[HN_CUDA_TENSOR_TYPES]; /* 0: there is none */
  int buffers, byte_buffers;                     /* of blocks that last, of wider values and of bytes */
  bool alternates;                               /* two teams take turns (alternating.cuh) */
} hn_cuda_tile;

/* The tiles of a row, and how many blocks may share one; deep: bytes of a block of k. */
typedef struct hn_cuda_tiles {
  const hn_cuda_tile *tiles;
  int count, least_split, most_split, deep;
  bool bulk, lasts;
} hn_cuda_tiles;
hn_cuda_tiles hn_cuda_tiles_of(const hone_query *query);

/* Of a whole product; bytes of shared memory of a block, `split` of which share a tile, and optionally where its
 * residual lies there (0: nowhere). */
int64_t hn_cuda_tiles_count(const hn_cuda_tensor_plan *p, const hn_cuda_tile *t);
int64_t hn_cuda_tiles_shared(const hn_cuda_tensor_plan *p, const hn_cuda_tiles *way, const hn_cuda_tile *t, int split,
                             int *out_residual_at);
/* Tiles and splits that fit, the fastest expected first; how many. */
int hn_cuda_tiles_list(const hone_query *query, const hn_cuda_tensor_plan *p, hone_params *out, int room);

static inline bool hn_cuda_of_bytes(const hn_cuda_tensor_plan *p) {
  return p->type == HN_CUDA_TENSOR_U8 || p->type == HN_CUDA_TENSOR_I8;
}
static inline bool hn_cuda_of_floats(const hn_cuda_tensor_plan *p) { return p->type == HN_CUDA_TENSOR_TF32; }
static inline int hn_cuda_tensor_bytes_each(const hn_cuda_tensor_plan *p) {
  return hn_cuda_of_bytes(p) ? 1 : hn_cuda_of_floats(p) ? 4 : 2;
}
static inline int hn_cuda_pieces_of(int extent, int size) { return (extent + size - 1) / size; }

#endif
