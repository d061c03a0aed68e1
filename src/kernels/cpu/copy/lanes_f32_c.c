/* SPDX-License-Identifier: Apache-2.0 */
/* lanes_f32_c.c - lanes of nChw8c tensors moved, portable. */
#define HN_SIMD_C
#include "kernels/cpu/copy/lanes_f32.inc.h"
