/* SPDX-License-Identifier: Apache-2.0 */
/* cast_avx2.c - conversions of element types, 8 at a time. */
#include "kernels/cpu/copy/cast.h"

#define HN_SIMD_AVX2
#include "kernels/cpu/copy/cast.inc.h"
