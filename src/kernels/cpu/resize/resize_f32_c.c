/* SPDX-License-Identifier: Apache-2.0 */
/* resize_f32_c.c - resizing by tables, portable, 4 floats at a time. */
#include "kernels/cpu/resize/resize.h"

#define HN_SIMD_C
#include "kernels/cpu/resize/resize_f32.inc.h"
