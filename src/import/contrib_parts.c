/* SPDX-License-Identifier: Apache-2.0 */
/* contrib_parts.c - operators of ONNX Runtime's domain that are a few of ONNX's: softmax with a bias or of bytes, means
 * of bytes, Fourier transforms of reals, pooling with channels last. Source: the operator schemas of com.microsoft,
 * version 1. */
#include "import/ml.h"
#include "tensor/shape.h"

/* ---- softmax ---- */

/* Over all axes from `axis` on together, as ONNX had it before opset 13. */
static hone_status softmax_from(hn_import_call *call, int64_t axis, hn_value **x) {
  const int rank = (*x)->fact.type.shape.rank;
  hone_attr at = {.name = "axis", .kind = HONE_ATTR_INT, .i = axis};
  if (rank < 0 || axis < -rank || axis >= rank) return hn_contrib_refuse(call, "its axis is none of a known rank");
  if (axis == rank - 1 || axis == -1) return hn_import_make(call, "softmax", 1, x, 1, &at, x);
  hn_value *in[2], *shape;
  HN_TRY(hn_import_make(call, "shape", 1, x, 0, NULL, &shape));
  HN_TRY(hn_import_make(call, "flatten", 1, x, 1, &at, &in[0]));
  at.i = 1;
  HN_TRY(hn_import_make(call, "softmax", 1, in, 1, &at, &in[0]));
  in[1] = shape;
  return hn_import_make(call, "reshape", 2, in, 0, NULL, x);
}

/* The bias has the axes of data with 1 where it is spread, or lacks the first ones, which ONNX's rule spreads it over;
 * lacking those in front of `axis` is what is_inner_broadcast is for. */
static hone_status bias_softmax(hn_import_call *call) {
  const int64_t axis = hn_contrib_take_int(call, "axis", 1);
  const bool is_inner = hn_contrib_take_int(call, "is_inner_broadcast", 1) != 0;
  HN_TRY(hn_contrib_want(call, 2));
  hn_value *x = call->in[0];
  if (is_inner && call->in[1]->fact.type.shape.rank != x->fact.type.shape.rank)
    return hn_contrib_refuse(call, "its bias is spread over axes in the middle that it does not have");
  HN_TRY(hn_ml_join(call, "add", &x, call->in[1]));
  HN_TRY(softmax_from(call, axis, &x));
  return hn_import_finish(call, x);
}

/* x, its scale and zero point, those of the result. */
enum { X, X_SCALE, X_ZERO, Y_SCALE, Y_ZERO };

static hone_status open_bytes(hn_import_call *call, hn_value **out) {
  hn_value *in[3] = {hn_contrib_input(call, X), hn_contrib_input(call, X_SCALE), hn_contrib_input(call, X_ZERO)};
  if (!in[0] || !in[1] || !hn_contrib_input(call, Y_SCALE))
    return HN_FAIL(call->importer->diag, HONE_MALFORMED, "its input or a scale is missing");
  return hn_import_make(call, "dequantize_linear", in[2] ? 3 : 2, in, 0, NULL, out);
}

static hone_status close_bytes(hn_import_call *call, hn_value *x) {
  hn_value *in[3] = {x, call->in[Y_SCALE], hn_contrib_input(call, Y_ZERO)}, *y;
  if (!in[2]) in[2] = hn_constant_scalar(call->importer->graph, call->in[X]->fact.type.dtype, 0);
  if (!in[2]) return HONE_NO_MEMORY;
  HN_TRY(hn_import_make(call, "quantize_linear", 3, in, 0, NULL, &y));
  return hn_import_finish(call, y);
}

static hone_status qlinear_softmax(hn_import_call *call) {
  enum { ALONG_ONE = 13 }; /* the opset from which softmax is along one axis */
  const int64_t opset = hn_contrib_take_int(call, "opset", ALONG_ONE);
  const hone_attr axis = {
      .name = "axis", .kind = HONE_ATTR_INT, .i = hn_contrib_take_int(call, "axis", opset < ALONG_ONE ? 1 : -1)};
  hn_value *x;
  HN_TRY(open_bytes(call, &x));
  if (opset < ALONG_ONE)
    HN_TRY(softmax_from(call, axis.i, &x));
  else
    HN_TRY(hn_import_make(call, "softmax", 1, &x, 1, &axis, &x));
  return close_bytes(call, x);
}

static hone_status qlinear_reduce_mean(hn_import_call *call) {
  const hn_ml_ints axes = hn_ml_take_ints(call, "axes");
  const hone_attr keepdims = {.name = "keepdims", .kind = HONE_ATTR_INT, .i = hn_contrib_take_int(call, "keepdims", 1)};
  hn_value *in[2], *y;
  HN_TRY(open_bytes(call, &in[0]));
  in[1] = axes.count ? hn_constant_int(call->importer->graph, NULL, 1, axes.count, axes.items) : NULL;
  if (axes.count && !in[1]) return HONE_NO_MEMORY;
  HN_TRY(hn_import_make(call, "reduce_mean", in[1] ? 2 : 1, in, 1, &keepdims, &y));
  return close_bytes(call, y);
}

/* ---- Fourier transforms ---- */

/* Rfft: reals along the last axis to pairs of parts; Irfft the way back, over n. */
static hone_status real_fourier(hn_import_call *call) {
  const bool is_back = hn_name_equal(call->node->op_type, "Irfft");
  const hone_attr attrs[3] = {{.name = "default_axis", .kind = HONE_ATTR_INT, .i = -2},
                              {.name = "onesided", .kind = HONE_ATTR_INT, .i = 1},
                              {.name = "inverse", .kind = HONE_ATTR_INT, .i = is_back}};
  const int64_t last = -1;
  if (hn_contrib_take_int(call, "signal_ndim", 1) != 1)
    return hn_contrib_refuse(call, "it transforms along several axes");
  if (hn_contrib_take_int(call, "normalized", 0) != 0) return hn_contrib_refuse(call, "it is normalised");
  if (hn_contrib_take_int(call, "onesided", 1) != 1) return hn_contrib_refuse(call, "it is two-sided");
  HN_TRY(hn_contrib_want(call, 1));
  hn_value *x = call->in[0], *axis = hn_constant_int(call->importer->graph, NULL, 1, 1, &last);
  if (!axis) return HONE_NO_MEMORY;
  if (!is_back) HN_TRY(hn_ml_join(call, "unsqueeze", &x, axis));
  HN_TRY(hn_import_make(call, "dft", 1, &x, 3, attrs, &x));
  if (is_back) HN_TRY(hn_ml_join(call, "squeeze", &x, axis));
  return hn_import_finish(call, x);
}

/* Of arrays of pairs: (a + bi)(c + di), or (a + bi)(c - di). */
static hone_status complex_mul(hn_import_call *call) {
  const bool is_conjugate = hn_name_equal(call->node->op_type, "ComplexMulConj");
  const hone_attr last = {.name = "axis", .kind = HONE_ATTR_INT, .i = -1};
  HN_TRY(hn_contrib_want(call, 2));
  hn_value *part[2][2], *y[2];
  for (int i = 0; i < 2; ++i)
    for (int64_t k = 0; k < 2; ++k) { /* a slice keeps the axis, on which the parts are joined again */
      const int64_t end = k + 1, axis = -1;
      hn_value *in[4] = {call->in[i], hn_constant_int(call->importer->graph, NULL, 1, 1, &k),
                         hn_constant_int(call->importer->graph, NULL, 1, 1, &end),
                         hn_constant_int(call->importer->graph, NULL, 1, 1, &axis)};
      if (!in[1] || !in[2] || !in[3]) return HONE_NO_MEMORY;
      HN_TRY(hn_import_make(call, "slice", 4, in, 0, NULL, &part[i][k]));
    }
  for (int k = 0; k < 2; ++k) { /* ac - bd and bc + ad, or with d's other sign */
    hn_value *first = part[0][k], *second = part[0][1 - k];
    HN_TRY(hn_ml_join(call, "mul", &first, part[1][0]));
    HN_TRY(hn_ml_join(call, "mul", &second, part[1][1]));
    HN_TRY(hn_ml_join(call, (k == 0) != is_conjugate ? "sub" : "add", &first, second));
    y[k] = first;
  }
  HN_TRY(hn_import_make(call, "concat", 2, y, 1, &last, &call->out[0]));
  call->done = true;
  return HONE_OK;
}

/* ---- others ---- */

static hone_status pool_last(hn_import_call *call) {
  HN_TRY(hn_contrib_want(call, 1));
  hn_value *x = call->in[0];
  if (x->fact.type.shape.rank != 4) return hn_contrib_refuse(call, "its input is not of rank 4");
  HN_TRY(hn_contrib_move_channels(call, true, &x));
  HN_TRY(hn_import_make(call, "max_pool", 1, &x, call->attr_count, call->attrs, &x));
  HN_TRY(hn_contrib_move_channels(call, false, &x));
  return hn_import_finish(call, x);
}

static hone_status expand_dims(hn_import_call *call) {
  HN_TRY(hn_contrib_want(call, 2));
  const hone_fact *axis = &call->in[1]->fact;
  if (!axis->value || axis->value_count != 1) return hn_contrib_refuse(call, "its axis is not a known number");
  hn_value *axes = hn_constant_int(call->importer->graph, NULL, 1, 1, axis->value);
  return axes ? hn_import_set_input(call, 1, axes) : HONE_NO_MEMORY;
}

const hn_adapter hn_contrib_part_adapters[] = {{"ort_bias_softmax", "is_inner_broadcast", bias_softmax},
                                               {"ort_complex_mul", "", complex_mul},
                                               {"ort_expand_dims", "", expand_dims},
                                               {"ort_pool_last", "", pool_last},
                                               {"ort_qlinear_reduce_mean", "axes", qlinear_reduce_mean},
                                               {"ort_qlinear_softmax", "opset", qlinear_softmax},
                                               {"ort_real_fourier", "normalized signal_ndim", real_fourier},
                                               {0}};
