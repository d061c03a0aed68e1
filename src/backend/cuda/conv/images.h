/* SPDX-License-Identifier: Apache-2.0 */
/* images.h - what every convolution on tensor cores asks of its images, with their channels last, whatever they hold.
 */
#ifndef HN_CUDA_CONV_IMAGES_H
#define HN_CUDA_CONV_IMAGES_H

#include "backend/cuda/product/tensor.h"

typedef struct hn_cuda_conv_images {
  int x, w, residual;        /* inputs; output 0 is y */
  hone_dtype held;           /* what the images hold */
  int group_multiple;        /* of the channels of each of several groups */
  const char *group_refusal; /* the reason where they are no such multiple */
  int most_together;         /* groups of few channels become one of at most so many; 0: they stay */
} hn_cuda_conv_images;

/* Extents, pitches, groups and the window into the plan, whose residual is known; the reason against it, or NULL. */
const char *hn_cuda_conv_images_read(const hone_query *query, const hn_cuda_conv_images *images,
                                     hn_cuda_tensor_plan *plan);

#endif
