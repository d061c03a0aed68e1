/* SPDX-License-Identifier: Apache-2.0 */
/* decoder.c - a language model like Llama (Touvron et al. 2023): RMSNorm before each part, queries and keys turned by
 * their positions, groups of query heads on one key head, a gated MLP. As exporters for ONNX Runtime write it: caches
 * as inputs past_key_values.N and outputs present.N, whose lengths the attention mask says. */
#include "zoo/zoo.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { CAST_TO_I32 = 6 };

typedef struct decoder {
  const zoo_decoder *shape;
  int64_t head_size;
  hone_value *last, *total, *cos, *sin; /* of each batch's last token; of all keys; the angles */
} decoder;

static hone_value *add_input(zoo_net *net, const char *name, hone_dtype dtype, int rank, const int64_t *dims,
                             const char *const *names) {
  hone_value *value = NULL;
  if (net->status == HONE_OK) net->status = hone_graph_add_input(net->graph, name, dtype, rank, dims, names, &value);
  return value;
}

static int64_t batch_of(const zoo_net *net) { return net->options.dynamic ? -1 : net->options.batch; }

static hone_value *cast(zoo_net *net, const char *name, hone_value *x) {
  const hone_attr to = {.name = "to", .kind = HONE_ATTR_INT, .i = CAST_TO_I32};
  return zoo_node(net, "cast", name, 1, &x, 1, &to);
}

/* What GroupQueryAttention wants to know of the mask, which has a column for every key: sums of its rows less one, and
 * how many columns it has. */
static void read_mask(zoo_net *net, decoder *d, hone_value *mask) {
  static const int64_t one = 1;
  const hone_attr keep = {.name = "keepdims", .kind = HONE_ATTR_INT, .i = 0};
  hone_value *axis = zoo_ints(net, "mask.axis", 1, 1, &one), *index = zoo_ints(net, "mask.one", 0, 1, &one);
  hone_value *sum = zoo_node(net, "reduce_sum", "mask/ReduceSum", 2, (hone_value *[]){mask, axis}, 1, &keep);
  d->last = cast(net, "mask/Cast", zoo_binary(net, "sub", "mask/Sub", sum, index));
  hone_value *extents = zoo_unary(net, "shape", "mask/Shape", mask);
  d->total = cast(net, "mask/Cast_1", zoo_binary(net, "gather", "mask/Gather", extents, index));
}

/* cos and sin of place / 10000^(2 i / size), [positions, size / 2]. */
static void make_angles(zoo_net *net, decoder *d) {
  const int64_t half = d->head_size / 2, dims[2] = {d->shape->positions, half};
  float *cosines = calloc((size_t)(dims[0] * half), sizeof *cosines),
        *sines = calloc((size_t)(dims[0] * half), sizeof *sines);
  for (int64_t at = 0; cosines && sines && at < dims[0] * half; ++at) {
    const double angle = (double)(at / half) * pow(10000, -(double)(at % half) / (double)half);
    cosines[at] = (float)cos(angle);
    sines[at] = (float)sin(angle);
  }
  if ((!cosines || !sines) && net->status == HONE_OK)
    net->status = hone_fail(hone_context_diagnostics(net->context), HONE_NO_MEMORY, "out of memory for the angles");
  d->cos = zoo_floats(net, "cos_cache", 2, dims, cosines);
  d->sin = zoo_floats(net, "sin_cache", 2, dims, sines);
  free(cosines);
  free(sines);
}

/* x / sqrt(mean(x^2) + epsilon) * weight, in the nodes that exporters write. */
static hone_value *rms_norm(zoo_net *net, const char *name, hone_value *x) {
  static const int64_t last = -1;
  const int64_t width = zoo_extent(net, x, -1);
  const hone_attr keep = {.name = "keepdims", .kind = HONE_ATTR_INT, .i = 1};
  hone_value *square =
      zoo_binary(net, "pow", zoo_name(net, "%s/Pow", name), x, zoo_scalar(net, zoo_name(net, "%s.two", name), 2));
  hone_value *in[2] = {square, zoo_ints(net, zoo_name(net, "%s.axis", name), 1, 1, &last)};
  hone_value *mean = zoo_node(net, "reduce_mean", zoo_name(net, "%s/ReduceMean", name), 2, in, 1, &keep);
  mean = zoo_binary(net, "add", zoo_name(net, "%s/Add", name), mean,
                    zoo_scalar(net, zoo_name(net, "%s.epsilon", name), 1e-5));
  hone_value *root = zoo_unary(net, "sqrt", zoo_name(net, "%s/Sqrt", name), mean);
  x = zoo_binary(net, "div", zoo_name(net, "%s/Div", name), x, root);
  return zoo_binary(net, "mul", zoo_name(net, "%s/Mul", name), x, zoo_weight(net, name, ".weight", 1, &width, 1, 0.1));
}

static hone_value *project(zoo_net *net, const char *name, hone_value *x, int64_t outputs, double gain) {
  const int64_t dims[2] = {zoo_extent(net, x, -1), outputs};
  hone_value *w = zoo_weight(net, name, ".weight", 2, dims, 0, sqrt(3 * gain / (double)dims[0]));
  return zoo_binary(net, "matmul", zoo_name(net, "%s/MatMul", name), x, w);
}

static hone_value *attend(zoo_net *net, const decoder *d, int layer, const char *name, hone_value *x) {
  const zoo_decoder *shape = d->shape;
  const int64_t width = shape->heads * d->head_size, kv_width = shape->kv_heads * d->head_size,
                cache[4] = {batch_of(net), shape->kv_heads, -1, d->head_size};
  static const char *const names[4] = {"batch_size", NULL, "past_sequence_length", NULL};
  hone_value *past[2], *out[3] = {NULL};
  for (int i = 0; i < 2; ++i)
    past[i] =
        add_input(net, zoo_name(net, "past_key_values.%d.%s", layer, i ? "value" : "key"), HONE_F32, 4, cache, names);
  const hone_attr attrs[] = {{.name = "num_heads", .kind = HONE_ATTR_INT, .i = shape->heads},
                             {.name = "kv_num_heads", .kind = HONE_ATTR_INT, .i = shape->kv_heads},
                             {.name = "do_rotary", .kind = HONE_ATTR_INT, .i = 1}};
  hone_value *in[9] = {project(net, zoo_name(net, "%s.q_proj", name), x, width, ZOO_LINEAR),
                       project(net, zoo_name(net, "%s.k_proj", name), x, kv_width, ZOO_LINEAR),
                       project(net, zoo_name(net, "%s.v_proj", name), x, kv_width, ZOO_LINEAR),
                       past[0],
                       past[1],
                       d->last,
                       d->total,
                       d->cos,
                       d->sin};
  if (net->status == HONE_OK)
    net->status = hone_graph_add_node(net->graph, "group_query_attention",
                                      zoo_name(net, "%s/GroupQueryAttention", name), in, 9, attrs, 3, out, 3);
  zoo_output(net, zoo_name(net, "present.%d.key", layer), out[1]);
  zoo_output(net, zoo_name(net, "present.%d.value", layer), out[2]);
  return project(net, zoo_name(net, "%s.o_proj", name), out[0], shape->width, ZOO_LINEAR);
}

static hone_value *gated_mlp(zoo_net *net, const decoder *d, const char *name, hone_value *x) {
  hone_value *gate = project(net, zoo_name(net, "%s.gate_proj", name), x, d->shape->hidden, ZOO_LINEAR);
  hone_value *up = project(net, zoo_name(net, "%s.up_proj", name), x, d->shape->hidden, ZOO_LINEAR);
  gate = zoo_silu(net, zoo_name(net, "%s.act", name), gate);
  return project(net, zoo_name(net, "%s.down_proj", name),
                 zoo_binary(net, "mul", zoo_name(net, "%s/Mul", name), gate, up), d->shape->width, ZOO_SWISH);
}

static hone_value *layer_of(zoo_net *net, const decoder *d, int layer, hone_value *x) {
  char name[64], part[96];
  (void)snprintf(name, sizeof name, "layers.%d", layer);
  (void)snprintf(part, sizeof part, "%s.self_attn", name);
  hone_value *y = rms_norm(net, zoo_name(net, "%s.input_layernorm", name), x);
  y = attend(net, d, layer, part, y);
  x = zoo_binary(net, "add", zoo_name(net, "%s/Add", name), x, y);
  (void)snprintf(part, sizeof part, "%s.mlp", name);
  y = rms_norm(net, zoo_name(net, "%s.post_attention_layernorm", name), x);
  y = gated_mlp(net, d, part, y);
  return zoo_binary(net, "add", zoo_name(net, "%s/Add_1", name), x, y);
}

void zoo_decoder_build(zoo_net *net) {
  static const char *const tokens[2] = {"batch_size", "sequence_length"}, *const keys[2] = {"batch_size",
                                                                                            "total_sequence_length"};
  const zoo_decoder *shape = &net->options.decoder;
  decoder d = {.shape = shape, .head_size = shape->width / shape->heads};
  const int64_t free_row[2] = {batch_of(net), -1}, table[2] = {shape->vocabulary, shape->width}, swapped[2] = {1, 0};
  hone_value *ids = add_input(net, "input_ids", HONE_I64, 2, free_row, tokens);
  read_mask(net, &d, add_input(net, "attention_mask", HONE_I64, 2, free_row, keys));
  make_angles(net, &d);
  hone_value *words = zoo_weight(net, "embed_tokens", ".weight", 2, table, 0, sqrt(3));
  hone_value *x = zoo_binary(net, "gather", "embed_tokens/Gather", words, ids);
  for (int layer = 0; layer < shape->layers; ++layer) x = layer_of(net, &d, layer, x);
  x = rms_norm(net, "norm", x);
  hone_value *logits = shape->tied ? zoo_binary(net, "matmul", "lm_head/MatMul", x,
                                                zoo_transpose(net, "lm_head/Transpose", words, 2, swapped))
                                   : project(net, "lm_head", x, shape->vocabulary, 4);
  zoo_output(net, "logits", logits);
}
