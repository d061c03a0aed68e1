/* SPDX-License-Identifier: Apache-2.0 */
/* grid_table_c.c - from a grid's numbers to taps: in double, so that nearest pixels are the same everywhere. The cubic
 * kernel is Keys' (1981) with a = -0.75. */
#include "kernels/cpu/sample/grid.h"
#include <math.h>

/* Folds a coordinate back at both borders until it lies between them. */
static double reflect(int is_aligned, double at, double extent) {
  const double low = is_aligned ? 0 : -0.5, span = is_aligned ? extent - 1 : extent;
  if (span <= 0) return 0;
  if (at >= low && at <= low + span) return at;
  const double folded = fmod(fabs(at - low), 2 * span);
  return low + (folded > span ? 2 * span - folded : folded);
}

static double clamp(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

static double coordinate(const hn_grid_args *a, double number, double extent) {
  double at = a->is_aligned ? (number + 1) / 2 * (extent - 1) : ((number + 1) * extent - 1) / 2;
  if (isnan(at)) at = -1;
  at = clamp(at, -1e9, 1e9);
  if (a->padding == HN_GRID_BORDER) at = clamp(at, 0, extent - 1);
  if (a->padding == HN_GRID_REFLECTION && a->taps != 4) at = clamp(reflect(a->is_aligned, at, extent), 0, extent - 1);
  return at;
}

static double cubic(double d) {
  const double a = -0.75;
  return d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
}

void hn_grid_table_c(const hn_grid_args *a, const float *grid, int64_t count, hn_grid_table *table) {
  int64_t step = 1;
  for (int axis = HN_GRID_AXES - 1; axis >= HN_GRID_AXES - a->axes; step *= a->in[axis--]) {
    const double extent = (double)a->in[axis];
    for (int64_t i = 0; i < count; ++i) {
      const double at = coordinate(a, (double)grid[i * a->axes + HN_GRID_AXES - 1 - axis], extent), base = floor(at);
      for (int tap = 0; tap < a->taps; ++tap) {
        double where = a->taps == 1 ? nearbyint(at) : base + (a->taps == 4 ? tap - 1 : tap), weight = 1;
        const double d = fabs(at - where);
        if (a->taps == 2) weight = 1 - d;
        if (a->taps == 4) weight = cubic(d);
        if (a->padding == HN_GRID_REFLECTION) where = nearbyint(reflect(a->is_aligned, where, extent));
        if (a->padding == HN_GRID_ZEROS && (where < 0 || where > extent - 1)) weight = 0;
        table->at[axis][tap][i] = (int32_t)((int64_t)clamp(where, 0, extent - 1) * step);
        table->weight[axis][tap][i] = (float)weight;
      }
    }
  }
}
