/* SPDX-License-Identifier: Apache-2.0 */
/* mean.c - the mean of any number of tensors, broadcast together. Summed in double, in the order of the inputs. */
#include "ops/common_elementwise.h"

static hone_status eval(hone_eval *eval, const hone_window *window) {
  const hone_shape *shape = &eval->out[0].type.shape;
  int64_t first, last;
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t at = first; at < last; ++at) {
    int64_t index[HONE_MAX_RANK], strides[HONE_MAX_RANK];
    hn_unflatten(shape, at, index);
    double sum = 0;
    for (int i = 0; i < eval->in_count; ++i) {
      hn_broadcast_strides(&eval->in[i].type.shape, shape, strides);
      sum += hn_real(&eval->in[i], hn_flatten(shape->rank, index, strides));
    }
    hn_store_real(&eval->out[0], at, sum / eval->in_count);
  }
  return HONE_OK;
}

const hone_op hn_op_mean = {
    .struct_size = sizeof(hone_op),
    .name = "mean",
    .doc = "elementwise mean of any number of tensors",
    .in = {{"data_0", 'T', HONE_TYPES_FLOAT, HONE_PORT_VARIADIC}},
    .out = {{"mean", 'T'}},
    .traits = HONE_WINDOWED,
    .infer = hn_infer_broadcast_given,
    .eval = eval,
    .cost = hn_cost_elementwise,
    .onnx = {{"Mean", 1, HONE_LATEST, .drop = "consumed_inputs"}},
};
