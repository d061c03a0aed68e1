/* SPDX-License-Identifier: Apache-2.0 */
/* efficientnet_b0.c - EfficientNet-B0 (Tan and Le 2019), batch normalisation folded; a SiLU is a Sigmoid and a Mul. */
#include "zoo/zoo.h"

typedef struct stage {
  int64_t expansion, channels, repeats, kernel, stride;
} stage;

void zoo_efficientnet_b0(zoo_net *net) {
  static const int64_t image[3] = {3, 224, 224};
  static const stage stages[] = {{1, 16, 1, 3, 1},  {6, 24, 2, 3, 2},  {6, 40, 2, 5, 2}, {6, 80, 3, 3, 2},
                                 {6, 112, 3, 5, 1}, {6, 192, 4, 5, 2}, {6, 320, 1, 3, 1}};
  enum { STAGES = sizeof stages / sizeof stages[0] };
  hone_value *x = zoo_input(net, "input", HONE_F32, 4, image);
  x = zoo_conv(net, "features.0.0", x,
               &(zoo_conv_shape){.channels = 32, .kernel = 3, .stride = 2, .pad = 1, .gain = ZOO_LINEAR});
  x = zoo_silu(net, "features.0.2", x);
  for (int s = 0; s < STAGES; ++s)
    for (int64_t r = 0; r < stages[s].repeats; ++r) {
      const int64_t inputs = zoo_extent(net, x, 1);
      const zoo_inverted block = {.hidden = inputs * stages[s].expansion,
                                  .channels = stages[s].channels,
                                  .kernel = stages[s].kernel,
                                  .stride = r == 0 ? stages[s].stride : 1,
                                  .squeezed = inputs / 4,
                                  .act = ZOO_SILU,
                                  .gate_act = ZOO_SILU};
      x = zoo_inverted_residual(net, zoo_name(net, "features.%d.%d.block", s + 1, (int)r), x, &block);
    }
  x = zoo_conv(net, "features.8.0", x,
               &(zoo_conv_shape){.channels = 1280, .kernel = 1, .stride = 1, .gain = ZOO_LINEAR});
  x = zoo_silu(net, "features.8.2", x);
  x = zoo_unary(net, "global_average_pool", "avgpool", x);
  x = zoo_unary(net, "flatten", "flatten", x);
  zoo_output(net, "output", zoo_gemm(net, "classifier.1", x, 1000, ZOO_SWISH));
}
