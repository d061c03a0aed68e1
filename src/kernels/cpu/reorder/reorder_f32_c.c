/* SPDX-License-Identifier: Apache-2.0 */
/* reorder_f32_c.c - plain and channel-blocked layouts, portable, 4 floats at a time. */
#include "kernels/cpu/reorder/reorder.h"

#define HN_SIMD_C
#include "kernels/cpu/reorder/reorder_f32.inc.h"
