/* SPDX-License-Identifier: Apache-2.0 */
/* eltwise_ints_avx512.c - elementwise programs on integers, in lanes of 32 and of 64 bits. */
#include "kernels/cpu/eltwise/eltwise_ints.h"

#include <string.h>

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

void hn_eltwise_i32_avx512(const hn_ints_args *args, int64_t begin, int64_t end) { range_i32(args, begin, end); }

void hn_eltwise_i64_avx512(const hn_ints_args *args, int64_t begin, int64_t end) { range_i64(args, begin, end); }
