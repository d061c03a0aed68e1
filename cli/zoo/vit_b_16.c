/* SPDX-License-Identifier: Apache-2.0 */
/* vit_b_16.c - Vision Transformer B/16 at 224 x 224 (Dosovitskiy et al. 2021). */
#include "zoo/zoo.h"
#include <stdio.h>

enum { WIDTH = 768, LAYERS = 12, HEADS = 12, PATCHES = 196, HIDDEN = 3072 };
static const double damping = 1.0 / (2 * LAYERS); /* two branches a layer are added to the stream */

/* The class token once for each image. */
static hone_value *class_tokens(zoo_net *net, hone_value *patches) {
  static const int64_t one[3] = {1, 1, WIDTH};
  hone_value *token = zoo_weight(net, "class_token", "", 3, one, 0, 0.5);
  if (!net->options.dynamic && net->options.batch == 1) return token;
  const int64_t zero = 0, ends = 1;
  hone_value *shape = zoo_unary(net, "shape", "class_token/Shape", patches);
  hone_value *range[3] = {shape, zoo_ints(net, "class_token.first", 1, 1, &zero),
                          zoo_ints(net, "class_token.last", 1, 1, &ends)};
  hone_value *batch = zoo_node(net, "slice", "class_token/Slice", 3, range, 0, NULL);
  hone_value *parts[2] = {batch, zoo_ints(net, "class_token.rest", 1, 2, &one[1])};
  return zoo_binary(net, "expand", "class_token/Expand", token, zoo_concat(net, "class_token/Concat", 2, parts, 0));
}

/* One of query, key and value from the packed projection. */
static hone_value *third(zoo_net *net, const char *name, hone_value *packed, int which) {
  static const char *const names[3] = {"q", "k", "v"};
  const int64_t first = (int64_t)which * WIDTH, last = first + WIDTH, axis = 2;
  hone_value *in[4] = {packed, zoo_ints(net, zoo_name(net, "%s.%s_first", name, names[which]), 1, 1, &first),
                       zoo_ints(net, zoo_name(net, "%s.%s_last", name, names[which]), 1, 1, &last),
                       zoo_ints(net, zoo_name(net, "%s.%s_axis", name, names[which]), 1, 1, &axis)};
  return zoo_node(net, "slice", zoo_name(net, "%s.%s/Slice", name, names[which]), 4, in, 0, NULL);
}

static hone_value *encoder_layer(zoo_net *net, int layer, hone_value *x) {
  static const zoo_attention shape = {.width = WIDTH, .heads = HEADS, .tokens = PATCHES + 1};
  char name[64], attention[96];
  (void)snprintf(name, sizeof name, "encoder.layers.%d", layer);
  (void)snprintf(attention, sizeof attention, "%s.self_attention", name);
  hone_value *y = zoo_layer_norm(net, zoo_name(net, "%s.ln_1", name), x, 1e-6);
  hone_value *packed = zoo_matmul_add(net, zoo_name(net, "%s.in_proj", attention), y, (int64_t)3 * WIDTH, ZOO_LINEAR);
  hone_value *part[3];
  for (int i = 0; i < 3; ++i) part[i] = third(net, attention, packed, i);
  y = zoo_attend(net, attention, &shape, part[0], part[1], part[2], NULL);
  y = zoo_matmul_add(net, zoo_name(net, "%s.out_proj", attention), y, WIDTH, ZOO_LINEAR * damping);
  x = zoo_binary(net, "add", zoo_name(net, "%s/Add", name), x, y);
  y = zoo_layer_norm(net, zoo_name(net, "%s.ln_2", name), x, 1e-6);
  (void)snprintf(attention, sizeof attention, "%s.mlp", name);
  y = zoo_mlp(net, attention, y, HIDDEN, damping);
  return zoo_binary(net, "add", zoo_name(net, "%s/Add_1", name), x, y);
}

void zoo_vit_b_16(zoo_net *net) {
  static const int64_t image[3] = {3, 224, 224}, flat[3] = {0, WIDTH, PATCHES}, perm[3] = {0, 2, 1};
  static const int64_t positions[3] = {1, PATCHES + 1, WIDTH}, zero = 0;
  hone_value *x = zoo_input(net, "input", HONE_F32, 4, image);
  x = zoo_conv(net, "conv_proj", x,
               &(zoo_conv_shape){.channels = WIDTH, .kernel = 16, .stride = 16, .gain = ZOO_LINEAR});
  x = zoo_transpose(net, "patches/Transpose", zoo_reshape(net, "patches/Reshape", x, 3, flat), 3, perm);
  hone_value *tokens[2] = {class_tokens(net, x), x};
  x = zoo_concat(net, "tokens/Concat", 2, tokens, 1);
  x = zoo_binary(net, "add", "encoder/Add", x, zoo_weight(net, "encoder.pos_embedding", "", 3, positions, 0, 0.5));
  for (int layer = 0; layer < LAYERS; ++layer) x = encoder_layer(net, layer, x);
  x = zoo_layer_norm(net, "encoder.ln", x, 1e-6);
  const hone_attr axis = {.name = "axis", .kind = HONE_ATTR_INT, .i = 1};
  hone_value *first[2] = {x, zoo_ints(net, "class_index", 0, 1, &zero)};
  x = zoo_node(net, "gather", "class_token/Gather", 2, first, 1, &axis);
  zoo_output(net, "output", zoo_gemm(net, "heads.head", x, 1000, ZOO_LINEAR));
}
