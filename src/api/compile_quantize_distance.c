/* SPDX-License-Identifier: Apache-2.0 */
/* compile_quantize_distance.c - a graph with roundings against the graph in f32, by their outputs on samples. */
#include "api/quantize.h"
#include "tensor/shape.h"
#include <math.h>

enum { MOST_OUTPUT_BYTES = 64 << 20 };

hone_status hn_quantize_make(hn_quantizing *q, const hn_sites *from, hone_graph **out) {
  hn_sites sites;
  hn_arena arena;
  hn_arena_init(&arena, q->context->allocator);
  hone_status status = hn_graph_clone(q->graph, out);
  if (status == HONE_OK) status = hn_sites_rebind(from, *out, &arena, &sites);
  const hn_insertion how = {
      .scheme = q->scheme, .per_tensor = q->options.per_tensor, .bias = q->bias, .weights = q->weights};
  if (status == HONE_OK) status = hn_sites_insert(&sites, &how);
  hn_arena_deinit(&arena);
  if (status == HONE_OK) return status;
  hn_graph_destroy(*out);
  *out = NULL;
  return status;
}

void hn_distances_init(hn_distances *d, hn_quantizing *q) {
  *d = (hn_distances){.q = q, .outputs = q->graph->main->result_count};
  hn_arena_init(&d->arena, q->context->allocator);
}

void hn_distances_deinit(hn_distances *d) { hn_arena_deinit(&d->arena); }

int64_t hn_distances_samples(const hn_quantizing *q) {
  return q->samples < HN_MOST_COMPARED ? q->samples : HN_MOST_COMPARED;
}

hone_status hn_distances_keep(hn_distances *d, const hone_tensor *tensor) {
  hone_diagnostics *diag = &d->q->context->diag;
  if (!hn_arena_grow(&d->arena, (void **)&d->want, &d->capacity, d->count + 1, sizeof *d->want))
    return HN_FAIL_MEMORY(diag);
  float **to = &d->want[d->count++];
  *to = NULL;
  if (tensor->type.dtype != HONE_F32 || d->bytes + tensor->bytes > MOST_OUTPUT_BYTES) return HONE_OK;
  d->bytes += tensor->bytes;
  *to = hn_arena_copy(&d->arena, tensor->data, tensor->bytes);
  return *to ? HONE_OK : HN_FAIL_MEMORY(diag);
}

/* Equal outputs have no noise: that many decibels stand for it. */
static double decibels(double apart, double norm) { return apart > 0 ? fmin(10 * log10(norm / apart), 300) : 300; }

static void compare(hn_distances *d, const float *want, const float *got, int64_t count) {
  double apart = 0, norm = 0, got_norm = 0, product = 0;
  int64_t top = 0, got_top = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double x = (double)want[i], y = (double)got[i];
    apart += (y - x) * (y - x);
    norm += x * x;
    got_norm += y * y;
    product += x * y;
    if (want[i] > want[top]) top = i;
    if (got[i] > got[got_top]) got_top = i;
  }
  if (!(norm > 0)) return;
  d->rel_l2 += sqrt(apart / norm);
  d->cosine += got_norm > 0 ? product / sqrt(norm * got_norm) : 0;
  d->sqnr_db += decibels(apart, norm);
  d->top1 += top == got_top;
  d->terms += 1;
}

static hone_status see_f32(void *user, int64_t sample, int index, const hone_tensor *tensor) {
  (void)sample, (void)index;
  return hn_distances_keep(user, tensor);
}

static hone_status see_output(void *user, int64_t sample, int index, const hone_tensor *tensor) {
  hn_distances *d = user;
  const int64_t at = sample * d->outputs + index;
  if (at < d->count && d->want[at]) compare(d, d->want[at], tensor->data, hn_elems(&tensor->type.shape));
  return HONE_OK;
}

static hone_status watch(hn_distances *d, const hone_graph *graph, hn_see_fn *see, const char *what) {
  hn_quantizing *q = d->q;
  int *values = HN_NEW(&d->arena, int, d->outputs + 1);
  if (!values) return HN_FAIL_MEMORY(&q->context->diag);
  for (int i = 0; i < d->outputs; ++i) values[i] = graph->main->results[i]->id;
  const hn_watch watch = {.graph = graph,
                          .values = values,
                          .count = d->outputs,
                          .see = see,
                          .user = d,
                          .most = hn_distances_samples(q),
                          .floats = true,
                          .what = what};
  int64_t samples;
  return hn_quantize_watch(q, &watch, &samples);
}

hone_status hn_distances_begin(hn_distances *d) { return watch(d, d->q->graph, see_f32, "measuring outputs"); }

hone_status hn_distances_look(hn_distances *d, const hone_graph *graph, const char *what) {
  d->rel_l2 = d->cosine = d->sqnr_db = d->top1 = d->terms = 0;
  return watch(d, graph, see_output, what);
}
