/* SPDX-License-Identifier: Apache-2.0 */
/* random.h - seeded numbers for weights, tests and tuning data: splitmix64 (Steele, Lea, Flood 2014). */
#ifndef HN_BASE_RANDOM_H
#define HN_BASE_RANDOM_H
#include <stdint.h>
typedef struct hn_random {
  uint64_t state;
} hn_random;
static inline uint64_t hn_random_u64(hn_random *random) {
  uint64_t z = (random->state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
static inline double hn_random_unit(hn_random *random) {
  return (double)(hn_random_u64(random) >> 11) * 0x1p-53;
} /* [0, 1) */
#endif
