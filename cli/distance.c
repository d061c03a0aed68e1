/* SPDX-License-Identifier: Apache-2.0 */
/* distance.c - two tensors of the same value: absolute and relative errors, cosine similarity, the signal-to-noise
 * ratio 10 log10(|want|^2 / |got - want|^2), and a histogram of the differences by decades. */
#include "values.h"
#include <math.h>
#include <string.h>

enum { FIRST_DECADE = -8 };

static int decade_of(double apart) {
  if (apart == 0) return 0;
  const double at = floor(log10(apart)) - FIRST_DECADE + 2;
  return !(at < CLI_DECADES) ? CLI_DECADES - 1 : at < 1 ? 1 : (int)at;
}

void cli_decade_name(int decade, char *out, size_t room) {
  if (decade == 0)
    (void)snprintf(out, room, "0");
  else if (decade == 1)
    (void)snprintf(out, room, "<1e%d", FIRST_DECADE);
  else
    (void)snprintf(out, room, "1e%d", FIRST_DECADE + decade - 2);
}

static bool is_real(const hone_tensor *tensor) { return HONE_BIT(tensor->type.dtype) & HONE_TYPES_FLOAT; }

static bool is_comparable(const hone_tensor *got, const hone_tensor *want) {
  const hone_shape *a = &got->type.shape, *b = &want->type.shape;
  if (got->type.kind != HONE_TENSOR || want->type.kind != HONE_TENSOR) return false;
  if (got->type.dtype == HONE_STRING || want->type.dtype == HONE_STRING) return false;
  if (is_real(got) ? !is_real(want) : got->type.dtype != want->type.dtype) return false;
  return a->rank == b->rank && memcmp(a->dim, b->dim, (size_t)a->rank * sizeof a->dim[0]) == 0;
}

void cli_distance_of(const hone_tensor *got, const hone_tensor *want, cli_distance *out) {
  cli_comparison sums;
  *out = (cli_distance){.comparable = is_comparable(got, want)};
  if (!out->comparable) return;
  cli_compare_tensors(got, want, 0, 0, &sums);
  out->count = sums.count;
  out->worst_at = sums.worst_at;
  out->worst_got = sums.worst_got;
  out->worst_want = sums.worst_want;
  out->max_abs = sums.most_apart;
  out->mean_abs = sums.count ? sums.sum_apart / (double)sums.count : 0;
  out->rel_l2 = sums.rel_l2;
  const double norms = sqrt(sums.sum_square_got) * sqrt(sums.sum_square_want);
  out->cosine = norms > 0 ? sums.sum_product / norms : sums.sum_square_got == sums.sum_square_want ? 1 : 0;
  out->snr_db = sums.sum_square_apart > 0 ? 10 * log10(sums.sum_square_want / sums.sum_square_apart) : HUGE_VAL;
  for (int64_t i = 0; i < out->count; ++i) {
    const double x = hone_tensor_real(got, i), y = hone_tensor_real(want, i);
    const double apart = x == y || (isnan(x) && isnan(y)) ? 0 : isfinite(x) && isfinite(y) ? fabs(x - y) : HUGE_VAL;
    if (apart > 0 && y != 0 && apart / fabs(y) > out->max_rel) out->max_rel = apart / fabs(y);
    ++out->decades[decade_of(apart)];
  }
}

bool cli_distance_is_over(const cli_distance *distance, const hone_tensor *want, double tolerance, double floor) {
  if (!distance->comparable) return false;
  if (!is_real(want)) return distance->max_abs > 0;
  return !(distance->rel_l2 <= tolerance) && !(distance->max_abs <= floor);
}
