/* SPDX-License-Identifier: Apache-2.0 */
/* layers.c - the layers that the zoo's networks are made of. */
#include "zoo/zoo.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 128 };
typedef struct layer_name {
  char text[NAME_BYTES];
} layer_name;

static layer_name join(const char *name, const char *suffix) {
  layer_name joined;
  (void)snprintf(joined.text, sizeof joined.text, "%s%s", name, suffix);
  return joined;
}

static uint64_t draw(uint64_t *state) { /* splitmix64 (Steele, Lea, Flood 2014) */
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

hone_value *zoo_input(zoo_net *net, const char *name, hone_dtype dtype, int rank, const int64_t *dims) {
  if (net->status != HONE_OK) return NULL;
  int64_t all[HONE_MAX_RANK] = {net->options.dynamic ? -1 : net->options.batch};
  static const char *const names[HONE_MAX_RANK] = {"N"};
  for (int i = 1; i < rank; ++i) all[i] = dims[i - 1];
  hone_value *value = NULL;
  net->status = hone_graph_add_input(net->graph, name, dtype, rank, all, names, &value);
  return value;
}

void zoo_output(zoo_net *net, const char *name, hone_value *value) {
  if (net->status == HONE_OK) net->status = hone_graph_add_output(net->graph, name, value);
}

/* Uniform in middle +- spread; NULL is an error that the net has by then. */
static float *draw_floats(zoo_net *net, size_t count, double middle, double spread) {
  if (net->status != HONE_OK) return NULL;
  float *data = malloc(count * sizeof *data);
  if (!data) {
    net->status = hone_fail(hone_context_diagnostics(net->context), HONE_NO_MEMORY, "out of memory for the weights");
    return NULL;
  }
  for (size_t i = 0; i < count; i += 2) { /* two numbers of 32 bits from one of 64 */
    const uint64_t bits = draw(&net->random);
    data[i] = (float)(middle + spread * ((double)(uint32_t)bits * 0x1p-31 - 1));
    if (i + 1 < count) data[i + 1] = (float)(middle + spread * ((double)(bits >> 32) * 0x1p-31 - 1));
  }
  return data;
}

hone_value *zoo_weight(zoo_net *net, const char *name, const char *suffix, int rank, const int64_t *dims, double middle,
                       double spread) {
  size_t count = 1;
  for (int i = 0; i < rank; ++i) count *= (size_t)dims[i];
  float *data = draw_floats(net, count, middle, spread);
  hone_value *value = zoo_floats(net, join(name, suffix).text, rank, dims, data);
  free(data);
  return value;
}

hone_value *zoo_floats(zoo_net *net, const char *name, int rank, const int64_t *dims, const float *data) {
  if (net->status != HONE_OK) return NULL;
  hone_tensor tensor = {.type = {.kind = HONE_TENSOR, .dtype = HONE_F32, .shape.rank = rank}, .bytes = sizeof *data};
  for (int i = 0; i < rank; ++i) {
    tensor.type.shape.dim[i] = dims[i];
    tensor.bytes *= (size_t)dims[i];
  }
  tensor.data = (void *)(uintptr_t)data; /* copied, not written */
  hone_value *out = NULL;
  net->status = hone_graph_add_constant(net->graph, name, &tensor, &out);
  return out;
}

hone_value *zoo_scalar(zoo_net *net, const char *name, double value) {
  if (net->status != HONE_OK) return NULL;
  float data = (float)value;
  const hone_tensor tensor = {.type = {.kind = HONE_TENSOR, .dtype = HONE_F32}, .data = &data, .bytes = sizeof data};
  hone_value *out = NULL;
  net->status = hone_graph_add_constant(net->graph, name, &tensor, &out);
  return out;
}

hone_value *zoo_ints(zoo_net *net, const char *name, int rank, int count, const int64_t *values) {
  if (net->status != HONE_OK) return NULL;
  int64_t copy[HONE_MAX_RANK]; /* shapes and their kin are all that networks hold as integers */
  if (count > HONE_MAX_RANK) {
    net->status = hone_fail(hone_context_diagnostics(net->context), HONE_INVALID, "%s has too many integers", name);
    return NULL;
  }
  memcpy(copy, values, (size_t)count * sizeof *copy);
  hone_tensor tensor = {.type = {.kind = HONE_TENSOR, .dtype = HONE_I64, .shape.rank = rank},
                        .data = copy,
                        .bytes = (size_t)count * sizeof *copy};
  if (rank > 0) tensor.type.shape.dim[0] = count;
  hone_value *out = NULL;
  net->status = hone_graph_add_constant(net->graph, name, &tensor, &out);
  return out;
}

int64_t zoo_extent(zoo_net *net, const hone_value *value, int axis) {
  if (net->status != HONE_OK) return 1;
  hone_type type;
  hone_value_type(value, &type);
  return type.shape.dim[axis < 0 ? axis + type.shape.rank : axis];
}

hone_value *zoo_node(zoo_net *net, const char *op, const char *name, int in_count, hone_value *const *inputs,
                     int attr_count, const hone_attr *attrs) {
  if (net->status != HONE_OK) return NULL;
  hone_value *out = NULL;
  net->status = hone_graph_add_node(net->graph, op, name, inputs, in_count, attrs, attr_count, &out, 1);
  return out;
}

hone_value *zoo_unary(zoo_net *net, const char *op, const char *name, hone_value *x) {
  return zoo_node(net, op, name, 1, (hone_value *[]){x}, 0, NULL);
}

hone_value *zoo_binary(zoo_net *net, const char *op, const char *name, hone_value *a, hone_value *b) {
  return zoo_node(net, op, name, 2, (hone_value *[]){a, b}, 0, NULL);
}

static hone_attr int_attr(const char *name, int64_t value) {
  return (hone_attr){.name = name, .kind = HONE_ATTR_INT, .i = value};
}

static hone_attr ints_attr(const char *name, int64_t count, const int64_t *values) {
  return (hone_attr){.name = name, .kind = HONE_ATTR_INTS, .count = count, .ints = values};
}

static hone_attr float_attr(const char *name, double value) {
  return (hone_attr){.name = name, .kind = HONE_ATTR_FLOAT, .f = (double)(float)value};
}

static hone_value *conv_node(zoo_net *net, const char *name, hone_value *x, const zoo_conv_shape *shape, hone_value *w,
                             hone_value *b) {
  const int64_t kernel[2] = {shape->kernel, shape->width > 0 ? shape->width : shape->kernel};
  const int64_t side = shape->width > 0 ? shape->width / 2 : shape->pad;
  const int64_t strides[2] = {shape->stride, shape->stride}, pads[4] = {shape->pad, side, shape->pad, side};
  const hone_attr attrs[] = {ints_attr("kernel_shape", 2, kernel), ints_attr("strides", 2, strides),
                             ints_attr("pads", 4, pads), int_attr("group", shape->groups > 0 ? shape->groups : 1)};
  return zoo_node(net, "conv", name, b ? 3 : 2, (hone_value *[]){x, w, b}, 4, attrs);
}

/* The weights' shape. Returns how far they spread. */
static double conv_weights(zoo_net *net, const hone_value *x, const zoo_conv_shape *shape, int64_t dims[4]) {
  dims[0] = shape->channels;
  dims[1] = zoo_extent(net, x, 1) / (shape->groups > 0 ? shape->groups : 1);
  dims[2] = shape->kernel;
  dims[3] = shape->width > 0 ? shape->width : shape->kernel;
  return sqrt(3 * shape->gain / (double)(dims[1] * dims[2] * dims[3]));
}

hone_value *zoo_conv(zoo_net *net, const char *name, hone_value *x, const zoo_conv_shape *shape) {
  int64_t dims[4];
  const double spread = conv_weights(net, x, shape, dims);
  hone_value *w = zoo_weight(net, name, ".weight", 4, dims, 0, spread), *b = NULL;
  if (!shape->no_bias) b = zoo_weight(net, name, ".bias", 1, dims, 0, shape->bias > 0 ? shape->bias : 0.1);
  return conv_node(net, name, x, shape, w, b);
}

/* w: [channels, per_channel], multiplied by the channel's factor; shift becomes the bias. */
static void fold(int64_t channels, int64_t per_channel, float *w, const float *scale, float *shift, const float *mean,
                 const float *variance, double epsilon) {
  for (int64_t c = 0; c < channels; ++c) {
    const double factor = (double)scale[c] / sqrt((double)variance[c] + epsilon);
    for (int64_t i = 0; i < per_channel; ++i) w[c * per_channel + i] = (float)(factor * (double)w[c * per_channel + i]);
    shift[c] = (float)((double)shift[c] - factor * (double)mean[c]);
  }
}

hone_value *zoo_conv_norm(zoo_net *net, const char *name, hone_value *x, const zoo_conv_shape *shape, double epsilon,
                          bool keep) {
  static const char *const suffix[4] = {".bn.weight", ".bn.bias", ".bn.running_mean", ".bn.running_var"};
  static const double middle[4] = {1, 0, 0, 1}, spread[4] = {0.2, 0.1, 0.3, 0.3};
  int64_t dims[4];
  const double spread_w = conv_weights(net, x, shape, dims);
  const int64_t per_channel = dims[1] * dims[2] * dims[3];
  float *w = draw_floats(net, (size_t)(dims[0] * per_channel), 0, spread_w), *norm[4];
  for (int i = 0; i < 4; ++i) norm[i] = draw_floats(net, (size_t)dims[0], middle[i], spread[i]);
  if (net->status == HONE_OK && !keep) fold(dims[0], per_channel, w, norm[0], norm[1], norm[2], norm[3], epsilon);
  hone_value *weight = zoo_floats(net, join(name, ".conv.weight").text, 4, dims, w);
  hone_value *bias = keep ? NULL : zoo_floats(net, join(name, ".conv.bias").text, 1, dims, norm[1]);
  hone_value *y = conv_node(net, join(name, ".conv").text, x, shape, weight, bias);
  if (keep) {
    const hone_attr attrs[] = {float_attr("epsilon", epsilon), float_attr("momentum", 0.9)};
    hone_value *in[5] = {y};
    for (int i = 0; i < 4; ++i) in[i + 1] = zoo_floats(net, join(name, suffix[i]).text, 1, dims, norm[i]);
    y = zoo_node(net, "batch_norm", join(name, ".bn").text, 5, in, 2, attrs);
  }
  free(w);
  for (int i = 0; i < 4; ++i) free(norm[i]);
  return y;
}

hone_value *zoo_conv_transpose(zoo_net *net, const char *name, hone_value *x, int64_t channels, int64_t kernel,
                               double gain) {
  const int64_t dims[4] = {zoo_extent(net, x, 1), channels, kernel, kernel};
  hone_value *in[3] = {x, zoo_weight(net, name, ".weight", 4, dims, 0, sqrt(3 * gain / (double)dims[0])),
                       zoo_weight(net, name, ".bias", 1, &channels, 0, 0.1)};
  const hone_attr attrs[] = {ints_attr("kernel_shape", 2, &dims[2]), ints_attr("strides", 2, &dims[2])};
  return zoo_node(net, "conv_transpose", name, 3, in, 2, attrs);
}

hone_value *zoo_batch_norm(zoo_net *net, const char *name, hone_value *x, double variance, double scale) {
  const int64_t channels = zoo_extent(net, x, 1);
  hone_value *in[5] = {x, zoo_weight(net, name, ".weight", 1, &channels, scale, 0.2 * scale),
                       zoo_weight(net, name, ".bias", 1, &channels, 0, 0.1),
                       zoo_weight(net, name, ".running_mean", 1, &channels, 0, 0.3 * sqrt(variance)),
                       zoo_weight(net, name, ".running_var", 1, &channels, variance, 0.3 * variance)};
  const hone_attr attrs[] = {float_attr("epsilon", 1e-5), float_attr("momentum", 0.9)};
  return zoo_node(net, "batch_norm", name, 5, in, 2, attrs);
}

hone_value *zoo_layer_norm(zoo_net *net, const char *name, hone_value *x, double epsilon) {
  const int64_t width = zoo_extent(net, x, -1);
  hone_value *in[3] = {x, zoo_weight(net, name, ".weight", 1, &width, 1, 0.1),
                       zoo_weight(net, name, ".bias", 1, &width, 0, 0.1)};
  const hone_attr attrs[] = {int_attr("axis", -1), float_attr("epsilon", epsilon)};
  return zoo_node(net, "layer_norm", name, 3, in, 2, attrs);
}

hone_value *zoo_max_pool(zoo_net *net, const char *name, hone_value *x, int64_t kernel, int64_t stride, int64_t pad,
                         bool ceil_mode) {
  const int64_t kernels[2] = {kernel, kernel}, strides[2] = {stride, stride}, pads[4] = {pad, pad, pad, pad};
  const hone_attr attrs[] = {ints_attr("kernel_shape", 2, kernels), ints_attr("strides", 2, strides),
                             ints_attr("pads", 4, pads), int_attr("ceil_mode", ceil_mode)};
  return zoo_node(net, "max_pool", name, 1, &x, 4, attrs);
}

hone_value *zoo_average_pool(zoo_net *net, const char *name, hone_value *x, int64_t kernel, int64_t stride) {
  const int64_t kernels[2] = {kernel, kernel}, strides[2] = {stride, stride};
  const hone_attr attrs[] = {ints_attr("kernel_shape", 2, kernels), ints_attr("strides", 2, strides)};
  return zoo_node(net, "average_pool", name, 1, &x, 2, attrs);
}

hone_value *zoo_clip6(zoo_net *net, const char *name, hone_value *x) {
  hone_value *low = zoo_scalar(net, join(name, ".min").text, 0);
  hone_value *high = zoo_scalar(net, join(name, ".max").text, 6);
  return zoo_node(net, "clip", name, 3, (hone_value *[]){x, low, high}, 0, NULL);
}

hone_value *zoo_gemm(zoo_net *net, const char *name, hone_value *x, int64_t outputs, double gain) {
  const int64_t dims[2] = {outputs, zoo_extent(net, x, -1)};
  hone_value *w = zoo_weight(net, name, ".weight", 2, dims, 0, sqrt(3 * gain / (double)dims[1]));
  hone_value *b = zoo_weight(net, name, ".bias", 1, dims, 0, 0.1);
  const hone_attr attrs[] = {int_attr("transB", 1)};
  return zoo_node(net, "gemm", name, 3, (hone_value *[]){x, w, b}, 1, attrs);
}

hone_value *zoo_matmul_add(zoo_net *net, const char *name, hone_value *x, int64_t outputs, double gain) {
  const int64_t dims[2] = {zoo_extent(net, x, -1), outputs};
  hone_value *w = zoo_weight(net, name, ".weight", 2, dims, 0, sqrt(3 * gain / (double)dims[0]));
  hone_value *b = zoo_weight(net, name, ".bias", 1, &outputs, 0, 0.02);
  return zoo_binary(net, "add", join(name, "/Add").text, zoo_binary(net, "matmul", join(name, "/MatMul").text, x, w),
                    b);
}

hone_value *zoo_gelu(zoo_net *net, const char *name, hone_value *x) {
  hone_value *root = zoo_scalar(net, join(name, ".sqrt2").text, sqrt(2));
  hone_value *one = zoo_scalar(net, join(name, ".one").text, 1);
  hone_value *half = zoo_scalar(net, join(name, ".half").text, 0.5);
  hone_value *erf_x =
      zoo_unary(net, "erf", join(name, "/Erf").text, zoo_binary(net, "div", join(name, "/Div").text, x, root));
  hone_value *product =
      zoo_binary(net, "mul", join(name, "/Mul").text, x, zoo_binary(net, "add", join(name, "/Add").text, erf_x, one));
  return zoo_binary(net, "mul", join(name, "/Mul_1").text, product, half);
}

hone_value *zoo_reshape(zoo_net *net, const char *name, hone_value *x, int rank, const int64_t *dims) {
  return zoo_binary(net, "reshape", name, x, zoo_ints(net, join(name, ".shape").text, 1, rank, dims));
}

hone_value *zoo_transpose(zoo_net *net, const char *name, hone_value *x, int rank, const int64_t *perm) {
  const hone_attr attrs[] = {ints_attr("perm", rank, perm)};
  return zoo_node(net, "transpose", name, 1, &x, 1, attrs);
}

hone_value *zoo_concat(zoo_net *net, const char *name, int count, hone_value *const *inputs, int64_t axis) {
  const hone_attr attrs[] = {int_attr("axis", axis)};
  return zoo_node(net, "concat", name, count, inputs, 1, attrs);
}

void zoo_split(zoo_net *net, const char *name, hone_value *x, int64_t axis, int count, const int64_t *extents,
               hone_value **parts) {
  hone_value *in[2] = {x, zoo_ints(net, join(name, ".split").text, 1, count, extents)};
  const hone_attr attrs[] = {int_attr("axis", axis)};
  for (int i = 0; i < count; ++i) parts[i] = NULL;
  if (net->status == HONE_OK)
    net->status = hone_graph_add_node(net->graph, "split", name, in, 2, attrs, 1, parts, count);
}

hone_value *zoo_softmax(zoo_net *net, const char *name, hone_value *x, int64_t axis) {
  const hone_attr attrs[] = {int_attr("axis", axis)};
  return zoo_node(net, "softmax", name, 1, &x, 1, attrs);
}

hone_value *zoo_slice(zoo_net *net, const char *name, hone_value *x, int64_t axis, int64_t first, int64_t last) {
  hone_value *in[4] = {x, zoo_ints(net, join(name, ".first").text, 1, 1, &first),
                       zoo_ints(net, join(name, ".last").text, 1, 1, &last),
                       zoo_ints(net, join(name, ".axis").text, 1, 1, &axis)};
  return zoo_node(net, "slice", name, 4, in, 0, NULL);
}

hone_value *zoo_silu(zoo_net *net, const char *name, hone_value *x) {
  return zoo_binary(net, "mul", join(name, "/Mul").text, x, zoo_unary(net, "sigmoid", join(name, "/Sigmoid").text, x));
}

hone_value *zoo_hard_sigmoid(zoo_net *net, const char *name, hone_value *x) {
  const hone_attr attrs[] = {float_attr("alpha", 1.0 / 6), float_attr("beta", 0.5)};
  return zoo_node(net, "hard_sigmoid", name, 1, &x, 2, attrs);
}

hone_value *zoo_activation(zoo_net *net, const char *name, hone_value *x, zoo_act act) {
  if (act == ZOO_SILU) return zoo_silu(net, name, x);
  return zoo_unary(net, act == ZOO_RELU ? "relu" : "hard_swish", name, x);
}

const char *zoo_name(zoo_net *net, const char *format, ...) {
  char *text = net->names[net->next_name++ % ZOO_NAMES];
  va_list list;
  va_start(list, format);
  (void)vsnprintf(text, sizeof net->names[0], format, list);
  va_end(list);
  return text;
}
