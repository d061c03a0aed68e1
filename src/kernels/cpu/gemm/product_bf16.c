/* SPDX-License-Identifier: Apache-2.0 */
/* product_bf16.c - products of bf16 with f32 sums: on tiles, or on vectors where the instruction set is those'. */
/* isa: c avx512_bf16 amx_bf16 */
#define HN_HELD_BF16
#if defined(HN_SIMD_AVX512_BF16)
#include "kernels/cpu/gemm/product_vectors_bf16.inc.h"
#else
#include "kernels/cpu/gemm/product_tiles_bf16.inc.h"
#endif
#include "kernels/cpu/gemm/product_half.inc.h"
