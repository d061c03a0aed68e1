/* SPDX-License-Identifier: Apache-2.0 */
/* product_f16.c - products of f16 that are summed in f16 for a while, then in f32. */
/* isa: c avx512_fp16 */
#define HN_HELD_F16
#include "kernels/cpu/gemm/product_vectors_f16.inc.h"
#include "kernels/cpu/gemm/product_half.inc.h"
