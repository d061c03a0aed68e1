/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_f32_14x32_avx512.c - matrix product on panels of 16 columns. */
#define HN_LANES 16
#define HN_BLOCK 16
#define HN_GEMM hn_gemm_f32_14x32_avx512
#define HN_GEMM_PACK_A hn_gemm_f32_pack_a_avx512
#define HN_GEMM_A_TILES hn_gemm_f32_a_tiles_avx512
#include "kernels/cpu/gemm/gemm_f32.inc.h"
