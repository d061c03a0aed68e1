/* SPDX-License-Identifier: Apache-2.0 */
/* densenet121.c - DenseNet-121 (Huang et al. 2017). A normalisation before a ReLU and a convolution cannot be folded
 * and stays a node; those behind a convolution are folded, as exporters do. A layer sees the concatenation of all
 * features of its block. */
#include "zoo/zoo.h"

enum { GROWTH = 32, BOTTLENECK = 128, MOST_LAYERS = 24 };

static hone_value *norm_relu(zoo_net *net, const char *norm, const char *relu, hone_value *x, double variance) {
  return zoo_unary(net, "relu", relu, zoo_batch_norm(net, norm, x, variance, 1));
}

static hone_value *dense_layer(zoo_net *net, const char *name, hone_value *x) {
  const zoo_conv_shape wide = {.channels = BOTTLENECK, .kernel = 1, .stride = 1, .gain = ZOO_HE};
  const zoo_conv_shape grow = {.channels = GROWTH, .kernel = 3, .stride = 1, .pad = 1, .gain = ZOO_HE, .no_bias = true};
  x = norm_relu(net, zoo_name(net, "%s.norm1", name), zoo_name(net, "%s.relu1", name), x, 1);
  x = zoo_unary(net, "relu", zoo_name(net, "%s.relu2", name), zoo_conv(net, zoo_name(net, "%s.conv1", name), x, &wide));
  return zoo_conv(net, zoo_name(net, "%s.conv2", name), x, &grow);
}

static hone_value *dense_block(zoo_net *net, int block, int layers, hone_value *x) {
  hone_value *features[MOST_LAYERS + 1] = {x};
  for (int i = 0; i < layers; ++i) {
    const char *name = zoo_name(net, "features.denseblock%d.denselayer%d", block, i + 1);
    if (i > 0) x = zoo_concat(net, zoo_name(net, "%s/Concat", name), i + 1, features, 1);
    features[i + 1] = dense_layer(net, name, x);
  }
  return zoo_concat(net, zoo_name(net, "features.denseblock%d/Concat", block), layers + 1, features, 1);
}

void zoo_densenet121(zoo_net *net) {
  static const int64_t image[3] = {3, 224, 224};
  static const int layers[4] = {6, 12, MOST_LAYERS, 16};
  hone_value *x = zoo_input(net, "input", HONE_F32, 4, image);
  x = zoo_conv(net, "features.conv0", x,
               &(zoo_conv_shape){.channels = 64, .kernel = 7, .stride = 2, .pad = 3, .gain = ZOO_LINEAR});
  x = zoo_max_pool(net, "features.pool0", zoo_unary(net, "relu", "features.relu0", x), 3, 2, 1, false);
  for (int block = 1; block <= 4; ++block) {
    x = dense_block(net, block, layers[block - 1], x);
    if (block == 4) break;
    const char *name = zoo_name(net, "features.transition%d", block);
    x = norm_relu(net, zoo_name(net, "%s.norm", name), zoo_name(net, "%s.relu", name), x, 1);
    x = zoo_conv(net, zoo_name(net, "%s.conv", name), x,
                 &(zoo_conv_shape){
                     .channels = zoo_extent(net, x, 1) / 2, .kernel = 1, .stride = 1, .gain = ZOO_HE, .no_bias = true});
    x = zoo_average_pool(net, zoo_name(net, "%s.pool", name), x, 2, 2);
  }
  x = norm_relu(net, "features.norm5", "relu", x, 1);
  x = zoo_unary(net, "global_average_pool", "avgpool", x);
  x = zoo_unary(net, "flatten", "flatten", x);
  zoo_output(net, "output", zoo_gemm(net, "classifier", x, 1000, ZOO_LINEAR));
}
