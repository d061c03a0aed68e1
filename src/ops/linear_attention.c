/* SPDX-License-Identifier: Apache-2.0 */
/* linear_attention.c - attention as a recurrence: a state of size d_k x d_v is decayed, corrected, added to and read.
 * Source: ONNX operator LinearAttention (update rules linear, gated, delta, gated_delta). */
#include "ops/common_nn.h"
#include <math.h>

enum { Q, K, V, PAST, DECAY, BETA };

typedef struct extents {
  int64_t batch, time, q_heads, kv_heads, dk, dv;
} extents;

static int64_t split(hone_dims *dims, int64_t whole, int64_t heads) {
  return HONE_SYMBOLIC(whole) ? hn_dim_floor_div(dims, whole, heads) : whole / heads;
}

static extents extents_of(hone_dims *dims, const hone_attrs *attrs, const hone_shape *q, const hone_shape *v) {
  extents e = {q->dim[0], q->dim[1], hn_attr_int(attrs, "q_num_heads"), hn_attr_int(attrs, "kv_num_heads"), 0, 0};
  e.dk = split(dims, q->dim[2], e.q_heads), e.dv = split(dims, v->dim[2], e.kv_heads);
  return e;
}

static hone_status check(hone_infer *infer, const extents *e) {
  const char *rule = hn_attr_text(infer->attrs, "update_rule");
  const bool gated = rule[0] == 'g', delta = hn_word_in(rule, "delta gated_delta");
  const int64_t state[4] = {e->batch, e->kv_heads, e->dk, e->dv};
  if (hn_in_given(infer, DECAY) != gated || hn_in_given(infer, BETA) != delta)
    return HN_INFER_FAIL(infer, "update_rule \"%s\" does not go with the inputs decay and beta that are given", rule);
  for (int i = Q; i <= V; ++i) {
    HN_TRY(hn_want_dim(infer, i, 0, e->batch, "the batch size"));
    HN_TRY(hn_want_dim(infer, i, 1, e->time, "the sequence length"));
  }
  HN_TRY(hn_want_dim(infer, Q, 2, hn_dim_mul(infer->dims, e->dk, e->q_heads), "a multiple of q_num_heads"));
  HN_TRY(hn_want_dim(infer, K, 2, hn_dim_mul(infer->dims, e->dk, e->kv_heads), "what query wants"));
  HN_TRY(hn_want_dim(infer, V, 2, hn_dim_mul(infer->dims, e->dv, e->kv_heads), "a multiple of kv_num_heads"));
  HN_TRY(hn_want_rank(infer, PAST, 4, 4));
  for (int i = 0; i < 4; ++i) HN_TRY(hn_want_dim(infer, PAST, i, state[i], "what the other inputs want"));
  for (int i = DECAY; i <= BETA; ++i) {
    HN_TRY(hn_want_rank(infer, i, 3, 3));
    HN_TRY(hn_want_dim(infer, i, 0, e->batch, "the batch size"));
    HN_TRY(hn_want_dim(infer, i, 1, e->time, "the sequence length"));
  }
  if (gated && hn_in_rank(infer, DECAY) == 3 && hn_dims_differ(hn_in_shape(infer, DECAY)->dim[2], e->kv_heads))
    HN_TRY(hn_want_dim(infer, DECAY, 2, hn_dim_mul(infer->dims, e->dk, e->kv_heads), "one for each key feature"));
  if (delta && hn_in_rank(infer, BETA) == 3 && hn_in_shape(infer, BETA)->dim[2] != 1)
    HN_TRY(hn_want_dim(infer, BETA, 2, e->kv_heads, "the number of key heads"));
  return HONE_OK;
}

static hone_status infer(hone_infer *infer) {
  HN_TRY(hn_want_text(infer, "update_rule", "linear gated delta gated_delta"));
  HN_TRY(hn_want_int(infer, "q_num_heads", 1, INT32_MAX));
  HN_TRY(hn_want_int(infer, "kv_num_heads", 1, INT32_MAX));
  if (hn_attr_int(infer->attrs, "q_num_heads") % hn_attr_int(infer->attrs, "kv_num_heads"))
    return HN_INFER_FAIL(infer, "q_num_heads must be a multiple of kv_num_heads");
  hn_out_dtype(infer, 1, infer->in[hn_in_given(infer, PAST) ? PAST : Q].type.dtype);
  for (int i = Q; i <= V; ++i) HN_TRY(hn_want_rank(infer, i, 3, 3));
  if (hn_in_rank(infer, Q) < 0 || hn_in_rank(infer, V) < 0) return HONE_OK;
  const extents e = extents_of(infer->dims, infer->attrs, hn_in_shape(infer, Q), hn_in_shape(infer, V));
  HN_TRY(check(infer, &e));
  const int64_t y[3] = {e.batch, e.time, hn_dim_mul(infer->dims, e.q_heads, e.dv)};
  const int64_t state[4] = {e.batch, e.kv_heads, e.dk, e.dv};
  hn_out_shape(infer, 0, 3, y);
  hn_out_shape(infer, 1, 4, state);
  return HONE_OK;
}

/* One token: state *= exp(decay); state += beta * k (v - state^T k). */
static void update(const hone_eval *eval, const extents *e, int64_t token, int64_t head, double *state) {
  const int64_t k0 = (token * e->kv_heads + head) * e->dk, v0 = (token * e->kv_heads + head) * e->dv;
  const bool gated = hn_eval_given(eval, DECAY), delta = hn_eval_given(eval, BETA);
  const bool each = gated && hn_eval_dim(&eval->in[DECAY], 2) != e->kv_heads;
  const int64_t beta_at = delta && hn_eval_dim(&eval->in[BETA], 2) == 1 ? token : token * e->kv_heads + head;
  const double beta = delta ? hn_real(&eval->in[BETA], beta_at) : 1;
  for (int64_t i = 0; gated && i < e->dk; ++i) {
    const double kept = exp(hn_real(&eval->in[DECAY], each ? k0 + i : token * e->kv_heads + head));
    for (int64_t j = 0; j < e->dv; ++j) state[i * e->dv + j] *= kept;
  }
  for (int64_t j = 0; j < e->dv; ++j) {
    double known = 0;
    for (int64_t i = 0; delta && i < e->dk; ++i) known += state[i * e->dv + j] * hn_real(&eval->in[K], k0 + i);
    const double added = beta * (hn_real(&eval->in[V], v0 + j) - known);
    for (int64_t i = 0; i < e->dk; ++i) state[i * e->dv + j] += hn_real(&eval->in[K], k0 + i) * added;
  }
}

static void read_out(hone_eval *eval, const extents *e, int64_t token, int64_t q_head, double scale,
                     const double *state) {
  const int64_t q0 = (token * e->q_heads + q_head) * e->dk, y0 = (token * e->q_heads + q_head) * e->dv;
  for (int64_t j = 0; j < e->dv; ++j) {
    double sum = 0;
    for (int64_t i = 0; i < e->dk; ++i) sum += hn_real(&eval->in[Q], q0 + i) * state[i * e->dv + j];
    hn_store_real(&eval->out[0], y0 + j, scale * sum);
  }
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const extents e = extents_of(NULL, eval->attrs, &eval->in[Q].type.shape, &eval->in[V].type.shape);
  const double given = hn_attr_float(eval->attrs, "scale"), scale = given != 0 ? given : 1 / sqrt((double)e.dk);
  const int64_t group = e.q_heads / e.kv_heads, size = e.dk * e.dv;
  double *state = eval->scratch;
  (void)window; /* every token needs those before it */
  for (int64_t row = 0; row < e.batch * e.kv_heads; ++row) {
    const int64_t b = row / e.kv_heads, head = row % e.kv_heads;
    for (int64_t i = 0; i < size; ++i)
      state[i] = hn_eval_given(eval, PAST) ? hn_real(&eval->in[PAST], row * size + i) : 0;
    for (int64_t t = 0; t < e.time && !hn_eval_stopped(eval); ++t) {
      update(eval, &e, b * e.time + t, head, state);
      for (int64_t g = 0; hn_eval_wanted(eval, 0) && g < group; ++g)
        read_out(eval, &e, b * e.time + t, head * group + g, scale, state);
    }
    for (int64_t i = 0; hn_eval_wanted(eval, 1) && i < size; ++i)
      hn_store_real(&eval->out[1], row * size + i, state[i]);
  }
  return HONE_OK;
}

static size_t scratch(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  const extents e = extents_of(NULL, attrs, &in[Q].type.shape, &in[V].type.shape);
  (void)in_count, (void)out, (void)out_count;
  return sizeof(double) * (size_t)e.dk * (size_t)e.dv;
}

static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  const extents e = extents_of(NULL, attrs, &in[Q].type.shape, &in[V].type.shape);
  const double tokens = (double)e.batch * (double)e.time, state = (double)e.dk * (double)e.dv;
  return hn_cost_work(tokens * state * (5.0 * (double)e.kv_heads + 2.0 * (double)e.q_heads), in, in_count, out,
                      out_count);
}

const hone_op hn_op_linear_attention = {
    .struct_size = sizeof(hone_op),
    .name = "linear_attention",
    .doc = "attention as a recurrence over a state",
    .in = {{"query", 't', HONE_TYPES_FLOAT, 0},
           {"key", 't', HONE_TYPES_FLOAT, 0},
           {"value", 't', HONE_TYPES_FLOAT, 0},
           {"past_state", 0, HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL},
           {"decay", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL},
           {"beta", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL}},
    .out = {{"output", 't', 0, 0}, {"present_state", 0, HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL}},
    .attr = {HONE_INT_ATTR("chunk_size", 64), HONE_NEEDED_ATTR("kv_num_heads", HONE_ATTR_INT),
             HONE_NEEDED_ATTR("q_num_heads", HONE_ATTR_INT), HONE_FLOAT_ATTR("scale", 0.0),
             HONE_STRING_ATTR("update_rule", "gated_delta")},
    .infer = infer,
    .eval = eval,
    .eval_scratch = scratch,
    .cost = cost,
    .onnx = {{.name = "LinearAttention", .first = 27, .last = HONE_LATEST}},
};
