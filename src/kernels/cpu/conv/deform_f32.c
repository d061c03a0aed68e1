/* SPDX-License-Identifier: Apache-2.0 */
/* deform_f32.c - one channel read at moved taps, neighbouring pixels side by side. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/conv/deform.h"
#include "kernels/cpu/simd.inc.h"

HN_INLINE vf weighed(const float *plane, const hn_deform_place *p, int corner, int lane) {
  const vf w = v_load(p->weight[corner] + lane), x = v_gather(plane, vi_load(p->at[corner] + lane));
  return v_select(v_ne(w, v_set(0.0F)), x, v_set(0.0F)) * w; /* what counts for nothing may be anything */
}

void HN_SIMD_NAME(hn_deform_gather_f32)(const float *plane, int64_t taps, const hn_deform_place *places, float *to) {
  enum { WIDTH = HN_LANES < 8 ? 8 : HN_LANES }; /* panels of the portable products have eight columns */
  for (int64_t tap = 0; tap < taps; ++tap, to += WIDTH)
    for (int lane = 0; lane < WIDTH; lane += HN_LANES) {
      const hn_deform_place *p = &places[tap];
      const vf top = weighed(plane, p, 0, lane) + weighed(plane, p, 1, lane);
      v_store(to + lane, top + (weighed(plane, p, 2, lane) + weighed(plane, p, 3, lane)));
    }
}
