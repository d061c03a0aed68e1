/* SPDX-License-Identifier: Apache-2.0 */
/* unet32.c - U-Net (Ronneberger et al. 2015) of 32 base channels and four levels with padded convolutions, as it is
 * used for segmenting brain scans (Buda et al. 2019); batch normalisation folded. */
#include "zoo/zoo.h"

enum { BASE = 32, LEVELS = 4 };

static hone_value *double_conv(zoo_net *net, const char *name, hone_value *x, int64_t channels, double gain) {
  for (int i = 1; i <= 2; ++i) {
    x = zoo_conv(
        net, zoo_name(net, "%s.conv%d", name, i), x,
        &(zoo_conv_shape){.channels = channels, .kernel = 3, .stride = 1, .pad = 1, .gain = i == 1 ? gain : ZOO_HE});
    x = zoo_unary(net, "relu", zoo_name(net, "%s.relu%d", name, i), x);
  }
  return x;
}

void zoo_unet32(zoo_net *net) {
  static const int64_t image[3] = {3, 256, 256};
  hone_value *skip[LEVELS];
  hone_value *x = zoo_input(net, "input", HONE_F32, 4, image);
  for (int level = 0; level < LEVELS; ++level) {
    skip[level] = double_conv(net, zoo_name(net, "encoder%d", level + 1), x, (int64_t)BASE << level,
                              level ? 0.5 * ZOO_HE : ZOO_LINEAR); /* a maximum of four is larger than one of them */
    x = zoo_max_pool(net, zoo_name(net, "pool%d", level + 1), skip[level], 2, 2, 0, false);
  }
  x = double_conv(net, "bottleneck", x, (int64_t)BASE << LEVELS, 0.5 * ZOO_HE);
  for (int level = LEVELS - 1; level >= 0; --level) {
    x = zoo_conv_transpose(net, zoo_name(net, "upconv%d", level + 1), x, (int64_t)BASE << level, 2, 0.5 * ZOO_HE);
    hone_value *both[2] = {x, skip[level]};
    x = zoo_concat(net, zoo_name(net, "Concat%d", level + 1), 2, both, 1);
    x = double_conv(net, zoo_name(net, "decoder%d", level + 1), x, (int64_t)BASE << level, ZOO_HE);
  }
  x = zoo_conv(net, "conv", x, &(zoo_conv_shape){.channels = 1, .kernel = 1, .stride = 1, .gain = ZOO_HE});
  zoo_output(net, "output", zoo_unary(net, "sigmoid", "Sigmoid", x));
}
