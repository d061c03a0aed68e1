/* SPDX-License-Identifier: Apache-2.0 */
/* affine_f32.c - a row of places is one product and one sum an element: what the outer axes add is the same all along.
 * Factors and summands of the coordinates take turns, in as many vectors as there are coordinates. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/sample/affine.h"
#include "kernels/cpu/simd.inc.h"

HN_INLINE void row(const float *places, const float *factor, const float *summand, float *y, int64_t count,
                   const int axes) {
  vf f[HN_AFFINE_AXES], s[HN_AFFINE_AXES];
  for (int v = 0; v < axes; ++v) {
    f[v] = v_load(factor + v * HN_LANES);
    s[v] = v_load(summand + v * HN_LANES);
  }
  for (int64_t at = 0; at < count;)
    for (int v = 0; v < axes && at < count; ++v, at += HN_LANES) {
      const int64_t n = count - at;
      if (n >= HN_LANES)
        v_store(y + at, v_fma(v_load(places + at), f[v], s[v]));
      else
        v_store_part(y + at, n, v_fma(v_load_part(places + at, n), f[v], s[v]));
    }
}

void HN_SIMD_NAME(hn_affine_f32)(const hn_affine_args *args, int64_t begin, int64_t end) {
  const hn_affine_args *a = args;
  const int axes = a->axes;
  float factor[HN_AFFINE_AXES * HN_LANES], summand[HN_AFFINE_AXES * HN_LANES];
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t height = unit % a->size[1], depth = unit / a->size[1] % a->size[0];
    const float *theta = a->theta + unit / a->size[1] / a->size[0] * axes * (axes + 1);
    const double y = hn_affine_place(a, height, a->size[1]), z = hn_affine_place(a, depth, a->size[0]);
    for (int k = 0; k < axes; ++k) { /* theta speaks of x, y, z: the last axis first */
      const float *of = theta + k * (axes + 1);
      const double sum = (double)of[axes] + (double)of[1] * y + (axes == 3 ? (double)of[2] * z : 0);
      for (int i = k; i < axes * HN_LANES; i += axes) {
        factor[i] = of[0];
        summand[i] = (float)sum;
      }
    }
    float *to = a->y + unit * a->size[2] * axes;
    if (axes == 2)
      row(a->places, factor, summand, to, a->size[2] * 2, 2);
    else
      row(a->places, factor, summand, to, a->size[2] * 3, 3);
  }
}
