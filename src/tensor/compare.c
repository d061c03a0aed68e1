/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c - how far two tensors are apart. Integers are compared exactly, however large; everything else as reals. */
#include "tensor/element.h"
#include "tensor/shape.h"
#include <assert.h>
#include <math.h>
#include <string.h>

static bool strings_equal(const hone_tensor *a, const hone_tensor *b, int64_t at) {
  hone_string x, y;
  memcpy(&x, (const uint8_t *)a->data + (size_t)at * sizeof x, sizeof x);
  memcpy(&y, (const uint8_t *)b->data + (size_t)at * sizeof y, sizeof y);
  return x.length == y.length && (x.length == 0 || memcmp(x.data, y.data, x.length) == 0);
}

/* A complex tensor as a flat one of twice as many reals. */
static hone_tensor as_reals(const hone_tensor *tensor, int64_t elems, int64_t *out_factor) {
  hone_tensor reals = *tensor;
  const hone_dtype dtype = tensor->type.dtype;
  *out_factor = 1;
  if (dtype != HONE_C64 && dtype != HONE_C128) return reals;
  *out_factor = 2;
  reals.type = hn_tensor_type(dtype == HONE_C64 ? HONE_F32 : HONE_F64, 1, (int64_t[]){2 * elems});
  return reals;
}

typedef struct error_sums {
  hn_error error;
  double difference, reference; /* sums of squares */
} error_sums;

static void add_real(error_sums *sums, double a, double b, double atol, double rtol, int64_t at) {
  const bool same = a == b || (isnan(a) && isnan(b));
  double distance = same ? 0 : fabs(a - b);
  if (isnan(distance)) distance = INFINITY; /* a NaN against a number */
  if (!(distance <= atol + rtol * fabs(b)) && !same)
    ++sums->error.mismatches;
  else if (!same && isinf(distance))
    ++sums->error.mismatches; /* rtol * infinity tolerates nothing */
  if (distance > 0) {
    const double relative = isinf(distance) || b == 0 ? INFINITY : distance / fabs(b);
    if (relative > sums->error.max_rel) sums->error.max_rel = relative;
    if (distance > sums->error.max_abs) {
      sums->error.max_abs = distance;
      sums->error.worst = at;
    }
  }
  sums->difference += distance * distance;
  if (isfinite(b)) sums->reference += b * b;
}

static void add_exact(error_sums *sums, int64_t a, int64_t b, bool is_unsigned, int64_t at) {
  if (a != b) ++sums->error.mismatches;
  const double x = is_unsigned ? (double)(uint64_t)a : (double)a, y = is_unsigned ? (double)(uint64_t)b : (double)b;
  const int64_t before = sums->error.mismatches;
  /* Unequal numbers may be the same double: the distance is then still at least one. */
  add_real(sums, a != b && x == y ? nextafter(x, INFINITY) : x, y, 0, 0, at);
  sums->error.mismatches = before;
}

hn_error hn_compare(const hone_tensor *got, const hone_tensor *want, double atol, double rtol, int64_t first,
                    int64_t last) {
  error_sums sums = {.error = {.worst = -1}};
  const int64_t elems = hn_elems(&want->type.shape);
  assert(hn_elems(&got->type.shape) == elems);
  if (last < 0 || last > elems) last = elems;
  int64_t factor, got_factor;
  const hone_tensor a = as_reals(got, elems, &got_factor), b = as_reals(want, elems, &factor);
  const hone_dtype got_dtype = a.type.dtype, want_dtype = b.type.dtype;
  const bool text = want_dtype == HONE_STRING || got_dtype == HONE_STRING;
  const bool real = hn_dtype_is_float(got_dtype) || hn_dtype_is_float(want_dtype);
  for (int64_t i = first * factor; i < last * factor; ++i) {
    if (text) {
      const bool equal = want_dtype == got_dtype && strings_equal(got, want, i);
      add_real(&sums, equal ? 0 : 1, 0, 0, 0, i);
    } else if (real) {
      add_real(&sums, hn_real(&a, i), hn_real(&b, i), atol, rtol, i / factor);
    } else {
      add_exact(&sums, hn_int(&a, i), hn_int(&b, i), want_dtype == HONE_U64, i);
    }
  }
  sums.error.compared = last > first ? last - first : 0;
  if (sums.reference > 0)
    sums.error.rel_l2 = sqrt(sums.difference / sums.reference);
  else
    sums.error.rel_l2 = sums.difference > 0 ? INFINITY : 0;
  return sums.error;
}
