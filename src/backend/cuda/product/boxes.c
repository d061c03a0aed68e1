/* SPDX-License-Identifier: Apache-2.0 */
/* boxes.c - images, rows and heads as bulk copies see them. */
#include "backend/cuda/product/boxes.h"

typedef struct held {
  int bytes;
  CUtensorMapDataType type;
} held;

/* What is multiplied in tf32 is rounded by the copy: the units themselves would cut. */
static const held held_as[HN_CUDA_TENSOR_TYPES] = {[HN_CUDA_TENSOR_F16] = {2, CU_TENSOR_MAP_DATA_TYPE_FLOAT16},
                                                   [HN_CUDA_TENSOR_BF16] = {2, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16},
                                                   [HN_CUDA_TENSOR_U8] = {1, CU_TENSOR_MAP_DATA_TYPE_UINT8},
                                                   [HN_CUDA_TENSOR_I8] = {1, CU_TENSOR_MAP_DATA_TYPE_UINT8},
                                                   [HN_CUDA_TENSOR_TF32] = {4, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32}};

/* Rows of boxes are mixed over their own bytes: 128, or 64. */
static CUtensorMapSwizzle map_mix(hn_cuda_tensor_type type, int columns) {
  return columns * held_as[type].bytes == 128 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B;
}

bool hn_cuda_map_images(const hn_cuda_driver_api *api, const hn_cuda_boxes *b, const void *images, CUtensorMap *out) {
  const cuuint64_t bytes = (cuuint64_t)held_as[b->type].bytes;
  const cuuint64_t dims[4] = {(cuuint64_t)b->channels, (cuuint64_t)b->in_w, (cuuint64_t)b->in_h, (cuuint64_t)b->images};
  const cuuint64_t steps[3] = {(cuuint64_t)b->pixel_step * bytes, (cuuint64_t)b->row_step * bytes,
                               (cuuint64_t)b->image_step * bytes};
  const int first[2] = {-b->pad_w, -b->pad_h};
  const int last[2] = {(b->out_w - 1) * b->stride_w - b->pad_w - (b->in_w - 1),
                       (b->out_h - 1) * b->stride_h - b->pad_h - (b->in_h - 1)};
  const cuuint32_t strides[4] = {1, (cuuint32_t)b->stride_w, (cuuint32_t)b->stride_h, 1};
  return api->cuTensorMapEncodeIm2col(
             out, held_as[b->type].type, 4, (void *)(uintptr_t)images, dims, steps, first, last, (cuuint32_t)b->columns,
             (cuuint32_t)b->pixels, strides, CU_TENSOR_MAP_INTERLEAVE_NONE, map_mix(b->type, b->columns),
             CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

bool hn_cuda_map_rows(const hn_cuda_driver_api *api, const hn_cuda_row_boxes *b, const void *rows, CUtensorMap *out) {
  const cuuint64_t dims[2] = {(cuuint64_t)b->columns, (cuuint64_t)b->count};
  const cuuint64_t steps[1] = {(cuuint64_t)b->columns * (cuuint64_t)held_as[b->type].bytes};
  const cuuint32_t box[2] = {(cuuint32_t)b->box_columns, (cuuint32_t)b->box_rows}, ones[2] = {1, 1};
  const bool exact = b->stored && b->type == HN_CUDA_TENSOR_TF32;
  const CUtensorMapDataType type = exact ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32 : held_as[b->type].type;
  return api->cuTensorMapEncodeTiled(out, type, 2, (void *)(uintptr_t)rows, dims, steps, box, ones,
                                     CU_TENSOR_MAP_INTERLEAVE_NONE, map_mix(b->type, b->box_columns),
                                     CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                                     CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

bool hn_cuda_map_heads(const hn_cuda_driver_api *api, const hn_cuda_head_boxes *b, const void *first,
                       CUtensorMap *out) {
  const cuuint64_t bytes = (cuuint64_t)held_as[b->type].bytes;
  const cuuint64_t dims[4] = {(cuuint64_t)b->columns, (cuuint64_t)b->rows, (cuuint64_t)b->heads,
                              (cuuint64_t)b->batches};
  const cuuint64_t steps[3] = {(cuuint64_t)b->row_step * bytes, (cuuint64_t)b->head_step * bytes,
                               (cuuint64_t)b->batch_step * bytes};
  const cuuint32_t box[4] = {(cuuint32_t)(128 / bytes), (cuuint32_t)b->box_rows, 1, 1}, ones[4] = {1, 1, 1, 1};
  return api->cuTensorMapEncodeTiled(out, held_as[b->type].type, 4, (void *)(uintptr_t)first, dims, steps, box, ones,
                                     CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                     CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                                     CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}
