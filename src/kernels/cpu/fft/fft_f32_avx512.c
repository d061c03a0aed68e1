/* SPDX-License-Identifier: Apache-2.0 */
/* fft_f32_avx512.c - Fourier transforms of 16 lines at a time. */
#include "kernels/cpu/fft/fft.h"

#define HN_SIMD_AVX512
#include "kernels/cpu/fft/fft_f32.inc.h"
