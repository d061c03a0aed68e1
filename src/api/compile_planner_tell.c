/* SPDX-License-Identifier: Apache-2.0 */
/* compile_planner_tell.c - what came of a planning: points, layers and why each has its type, for the caller and for
 * the engine's ledger. */
#include "api/planner.h"
#include "run/engine.h"
#include <hone/report.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- points ---- */

static int by_time(const void *a, const void *b) {
  const hn_plan_built *x = *(const hn_plan_built *const *)a, *y = *(const hn_plan_built *const *)b;
  return x->median_ns < y->median_ns ? -1 : x->median_ns > y->median_ns;
}

static hone_status tell_points(hn_planning *p) {
  const hn_plan_built **order = HN_NEW(&p->arena, const hn_plan_built *, p->built_count + 1);
  if (!order) return HN_FAIL_MEMORY(&p->context->diag);
  for (int b = 0; b < p->built_count; ++b) order[b] = &p->built[b];
  qsort(order, (size_t)p->built_count, sizeof *order, by_time);
  for (int b = 0; b < p->built_count; ++b) {
    const hn_plan_built *one = order[b];
    hone_engine_summary summary = HONE_SIZED(hone_engine_summary);
    hone_engine_summarize(one->engine, &summary);
    hone_plan_point point = {.what = one->what,
                             .predicted_ms = one->predicted_ns * 1e-6,
                             .ms = one->median_ns * 1e-6,
                             .least_ms = one->least_ns * 1e-6,
                             .predicted_error = sqrt(fmax(one->predicted_noise, 0)),
                             .rel_l2 = one->rel_l2,
                             .same_class = one->same,
                             .drop = one->drop,
                             .drop_bound = fmin(one->drop + 1.65 * sqrt(one->discord / (double)p->judged_count), 1),
                             .samples = p->judged_count,
                             .weights_bytes = summary.weights_bytes,
                             .beaten = one->beaten,
                             .fits = one->fits,
                             .chosen = one == &p->built[p->chosen < 0 ? 0 : p->chosen] && p->chosen >= 0};
    for (int l = 0; l < p->layer_count; ++l) ++point.layers[one->types[l]];
    p->options.point(p->options.user, &point);
  }
  return HONE_OK;
}

static hone_status no_fit(const hn_planning *p) {
  const hone_planner_options *o = &p->options;
  const hn_plan_built *best = &p->built[0];
  for (int b = 1; b < p->built_count; ++b)
    if (o->target_ms > 0 ? p->built[b].median_ns < best->median_ns : p->built[b].rel_l2 < best->rel_l2)
      best = &p->built[b];
  return HN_FAIL(&p->context->diag, HONE_UNSUPPORTED,
                 "no point fits: the nearest (%s) takes %.3f ms, is %.3g (relative L2) from f32 and loses %.2f %%",
                 best->what, best->median_ns * 1e-6, best->rel_l2, 100 * best->drop);
}

/* ---- layers ---- */

/* The whole network by the search, with one layer in another type. */
static void with_type(const hn_planning *p, int layer, uint8_t type, double *out_ns, double *out_noise) {
  uint8_t *types = p->scratch;
  memcpy(types, p->built[p->chosen].types, (size_t)p->layer_count);
  types[layer] = type;
  *out_ns = hn_search_ns(&p->search, types);
  *out_noise = hn_search_noise(&p->search, types);
}

/* Why it is not in 8 bits; NULL: it is. */
static const char *why_of(hn_planning *p, int l) {
  const hn_plan_built *b = &p->built[p->chosen];
  const hn_planned_layer *layer = &p->layers[l];
  double ns, noise;
  if (b->types[l] == HONE_PLAN_INT8) return NULL;
  if (layer->why_not_bytes) return layer->why_not_bytes;
  if (!p->noise) return "no point but the pure ones was measured";
  with_type(p, l, HONE_PLAN_INT8, &ns, &noise);
  const double won = (b->predicted_ns - ns) * 1e-6, added = noise - b->predicted_noise;
  const char *why =
      won <= 0 ? hn_arena_printf(&p->arena, "8 bits would take %.4f ms more, conversions included", -won)
               : hn_arena_printf(&p->arena, "8 bits would save %.4f ms and add %.2e of noise to the plan's %.2e", won,
                                 added, b->predicted_noise);
  return why ? why : "";
}

static void describe(hn_planning *p, int l, hone_plan_layer *out) {
  const hn_plan_built *b = &p->built[p->chosen];
  const hn_node *node = p->q.sites.nodes[p->layers[l].node].node;
  *out = (hone_plan_layer){.layer = node->name, .op = node->op->name, .got = (hone_plan_type)b->types[l]};
  out->why = why_of(p, l);
  if (!p->noise) return;
  double ns, noise;
  with_type(p, l, HONE_PLAN_F32, &ns, &noise);
  out->saved_ms = (ns - b->predicted_ns) * 1e-6;
  for (int t = 0; t < HN_PLAN_T; ++t) {
    out->possible[t] = p->layers[l].types >> t & 1;
    if (!out->possible[t]) continue;
    out->ms[t] = p->costs[l].ns[t] * 1e-6;
    out->noise[t] = p->costs[l].noise[t];
  }
}

/* ---- the engine's ledger ---- */

static void put_layer(hn_json_writer *w, const hone_plan_layer *layer) {
  hn_json_open_flat(w, NULL, '{');
  hn_json_put_text(w, "layer", layer->layer);
  hn_json_put_text(w, "op", layer->op);
  hn_json_put_text(w, "type", hone_plan_type_name(layer->got));
  hn_json_put_real(w, "saved_ns", layer->saved_ms * 1e6);
  for (int t = 0; t < HN_PLAN_T; ++t) {
    if (!layer->possible[t]) continue;
    hn_json_open_flat(w, hone_plan_type_name((hone_plan_type)t), '{');
    hn_json_put_real(w, "ns", layer->ms[t] * 1e6);
    hn_json_put_real(w, "noise", layer->noise[t]);
    hn_json_close(w, '}');
  }
  if (layer->why) hn_json_put_text(w, "why", layer->why);
  hn_json_close(w, '}');
}

/* The ledger is JSON that ends with a brace and a line's end: the plan goes in before them. */
static hone_status put_ledger(hn_planning *p, const hone_plan_layer *layers) {
  const hn_plan_built *b = &p->built[p->chosen];
  hone_engine *engine = b->engine;
  const size_t length = engine->ledger ? strlen(engine->ledger) : 0;
  hn_text text, part;
  hn_json_writer w;
  if (length < 2) return HONE_OK;
  hn_text_init(&text, p->context->allocator);
  hn_text_init(&part, p->context->allocator);
  hn_json_begin(&w, &part);
  hn_json_open(&w, NULL, '{');
  hn_json_put_real(&w, "ns", b->median_ns);
  hn_json_put_real(&w, "predicted_ns", b->predicted_ns);
  hn_json_put_real(&w, "f32_ns", p->built[0].median_ns);
  hn_json_put_real(&w, "rel_l2", b->rel_l2);
  hn_json_put_real(&w, "noise", b->predicted_noise);
  hn_json_put_real(&w, "same_class", b->same);
  hn_json_put_real(&w, "drop", b->drop);
  hn_json_put_int(&w, "samples", p->judged_count);
  hn_json_open(&w, "layers", '[');
  for (int l = 0; l < p->layer_count; ++l) put_layer(&w, &layers[l]);
  hn_json_close(&w, ']');
  hn_json_close(&w, '}');
  size_t end = length;
  while (end > 0 && engine->ledger[end - 1] != '}') --end;
  hn_text_printf(&text, "%.*s, \"planner\": %s}\n", (int)(end - 1), engine->ledger, hn_text_string(&part));
  const bool failed = text.failed || part.failed;
  hn_text_deinit(&part);
  if (failed) {
    hn_text_deinit(&text);
    return HN_FAIL_MEMORY(&p->context->diag);
  }
  hn_free(&engine->allocator, engine->ledger, engine->ledger_bytes);
  engine->ledger = text.data;
  engine->ledger_bytes = text.capacity;
  return HONE_OK;
}

hone_status hn_plan_tell(hn_planning *p) {
  if (p->options.point) HN_TRY(tell_points(p));
  if (p->chosen < 0) return no_fit(p);
  hone_plan_layer *layers = HN_NEW(&p->arena, hone_plan_layer, p->layer_count + 1);
  p->scratch = HN_NEW(&p->arena, uint8_t, p->layer_count + 1);
  if (!layers || !p->scratch) return HN_FAIL_MEMORY(&p->context->diag);
  for (int l = 0; l < p->layer_count; ++l) describe(p, l, &layers[l]);
  for (int l = 0; l < p->layer_count && p->options.layer; ++l) p->options.layer(p->options.user, &layers[l]);
  return put_ledger(p, layers);
}
