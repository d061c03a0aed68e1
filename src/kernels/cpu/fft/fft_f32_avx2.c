/* SPDX-License-Identifier: Apache-2.0 */
/* fft_f32_avx2.c - Fourier transforms of 8 lines at a time. */
#include "kernels/cpu/fft/fft.h"

#define HN_SIMD_AVX2
#include "kernels/cpu/fft/fft_f32.inc.h"
