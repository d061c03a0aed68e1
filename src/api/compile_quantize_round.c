/* SPDX-License-Identifier: Apache-2.0 */
/* compile_quantize_round.c - weights rounded by what they do to a layer's output (calib/rounding.h): a pass over the
 * samples keeps some positions of what each layer meets, as bytes; then layer by layer second moments are made of them,
 * and weights follow. */
#include "api/quantize.h"
#include "calib/layers.h"
#include "calib/rounding.h"
#include "tensor/element.h"
#include "tensor/shape.h"
#include <math.h>
#include <string.h>

enum { MOST_ROWS = 1024, MOST_INNER = 8192, MOST_BYTE = 127 };
static const double damping = 0.01; /* of the mean of the diagonal */

/* A layer and what its weights met: rows of [groups][inner] bytes, each the distance from the lowest of its site. */
typedef struct layer {
  int node; /* of sites.nodes */
  hn_layer_shape shape;
  uint8_t *rows;
  int64_t count;
} layer;

typedef struct rounding {
  hn_quantizing *q;
  hn_arena arena;
  layer *layers;
  int layer_count;
  int64_t each; /* rows of a sample */
} rounding;

/* ---- what weights meet ---- */

static uint8_t byte_of(float x, const hn_scale *scale, const hn_scheme *scheme) {
  const int lowest = scheme->dtype == HONE_I8 ? -128 : 0;
  const float byte = nearbyintf(x / scale->scale) + (float)(scale->zero - lowest);
  return (uint8_t)(byte < 0 ? 0 : byte > 255 ? 255 : (int)byte);
}

/* Position `at` of the output: for each input channel the window's taps. */
static void take_row(const layer *l, const float *x, const hn_sliding *w, int64_t at, const hn_scale *scale,
                     const hn_scheme *scheme, uint8_t *row) {
  const int64_t ox = at % w->out[1], oy = at / w->out[1] % w->out[0], image = at / (w->out[0] * w->out[1]);
  const int64_t plane = w->in[0] * w->in[1];
  const uint8_t zero = byte_of(0, scale, scheme);
  for (int64_t c = 0; c < l->shape.channels; ++c) {
    const float *from = x + (image * l->shape.channels + c) * plane;
    for (int64_t ky = 0; ky < w->kernel[0]; ++ky)
      for (int64_t kx = 0; kx < w->kernel[1]; ++kx) {
        const int64_t iy = oy * w->stride[0] - w->pad_begin[0] + ky * w->dilation[0];
        const int64_t ix = ox * w->stride[1] - w->pad_begin[1] + kx * w->dilation[1];
        const bool inside = iy >= 0 && iy < w->in[0] && ix >= 0 && ix < w->in[1];
        *row++ = inside ? byte_of(from[iy * w->in[1] + ix], scale, scheme) : zero;
      }
  }
}

static hone_status take_rows(void *user, int64_t sample, int index, const hone_tensor *tensor) {
  const rounding *r = user;
  layer *l = &r->layers[index];
  const hn_sites *sites = &r->q->sites;
  const hn_node *node = sites->nodes[l->node].node;
  const hn_site *site = &sites->items[sites->of[node->in[0]->id]];
  hn_sliding window;
  if (!hn_layer_window(&sites->nodes[l->node], &tensor->type.shape, &window)) return HONE_OK;
  const int64_t images = hn_elems(&tensor->type.shape) / (window.in[0] * window.in[1] * l->shape.channels);
  const int64_t positions = images * window.out[0] * window.out[1], width = l->shape.channels * l->shape.taps;
  for (int64_t i = 0; i < r->each && i < positions && l->count < MOST_ROWS; ++i) {
    const int64_t at = (i * positions / r->each + sample * 7919) % positions; /* another place in each sample */
    take_row(l, tensor->data, &window, at, &site->scale, &r->q->scheme, l->rows + l->count++ * width);
  }
  return HONE_OK;
}

static hone_status begin(rounding *r) {
  hn_quantizing *q = r->q;
  const int64_t samples = hn_distances_samples(q);
  r->layers = HN_NEW(&r->arena, layer, q->sites.node_count + 1);
  r->each = samples > 0 ? (MOST_ROWS + samples - 1) / samples : MOST_ROWS;
  if (!r->layers) return HN_FAIL_MEMORY(&q->context->diag);
  for (int i = 0; i < q->sites.node_count; ++i) {
    layer *l = &r->layers[r->layer_count];
    if (q->sites.nodes[i].why) continue;
    l->shape = hn_layer_shape_of(&q->sites.nodes[i]);
    if (l->shape.inner > MOST_INNER) continue; /* its second moments would be too many: the nearest bytes */
    l->node = i;
    l->rows = hn_arena_alloc(&r->arena, (size_t)(MOST_ROWS * l->shape.channels * l->shape.taps), 64);
    if (!l->rows) return HN_FAIL_MEMORY(&q->context->diag);
    ++r->layer_count;
  }
  return HONE_OK;
}

/* ---- a layer's weights ---- */

typedef struct work {
  const hn_quantizing *q;
  const layer *layer;
  const float *weights;
  int64_t out_step, in_step; /* of the weights: from an output to the next, from an inner one to the next */
  float *rows, *sums, *scratch;
  float *scales;
  int8_t *bytes;
  bool solved; /* the group's second moments have a factor */
} work;

/* The mean is taken out where a bias can make up for it. */
static void group_rows(work *w, int64_t group, bool centred, int zero) {
  const layer *l = w->layer;
  const int64_t inner = l->shape.inner, width = l->shape.channels * l->shape.taps;
  for (int64_t k = 0; k < inner; ++k) {
    double mean = zero;
    for (int64_t i = 0; centred && i < l->count; ++i)
      mean += ((double)l->rows[i * width + group * inner + k] - zero) / (double)l->count;
    for (int64_t i = 0; i < l->count; ++i)
      w->rows[i * inner + k] = (float)((double)l->rows[i * width + group * inner + k] - mean);
  }
}

static void round_outputs(void *arg, int worker, int64_t begin, int64_t end) {
  const work *w = arg;
  const int64_t inner = w->layer->shape.inner;
  float row[MOST_INNER];
  int8_t bytes[MOST_INNER];
  (void)worker;
  for (int64_t o = begin; o < end; ++o) {
    for (int64_t k = 0; k < inner; ++k) row[k] = w->weights[o * w->out_step + k * w->in_step];
    if (!w->solved) {
      for (int64_t k = 0; k < inner; ++k)
        bytes[k] = (int8_t)fminf(fmaxf(nearbyintf(row[k] / w->scales[o]), -MOST_BYTE), MOST_BYTE);
    } else {
      hn_round_by_error(row, inner, w->scales[o], MOST_BYTE, w->sums, bytes);
    }
    for (int64_t k = 0; k < inner; ++k) w->bytes[o * w->out_step + k * w->in_step] = bytes[k];
  }
}

static hone_status round_layer(rounding *r, const layer *l, const hn_rounding **out) {
  hn_quantizing *q = r->q;
  hone_diagnostics *diag = &q->context->diag;
  const hn_quant_node *node = &q->sites.nodes[l->node];
  const hone_tensor *weights = node->node->in[node->layer->weights]->fact.constant;
  const int64_t inner = l->shape.inner, outputs = l->shape.outputs, groups = l->shape.groups;
  const bool rows = hn_quant_axis(node->node) == 0;
  const hn_scale *scale = &q->sites.items[q->sites.of[node->node->in[0]->id]].scale;
  hn_arena arena;
  hn_rounding *made = HN_NEW(&q->arena, hn_rounding, 1);
  hn_arena_init(&arena, q->context->allocator);
  work w = {.q = q,
            .layer = l,
            .weights = weights->data,
            .out_step = rows ? inner : 1,
            .in_step = rows ? 1 : outputs,
            .rows = hn_arena_alloc(&arena, (size_t)(l->count * inner + 1) * sizeof(float), 64),
            .sums = hn_arena_alloc(&arena, (size_t)(inner * inner) * sizeof(float), 64),
            .scratch = hn_arena_alloc(&arena, (size_t)(inner * inner) * sizeof(float), 64),
            .scales = HN_NEW(&q->arena, float, outputs),
            .bytes = hn_arena_alloc(&q->arena, (size_t)(outputs * inner), 64)};
  hone_status status = HONE_OK;
  if (!made || !w.rows || !w.sums || !w.scratch || !w.scales || !w.bytes) status = HN_FAIL_MEMORY(diag);
  if (status == HONE_OK) hn_layer_scales(weights, hn_quant_axis(node->node), q->options.per_tensor, w.scales);
  const int zero = byte_of(0, scale, &q->scheme);
  for (int64_t g = 0; g < groups && status == HONE_OK; ++g) {
    memset(w.sums, 0, (size_t)(inner * inner) * sizeof(float));
    group_rows(&w, g, node->layer->bias >= 0, zero);
    hn_add_products(w.rows, l->count, inner, w.sums);
    w.solved = l->count > 0 && hn_error_factor(w.sums, inner, damping, w.scratch);
    round_outputs(&w, 0, g * (outputs / groups), (g + 1) * (outputs / groups));
    status = hn_check_stop(q->context);
  }
  hn_arena_deinit(&arena);
  if (status != HONE_OK) return status;
  *made = (hn_rounding){.bytes = w.bytes, .scales = w.scales};
  *out = made;
  return HONE_OK;
}

hone_status hn_quantize_round(hn_quantizing *q) {
  rounding r = {.q = q};
  hn_arena_init(&r.arena, q->context->allocator);
  hone_status status = begin(&r);
  int *values = HN_NEW(&r.arena, int, r.layer_count + 1);
  const hn_rounding **weights = HN_NEW(&q->arena, const hn_rounding *, q->sites.node_count + 1);
  if (status == HONE_OK && (!values || !weights)) status = HN_FAIL_MEMORY(&q->context->diag);
  for (int i = 0; i < r.layer_count && status == HONE_OK; ++i)
    values[i] = q->sites.nodes[r.layers[i].node].node->in[0]->id;
  const hn_watch watch = {.graph = q->graph,
                          .values = values,
                          .count = r.layer_count,
                          .beside = r.layer_count,
                          .see = take_rows,
                          .user = &r,
                          .most = hn_distances_samples(q),
                          .what = "rounding weights"};
  int64_t samples;
  if (status == HONE_OK) status = hn_quantize_watch(q, &watch, &samples);
  for (int i = 0; i < r.layer_count && status == HONE_OK; ++i) {
    status = round_layer(&r, &r.layers[i], &weights[r.layers[i].node]);
    if (q->options.progress) q->options.progress(q->options.progress_user, "rounding weights", i + 1, r.layer_count);
  }
  if (status == HONE_OK) q->weights = weights;
  hn_arena_deinit(&r.arena);
  return status;
}
