/* SPDX-License-Identifier: Apache-2.0 */
/* tensor.h - convolutions and products in halves, tf32 or bytes on tensor cores (kernels/cuda/tensor): which tile, and
 * how many blocks share one along k. Both are parameters of a tactic: they are measured, and do not change from run to
 * run.
 */
#ifndef HN_BACKEND_CUDA_TENSOR_H
#define HN_BACKEND_CUDA_TENSOR_H

#include "backend/cuda/cuda.h"
#include "backend/cuda/product/boxes.h"
#include "kernels/cuda/args.h"
#include "kernels/cuda/tensor/maps.h"

/* What a row's .kernel points to: tiles by mma.sync, one block each (of images of up to four channels, and of others),
 * or shared by a cluster; tiles by warpgroups; the same by blocks that take many tiles, in blocks of k of 128 bytes or
 * of 64. */
typedef enum hn_cuda_tensor_way {
  HN_CUDA_TENSOR_STAGES,
  HN_CUDA_TENSOR_FIRST,
  HN_CUDA_TENSOR_CLUSTER,
  HN_CUDA_TENSOR_BULK,
  HN_CUDA_TENSOR_LASTING,
  HN_CUDA_TENSOR_SHORT
} hn_cuda_tensor_way;

typedef struct hn_cuda_tensor_plan {
  hn_cuda_tensor args; /* extents and geometry are the caller's, the rest is filled */
  hn_cuda_tensor_type type;
  int groups, together; /* each of so many of the convolution's, side by side */
  int residual;         /* its input; 0: there is none */
  int tap_pitch;        /* k from tap to tap */
  int folded, folded_c; /* taps of the window that are one, side by side; k from one to the next */
  int64_t pixel_step, row_step, image_step, channels; /* of images, as bulk copies see them, in values */
  int row;                                            /* values of a block of k */
  bool lasts;                            /* its rows of weights stand as blocks that last want them (of bytes) */
  int box_pixels, box_rows, box_columns; /* of bulk copies; 0: there are none */
  int residual_rows;                     /* of the boxes of a residual, of blocks that last */
  int blocks_each;                       /* of a multiprocessor, that take all tiles; 0: each block takes one */
  hn_cuda_builtin kernel;
  hn_cuda_shape shape;
} hn_cuda_tensor_plan;

/* Where a tap of the window, counted along its rows, begins in k. */
static inline int64_t hn_cuda_tensor_tap_at(const hn_cuda_tensor_plan *p, int64_t tap) {
  return tap / p->folded * p->tap_pitch + tap % p->folded * p->folded_c;
}

/* What is common to convolutions and linear layers: constants and the activation. Else why not. */
const char *hn_cuda_tensor_begin(const hone_query *query, hn_cuda_tensor_plan *p);
/* Of a row whose plan fills an hn_cuda_tensor_plan: tiles and splits, the fastest expected first. */
int hn_cuda_tensor_variants(const hone_query *query, hone_params *out, int room);
/* Fills what follows from the extents and from the query's parameters: so many blocks a tile, or as many as k allows.
 */
const char *hn_cuda_tensor_plan_it(const hone_query *query, hn_cuda_tensor_plan *p, hone_needs *needs);
hone_status hn_cuda_tensor_launch(void *state, hone_stream *stream, const hone_launch *launch);

/* Packed: a row of args.blocks x row values for each channel of the output, then, for each, what its sums begin with.
 */
int64_t hn_cuda_tensor_rows_bytes(const hn_cuda_tensor_plan *p);
/* Of bytes, behind the rows: what sums begin with, scales, a word of blocks that last (lasting.cuh), and three more. */
static inline int64_t hn_cuda_tensor_byte_words(const hn_cuda_tensor_plan *p) {
  return 2 * (int64_t)p->args.scales_at + 4;
}
/* Of halves or f32: biases in f32, to a multiple of 8. */
typedef struct hn_cuda_tensor_rows {
  void *rows;
  float *bias; /* zeros where there is none */
  int64_t pitch;
} hn_cuda_tensor_rows;
hn_cuda_tensor_rows hn_cuda_tensor_packed(const hone_query *query, const hn_cuda_tensor_plan *p, void *to);
/* Value `at` of the rows, rounded to what is multiplied. */
void hn_cuda_tensor_put(const hn_cuda_tensor_plan *p, const hn_cuda_tensor_rows *to, int64_t at, float value);

#endif
