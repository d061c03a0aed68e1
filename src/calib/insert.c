/* SPDX-License-Identifier: Apache-2.0 */
/* insert.c - puts quantize_linear and dequantize_linear where sites.c found room for them: behind values, and in front
 * of layers' weights and biases, whose bytes become constants. */
#include "calib/layers.h"
#include "tensor/attrs.h"
#include "tensor/element.h"
#include "tensor/shape.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum { WEIGHT_MOST = 127, FLOAT8_MOST = 448 };
static const double bias_most = 0x1p30; /* half of what an i32 holds: sums of products are added to it */

typedef struct inserter {
  hone_graph *graph;
  hone_diagnostics *diag;
  hn_arena *arena; /* for what is needed while working */
  const hone_op *quantize, *dequantize;
  const hn_insertion *how;
} inserter;

static bool of_floats(const inserter *n) { return n->how->scheme.dtype == HONE_F8E4M3FN; }

static hn_value *constant(const inserter *n, const char *stem, const char *what, hone_dtype dtype, int rank,
                          const int64_t *dims, const void *data) {
  hone_tensor tensor = {.type = hn_tensor_type(dtype, rank, dims), .data = (void *)(uintptr_t)data};
  tensor.bytes = (size_t)hn_elems(&tensor.type.shape) * (hone_dtype_bits(dtype) / 8);
  const char *name = hn_arena_printf(n->arena, "%s_%s", stem, what);
  if (!name) {
    (void)HN_FAIL_MEMORY(n->diag);
    return NULL;
  }
  return hn_constant_create(n->graph, name, &tensor, false);
}

/* A node of one of the two operators. NULL after a message. */
static hn_value *make(const inserter *n, const hone_op *op, const char *stem, hn_value *const *in, int64_t axis,
                      hn_node *before) {
  const bool back = op == n->dequantize;
  const char *value_name = hn_arena_printf(n->arena, "%s_%s", stem, back ? "dequantized" : "quantized");
  const char *node_name = hn_arena_printf(n->arena, "%s_%s", stem, back ? "dequantize" : "quantize");
  const hone_attr attr = {.name = "axis", .kind = HONE_ATTR_INT, .i = axis};
  const hn_node_spec spec = {.op = op,
                             .name = node_name,
                             .attrs = {.count = 1, .items = &attr},
                             .in_count = 3,
                             .in = in,
                             .out_count = 1,
                             .out_names = &value_name,
                             .before = before};
  hn_node *made;
  if (!value_name || !node_name) {
    (void)HN_FAIL_MEMORY(n->diag);
    return NULL;
  }
  return hn_node_create(n->graph->main, &spec, &made) == HONE_OK ? made->out[0] : NULL;
}

static hone_status round_value(const inserter *n, const hn_site *site) {
  hn_value *value = site->value, *in[3] = {value}, *bytes, *back;
  const uint8_t zero = (uint8_t)site->scale.zero; /* of i8: its bits */
  in[1] = constant(n, value->name, "scale", HONE_F32, 0, NULL, &site->scale.scale);
  in[2] = constant(n, value->name, "zero_point", n->how->scheme.dtype, 0, NULL, &zero);
  hn_node *before = value->node ? value->node->next : n->graph->main->first;
  if (!in[1] || !in[2] || !(bytes = make(n, n->quantize, value->name, in, 1, before))) return HONE_NO_MEMORY;
  in[0] = bytes;
  if (!(back = make(n, n->dequantize, value->name, in, 1, before))) return HONE_NO_MEMORY;
  hn_value_replace(value, back);
  hn_node_set_input(bytes->node, 0, value);
  return HONE_OK;
}

/* ---- weights ---- */

typedef struct weights {
  const hn_value *value;
  const float *data;
  int64_t outer, outputs, inner; /* outputs lie between the two */
  float *scales;                 /* one an output, equal ones where all have one */
  const hn_rounding *rounding;   /* NULL: the nearest bytes */
  bool one;
} weights;

static int64_t place_in(const weights *w, int64_t outer, int64_t output, int64_t inner) {
  return (outer * w->outputs + output) * w->inner + inner;
}

/* The largest magnitude is the largest of e4m3. */
static void find_float8_scales(weights *w) {
  float all = 0;
  for (int64_t o = 0; o < w->outputs; ++o) {
    float most = 0;
    for (int64_t a = 0; a < w->outer; ++a)
      for (int64_t i = 0; i < w->inner; ++i) most = fmaxf(most, fabsf(w->data[place_in(w, a, o, i)]));
    all = fmaxf(all, most);
    w->scales[o] = most / FLOAT8_MOST;
  }
  for (int64_t o = 0; o < w->outputs; ++o) {
    if (w->one) w->scales[o] = all / FLOAT8_MOST;
    if (!(w->scales[o] >= FLT_MIN)) w->scales[o] = 1;
  }
}

static hone_status find_scales(const inserter *n, const hn_node *node, weights *w, int axis) {
  const hone_tensor *tensor = w->value->fact.constant;
  HN_TRY(hn_layer_check_finite(n->diag, node, w->value));
  if (of_floats(n))
    find_float8_scales(w);
  else if (w->rounding)
    memcpy(w->scales, w->rounding->scales, (size_t)w->outputs * sizeof *w->scales);
  else
    hn_layer_scales(tensor, axis, w->one, w->scales);
  return HONE_OK;
}

/* A bias counts in units of the products: where these are so small that it would not fit, coarser weights, which are
 * next to nothing beside it, make room. */
static hone_status fit_bias(const inserter *n, const hn_node *node, weights *w, const double *bias, const char *name,
                            float x_scale) {
  for (int64_t o = 0; bias && o < w->outputs; ++o) {
    const double b = bias[o];
    if (!isfinite(b))
      return HN_FAIL(n->diag, HONE_UNSUPPORTED, "node %s: its bias %s holds %s, which bytes cannot stand for",
                     node->name, name, isnan(b) ? "NaN" : "infinity");
    const double least = fabs(b) / bias_most / (double)x_scale;
    if (least > (double)w->scales[o]) w->scales[o] = (float)least;
  }
  for (int64_t o = 1; w->one && o < w->outputs; ++o) w->scales[0] = fmaxf(w->scales[0], w->scales[o]);
  for (int64_t o = 1; w->one && o < w->outputs; ++o) w->scales[o] = w->scales[0];
  return HONE_OK;
}

static hn_value *put_weights(const inserter *n, const weights *w, hn_node *node, int axis) {
  const hone_shape *shape = &w->value->fact.type.shape;
  const int64_t outputs = w->outputs, count = hn_elems(shape);
  int8_t *bytes = hn_arena_alloc(n->arena, (size_t)count, 64);
  int8_t *zeros = HN_NEW(n->arena, int8_t, outputs);
  if (!bytes || !zeros) {
    (void)HN_FAIL_MEMORY(n->diag);
    return NULL;
  }
  for (int64_t a = 0; a < w->outer; ++a)
    for (int64_t o = 0; o < outputs; ++o)
      for (int64_t i = 0; i < w->inner; ++i) {
        const int64_t at = place_in(w, a, o, i);
        if (of_floats(n)) {
          bytes[at] = (int8_t)hn_f8_from_f64(HONE_F8E4M3FN, (double)w->data[at] / (double)w->scales[o], true);
          continue;
        }
        if (w->rounding && w->rounding->scales[o] == w->scales[o]) {
          bytes[at] = w->rounding->bytes[at];
          continue;
        }
        const double byte = nearbyint((double)w->data[at] / (double)w->scales[o]);
        bytes[at] = (int8_t)fmin(fmax(byte, -WEIGHT_MOST), WEIGHT_MOST);
      }
  const hone_dtype dtype = of_floats(n) ? HONE_F8E4M3FN : HONE_I8;
  hn_value *in[3] = {constant(n, w->value->name, "quantized", dtype, shape->rank, shape->dim, bytes),
                     constant(n, w->value->name, "scale", HONE_F32, w->one ? 0 : 1, &outputs, w->scales),
                     constant(n, w->value->name, "zero_point", dtype, w->one ? 0 : 1, &outputs, zeros)};
  return in[0] && in[1] && in[2] ? make(n, n->dequantize, w->value->name, in, axis, node) : NULL;
}

static hn_value *put_bias(const inserter *n, const weights *w, hn_node *node, const double *bias, const char *name,
                          float x_scale) {
  const int64_t outputs = w->outputs, each = w->one ? 1 : outputs;
  int32_t *numbers = HN_NEW(n->arena, int32_t, outputs), *zeros = HN_NEW(n->arena, int32_t, outputs);
  float *scales = HN_NEW(n->arena, float, outputs);
  if (!numbers || !scales || !zeros) {
    (void)HN_FAIL_MEMORY(n->diag);
    return NULL;
  }
  for (int64_t o = 0; o < outputs; ++o) {
    scales[o] = x_scale * w->scales[o];
    if (!(scales[o] >= FLT_MIN)) scales[o] = FLT_MIN;
    const double number = nearbyint(bias[o] / (double)scales[o]);
    numbers[o] = (int32_t)fmin(fmax(number, -2 * bias_most), 2 * bias_most - 1);
  }
  hn_value *in[3] = {constant(n, name, "quantized", HONE_I32, 1, &outputs, numbers),
                     constant(n, name, "scale", HONE_F32, w->one ? 0 : 1, &each, scales),
                     constant(n, name, "zero_point", HONE_I32, w->one ? 0 : 1, &each, zeros)};
  return in[0] && in[1] && in[2] ? make(n, n->dequantize, name, in, 0, node) : NULL;
}

/* Behind products of 8-bit floats it stays in f32. */
static hn_value *put_float_bias(const inserter *n, int64_t outputs, const double *bias, const char *name) {
  float *numbers = HN_NEW(n->arena, float, outputs);
  if (!numbers) {
    (void)HN_FAIL_MEMORY(n->diag);
    return NULL;
  }
  for (int64_t o = 0; o < outputs; ++o) numbers[o] = (float)bias[o];
  return constant(n, name, "corrected", HONE_F32, 1, &outputs, numbers);
}

/* In numbers, with what is added to it; NULL where there is none. */
static hone_status read_bias(const inserter *n, const hn_value *bias, const double *more, int64_t outputs,
                             double **out) {
  *out = NULL;
  if (!bias && !more) return HONE_OK;
  double *numbers = HN_NEW(n->arena, double, outputs);
  if (!numbers) return HN_FAIL_MEMORY(n->diag);
  for (int64_t o = 0; o < outputs; ++o)
    numbers[o] = (bias ? hn_real(bias->fact.constant, o) : 0) + (more ? more[o] : 0);
  *out = numbers;
  return HONE_OK;
}

static hone_status quantise_layer(const inserter *n, const hn_quant_node *layer, const hn_rounding *rounding,
                                  const double *more, float x_scale) {
  hn_node *node = layer->node;
  const int axis = hn_quant_axis(node), w_port = layer->layer->weights, b_port = layer->layer->bias;
  const hn_value *w_value = node->in[w_port], *old = b_port >= 0 && b_port < node->in_count ? node->in[b_port] : NULL;
  const hone_shape *shape = &w_value->fact.type.shape;
  weights w = {.value = w_value,
               .data = w_value->fact.constant->data,
               .outer = 1,
               .outputs = shape->dim[axis],
               .inner = 1,
               .rounding = rounding,
               .one = n->how->per_tensor};
  for (int i = 0; i < shape->rank; ++i) *(i < axis ? &w.outer : &w.inner) *= i == axis ? 1 : shape->dim[i];
  double *bias;
  const char *name = old ? old->name : hn_arena_printf(n->arena, "%s_bias", w_value->name);
  w.scales = HN_NEW(n->arena, float, w.outputs);
  if (!w.scales || !name) return HN_FAIL_MEMORY(n->diag);
  HN_TRY(read_bias(n, old, more, w.outputs, &bias));
  HN_TRY(find_scales(n, node, &w, axis));
  if (!of_floats(n)) HN_TRY(fit_bias(n, node, &w, bias, name, x_scale));
  hn_value *put = put_weights(n, &w, node, axis);
  if (!put) return HONE_NO_MEMORY;
  hn_node_set_input(node, w_port, put);
  if (!bias || (of_floats(n) && !more)) return HONE_OK;
  put = of_floats(n) ? put_float_bias(n, w.outputs, bias, name) : put_bias(n, &w, node, bias, name, x_scale);
  if (!put) return HONE_NO_MEMORY;
  if (node->in_count == b_port) return hn_node_add_input(node, put);
  hn_node_set_input(node, b_port, put);
  return HONE_OK;
}

hone_status hn_sites_insert(hn_sites *p, const hn_insertion *how) {
  hone_context *context = p->graph->context;
  const inserter n = {.graph = p->graph,
                      .diag = &context->diag,
                      .arena = p->arena,
                      .quantize = hn_op_find(context->ops, "quantize_linear"),
                      .dequantize = hn_op_find(context->ops, "dequantize_linear"),
                      .how = how};
  for (int i = 0; i < p->node_count; ++i) {
    const hn_quant_node *layer = &p->nodes[i];
    HN_TRY(hn_check_stop(context));
    const double *more = how->bias ? how->bias[i] : NULL;
    const hn_rounding *rounding = how->weights ? how->weights[i] : NULL;
    if (!layer->why)
      HN_TRY(quantise_layer(&n, layer, rounding, more, p->items[p->of[layer->node->in[0]->id]].scale.scale));
  }
  for (int i = 0; i < p->count; ++i) HN_TRY(round_value(&n, &p->items[i]));
  return HONE_OK;
}
