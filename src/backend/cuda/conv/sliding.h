/* SPDX-License-Identifier: Apache-2.0 */
/* sliding.h - windows over one or two axes. */
#ifndef HN_BACKEND_CUDA_SLIDING_H
#define HN_BACKEND_CUDA_SLIDING_H

#include "backend/cuda/cuda.h"
#include "kernels/cuda/args.h"

/* in and out are [N, C, d...]; kernel: its extents along d. Else why not, in words. */
const char *hn_cuda_sliding(const hone_query *query, const hone_shape *in, const hone_shape *out, const int64_t *kernel,
                            hn_cuda_window *w);

#endif
