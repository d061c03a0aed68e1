/* SPDX-License-Identifier: Apache-2.0 */
/* shufflenet_v2.c - ShuffleNetV2 at width 1.0 (Ma et al. 2018), batch normalisation folded. A unit works on one half of
 * the channels, and a shuffle then mixes the halves: Reshape, Transpose, Reshape. */
#include "zoo/zoo.h"

static hone_value *pointwise(zoo_net *net, const char *name, hone_value *x, int64_t channels, double gain) {
  x = zoo_conv(net, zoo_name(net, "%s.conv", name), x,
               &(zoo_conv_shape){.channels = channels, .kernel = 1, .stride = 1, .gain = gain});
  return zoo_unary(net, "relu", zoo_name(net, "%s.relu", name), x);
}

static hone_value *depthwise(zoo_net *net, const char *name, hone_value *x, int64_t stride) {
  const int64_t channels = zoo_extent(net, x, 1);
  return zoo_conv(
      net, name, x,
      &(zoo_conv_shape){
          .channels = channels, .kernel = 3, .stride = stride, .pad = 1, .groups = channels, .gain = ZOO_HE});
}

static hone_value *shuffle(zoo_net *net, const char *name, hone_value *x, int64_t channels, int64_t side) {
  static const int64_t perm[5] = {0, 2, 1, 3, 4};
  const int64_t apart[5] = {0, 2, channels / 2, side, side}, whole[4] = {0, channels, side, side}; /* 0: as it is */
  x = zoo_reshape(net, zoo_name(net, "%s/Reshape", name), x, 5, apart);
  x = zoo_transpose(net, zoo_name(net, "%s/Transpose", name), x, 5, perm);
  return zoo_reshape(net, zoo_name(net, "%s/Reshape_1", name), x, 4, whole);
}

static hone_value *unit(zoo_net *net, const char *name, hone_value *x, int64_t channels, int64_t stride) {
  const int64_t half[2] = {channels / 2, channels / 2};
  hone_value *part[2] = {x, x};
  if (stride == 1)
    zoo_split(net, zoo_name(net, "%s/Split", name), x, 1, 2, half, part);
  else
    part[0] = pointwise(net, zoo_name(net, "%s.branch1.2", name),
                        depthwise(net, zoo_name(net, "%s.branch1.0", name), x, stride), half[0], ZOO_LINEAR);
  hone_value *y = pointwise(net, zoo_name(net, "%s.branch2.0", name), part[1], half[1], ZOO_HE);
  y = depthwise(net, zoo_name(net, "%s.branch2.3", name), y, stride);
  part[1] = pointwise(net, zoo_name(net, "%s.branch2.5", name), y, half[1], ZOO_LINEAR);
  y = zoo_concat(net, zoo_name(net, "%s/Concat", name), 2, part, 1);
  return shuffle(net, name, y, channels, zoo_extent(net, y, 2));
}

void zoo_shufflenet_v2(zoo_net *net) {
  static const int64_t image[3] = {3, 224, 224}, channels[3] = {116, 232, 464}, axes[2] = {2, 3};
  static const int repeats[3] = {4, 8, 4};
  hone_value *x = zoo_input(net, "input", HONE_F32, 4, image);
  x = zoo_conv(net, "conv1", x,
               &(zoo_conv_shape){.channels = 24, .kernel = 3, .stride = 2, .pad = 1, .gain = ZOO_LINEAR});
  x = zoo_max_pool(net, "maxpool", zoo_unary(net, "relu", "relu", x), 3, 2, 1, false);
  for (int stage = 0; stage < 3; ++stage)
    for (int i = 0; i < repeats[stage]; ++i)
      x = unit(net, zoo_name(net, "stage%d.%d", stage + 2, i), x, channels[stage], i == 0 ? 2 : 1);
  x = pointwise(net, "conv5", x, 1024, ZOO_HE);
  hone_value *in[2] = {x, zoo_ints(net, "mean.axes", 1, 2, axes)};
  const hone_attr squeeze = {.name = "keepdims", .kind = HONE_ATTR_INT, .i = 0};
  x = zoo_node(net, "reduce_mean", "ReduceMean", 2, in, 1, &squeeze);
  zoo_output(net, "output", zoo_gemm(net, "fc", x, 1000, ZOO_HE));
}
