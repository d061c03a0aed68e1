/* SPDX-License-Identifier: Apache-2.0 */
/* common_nn.h - what the neural-network rows share: shape checks in words, the fused epilogue, sliding windows, groups
 * of elements that are normalised together. */
#ifndef HN_OPS_COMMON_NN_H
#define HN_OPS_COMMON_NN_H

#include "kernels/activation.h"
#include "ops/op.h"
#include "tensor/sliding.h"

/* ---- infer ---- */
bool hn_dims_differ(int64_t a, int64_t b); /* both are numbers, and not the same */
/* Fails when the input's rank is known and outside [low, high]. */
hone_status hn_want_rank(hone_infer *infer, int input, int low, int high);
/* Fails when the input's dim and `want` are known and differ; what: "the channels of x". Absent inputs pass. */
hone_status hn_want_dim(hone_infer *infer, int input, int axis, int64_t want, const char *what);
hone_status hn_want_int(hone_infer *infer, const char *attr, int64_t low,
                        int64_t high); /* attr's range, both ends included */
hone_status hn_want_text(hone_infer *infer, const char *attr, const char *allowed); /* allowed: words between spaces */
bool hn_word_in(const char *word, const char *words);

/* ---- eval ---- */
/* First call of an eval whose indexing relies on how its inputs' shapes fit together: runs infer again on the actual
 * shapes, since symbolic dims could not be compared before, and makes outputs that have no memory yet. */
hone_status hn_eval_begin(hone_eval *eval);
bool hn_eval_wanted(const hone_eval *eval, int output); /* an optional output that somebody reads */
/* [*first, *last) when all outputs have the shape of output 0 and are computed together. */
void hn_window_joint(const hone_eval *eval, const hone_window *window, int64_t *first, int64_t *last);

hone_cost hn_cost_work(double flops, const hone_fact *in, int in_count, const hone_fact *out, int out_count);
/* A fast Fourier transform: 5 n log2(n), with 10 for log2. */
hone_cost hn_cost_transform(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out,
                            int out_count);

/* ---- the fused epilogue: act, act_alpha, act_beta (src/ops/common_epilogue.c, src/kernels/activations.inc) ---- */
#define HN_EPILOGUE_ATTRS                                                                                              \
  HONE_STRING_ATTR("act", ""), HONE_FLOAT_ATTR("act_alpha", 0.0), HONE_FLOAT_ATTR("act_beta", 0.0)
typedef struct hn_epilogue {
  hn_activation activation;
  double alpha, beta;
  const hone_tensor *slope; /* eval: for prelu an alpha for each channel, else NULL */
} hn_epilogue;
/* slope: the port of prelu's slopes, [channels]; -1 for ops that have none, whose act cannot be prelu. */
hone_status hn_epilogue_infer(hone_infer *infer, int slope);
hone_status hn_epilogue_read(const hone_eval *eval, int slope, hn_epilogue *out);
double hn_epilogue_apply(const hn_epilogue *epilogue, double x, int64_t channel);

/* ---- sliding windows (src/ops/common_sliding.c) ---- */
#define HN_SLIDING_ATTRS                                                                                               \
  HONE_STRING_ATTR("auto_pad", "NOTSET"), HONE_OPTIONAL_ATTR("dilations", HONE_ATTR_INTS),                             \
      HONE_OPTIONAL_ATTR("pads", HONE_ATTR_INTS), HONE_OPTIONAL_ATTR("strides", HONE_ATTR_INTS)
/* The kernel's extents: of the weights in input `weights` (dims 2...), or -1 for the attribute kernel_shape alone. Both
 * are compared when both are given. false in *out_known: they are known only after running. */
hone_status hn_sliding_kernel(hone_infer *infer, int spatial, int weights, int64_t *out_kernel, bool *out_known);
/* infer of a pooling row: every output is [N, C, out...]. */
hone_status hn_infer_pool(hone_infer *infer);
/* infer of a convolution row: output 0 is [N, M, out...]; checks weights, groups and bias (-1: no such input). */
hone_status hn_infer_conv(hone_infer *infer, int x, int weights, int bias);
/* The geometry of one evaluation. kernel: the weights' shape, NULL to read kernel_shape. */
hone_status hn_eval_sliding(const hone_eval *eval, const hone_tensor *x, const hone_shape *weights, hn_sliding *out);
int64_t hn_sliding_taps(const hn_sliding *sliding);    /* product of the kernel's extents */
int64_t hn_sliding_in_size(const hn_sliding *sliding); /* product of the input's extents */
typedef enum hn_tap { HN_TAP_INSIDE, HN_TAP_ON_PAD, HN_TAP_BEYOND } hn_tap;
/* Where tap number `tap` of the window at out_at lies: *out_offset is flat in the input's spatial plane when INSIDE.
 * BEYOND: further out than the pads, as ceil_mode's last window may reach. */
hn_tap hn_sliding_tap(const hn_sliding *sliding, const int64_t *out_at, int64_t tap, int64_t *out_offset);
/* The taps of a window that lie inside the input, in order: what the pads hold is never walked through. */
typedef struct hn_window_taps {
  const hn_sliding *sliding;
  int64_t begin[HN_MAX_SPATIAL], end[HN_MAX_SPATIAL], at[HN_MAX_SPATIAL]; /* in the input */
  int64_t inside;
  double padded; /* taps inside or on pads */
} hn_window_taps;
bool hn_window_taps_begin(hn_window_taps *taps, const hn_sliding *sliding, const int64_t *out_at, int64_t *out_offset);
bool hn_window_taps_next(hn_window_taps *taps, int64_t *out_offset); /* false: there is none left */
/* eval of a pooling row: each output element is the fold of one window, or of a whole plane: `count` elements of x from
 * `first` on. */
typedef struct hn_pool_window {
  const hone_tensor *x;
  const hn_sliding *sliding;
  const int64_t *at; /* the window, for hn_window_taps_begin */
  int64_t base;      /* where its plane begins in x */
} hn_pool_window;
typedef struct hn_pooling { /* a row's details: one of both folds */
  double (*window)(const hn_pool_window *window, int64_t parameter);
  double (*plane)(const hone_eval *eval, const hone_tensor *x, int64_t first, int64_t count, int64_t parameter);
  const char *parameter; /* the attribute that the fold gets; NULL: 0 */
} hn_pooling;
hone_status hn_eval_pool(hone_eval *eval, const hone_window *window);
hone_status hn_eval_global_pool(hone_eval *eval, const hone_window *window);
/* Reduces each spatial plane of x: infer ([N, C, 1...]) and cost of the global pools. */
hone_status hn_infer_global_pool(hone_infer *infer);
hone_cost hn_cost_pool(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count);
hone_cost hn_cost_conv(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count);

/* ---- softmax (src/ops/common_softmax.c); details: bool, its logarithm? ---- */
hone_status hn_eval_softmax(hone_eval *eval, const hone_window *window);
hone_cost hn_cost_softmax(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out,
                          int out_count);

/* ---- losses over classes along axis 1 (src/ops/common_loss.c) ---- */
#define HN_LOSS_ATTRS HONE_OPTIONAL_ATTR("ignore_index", HONE_ATTR_INT), HONE_STRING_ATTR("reduction", "mean")
typedef struct hn_loss { /* a row's details */
  /* The logarithm of the probability of class `target` at a place: first is the flat index of class 0, step the
   * distance between classes. */
  double (*log_probability)(const hone_tensor *scores, int64_t first, int64_t step, int64_t classes, int64_t target);
} hn_loss;
/* Inputs: scores [N, C, d...], targets [N, d...], weights [C]. Output 1, when there, has the scores' shape. */
hone_status hn_infer_loss(hone_infer *infer);
hone_status hn_eval_loss(hone_eval *eval, const hone_window *window); /* output 0 */

/* ---- sums over so many elements that they may have to end early ---- */
double hn_eval_dot(const hone_eval *eval, const hone_tensor *a, int64_t a_at, int64_t a_step, const hone_tensor *b,
                   int64_t b_at, int64_t b_step, int64_t count); /* hn_dot from 0 */

typedef struct hn_moments {
  double mean, variance; /* of the population */
} hn_moments;
/* Over `count` elements from `first` on, `step` apart; two passes. Of none they are NaN. */
hn_moments hn_moments_of(const hone_eval *eval, const hone_tensor *x, int64_t first, int64_t count, int64_t step);
/* Ten flops an element: what a normalisation costs, to the precision that a choice needs. */
hone_cost hn_cost_norm(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count);

#endif
