/* SPDX-License-Identifier: Apache-2.0 */
/* peak.h - loops that do nothing but one thing as fast as the core can: what a roofline's ceilings are measured with.
 */
#ifndef HN_KERNELS_CPU_PEAK_H
#define HN_KERNELS_CPU_PEAK_H

#include <stdint.h>

/* Independent multiply-adds in registers; returns how many operations rounds of them were. The sum of the registers
 * goes to *sink, so that none is left out. */
typedef double hn_peak_compute_fn(int64_t rounds, float *sink);
hn_peak_compute_fn hn_peak_fma_f32_avx512, hn_peak_fma_f32_avx2, hn_peak_fma_f32_c;
hn_peak_compute_fn hn_peak_fma_f64_avx512, hn_peak_fma_f64_avx2, hn_peak_fma_f64_c;
/* Of halves, in the type that the instruction set is there for. */
hn_peak_compute_fn hn_peak_halves_avx512_bf16, hn_peak_halves_avx512_fp16, hn_peak_halves_amx_bf16;
hn_peak_compute_fn hn_peak_bytes_avx2, hn_peak_bytes_avx_vnni, hn_peak_bytes_avx512_vnni, hn_peak_bytes_amx_int8;

/* Instructions that wait for each other and take a cycle each; returns how many. 0: none is known for this CPU. */
hn_peak_compute_fn hn_peak_cycles;

/* Reads x[begin, end) so many times; the sum of it goes to *sink. */
typedef void hn_peak_read_f32_fn(const float *x, int64_t begin, int64_t end, int64_t times, float *sink);
hn_peak_read_f32_fn hn_peak_read_f32_avx512, hn_peak_read_f32_avx2, hn_peak_read_f32_c;

/* Writes the lines of x[begin, end) back and drops them from all caches, so that the next reads come from memory.
 * Where no instruction is known for it, nothing is done. */
void hn_peak_drop_f32(const float *x, int64_t begin, int64_t end);

#endif
