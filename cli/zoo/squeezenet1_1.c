/* SPDX-License-Identifier: Apache-2.0 */
/* squeezenet1_1.c - SqueezeNet 1.1 (Iandola et al. 2016). */
#include "zoo/zoo.h"

static hone_value *conv_relu(zoo_net *net, int layer, const char *part, hone_value *x, const zoo_conv_shape *shape) {
  hone_value *y = zoo_conv(net, zoo_name(net, "features.%d%s", layer, part), x, shape);
  return zoo_unary(net, "relu", zoo_name(net, "features.%d%s_activation", layer, part), y);
}

static hone_value *fire(zoo_net *net, int layer, hone_value *x, int64_t squeeze, int64_t expand) {
  hone_value *s = conv_relu(net, layer, ".squeeze", x,
                            &(zoo_conv_shape){.channels = squeeze, .kernel = 1, .stride = 1, .gain = ZOO_HE});
  hone_value *both[2] = {
      conv_relu(net, layer, ".expand1x1", s,
                &(zoo_conv_shape){.channels = expand, .kernel = 1, .stride = 1, .gain = ZOO_HE}),
      conv_relu(net, layer, ".expand3x3", s,
                &(zoo_conv_shape){.channels = expand, .kernel = 3, .stride = 1, .pad = 1, .gain = ZOO_HE})};
  return zoo_concat(net, zoo_name(net, "features.%d.concat", layer), 2, both, 1);
}

void zoo_squeezenet1_1(zoo_net *net) {
  static const int64_t image[3] = {3, 224, 224};
  hone_value *x = zoo_input(net, "input", HONE_F32, 4, image);
  x = conv_relu(net, 0, "", x, &(zoo_conv_shape){.channels = 64, .kernel = 3, .stride = 2, .gain = ZOO_LINEAR});
  x = zoo_max_pool(net, "features.2", x, 3, 2, 0, true);
  x = fire(net, 3, x, 16, 64);
  x = fire(net, 4, x, 16, 64);
  x = zoo_max_pool(net, "features.5", x, 3, 2, 0, true);
  x = fire(net, 6, x, 32, 128);
  x = fire(net, 7, x, 32, 128);
  x = zoo_max_pool(net, "features.8", x, 3, 2, 0, true);
  x = fire(net, 9, x, 48, 192);
  x = fire(net, 10, x, 48, 192);
  x = fire(net, 11, x, 64, 256);
  x = fire(net, 12, x, 64, 256);
  x = zoo_conv(net, "classifier.1", x, &(zoo_conv_shape){.channels = 1000, .kernel = 1, .stride = 1, .gain = ZOO_HE});
  x = zoo_unary(net, "relu", "classifier.2", x);
  x = zoo_unary(net, "global_average_pool", "classifier.3", x);
  zoo_output(net, "output", zoo_unary(net, "flatten", "flatten", x));
}
