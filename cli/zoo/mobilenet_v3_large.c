/* SPDX-License-Identifier: Apache-2.0 */
/* mobilenet_v3_large.c - MobileNetV3-Large at width 1.0 (Howard et al. 2019), batch normalisation folded. */
#include "zoo/zoo.h"

void zoo_mobilenet_v3_large(zoo_net *net) {
  static const int64_t image[3] = {3, 224, 224};
  static const zoo_inverted blocks[] = {
      /* hidden, channels, kernel, stride, squeezed */
      {16, 16, 3, 1, 0, ZOO_RELU, ZOO_RELU},           {64, 24, 3, 2, 0, ZOO_RELU, ZOO_RELU},
      {72, 24, 3, 1, 0, ZOO_RELU, ZOO_RELU},           {72, 40, 5, 2, 24, ZOO_RELU, ZOO_RELU},
      {120, 40, 5, 1, 32, ZOO_RELU, ZOO_RELU},         {120, 40, 5, 1, 32, ZOO_RELU, ZOO_RELU},
      {240, 80, 3, 2, 0, ZOO_HARD_SWISH, ZOO_RELU},    {200, 80, 3, 1, 0, ZOO_HARD_SWISH, ZOO_RELU},
      {184, 80, 3, 1, 0, ZOO_HARD_SWISH, ZOO_RELU},    {184, 80, 3, 1, 0, ZOO_HARD_SWISH, ZOO_RELU},
      {480, 112, 3, 1, 120, ZOO_HARD_SWISH, ZOO_RELU}, {672, 112, 3, 1, 168, ZOO_HARD_SWISH, ZOO_RELU},
      {672, 160, 5, 2, 168, ZOO_HARD_SWISH, ZOO_RELU}, {960, 160, 5, 1, 240, ZOO_HARD_SWISH, ZOO_RELU},
      {960, 160, 5, 1, 240, ZOO_HARD_SWISH, ZOO_RELU}};
  enum { BLOCKS = sizeof blocks / sizeof blocks[0] };
  hone_value *x = zoo_input(net, "input", HONE_F32, 4, image);
  x = zoo_conv(net, "features.0.0", x,
               &(zoo_conv_shape){.channels = 16, .kernel = 3, .stride = 2, .pad = 1, .gain = ZOO_LINEAR});
  x = zoo_unary(net, "hard_swish", "features.0.2", x);
  for (int i = 0; i < BLOCKS; ++i)
    x = zoo_inverted_residual(net, zoo_name(net, "features.%d.block", i + 1), x, &blocks[i]);
  x = zoo_conv(net, "features.16.0", x,
               &(zoo_conv_shape){.channels = 960, .kernel = 1, .stride = 1, .gain = ZOO_LINEAR});
  x = zoo_unary(net, "hard_swish", "features.16.2", x);
  x = zoo_unary(net, "global_average_pool", "avgpool", x);
  x = zoo_unary(net, "flatten", "flatten", x);
  x = zoo_unary(net, "hard_swish", "classifier.1", zoo_gemm(net, "classifier.0", x, 1280, ZOO_SWISH));
  zoo_output(net, "output", zoo_gemm(net, "classifier.3", x, 1000, ZOO_SWISH));
}
