/* SPDX-License-Identifier: Apache-2.0 */
/* activate_f32.inc.h - an activation in place. The including file defines HN_LANES and HN_ACTIVATE_F32, its name. */
#include "kernels/cpu/eltwise/activate.h"
#include "kernels/cpu/vec_f32.inc.h"

void HN_ACTIVATE_F32(float *x, int64_t count, const hn_epilogue_f32 *epilogue) {
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
