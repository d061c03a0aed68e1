/* SPDX-License-Identifier: Apache-2.0 */
/* encoder6.c - the body of a small sentence encoder: 6 transformer layers of width 384 with 12 heads, normalised after
 * each residual as in BERT (Devlin et al. 2019), on 128 embedded tokens. */
#include "zoo/zoo.h"
#include <stdio.h>

enum { WIDTH = 384, LAYERS = 6, HEADS = 12, TOKENS = 128, HIDDEN = 1536 };

static hone_value *encoder_layer(zoo_net *net, int layer, hone_value *x) {
  static const zoo_attention shape = {.width = WIDTH, .heads = HEADS, .tokens = TOKENS};
  char name[64], attention[96];
  (void)snprintf(name, sizeof name, "layer.%d", layer);
  (void)snprintf(attention, sizeof attention, "%s.attention", name);
  hone_value *q = zoo_matmul_add(net, zoo_name(net, "%s.query", attention), x, WIDTH, ZOO_LINEAR);
  hone_value *k = zoo_matmul_add(net, zoo_name(net, "%s.key", attention), x, WIDTH, ZOO_LINEAR);
  hone_value *v = zoo_matmul_add(net, zoo_name(net, "%s.value", attention), x, WIDTH, ZOO_LINEAR);
  hone_value *y = zoo_attend(net, attention, &shape, q, k, v, NULL);
  y = zoo_matmul_add(net, zoo_name(net, "%s.dense", attention), y, WIDTH, ZOO_LINEAR);
  x = zoo_binary(net, "add", zoo_name(net, "%s/Add", attention), y, x);
  x = zoo_layer_norm(net, zoo_name(net, "%s.LayerNorm", attention), x, 1e-12);
  y = zoo_mlp(net, name, x, HIDDEN, 0.5);
  x = zoo_binary(net, "add", zoo_name(net, "%s/Add", name), y, x);
  return zoo_layer_norm(net, zoo_name(net, "%s.LayerNorm", name), x, 1e-12);
}

void zoo_encoder6(zoo_net *net) {
  static const int64_t tokens[2] = {TOKENS, WIDTH};
  hone_value *x = zoo_input(net, "input", HONE_F32, 3, tokens);
  for (int layer = 0; layer < LAYERS; ++layer) x = encoder_layer(net, layer, x);
  zoo_output(net, "output", x);
}
