/* SPDX-License-Identifier: Apache-2.0 */
/* lenet5.c - LeNet-5 (LeCun et al. 1998) in today's form: ReLU and max pooling. Small enough for quick trials. */
#include "zoo/zoo.h"

void zoo_lenet5(zoo_net *net) {
  static const int64_t image[3] = {1, 32, 32};
  hone_value *x = zoo_input(net, "input", HONE_F32, 4, image);
  x = zoo_conv(net, "conv1", x, &(zoo_conv_shape){.channels = 6, .kernel = 5, .stride = 1, .gain = ZOO_LINEAR});
  x = zoo_max_pool(net, "pool1", zoo_unary(net, "relu", "relu1", x), 2, 2, 0, false);
  x = zoo_conv(net, "conv2", x, &(zoo_conv_shape){.channels = 16, .kernel = 5, .stride = 1, .gain = ZOO_HE});
  x = zoo_max_pool(net, "pool2", zoo_unary(net, "relu", "relu2", x), 2, 2, 0, false);
  x = zoo_unary(net, "flatten", "flatten", x);
  x = zoo_unary(net, "relu", "relu3", zoo_gemm(net, "fc1", x, 120, ZOO_HE));
  x = zoo_unary(net, "relu", "relu4", zoo_gemm(net, "fc2", x, 84, ZOO_HE));
  x = zoo_gemm(net, "fc3", x, 10, ZOO_HE);
  const hone_attr last = {.name = "axis", .kind = HONE_ATTR_INT, .i = -1};
  zoo_output(net, "output", zoo_node(net, "softmax", "softmax", 1, &x, 1, &last));
}
