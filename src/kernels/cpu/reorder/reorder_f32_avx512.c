/* SPDX-License-Identifier: Apache-2.0 */
/* reorder_f32_avx512.c - plain and channel-blocked layouts, 16 floats at a time. */
#include "kernels/cpu/reorder/reorder.h"

#define HN_SIMD_AVX512
#include "kernels/cpu/reorder/reorder_f32.inc.h"
