/* SPDX-License-Identifier: Apache-2.0 */
/* boxes.h - tensors as bulk copies see them (kernels/cuda/tensor/maps.h): what cuTensorMapEncode... wants to be told.
 * Source: CUDA driver API, Tensor Map Object Management. */
#ifndef HN_BACKEND_CUDA_BOXES_H
#define HN_BACKEND_CUDA_BOXES_H

#include "backend/cuda/cuda.h"

/* What x, the weights and the residual are held in. */
typedef enum hn_cuda_tensor_type {
  HN_CUDA_TENSOR_F16,
  HN_CUDA_TENSOR_BF16,
  HN_CUDA_TENSOR_U8,
  HN_CUDA_TENSOR_I8,
  HN_CUDA_TENSOR_TF32, /* f32, which products round */
  HN_CUDA_TENSOR_TYPES
} hn_cuda_tensor_type;

/* Images with their channels last, as the outputs of a window over them see them; a box is `pixels` of these outputs'
 * places, of `columns` channels each (64 or 128 bytes). Channels, pads and pixels are as args.h has them; steps from
 * one pixel, row and image to the next are in values, and channels may reach beyond a step. */
typedef struct hn_cuda_boxes {
  hn_cuda_tensor_type type;
  int images, in_h, in_w, channels, out_h, out_w, stride_h, stride_w, pad_h, pad_w;
  int columns, pixels;
  int64_t pixel_step, row_step, image_step;
} hn_cuda_boxes;
bool hn_cuda_map_images(const hn_cuda_driver_api *api, const hn_cuda_boxes *boxes, const void *images,
                        CUtensorMap *out);

/* `count` rows of `columns` values; a box is box_rows of these, of box_columns values (64 or 128 bytes). */
typedef struct hn_cuda_row_boxes {
  hn_cuda_tensor_type type;
  int columns;
  int64_t count;
  int box_columns, box_rows;
  bool stored; /* f32 as it lies, where it is no operand */
} hn_cuda_row_boxes;
bool hn_cuda_map_rows(const hn_cuda_driver_api *api, const hn_cuda_row_boxes *boxes, const void *rows,
                      CUtensorMap *out);

/* Heads of `columns` values, in rows of batches; steps in elements, multiples of 16 bytes. A box is box_rows rows of
 * one head of one batch, of 128 bytes each: zeros behind the columns. */
typedef struct hn_cuda_head_boxes {
  hn_cuda_tensor_type type;
  int columns, rows, heads, batches;
  int64_t row_step, head_step, batch_step;
  int box_rows;
} hn_cuda_head_boxes;
bool hn_cuda_map_heads(const hn_cuda_driver_api *api, const hn_cuda_head_boxes *boxes, const void *first,
                       CUtensorMap *out);

#endif
