/* SPDX-License-Identifier: Apache-2.0 */
/* gather_f16.c - images as products of f16 read them. */
/* isa: c avx512_fp16 */
#define HN_HELD_F16
#include "kernels/cpu/gemm/gather_half.inc.h"
