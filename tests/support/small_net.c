/* SPDX-License-Identifier: Apache-2.0 */
/* small_net.c - the net that engine and fault tests build again and again. */
#include "support/small_net.h"
#include <stdio.h>
#include <string.h>

enum { MAX_ELEMENTS = 32 * 32 * 9 };

typedef struct builder {
  hone_context *context;
  hone_graph *graph;
  uint64_t seed;
  hone_status status; /* the first that was not OK */
} builder;

static double next_number(uint64_t *seed) { /* in [-1, 1); Steele, Lea, Flood 2014, "SplitMix" */
  *seed += 0x9e3779b97f4a7c15u;
  uint64_t z = *seed;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return (double)(z >> 11) / (double)((uint64_t)1 << 52) - 1;
}

void small_net_fill(hone_tensor *tensor, uint64_t seed) {
  for (int64_t i = 0; i < hone_tensor_count(tensor); ++i) hone_tensor_set_real(tensor, i, next_number(&seed));
}

static hone_value *constant(builder *b, const char *name, int rank, const int64_t *dims, double scale) {
  static _Thread_local float room[MAX_ELEMENTS];
  int64_t count = 1;
  hone_type type = {.kind = HONE_TENSOR, .dtype = HONE_F32, .shape.rank = rank};
  for (int i = 0; i < rank; ++i) count *= type.shape.dim[i] = dims[i];
  for (int64_t i = 0; i < count; ++i) room[i] = (float)(next_number(&b->seed) * scale);
  const hone_tensor tensor = {.type = type, .data = room, .bytes = (size_t)count * sizeof *room};
  hone_value *value = NULL;
  if (b->status == HONE_OK) b->status = hone_graph_add_constant(b->graph, name, &tensor, &value);
  return value;
}

static hone_value *node(builder *b, const char *op, const char *name, hone_value *const *in, int in_count,
                        const hone_attr *attrs, int attr_count) {
  hone_value *out = NULL;
  if (b->status == HONE_OK)
    b->status = hone_graph_add_node(b->graph, op, name, in, in_count, attrs, attr_count, &out, 1);
  return out;
}

static hone_value *conv_relu(builder *b, hone_value *x, int number, int64_t from, int64_t to) {
  char w[16], bias[16], conv[16], relu[16];
  snprintf(w, sizeof w, "w%d", number);
  snprintf(bias, sizeof bias, "b%d", number);
  snprintf(conv, sizeof conv, "conv%d", number);
  snprintf(relu, sizeof relu, "relu%d", number);
  static const int64_t ones[4] = {1, 1, 1, 1};
  const hone_attr pads = {.name = "pads", .kind = HONE_ATTR_INTS, .count = 4, .ints = ones};
  hone_value *in[3] = {x, constant(b, w, 4, (int64_t[]){to, from, 3, 3}, 0.2), constant(b, bias, 1, &to, 0.1)};
  hone_value *y = node(b, "conv", conv, in, 3, &pads, 1);
  return node(b, "relu", relu, &y, 1, NULL, 0);
}

static void build(builder *b, bool free_batch) {
  hone_value *x = NULL;
  const char *const names[4] = {"batch", NULL, NULL, NULL};
  b->status = hone_graph_add_input(b->graph, "x", HONE_F32, 4, (int64_t[]){free_batch ? -1 : 1, 3, 16, 16},
                                   free_batch ? names : NULL, &x);
  x = conv_relu(b, x, 1, 3, 16);
  x = conv_relu(b, x, 2, 16, 32);
  static const int64_t twos[2] = {2, 2};
  const hone_attr pool[2] = {{.name = "kernel_shape", .kind = HONE_ATTR_INTS, .count = 2, .ints = twos},
                             {.name = "strides", .kind = HONE_ATTR_INTS, .count = 2, .ints = twos}};
  x = node(b, "max_pool", "pool", &x, 1, pool, 2);
  x = conv_relu(b, x, 3, 32, 32);
  x = node(b, "global_average_pool", "mean", &x, 1, NULL, 0);
  x = node(b, "flatten", "flat", &x, 1, NULL, 0);
  hone_value *in[3] = {x, constant(b, "w4", 2, (int64_t[]){32, 10}, 0.5), constant(b, "b4", 1, (int64_t[]){10}, 0.1)};
  x = node(b, "gemm", "last", in, 3, NULL, 0);
  if (b->status == HONE_OK) b->status = hone_graph_add_output(b->graph, "y", x);
}

hone_status small_net_graph(hone_context *context, bool free_batch, hone_graph **out) {
  *out = NULL;
  builder b = {.context = context, .seed = 7};
  hone_status status = hone_graph_create(context, "small", &b.graph);
  if (status != HONE_OK) return status;
  build(&b, free_batch);
  if (b.status != HONE_OK)
    hone_graph_destroy(b.graph);
  else
    *out = b.graph;
  return b.status;
}
