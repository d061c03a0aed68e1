/* SPDX-License-Identifier: Apache-2.0 */
/* softmax_f32_c.c - softmax and log-softmax, portable, 4 floats at a time. */
#include "kernels/cpu/softmax/softmax.h"

#define HN_SIMD_C
#include "kernels/cpu/softmax/softmax_f32.inc.h"
