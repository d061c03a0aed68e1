/* SPDX-License-Identifier: Apache-2.0 */
/* resnet18.c - ResNet-18 (He et al. 2016), batch normalisation folded. */
#include "zoo/zoo.h"

static const double damping = 1.0 / 8; /* eight blocks are added to the stream */

static hone_value *basic_block(zoo_net *net, const char *name, hone_value *x, int64_t channels, int64_t stride) {
  hone_value *skip = x;
  hone_value *y =
      zoo_conv(net, zoo_name(net, "%s.conv1", name), x,
               &(zoo_conv_shape){.channels = channels, .kernel = 3, .stride = stride, .pad = 1, .gain = ZOO_HE});
  y = zoo_unary(net, "relu", zoo_name(net, "%s.relu", name), y);
  y = zoo_conv(net, zoo_name(net, "%s.conv2", name), y,
               &(zoo_conv_shape){.channels = channels, .kernel = 3, .stride = 1, .pad = 1, .gain = ZOO_HE * damping});
  if (stride != 1)
    skip = zoo_conv(net, zoo_name(net, "%s.downsample.0", name), x,
                    &(zoo_conv_shape){.channels = channels, .kernel = 1, .stride = stride, .gain = ZOO_HE});
  y = zoo_binary(net, "add", zoo_name(net, "%s/Add", name), y, skip);
  return zoo_unary(net, "relu", zoo_name(net, "%s.relu_1", name), y);
}

void zoo_resnet18(zoo_net *net) {
  static const int64_t image[3] = {3, 224, 224};
  hone_value *x = zoo_input(net, "input", HONE_F32, 4, image);
  x = zoo_conv(net, "conv1", x,
               &(zoo_conv_shape){.channels = 64, .kernel = 7, .stride = 2, .pad = 3, .gain = ZOO_LINEAR});
  x = zoo_unary(net, "relu", "relu", x);
  x = zoo_max_pool(net, "maxpool", x, 3, 2, 1, false);
  for (int stage = 0; stage < 4; ++stage)
    for (int block = 0; block < 2; ++block)
      x = basic_block(net, zoo_name(net, "layer%d.%d", stage + 1, block), x, (int64_t)64 << stage,
                      stage > 0 && block == 0 ? 2 : 1);
  x = zoo_unary(net, "global_average_pool", "avgpool", x);
  x = zoo_unary(net, "flatten", "flatten", x);
  zoo_output(net, "output", zoo_gemm(net, "fc", x, 1000, ZOO_LINEAR));
}
