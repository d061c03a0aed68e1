/* SPDX-License-Identifier: Apache-2.0 */
/* window.h - what depthwise convolutions of bytes take by value: plain C, read by the kernels and by who launches them.
 */
#ifndef HN_KERNELS_CUDA_BYTE_WINDOW_H
#define HN_KERNELS_CUDA_BYTE_WINDOW_H

#include "kernels/cuda/args.h"

/* A thread has four channels of so many neighbouring pixels, of `tiles` in a row. */
typedef struct hn_cuda_byte_window {
  hn_cuda_window window;
  int pitch, tiles;
  unsigned threads; /* that have work */
  hn_cuda_bytes bytes;
} hn_cuda_byte_window;

#endif
