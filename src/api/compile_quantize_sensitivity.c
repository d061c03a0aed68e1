/* SPDX-License-Identifier: Apache-2.0 */
/* compile_quantize_sensitivity.c - which layers bear 8 bits: each alone, and all up to each, against f32. */
#include "api/quantize.h"
#include "base/arguments.h"
#include "base/file.h"
#include "report/sensitivity_plot.h"
#include "tensor/shape.h"

typedef struct looking {
  hn_quantizing *q;
  void (*see)(void *user, const hone_sensitivity *row);
  void *user;
} looking;

static hone_status look(looking *l, const bool *wanted, int node, int64_t index, bool cumulative) {
  hn_quantizing *q = l->q;
  hn_distances *d = &q->distances;
  hn_sites sites;
  hone_graph *graph = NULL;
  hn_arena arena;
  hn_arena_init(&arena, q->context->allocator);
  hone_status status = hn_sites_choose(&q->sites, wanted, &arena, &sites);
  if (status == HONE_OK) status = hn_quantize_make(q, &sites, &graph);
  const hn_quant_node *layer = &q->sites.nodes[node];
  if (status == HONE_OK) status = hn_distances_look(d, graph, layer->node->name);
  hn_graph_destroy(graph);
  hn_arena_deinit(&arena);
  HN_TRY(status);
  const double terms = d->terms > 0 ? d->terms : 1;
  const hone_sensitivity row = {.layer = layer->node->name,
                                .op = layer->node->op->name,
                                .cumulative = cumulative,
                                .rel_l2 = d->rel_l2 / terms,
                                .cosine = d->cosine / terms,
                                .sqnr_db = d->sqnr_db / terms,
                                .top1 = d->top1 / terms,
                                .weights = (double)hn_elems(&layer->node->in[layer->layer->weights]->fact.type.shape),
                                .index = index};
  l->see(l->user, &row);
  return HONE_OK;
}

static hone_status look_at_all(looking *l) {
  hn_quantizing *q = l->q;
  const int count = q->sites.node_count;
  bool *wanted = HN_NEW(&q->arena, bool, count + 1);
  if (!wanted) return HN_FAIL_MEMORY(&q->context->diag);
  if (q->distances.count == 0) HN_TRY(hn_distances_begin(&q->distances));
  int64_t index = 0;
  for (int i = 0; i < count; ++i) {
    if (q->sites.nodes[i].why) continue;
    wanted[i] = true;
    HN_TRY(look(l, wanted, i, index++, false));
    wanted[i] = false;
  }
  index = 0;
  for (int i = 0; i < count; ++i) {
    if (q->sites.nodes[i].why) continue;
    wanted[i] = true;
    HN_TRY(look(l, wanted, i, index++, true));
  }
  return HONE_OK;
}

hone_status hone_graph_sensitivity(hone_context *context, const hone_graph *graph, hone_device *const *devices,
                                   int device_count, const hone_quantize_options *options,
                                   void (*see)(void *user, const hone_sensitivity *row), void *user) {
  HN_GIVEN(NULL, context);
  HN_GIVEN(&context->diag, graph);
  HN_GIVEN(&context->diag, see);
  hn_quantizing q;
  HN_TRY(hn_quantize_begin(context, graph, devices, device_count, options, &q));
  hone_status status = HONE_OK;
  if (!q.options.sample)
    status = HN_FAIL(&context->diag, HONE_INVALID, "sensitivity is measured on samples, and there are none");
  if (status == HONE_OK) status = hn_quantize_find_ranges(&q);
  if (status == HONE_OK) {
    looking l = {.q = &q, .see = see, .user = user};
    status = look_at_all(&l);
    if (status == HONE_OK && q.options.layer_time) status = hn_quantize_time(&q);
  }
  hn_quantize_end(&q);
  return status;
}

hone_status hone_sensitivity_plot(hone_context *context, const char *title, const hone_sensitivity *alone,
                                  const hone_sensitivity *cumulative, const hone_layer_time *times, int64_t count,
                                  const char *path) {
  HN_GIVEN(NULL, context);
  HN_GIVEN(&context->diag, title);
  HN_GIVEN(&context->diag, alone);
  HN_GIVEN(&context->diag, cumulative);
  HN_GIVEN(&context->diag, path);
  HN_TRY(hn_argument_range(&context->diag, "count", count, 0, 100000));
  hn_text text;
  hn_arena arena;
  hn_text_init(&text, context->allocator);
  hn_arena_init(&arena, context->allocator);
  hn_sensitivity_plot(title, alone, cumulative, times, count, &arena, &text);
  const hone_status status = text.failed ? HN_FAIL_MEMORY(&context->diag)
                                         : hn_file_replace(&context->diag, path, hn_text_string(&text), text.length);
  hn_arena_deinit(&arena);
  hn_text_deinit(&text);
  return status;
}
