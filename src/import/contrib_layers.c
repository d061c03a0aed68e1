/* SPDX-License-Identifier: Apache-2.0 */
/* contrib_layers.c - layers that ONNX Runtime's optimiser joins from several operators, back into those: embeddings of
 * transformers, biases with what follows them, groups that are normalised with their channels last, distances,
 * recurrent layers with weights of bytes. Source: the operator schemas of com.microsoft, version 1. */
#include "import/ml.h"
#include "tensor/shape.h"

static hn_value *one_int(hn_import_call *call, int64_t item) {
  return hn_constant_int(call->importer->graph, NULL, 1, 1, &item);
}

static bool is_wanted(const hn_import_call *call, int output) {
  return output < call->out_count && *call->out_names[output];
}

/* ---- embeddings ---- */

/* As many of the mask's numbers as are 1, for each row; without a mask 0. */
static hone_status count_ones(hn_import_call *call, hn_value *ids, hn_value *mask, hn_value **out) {
  const hone_attr flat = {.name = "keepdims", .kind = HONE_ATTR_INT, .i = 0};
  const hone_attr to = {.name = "to", .kind = HONE_ATTR_INT, .i = 6}; /* i32 */
  hn_value *in[2] = {mask ? mask : ids, one_int(call, 1)};
  if (!in[1]) return HONE_NO_MEMORY;
  if (mask)
    HN_TRY(hn_ml_join(call, "equal", &in[0], hn_constant_scalar(call->importer->graph, mask->fact.type.dtype, 1)));
  else
    HN_TRY(hn_ml_join(call, "sub", &in[0], ids));
  HN_TRY(hn_import_make(call, "cast", 1, in, 1, &to, &in[0]));
  return hn_import_make(call, "reduce_sum", 2, in, 1, &flat, out);
}

/* Rows of the table of places: those that are named, or the first ones. */
static hone_status places(hn_import_call *call, hn_value *ids, hn_value *table, hn_value *numbers, hn_value **out) {
  const hone_attr range[2] = {{.name = "start", .kind = HONE_ATTR_INT, .i = 1},
                              {.name = "end", .kind = HONE_ATTR_INT, .i = 2}};
  *out = table;
  if (numbers) return hn_ml_join(call, "gather", out, numbers);
  hn_value *in[4] = {table, one_int(call, 0), NULL, one_int(call, 0)};
  HN_TRY(hn_import_make(call, "shape", 1, &ids, 2, range, &in[2]));
  return in[1] && in[3] ? hn_import_make(call, "slice", 4, in, 0, NULL, out) : HONE_NO_MEMORY;
}

hone_status hn_contrib_embed_layer_norm(hn_import_call *call) {
  enum { IDS, SEGMENTS, WORDS, PLACES, SEGMENT_TABLE, GAMMA, BETA, MASK, NUMBERS };
  hone_attr epsilon = {.name = "epsilon", .kind = HONE_ATTR_FLOAT, .f = 1e-12}, given;
  if (hn_import_take_attr(call, "epsilon", &given) && given.kind == HONE_ATTR_FLOAT) epsilon.f = given.f;
  (void)hn_contrib_take_int(call, "mask_index_type", 0);
  static const int needed[] = {IDS, WORDS, PLACES, GAMMA, BETA};
  for (size_t i = 0; i < HN_COUNT(needed); ++i)
    if (!hn_contrib_input(call, needed[i]))
      return HN_FAIL(call->importer->diag, HONE_MALFORMED, "input %d is missing", needed[i]);
  hn_value *ids = call->in[IDS], *sum = call->in[WORDS], *place, *y;
  HN_TRY(hn_ml_join(call, "gather", &sum, ids));
  HN_TRY(places(call, ids, call->in[PLACES], hn_contrib_input(call, NUMBERS), &place));
  HN_TRY(hn_ml_join(call, "add", &sum, place));
  if (hn_contrib_input(call, SEGMENTS) && hn_contrib_input(call, SEGMENT_TABLE)) {
    hn_value *segment = call->in[SEGMENT_TABLE];
    HN_TRY(hn_ml_join(call, "gather", &segment, call->in[SEGMENTS]));
    HN_TRY(hn_ml_join(call, "add", &sum, segment));
  }
  hn_value *in[3] = {sum, call->in[GAMMA], call->in[BETA]};
  HN_TRY(hn_import_make(call, "layer_norm", 3, in, 1, &epsilon, &y));
  if (is_wanted(call, 1)) HN_TRY(count_ones(call, ids, hn_contrib_input(call, MASK), &call->out[1]));
  if (is_wanted(call, 2)) call->out[2] = sum;
  return hn_import_finish(call, y);
}

/* ---- biases ---- */

static hone_status bias_add(hn_import_call *call) {
  HN_TRY(hn_contrib_want(call, 3));
  hn_value *y = call->in[0];
  HN_TRY(hn_ml_join(call, "add", &y, call->in[1]));
  HN_TRY(hn_ml_join(call, "add", &y, call->in[2]));
  return hn_import_finish(call, y);
}

/* The left half times the gelu of the right one. */
static hone_status bias_split_gelu(hn_import_call *call) {
  const hone_attr last = {.name = "axis", .kind = HONE_ATTR_INT, .i = -1};
  HN_TRY(hn_contrib_want(call, 2));
  hn_value *y = call->in[0], *half[2];
  HN_TRY(hn_ml_join(call, "add", &y, call->in[1]));
  const hone_shape *shape = &y->fact.type.shape;
  const int64_t width = shape->rank > 0 ? shape->dim[shape->rank - 1] : HONE_SYMBOL_BASE;
  if (HONE_SYMBOLIC(width) || width % 2)
    return hn_contrib_refuse(call, "its last axis has no two halves of known width");
  for (int64_t i = 0; i < 2; ++i) {
    hn_value *in[4] = {y, one_int(call, i * width / 2), one_int(call, (i + 1) * width / 2), one_int(call, last.i)};
    if (!in[1] || !in[2] || !in[3]) return HONE_NO_MEMORY;
    HN_TRY(hn_import_make(call, "slice", 4, in, 0, NULL, &half[i]));
  }
  HN_TRY(hn_ml_apply(call, "gelu", &half[1]));
  HN_TRY(hn_ml_join(call, "mul", &half[0], half[1]));
  return hn_import_finish(call, half[0]);
}

static hone_status gemm_fast_gelu(hn_import_call *call) {
  HN_TRY(hn_contrib_want(call, 2));
  hn_value *y = call->in[0];
  HN_TRY(hn_ml_join(call, "matmul", &y, call->in[1]));
  if (hn_contrib_input(call, 2)) HN_TRY(hn_ml_join(call, "add", &y, call->in[2]));
  HN_TRY(hn_ml_apply(call, "gelu_tanh", &y));
  return hn_import_finish(call, y);
}

/* ---- groups of channels that come last ---- */

hone_status hn_contrib_move_channels(hn_import_call *call, bool to_front, hn_value **x) {
  static const int64_t front[4] = {0, 3, 1, 2}, back[4] = {0, 2, 3, 1};
  const hone_attr perm = {.name = "perm", .kind = HONE_ATTR_INTS, .count = 4, .ints = to_front ? front : back};
  return hn_import_make(call, "transpose", 1, x, 1, &perm, x);
}

/* GroupNorm: x, gamma, beta; SkipGroupNorm: skip and a bias behind them, and the sum as output 1. */
static hone_status group_norm(hn_import_call *call) {
  enum { X, GAMMA, BETA, SKIP, BIAS };
  const bool is_skip = hn_name_equal(call->node->op_type, "SkipGroupNorm");
  const bool moves = hn_contrib_take_int(call, "channels_last", 1) != 0;
  const bool is_swish = hn_contrib_take_int(call, "activation", 0) != 0;
  hone_attr attrs[2] = {{.name = "epsilon", .kind = HONE_ATTR_FLOAT, .f = 1e-5}, {0}}, given;
  if (hn_import_take_attr(call, "epsilon", &given) && given.kind == HONE_ATTR_FLOAT) attrs[0].f = given.f;
  attrs[1] = (hone_attr){.name = "num_groups", .kind = HONE_ATTR_INT, .i = hn_contrib_take_int(call, "groups", 0)};
  HN_TRY(hn_contrib_want(call, is_skip ? 4 : 3));
  hn_value *x = call->in[X];
  if (is_skip) {
    const hone_shape *skip = &call->in[SKIP]->fact.type.shape;
    if (skip->rank != 4) return hn_contrib_refuse(call, "what is skipped is not of rank 4");
    if (hn_contrib_input(call, BIAS)) HN_TRY(hn_ml_join(call, "add", &x, call->in[BIAS]));
    HN_TRY(hn_ml_join(call, "add", &x, call->in[SKIP]));
    if (is_wanted(call, 1)) call->out[1] = x;
  }
  if (x->fact.type.shape.rank != 4) return hn_contrib_refuse(call, "its input is not of rank 4");
  if (moves) HN_TRY(hn_contrib_move_channels(call, true, &x));
  hn_value *in[3] = {x, call->in[GAMMA], call->in[BETA]};
  HN_TRY(hn_import_make(call, "group_norm", 3, in, 2, attrs, &x));
  if (moves) HN_TRY(hn_contrib_move_channels(call, false, &x));
  if (is_swish) HN_TRY(hn_ml_apply(call, "swish", &x));
  return hn_import_finish(call, x);
}

/* ---- others ---- */

/* |a|^2 - 2 a.b + |b|^2 of all rows of a and b, or its root. */
static hone_status distances(hn_import_call *call) {
  static const int64_t swapped[2] = {1, 0};
  const hone_attr perm = {.name = "perm", .kind = HONE_ATTR_INTS, .count = 2, .ints = swapped};
  hone_attr metric;
  const bool is_given = hn_import_take_attr(call, "metric", &metric) && metric.kind == HONE_ATTR_STRING;
  const bool is_square = !is_given || hn_name_equal(metric.s, "sqeuclidean");
  if (!is_square && !hn_name_equal(metric.s, "euclidean"))
    return hn_contrib_refuse(call, "its metric is not Euclidean");
  HN_TRY(hn_contrib_want(call, 2));
  const hone_dtype dtype = call->in[0]->fact.type.dtype;
  hn_value *squares[2] = {NULL, NULL}, *turned, *y = call->in[0];
  for (int i = 0; i < 2; ++i) {
    hn_value *in[2] = {call->in[i], one_int(call, 1)};
    if (!in[1]) return HONE_NO_MEMORY;
    if (in[0]->fact.type.shape.rank != 2) return hn_contrib_refuse(call, "its inputs are not matrices");
    HN_TRY(hn_import_make(call, "reduce_sum_square", 2, in, 0, NULL, &squares[i]));
  }
  HN_TRY(hn_import_make(call, "transpose", 1, &call->in[1], 1, &perm, &turned));
  HN_TRY(hn_import_make(call, "transpose", 1, &squares[1], 1, &perm, &squares[1]));
  HN_TRY(hn_ml_join(call, "matmul", &y, turned));
  HN_TRY(hn_ml_join(call, "mul", &y, hn_constant_scalar(call->importer->graph, dtype, -2)));
  HN_TRY(hn_ml_join(call, "add", &y, squares[0]));
  HN_TRY(hn_ml_join(call, "add", &y, squares[1]));
  HN_TRY(hn_ml_join(call, "max", &y, hn_constant_scalar(call->importer->graph, dtype, 0)));
  if (!is_square) HN_TRY(hn_ml_apply(call, "sqrt", &y));
  return hn_import_finish(call, y);
}

/* QLinearWhere: condition, both sides with scale and zero point, those of the result. */
static hone_status qlinear_where(hn_import_call *call) {
  enum { CONDITION, X, Y = 4, Z_SCALE = 7, Z_ZERO, INPUTS, EACH = 3 };
  HN_TRY(hn_contrib_want(call, INPUTS));
  hn_value *in[3] = {call->in[CONDITION]}, *y;
  HN_TRY(hn_import_make(call, "dequantize_linear", EACH, call->in + X, 0, NULL, &in[1]));
  HN_TRY(hn_import_make(call, "dequantize_linear", EACH, call->in + Y, 0, NULL, &in[2]));
  HN_TRY(hn_import_make(call, "where", 3, in, 0, NULL, &y));
  hn_value *rounded[3] = {y, call->in[Z_SCALE], call->in[Z_ZERO]};
  HN_TRY(hn_import_make(call, "quantize_linear", 3, rounded, 0, NULL, &y));
  return hn_import_finish(call, y);
}

/* ---- recurrent ---- */

/* One number a direction, or one a direction and column: in front of [direction, row, column]. */
static hone_status spread(hn_import_call *call, hn_value **factor) {
  static const int64_t rows[2] = {1, 2};
  const int rank = (*factor)->fact.type.shape.rank;
  if (rank != 1 && rank != 2)
    return hn_contrib_refuse(call, "a scale or zero point of its weights is not of rank 1 or 2");
  return hn_ml_join(call, "unsqueeze", factor, hn_constant_int(call->importer->graph, NULL, 1, 3 - rank, rows));
}

/* Weights of bytes, [direction, inputs, gates], become reals, [direction, gates, inputs]. */
static hone_status real_weights(hn_import_call *call, int index, int scale_index) {
  static const int64_t swapped[3] = {0, 2, 1};
  const hone_attr perm = {.name = "perm", .kind = HONE_ATTR_INTS, .count = 3, .ints = swapped};
  hn_value *w = hn_contrib_input(call, index), *scale = hn_contrib_input(call, scale_index);
  hn_value *zero = hn_contrib_input(call, scale_index + 1);
  if (!w || !scale) return HN_FAIL(call->importer->diag, HONE_MALFORMED, "weights or their scale are missing");
  HN_TRY(hn_ml_cast(call, HONE_F32, &w));
  if (zero) {
    HN_TRY(hn_ml_cast(call, HONE_F32, &zero));
    HN_TRY(spread(call, &zero));
    HN_TRY(hn_ml_join(call, "sub", &w, zero));
  }
  HN_TRY(spread(call, &scale));
  HN_TRY(hn_ml_join(call, "mul", &w, scale));
  HN_TRY(hn_import_make(call, "transpose", 1, &w, 1, &perm, &w));
  return hn_import_set_input(call, index, w);
}

/* DynamicQuantizeLSTM: the inputs of LSTM with weights of bytes, then scale and zero point of w, those of r. How x and
 * states are rounded is not in the schema, and hangs on how the runtime splits the batch: they stay reals here. */
static hone_status dynamic_lstm(hn_import_call *call) {
  enum { W = 1, R = 2, LAST = 7, W_SCALE = 8, R_SCALE = 10 };
  HN_TRY(real_weights(call, W, W_SCALE));
  HN_TRY(real_weights(call, R, R_SCALE));
  call->in_count = LAST + 1;
  while (!call->in[call->in_count - 1]) --call->in_count;
  return HONE_OK;
}

const hn_adapter hn_contrib_layer_adapters[] = {
    {"ort_bias_add", "", bias_add},
    {"ort_bias_split_gelu", "", bias_split_gelu},
    {"ort_distances", "metric", distances},
    {"ort_dynamic_lstm", "", dynamic_lstm},
    {"ort_embed_layer_norm", "epsilon mask_index_type", hn_contrib_embed_layer_norm},
    {"ort_gemm_fast_gelu", "", gemm_fast_gelu},
    {"ort_group_norm", "activation channels_last epsilon groups", group_norm},
    {"ort_qlinear_where", "", qlinear_where},
    {0}};
