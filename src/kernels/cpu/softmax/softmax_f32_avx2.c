/* SPDX-License-Identifier: Apache-2.0 */
/* softmax_f32_avx2.c - softmax and log-softmax, 8 floats at a time. */
#include "kernels/cpu/softmax/softmax.h"

#define HN_SIMD_AVX2
#include "kernels/cpu/softmax/softmax_f32.inc.h"
