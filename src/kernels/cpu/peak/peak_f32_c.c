/* SPDX-License-Identifier: Apache-2.0 */
/* peak_f32_c.c - the loops of peak_f32.inc.h, portable. */
#define HN_SIMD_C
#include "kernels/cpu/peak/peak_f32.inc.h"
