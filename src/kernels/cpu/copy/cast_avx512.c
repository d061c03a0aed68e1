/* SPDX-License-Identifier: Apache-2.0 */
/* cast_avx512.c - conversions of element types, 16 at a time. */
#include "kernels/cpu/copy/cast.h"

#define HN_SIMD_AVX512
#include "kernels/cpu/copy/cast.inc.h"
