/* SPDX-License-Identifier: Apache-2.0 */
/* rotary_f32_c.c - turned pairs of features, 4 floats at a time. */
#include "kernels/cpu/attention/rotary.h"

#define HN_SIMD_C
#include "kernels/cpu/attention/rotary_f32.inc.h"
