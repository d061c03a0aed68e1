/* SPDX-License-Identifier: Apache-2.0 */
/* amx.inc.h - eight tiles of 16 rows of 64 bytes and their products: the CPU's tile unit, or plain C that does the
 * same.
 *
 * Tiles are numbered by literals 0 to 7. A function that uses them begins with amx_begin and ends with amx_end: tile
 * state makes a context switch dear. Kernels written on these names run, and are tested, on machines without the unit.
 * Source: Intel 64 and IA-32 Architectures Software Developer's Manual, TDPBF16PS, TDPBUSD, TDPBSSD. */
#ifndef HN_KERNELS_CPU_AMX_INC_H
#define HN_KERNELS_CPU_AMX_INC_H

#include "kernels/cpu/half.inc.h"

enum { AMX_ROWS = 16, AMX_ROW_BYTES = 64, AMX_WORDS = 16 /* of 4 bytes in a row */ };

#if defined(HN_SIMD_AMX_BF16) || defined(HN_SIMD_AMX_INT8)
typedef struct amx_tiles {
  uint8_t config[64]; /* palette 1: columns in bytes from byte 16, rows from byte 48 */
} amx_tiles;

HN_INLINE void amx_begin(amx_tiles *t) {
  memset(t->config, 0, sizeof t->config);
  t->config[0] = 1;
  for (int i = 0; i < 8; ++i) {
    t->config[16 + 2 * i] = AMX_ROW_BYTES;
    t->config[48 + i] = AMX_ROWS;
  }
  _tile_loadconfig(t->config);
}
/* Statements, since the tile is part of an instruction. */
#define AMX_DO(t, instruction)                                                                                         \
  do {                                                                                                                 \
    (void)(t);                                                                                                         \
    instruction;                                                                                                       \
  } while (0)
#define amx_end(t) AMX_DO(t, _tile_release())
#define amx_zero(t, tile) AMX_DO(t, _tile_zero(tile))
#define amx_load(t, tile, from, stride_bytes) AMX_DO(t, _tile_loadd(tile, (from), (stride_bytes)))
#define amx_store(t, tile, to, stride_bytes) AMX_DO(t, _tile_stored(tile, (to), (stride_bytes)))
/* sums[m][n] += the sum over k of a[m][k] * b[k / 2][n * 2 + k % 2], k in 0 .. 31: f32 sums of bf16 products. */
#define amx_dot_bf16(t, sums, a, b) AMX_DO(t, _tile_dpbf16ps(sums, a, b))
/* sums[m][n] += the sum over k of a[m][k] * b[k / 4][n * 4 + k % 4], k in 0 .. 63: i32 sums, which wrap, of u8 or i8
 * times i8. */
#define amx_dot_u8s8(t, sums, a, b) AMX_DO(t, _tile_dpbusd(sums, a, b))
#define amx_dot_s8s8(t, sums, a, b) AMX_DO(t, _tile_dpbssd(sums, a, b))
#else
typedef struct amx_tiles {
  uint8_t tile[8][AMX_ROWS][AMX_ROW_BYTES];
} amx_tiles;

#define amx_begin(t) ((void)(t))
#define amx_end(t) ((void)(t))
HN_INLINE void amx_zero(amx_tiles *t, int tile) { memset(t->tile[tile], 0, sizeof t->tile[tile]); }
HN_INLINE void amx_load(amx_tiles *t, int tile, const void *from, ptrdiff_t stride_bytes) {
  for (int r = 0; r < AMX_ROWS; ++r)
    memcpy(t->tile[tile][r], (const char *)from + r * stride_bytes, sizeof t->tile[tile][r]);
}
HN_INLINE void amx_store(const amx_tiles *t, int tile, void *to, ptrdiff_t stride_bytes) {
  for (int r = 0; r < AMX_ROWS; ++r) memcpy((char *)to + r * stride_bytes, t->tile[tile][r], sizeof t->tile[tile][r]);
}

typedef float amx_floats __attribute__((vector_size(AMX_ROW_BYTES)));
typedef double amx_doubles __attribute__((vector_size(2 * AMX_ROW_BYTES)));
typedef uint32_t amx_words __attribute__((vector_size(AMX_ROW_BYTES)));
typedef int32_t amx_ints __attribute__((vector_size(AMX_ROW_BYTES)));

/* The unit adds the products of even k and those of odd k apart, each from zero and in the order of k, and both to the
 * sum. Here a product and its addition round once, in double and then to float: the same but for rare ties. Rows are
 * vectors, which a sanitizer checks once. */
HN_OUTLINE void amx_dot_bf16(amx_tiles *t, int sums, int a, int b) {
  amx_doubles right[2][AMX_WORDS]; /* [odd][k / 2] */
  for (int k = 0; k < AMX_WORDS; ++k) {
    amx_words pairs;
    memcpy(&pairs, t->tile[b][k], sizeof pairs);
    right[0][k] = __builtin_convertvector((amx_floats)(pairs << 16), amx_doubles);
    right[1][k] = __builtin_convertvector((amx_floats)(pairs & 0xffff0000U), amx_doubles);
  }
  for (int m = 0; m < AMX_ROWS; ++m) {
    uint32_t left[AMX_WORDS];
    amx_floats even = {0}, odd = {0}, sum;
    memcpy(left, t->tile[a][m], sizeof left);
    for (int k = 0; k < AMX_WORDS; ++k) {
      const double x = (double)bf16_to_f32((uint16_t)left[k]), y = (double)bf16_to_f32((uint16_t)(left[k] >> 16));
      even = __builtin_convertvector(x * right[0][k] + __builtin_convertvector(even, amx_doubles), amx_floats);
      odd = __builtin_convertvector(y * right[1][k] + __builtin_convertvector(odd, amx_doubles), amx_floats);
    }
    memcpy(&sum, t->tile[sums][m], sizeof sum);
    sum += even + odd;
    memcpy(t->tile[sums][m], &sum, sizeof sum);
  }
}

/* In floats, which hold what 64 products of bytes add up to. */
HN_INLINE void amx_dot_bytes(amx_tiles *t, int sums, int a, int b, int a_is_signed) {
  amx_floats right[AMX_ROW_BYTES]; /* [k] */
  for (int k = 0; k < AMX_WORDS; ++k) {
    amx_ints fours;
    memcpy(&fours, t->tile[b][k], sizeof fours);
    right[4 * k] = __builtin_convertvector((fours << 24) >> 24, amx_floats);
    right[4 * k + 1] = __builtin_convertvector((fours << 16) >> 24, amx_floats);
    right[4 * k + 2] = __builtin_convertvector((fours << 8) >> 24, amx_floats);
    right[4 * k + 3] = __builtin_convertvector(fours >> 24, amx_floats);
  }
  for (int m = 0; m < AMX_ROWS; ++m) {
    uint8_t left[AMX_ROW_BYTES];
    amx_floats part = {0};
    amx_words sum;
    memcpy(left, t->tile[a][m], sizeof left);
    for (int k = 0; k < AMX_ROW_BYTES; ++k) part += (a_is_signed ? (float)(int8_t)left[k] : (float)left[k]) * right[k];
    memcpy(&sum, t->tile[sums][m], sizeof sum);
    sum += (amx_words) __builtin_convertvector(part, amx_ints);
    memcpy(t->tile[sums][m], &sum, sizeof sum);
  }
}
HN_OUTLINE void amx_dot_u8s8(amx_tiles *t, int sums, int a, int b) { amx_dot_bytes(t, sums, a, b, 0); }
HN_OUTLINE void amx_dot_s8s8(amx_tiles *t, int sums, int a, int b) { amx_dot_bytes(t, sums, a, b, 1); }
#endif

#endif
