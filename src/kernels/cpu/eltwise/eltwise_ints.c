/* SPDX-License-Identifier: Apache-2.0 */
/* eltwise_ints.c - elementwise programs on integers, in lanes of 32 and of 64 bits. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/eltwise/eltwise_ints.h"
#include "kernels/cpu/simd.inc.h"

#define HN_INTS_LANE int32_t
#define HN_INTS_WORD uint32_t
#define HN_INTS_NAME(name) name##_i32
#include "kernels/cpu/eltwise/eltwise_ints.inc.h"
#undef HN_INTS_LANE
#undef HN_INTS_WORD
#undef HN_INTS_NAME
#define HN_INTS_LANE int64_t
#define HN_INTS_WORD uint64_t
#define HN_INTS_NAME(name) name##_i64
#include "kernels/cpu/eltwise/eltwise_ints.inc.h"

void HN_SIMD_NAME(hn_eltwise_i32)(const hn_ints_args *args, int64_t begin, int64_t end) { range_i32(args, begin, end); }

void HN_SIMD_NAME(hn_eltwise_i64)(const hn_ints_args *args, int64_t begin, int64_t end) { range_i64(args, begin, end); }
