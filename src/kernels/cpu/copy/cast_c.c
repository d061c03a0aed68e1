/* SPDX-License-Identifier: Apache-2.0 */
/* cast_c.c - conversions of element types, portable. */
#include "kernels/cpu/copy/cast.h"

#define HN_SIMD_C
#include "kernels/cpu/copy/cast.inc.h"
