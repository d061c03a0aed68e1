/* SPDX-License-Identifier: Apache-2.0 */
/* cast.h - conversions between f32 and the other element types.
 *
 *   to f16, bf16   round to nearest even; overflow gives infinity, a NaN stays one
 *   to i32, i64    towards zero; what does not fit, and NaN, gives the type's least value (as x86 does)
 *   to i8, u8      as i32, then the low 8 bits
 *   to bool        one byte, 0 or 1; NaN is 1
 *   from any       round to nearest even; bool is read as u8 */
#ifndef HN_KERNELS_CPU_CAST_H
#define HN_KERNELS_CPU_CAST_H

#include <stdint.h>

/* Converts the elements [begin, end): to[i] = from[i]. The buffers do not overlap. */
typedef void hn_cast_fn(const void *from, void *to, int64_t begin, int64_t end);

hn_cast_fn hn_cast_f32_f16_avx512, hn_cast_f32_f16_avx2, hn_cast_f32_f16_c;
hn_cast_fn hn_cast_f16_f32_avx512, hn_cast_f16_f32_avx2, hn_cast_f16_f32_c;
hn_cast_fn hn_cast_f32_bf16_avx512, hn_cast_f32_bf16_avx2, hn_cast_f32_bf16_c;
hn_cast_fn hn_cast_bf16_f32_avx512, hn_cast_bf16_f32_avx2, hn_cast_bf16_f32_c;
hn_cast_fn hn_cast_f32_i64_avx512, hn_cast_f32_i64_avx2, hn_cast_f32_i64_c;
hn_cast_fn hn_cast_i64_f32_avx512, hn_cast_i64_f32_avx2, hn_cast_i64_f32_c;
hn_cast_fn hn_cast_f32_i32_avx512, hn_cast_f32_i32_avx2, hn_cast_f32_i32_c;
hn_cast_fn hn_cast_i32_f32_avx512, hn_cast_i32_f32_avx2, hn_cast_i32_f32_c;
hn_cast_fn hn_cast_f32_i8_avx512, hn_cast_f32_i8_avx2, hn_cast_f32_i8_c;
hn_cast_fn hn_cast_i8_f32_avx512, hn_cast_i8_f32_avx2, hn_cast_i8_f32_c;
hn_cast_fn hn_cast_f32_u8_avx512, hn_cast_f32_u8_avx2, hn_cast_f32_u8_c;
hn_cast_fn hn_cast_u8_f32_avx512, hn_cast_u8_f32_avx2, hn_cast_u8_f32_c;
hn_cast_fn hn_cast_f32_bool_avx512, hn_cast_f32_bool_avx2, hn_cast_f32_bool_c;

#endif
