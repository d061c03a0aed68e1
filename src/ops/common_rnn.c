/* SPDX-License-Identifier: Apache-2.0 */
/* common_rnn.c - recurrent layers: shapes, activations and the loop over time. Source: ONNX operators RNN, GRU, LSTM.
 * States stay in double from step to step; only what is stored is rounded. */
#include "ops/common_rnn.h"
#include <math.h>
#include <strings.h>

typedef enum act_kind {
  ACT_RELU,
  ACT_TANH,
  ACT_SIGMOID,
  ACT_AFFINE,
  ACT_LEAKY_RELU,
  ACT_THRESHOLDED_RELU,
  ACT_SCALED_TANH,
  ACT_HARD_SIGMOID,
  ACT_ELU,
  ACT_SOFTSIGN,
  ACT_SOFTPLUS
} act_kind;

static double activated(act_kind kind, double x, double alpha, double beta) {
  switch (kind) {
  case ACT_RELU: return x < 0 ? 0 : x;
  case ACT_TANH: return tanh(x);
  case ACT_SIGMOID: return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
  case ACT_AFFINE: return alpha * x + beta;
  case ACT_LEAKY_RELU: return x < 0 ? alpha * x : x;
  case ACT_THRESHOLDED_RELU: return x > alpha ? x : 0;
  case ACT_SCALED_TANH: return alpha * tanh(beta * x);
  case ACT_HARD_SIGMOID: return fmin(fmax(alpha * x + beta, 0), 1);
  case ACT_ELU: return x < 0 ? alpha * expm1(x) : x;
  case ACT_SOFTSIGN: return x / (1 + fabs(x));
  default: return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); /* softplus */
  }
}

static const struct act_row {
  const char *name;
  act_kind kind;
  bool has_alpha, has_beta; /* takes the next number of activation_alpha, activation_beta */
  double alpha, beta;       /* when that list has none left */
} act_rows[] = {
    {"Relu", ACT_RELU, false, false, 0, 0},
    {"Tanh", ACT_TANH, false, false, 0, 0},
    {"Sigmoid", ACT_SIGMOID, false, false, 0, 0},
    {"Affine", ACT_AFFINE, true, true, 1, 0},
    {"LeakyRelu", ACT_LEAKY_RELU, true, false, 0.01, 0},
    {"ThresholdedRelu", ACT_THRESHOLDED_RELU, true, false, 1, 0},
    {"ScaledTanh", ACT_SCALED_TANH, true, true, 1, 1},
    {"HardSigmoid", ACT_HARD_SIGMOID, true, true, 0.2, 0.5},
    {"Elu", ACT_ELU, true, false, 1, 0},
    {"Softsign", ACT_SOFTSIGN, false, false, 0, 0},
    {"Softplus", ACT_SOFTPLUS, false, false, 0, 0},
};

static const struct act_row *act_find(const char *name) {
  for (size_t i = 0; i < HN_COUNT(act_rows); ++i)
    if (!strcasecmp(act_rows[i].name, name)) return &act_rows[i];
  return NULL;
}

static double next_of(const hone_attr *list, int64_t *at, double otherwise) {
  return list && *at < list->count ? list->floats[(*at)++] : otherwise;
}

static hone_status acts_read(hone_diagnostics *diag, const hone_attrs *attrs, const hn_rnn_layer *layer, int directions,
                             hn_rnn_act *out) {
  const hone_attr *names = hn_attr_find(attrs, "activations");
  const hone_attr *alphas = hn_attr_find(attrs, "activation_alpha"), *betas = hn_attr_find(attrs, "activation_beta");
  const int count = directions * layer->acts;
  int64_t alpha_at = 0, beta_at = 0;
  if (names && names->count < count)
    return HN_FAIL(diag, HONE_MALFORMED, "activations has %lld names, expected %d", (long long)names->count, count);
  for (int i = 0; i < count; ++i) {
    const char *name = names ? names->strings[i] : layer->act_defaults[i % layer->acts];
    const struct act_row *row = act_find(name);
    if (!row) return HN_FAIL(diag, HONE_MALFORMED, "activations[%d] is \"%.40s\", which is not known", i, name);
    out[i].kind = (int)row->kind;
    out[i].alpha = row->has_alpha ? next_of(alphas, &alpha_at, row->alpha) : 0;
    out[i].beta = row->has_beta ? next_of(betas, &beta_at, row->beta) : 0;
  }
  return HONE_OK;
}

static int direction_count(const hone_attrs *attrs) {
  return hn_name_equal(hn_attr_text(attrs, "direction"), "bidirectional") ? 2 : 1;
}

/* All inputs against the sizes that x, r and the attributes say. */
static hone_status check_inputs(hone_infer *infer, int gates, int64_t directions, int64_t batch, int64_t hidden) {
  const bool batch_first = hn_attr_int(infer->attrs, "layout") == 1;
  const int64_t rows = HONE_SYMBOLIC(hidden) ? hidden : gates * hidden, any = HONE_SYMBOL_BASE;
  const int64_t state[3] = {batch_first ? batch : directions, batch_first ? directions : batch, hidden};
  const int64_t x_input = hn_in_rank(infer, 0) == 3 ? hn_in_shape(infer, 0)->dim[2] : any;
  const int64_t want[8][3] = {
      {any, any, any},
      {directions, HONE_SYMBOLIC(rows) ? any : rows, x_input},
      {directions, HONE_SYMBOLIC(rows) ? any : rows, hidden},
      {directions, HONE_SYMBOLIC(rows) ? any : 2 * rows, 0},
      {batch, 0, 0},
      {state[0], state[1], state[2]},
      {state[0], state[1], state[2]},
      {directions, HONE_SYMBOLIC(hidden) ? any : 3 * hidden, 0},
  };
  static const int ranks[8] = {3, 3, 3, 2, 1, 3, 3, 2};
  for (int i = 0; i < infer->in_count && i < 8; ++i) {
    HN_TRY(hn_want_rank(infer, i, ranks[i], ranks[i]));
    for (int axis = 0; axis < ranks[i]; ++axis)
      if (!HONE_SYMBOLIC(want[i][axis]))
        HN_TRY(hn_want_dim(infer, i, axis, want[i][axis], "what the other inputs want"));
  }
  return HONE_OK;
}

hone_status hn_infer_rnn(hone_infer *infer) {
  const hn_rnn_layer *layer = infer->op->details;
  hn_rnn_act ignored[HN_RNN_MAX_ACTS];
  HN_TRY(hn_want_text(infer, "direction", "forward reverse bidirectional"));
  HN_TRY(hn_want_int(infer, "layout", 0, 1));
  const int64_t directions = direction_count(infer->attrs);
  HN_TRY(acts_read(infer->diagnostics, infer->attrs, layer, (int)directions, ignored));
  if (hn_attr_has(infer->attrs, "hidden_size")) HN_TRY(hn_want_int(infer, "hidden_size", 1, INT32_MAX));
  const bool batch_first = hn_attr_int(infer->attrs, "layout") == 1;
  const hone_shape *x = hn_in_shape(infer, 0), *r = hn_in_shape(infer, 2);
  HN_TRY(hn_want_rank(infer, 0, 3, 3));
  HN_TRY(hn_want_rank(infer, 2, 3, 3));
  int64_t hidden = hn_attr_int(infer->attrs, "hidden_size");
  if (!hidden && r->rank == 3) hidden = r->dim[2];
  if (!hidden || x->rank < 0) return HONE_OK;
  if (!HONE_SYMBOLIC(hidden) && hidden > INT32_MAX)
    return HN_INFER_FAIL(infer, "a hidden size of %lld is too large", (long long)hidden);
  const int64_t time = x->dim[batch_first ? 1 : 0], batch = x->dim[batch_first ? 0 : 1];
  HN_TRY(check_inputs(infer, layer->gates, directions, batch, hidden));
  const int64_t all[4] = {batch_first ? batch : time, batch_first ? time : directions, batch_first ? directions : batch,
                          hidden};
  const int64_t state[3] = {batch_first ? batch : directions, batch_first ? directions : batch, hidden};
  if (infer->out_count > 0) hn_out_shape(infer, 0, 4, all);
  for (int i = 1; i < infer->out_count; ++i) hn_out_shape(infer, i, 3, state);
  return HONE_OK;
}

double hn_rnn_input_dot(const hn_rnn *rnn, int direction, int64_t row, int64_t at) {
  const int64_t w0 = (direction * rnn->gates * rnn->hidden + row) * rnn->input;
  return hn_dot(0, rnn->x, at, 1, rnn->w, w0, 1, rnn->input);
}

double hn_rnn_state_dot(const hn_rnn *rnn, int direction, int64_t row, const double *h) {
  const int64_t r0 = (direction * rnn->gates * rnn->hidden + row) * rnn->hidden;
  double sum = 0;
  if (rnn->r->type.dtype == HONE_F32) { /* most of the time of a layer's reference */
    const float *r = (const float *)rnn->r->data + r0;
    for (int64_t i = 0; i < rnn->hidden; ++i) sum += h[i] * (double)r[i];
    return sum;
  }
  for (int64_t i = 0; i < rnn->hidden; ++i) sum += h[i] * hn_real(rnn->r, r0 + i);
  return sum;
}

double hn_rnn_bias(const hn_rnn *rnn, int direction, int64_t row, int half) {
  return rnn->b ? hn_real(rnn->b, (direction * 2 + half) * rnn->gates * rnn->hidden + row) : 0;
}

double hn_rnn_apply(const hn_rnn *rnn, int act, double x) {
  if (rnn->clipped) x = fmin(fmax(x, -rnn->clip), rnn->clip);
  return activated((act_kind)rnn->acts[act].kind, x, rnn->acts[act].alpha, rnn->acts[act].beta);
}

/* Where [time, direction, batch, :] and [direction, batch, :] lie in y and in the states. */
static int64_t y_at(const hn_rnn *rnn, int64_t time, int64_t direction, int64_t batch) {
  return rnn->hidden * (rnn->batch_first ? (batch * rnn->time + time) * rnn->directions + direction
                                         : (time * rnn->directions + direction) * rnn->batch + batch);
}
static int64_t state_at(const hn_rnn *rnn, int64_t direction, int64_t batch) {
  return rnn->hidden * (rnn->batch_first ? batch * rnn->directions + direction : direction * rnn->batch + batch);
}

static hone_status run_sequence(hone_eval *eval, const hn_rnn *rnn, hn_rnn_cell cell, int direction, int64_t batch) {
  double *h = eval->scratch, *c = h + rnn->hidden, *work = c + rnn->hidden;
  const bool backwards = direction == 1 || hn_name_equal(hn_attr_text(eval->attrs, "direction"), "reverse");
  const int64_t state = state_at(rnn, direction, batch);
  const int64_t length = hn_eval_given(eval, 4) ? hn_int(&eval->in[4], batch) : rnn->time;
  if (length < 0 || length > rnn->time)
    return HN_FAIL(eval->diagnostics, HONE_MALFORMED, "sequence_lens[%lld] is %lld, expected 0 to %lld",
                   (long long)batch, (long long)length, (long long)rnn->time);
  for (int64_t i = 0; i < rnn->hidden; ++i) {
    h[i] = hn_eval_given(eval, 5) ? hn_real(&eval->in[5], state + i) : 0;
    c[i] = hn_eval_given(eval, 6) ? hn_real(&eval->in[6], state + i) : 0;
  }
  for (int64_t step = 0; step < rnn->time && !hn_eval_stopped(eval); ++step) {
    const bool inside = step < length;
    const int64_t time = inside && backwards ? length - 1 - step : step;
    const int64_t x_row = rnn->batch_first ? batch * rnn->time + time : time * rnn->batch + batch;
    if (inside) cell(rnn, eval, direction, x_row * rnn->input, h, c, work);
    for (int64_t i = 0; hn_eval_wanted(eval, 0) && i < rnn->hidden; ++i)
      hn_store_real(&eval->out[0], y_at(rnn, time, direction, batch) + i, inside ? h[i] : 0);
  }
  for (int64_t i = 0; i < rnn->hidden; ++i) {
    if (hn_eval_wanted(eval, 1)) hn_store_real(&eval->out[1], state + i, h[i]);
    if (hn_eval_wanted(eval, 2)) hn_store_real(&eval->out[2], state + i, c[i]);
  }
  return HONE_OK;
}

size_t hn_rnn_scratch(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  (void)attrs, (void)in_count, (void)out, (void)out_count;
  return 7 * sizeof(double) * (size_t)in[2].type.shape.dim[2]; /* h, c, and five of work */
}

hone_cost hn_cost_rnn(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  (void)attrs;
  const hone_shape *x = &in[0].type.shape; /* every weight meets every row of x; activations are small beside */
  const double rows = (double)x->dim[0] * (double)x->dim[1];
  const double weights = (double)hn_elems(&in[1].type.shape) + (double)hn_elems(&in[2].type.shape);
  return hn_cost_work(2 * rows * weights, in, in_count, out, out_count);
}

hone_status hn_eval_rnn(hone_eval *eval, const hone_window *window) {
  (void)window; /* every step needs those before it */
  const hn_rnn_layer *layer = eval->op->details;
  HN_TRY(hn_eval_begin(eval));
  const hone_tensor *x = &eval->in[0];
  const bool batch_first = hn_attr_int(eval->attrs, "layout") == 1;
  hn_rnn rnn = {.x = x,
                .w = &eval->in[1],
                .r = &eval->in[2],
                .b = hn_eval_given(eval, 3) ? &eval->in[3] : NULL,
                .time = hn_eval_dim(x, batch_first ? 1 : 0),
                .batch = hn_eval_dim(x, batch_first ? 0 : 1),
                .input = hn_eval_dim(x, 2),
                .hidden = hn_eval_dim(&eval->in[2], 2),
                .directions = direction_count(eval->attrs),
                .gates = layer->gates,
                .batch_first = batch_first,
                .clipped = hn_attr_has(eval->attrs, "clip"),
                .clip = hn_attr_float(eval->attrs, "clip")};
  HN_TRY(acts_read(eval->diagnostics, eval->attrs, layer, (int)rnn.directions, rnn.acts));
  for (int direction = 0; direction < rnn.directions; ++direction)
    for (int64_t batch = 0; batch < rnn.batch; ++batch) HN_TRY(run_sequence(eval, &rnn, layer->cell, direction, batch));
  return HONE_OK;
}
