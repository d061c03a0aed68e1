/* SPDX-License-Identifier: Apache-2.0 */
/* layer_norm.c - a plug-in under a built-in operator's name: this layer_norm takes the place of hone's, and its kernel
 * the place of hone's kernels, which are not asked about an operator that is not theirs. The log says so. y = (x -
 * mean) / sqrt(variance + epsilon) * scale + b over the last axis (Ba, Kiros, Hinton 2016), f32 alone. */
#include "example.h"
#include <math.h>

static hone_status infer(hone_infer *infer) {
  infer->out[0].type = infer->in[0].type;
  return HONE_OK;
}

typedef struct rows {
  int64_t count, size;
  float epsilon;
  bool has_bias;
} rows;

static rows rows_of(const hone_attrs *attrs, const hone_shape *x, bool has_bias) {
  return (rows){.count = count_between(x, 0, x->rank - 1),
                .size = x->dim[x->rank - 1],
                .epsilon = (float)float_attr(attrs, "epsilon"),
                .has_bias = has_bias};
}

/* The slow truth, in double. */
static hone_status eval(hone_eval *eval, const hone_window *window) {
  const hone_shape *shape = &eval->in[0].type.shape;
  const bool has_bias = eval->in_count > 2 && eval->in[2].type.kind == HONE_TENSOR;
  const hone_status status = make_room(eval, shape->rank, shape->dim);
  if (status != HONE_OK) return status;
  const rows r = rows_of(eval->attrs, shape, has_bias);
  if (r.size == 0) return HONE_OK;
  const float *x = eval->in[0].data, *scale = eval->in[1].data, *bias = has_bias ? eval->in[2].data : NULL;
  float *y = eval->out[0].data;
  const int64_t first = window ? window->first / r.size : 0;
  const int64_t last = window ? (window->last + r.size - 1) / r.size : r.count;
  for (int64_t row = first; row < last; ++row) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < r.size; ++i) sum += (double)x[row * r.size + i];
    const double mean = sum / (double)r.size;
    for (int64_t i = 0; i < r.size; ++i) squares += pow((double)x[row * r.size + i] - mean, 2);
    const double factor = 1 / sqrt(squares / (double)r.size + (double)r.epsilon);
    for (int64_t i = 0; i < r.size; ++i) {
      const double value = ((double)x[row * r.size + i] - mean) * factor * (double)scale[i];
      y[row * r.size + i] = (float)(value + (bias ? (double)bias[i] : 0));
    }
  }
  return HONE_OK;
}

static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  (void)attrs, (void)in, (void)in_count, (void)out_count;
  const double elements = (double)count_of(&out[0].type.shape);
  return (hone_cost){.flops = 8 * elements, .bytes_read = 4 * elements, .bytes_written = 4 * elements};
}

/* The ports and attributes of hone's own row, as far as models for inference use them. */
static const hone_op layer_norm = {
    .struct_size = sizeof(hone_op),
    .name = "layer_norm",
    .doc = "normalises over the last axis, with scale and bias",
    .in = {{.name = "x", .letter = 'T', .types = HONE_BIT(HONE_F32)},
           {.name = "scale", .letter = 'T', .types = HONE_BIT(HONE_F32), .flags = HONE_PORT_PARAM},
           {.name = "b", .letter = 'T', .types = HONE_BIT(HONE_F32), .flags = HONE_PORT_OPTIONAL | HONE_PORT_PARAM}},
    .out = {{.name = "y", .letter = 'T'}},
    .attr = {HONE_INT_ATTR("axis", -1), HONE_FLOAT_ATTR("epsilon", 1e-5), HONE_INT_ATTR("stash_type", 1)},
    .infer = infer,
    .eval = eval,
    .cost = cost,
    .onnx = {{.name = "LayerNormalization", .first = 17, .last = HONE_LATEST}},
};

/* ---- its kernel ---- */

static const char *plan(const hone_query *query, void *state, hone_needs *needs) {
  const hone_type *x = &query->in[0].type;
  const bool has_bias = query->in_count > 2 && query->in[2].type.kind == HONE_TENSOR;
  if (!is_plain(x, HONE_F32) || x->shape.rank < 1) return "the input is not plain f32";
  const int64_t axis = find_attr(query->attrs, "axis")->i;
  if (axis != -1 && axis != x->shape.rank - 1) return "it is not over the last axis alone";
  const int64_t size = x->shape.dim[x->shape.rank - 1];
  if (count_of(&query->in[1].type.shape) != size) return "the scale is broadcast";
  if (has_bias && count_of(&query->in[2].type.shape) != size) return "the bias is broadcast";
  *needs = (hone_needs){.state = sizeof(rows), .efficiency = 0.5};
  if (state) *(rows *)state = rows_of(query->attrs, &x->shape, has_bias);
  return NULL;
}

enum { LANES = 16 };

/* Sixteen sums side by side, which compilers make vectors of. shift: what is taken from each element first. */
static float sum_row(const float *x, int64_t size, float shift, bool squares) {
  float sums[LANES] = {0}, sum = 0;
  int64_t i = 0;
  for (; i + LANES <= size; i += LANES)
    for (int k = 0; k < LANES; ++k) {
      const float v = x[i + k] - shift;
      sums[k] += squares ? v * v : v;
    }
  for (; i < size; ++i) sum += squares ? (x[i] - shift) * (x[i] - shift) : x[i] - shift;
  for (int k = 0; k < LANES; ++k) sum += sums[k];
  return sum;
}

static hone_status launch(void *state, hone_stream *stream, const hone_launch *launch) {
  const rows *r = state;
  const float *scale = launch->in[1].data, *bias = r->has_bias ? launch->in[2].data : NULL;
  (void)stream;
  for (int64_t row = 0; row < r->count; ++row) {
    const float *x = (const float *)launch->in[0].data + row * r->size;
    float *y = (float *)launch->out[0].data + row * r->size;
    const float mean = sum_row(x, r->size, 0, false) / (float)r->size;
    const float factor = 1 / sqrtf(sum_row(x, r->size, mean, true) / (float)r->size + r->epsilon);
    for (int64_t i = 0; i < r->size; ++i) y[i] = (x[i] - mean) * factor * scale[i] + (bias ? bias[i] : 0);
  }
  return HONE_OK;
}

static const hone_tactic layer_norm_cpu = {.struct_size = sizeof(hone_tactic),
                                           .name = "example.layer_norm.f32",
                                           .version = 1,
                                           .op = "layer_norm",
                                           .flags = HONE_TACTIC_REPEATABLE,
                                           .plan = plan,
                                           .launch = launch};

static const hone_op *const ops[] = {&layer_norm, NULL};
static const hone_plugin_tactic tactics[] = {{"cpu", &layer_norm_cpu}, {NULL, NULL}};
static const hone_plugin_table table = {
    .struct_size = sizeof(hone_plugin_table), .name = "layer_norm", .version = "1", .ops = ops, .tactics = tactics};

HONE_API const hone_plugin_table *hone_plugin(const hone_host *host);
const hone_plugin_table *hone_plugin(const hone_host *host) {
  (void)host;
  return &table;
}
