/* SPDX-License-Identifier: Apache-2.0 */
/* resnet50.c - ResNet-50 (He et al. 2016, version 1.5: the stride sits in the 3x3 convolution), batch normalisation
 * kept as nodes, so that passes have something to fuse. */
#include "zoo/zoo.h"

static hone_value *conv_norm(zoo_net *net, const char *conv, const char *norm, hone_value *x, zoo_conv_shape shape,
                             double scale) {
  shape.no_bias = true;
  return zoo_batch_norm(net, norm, zoo_conv(net, conv, x, &shape), scale);
}

static hone_value *bottleneck(zoo_net *net, int stage, int block, hone_value *x, int64_t width, int64_t stride) {
  const char *prefix = zoo_name(net, "layer%d.%d", stage, block);
  hone_value *skip = x;
  hone_value *y = conv_norm(net, zoo_name(net, "%s.conv1", prefix), zoo_name(net, "%s.bn1", prefix), x,
                            (zoo_conv_shape){.channels = width, .kernel = 1, .stride = 1, .gain = ZOO_HE}, 1);
  y = zoo_unary(net, "relu", zoo_name(net, "%s.relu1", prefix), y);
  prefix = zoo_name(net, "layer%d.%d", stage, block); /* names live in a ring */
  y = conv_norm(net, zoo_name(net, "%s.conv2", prefix), zoo_name(net, "%s.bn2", prefix), y,
                (zoo_conv_shape){.channels = width, .kernel = 3, .stride = stride, .pad = 1, .gain = ZOO_HE}, 1);
  y = zoo_unary(net, "relu", zoo_name(net, "%s.relu2", prefix), y);
  prefix = zoo_name(net, "layer%d.%d", stage, block);
  y = conv_norm(net, zoo_name(net, "%s.conv3", prefix), zoo_name(net, "%s.bn3", prefix), y,
                (zoo_conv_shape){.channels = 4 * width, .kernel = 1, .stride = 1, .gain = ZOO_HE}, 0.5);
  if (block == 0)
    skip = conv_norm(net, zoo_name(net, "%s.downsample.0", prefix), zoo_name(net, "%s.downsample.1", prefix), x,
                     (zoo_conv_shape){.channels = 4 * width, .kernel = 1, .stride = stride, .gain = ZOO_HE}, 0.8);
  y = zoo_binary(net, "add", zoo_name(net, "layer%d.%d.add", stage, block), y, skip);
  return zoo_unary(net, "relu", zoo_name(net, "layer%d.%d.relu3", stage, block), y);
}

void zoo_resnet50(zoo_net *net) {
  static const int64_t image[3] = {3, 224, 224};
  static const int blocks[4] = {3, 4, 6, 3};
  hone_value *x = zoo_input(net, "input", HONE_F32, 4, image);
  x = conv_norm(net, "conv1", "bn1", x,
                (zoo_conv_shape){.channels = 64, .kernel = 7, .stride = 2, .pad = 3, .gain = ZOO_LINEAR}, 1);
  x = zoo_unary(net, "relu", "relu", x);
  x = zoo_max_pool(net, "maxpool", x, 3, 2, 1, false);
  for (int stage = 0; stage < 4; ++stage)
    for (int block = 0; block < blocks[stage]; ++block)
      x = bottleneck(net, stage + 1, block, x, (int64_t)64 << stage, block == 0 && stage > 0 ? 2 : 1);
  x = zoo_unary(net, "global_average_pool", "avgpool", x);
  x = zoo_unary(net, "flatten", "flatten", x);
  zoo_output(net, "output", zoo_gemm(net, "fc", x, 1000, ZOO_LINEAR));
}
