/* SPDX-License-Identifier: Apache-2.0 */
/* bert_base.c - BERT base, uncased vocabulary, 128 tokens (Devlin et al. 2019), with pooler. */
#include "zoo/zoo.h"
#include <stdio.h>

enum { WIDTH = 768, LAYERS = 12, HEADS = 12, TOKENS = 128, HIDDEN = 3072, WORDS = 30522, POSITIONS = 512 };

static hone_value *embeddings(zoo_net *net, hone_value *words, hone_value *kinds) {
  static const int64_t word_dims[2] = {WORDS, WIDTH}, place_dims[2] = {POSITIONS, WIDTH}, kind_dims[2] = {2, WIDTH};
  static const int64_t first = 0, last = TOKENS;
  hone_value *word = zoo_binary(net, "gather", "embeddings.word/Gather",
                                zoo_weight(net, "embeddings.word", ".weight", 2, word_dims, 0, 1), words);
  hone_value *place[3] = {zoo_weight(net, "embeddings.position", ".weight", 2, place_dims, 0, 0.5),
                          zoo_ints(net, "embeddings.first", 1, 1, &first),
                          zoo_ints(net, "embeddings.last", 1, 1, &last)};
  hone_value *position = zoo_node(net, "slice", "embeddings.position/Slice", 3, place, 0, NULL);
  hone_value *kind = zoo_binary(net, "gather", "embeddings.token_type/Gather",
                                zoo_weight(net, "embeddings.token_type", ".weight", 2, kind_dims, 0, 0.5), kinds);
  hone_value *sum = zoo_binary(net, "add", "embeddings/Add", word, kind);
  sum = zoo_binary(net, "add", "embeddings/Add_1", sum, position);
  return zoo_layer_norm(net, "embeddings.LayerNorm", sum, 1e-12);
}

/* 0 where the mask is 1, -10000 where it is 0, as [N, 1, 1, TOKENS]. */
static hone_value *score_mask(zoo_net *net, hone_value *mask) {
  static const int64_t axes[2] = {1, 2};
  const hone_attr to = {.name = "to", .kind = HONE_ATTR_INT, .i = 1 /* FLOAT */};
  hone_value *in[2] = {mask, zoo_ints(net, "mask.axes", 1, 2, axes)};
  hone_value *wide = zoo_node(net, "unsqueeze", "mask/Unsqueeze", 2, in, 0, NULL);
  hone_value *real = zoo_node(net, "cast", "mask/Cast", 1, &wide, 1, &to);
  hone_value *rest = zoo_binary(net, "sub", "mask/Sub", zoo_scalar(net, "mask.one", 1), real);
  return zoo_binary(net, "mul", "mask/Mul", rest, zoo_scalar(net, "mask.low", -10000));
}

static hone_value *encoder_layer(zoo_net *net, int layer, hone_value *x, hone_value *mask) {
  static const zoo_attention shape = {.width = WIDTH, .heads = HEADS, .tokens = TOKENS};
  char name[64], attention[96];
  (void)snprintf(name, sizeof name, "encoder.layer.%d", layer);
  (void)snprintf(attention, sizeof attention, "%s.attention.self", name);
  hone_value *q = zoo_matmul_add(net, zoo_name(net, "%s.query", attention), x, WIDTH, ZOO_LINEAR);
  hone_value *k = zoo_matmul_add(net, zoo_name(net, "%s.key", attention), x, WIDTH, ZOO_LINEAR);
  hone_value *v = zoo_matmul_add(net, zoo_name(net, "%s.value", attention), x, WIDTH, ZOO_LINEAR);
  hone_value *y = zoo_attend(net, attention, &shape, q, k, v, mask);
  y = zoo_matmul_add(net, zoo_name(net, "%s.attention.output.dense", name), y, WIDTH, ZOO_LINEAR);
  x = zoo_binary(net, "add", zoo_name(net, "%s.attention.output/Add", name), x, y);
  x = zoo_layer_norm(net, zoo_name(net, "%s.attention.output.LayerNorm", name), x, 1e-12);
  y = zoo_mlp(net, name, x, HIDDEN, 0.5);
  x = zoo_binary(net, "add", zoo_name(net, "%s.output/Add", name), x, y);
  return zoo_layer_norm(net, zoo_name(net, "%s.output.LayerNorm", name), x, 1e-12);
}

void zoo_bert_base(zoo_net *net) {
  static const int64_t tokens = TOKENS, zero = 0;
  hone_value *words = zoo_input(net, "input_ids", HONE_I64, 2, &tokens);
  hone_value *mask = zoo_input(net, "attention_mask", HONE_I64, 2, &tokens);
  hone_value *kinds = zoo_input(net, "token_type_ids", HONE_I64, 2, &tokens);
  hone_value *x = embeddings(net, words, kinds);
  mask = score_mask(net, mask);
  for (int layer = 0; layer < LAYERS; ++layer) x = encoder_layer(net, layer, x, mask);
  zoo_output(net, "last_hidden_state", x);
  const hone_attr axis = {.name = "axis", .kind = HONE_ATTR_INT, .i = 1};
  hone_value *in[2] = {x, zoo_ints(net, "pooler.index", 0, 1, &zero)};
  hone_value *first = zoo_node(net, "gather", "pooler/Gather", 2, in, 1, &axis);
  zoo_output(net, "pooler_output",
             zoo_unary(net, "tanh", "pooler.activation", zoo_gemm(net, "pooler.dense", first, WIDTH, ZOO_LINEAR)));
}
