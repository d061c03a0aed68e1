/* SPDX-License-Identifier: Apache-2.0 */
/* pool_f32_c.c - pooling, portable, 4 floats at a time. */
#include "kernels/cpu/pool/pool.h"

#define HN_SIMD_C
#include "kernels/cpu/pool/pool_f32.inc.h"
