/* SPDX-License-Identifier: Apache-2.0 */
/* fft.h - fast Fourier transforms of complex f32 of any length, several lines at once: lane l of every vector belongs
 * to line l. Element i of a group of lines is a vector of real parts and one of imaginary parts, at [i][2][HN_LANES].
 *
 * Stockham's self-sorting form (Cochran et al. 1967), decimation in frequency: a pass with radix p over length n and
 * stride s reads x[r + s(q + mk)], m = n / p, transforms over k, turns result k by w^(qk) with w = e^(-+2 pi i / n),
 * and writes y[r + s(pq + k)]. Lengths with a large prime factor become a convolution with a chirp (Bluestein 1970). */
#ifndef HN_KERNELS_CPU_FFT_H
#define HN_KERNELS_CPU_FFT_H

#include <stddef.h>
#include <stdint.h>

enum { HN_FFT_PASSES = 32, HN_FFT_MOST_RADIX = 23 };

typedef struct {
  int32_t radix;
  int64_t m, s;         /* groups of twiddles; stride */
  const float *twiddle; /* (q, k) for q = 0 .. m-1 and k = 1 .. radix-1: real, imaginary */
  const float *root;    /* e^(-+2 pi i j / radix), j = 0 .. radix-1; of radixes that have no code of their own */
} hn_fft_pass;

typedef struct {
  int64_t length;
  int32_t passes;
  float sign; /* of the exponent: -1 forward, 1 inverse (which is not scaled) */
  hn_fft_pass pass[HN_FFT_PASSES];
} hn_fft;

/* How to turn a length into passes: radixes into out, their count; 0 when a prime factor is above HN_FFT_MOST_RADIX. */
int32_t hn_fft_radixes(int64_t length, int32_t *out);
/* Floats of twiddles and roots of all passes. */
int64_t hn_fft_table_floats(int64_t length);
/* length as hn_fft_radixes takes it. Fills the tables at `table` and the plan, which points into them. */
void hn_fft_plan(hn_fft *fft, int64_t length, float sign, float *table);

/* One transform of a group of lines, with another buffer of the same size: returns which of the two has the result. */
typedef float *hn_fft_f32_fn(const hn_fft *fft, float *x, float *other);
hn_fft_f32_fn hn_fft_f32_avx512, hn_fft_f32_avx2, hn_fft_f32_c;

/* x[i] times f[i] (complex, one number for all lanes), and swaps real and imaginary parts when asked: an inverse
 * transform is a forward one between two swaps. */
typedef void hn_fft_turn_f32_fn(float *x, const float *f, int64_t count, int swap);
hn_fft_turn_f32_fn hn_fft_turn_f32_avx512, hn_fft_turn_f32_avx2, hn_fft_turn_f32_c;

#endif
