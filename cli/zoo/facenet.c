/* SPDX-License-Identifier: Apache-2.0 */
/* facenet.c - Inception-ResNet-v1 (Szegedy et al. 2017) that embeds a face of 160 x 160 in 512 numbers of length 1
 * (Schroff et al. 2015). The planted form has the same weights with each normalisation as a node of its own and two
 * transposes around each ReLU, as converters between channel orders leave them: an optimiser should not see a
 * difference. */
#include "zoo/zoo.h"

enum { FEATURES = 512 };

typedef struct face {
  zoo_net *net;
  bool planted;
} face;

/* In input_channels of a block; branches of at most three convolutions; width 0: square, pad -1: none. */
typedef struct conv_spec {
  int64_t channels, kernel, stride, width;
  bool pad;
} conv_spec;
enum { MOST_CONVS = 3, MOST_BRANCHES = 4 };
typedef struct branch_spec {
  conv_spec conv[MOST_CONVS]; /* ends with channels 0; none: a max-pooling */
} branch_spec;

static hone_value *relu(const face *f, const char *name, hone_value *x) {
  static const int64_t last[4] = {0, 2, 3, 1}, first[4] = {0, 3, 1, 2};
  if (!f->planted) return zoo_unary(f->net, "relu", name, x);
  x = zoo_transpose(f->net, zoo_name(f->net, "%s/Transpose", name), x, 4, last);
  x = zoo_unary(f->net, "relu", name, x);
  return zoo_transpose(f->net, zoo_name(f->net, "%s/Transpose_1", name), x, 4, first);
}

static hone_value *basic_conv(const face *f, const char *name, hone_value *x, const conv_spec *spec, double gain) {
  const zoo_conv_shape shape = {.channels = spec->channels,
                                .kernel = spec->kernel,
                                .stride = spec->stride,
                                .pad = spec->pad ? spec->kernel / 2 : 0,
                                .gain = gain,
                                .width = spec->width};
  x = zoo_conv_norm(f->net, name, x, &shape, 1e-3, f->planted);
  return relu(f, zoo_name(f->net, "%s.relu", name), x);
}

static hone_value *inception(const face *f, const char *name, hone_value *x, int count, const branch_spec *branches) {
  hone_value *part[MOST_BRANCHES];
  for (int b = 0; b < count; ++b) {
    part[b] = x;
    if (branches[b].conv[0].channels == 0)
      part[b] = zoo_max_pool(f->net, zoo_name(f->net, "%s.branch%d", name, b), x, 3, 2, 0, false);
    for (int c = 0; c < MOST_CONVS && branches[b].conv[c].channels; ++c)
      part[b] = basic_conv(f, zoo_name(f->net, "%s.branch%d.%d", name, b, c), part[b], &branches[b].conv[c], ZOO_HE);
  }
  return zoo_concat(f->net, zoo_name(f->net, "%s/Concat", name), count, part, 1);
}

/* x plus a scaled inception. */
static hone_value *residual(const face *f, const char *name, hone_value *x, int count, const branch_spec *branches,
                            double scale, bool active) {
  zoo_net *net = f->net;
  const zoo_conv_shape back = {.channels = zoo_extent(net, x, 1), .kernel = 1, .stride = 1, .gain = ZOO_HE};
  hone_value *y = inception(f, name, x, count, branches);
  y = zoo_conv(net, zoo_name(net, "%s.conv2d", name), y, &back);
  if (scale != 1)
    y = zoo_binary(net, "mul", zoo_name(net, "%s/Mul", name), y,
                   zoo_scalar(net, zoo_name(net, "%s.scale", name), scale));
  y = zoo_binary(net, "add", zoo_name(net, "%s/Add", name), y, x);
  return active ? relu(f, zoo_name(net, "%s.relu", name), y) : y;
}

static hone_value *stem(const face *f, hone_value *x) {
  static const conv_spec convs[] = {{32, 3, 2, 0, false}, {32, 3, 1, 0, false},  {64, 3, 1, 0, true},
                                    {80, 1, 1, 0, false}, {192, 3, 1, 0, false}, {256, 3, 2, 0, false}};
  static const char *const names[] = {"conv2d_1a", "conv2d_2a", "conv2d_2b", "conv2d_3b", "conv2d_4a", "conv2d_4b"};
  for (int i = 0; i < 6; ++i) {
    if (i == 3) x = zoo_max_pool(f->net, "maxpool_3a", x, 3, 2, 0, false);
    x = basic_conv(f, names[i], x, &convs[i], i == 0 ? ZOO_LINEAR : ZOO_HE);
  }
  return x;
}

/* The embedding divided by its length, in the nodes that exporters write. */
static hone_value *unit_length(zoo_net *net, hone_value *x) {
  const int64_t axis = 1, dims[2] = {net->options.batch, FEATURES};
  hone_value *in[2] = {x, zoo_ints(net, "normalize.axis", 1, 1, &axis)};
  hone_value *length = zoo_node(net, "reduce_l2", "ReduceL2", 2, in, 0, NULL);
  hone_value *low[2] = {length, zoo_scalar(net, "normalize.low", 1e-12)};
  length = zoo_node(net, "clip", "Clip", 2, low, 0, NULL);
  hone_value *shape =
      net->options.dynamic ? zoo_unary(net, "shape", "Shape", x) : zoo_ints(net, "normalize.shape", 1, 2, dims);
  return zoo_binary(net, "div", "Div", x, zoo_binary(net, "expand", "Expand", length, shape));
}

static void facenet(zoo_net *net, bool planted) {
  static const int64_t image[3] = {3, 160, 160};
  static const branch_spec block35[3] = {{{{32, 1, 1, 0, false}}},
                                         {{{32, 1, 1, 0, false}, {32, 3, 1, 0, true}}},
                                         {{{32, 1, 1, 0, false}, {32, 3, 1, 0, true}, {32, 3, 1, 0, true}}}};
  static const branch_spec mixed_6a[3] = {
      {{{384, 3, 2, 0, false}}}, {{{192, 1, 1, 0, false}, {192, 3, 1, 0, true}, {256, 3, 2, 0, false}}}, {{{0}}}};
  static const branch_spec block17[2] = {{{{128, 1, 1, 0, false}}},
                                         {{{128, 1, 1, 0, false}, {128, 1, 1, 7, false}, {128, 7, 1, 1, true}}}};
  static const branch_spec mixed_7a[4] = {{{{256, 1, 1, 0, false}, {384, 3, 2, 0, false}}},
                                          {{{256, 1, 1, 0, false}, {256, 3, 2, 0, false}}},
                                          {{{256, 1, 1, 0, false}, {256, 3, 1, 0, true}, {256, 3, 2, 0, false}}},
                                          {{{0}}}};
  static const branch_spec block8[2] = {{{{192, 1, 1, 0, false}}},
                                        {{{192, 1, 1, 0, false}, {192, 1, 1, 3, false}, {192, 3, 1, 1, true}}}};
  const face f = {net, planted};
  hone_value *x = stem(&f, zoo_input(net, "input", HONE_F32, 4, image));
  for (int i = 0; i < 5; ++i) x = residual(&f, zoo_name(net, "repeat_1.%d", i), x, 3, block35, 0.17, true);
  x = inception(&f, "mixed_6a", x, 3, mixed_6a);
  for (int i = 0; i < 10; ++i) x = residual(&f, zoo_name(net, "repeat_2.%d", i), x, 2, block17, 0.10, true);
  x = inception(&f, "mixed_7a", x, 4, mixed_7a);
  for (int i = 0; i < 5; ++i) x = residual(&f, zoo_name(net, "repeat_3.%d", i), x, 2, block8, 0.20, true);
  x = residual(&f, "block8", x, 2, block8, 1, false);
  x = zoo_unary(net, "global_average_pool", "avgpool_1a", x);
  x = zoo_unary(net, "flatten", "flatten", x);
  const int64_t dims[2] = {zoo_extent(net, x, 1), FEATURES};
  const double spread = 0.05; /* as wide as it likes: what follows normalises */
  x = zoo_binary(net, "matmul", "last_linear/MatMul", x, zoo_weight(net, "last_linear", ".weight", 2, dims, 0, spread));
  x = zoo_batch_norm(net, "last_bn", x, 1, 1);
  zoo_output(net, "output", unit_length(net, x));
}

void zoo_facenet(zoo_net *net) { facenet(net, false); }
void zoo_facenet_planted(zoo_net *net) { facenet(net, true); }
