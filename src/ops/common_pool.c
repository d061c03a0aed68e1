/* SPDX-License-Identifier: Apache-2.0 */
/* common_pool.c - walking the windows of a pooling, or a tensor's whole planes. */
#include "ops/common_nn.h"

static int64_t parameter_of(const hone_eval *eval) {
  const hn_pooling *pooling = eval->op->details;
  return pooling->parameter ? hn_attr_int(eval->attrs, pooling->parameter) : 0;
}

hone_status hn_eval_pool(hone_eval *eval, const hone_window *window) {
  const hn_pooling *pooling = eval->op->details;
  HN_TRY(hn_eval_begin(eval));
  const hone_tensor *x = &eval->in[0];
  hn_sliding sliding;
  HN_TRY(hn_eval_sliding(eval, x, NULL, &sliding));
  const int64_t plane = hn_sliding_in_size(&sliding), channels = hn_eval_dim(x, 1);
  const int64_t parameter = parameter_of(eval);
  int64_t first, last, at[HONE_MAX_RANK];
  hn_pool_window under = {.x = x, .sliding = &sliding, .at = at + 2};
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t flat = first; flat < last; ++flat) {
    hn_unflatten(&eval->out[0].type.shape, flat, at);
    under.base = (at[0] * channels + at[1]) * plane;
    hn_store_real(&eval->out[0], flat, pooling->window(&under, parameter));
  }
  return HONE_OK;
}

hone_status hn_eval_global_pool(hone_eval *eval, const hone_window *window) {
  const hn_pooling *pooling = eval->op->details;
  HN_TRY(hn_eval_begin(eval));
  const hone_tensor *x = &eval->in[0];
  const int64_t planes = hn_elems(&eval->out[0].type.shape), size = planes ? hn_elems(&x->type.shape) / planes : 0;
  const int64_t parameter = parameter_of(eval);
  int64_t first, last;
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t flat = first; flat < last; ++flat)
    hn_store_real(&eval->out[0], flat, pooling->plane(eval, x, flat * size, size, parameter));
  return HONE_OK;
}
