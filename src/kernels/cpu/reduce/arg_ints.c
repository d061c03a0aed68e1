/* SPDX-License-Identifier: Apache-2.0 */
/* arg_ints.c - the places of extremes of integers, in loops that the compiler makes vectors of. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/reduce/arg.h"
#include "kernels/cpu/simd.inc.h"

enum { BLOCK = 128, COLUMNS = 64, LOOK_BYTES = 4 * HN_LANES }; /* a vector */

#define ARG_NUMBER int32_t
#define ARG_NAME(name) HN_SIMD_NAME(HN_SIMD_PASTE(name, _i32))
#include "kernels/cpu/reduce/arg_ints_typed.inc.h"

#define ARG_NUMBER int64_t
#define ARG_NAME(name) HN_SIMD_NAME(HN_SIMD_PASTE(name, _i64))
#include "kernels/cpu/reduce/arg_ints_typed.inc.h"
