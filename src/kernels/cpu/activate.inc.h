/* SPDX-License-Identifier: Apache-2.0 */
/* activate.inc.h - the activations of epilogue.h on vectors and on runs of reals. */
#ifndef HN_KERNELS_CPU_ACTIVATE_INC_H
#define HN_KERNELS_CPU_ACTIVATE_INC_H

#include "kernels/cpu/epilogue.h"
#if defined(HN_HELD_BF16) || defined(HN_HELD_F16)
#include "kernels/cpu/vecmath_half.inc.h"
#else
#include "kernels/cpu/vecmath.inc.h"
#endif

#if defined(HN_HELD_F64)
typedef hn_epilogue_f64 real_epilogue;
#else
typedef hn_epilogue_f32 real_epilogue;
#endif

/* Bounds for what max and min alone can do; the others are applied by activate(). */
HN_INLINE void activation_bounds(const real_epilogue *e, real *low, real *high) {
  *low = e->activation == HN_ACTIVATION_RELU ? 0 : e->activation == HN_ACTIVATION_CLIP ? e->alpha : -(real)INFINITY;
  *high = e->activation == HN_ACTIVATION_CLIP ? e->beta : (real)INFINITY;
}
HN_INLINE int activation_is_bounds(const real_epilogue *e) { return e->activation <= HN_ACTIVATION_CLIP; }

HN_INLINE vf activate_one(vf x, hn_activation kind, real alpha, real beta) {
  switch (kind) {
#define HN_ACT(NUMBER, name, expression, reference, vector, ...)                                                       \
  case HN_ACTIVATION_##NUMBER:                                                                                         \
    return vector;
#include "kernels/activations.inc"
#undef HN_ACT
  case HN_ACTIVATION_COUNT: break;
  }
  return x;
}

#if defined(HN_HELD_BF16) || defined(HN_HELD_F16)
/* The same for a result that is rounded to a half at once. */
HN_INLINE vf activate_half(vf x, hn_activation kind, real alpha, real beta) {
  switch (kind) {
#define HN_ACT(NUMBER, name, expression, reference, vector, half, ...)                                                 \
  case HN_ACTIVATION_##NUMBER: {                                                                                       \
    const vf same = vector;                                                                                            \
    (void)same;                                                                                                        \
    return half;                                                                                                       \
  }
#include "kernels/activations.inc"
#undef HN_ACT
  case HN_ACTIVATION_COUNT: break;
  }
  return x;
}
#else
#define activate_half activate_one
#endif
HN_INLINE vf activate_vector(vf x, hn_activation kind, real alpha, real beta, const int is_half) {
  return is_half ? activate_half(x, kind, alpha, beta) : activate_one(x, kind, alpha, beta);
}

/* Applies the activations that are not plain bounds to count reals in place, while they are in L1. The last vector
 * goes through a copy, so that an element's result does not depend on its place in a run. */
HN_INLINE void activate_run(real *x, int64_t count, const real_epilogue *e, const int is_half) {
  const real alpha = e->alpha, beta = e->beta;
  int64_t i = 0;
  if (activation_is_bounds(e)) return;
  switch (e->activation) {
#define HN_ACT(NUMBER, ...)                                                                                            \
  case HN_ACTIVATION_##NUMBER:                                                                                         \
    for (; i + HN_LANES <= count; i += HN_LANES)                                                                       \
      v_store(x + i, activate_vector(v_load(x + i), HN_ACTIVATION_##NUMBER, alpha, beta, is_half));                    \
    break;
#include "kernels/activations.inc"
#undef HN_ACT
  case HN_ACTIVATION_COUNT: return;
  }
  const size_t rest_bytes = (size_t)(count % HN_LANES) * sizeof(real);
  if (!rest_bytes) return;
  real last[HN_LANES] = {0};
  memcpy(last, x + i, rest_bytes);
  v_store(last, activate_vector(v_load(last), e->activation, alpha, beta, is_half));
  memcpy(x + i, last, rest_bytes);
}
HN_OUTLINE void activate(real *x, int64_t count, const real_epilogue *e) { activate_run(x, count, e, 0); }
HN_OUTLINE void activate_to_half(real *x, int64_t count, const real_epilogue *e) { activate_run(x, count, e, 1); }

HN_INLINE vf rectify_one(vf x, vf slope) { return v_select(v_lt(x, v_set(0.0f)), x * slope, x); }

/* x[i] or slope[i % period] * x[i] where that is negative. The period is whole vectors, or count or more. */
HN_OUTLINE void rectify(real *x, int64_t count, const real *slope, int64_t period) {
  for (int64_t at = 0; at < count; at += period, x += period) {
    const int64_t run = count - at < period ? count - at : period;
    int64_t i = 0;
    for (; i + HN_LANES <= run; i += HN_LANES) v_store(x + i, rectify_one(v_load(x + i), v_load(slope + i)));
    const size_t rest_bytes = (size_t)(run % HN_LANES) * sizeof(real);
    if (!rest_bytes) continue;
    real last[HN_LANES] = {0}, slopes[HN_LANES] = {0};
    memcpy(last, x + i, rest_bytes);
    memcpy(slopes, slope + i, rest_bytes);
    v_store(last, rectify_one(v_load(last), v_load(slopes)));
    memcpy(x + i, last, rest_bytes);
  }
}

/* activate() where the channels begin with `channel` and repeat with the period, as rectify() wants it. */
HN_INLINE void activate_channels(real *x, int64_t count, const real_epilogue *e, int64_t channel, int64_t period) {
  if (e->activation == HN_ACTIVATION_PRELU)
    rectify(x, count, e->slope + channel, period);
  else
    activate(x, count, e);
}
HN_INLINE void activate_channels_to_half(real *x, int64_t count, const real_epilogue *e, int64_t channel,
                                         int64_t period) {
  if (e->activation == HN_ACTIVATION_PRELU)
    rectify(x, count, e->slope + channel, period);
  else
    activate_to_half(x, count, e);
}

/* activate() where all are of one channel. */
HN_INLINE void activate_channel(real *x, int64_t count, const real_epilogue *e, int64_t channel) {
  if (e->activation == HN_ACTIVATION_PRELU)
    activate(x, count, &(real_epilogue){.activation = HN_ACTIVATION_LEAKY_RELU, .alpha = e->slope[channel]});
  else
    activate(x, count, e);
}

#endif
