/* SPDX-License-Identifier: Apache-2.0 */
/* vecmath_f64.inc.h - the functions of vecmath.inc.h on doubles, included by it alone. What is rare (sin, cos, pow) is
 * C's library, lane by lane.
 *
 * Infinities, NaN, zeros' signs and overflow follow C's Annex F; an exponential below DBL_MIN is 0. */

/* Sum of c[i] * x^i. */
HN_INLINE vf v_polynomial(vf x, const double *c, const int count) {
  vf p = V(c[count - 1]);
  HN_UNROLL
  for (int i = count - 2; i >= 0; --i) p = v_fma(p, x, V(c[i]));
  return p;
}

/* ln(DBL_MIN), rounded up: e^x is not subnormal from here on. */
#define V_EXP_LEAST (-708.39641853226408)

/* e^x = (p + 1) * 2^n for x >= V_EXP_LEAST; returns p. The series of (e^r - 1 - r) / r^2 to r^11, |r| <= ln(2)/2. */
HN_INLINE vf v_exp_parts(vf x, vf *n) {
  static const double series[12] = {1.0 / 2,       1.0 / 6,        1.0 / 24,        1.0 / 120,
                                    1.0 / 720,     1.0 / 5040,     1.0 / 40320,     1.0 / 362880,
                                    1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0};
  /* The clamp keeps the exponent in range; the order of min's operands keeps a NaN. */
  x = v_max(V(V_EXP_LEAST), v_min(V(720), x));
  *n = v_round(x * V(1.44269504088896340736));
  vf r = x - *n * V(6.93147180369123816490e-01); /* its low bits are 0: the product is exact */
  r = r - *n * V(1.90821492927058770002e-10);
  return v_fma(v_polynomial(r, series, 12), r * r, r);
}

HN_INLINE vf v_exp(vf x) {
  vf n;
  const vf p = v_exp_parts(x, &n);
  return v_select(v_lt(x, V(V_EXP_LEAST)), V(0), v_scale(p + V(1), n));
}

HN_INLINE vf v_expm1(vf x) {
  vf n;
  const vf p = v_exp_parts(x, &n);
  const vf power = v_scale(V(1), n); /* near 0 the two halves cancel exactly; far from it the power may overflow */
  const vf near = p * power + (power - V(1));
  const vf far = v_scale(p + V(1), n) - V(1);
  return v_select(v_eq(x, V(0)), x, v_select(v_lt(v_abs(x), V(40)), near, far));
}

/* log(m) + exponent ln(2) for m in [sqrt(1/2), sqrt(2)), as 2 atanh((m - 1) / (m + 1)). The fit is fdlibm's. */
HN_INLINE vf v_log_core(vf m, vf exponent) {
  static const double fit[7] = {6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01,
                                2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01,
                                1.479819860511658591e-01};
  const vf f = m - V(1), s = f / (V(2) + f), z = s * s, half = V(0.5) * f * f;
  const vf rest = s * (half + z * v_polynomial(z, fit, 7)) + exponent * V(1.90821492927058770002e-10);
  return exponent * V(6.93147180369123816490e-01) - ((half - rest) - f);
}

HN_INLINE vf v_log(vf x) {
  const vm tiny = v_lt(x, V(2.2250738585072014e-308));
  const vi one = vi_of(V(1)), root = vi_of(V(0.70710678118654752440));
  const vf normal = v_select(tiny, x * V(18014398509481984.0), x); /* 2^54 */
  const vi shifted = vi_add(vi_sub(vi_of(normal), root), one), power = vi_right(shifted, 52);
  const vf m = vf_of(vi_add(vi_sub(vi_of(normal), vi_left(power, 52)), one));
  const vf magic = V(6755399441055744.0); /* 1.5 * 2^52: an integer added to its bits is added to it */
  const vf whole = vf_of(vi_add(vi_of(magic), power)) - magic;
  vf y = v_log_core(m, whole - v_select(tiny, V(1023 + 54), V(1023)));
  y = v_select(v_eq(x, V(INFINITY)), x, y);
  y = v_select(v_eq(x, V(0)), V(-INFINITY), y);
  return v_select(v_le(V(0), x), y, V(NAN));
}

/* log(u) with u = 1 + x, and what rounding has taken from u. */
HN_INLINE vf v_log1p(vf x) {
  const vf u = V(1) + x, lost = x - (u - V(1));
  const vf y = v_log(u) + v_select(v_lt(v_abs(x), V(1e15)), lost / u, V(0));
  return v_select(v_eq(x, V(0)), x, v_select(v_eq(u, V(0)), V(-INFINITY), y));
}

HN_INLINE vf v_sigmoid(vf x) {
  const vf e = v_exp(v_negate(v_abs(x)));
  return v_select(v_lt(x, V(0)), e, V(1)) / (V(1) + e);
}

/* With t = e^-2|x| - 1 it is -t / (t + 2). */
HN_INLINE vf v_tanh(vf x) {
  const vf t = v_expm1(V(-2) * v_abs(x));
  return v_copy_sign(v_negate(t) / (t + V(2)), x);
}

/* erfc(t) for t >= 0: (1 + 2t) e^(t t) erfc(t) is smooth in (t - 4) / (t + 4) (Shepherd and Laframboise 1981). The fit
 * interpolates at Chebyshev's nodes. */
HN_INLINE vf v_erfc_above(vf t) {
  static const double fit[] = {
      1.23299511862555251,     -0.139621116840562284,     0.0153796521026199743,     0.0680970542546683824,
      -0.101039066036318116,   0.0937328349991126395,     -0.0663303658118605825,    0.0371675155263380036,
      -0.0161977340629347706,  0.0050319700691022558,     -0.000757773243594257611,  -0.000199257152472651783,
      0.000150621426086519447, -0.0000243977311430232924, -0.0000112211356659659071, 5.70657829924074054e-6,
      2.91734255730897332e-7,  -8.21064793329733634e-7,   7.77194324108691282e-8,    1.06318175938181482e-7,
      -2.07258024881819618e-8, -1.23387314037984437e-8,   3.23239734450820326e-9,    9.2976252637096597e-10,
      -2.76412023373457802e-10};
  const vf at = v_min(V(30), t), u = (at - V(4)) / (at + V(4));
  return v_exp(v_negate(at * at)) * v_polynomial(u, fit, sizeof fit / sizeof *fit) / (V(1) + V(2) * at);
}

/* Below 1 a fit of erf(x) / x in x^2. */
HN_INLINE vf v_erf(vf x) {
  static const double fit[] = {1.12837916709551257,     -0.376126389031837481,     0.112837916709548787,
                               -0.0268661706450767932,  0.00522397762481801447,    -0.000854832698083378991,
                               0.000120553311116427109, -0.0000149255952668311816, 1.6461000484121368e-6,
                               -1.6350312701054695e-7,  1.46597752740474358e-8,    -1.13728488567916737e-9,
                               5.9571761477489114e-11};
  const vf size = v_abs(x), z = v_min(V(1), x * x);
  const vf near = v_polynomial(z, fit, sizeof fit / sizeof *fit) * x, far = V(1) - v_erfc_above(size);
  return v_select(v_ne(x, x), x, v_select(v_lt(size, V(1)), near, v_copy_sign(far, x)));
}

HN_OUTLINE void v_each(double (*function)(double), double *x) {
  for (int i = 0; i < HN_LANES; ++i) x[i] = function(x[i]);
}
HN_INLINE vf v_lanes(double (*function)(double), vf x) {
  double lane[HN_LANES];
  v_store(lane, x);
  v_each(function, lane);
  return v_load(lane);
}
HN_INLINE vf v_sin(vf x) { return v_lanes(sin, x); }
HN_INLINE vf v_cos(vf x) { return v_lanes(cos, x); }
HN_INLINE vf v_pow(vf x, vf y) {
  double base[HN_LANES], exponent[HN_LANES];
  v_store(base, x);
  v_store(exponent, y);
  for (int i = 0; i < HN_LANES; ++i) base[i] = pow(base[i], exponent[i]);
  return v_load(base);
}

/* Epilogues' functions: there is no faster kind of doubles. */
HN_INLINE vf v_sigmoid_fast(vf x) { return v_sigmoid(x); }
HN_INLINE vf v_tanh_fast(vf x) { return v_tanh(x); }
HN_INLINE vf v_expm1_fast(vf x) { return v_expm1(x); }
/* x Phi(x), without cancellation for negative x. */
HN_INLINE vf v_gelu(vf x) {
  const vf tail = V(0.5) * v_erfc_above(v_abs(x) * V(0.70710678118654752440));
  return x * v_select(v_lt(x, V(0)), tail, V(1) - tail);
}
/* x s(2u) with u = sqrt(2 / pi) (x + 0.044715 x^3). */
HN_INLINE vf v_gelu_tanh(vf x) { return x * v_sigmoid(V(2 * 0.79788456080286535588) * (x + V(0.044715) * x * x * x)); }
/* x tanh(log(1 + e)) with e = exp(x) is x n / (n + 2) with n = e (e + 2), which is x beyond 40. */
HN_INLINE vf v_mish(vf x) {
  const vf e = v_exp(v_min(V(40), x)), n = e * (e + V(2));
  return x * (n / (n + V(2)));
}
