/* SPDX-License-Identifier: Apache-2.0 */
/* top_k_c.c - the k best of a row.
 *
 * What may be among them is kept in a buffer of more than 2 k entries. When it is full, Hoare's quickselect brings the
 * k best to its front; the worst of these is the bound that later elements must beat. In the end the k are sorted. An
 * entry has its element as an unsigned number that is lower the better, and its index, so that no two are equal. Few
 * are kept in order all the time. */
#include "kernels/cpu/reduce/top_k.h"
#include <math.h>
#include <string.h>

enum { FEW = 16 }; /* are sorted by insertion */

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)

/* A place in [begin, end), by Knuth's generator: no order of the elements makes each of them a bad one. */
static int64_t any_place(uint64_t *seed, int64_t begin, int64_t end) {
  *seed = *seed * 6364136223846793005U + 1442695040888963407U;
  return begin + (int64_t)((*seed >> 32) * (uint64_t)(end - begin) >> 32);
}

/* Of elements of 32 bits: the rank above the index. */
typedef uint64_t narrow;
static inline narrow narrow_of(uint64_t rank, int64_t at) { return rank << 32 | (uint64_t)at; }
static inline int64_t narrow_at(narrow e) { return (int64_t)(e & UINT32_MAX); }
static inline bool narrow_before(narrow a, narrow b) { return a < b; }

typedef struct {
  uint64_t rank;
  int64_t at;
} wide;
static inline wide wide_of(uint64_t rank, int64_t at) { return (wide){rank, at}; }
static inline int64_t wide_at(wide e) { return e.at; }
static inline bool wide_before(wide a, wide b) { return (a.rank < b.rank) | ((a.rank == b.rank) & (a.at < b.at)); }

static inline uint64_t rank_f32(float x, bool largest) {
  const float sum = x + 0.0F; /* both zeros are one number */
  uint32_t bits;
  memcpy(&bits, &sum, sizeof bits);
  const uint32_t up = isnan(x) ? UINT32_MAX : bits ^ (bits >> 31 ? UINT32_MAX : 0x80000000U);
  return largest ? ~up : up;
}
static inline uint64_t rank_i32(int32_t x, bool largest) {
  const uint32_t up = (uint32_t)x ^ 0x80000000U;
  return largest ? ~up : up;
}
static inline uint64_t rank_i64(int64_t x, bool largest) {
  const uint64_t up = (uint64_t)x ^ 0x8000000000000000U;
  return largest ? ~up : up;
}

#define TOP_K_NUMBER float
#define TOP_K_ENTRY narrow
#define TOP_K_TYPE _f32
#include "kernels/cpu/reduce/top_k_typed.inc.h"

#define TOP_K_NUMBER int32_t
#define TOP_K_ENTRY narrow
#define TOP_K_TYPE _i32
#include "kernels/cpu/reduce/top_k_typed.inc.h"

#define TOP_K_NUMBER int64_t
#define TOP_K_ENTRY wide
#define TOP_K_TYPE _i64
#include "kernels/cpu/reduce/top_k_typed.inc.h"
