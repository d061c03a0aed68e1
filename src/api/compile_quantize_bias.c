/* SPDX-License-Identifier: Apache-2.0 */
/* compile_quantize_bias.c - what rounding shifts on average is put back into biases (Nagel et al., arXiv:1906.04721,
 * section 4.2, here with data instead of the moments of normalisations). Each layer is looked at alone, on activations
 * of f32: the mean of its output by its own weights, less the mean by the rounded weights on the rounded activations.
 * What layers before it shift is theirs to mend: measured behind all of them, corrections would add up. */
#include "api/quantize.h"
#include "calib/layers.h"
#include "calib/moments.h"
#include "tensor/element.h"
#include "tensor/shape.h"
#include <math.h>
#include <string.h>

/* A layer and what its weights meet. */
typedef struct layer {
  int node;                        /* of sites.nodes */
  int64_t channels, taps, outputs; /* of the input; of the window; of the weights */
  double *plain, *rounded;         /* [channels][taps]: sums of the activations, and of what their bytes stand for */
  int64_t positions;               /* of the output, that they are over */
  float *room;                     /* for an image of rounded activations */
  int64_t room_count;
} layer;

typedef struct correction {
  hn_quantizing *q;
  hn_arena arena;
  layer *layers;
  int layer_count;
} correction;

/* ---- the means of activations ---- */

/* Image by image, through room for one: layers are seen in several threads. */
static hone_status add_means(void *user, int64_t sample, int index, const hone_tensor *tensor) {
  const correction *c = user;
  (void)sample;
  layer *l = &c->layers[index];
  const hn_sites *sites = &c->q->sites;
  const hn_quant_node *node = &sites->nodes[l->node];
  const hn_site *site = &sites->items[sites->of[node->node->in[0]->id]];
  hn_sliding window;
  if (!hn_layer_window(node, &tensor->type.shape, &window)) return HONE_OK;
  const int64_t image = window.in[0] * window.in[1] * l->channels, count = hn_elems(&tensor->type.shape);
  if (image > l->room_count) {
    float *larger = hn_resize(&c->q->context->allocator, l->room, (size_t)l->room_count * sizeof *larger,
                              (size_t)image * sizeof *larger);
    if (!larger) return HONE_NO_MEMORY;
    l->room = larger;
    l->room_count = image;
  }
  for (int64_t at = 0; at + image <= count; at += image) {
    const float *x = (const float *)tensor->data + at;
    hn_round_floats(x, image, &site->scale, &c->q->scheme, l->room);
    hn_tap_sums(x, l->channels, l->channels, &window, l->plain);
    hn_tap_sums(l->room, l->channels, l->channels, &window, l->rounded);
    l->positions += window.out[0] * window.out[1];
  }
  return HONE_OK;
}

static hone_status begin(correction *c) {
  hn_quantizing *q = c->q;
  c->layers = HN_NEW(&c->arena, layer, q->sites.node_count + 1);
  if (!c->layers) return HN_FAIL_MEMORY(&q->context->diag);
  for (int i = 0; i < q->sites.node_count; ++i) {
    const hn_quant_node *node = &q->sites.nodes[i];
    if (node->why || node->layer->bias < 0) continue;
    const hn_layer_shape shape = hn_layer_shape_of(node);
    layer *l = &c->layers[c->layer_count++];
    *l = (layer){.node = i, .outputs = shape.outputs, .taps = shape.taps, .channels = shape.channels};
    l->plain = HN_NEW(&c->arena, double, l->channels * l->taps);
    l->rounded = HN_NEW(&c->arena, double, l->channels * l->taps);
    if (!l->plain || !l->rounded) return HN_FAIL_MEMORY(&q->context->diag);
  }
  return HONE_OK;
}

static hone_status measure_means(correction *c) {
  hn_quantizing *q = c->q;
  int *values = HN_NEW(&c->arena, int, c->layer_count + 1);
  if (!values) return HN_FAIL_MEMORY(&q->context->diag);
  for (int i = 0; i < c->layer_count; ++i) values[i] = q->sites.nodes[c->layers[i].node].node->in[0]->id;
  const hn_watch watch = {.graph = q->graph,
                          .values = values,
                          .count = c->layer_count,
                          .beside = c->layer_count,
                          .see = add_means,
                          .user = c,
                          .most = hn_distances_samples(q),
                          .what = "correcting biases"};
  int64_t samples;
  return hn_quantize_watch(q, &watch, &samples);
}

/* ---- what the weights make of them ---- */

/* f32's mean less that of bytes, for each output. made: the same node with rounded weights. */
static void differ(const layer *l, const hn_node *node, const hn_node *made, double *out) {
  const int axis = hn_quant_axis(node);
  const hone_tensor *w = node->in[1]->fact.constant;
  const hn_node *back = made->in[1]->node; /* dequantize_linear */
  const hone_tensor *bytes = back->in[0]->fact.constant, *scales = back->in[1]->fact.constant;
  const int64_t outputs = l->outputs, each = hn_elems(&w->type.shape) / outputs;
  const bool one = hn_elems(&scales->type.shape) == 1, conv = node->in[1]->fact.type.shape.rank > 2;
  const int64_t groups = conv ? l->channels * l->taps / each : 1, a_group = outputs / groups;
  for (int64_t o = 0; o < outputs; ++o) {
    const double scale = hn_real(scales, one ? 0 : o);
    const int64_t first = conv ? o / a_group * each : 0;
    double sum = 0;
    for (int64_t i = 0; i < each; ++i) {
      const int64_t at = axis == 0 ? o * each + i : i * outputs + o;
      sum += (double)((const float *)w->data)[at] * l->plain[first + i] -
             hn_real(bytes, at) * scale * l->rounded[first + i];
    }
    out[o] = l->positions > 0 ? sum / (double)l->positions : 0;
  }
}

static hone_status find_biases(correction *c) {
  hn_quantizing *q = c->q;
  hone_graph *graph;
  double **bias = HN_NEW(&q->arena, double *, q->sites.node_count + 1);
  if (!bias) return HN_FAIL_MEMORY(&q->context->diag);
  HN_TRY(hn_quantize_make(q, &q->sites, &graph));
  hone_status status = HONE_OK;
  for (int i = 0; i < c->layer_count && status == HONE_OK; ++i) {
    const layer *l = &c->layers[i];
    const hn_node *node = q->sites.nodes[l->node].node;
    bias[l->node] = HN_NEW(&q->arena, double, l->outputs);
    if (!bias[l->node])
      status = HN_FAIL_MEMORY(&q->context->diag);
    else
      differ(l, node, graph->values[node->out[0]->id]->node, bias[l->node]);
  }
  hn_graph_destroy(graph);
  if (status == HONE_OK) q->bias = bias;
  return status;
}

hone_status hn_quantize_correct_bias(hn_quantizing *q) {
  correction c = {.q = q};
  hn_arena_init(&c.arena, q->context->allocator);
  hone_status status = begin(&c);
  if (status == HONE_OK && c.layer_count > 0) status = measure_means(&c);
  if (status == HONE_OK && c.layer_count > 0) status = find_biases(&c);
  for (int i = 0; i < c.layer_count; ++i)
    hn_free(&q->context->allocator, c.layers[i].room, (size_t)c.layers[i].room_count * sizeof *c.layers[i].room);
  hn_arena_deinit(&c.arena);
  return status;
}
