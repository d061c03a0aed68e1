/* SPDX-License-Identifier: Apache-2.0 */
/* transformer.c - attention and MLP blocks (Vaswani et al. 2017), as exporters write them: plain MatMul, Add, Reshape,
 * Transpose and Softmax nodes, for the passes to recognise. */
#include "zoo/zoo.h"
#include <math.h>

static hone_value *split_heads(zoo_net *net, const char *name, const zoo_attention *shape, hone_value *x,
                               const int64_t *perm) {
  const int64_t dims[4] = {0, shape->tokens, shape->heads, shape->width / shape->heads}; /* 0: as it is */
  hone_value *heads = zoo_reshape(net, zoo_name(net, "%s/Reshape", name), x, 4, dims);
  return zoo_transpose(net, zoo_name(net, "%s/Transpose", name), heads, 4, perm);
}

hone_value *zoo_attend(zoo_net *net, const char *name, const zoo_attention *shape, hone_value *q, hone_value *k,
                       hone_value *v, hone_value *mask) {
  static const int64_t by_head[4] = {0, 2, 1, 3}, by_head_transposed[4] = {0, 2, 3, 1};
  hone_value *queries = split_heads(net, zoo_name(net, "%s.query", name), shape, q, by_head);
  hone_value *keys = split_heads(net, zoo_name(net, "%s.key", name), shape, k, by_head_transposed);
  hone_value *values = split_heads(net, zoo_name(net, "%s.value", name), shape, v, by_head);
  hone_value *scores = zoo_binary(net, "matmul", zoo_name(net, "%s/MatMul", name), queries, keys);
  hone_value *root = zoo_scalar(net, zoo_name(net, "%s.root", name), sqrt((double)shape->width / (double)shape->heads));
  scores = zoo_binary(net, "div", zoo_name(net, "%s/Div", name), scores, root);
  if (mask) scores = zoo_binary(net, "add", zoo_name(net, "%s/Add", name), scores, mask);
  const hone_attr last = {.name = "axis", .kind = HONE_ATTR_INT, .i = -1};
  hone_value *weights = zoo_node(net, "softmax", zoo_name(net, "%s/Softmax", name), 1, &scores, 1, &last);
  hone_value *mixed = zoo_binary(net, "matmul", zoo_name(net, "%s/MatMul_1", name), weights, values);
  hone_value *merged = zoo_transpose(net, zoo_name(net, "%s/Transpose", name), mixed, 4, by_head);
  const int64_t dims[3] = {0, shape->tokens, shape->width};
  return zoo_reshape(net, zoo_name(net, "%s/Reshape", name), merged, 3, dims);
}

hone_value *zoo_mlp(zoo_net *net, const char *name, hone_value *x, int64_t hidden, double damping) {
  const int64_t width = zoo_extent(net, x, -1);
  hone_value *wide = zoo_matmul_add(net, zoo_name(net, "%s.fc1", name), x, hidden, ZOO_LINEAR);
  hone_value *active = zoo_gelu(net, zoo_name(net, "%s.gelu", name), wide);
  return zoo_matmul_add(net, zoo_name(net, "%s.fc2", name), active, width, ZOO_HE * damping);
}
