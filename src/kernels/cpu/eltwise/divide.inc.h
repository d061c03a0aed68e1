/* SPDX-License-Identifier: Apache-2.0 */
/* divide.inc.h - quotients and remainders of integers in vectors, by a division of doubles: between -2^50 and 2^50
 * each number is a double, and n = a / b to the nearest leaves a remainder a - n b of less than b that is exact, too; a
 * sign that is not the wanted one says which way both are one off. What nothing divides gives 0. */
#ifndef HN_KERNELS_CPU_DIVIDE_INC_H
#define HN_KERNELS_CPU_DIVIDE_INC_H

#include "kernels/cpu/eltwise/eltwise_ints.h"
#include "kernels/cpu/simd.inc.h"

enum { DIVIDE_LANES = HN_LANES / 2, DIVIDE_BITS = 50 };
typedef int64_t divide_ints __attribute__((vector_size(4 * HN_LANES)));
typedef uint64_t divide_bits __attribute__((vector_size(4 * HN_LANES)));
typedef double divide_reals __attribute__((vector_size(4 * HN_LANES)));

/* An integer added to the bits of 1.5 * 2^52 is added to the number, whichever instructions there are. */
#define DIVIDE_MAGIC 6755399441055744.0
HN_INLINE divide_reals divide_reals_of(divide_ints x) {
  const divide_bits magic = (divide_bits)((divide_reals){0} + DIVIDE_MAGIC);
  return (divide_reals)((divide_bits)x + magic) - DIVIDE_MAGIC;
}
HN_INLINE divide_ints divide_ints_of(divide_reals x) {
  const divide_bits magic = (divide_bits)((divide_reals){0} + DIVIDE_MAGIC);
  return (divide_ints)((divide_bits)(x + DIVIDE_MAGIC) - magic);
}

HN_INLINE divide_ints divide_lanes(hn_ints_op op, divide_ints a, divide_ints b) {
  const divide_ints zero = {0}, none = b == zero, safe = b - none; /* none: -1 there */
  const divide_reals x = divide_reals_of(a), y = divide_reals_of(safe);
  const divide_reals near = (x / y + DIVIDE_MAGIC) - DIVIDE_MAGIC;
  divide_ints rest = divide_ints_of(x - near * y);
  const divide_ints some = rest != zero, falls = (a ^ safe) < zero; /* the quotient is negative */
  if (op == HN_INTS_MOD) {                                          /* the sign of b */
    rest += (some & ((rest ^ safe) < zero)) & safe;
    return rest & ~none;
  }
  const divide_ints wrong = some & ((rest ^ a) < zero); /* not the sign of a: n is too far from zero */
  if (op == HN_INTS_FMOD) return (rest + (wrong & ((safe ^ falls) - falls))) & ~none;
  return (divide_ints_of(near) - (wrong & (falls | 1))) & ~none;
}

HN_INLINE int64_t divide_signed(hn_ints_op op, int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return op == HN_INTS_DIV ? (int64_t)(0 - (uint64_t)a) : 0; /* the least integer, too */
  if (op == HN_INTS_DIV) return a / b;
  const int64_t rest = a % b;
  return op == HN_INTS_MOD && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
HN_INLINE uint64_t divide_unsigned(hn_ints_op op, uint64_t a, uint64_t b) {
  if (b == 0) return 0;
  return op == HN_INTS_DIV ? a / b : a % b;
}

#endif
