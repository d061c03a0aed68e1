/* SPDX-License-Identifier: Apache-2.0 */
/* softmax_f32_avx512.c - softmax and log-softmax, 16 floats at a time. */
#include "kernels/cpu/softmax/softmax.h"

#define HN_SIMD_AVX512
#include "kernels/cpu/softmax/softmax_f32.inc.h"
