/* SPDX-License-Identifier: Apache-2.0 */
/* error.c - how far a kernel's numbers are from the reference's: relative L2 over 4,096 elements of each output, all
 * together. */
#include "tensor/element.h"
#include "tune/tuning.h"
#include "tensor/shape.h"
#include "base/random.h"
#include <math.h>
#include <stdlib.h>

enum { RUN_ELEMENTS = 256 };

/* Runs [first, last) of an output whose elements are compared; the same for every candidate. */
void hn_sampled_run(int64_t count, int run, hone_window *out) {
  const int64_t last_start = count > RUN_ELEMENTS ? count - RUN_ELEMENTS : 0;
  hn_random random = {.state = (uint64_t)run * 7919 + 17};
  int64_t first = last_start ? (int64_t)(hn_random_u64(&random) % (uint64_t)(last_start + 1)) : 0;
  if (run == 0) first = 0;
  if (run == 1) first = last_start;
  out->first = first;
  out->last = first + RUN_ELEMENTS < count ? first + RUN_ELEMENTS : count;
}

int hn_sampled_runs(int64_t count) { return count <= RUN_ELEMENTS ? 1 : HN_SAMPLED_RUNS; }

static int compare_windows(const void *a, const void *b) {
  const hone_window *x = a, *y = b;
  return (x->first > y->first) - (x->first < y->first);
}

/* All runs of an output in their order, those that overlap joined: no element is computed twice. How many there are. */
int hn_sampled_windows(int64_t count, int output, hone_window out[HN_SAMPLED_RUNS]) {
  int kept = 0;
  for (int run = 0; run < hn_sampled_runs(count); ++run) {
    out[run] = (hone_window){.output = output};
    hn_sampled_run(count, run, &out[run]);
  }
  qsort(out, (size_t)hn_sampled_runs(count), sizeof *out, compare_windows);
  for (int run = 1; run < hn_sampled_runs(count); ++run) {
    if (out[run].first >= out[kept].last)
      out[++kept] = out[run];
    else if (out[run].last > out[kept].last)
      out[kept].last = out[run].last;
  }
  return kept + 1;
}

void hn_error_add(const hone_tensor *got, const hone_tensor *want, const hone_window *window, hn_error_sum *sum) {
  const bool real = hn_dtype_is_float(want->type.dtype);
  for (int64_t i = window->first; i < window->last; ++i) {
    if (!real) {
      if (hn_int(got, i) != hn_int(want, i)) sum->broken = true;
      continue;
    }
    const double a = hn_real(got, i), b = hn_real(want, i);
    if (isnan(a) || isnan(b) || isinf(a) || isinf(b)) {
      if (!((isnan(a) && isnan(b)) || a == b)) sum->broken = true;
      continue;
    }
    sum->difference += (a - b) * (a - b);
    sum->reference += b * b;
  }
}

double hn_error_of(const hn_error_sum *sum) {
  if (sum->broken) return HUGE_VAL;
  return sum->reference > 0 ? sqrt(sum->difference / sum->reference) : sqrt(sum->difference);
}
