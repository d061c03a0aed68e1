/* SPDX-License-Identifier: Apache-2.0 */
/* resnet50.c - ResNet-50 (He et al. 2016, version 1.5: the stride sits in the 3x3 convolution), batch normalisation
 * kept as nodes, so that passes have something to fuse. */
#include "zoo/zoo.h"

/* The mean square of the residual stream is followed through the network, so that each normalisation gets a variance
 * like the one that its input has: a convolution with He's weights doubles the mean square of its input. */
typedef struct stream {
  hone_value *x;
  double mean_square;
} stream;

static hone_value *conv_norm(zoo_net *net, const char *conv, const char *norm, const stream *in, zoo_conv_shape shape,
                             double scale) {
  shape.no_bias = true;
  hone_value *y = zoo_conv(net, conv, in->x, &shape);
  return zoo_batch_norm(net, norm, y, shape.gain * in->mean_square, scale);
}

static const char *part(zoo_net *net, int stage, int block, const char *name) {
  return zoo_name(net, "layer%d.%d.%s", stage, block, name);
}

static stream bottleneck(zoo_net *net, int stage, int block, stream in, int64_t width, int64_t stride) {
  stream y = in, skip = in;
  y.x = conv_norm(net, part(net, stage, block, "conv1"), part(net, stage, block, "bn1"), &y,
                  (zoo_conv_shape){.channels = width, .kernel = 1, .stride = 1, .gain = ZOO_HE}, 1);
  y = (stream){zoo_unary(net, "relu", part(net, stage, block, "relu1"), y.x), 0.5};
  y.x = conv_norm(net, part(net, stage, block, "conv2"), part(net, stage, block, "bn2"), &y,
                  (zoo_conv_shape){.channels = width, .kernel = 3, .stride = stride, .pad = 1, .gain = ZOO_HE}, 1);
  y = (stream){zoo_unary(net, "relu", part(net, stage, block, "relu2"), y.x), 0.5};
  y.x = conv_norm(net, part(net, stage, block, "conv3"), part(net, stage, block, "bn3"), &y,
                  (zoo_conv_shape){.channels = 4 * width, .kernel = 1, .stride = 1, .gain = ZOO_HE}, 0.5);
  if (block == 0) {
    skip.x = conv_norm(net, part(net, stage, block, "downsample.0"), part(net, stage, block, "downsample.1"), &in,
                       (zoo_conv_shape){.channels = 4 * width, .kernel = 1, .stride = stride, .gain = ZOO_HE}, 0.8);
    skip.mean_square = 0.64 / 2;
  }
  y.x = zoo_binary(net, "add", part(net, stage, block, "add"), y.x, skip.x);
  return (stream){zoo_unary(net, "relu", part(net, stage, block, "relu3"), y.x), skip.mean_square + 0.25 / 2};
}

void zoo_resnet50(zoo_net *net) {
  static const int64_t image[3] = {3, 224, 224};
  static const int blocks[4] = {3, 4, 6, 3};
  stream s = {zoo_input(net, "input", HONE_F32, 4, image), 1};
  s.x = conv_norm(net, "conv1", "bn1", &s,
                  (zoo_conv_shape){.channels = 64, .kernel = 7, .stride = 2, .pad = 3, .gain = ZOO_LINEAR}, 1);
  s.x = zoo_unary(net, "relu", "relu", s.x);
  s = (stream){zoo_max_pool(net, "maxpool", s.x, 3, 2, 1, false), 1.5};
  for (int stage = 0; stage < 4; ++stage)
    for (int block = 0; block < blocks[stage]; ++block)
      s = bottleneck(net, stage + 1, block, s, (int64_t)64 << stage, block == 0 && stage > 0 ? 2 : 1);
  hone_value *x = zoo_unary(net, "global_average_pool", "avgpool", s.x);
  x = zoo_unary(net, "flatten", "flatten", x);
  zoo_output(net, "output", zoo_gemm(net, "fc", x, 1000, ZOO_LINEAR));
}
