/* SPDX-License-Identifier: Apache-2.0 */
/* training.c - steps of optimisers, which are arithmetic on weights, gradients and what was remembered of them. Source:
 * Momentum, Adagrad and Adam of ai.onnx.preview.training, version 1. */
#include "import/ml.h"

/* Of one weight: R and T are the rate and the number of updates so far. */
typedef struct step {
  hn_import_call *call;
  hn_value *rate, *updates, *x, *gradient;
  hone_dtype dtype;
} step;

static double take_real(hn_import_call *call, const char *name, double otherwise) {
  hone_attr attr;
  return hn_import_take_attr(call, name, &attr) && attr.kind == HONE_ATTR_FLOAT ? attr.f : otherwise;
}

static hn_value *number(const step *s, double value) {
  return hn_constant_scalar(s->call->importer->graph, s->dtype, value);
}

/* *out = a * x + b * y. */
static hone_status mix(const step *s, double a, hn_value *x, double b, hn_value *y, hn_value **out) {
  if (a != 1) HN_TRY(hn_ml_join(s->call, "mul", &x, number(s, a)));
  if (b != 1) HN_TRY(hn_ml_join(s->call, "mul", &y, number(s, b)));
  HN_TRY(hn_ml_join(s->call, "add", &x, y));
  *out = x;
  return HONE_OK;
}

/* What holds before the first update, or later. */
static hone_status first_or_later(const step *s, hn_value *first, hn_value *later, hn_value **out) {
  hn_value *in[3] = {s->updates, later, first};
  hn_value *zero = hn_constant_scalar(s->call->importer->graph, s->updates->fact.type.dtype, 0);
  HN_TRY(hn_ml_join(s->call, "greater", &in[0], zero));
  return first && later ? hn_import_make(s->call, "where", 3, in, 0, NULL, out) : HONE_NO_MEMORY;
}

/* x - rate * change */
static hone_status descend(const step *s, hn_value *rate, hn_value *change, hn_value **out) {
  *out = s->x;
  HN_TRY(hn_ml_join(s->call, "mul", &rate, change));
  return hn_ml_join(s->call, "sub", out, rate);
}

/* Inputs: R, T, then for each of `count` weights the groups X, G and what is remembered. */
static hone_status begin(hn_import_call *call, int groups, int *out_count, step *s) {
  const int rest = call->in_count - 2;
  *out_count = rest / groups;
  if (rest < groups || rest % groups != 0 || call->out_count != *out_count * (groups - 1))
    return HN_FAIL(call->importer->diag, HONE_MALFORMED, "%d inputs and %d outputs are not those of some weights",
                   call->in_count, call->out_count);
  for (int i = 0; i < call->in_count; ++i)
    if (!call->in[i]) return HN_FAIL(call->importer->diag, HONE_MALFORMED, "input %d is missing", i);
  *s = (step){.call = call, .updates = call->in[1], .dtype = call->in[2]->fact.type.dtype};
  call->done = true;
  return HONE_OK;
}

/* The gradient with what keeps weights small. */
static hone_status take(step *s, int i, int count, double norm) {
  s->rate = s->call->in[0];
  HN_TRY(hn_ml_cast(s->call, s->dtype, &s->rate));
  s->x = s->call->in[2 + i];
  return mix(s, norm, s->x, 1, s->call->in[2 + count + i], &s->gradient);
}

static hone_status momentum(hn_import_call *call) {
  const double alpha = take_real(call, "alpha", 0), beta = take_real(call, "beta", 0);
  const double norm = take_real(call, "norm_coefficient", 0);
  const bool nesterov = hn_name_equal(hn_ml_take_text(call, "mode", "standard"), "nesterov");
  step s;
  int count;
  HN_TRY(begin(call, 3, &count, &s));
  for (int i = 0; i < count; ++i) {
    hn_value *share, *v, *change;
    HN_TRY(take(&s, i, count, norm));
    HN_TRY(first_or_later(&s, number(&s, 1), number(&s, beta), &share));
    HN_TRY(hn_ml_join(call, "mul", &share, s.gradient));
    HN_TRY(mix(&s, alpha, call->in[2 + 2 * count + i], 1, share, &v));
    change = v;
    if (nesterov) HN_TRY(mix(&s, 1, s.gradient, alpha, v, &change));
    HN_TRY(descend(&s, s.rate, change, &call->out[i]));
    call->out[count + i] = v;
  }
  return HONE_OK;
}

static hone_status adagrad(hn_import_call *call) {
  const double decay = take_real(call, "decay_factor", 0), epsilon = take_real(call, "epsilon", 0);
  const double norm = take_real(call, "norm_coefficient", 0);
  step s;
  int count;
  HN_TRY(begin(call, 3, &count, &s));
  for (int i = 0; i < count; ++i) {
    hn_value *slower = s.updates, *h = NULL, *change;
    HN_TRY(take(&s, i, count, norm));
    HN_TRY(hn_ml_cast(call, s.dtype, &slower));
    HN_TRY(mix(&s, decay, slower, 1, number(&s, 1), &slower));
    HN_TRY(hn_ml_join(call, "div", &s.rate, slower));
    h = s.gradient;
    HN_TRY(hn_ml_join(call, "mul", &h, s.gradient));
    HN_TRY(hn_ml_join(call, "add", &h, call->in[2 + 2 * count + i]));
    hn_value *root = h;
    HN_TRY(hn_ml_apply(call, "sqrt", &root));
    HN_TRY(hn_ml_join(call, "add", &root, number(&s, epsilon)));
    change = s.gradient;
    HN_TRY(hn_ml_join(call, "div", &change, root));
    HN_TRY(descend(&s, s.rate, change, &call->out[i]));
    call->out[count + i] = h;
  }
  return HONE_OK;
}

/* rate * sqrt(1 - beta^T) / (1 - alpha^T) once there were updates. */
static hone_status corrected(const step *s, double alpha, double beta, hn_value **out) {
  hn_value *up[2], *updates = s->updates, *later = s->rate;
  HN_TRY(hn_ml_cast(s->call, s->dtype, &updates));
  for (int i = 0; i < 2; ++i) {
    hn_value *power = number(s, i ? alpha : beta);
    up[i] = number(s, 1);
    if (!power || !up[i]) return HONE_NO_MEMORY;
    HN_TRY(hn_ml_join(s->call, "pow", &power, updates));
    HN_TRY(hn_ml_join(s->call, "sub", &up[i], power));
  }
  HN_TRY(hn_ml_apply(s->call, "sqrt", &up[0]));
  HN_TRY(hn_ml_join(s->call, "mul", &later, up[0]));
  HN_TRY(hn_ml_join(s->call, "div", &later, up[1]));
  return first_or_later(s, s->rate, later, out);
}

static hone_status adam(hn_import_call *call) {
  const double alpha = take_real(call, "alpha", 0.9), beta = take_real(call, "beta", 0.999);
  const double epsilon = take_real(call, "epsilon", 0), norm = take_real(call, "norm_coefficient", 0);
  const double after = take_real(call, "norm_coefficient_post", 0);
  step s;
  int count;
  HN_TRY(begin(call, 4, &count, &s));
  for (int i = 0; i < count; ++i) {
    hn_value *v, *h, *rate, *change;
    HN_TRY(take(&s, i, count, norm));
    hn_value *square = s.gradient;
    HN_TRY(hn_ml_join(call, "mul", &square, s.gradient));
    HN_TRY(mix(&s, alpha, call->in[2 + 2 * count + i], 1 - alpha, s.gradient, &v));
    HN_TRY(mix(&s, beta, call->in[2 + 3 * count + i], 1 - beta, square, &h));
    hn_value *root = h;
    HN_TRY(hn_ml_apply(call, "sqrt", &root));
    HN_TRY(hn_ml_join(call, "add", &root, number(&s, epsilon)));
    change = v;
    HN_TRY(hn_ml_join(call, "div", &change, root));
    HN_TRY(corrected(&s, alpha, beta, &rate));
    HN_TRY(descend(&s, rate, change, &call->out[i]));
    if (after != 0) HN_TRY(hn_ml_join(call, "mul", &call->out[i], number(&s, 1 - after)));
    call->out[count + i] = v;
    call->out[2 * count + i] = h;
  }
  return HONE_OK;
}

const hn_adapter hn_training_adapters[] = {
    {"training_adagrad", "decay_factor epsilon norm_coefficient", adagrad},
    {"training_adam", "alpha beta epsilon norm_coefficient norm_coefficient_post", adam},
    {"training_momentum", "alpha beta mode norm_coefficient", momentum},
    {0}};
