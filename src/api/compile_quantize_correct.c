/* SPDX-License-Identifier: Apache-2.0 */
/* compile_quantize_correct.c - corrections without training: rows that change the graph, the weights' bytes or the
 * biases, in the order of the table, each kept only where the outputs come nearer to those of f32 on the samples. */
#include "api/quantize.h"
#include "base/arguments.h"
#include "tensor/shape.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* What a correction may change, so that it can be taken back. */
typedef struct state {
  hone_graph *graph;
  hn_sites sites;
  hn_channels channels;
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
  for (int i = 0; i < sites.count; ++i) sites.items[i].changed = hn_channels_changed(&channels, sites.items[i].value);
  q->graph = scaled;
  q->sites = sites;
  HN_TRY(hn_channels_find(scaled, &q->arena, &q->channels));
  hn_channels_remember(&channels, &q->channels);
  HN_TRY(hn_quantize_observe(q, hn_distances_samples(q)));
  hn_quantize_pick(q);
  return HONE_OK;
}

static bool choose_equal(hn_channels *channels, const hn_quantizing *q) {
  return hn_channels_equalise(channels, &q->sites, 0.7);
}

static bool choose_smooth(hn_channels *channels, const hn_quantizing *q) {
  (void)q;
  return hn_channels_smooth(channels, 0.5);
}

static bool choose_middles(hn_channels *channels, const hn_quantizing *q) {
  return hn_channels_align(channels, &q->sites);
}

/* A row changes the graph, by factors and shifts on channels, or what is finished behind it: the weights' bytes, the
 * biases. Rows of the first kind are judged
 * with all of the second. */
typedef struct correction {
  const char *name, *doc;
  bool usual;                                                    /* done where nobody says which */
  bool (*choose)(hn_channels *channels, const hn_quantizing *q); /* of a row that changes the graph; else NULL */
  hone_status (*finish)(hn_quantizing *q);                       /* of one that finishes; else NULL */
  bool of_floats;                                                /* for 8-bit floats, too */
} correction;

static const correction corrections[] = {
    {"align", "channels come to lie around 0 where sums and products alone read them; biases make up for it", true,
     choose_middles, NULL, false},
    {"equalise",
     "channels of an activation get nearly one reach: makers' weights take factors in, readers' take them out", false,
     choose_equal, NULL, false},
    {"smooth", "behind normalisations weights take on half of what activations reach, on a logarithm's scale", false,
     choose_smooth, NULL, false},
    {"round", "weights are rounded so that layers' outputs, not weights, are nearest", false, NULL, hn_quantize_round,
     false},
    {"bias", "biases take back what rounding shifts a layer's output by", true, NULL, hn_quantize_correct_bias, true},
};
enum { CORRECTIONS = HN_COUNT(corrections) };

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
  if (options->uncorrected || (options->activations == HONE_F8E4M3FN && !row->of_floats)) return false;
  return options->corrections ? is_named(options->corrections, row->name) : row->usual;
}

hone_status hn_quantize_check_corrections(hone_diagnostics *diag, const char *list, bool of_floats) {
  for (const char *at = list ? list : ""; *at; at += strcspn(at, ","), at += *at == ',') {
    const size_t length = strcspn(at, ",");
    bool known = length == 0 || (length == 3 && strncmp(at, "all", 3) == 0);
    for (int i = 0; i < CORRECTIONS && !known; ++i)
      known = strlen(corrections[i].name) == length && strncmp(at, corrections[i].name, length) == 0;
    if (known) continue;
    char names[128] = "";
    size_t used = 0;
    for (int i = 0; i < CORRECTIONS && used < sizeof names; ++i)
      used += (size_t)snprintf(names + used, sizeof names - used, "%s, ", corrections[i].name);
    return HN_FAIL(diag, HONE_INVALID, "quantize option corrections: there is no \"%.*s\"; there are %sall",
                   (int)(length < 60 ? length : 60), at, names);
  }
  for (int i = 0; i < CORRECTIONS && of_floats && list && !is_named(list, "all"); ++i)
    if (!corrections[i].of_floats && is_named(list, corrections[i].name))
      return HN_FAIL(diag, HONE_INVALID, "quantize option corrections: %s is for bytes, not for 8-bit floats",
                     corrections[i].name);
  return HONE_OK;
}

hone_status hone_quantize_corrections(hone_write_fn write, void *user) {
  HN_GIVEN(NULL, write);
  for (int i = 0; i < CORRECTIONS; ++i) {
    char line[256];
    const int length = snprintf(line, sizeof line, "%s\t%s\t%s\n", corrections[i].name, corrections[i].doc,
                                corrections[i].usual ? "usual" : "on request");
    if (!write(user, line, (size_t)length)) return HONE_IO;
  }
  return HONE_OK;
}

/* ---- each in turn ---- */

/* How far outputs are with what finishes the graph. */
static hone_status look(hn_quantizing *q, const bool *wanted, double *out) {
  hone_graph *graph;
  q->weights = NULL;
  q->bias = NULL;
  for (int i = 0; i < CORRECTIONS; ++i)
    if (wanted[i] && corrections[i].finish) HN_TRY(corrections[i].finish(q));
  HN_TRY(hn_quantize_make(q, &q->sites, &graph));
  const hone_status status = hn_distances_look(&q->distances, graph, "measuring outputs");
  hn_graph_destroy(graph);
  *out = q->distances.terms > 0 ? q->distances.rel_l2 / q->distances.terms : 0;
  return status;
}

static void tell(const hn_quantizing *q, const correction *row, double without, double with, bool kept) {
  hn_log(q->context, HONE_LOG_INFO, "%s: outputs are %.4f from f32's without it, %.4f with it: %s", row->name, without,
         with, kept ? "kept" : "left out");
  if (!q->options.event) return;
  const hone_quantize_event event = {
      .correction = row->name, .apart_before = without, .apart_after = with, .kept = kept};
  q->options.event(q->options.event_user, &event);
}

static void put_back(hn_quantizing *q, const state *old) {
  if (q->graph != old->graph) hn_graph_destroy(q->graph);
  q->graph = old->graph;
  q->sites = old->sites;
  q->channels = old->channels;
  q->bias = old->bias;
  q->weights = old->weights;
}

/* A row that changes the graph: apart is how far outputs are without it, and then with what was kept. */
static hone_status try_graph(hn_quantizing *q, const correction *row, const bool *wanted, double *apart) {
  const state old = {q->graph, q->sites, q->channels, q->bias, q->weights};
  double with = HUGE_VAL;
  bool any;
  hone_status status = rescale(q, row->choose, &any);
  if (status == HONE_OK && any) status = look(q, wanted, &with);
  const bool kept = status == HONE_OK && with < *apart;
  if (!kept) put_back(q, &old);
  if (status != HONE_OK) return status;
  if (kept) hn_graph_destroy(old.graph);
  if (any) tell(q, row, *apart, with, kept);
  if (kept) *apart = with;
  return HONE_OK;
}

static hone_status try_finish(hn_quantizing *q, int row, bool *wanted, double *apart) {
  const state old = {q->graph, q->sites, q->channels, q->bias, q->weights};
  double without = HUGE_VAL;
  wanted[row] = false;
  HN_TRY(look(q, wanted, &without));
  const bool kept = *apart < without;
  tell(q, &corrections[row], without, *apart, kept);
  wanted[row] = kept;
  if (kept)
    put_back(q, &old);
  else
    *apart = without;
  return HONE_OK;
}

hone_status hn_quantize_correct(hn_quantizing *q) {
  double apart;
  bool wanted[CORRECTIONS], any = false;
  for (int i = 0; i < CORRECTIONS; ++i) any |= wanted[i] = is_wanted(&q->options, &corrections[i]);
  if (!any) return HONE_OK;
  if (q->distances.count == 0) HN_TRY(hn_distances_begin(&q->distances));
  HN_TRY(look(q, wanted, &apart));
  for (int i = 0; i < CORRECTIONS; ++i)
    if (wanted[i] && corrections[i].choose) HN_TRY(try_graph(q, &corrections[i], wanted, &apart));
  for (int i = 0; i < CORRECTIONS; ++i)
    if (wanted[i] && corrections[i].finish) HN_TRY(try_finish(q, i, wanted, &apart));
  return HONE_OK;
}
