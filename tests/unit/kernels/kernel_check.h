/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_check.h - what the f32 kernel tests share: seeded data, guarded buffers, the epilogue in double. */
#ifndef HN_TESTS_KERNEL_CHECK_H
#define HN_TESTS_KERNEL_CHECK_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/cpu/epilogue.h"

enum { GUARD_FLOATS = 64 };
static const float guard_value = -1.5e30f;

typedef struct guarded {
  float *data; /* count floats, GUARD_FLOATS of guard_value on either side */
  int64_t count;
} guarded;

static inline guarded guarded_new(int64_t count) {
  float *all = malloc((size_t)(count + 2 * GUARD_FLOATS) * sizeof(float));
  assert_non_null(all);
  for (int64_t i = 0; i < count + 2 * GUARD_FLOATS; ++i) all[i] = guard_value;
  return (guarded){all + GUARD_FLOATS, count};
}

/* Checks the guards and frees. */
static inline void guarded_free(guarded g) {
  for (int i = 0; i < GUARD_FLOATS; ++i)
    if (g.data[-1 - i] != guard_value || g.data[g.count + i] != guard_value) fail_msg("written %d past an end", i);
  free(g.data - GUARD_FLOATS);
}

static inline uint32_t random_next(uint32_t *seed) { return *seed = *seed * 1664525u + 1013904223u; }

/* Uniform in [-1, 1). */
static inline float random_real(uint32_t *seed) { return (float)(random_next(seed) >> 8) / 8388608.0f - 1.0f; }

static inline int64_t random_below(uint32_t *seed, int64_t n) { return (int64_t)(random_next(seed) >> 8) % n; }

static inline guarded guarded_random(int64_t count, uint32_t *seed) {
  guarded g = guarded_new(count);
  for (int64_t i = 0; i < count; ++i) g.data[i] = random_real(seed);
  return g;
}

/* channel: that the element belongs to, for activations with slopes. */
static inline double reference_activation(double x, const hn_epilogue_f32 *e, int64_t channel) {
  const double alpha = (double)e->alpha, beta = (double)e->beta;
  switch (e->activation) {
  case HN_ACTIVATION_NONE: return x;
  case HN_ACTIVATION_RELU: return fmax(0, x);
  case HN_ACTIVATION_CLIP: return fmin(beta, fmax(alpha, x));
  case HN_ACTIVATION_LEAKY_RELU: return x < 0 ? alpha * x : x;
  case HN_ACTIVATION_SIGMOID: return 1 / (1 + exp(-x));
  case HN_ACTIVATION_SILU: return x / (1 + exp(-x));
  case HN_ACTIVATION_HARD_SWISH: return x * fmin(1, fmax(0, x / 6 + 0.5));
  case HN_ACTIVATION_HARD_SIGMOID: return fmin(1, fmax(0, alpha * x + beta));
  case HN_ACTIVATION_GELU: return 0.5 * x * erfc(-x * sqrt(0.5));
  case HN_ACTIVATION_TANH: return tanh(x);
  case HN_ACTIVATION_GELU_TANH: return x / (1 + exp(-1.5957691216057307 * (x + 0.044715 * x * x * x)));
  case HN_ACTIVATION_ELU: return x < 0 ? alpha * expm1(x) : x;
  case HN_ACTIVATION_MISH: return x > 40 ? x : x * tanh(log1p(exp(x)));
  case HN_ACTIVATION_PRELU: return x < 0 ? (double)e->slope[channel] * x : x;
  case HN_ACTIVATION_COUNT: break;
  }
  return x;
}

/* A slope for any channel of the tests, and for the lanes behind. */
static inline const float *slopes_for_all(void) {
  enum { COUNT = 4096 };
  static float slopes[COUNT];
  for (int i = 0; i < COUNT; ++i) slopes[i] = (float)(i % 13 - 6) / 8.0f;
  return slopes;
}

/* Parameters that make each activation do something for sums of magnitude about one. */
static inline hn_epilogue_f32 random_epilogue(uint32_t *seed) {
  hn_epilogue_f32 e = {.activation = (hn_activation)random_below(seed, HN_ACTIVATION_COUNT), .slope = slopes_for_all()};
  e.alpha = e.activation == HN_ACTIVATION_CLIP ? (random_below(seed, 2) ? -0.5f : 0.25f) : 0.2f;
  e.beta = e.activation == HN_ACTIVATION_CLIP ? 0.75f : 0.5f;
  return e;
}

/* magnitude: the sum of the terms' absolute values; float sums of terms terms may be off by about that many
 * roundings, and the activations by a few. Slopes above 1 occur only in silu, hardswish and gelu (below 1.5). */
static inline void check_real(float got, double want, double magnitude, int64_t terms, const char *what, int64_t at) {
  const double unit = 0x1p-24;
  const double bound = 1.5 * unit * magnitude * (double)(terms + 4) + 4 * unit * fabs(want) + 1e-30;
  if (!(fabs((double)got - want) <= bound))
    fail_msg("%s: element %lld is %.9g, not %.9g (bound %.3g)", what, (long long)at, (double)got, want, bound);
}

#endif
