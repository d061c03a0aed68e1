/* SPDX-License-Identifier: Apache-2.0 */
/* contrib.c - operators of ONNX Runtime's own domain, which its optimised models hold, back into what they stand for:
 * the passes know better what this machine should fuse. Source: the operator schemas of com.microsoft, version 1. What
 * is not exactly a composition of ours is refused. */
#include "import/importer.h"

hn_value *hn_contrib_input(const hn_import_call *call, int index) {
  return index < call->in_count ? call->in[index] : NULL;
}

hone_status hn_contrib_refuse(hn_import_call *call, const char *what) {
  return HN_FAIL(call->importer->diag, HONE_UNSUPPORTED, "%s", what);
}

hone_status hn_contrib_want(hn_import_call *call, int count) {
  for (int i = 0; i < count; ++i)
    if (!hn_contrib_input(call, i)) return HN_FAIL(call->importer->diag, HONE_MALFORMED, "input %d is missing", i);
  return HONE_OK;
}

static hone_status refuse_outputs(hn_import_call *call, int from, int to) {
  for (int i = from; i < call->out_count && i <= to; ++i)
    if (*call->out_names[i]) return hn_contrib_refuse(call, "an output that only training or decoding needs is wanted");
  return HONE_OK;
}

static double take_real(hn_import_call *call, const char *name, double otherwise) {
  hone_attr attr;
  if (!hn_import_take_attr(call, name, &attr)) return otherwise;
  return attr.kind == HONE_ATTR_FLOAT ? attr.f : attr.kind == HONE_ATTR_INT ? (double)attr.i : otherwise;
}

int64_t hn_contrib_take_int(hn_import_call *call, const char *name, int64_t otherwise) {
  hone_attr attr;
  return hn_import_take_attr(call, name, &attr) && attr.kind == HONE_ATTR_INT ? attr.i : otherwise;
}

/* *x = op(*x, y). */
static hone_status combine(hn_import_call *call, const char *op, hn_value **x, hn_value *y) {
  hn_value *in[2] = {*x, y};
  return y ? hn_import_make(call, op, 2, in, 0, NULL, x) : HONE_NO_MEMORY;
}

static hone_status finish(hn_import_call *call, hn_value *value) {
  call->out[0] = value;
  call->done = true;
  return HONE_OK;
}

/* ---- normalisation of a sum ---- */

/* SkipLayerNormalization: input, skip, gamma, beta, bias; the simplified one has no beta. Output 3 is the sum. */
static hone_status skip_norm(hn_import_call *call) {
  const bool is_rms = hn_name_equal(call->op->name, "rms_norm");
  const hone_attr epsilon = {.name = "epsilon", .kind = HONE_ATTR_FLOAT, .f = take_real(call, "epsilon", 1e-12)};
  HN_TRY(hn_contrib_want(call, 3));
  HN_TRY(refuse_outputs(call, 1, 2));
  hn_value *sum = hn_contrib_input(call, 0), *bias = hn_contrib_input(call, is_rms ? 3 : 4), *y;
  HN_TRY(combine(call, "add", &sum, hn_contrib_input(call, 1)));
  if (bias) HN_TRY(combine(call, "add", &sum, bias));
  hn_value *in[3] = {sum, hn_contrib_input(call, 2), is_rms ? NULL : hn_contrib_input(call, 3)};
  HN_TRY(hn_import_make(call, call->op->name, in[2] ? 3 : 2, in, 1, &epsilon, &y));
  if (call->out_count > 3) call->out[3] = sum;
  return finish(call, y);
}

/* ---- activations ---- */

/* BiasGelu and FastGelu: x and a bias, which the second may lack. */
static hone_status bias_gelu(hn_import_call *call) {
  HN_TRY(hn_contrib_want(call, 1));
  hn_value *x = hn_contrib_input(call, 0), *bias = hn_contrib_input(call, 1);
  if (bias) HN_TRY(combine(call, "add", &x, bias));
  HN_TRY(hn_import_make(call, call->op->name, 1, &x, 0, NULL, &x));
  return finish(call, x);
}

static hone_status quick_gelu(hn_import_call *call) {
  const hone_attr alpha = {.name = "alpha", .kind = HONE_ATTR_FLOAT, .f = 1.702};
  return hn_import_find_attr(call, "alpha") ? HONE_OK : hn_import_add_attr(call, &alpha);
}

/* A fused activation by ONNX's name; first and second: what it calls alpha and beta, or the bounds. */
static hone_status activate(hn_import_call *call, const char *name, double first, double second, hn_value **x) {
  static const struct {
    const char *name, *op;
    int attrs;
  } rows[] = {{"Relu", "relu", 0},
              {"Tanh", "tanh", 0},
              {"Sigmoid", "sigmoid", 0},
              {"LeakyRelu", "leaky_relu", 1},
              {"HardSigmoid", "hard_sigmoid", 2}};
  const hone_attr attrs[2] = {{.name = "alpha", .kind = HONE_ATTR_FLOAT, .f = first},
                              {.name = "beta", .kind = HONE_ATTR_FLOAT, .f = second}};
  if (!*name) return HONE_OK;
  for (size_t i = 0; i < HN_COUNT(rows); ++i)
    if (hn_name_equal(rows[i].name, name)) return hn_import_make(call, rows[i].op, 1, x, rows[i].attrs, attrs, x);
  if (!hn_name_equal(name, "Clip"))
    return HN_FAIL(call->importer->diag, HONE_UNSUPPORTED, "its activation %.40s is not known", name);
  const hone_dtype dtype = (*x)->fact.type.dtype;
  hn_value *in[3] = {*x, hn_constant_scalar(call->importer->graph, dtype, first),
                     hn_constant_scalar(call->importer->graph, dtype, second)};
  return in[1] && in[2] ? hn_import_make(call, "clip", 3, in, 0, NULL, x) : HONE_NO_MEMORY;
}

static const char *take_activation(hn_import_call *call) {
  hone_attr attr;
  return hn_import_take_attr(call, "activation", &attr) && attr.kind == HONE_ATTR_STRING ? attr.s : "";
}

/* What stands for alpha and beta where the node does not say. */
static double default_of(const char *activation, int which) {
  if (hn_name_equal(activation, "LeakyRelu")) return 0.01;
  return which == 0 ? 0.2 : 0.5;
}

/* FusedConv: x, w, b and a summand; activation(conv + summand). */
static hone_status fused_conv(hn_import_call *call) {
  const char *activation = take_activation(call);
  double params[2] = {default_of(activation, 0), default_of(activation, 1)};
  hone_attr given;
  int64_t count = 0;
  if (hn_import_take_attr(call, "activation_params", &given) && given.kind == HONE_ATTR_FLOATS)
    for (; count < given.count && count < 2; ++count) params[count] = given.floats[count];
  if (hn_name_equal(activation, "Clip") && count < 2)
    return hn_contrib_refuse(call, "the bounds of its activation are missing");
  HN_TRY(hn_contrib_want(call, 2));
  hn_value *y, *summand = hn_contrib_input(call, 3);
  HN_TRY(hn_import_make(call, "conv", hn_contrib_input(call, 2) ? 3 : 2, call->in, call->attr_count, call->attrs, &y));
  if (summand) HN_TRY(combine(call, "add", &y, summand));
  HN_TRY(activate(call, activation, params[0], params[1], &y));
  return finish(call, y);
}

static hone_status fused_gemm(hn_import_call *call) {
  const char *activation = take_activation(call);
  const double alpha = take_real(call, "activation_alpha", default_of(activation, 0));
  const double beta = take_real(call, "activation_beta", default_of(activation, 1));
  (void)take_real(call, "activation_gamma", 0); /* of activations that are not fused */
  if (hn_name_equal(activation, "Clip")) return hn_contrib_refuse(call, "it clips");
  HN_TRY(hn_contrib_want(call, 2));
  hn_value *y;
  HN_TRY(hn_import_make(call, "gemm", hn_contrib_input(call, 2) ? 3 : 2, call->in, call->attr_count, call->attrs, &y));
  HN_TRY(activate(call, activation, alpha, beta, &y));
  return finish(call, y);
}

/* ---- products ---- */

static hone_status swap_last(hn_import_call *call, hn_value **x) {
  const int rank = (*x)->fact.type.shape.rank;
  int64_t perm[HONE_MAX_RANK];
  if (rank < 0) return hn_contrib_refuse(call, "it transposes a value of unknown rank");
  if (rank < 2) return HONE_OK; /* a vector is what it is */
  for (int i = 0; i < rank; ++i) perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
  const hone_attr order = {.name = "perm", .kind = HONE_ATTR_INTS, .count = rank, .ints = perm};
  return hn_import_make(call, "transpose", 1, x, 1, &order, x);
}

static hone_status fused_matmul(hn_import_call *call) {
  const double alpha = take_real(call, "alpha", 1);
  const bool swaps[2] = {hn_contrib_take_int(call, "transA", 0) != 0, hn_contrib_take_int(call, "transB", 0) != 0};
  if (hn_contrib_take_int(call, "transBatchA", 0) || hn_contrib_take_int(call, "transBatchB", 0))
    return hn_contrib_refuse(call, "it transposes the batch");
  HN_TRY(hn_contrib_want(call, 2));
  hn_value *in[2] = {hn_contrib_input(call, 0), hn_contrib_input(call, 1)}, *y;
  for (int i = 0; i < 2; ++i)
    if (swaps[i]) HN_TRY(swap_last(call, &in[i]));
  HN_TRY(hn_import_make(call, "matmul", 2, in, 0, NULL, &y));
  if (alpha != 1)
    HN_TRY(combine(call, "mul", &y, hn_constant_scalar(call->importer->graph, y->fact.type.dtype, alpha)));
  return finish(call, y);
}

/* ---- quantised ---- */

static hone_dtype dtype_of(const hn_value *value) { return value->fact.type.dtype; }

/* An absent zero point is zero, of the type of what it belongs to. */
static hone_status give_zero(hn_import_call *call, int index, const hn_value *like) {
  if (hn_contrib_input(call, index)) return HONE_OK;
  hn_value *zero = hn_constant_scalar(call->importer->graph, dtype_of(like), 0);
  return zero ? hn_import_set_input(call, index, zero) : HONE_NO_MEMORY;
}

static hone_status want_planes(hn_import_call *call) {
  return hn_contrib_take_int(call, "channels_last", 0) ? hn_contrib_refuse(call, "its channels come last") : HONE_OK;
}

/* QLinearAdd, QLinearMul: a and b with scale and zero point, those of the result. */
static hone_status qlinear_pair(hn_import_call *call) {
  enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, Y_SCALE, Y_ZERO };
  static const int needed[] = {A, A_SCALE, B, B_SCALE, Y_SCALE};
  for (size_t i = 0; i < HN_COUNT(needed); ++i)
    if (!hn_contrib_input(call, needed[i]))
      return HN_FAIL(call->importer->diag, HONE_MALFORMED, "input %d is missing", needed[i]);
  HN_TRY(give_zero(call, A_ZERO, call->in[A]));
  HN_TRY(give_zero(call, B_ZERO, call->in[B]));
  return give_zero(call, Y_ZERO, call->in[A]);
}

/* x, its scale and zero point, those of the result: the inputs of all operators of one tensor. */
enum { ONE_X, ONE_X_SCALE, ONE_X_ZERO, ONE_Y_SCALE, ONE_Y_ZERO };
static hone_status complete_one(hn_import_call *call) {
  if (!hn_contrib_input(call, ONE_X) || !hn_contrib_input(call, ONE_X_SCALE) || !hn_contrib_input(call, ONE_Y_SCALE))
    return HN_FAIL(call->importer->diag, HONE_MALFORMED, "its input or a scale is missing");
  HN_TRY(give_zero(call, ONE_X_ZERO, call->in[ONE_X]));
  return give_zero(call, ONE_Y_ZERO, call->in[ONE_X]);
}

static hone_status qlinear_mean(hn_import_call *call) {
  HN_TRY(want_planes(call));
  return complete_one(call);
}

/* quantize(op(dequantize(x))), which the passes make bytes of. */
static hone_status between_roundings(hn_import_call *call) {
  HN_TRY(want_planes(call));
  HN_TRY(complete_one(call));
  hn_value *y;
  HN_TRY(hn_import_make(call, "dequantize_linear", 3, call->in, 0, NULL, &y));
  HN_TRY(hn_import_make(call, call->op->name, 1, &y, call->attr_count, call->attrs, &y));
  hn_value *in[3] = {y, call->in[ONE_Y_SCALE], call->in[ONE_Y_ZERO]};
  HN_TRY(hn_import_make(call, "quantize_linear", 3, in, 0, NULL, &y));
  return finish(call, y);
}

/* QLinearConcat: scale and zero point of the result, then those of each part behind it. */
static hone_status qlinear_concat(hn_import_call *call) {
  enum { Y_SCALE, Y_ZERO, PARTS, EACH = 3 };
  if (call->in_count < PARTS + EACH || (call->in_count - PARTS) % EACH != 0)
    return HN_FAIL(call->importer->diag, HONE_MALFORMED, "%d inputs are no parts of three", call->in_count);
  HN_TRY(hn_contrib_want(call, call->in_count));
  const int count = (call->in_count - PARTS) / EACH;
  hn_value **parts = HN_NEW(&call->importer->arena, hn_value *, count), *y;
  if (!parts) return HN_FAIL_MEMORY(call->importer->diag);
  for (int i = 0; i < count; ++i)
    HN_TRY(hn_import_make(call, "dequantize_linear", EACH, call->in + PARTS + i * EACH, 0, NULL, &parts[i]));
  HN_TRY(hn_import_make(call, "concat", count, parts, call->attr_count, call->attrs, &y));
  hn_value *in[3] = {y, call->in[Y_SCALE], call->in[Y_ZERO]};
  HN_TRY(hn_import_make(call, "quantize_linear", 3, in, 0, NULL, &y));
  return finish(call, y);
}

/* A scale or zero point of the left matrix: those of its rows would be taken as of columns. */
static hone_status want_one(hn_import_call *call, int index) {
  const hn_value *value = hn_contrib_input(call, index);
  const hone_shape *shape = value ? &value->fact.type.shape : NULL;
  const bool is_one = !shape || shape->rank == 0 || (shape->rank == 1 && shape->dim[0] == 1);
  return is_one || shape->rank < 0 ? HONE_OK
                                   : hn_contrib_refuse(call, "the rows of its first matrix have scales of their own");
}

/* f32(product) * (a_scale * b_scale) + bias, each step rounded. */
static hone_status scaled_product(hn_import_call *call, hn_value *product, hn_value *a_scale, hn_value *b_scale,
                                  hn_value *bias) {
  const hone_attr to = {.name = "to", .kind = HONE_ATTR_INT, .i = 1}; /* f32 */
  hn_value *y, *scale = a_scale;
  HN_TRY(hn_import_make(call, "cast", 1, &product, 1, &to, &y));
  HN_TRY(combine(call, "mul", &scale, b_scale));
  HN_TRY(combine(call, "mul", &y, scale));
  if (bias) HN_TRY(combine(call, "add", &y, bias));
  return finish(call, y);
}

/* MatMulIntegerToFloat: a, b, their scales, zero points and a bias. */
static hone_status matmul_to_float(hn_import_call *call) {
  enum { A, B, A_SCALE, B_SCALE, A_ZERO, B_ZERO, BIAS };
  HN_TRY(hn_contrib_want(call, A_ZERO));
  HN_TRY(want_one(call, A_SCALE));
  HN_TRY(want_one(call, A_ZERO));
  hn_value *in[4] = {call->in[A], call->in[B], hn_contrib_input(call, A_ZERO), hn_contrib_input(call, B_ZERO)},
           *product;
  HN_TRY(hn_import_make(call, "matmul_integer", 4, in, 0, NULL, &product));
  return scaled_product(call, product, call->in[A_SCALE], call->in[B_SCALE], hn_contrib_input(call, BIAS));
}

/* DynamicQuantizeMatMul: a in f32, which is quantised over its own range; b, its scale and zero point, a bias. */
static hone_status dynamic_matmul(hn_import_call *call) {
  enum { A, B, B_SCALE, B_ZERO, BIAS, OUTS = 3 };
  HN_TRY(hn_contrib_want(call, B_ZERO));
  const hn_node_spec spec = {.op = hn_op_find(call->importer->context->ops, "dynamic_quantize_linear"),
                             .in_count = 1,
                             .in = call->in,
                             .out_count = OUTS,
                             .origins = call->origins};
  hn_node *a;
  hn_value *product;
  if (!spec.op) return hn_contrib_refuse(call, "it needs the operator dynamic_quantize_linear, which is missing");
  HN_TRY(hn_node_create(call->scope->block, &spec, &a));
  hn_value *in[4] = {a->out[0], call->in[B], a->out[2], hn_contrib_input(call, B_ZERO)};
  HN_TRY(hn_import_make(call, "matmul_integer", 4, in, 0, NULL, &product));
  return scaled_product(call, product, a->out[1], call->in[B_SCALE], hn_contrib_input(call, BIAS));
}

static hone_status flatten(hn_import_call *call, hn_value **x) {
  const int64_t all = -1;
  hn_value *in[2] = {*x, hn_constant_int(call->importer->graph, NULL, 1, 1, &all)};
  return in[1] ? hn_import_make(call, "reshape", 2, in, 0, NULL, x) : HONE_NO_MEMORY;
}

/* QGemm: a, b with scale and zero point, an i32 bias; requantised where a scale of the result is given. */
static hone_status qgemm(hn_import_call *call) {
  enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, BIAS, Y_SCALE, Y_ZERO };
  const double alpha = take_real(call, "alpha", 1);
  const bool swaps[2] = {hn_contrib_take_int(call, "transA", 0) != 0, hn_contrib_take_int(call, "transB", 0) != 0};
  HN_TRY(hn_contrib_want(call, BIAS));
  HN_TRY(want_one(call, A_SCALE));
  HN_TRY(want_one(call, A_ZERO));
  hn_value *a = call->in[A], *b = call->in[B], *bias = hn_contrib_input(call, BIAS), *a_scale = call->in[A_SCALE], *y;
  if (swaps[0]) HN_TRY(swap_last(call, &a));
  if (swaps[1]) HN_TRY(swap_last(call, &b));
  if (bias) HN_TRY(flatten(call, &bias)); /* [1, N] is allowed, too */
  if (alpha != 1) {
    a_scale = hn_constant_scalar(call->importer->graph, HONE_F32, alpha);
    if (!a_scale) return HONE_NO_MEMORY;
    HN_TRY(combine(call, "mul", &a_scale, call->in[A_SCALE]));
  }
  if (hn_contrib_input(call, Y_SCALE)) {
    HN_TRY(give_zero(call, Y_ZERO, call->in[A]));
    hn_value *in[9] = {
        a,   a_scale, call->in[A_ZERO], b, call->in[B_SCALE], call->in[B_ZERO], call->in[Y_SCALE], call->in[Y_ZERO],
        bias};
    HN_TRY(hn_import_make(call, "qlinear_matmul", bias ? 9 : 8, in, 0, NULL, &y));
    return finish(call, y);
  }
  hn_value *in[4] = {a, b, call->in[A_ZERO], call->in[B_ZERO]};
  HN_TRY(hn_import_make(call, "matmul_integer", 4, in, 0, NULL, &y));
  if (bias) HN_TRY(combine(call, "add", &y, bias));
  return scaled_product(call, y, a_scale, call->in[B_SCALE], NULL);
}

const hn_adapter hn_contrib_adapters[] = {
    {"ort_average_of_bytes", "channels_last", between_roundings},
    {"ort_bias_gelu", "", bias_gelu},
    {"ort_dynamic_matmul", "", dynamic_matmul},
    {"ort_fused_conv", "activation activation_params", fused_conv},
    {"ort_fused_gemm", "activation activation_alpha activation_beta activation_gamma", fused_gemm},
    {"ort_fused_matmul", "alpha transA transB transBatchA transBatchB", fused_matmul},
    {"ort_matmul_nbits", "K N accuracy_level bits block_size weight_prepacked", hn_import_matmul_nbits},
    {"ort_matmul_to_float", "", matmul_to_float},
    {"ort_qgemm", "alpha transA transB", qgemm},
    {"ort_qlinear_concat", "", qlinear_concat},
    {"ort_qlinear_mean", "channels_last", qlinear_mean},
    {"ort_qlinear_pair", "", qlinear_pair},
    {"ort_qlinear_unary", "", between_roundings},
    {"ort_quick_gelu", "", quick_gelu},
    {"ort_skip_norm", "", skip_norm},
    {0}};
