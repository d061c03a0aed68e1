/* SPDX-License-Identifier: Apache-2.0 */
/* conv_words.inc.h - sums of products of bytes on the vectors of simd.inc.h.
 *
 * A word is 32 bits of activations: four bytes where the instruction set multiplies bytes (VNNI), else two that were
 * widened. w_dot adds to each lane the products of a word with that lane's word of weights; all of it is exact. What a
 * block of 16 channels needs: W_VECTORS vectors.
 *
 * Dots are written as text: compilers reorder sums of integers, and then keep products of several steps beside the
 * sums, more than there are registers. */
#ifndef HN_KERNELS_CPU_QUANT_CONV_WORDS_INC_H
#define HN_KERNELS_CPU_QUANT_CONV_WORDS_INC_H

#include "kernels/cpu/quant/conv_store.inc.h"

#if defined(__AVX512VNNI__) && defined(HN_SIMD_AVX512)
#define W_MULTIPLIES_BYTES
enum { W_WORD = 4 };
typedef uint8_t w_element;
HN_INLINE vi w_dot(vi sum, vi x, vi w) {
  __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(x), "v"(w));
  return sum;
}
HN_INLINE vi w_weights(const int8_t *p) { return _mm512_loadu_si512((const void *)p); }
#elif defined(__AVXVNNI__) && defined(HN_SIMD_AVX2)
#define W_MULTIPLIES_BYTES
enum { W_WORD = 4 };
typedef uint8_t w_element;
HN_INLINE vi w_dot(vi sum, vi x, vi w) {
  __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(x), "x"(w));
  return sum;
}
HN_INLINE vi w_weights(const int8_t *p) { return _mm256_loadu_si256((const void *)p); }
#else
enum { W_WORD = 2 };
typedef int16_t w_element;
#if defined(HN_SIMD_AVX512)
HN_INLINE vi w_dot(vi sum, vi x, vi w) {
  vi product;
  __asm__("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0" : "+v"(sum), "=&v"(product) : "v"(x), "v"(w));
  return sum;
}
HN_INLINE vi w_weights(const int8_t *p) { return _mm512_cvtepi8_epi16(_mm256_loadu_si256((const void *)p)); }
#elif defined(HN_SIMD_AVX2)
HN_INLINE vi w_dot(vi sum, vi x, vi w) {
  vi product;
  __asm__("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0" : "+x"(sum), "=&x"(product) : "x"(x), "x"(w));
  return sum;
}
HN_INLINE vi w_weights(const int8_t *p) { return _mm256_cvtepi8_epi16(_mm_loadu_si128((const void *)p)); }
#else
typedef int16_t w_shorts __attribute__((vector_size(16)));
HN_INLINE vi w_dot(vi sum, vi x, vi w) {
#if defined(__SSE2__)
  sum = vi_add(sum, (vi)__builtin_ia32_pmaddwd128((w_shorts)x, (w_shorts)w));
  __asm__("" : "+x"(sum));
  return sum;
#else
  const vi low = vi_right(vi_left(x, 16), 16) * vi_right(vi_left(w, 16), 16);
  return vi_add(vi_add(sum, low), vi_right(x, 16) * vi_right(w, 16));
#endif
}
HN_INLINE vi w_weights(const int8_t *p) {
  const w_shorts w = {p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]};
  return (vi)w;
}
#endif
#endif

/* The same with a vector of words that lies in memory. */
typedef struct w_vector {
  w_element of[HN_LANES * W_WORD];
} w_vector;
HN_INLINE vi w_dot_at(vi sum, const w_element *x, vi w) {
#if defined(HN_SIMD_AVX2) && !defined(W_MULTIPLIES_BYTES)
  vi product;
  __asm__("vpmaddwd %2, %3, %1\n\tvpaddd %1, %0, %0"
          : "+x"(sum), "=&x"(product)
          : "m"(*(const w_vector *)(const void *)x), "x"(w));
  return sum;
#elif defined(HN_SIMD_AVX512) && !defined(W_MULTIPLIES_BYTES)
  vi product;
  __asm__("vpmaddwd %2, %3, %1\n\tvpaddd %1, %0, %0"
          : "+v"(sum), "=&v"(product)
          : "m"(*(const w_vector *)(const void *)x), "v"(w));
  return sum;
#else
  return w_dot(sum, vi_load((const int32_t *)(const void *)x), w);
#endif
}

enum { W_BYTES = 4 / (int)sizeof(w_element) * W_BLOCK }; /* of a block's weights for one word */

HN_INLINE vi w_spread(const w_element *p) {
  int32_t word;
  memcpy(&word, p, sizeof word);
  return vi_set(word);
}

#endif
