/* SPDX-License-Identifier: Apache-2.0 */
/* batch_norm.c - (x - mean) / sqrt(var + epsilon) * scale + b for each channel. Source: ONNX operator
 * BatchNormalization; in training mode the moments are the batch's own and the running ones are updated. */
#include "ops/common_nn.h"
#include <math.h>

static hone_status infer(hone_infer *infer) {
  HN_TRY(hn_want_rank(infer, 0, 1, HONE_MAX_RANK));
  const hone_shape *x = hn_in_shape(infer, 0);
  const int64_t channels = x->rank > 1 ? x->dim[1] : x->rank == 1 ? 1 : HONE_SYMBOL_BASE;
  for (int i = 1; i < 5; ++i) {
    HN_TRY(hn_want_rank(infer, i, 1, 1));
    HN_TRY(hn_want_dim(infer, i, 0, channels, "the number of x's channels"));
  }
  hn_out_shape(infer, 0, x->rank, x->dim);
  for (int i = 1; i < infer->out_count; ++i) {
    const hone_shape *mean = hn_in_shape(infer, i < 3 ? 2 + i : 3);
    hn_out_shape(infer, i, mean->rank, mean->dim);
  }
  return HONE_OK;
}

/* Moments over all elements of one channel of [n, channels, size]. */
static hn_moments batch_moments(const hone_tensor *x, int64_t n, int64_t channels, int64_t size, int64_t channel) {
  double sum = 0, square = 0;
  const double count = (double)n * (double)size;
  if (count <= 0) return (hn_moments){NAN, NAN}; /* as the mean of nothing is */
  for (int64_t b = 0; b < n; ++b)
    for (int64_t i = 0; i < size; ++i) sum += hn_real(x, (b * channels + channel) * size + i);
  for (int64_t b = 0; b < n; ++b)
    for (int64_t i = 0; i < size; ++i) {
      const double difference = hn_real(x, (b * channels + channel) * size + i) - sum / count;
      square += difference * difference;
    }
  return (hn_moments){sum / count, square / count};
}

/* Inference keeps the running moments as they are. */
static void store_running(hone_eval *eval, int64_t channel, hn_moments used, bool training) {
  const double keep = training ? hn_attr_float(eval->attrs, "momentum") : 1;
  const double mean = hn_real(&eval->in[3], channel), variance = hn_real(&eval->in[4], channel);
  if (hn_eval_wanted(eval, 1)) hn_store_real(&eval->out[1], channel, mean * keep + used.mean * (1 - keep));
  if (hn_eval_wanted(eval, 2)) hn_store_real(&eval->out[2], channel, variance * keep + used.variance * (1 - keep));
  if (hn_eval_wanted(eval, 3)) hn_store_real(&eval->out[3], channel, used.mean);
  if (hn_eval_wanted(eval, 4)) hn_store_real(&eval->out[4], channel, used.variance);
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const hone_tensor *x = &eval->in[0];
  const bool training = hn_attr_int(eval->attrs, "training_mode") != 0;
  const double epsilon = hn_attr_float(eval->attrs, "epsilon");
  const int64_t total = hn_elems(&x->type.shape), n = x->type.shape.dim[0];
  const int64_t channels = x->type.shape.rank > 1 ? hn_eval_dim(x, 1) : 1;
  const int64_t size = total ? total / n / channels : 0; /* the running moments are there also for no elements */
  int64_t first, last;
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t c = 0; c < channels; ++c) {
    hn_moments used = {hn_real(&eval->in[3], c), hn_real(&eval->in[4], c)};
    if (training) used = batch_moments(x, n, channels, size, c);
    store_running(eval, c, used, training);
    const double scale = hn_real(&eval->in[1], c) / sqrt(used.variance + epsilon), b = hn_real(&eval->in[2], c);
    for (int64_t row = c; row < n * channels; row += channels) {
      const int64_t begin = row * size > first ? row * size : first;
      const int64_t end = (row + 1) * size < last ? (row + 1) * size : last;
      for (int64_t at = begin; at < end; ++at)
        hn_store_real(&eval->out[0], at, (hn_real(x, at) - used.mean) * scale + b);
    }
  }
  return HONE_OK;
}

const hone_op hn_op_batch_norm = {
    .struct_size = sizeof(hone_op),
    .name = "batch_norm",
    .doc = "normalises each channel by given or batch moments",
    .in = {{"x", 't', HONE_TYPES_FLOAT, 0},
           {"scale", 's', HONE_TYPES_FLOAT, HONE_PORT_PARAM},
           {"b", 's', HONE_TYPES_FLOAT, HONE_PORT_PARAM},
           {"input_mean", 'm', HONE_TYPES_FLOAT, HONE_PORT_PARAM},
           {"input_var", 'm', HONE_TYPES_FLOAT, HONE_PORT_PARAM}},
    .out = {{"y", 't', 0, 0},
            {"running_mean", 'm', 0, HONE_PORT_OPTIONAL},
            {"running_var", 'm', 0, HONE_PORT_OPTIONAL},
            {"saved_mean", 'm', 0, HONE_PORT_OPTIONAL},
            {"saved_var", 'm', 0, HONE_PORT_OPTIONAL}},
    .attr = {HONE_FLOAT_ATTR("epsilon", 1e-5f), HONE_FLOAT_ATTR("momentum", 0.9f), HONE_INT_ATTR("training_mode", 0)},
    .traits = HONE_WINDOWED | HONE_PER_CHANNEL,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_norm,
    .report_class = "Normalization",
    .onnx = {{.name = "BatchNormalization", .first = 9, .last = HONE_LATEST},
             {.name = "BatchNormalization",
              .first = 1,
              .last = 8,
              .drop = "consumed_inputs is_test spatial",
              .adapt = "legacy_batch_norm"}},
};
