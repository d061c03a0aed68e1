/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_f32_14x32_avx512.c - matrix product on panels of 16 columns. */
#define HN_LANES 16
#define HN_BLOCK 16
#define HN_GEMM hn_gemm_f32_14x32_avx512
#include "kernels/cpu/gemm/gemm_f32.inc.h"
