/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_f32_6x16_avx2.c - matrix product on panels of 8 columns. */
#define HN_LANES 8
#define HN_BLOCK 8
#define HN_GEMM hn_gemm_f32_6x16_avx2
#define HN_GEMM_PACK_A hn_gemm_f32_pack_a_avx2
#define HN_GEMM_A_TILES hn_gemm_f32_a_tiles_avx2
#include "kernels/cpu/gemm/gemm_f32.inc.h"
