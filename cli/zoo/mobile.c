/* SPDX-License-Identifier: Apache-2.0 */
/* mobile.c - the inverted residual with a squeeze-and-excite gate (Sandler et al. 2018, Howard et al. 2019), as
 * MobileNetV3 and EfficientNet have it. */
#include "zoo/zoo.h"

hone_value *zoo_squeeze_excite(zoo_net *net, const char *name, hone_value *x, int64_t squeezed, zoo_act act) {
  const zoo_conv_shape down = {.channels = squeezed, .kernel = 1, .stride = 1, .gain = ZOO_LINEAR};
  const zoo_conv_shape up = {.channels = zoo_extent(net, x, 1), .kernel = 1, .stride = 1, .gain = ZOO_LINEAR};
  hone_value *y = zoo_unary(net, "global_average_pool", zoo_name(net, "%s.avgpool", name), x);
  y = zoo_conv(net, zoo_name(net, "%s.fc1", name), y, &down);
  y = zoo_activation(net, zoo_name(net, "%s.activation", name), y, act);
  y = zoo_conv(net, zoo_name(net, "%s.fc2", name), y, &up);
  const char *gate = zoo_name(net, "%s.scale_activation", name);
  y = act == ZOO_RELU ? zoo_hard_sigmoid(net, gate, y) : zoo_unary(net, "sigmoid", gate, y);
  return zoo_binary(net, "mul", zoo_name(net, "%s/Mul", name), y, x);
}

hone_value *zoo_inverted_residual(zoo_net *net, const char *name, hone_value *x, const zoo_inverted *shape) {
  const int64_t inputs = zoo_extent(net, x, 1);
  const bool residual = shape->stride == 1 && inputs == shape->channels;
  double gain = shape->act == ZOO_RELU ? ZOO_HE : ZOO_SWISH;
  hone_value *y = x;
  int part = 0;
  if (shape->hidden != inputs) {
    y = zoo_conv(net, zoo_name(net, "%s.%d.0", name, part), y,
                 &(zoo_conv_shape){.channels = shape->hidden, .kernel = 1, .stride = 1, .gain = ZOO_LINEAR});
    y = zoo_activation(net, zoo_name(net, "%s.%d.2", name, part++), y, shape->act);
  }
  y = zoo_conv(net, zoo_name(net, "%s.%d.0", name, part), y,
               &(zoo_conv_shape){.channels = shape->hidden,
                                 .kernel = shape->kernel,
                                 .stride = shape->stride,
                                 .pad = shape->kernel / 2,
                                 .groups = shape->hidden,
                                 .gain = part ? gain : ZOO_LINEAR});
  y = zoo_activation(net, zoo_name(net, "%s.%d.2", name, part++), y, shape->act);
  if (shape->squeezed) {
    y = zoo_squeeze_excite(net, zoo_name(net, "%s.%d", name, part++), y, shape->squeezed, shape->gate_act);
    gain *= 4; /* gates are about a half */
  }
  y = zoo_conv(
      net, zoo_name(net, "%s.%d.0", name, part), y,
      &(zoo_conv_shape){.channels = shape->channels, .kernel = 1, .stride = 1, .gain = residual ? 0.25 * gain : gain});
  return residual ? zoo_binary(net, "add", zoo_name(net, "%s/Add", name), y, x) : y;
}
