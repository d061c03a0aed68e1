/* SPDX-License-Identifier: Apache-2.0 */
/* maps.h - tensors as bulk copies see them: pixels in im2col mode, rows of weights, and of outputs, heads. */
#ifndef HN_KERNELS_CUDA_MAPS_H
#define HN_KERNELS_CUDA_MAPS_H

#include <cuda.h>

typedef struct hn_cuda_tensor_maps {
  CUtensorMap x, w;
} hn_cuda_tensor_maps;
typedef struct hn_cuda_lasting_maps {
  CUtensorMap x, w, y, residual; /* no residual: y */
  void *to;                      /* y's first element */
} hn_cuda_lasting_maps;
typedef struct hn_cuda_attention_maps {
  CUtensorMap q, k, v; /* columns, rows, heads, batches */
} hn_cuda_attention_maps;

#endif
