/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_f32_4x8_c.c - matrix product on panels of 8 columns. */
#define HN_LANES 4
#define HN_BLOCK 8
#define HN_GEMM hn_gemm_f32_4x8_c
#include "kernels/cpu/gemm/gemm_f32.inc.h"
