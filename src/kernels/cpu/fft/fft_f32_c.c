/* SPDX-License-Identifier: Apache-2.0 */
/* fft_f32_c.c - Fourier transforms of 4 lines at a time. */
#include "kernels/cpu/fft/fft.h"

#define HN_SIMD_C
#include "kernels/cpu/fft/fft_f32.inc.h"
