/* SPDX-License-Identifier: Apache-2.0 */
/* image.h - what the rows over images with their channels last share. */
#ifndef HN_BACKEND_CUDA_IMAGE_H
#define HN_BACKEND_CUDA_IMAGE_H

#include "backend/cuda/conv/sliding.h"

/* Windows of `kernel` extents over images held as the row says (hn_cuda_image_held), `rows` x `pixels` outputs a
 * thread. Else why not, in words. *out_held: F16, BF16 or F32. */
const char *hn_cuda_image_windows(const hone_query *query, const int64_t *kernel, int pixels, int rows,
                                  hn_cuda_image_window *a, hone_dtype *out_held);

#endif
