/* SPDX-License-Identifier: Apache-2.0 */
/* transpose.h - permutes the dimensions of a dense tensor of rank <= 8, elements of 1, 2, 4 or 8 bytes.
 *
 * hn_transpose_plan_make reduces every permutation to one of two loops: copies of runs, where the innermost
 * dimension stays innermost, or square tiles, where another one takes its place. */
#ifndef HN_KERNELS_CPU_TRANSPOSE_H
#define HN_KERNELS_CPU_TRANSPOSE_H

#include <stdint.h>

enum { HN_TRANSPOSE_RANK = 8 };

/* Sizes that the planner and the loops agree on. */
enum {
  HN_TRANSPOSE_TILE = 64,         /* 64 x 64 floats, twice: half of a 32 KiB L1 cache */
  HN_TRANSPOSE_RUN_BYTES = 16384, /* a longer run is cut, so that threads can share it */
};

/* Filled by hn_transpose_plan_make; plain data, may be copied and stored. */
typedef struct {
  int32_t element_bytes; /* 1, 2, 4, 8 or 16: runs as short as that are moved as one element */
  int32_t outer_rank;    /* dimensions outside the run or the tile */
  int64_t outer_dim[HN_TRANSPOSE_RANK];
  int64_t outer_from[HN_TRANSPOSE_RANK], outer_to[HN_TRANSPOSE_RANK]; /* strides in elements */
  int64_t run;                                                        /* elements of a contiguous run, or 0: tiles */
  int64_t rows, columns; /* of the matrix that the tiles are cut from: the source has `rows` rows */
  int64_t row_stride;    /* source, elements */
  int64_t column_stride; /* destination, elements */
  int64_t units;         /* work units in all */
} hn_transpose_plan;

/* dim: the source's extents. perm[i]: which source dimension the destination's i-th is. element_bytes: 1, 2, 4, 8.
 * rank 0 .. HN_TRANSPOSE_RANK; extents of 0 give no units. */
void hn_transpose_plan_make(hn_transpose_plan *plan, int32_t rank, const int64_t *dim, const int32_t *perm,
                            int32_t element_bytes);

/* Computes the units [begin, end) of plan->units: a piece of a run of up to 16 KiB, or a tile of up to 64 x 64. */
typedef void hn_transpose_fn(const hn_transpose_plan *plan, const void *from, void *to, int64_t begin, int64_t end);

hn_transpose_fn hn_transpose_avx512, hn_transpose_avx2, hn_transpose_c;

#endif
