/* SPDX-License-Identifier: Apache-2.0 */
/* fft_f32.c - the passes' body: a complex vector holds one element of HN_LANES lines. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/fft/fft.h"
#include "kernels/cpu/simd.inc.h"

typedef struct vc {
  vf re, im;
} vc;

HN_INLINE vc c_load(const float *p) { return (vc){v_load(p), v_load(p + HN_LANES)}; }
HN_INLINE void c_store(float *p, vc v) {
  v_store(p, v.re);
  v_store(p + HN_LANES, v.im);
}
HN_INLINE vc c_add(vc a, vc b) { return (vc){a.re + b.re, a.im + b.im}; }
HN_INLINE vc c_sub(vc a, vc b) { return (vc){a.re - b.re, a.im - b.im}; }
/* Times the number (w[0], w[1]). */
HN_INLINE vc c_turn(vc a, const float *w) {
  const vf re = v_set(w[0]), im = v_set(w[1]);
  return (vc){a.re * re - a.im * im, a.re * im + a.im * re};
}
/* Times sign * i. */
HN_INLINE vc c_quarter(vc a, vf sign) { return (vc){v_negate(a.im) * sign, a.re * sign}; }

/* Where a pass is: the elements it reads are `in` floats apart, those it writes `out`. */
typedef struct place {
  const float *x, *w;
  float *y;
  int64_t in, out;
  vf sign;
} place;

HN_INLINE vc at(const place *p, int k) { return c_load(p->x + k * p->in); }
HN_INLINE void first(const place *p, vc v) { c_store(p->y, v); }
HN_INLINE void other(const place *p, int k, vc v) { c_store(p->y + k * p->out, c_turn(v, p->w + 2 * (k - 1))); }

HN_INLINE void radix_2(const place *p) {
  const vc a = at(p, 0), b = at(p, 1);
  first(p, c_add(a, b));
  other(p, 1, c_sub(a, b));
}

HN_INLINE void radix_3(const place *p) {
  const vc a = at(p, 0), b = at(p, 1), c = at(p, 2), sum = c_add(b, c);
  const vf half = v_set(-0.5F);
  const vc mid = {a.re + half * sum.re, a.im + half * sum.im};
  const vc turned = c_quarter(c_sub(b, c), p->sign * v_set(0.866025403784438647F));
  first(p, c_add(a, sum));
  other(p, 1, c_add(mid, turned));
  other(p, 2, c_sub(mid, turned));
}

HN_INLINE void radix_4(const place *p) {
  const vc a = at(p, 0), b = at(p, 1), c = at(p, 2), d = at(p, 3);
  const vc even = c_add(a, c), odd = c_add(b, d), apart = c_sub(a, c), turned = c_quarter(c_sub(b, d), p->sign);
  first(p, c_add(even, odd));
  other(p, 1, c_add(apart, turned));
  other(p, 2, c_sub(even, odd));
  other(p, 3, c_sub(apart, turned));
}

HN_INLINE void radix_5(const place *p) {
  const vf c1 = v_set(0.309016994374947424F), c2 = v_set(-0.809016994374947424F);
  const vf s1 = p->sign * v_set(0.951056516295153572F), s2 = p->sign * v_set(0.587785252292473129F);
  const vc a = at(p, 0), b = at(p, 1), c = at(p, 2), d = at(p, 3), e = at(p, 4);
  const vc outer = c_add(b, e), inner = c_add(c, d), far = c_sub(b, e), near = c_sub(c, d);
  const vc x = {a.re + c1 * outer.re + c2 * inner.re, a.im + c1 * outer.im + c2 * inner.im};
  const vc y = {a.re + c2 * outer.re + c1 * inner.re, a.im + c2 * outer.im + c1 * inner.im};
  const vc u = {v_negate(s1 * far.im + s2 * near.im), s1 * far.re + s2 * near.re};
  const vc v = {v_negate(s2 * far.im - s1 * near.im), s2 * far.re - s1 * near.re};
  first(p, c_add(c_add(a, outer), inner));
  other(p, 1, c_add(x, u));
  other(p, 2, c_add(y, v));
  other(p, 3, c_sub(y, v));
  other(p, 4, c_sub(x, u));
}

/* Odd radix, as the sum is written; elements k and radix - k share their products. */
HN_INLINE void radix_any(const place *p, int radix, const float *root) {
  const vc a = at(p, 0);
  vc sum = a;
  for (int j = 1; j < radix; ++j) sum = c_add(sum, at(p, j));
  first(p, sum);
  for (int k = 1; 2 * k < radix; ++k) {
    vc even = a, odd = {v_set(0.0F), v_set(0.0F)};
    for (int j = 1; 2 * j < radix; ++j) {
      const float *w = root + 2 * (j * k % radix);
      const vc plus = c_add(at(p, j), at(p, radix - j)), minus = c_sub(at(p, j), at(p, radix - j));
      even = (vc){even.re + v_set(w[0]) * plus.re, even.im + v_set(w[0]) * plus.im};
      odd = (vc){odd.re - v_set(w[1]) * minus.im, odd.im + v_set(w[1]) * minus.re};
    }
    other(p, k, c_add(even, odd));
    other(p, radix - k, c_sub(even, odd));
  }
}

HN_INLINE void run_pass(const hn_fft_pass *pass, const float *x, float *y, float sign, const int radix) {
  const int64_t wide = 2 * HN_LANES;
  place p = {.in = pass->s * pass->m * wide, .out = pass->s * wide, .sign = v_set(sign), .w = pass->twiddle};
  for (int64_t q = 0; q < pass->m; ++q, p.w += 2 * (pass->radix - 1)) {
    p.x = x + pass->s * q * wide;
    p.y = y + pass->s * pass->radix * q * wide;
    for (int64_t r = 0; r < pass->s; ++r, p.x += wide, p.y += wide) {
      if (radix == 2)
        radix_2(&p);
      else if (radix == 3)
        radix_3(&p);
      else if (radix == 4)
        radix_4(&p);
      else if (radix == 5)
        radix_5(&p);
      else
        radix_any(&p, pass->radix, pass->root);
    }
  }
}

float *HN_SIMD_NAME(hn_fft_f32)(const hn_fft *fft, float *x, float *spare) {
  for (int32_t i = 0; i < fft->passes; ++i) {
    switch (fft->pass[i].radix) {
    case 2: run_pass(&fft->pass[i], x, spare, fft->sign, 2); break;
    case 3: run_pass(&fft->pass[i], x, spare, fft->sign, 3); break;
    case 4: run_pass(&fft->pass[i], x, spare, fft->sign, 4); break;
    case 5: run_pass(&fft->pass[i], x, spare, fft->sign, 5); break;
    default: run_pass(&fft->pass[i], x, spare, fft->sign, 0);
    }
    float *result = spare;
    spare = x;
    x = result;
  }
  return x;
}

void HN_SIMD_NAME(hn_fft_turn_f32)(float *x, const float *f, int64_t count, int swap) {
  for (int64_t i = 0; i < count; ++i, x += 2 * HN_LANES, f += 2) {
    const vc v = c_turn(c_load(x), f);
    c_store(x, swap ? (vc){v.im, v.re} : v);
  }
}
