/* SPDX-License-Identifier: Apache-2.0 */
/* common_rnn.h - the loop over directions, batches and time that lstm, gru and rnn share. */
#ifndef HN_OPS_COMMON_RNN_H
#define HN_OPS_COMMON_RNN_H

#include "ops/common_nn.h"

#define HN_RNN_ATTRS                                                                                                   \
  HONE_OPTIONAL_ATTR("activation_alpha", HONE_ATTR_FLOATS), HONE_OPTIONAL_ATTR("activation_beta", HONE_ATTR_FLOATS),   \
      HONE_OPTIONAL_ATTR("activations", HONE_ATTR_STRINGS), HONE_OPTIONAL_ATTR("clip", HONE_ATTR_FLOAT),               \
      HONE_STRING_ATTR("direction", "forward"), HONE_OPTIONAL_ATTR("hidden_size", HONE_ATTR_INT),                      \
      HONE_INT_ATTR("layout", 0)

enum { HN_RNN_MAX_ACTS = 6 };
typedef struct hn_rnn_act {
  int kind; /* as common_rnn.c numbers them */
  double alpha, beta;
} hn_rnn_act;

typedef struct hn_rnn {
  const hone_tensor *x, *w, *r, *b; /* b may be NULL */
  int64_t time, batch, input, hidden, directions, gates;
  bool batch_first, clipped;
  double clip;
  hn_rnn_act acts[HN_RNN_MAX_ACTS]; /* those of the second direction after those of the first */
} hn_rnn;

/* One step of one sequence in one direction. at: flat index of x's first element. h and c are the states, updated in
 * place; work has room for 5 * hidden doubles. */
typedef void (*hn_rnn_cell)(const hn_rnn *rnn, const hone_eval *eval, int direction, int64_t at, double *h, double *c,
                            double *work);

typedef struct hn_rnn_layer { /* a row's details */
  int gates, acts;            /* rows of w are gates * hidden; activations of one direction */
  const char *act_defaults[HN_RNN_MAX_ACTS / 2];
  hn_rnn_cell cell;
} hn_rnn_layer;

/* Input 6, when there, is initial_c and input 7 the peepholes. */
hone_status hn_infer_rnn(hone_infer *infer);
hone_status hn_eval_rnn(hone_eval *eval, const hone_window *window);
size_t hn_rnn_scratch(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count);
hone_cost hn_cost_rnn(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count);

/* Row `row` of w times the input, of r times h, and the two halves of b. */
double hn_rnn_input_dot(const hn_rnn *rnn, int direction, int64_t row, int64_t at);
double hn_rnn_state_dot(const hn_rnn *rnn, int direction, int64_t row, const double *h);
double hn_rnn_bias(const hn_rnn *rnn, int direction, int64_t row, int half);
double hn_rnn_apply(const hn_rnn *rnn, int act, double x); /* clips, then activates */

#endif
