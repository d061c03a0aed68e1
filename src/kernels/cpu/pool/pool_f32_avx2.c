/* SPDX-License-Identifier: Apache-2.0 */
/* pool_f32_avx2.c - pooling, 8 floats at a time. */
#include "kernels/cpu/pool/pool.h"

#define HN_SIMD_AVX2
#include "kernels/cpu/pool/pool_f32.inc.h"
