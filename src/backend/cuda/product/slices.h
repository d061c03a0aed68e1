/* SPDX-License-Identifier: Apache-2.0 */
/* slices.h - products of few rows cut along k (kernels/cuda/product): which tile, and into how many slices. Both are
 * parameters of a tactic: they are measured, and do not change from run to run. */
#ifndef HN_BACKEND_CUDA_SLICES_H
#define HN_BACKEND_CUDA_SLICES_H

#include "backend/cuda/cuda.h"
#include "kernels/cuda/args.h"

enum { HN_CUDA_MOST_CLUSTER = 16 };

typedef struct hn_cuda_slice_tile {
  int rows, columns;
  int groups; /* of threads, which share a slice */
  int stages; /* in dynamic shared memory (staged.cuh); 0: the kernel has its own */
} hn_cuda_slice_tile;

typedef struct hn_cuda_sliced {
  hn_cuda_product_args args;       /* m, n, k, early, act, alpha, beta are the caller's, the rest is filled */
  const hn_cuda_slice_tile *tiles; /* the caller's, like the next two: what a tactic's parameter `tile` counts */
  int tile_count;
  bool clusters; /* the slices of a tile are a cluster along x, which adds them in shared memory */
  int batch;     /* products beside each other */
  int tile;
  hn_cuda_grid grid;
  unsigned threads, shared_bytes;
} hn_cuda_sliced;

/* What is common to products and convolutions: types, activation (with what follows it). Else why not. */
const char *hn_cuda_sliced_begin(const hone_query *query, hn_cuda_sliced *s);
int hn_cuda_sliced_variants(const hn_cuda_sliced *s, hone_params *out, int room);
/* Cuts as a query's parameters say: so many slices, or as many as the extents allow. */
const char *hn_cuda_sliced_plan(const hone_query *query, hn_cuda_sliced *s, hone_needs *needs);

#endif
