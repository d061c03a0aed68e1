/* SPDX-License-Identifier: Apache-2.0 */
/* layers.c - the geometry of quantised layers, and the scales of their weights. */
#include "calib/layers.h"
#include "tensor/shape.h"
#include <float.h>
#include <math.h>

hn_layer_shape hn_layer_shape_of(const hn_quant_node *layer) {
  const hone_shape *w = &layer->node->in[layer->layer->weights]->fact.type.shape;
  hn_layer_shape out = {.outputs = w->dim[hn_quant_axis(layer->node)], .groups = 1, .taps = 1};
  out.inner = hn_elems(w) / out.outputs;
  out.channels = out.inner;
  if (!layer->layer->closed) return out;
  out.groups = hn_attr_int(&layer->node->attrs, "group");
  out.channels = w->dim[1] * out.groups;
  for (int d = 2; d < w->rank; ++d) out.taps *= w->dim[d];
  return out;
}

bool hn_layer_window(const hn_quant_node *layer, const hone_shape *x, hn_sliding *out) {
  const hn_node *node = layer->node;
  const hone_shape *w = &node->in[layer->layer->weights]->fact.type.shape;
  if (!layer->layer->closed) {
    *out =
        (hn_sliding){.spatial = 2, .in = {1, 1}, .out = {1, 1}, .kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}};
    return true;
  }
  if (w->rank > 4 || hn_sliding_make(NULL, NULL, &node->attrs, x, w->dim + 2, out) != HONE_OK) return false;
  if (out->spatial == 1) {
    out->in[1] = out->out[1] = out->kernel[1] = out->stride[1] = out->dilation[1] = 1;
    out->pad_begin[1] = 0;
  }
  return true;
}

hone_status hn_layer_check_finite(hone_diagnostics *diag, const hn_node *node, const hn_value *weights) {
  const float *data = weights->fact.constant->data;
  for (int64_t i = 0; i < hn_elems(&weights->fact.type.shape); ++i)
    if (!isfinite(data[i]))
      return HN_FAIL(diag, HONE_UNSUPPORTED, "node %s: its weights %s hold %s, which bytes cannot stand for",
                     node->name, weights->name, isnan(data[i]) ? "NaN" : "infinity");
  return HONE_OK;
}

/* ---- scales ---- */

enum { MOST_BYTE = 127, LEAST_LEVELS = 32, MOST_LEVELS = 181, LOOKED_AT = 1024 };

/* Weights of one output, or of all: runs of `inner`, `step` apart. */
typedef struct part {
  const float *data;
  int64_t runs, inner, step;
  int64_t every; /* one of so many is looked at */
} part;

static double square_error(const part *p, float scale, double enough) {
  const float magic = 0x1.8p23f, least = -MOST_BYTE, most = MOST_BYTE, by = 1 / scale;
  double sum = 0;
  for (int64_t r = 0, at = 0; r < p->runs && sum < enough; ++r) {
    float apart = 0;
    for (; at < p->inner; at += p->every) {
      const float x = p->data[r * p->step + at];
      float byte = x * by;
      byte = byte < least ? least : byte > most ? most : byte;
      const float error = x - ((byte + magic) - magic) * scale;
      apart += error * error;
    }
    at -= p->inner;
    sum += (double)apart;
  }
  return sum;
}

static float scale_of(part *p) {
  float reach = 0;
  for (int64_t r = 0; r < p->runs; ++r)
    for (int64_t i = 0; i < p->inner; ++i) reach = fmaxf(reach, fabsf(p->data[r * p->step + i]));
  float best = reach / MOST_BYTE;
  if (!(best >= FLT_MIN)) return 1;
  p->every = p->runs * p->inner / LOOKED_AT + 1;
  double least = square_error(p, best, HUGE_VAL) / 64;
  for (int levels = LEAST_LEVELS; levels <= MOST_LEVELS && least > 0; ++levels) {
    const float scale = reach / (float)levels;
    const double error = square_error(p, scale, least);
    if (error < least) least = error, best = scale;
  }
  return best;
}

void hn_layer_scales(const hone_tensor *weights, int axis, bool one, float *scales) {
  const hone_shape *shape = &weights->type.shape;
  int64_t outer = 1, inner = 1;
  const int64_t outputs = shape->dim[axis];
  for (int i = 0; i < shape->rank; ++i)
    if (i != axis) *(i < axis ? &outer : &inner) *= shape->dim[i];
  part all = {.data = weights->data, .runs = 1, .inner = outer * outputs * inner};
  const float shared = one ? scale_of(&all) : 0;
  for (int64_t o = 0; o < outputs; ++o) {
    part p = {.data = (const float *)weights->data + o * inner, .runs = outer, .inner = inner, .step = outputs * inner};
    scales[o] = one ? shared : scale_of(&p);
  }
}
