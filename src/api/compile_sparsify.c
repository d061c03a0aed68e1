/* SPDX-License-Identifier: Apache-2.0 */
/* compile_sparsify.c - graph -> graph whose layers have two zeros in four weights. */
#include "base/arguments.h"
#include "calib/sites.h"
#include "ir/named.h"
#include "prune/part.h"
#include "prune/sparse.h"
#include <hone/prune.h>

typedef struct making {
  hone_context *context;
  hone_sparse_options options;
  hn_arena arena;
  hone_graph *graph; /* our copy */
  hn_parted parted;
  hn_coupling coupling;
  hn_sparse sparse;
} making;

static hone_status find_dense(making *m, bool **out) {
  const hn_coupling *c = &m->coupling;
  hone_status status = HONE_OK;
  *out = HN_NEW(&m->arena, bool, c->layer_count + 1);
  if (!*out) return HN_FAIL_MEMORY(&m->context->diag);
  for (int k = 0; k < m->options.keep_count; ++k) {
    bool any = false;
    for (int i = 0; i < c->layer_count; ++i) {
      const bool here = hn_node_is_named(c->layers[i].node, m->options.keep[k]);
      (*out)[i] |= here;
      any |= here;
    }
    if (!any)
      status = HN_FAIL(&m->context->diag, HONE_INVALID,
                       "no layer of the model is named \"%.100s\", which was to stay dense", m->options.keep[k]);
  }
  return status;
}

static void tell(const making *m) {
  for (int i = 0; i < m->coupling.layer_count && m->options.layer; ++i) {
    const hn_sparse_reader *r = &m->sparse.readers[i];
    const hn_node *node = m->coupling.layers[i].node;
    const hone_sparse_layer layer = {.name = node->name,
                                     .op = node->op->name,
                                     .plain = r->whole > 0 ? r->plain / r->whole : 1,
                                     .kept = r->whole > 0 ? r->kept / r->whole : 1,
                                     .permuted = r->permuted && r->kept > r->plain,
                                     .why = r->why};
    m->options.layer(m->options.layer_user, &layer);
  }
}

static hone_status permute(making *m) {
  hn_cut cut;
  HN_TRY(hn_cut_begin(&m->coupling, m->graph, &m->arena, &cut));
  for (int g = 0; g < m->coupling.group_count; ++g) {
    HN_TRY(hn_sparse_permute(&m->sparse, g, &cut));
    if (m->options.progress)
      m->options.progress(m->options.progress_user, "ordering channels", g + 1, m->coupling.group_count);
  }
  return hn_cut_apply(&cut);
}

static hone_status sparsify(making *m) {
  const hn_coupling_options none = {0};
  bool *dense;
  int sparse = 0;
  HN_TRY(hn_sites_check_floats(m->graph));
  HN_TRY(hn_constants_part(m->graph, &m->arena, &m->parted));
  HN_TRY(hn_coupling_find(m->graph, &none, &m->arena, &m->coupling));
  HN_TRY(find_dense(m, &dense));
  HN_TRY(hn_sparse_begin(&m->coupling, dense, &m->arena, &m->sparse));
  for (int i = 0; i < m->coupling.layer_count; ++i) sparse += !m->sparse.readers[i].why;
  if (sparse > 0 && !m->options.in_order) HN_TRY(permute(m));
  tell(m);
  if (sparse == 0)
    return HN_FAIL(&m->context->diag, HONE_UNSUPPORTED, "no layer of the model can have two of four weights: %s%s%s",
                   m->coupling.layer_count ? m->coupling.layers[0].node->name : "it has no layer with constant weights",
                   m->coupling.layer_count ? ": " : "", m->coupling.layer_count ? m->sparse.readers[0].why : "");
  for (int i = 0; i < m->coupling.layer_count; ++i)
    if (!m->sparse.readers[i].why) HN_TRY(hn_sparse_zero(&m->sparse, m->graph, i));
  hn_constants_rejoin(m->graph, &m->parted);
  m->graph->model_hash = 0;
  return hn_graph_verify(m->graph);
}

hone_status hone_graph_sparsify(hone_context *context, const hone_graph *graph, const hone_sparse_options *given,
                                hone_graph **out_graph) {
  if (out_graph) *out_graph = NULL;
  HN_GIVEN(NULL, context);
  HN_GIVEN(&context->diag, graph);
  HN_GIVEN(&context->diag, out_graph);
  making m = {.context = context};
  HN_OPTIONS(&context->diag, "sparsify", given, hone_sparse_options, keep, &m.options);
  HN_TRY(hn_argument_pointers(&context->diag, "sparsify option keep", m.options.keep, m.options.keep_count, INT32_MAX));
  hn_call_begin(context);
  HN_TRY(hn_graph_clone(graph, &m.graph));
  hn_arena_init(&m.arena, context->allocator);
  const hone_status status = sparsify(&m);
  if (status == HONE_OK) {
    *out_graph = m.graph;
    m.graph = NULL;
  }
  hn_graph_destroy(m.graph);
  hn_arena_deinit(&m.arena);
  return status;
}
