/* SPDX-License-Identifier: Apache-2.0 */
/* compile_quantize_correct.c - corrections without training: rows that change the graph, the weights' bytes or the
 * biases, in the order of the table, each kept only where the outputs come nearer to those of f32 on the samples. */
#include "api/quantize.h"
#include "base/arguments.h"
#include "tensor/shape.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a correction may change, so that it can be taken back. */
typedef struct state {
  hone_graph *graph;
  hn_sites sites;
  double *const *bias;
  const hn_rounding *const *weights;
} state;

/* Factors on channels, as channels.h says; ranges are found again, on fewer samples. */
static hone_status rescale(hn_quantizing *q, bool (*choose)(hn_channels *, const hn_quantizing *), bool *out_any) {
  hone_graph *scaled;
  hn_channels channels;
  hn_sites sites;
  *out_any = choose(&q->channels, q);
  if (!*out_any) return HONE_OK;
  HN_TRY(hn_graph_clone(q->graph, &scaled));
  channels = q->channels;
  channels.graph = scaled;
  hone_status status = hn_channels_apply(&channels);
  if (status == HONE_OK) status = hn_sites_rebind(&q->sites, scaled, &q->arena, &sites);
  if (status != HONE_OK) {
    hn_graph_destroy(scaled);
    return status;
  }
  q->graph = scaled;
  q->sites = sites;
  HN_TRY(hn_quantize_observe(q, hn_distances_samples(q)));
  hn_quantize_pick(q);
  return HONE_OK;
}

static bool choose_equal(hn_channels *channels, const hn_quantizing *q) {
  return hn_channels_equalise(channels, &q->sites, getenv("POW") ? atof(getenv("POW")) : 1);
}

static bool choose_smooth(hn_channels *channels, const hn_quantizing *q) {
  (void)q;
  return hn_channels_smooth(channels, 0.5);
}

static hone_status equalise(hn_quantizing *q, bool *out_any) { return rescale(q, choose_equal, out_any); }
static hone_status smooth(hn_quantizing *q, bool *out_any) { return rescale(q, choose_smooth, out_any); }

static hone_status round_by_error(hn_quantizing *q, bool *out_any) {
  *out_any = true;
  return hn_quantize_round(q);
}

static hone_status correct_bias(hn_quantizing *q, bool *out_any) {
  HN_TRY(hn_quantize_correct_bias(q));
  *out_any = q->bias != NULL;
  return HONE_OK;
}

/* A row does its work where there is any for it. */
typedef struct correction {
  const char *name, *doc;
  bool usual; /* done where nobody says which */
  hone_status (*apply)(hn_quantizing *q, bool *out_any);
} correction;

static const correction corrections[] = {
    {"equalise", "channels of an activation get one reach: what makes them takes factors in, what reads them out", true,
     equalise},
    {"smooth", "behind normalisations weights take on half of what activations reach, on a logarithm's scale", true,
     smooth},
    {"round", "weights are rounded so that layers' outputs, not weights, are nearest", false, round_by_error},
    {"bias", "biases take back what rounding shifts a layer's output by", true, correct_bias},
};

/* ---- which ---- */

static bool is_named(const char *list, const char *name) {
  const size_t length = strlen(name);
  for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',') {
    const size_t here = strcspn(at, ",");
    if ((here == length && strncmp(at, name, length) == 0) || (here == 3 && strncmp(at, "all", 3) == 0)) return true;
  }
  return false;
}

static bool is_wanted(const hone_quantize_options *options, const correction *row) {
  if (options->uncorrected) return false;
  return options->corrections ? is_named(options->corrections, row->name) : row->usual;
}

hone_status hn_quantize_check_corrections(hone_diagnostics *diag, const char *list) {
  for (const char *at = list ? list : ""; *at; at += strcspn(at, ","), at += *at == ',') {
    const size_t length = strcspn(at, ",");
    bool known = length == 0 || (length == 3 && strncmp(at, "all", 3) == 0);
    for (size_t i = 0; i < HN_COUNT(corrections) && !known; ++i)
      known = strlen(corrections[i].name) == length && strncmp(at, corrections[i].name, length) == 0;
    if (known) continue;
    char names[128] = "";
    size_t used = 0;
    for (size_t i = 0; i < HN_COUNT(corrections) && used < sizeof names; ++i)
      used += (size_t)snprintf(names + used, sizeof names - used, "%s, ", corrections[i].name);
    return HN_FAIL(diag, HONE_INVALID, "quantize option corrections: there is no \"%.*s\"; there are %sall",
                   (int)(length < 60 ? length : 60), at, names);
  }
  return HONE_OK;
}

hone_status hone_quantize_corrections(hone_write_fn write, void *user) {
  HN_GIVEN(NULL, write);
  for (size_t i = 0; i < HN_COUNT(corrections); ++i) {
    char line[256];
    const int length = snprintf(line, sizeof line, "%s\t%s\t%s\n", corrections[i].name, corrections[i].doc,
                                corrections[i].usual ? "usual" : "on request");
    if (!write(user, line, (size_t)length)) return HONE_IO;
  }
  return HONE_OK;
}

/* ---- each in turn ---- */

static hone_status look(hn_quantizing *q, double *out) {
  hone_graph *graph;
  if (getenv("WITHBIAS")) HN_TRY(hn_quantize_correct_bias(q));
  HN_TRY(hn_quantize_make(q, &q->sites, &graph));
  const hone_status status = hn_distances_look(&q->distances, graph, "measuring outputs");
  hn_graph_destroy(graph);
  *out = q->distances.terms > 0 ? q->distances.rel_l2 / q->distances.terms : 0;
  return status;
}

static void put_back(hn_quantizing *q, const state *old) {
  if (q->graph != old->graph) hn_graph_destroy(q->graph);
  q->graph = old->graph;
  q->sites = old->sites;
  q->bias = old->bias;
  q->weights = old->weights;
}

static hone_status try_row(hn_quantizing *q, const correction *row, double *apart) {
  const state old = {q->graph, q->sites, q->bias, q->weights};
  bool any = false;
  double after = HUGE_VAL;
  hone_status status = row->apply(q, &any);
  if (status == HONE_OK && any) status = look(q, &after);
  const bool kept = status == HONE_OK && (after < *apart || getenv("FORCE"));
  if (!kept) put_back(q, &old);
  if (kept && q->graph != old.graph) hn_graph_destroy(old.graph);
  if (status != HONE_OK) return status;
  if (any)
    hn_log(q->context, HONE_LOG_INFO, "%s: outputs were %.4f from f32's, are %.4f: %s", row->name, *apart, after,
           kept ? "kept" : "left out");
  if (q->options.event) {
    const hone_quantize_event event = {
        .correction = row->name, .apart_before = *apart, .apart_after = any ? after : *apart, .kept = kept};
    q->options.event(q->options.event_user, &event);
  }
  if (kept) *apart = after;
  return HONE_OK;
}

hone_status hn_quantize_correct(hn_quantizing *q) {
  double apart;
  bool any = false;
  for (size_t i = 0; i < HN_COUNT(corrections); ++i) any |= is_wanted(&q->options, &corrections[i]);
  if (!any) return HONE_OK;
  if (q->distances.count == 0) HN_TRY(hn_distances_begin(&q->distances));
  HN_TRY(look(q, &apart));
  for (size_t i = 0; i < HN_COUNT(corrections); ++i)
    if (is_wanted(&q->options, &corrections[i])) HN_TRY(try_row(q, &corrections[i], &apart));
  return HONE_OK;
}
