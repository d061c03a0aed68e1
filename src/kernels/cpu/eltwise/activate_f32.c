/* SPDX-License-Identifier: Apache-2.0 */
/* activate_f32.c - an activation in place. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/epilogue.h"
#include "kernels/cpu/activate.inc.h"

void HN_SIMD_NAME(hn_activate_f32)(float *x, int64_t count, const hn_epilogue_f32 *epilogue) {
  if (!activation_is_bounds(epilogue)) {
    activate(x, count, epilogue);
    return;
  }
  float low, high;
  activation_bounds(epilogue, &low, &high);
  int64_t i = 0;
  for (; i + HN_LANES <= count; i += HN_LANES) v_store(x + i, v_min(v_set(high), v_max(v_set(low), v_load(x + i))));
  for (; i < count; ++i) {
    const float raised = low > x[i] ? low : x[i];
    x[i] = high < raised ? high : raised;
  }
}
