/* SPDX-License-Identifier: Apache-2.0 */
/* mobilenet_v2.c - MobileNetV2 at width 1.0 (Sandler et al. 2018), batch normalisation folded as inference exports
 * have it: a ReLU6 is a Clip between 0 and 6. */
#include "zoo/zoo.h"

typedef struct stage {
  int64_t expansion, channels, repeats, stride;
} stage;

static hone_value *inverted_residual(zoo_net *net, int block, hone_value *x, int64_t expansion, int64_t channels,
                                     int64_t stride) {
  const int64_t inputs = zoo_extent(net, x, 1), hidden = inputs * expansion;
  const bool residual = stride == 1 && inputs == channels;
  hone_value *y = x;
  int part = 0;
  if (expansion != 1) {
    y = zoo_conv(net, zoo_name(net, "features.%d.conv.%d.0", block, part), y,
                 &(zoo_conv_shape){.channels = hidden, .kernel = 1, .stride = 1, .gain = ZOO_LINEAR});
    y = zoo_clip6(net, zoo_name(net, "features.%d.conv.%d.2", block, part++), y);
  }
  y = zoo_conv(
      net, zoo_name(net, "features.%d.conv.%d.0", block, part), y,
      &(zoo_conv_shape){.channels = hidden, .kernel = 3, .stride = stride, .pad = 1, .groups = hidden, .gain = ZOO_HE});
  y = zoo_clip6(net, zoo_name(net, "features.%d.conv.%d.2", block, part++), y);
  y = zoo_conv(
      net, zoo_name(net, "features.%d.conv.%d", block, part), y,
      &(zoo_conv_shape){.channels = channels, .kernel = 1, .stride = 1, .gain = residual ? 0.25 * ZOO_HE : ZOO_HE});
  return residual ? zoo_binary(net, "add", zoo_name(net, "features.%d.add", block), x, y) : y;
}

void zoo_mobilenet_v2(zoo_net *net) {
  static const int64_t image[3] = {3, 224, 224};
  static const stage stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                                 {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  hone_value *x = zoo_input(net, "input", HONE_F32, 4, image);
  x = zoo_conv(net, "features.0.0", x,
               &(zoo_conv_shape){.channels = 32, .kernel = 3, .stride = 2, .pad = 1, .gain = ZOO_LINEAR});
  x = zoo_clip6(net, "features.0.2", x);
  int block = 1;
  for (size_t s = 0; s < sizeof stages / sizeof stages[0]; ++s)
    for (int64_t r = 0; r < stages[s].repeats; ++r)
      x = inverted_residual(net, block++, x, stages[s].expansion, stages[s].channels, r == 0 ? stages[s].stride : 1);
  x = zoo_conv(net, "features.18.0", x,
               &(zoo_conv_shape){.channels = 1280, .kernel = 1, .stride = 1, .gain = ZOO_LINEAR});
  x = zoo_clip6(net, "features.18.2", x);
  x = zoo_unary(net, "global_average_pool", "pool", x);
  x = zoo_unary(net, "flatten", "flatten", x);
  zoo_output(net, "output", zoo_gemm(net, "classifier.1", x, 1000, ZOO_LINEAR));
}
