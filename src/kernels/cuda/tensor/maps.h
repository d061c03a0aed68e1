/* SPDX-License-Identifier: Apache-2.0 */
/* maps.h - tensors as bulk copies see them: pixels in im2col mode, and rows of weights. */
#ifndef HN_KERNELS_CUDA_MAPS_H
#define HN_KERNELS_CUDA_MAPS_H

#include <cuda.h>

typedef struct hn_cuda_tensor_maps {
  CUtensorMap x, w;
} hn_cuda_tensor_maps;

#endif
