/* SPDX-License-Identifier: Apache-2.0 */
/* reorder_f32_avx2.c - plain and channel-blocked layouts, 8 floats at a time. */
#include "kernels/cpu/reorder/reorder.h"

#define HN_SIMD_AVX2
#include "kernels/cpu/reorder/reorder_f32.inc.h"
