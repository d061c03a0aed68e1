/* SPDX-License-Identifier: Apache-2.0 */
/* compile_planner.c - mixed precision by measured time and measured error: ranges, times and noises of layers, the
 * search, and each point that it proposes built and measured. */
#include "api/planner.h"
#include "api/engine.h"
#include "base/arguments.h"
#include "base/clock.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_POINTS = 12, LEAST_POINTS = 3, MOST_POINTS = 64, MOST_RANKINGS = 3 };

const char *hone_plan_type_name(hone_plan_type type) {
  static const char *const names[HONE_PLAN_TYPES] = {"f32", "bf16", "f16", "int8"};
  return (unsigned)type < HONE_PLAN_TYPES ? names[type] : "";
}

bool hn_plan_stopped(const hn_planning *p) {
  const atomic_bool *stop = p->options.stop;
  return (stop && atomic_load(stop)) || (p->stop_ns != 0 && hn_clock_ns() >= p->stop_ns);
}

/* ---- options ---- */

static hone_status check_build(hone_diagnostics *diag, const hone_build_options *build) {
  const char *what = build->max_error > 0       ? "max_error"
                     : build->layer_type_count  ? "layer_types"
                     : build->lock_path         ? "lock_path"
                     : build->port_format_count ? "port_formats"
                     : build->reference_only    ? "reference_only"
                                                : NULL;
  if (!what) return HONE_OK;
  return HN_FAIL(diag, HONE_INVALID, "the planner decides types itself: build option %s must not be set", what);
}

static hone_status take_options(hn_planning *p, const hone_planner_options *given) {
  hone_diagnostics *diag = &p->context->diag;
  hone_planner_options *out = &p->options;
  HN_OPTIONS(diag, "planner", given, hone_planner_options, user, out);
  if (!out->quantize || !out->quantize->sample)
    return HN_FAIL(diag, HONE_INVALID, "planner option quantize: samples are needed");
  HN_TRY(hn_argument_range(diag, "planner option points", out->points, 0, MOST_POINTS));
  if (out->points == 0) out->points = DEFAULT_POINTS;
  HN_TRY(hn_argument_range(diag, "planner option points", out->points, LEAST_POINTS, MOST_POINTS));
  HN_TRY(hn_argument_range(diag, "planner option judge_count", out->judge_count, 0, 1000000000));
  HN_TRY(hn_argument_range(diag, "planner option time_budget_ms", out->time_budget_ms, 0, HN_MOST_MS));
  if (!(out->max_drop >= 0 && out->max_drop <= 1))
    return HN_FAIL(diag, HONE_INVALID, "planner option max_drop is %g; allowed are 0 to 1", out->max_drop);
  if (!(out->max_error >= 0 && out->max_error <= 1e6))
    return HN_FAIL(diag, HONE_INVALID, "planner option max_error is %g; allowed are 0 to 1e6", out->max_error);
  if (!(out->target_ms >= 0 && out->target_ms <= 1e9))
    return HN_FAIL(diag, HONE_INVALID, "planner option target_ms is %g; allowed are 0 to 1e9", out->target_ms);
  if ((out->max_drop > 0) + (out->max_error > 0) + (out->target_ms > 0) > 1)
    return HN_FAIL(diag, HONE_INVALID, "planner options max_drop, max_error and target_ms: one of them at most");
  HN_OPTIONS(diag, "build", out->build, hone_build_options, progress_user, &p->build);
  if (out->time_budget_ms > 0) p->stop_ns = hn_clock_ns() + out->time_budget_ms * 1000000;
  return check_build(diag, &p->build);
}

static hone_status part_sample(void *user, int64_t index, hone_named_tensor *out, int room, int *out_count) {
  const hn_plan_samples *s = user;
  *out_count = 0;
  return s->count > 0 && index >= s->count ? HONE_OK : s->sample(s->user, s->first + index, out, room, out_count);
}

/* Ranges and noises are of other samples than what points are judged on. */
static hone_status part_samples(hn_planning *p, hone_quantize_options *quantize) {
  const hone_planner_options *o = &p->options;
  const int64_t all = quantize->sample_count;
  p->ranged = (hn_plan_samples){quantize->sample, quantize->sample_user, 0, all};
  if (o->judge) {
    p->judged = (hn_plan_samples){o->judge, o->judge_user, 0, o->judge_count};
  } else {
    if (all < 3)
      return HN_FAIL(&p->context->diag, HONE_INVALID,
                     "%lld samples: at least 3 are needed, since the last third judges what the others made",
                     (long long)all);
    p->ranged.count = all - all / 3;
    p->judged = (hn_plan_samples){quantize->sample, quantize->sample_user, p->ranged.count, all / 3};
  }
  quantize->sample = part_sample;
  quantize->sample_user = &p->ranged;
  quantize->sample_count = p->ranged.count;
  return HONE_OK;
}

/* One timing cache for all builds: the caller's, or one that goes with the planning. */
static hone_status open_cache(hn_planning *p) {
  if (p->build.timing_cache_path) return HONE_OK;
  const char *folder = getenv("TMPDIR");
  (void)snprintf(p->cache_path, sizeof p->cache_path, "%s/hone-plan-XXXXXX", folder && *folder ? folder : "/tmp");
  if (!mkdtemp(p->cache_path))
    return HN_FAIL(&p->context->diag, HONE_IO, "%s: no folder can be made for measured times", p->cache_path);
  p->own_cache = true;
  char *path = hn_arena_printf(&p->arena, "%s/times", p->cache_path);
  if (!path) return HN_FAIL_MEMORY(&p->context->diag);
  p->build.timing_cache_path = path;
  return HONE_OK;
}

static void close_cache(hn_planning *p) {
  if (!p->own_cache) return;
  if (p->build.timing_cache_path) (void)unlink(p->build.timing_cache_path);
  (void)rmdir(p->cache_path);
}

/* ---- building and judging ---- */

static hone_status judge(hn_planning *p, hn_plan_built *b) {
  hn_plan_verdict v;
  HN_TRY(hn_plan_open(p, b->engine, &b->session));
  HN_TRY(hn_plan_judge(p, b->session, &p->judged, &p->judged_f32, &v));
  if (v.samples == 0) return HN_FAIL(&p->context->diag, HONE_INVALID, "there is no sample to judge points on");
  b->rel_l2 = v.rel_l2;
  b->noise = v.noise;
  b->same = v.same;
  b->discord = v.discord;
  b->drop = v.labels > 0 ? v.right_f32 - v.right : 1 - v.same;
  p->judged_count = v.samples;
  return HONE_OK;
}

static hone_status list_edges(hn_planning *p) {
  int count = 0;
  for (int l = 0; l < p->layer_count; ++l) count += p->layers[l].from_count;
  p->edges = HN_NEW(&p->arena, hn_search_edge, count + 1);
  p->costs = HN_NEW(&p->arena, hn_search_layer, p->layer_count + 1);
  p->pure = HN_NEW(&p->arena, hn_plan_probe, HN_PLAN_T);
  p->built_room = p->options.points + HN_PLAN_T;
  p->built = HN_NEW(&p->arena, hn_plan_built, p->built_room);
  if (!p->edges || !p->costs || !p->pure || !p->built) return HN_FAIL_MEMORY(&p->context->diag);
  int e = 0;
  for (int l = 0; l < p->layer_count; ++l)
    for (int k = 0; k < p->layers[l].from_count; ++k)
      p->edges[e++] = (hn_search_edge){.from = p->layers[l].from[k], .to = l};
  p->search = (hn_search){.layer_count = p->layer_count,
                          .edge_count = count,
                          .layers = p->costs,
                          .edges = p->edges,
                          .stop = &p->context->stop};
  return HONE_OK;
}

/* ---- proposing ---- */

static bool is_built(const hn_planning *p, const uint8_t *types) {
  for (int b = 0; b < p->built_count; ++b)
    if (memcmp(p->built[b].types, types, (size_t)p->layer_count) == 0) return true;
  return false;
}

/* The least error of the frontier that is one: the last points may be exact. */
static double least_noise(const hn_frontier *f) {
  for (int i = f->count - 1; i > 0; --i)
    if (f->points[i].noise > 0) return f->points[i].noise;
  return fmax(f->points[0].noise, DBL_MIN);
}

/* Of two points, by the search: time and the logarithm of the error, each by its share of the whole frontier. */
static double apart(const hn_planning *p, double ns, double noise, double other_ns, double other_noise) {
  const hn_frontier *f = &p->frontier;
  const double least = least_noise(f), span_ns = fmax(f->points[f->count - 1].ns - f->points[0].ns, 1),
               span = fmax(log(fmax(f->points[0].noise, least) / least), 1);
  return fabs(ns - other_ns) / span_ns + fabs(log(fmax(noise, least) / fmax(other_noise, least))) / span;
}

/* The point of the frontier, between two times, that is farthest from all that is built; -1: all are. */
static int farthest(const hn_planning *p, double from_ns, double to_ns) {
  int best = -1;
  double best_way = 1e-3;
  for (int i = 0; i < p->frontier.count; ++i) {
    const hn_search_point *point = &p->frontier.points[i];
    double way = HUGE_VAL;
    if (point->ns < from_ns || point->ns > to_ns || is_built(p, point->types)) continue;
    for (int b = 0; b < p->built_count; ++b)
      way = fmin(way, apart(p, point->ns, point->noise, p->built[b].predicted_ns, p->built[b].predicted_noise));
    if (way > best_way) best_way = way, best = i;
  }
  return best;
}

static hone_status build_point(hn_planning *p, const hn_search_point *point) {
  hn_plan_built *b = &p->built[p->built_count++];
  HN_TRY(hn_plan_build(p, point->types, "mixed", b));
  b->predicted_ns = point->ns;
  b->predicted_noise = point->noise;
  return judge(p, b);
}

/* ---- choosing ---- */

static bool fits(const hone_planner_options *o, const hn_plan_built *b) {
  if (o->max_drop > 0) return b->drop <= o->max_drop;
  if (o->max_error > 0) return b->rel_l2 <= o->max_error;
  return o->target_ms > 0 ? b->median_ns <= o->target_ms * 1e6 : true;
}

static bool beats(const hn_plan_built *a, const hn_plan_built *b) {
  return a->median_ns <= b->median_ns && a->rel_l2 <= b->rel_l2 &&
         (a->median_ns < b->median_ns || a->rel_l2 < b->rel_l2);
}

/* Of what is not beaten: the least sum of time and error, each from 0 for the best to 1 for the worst. */
static int knee(const hn_planning *p) {
  double least_ns = HUGE_VAL, most_ns = 0, most_error = 0, best = HUGE_VAL;
  int found = 0;
  for (int b = 0; b < p->built_count; ++b) {
    if (p->built[b].beaten) continue;
    least_ns = fmin(least_ns, p->built[b].median_ns);
    most_ns = fmax(most_ns, p->built[b].median_ns);
    most_error = fmax(most_error, p->built[b].rel_l2);
  }
  for (int b = 0; b < p->built_count; ++b) {
    const hn_plan_built *one = &p->built[b];
    const double sum =
        (one->median_ns - least_ns) / fmax(most_ns - least_ns, 1) + one->rel_l2 / fmax(most_error, 1e-12);
    if (one->beaten || sum > best + 1e-9) continue;
    if (sum < best - 1e-9 || one->median_ns < p->built[found].median_ns) found = b; /* of equals the fastest */
    best = fmin(best, sum);
  }
  return found;
}

static void choose(hn_planning *p) {
  const hone_planner_options *o = &p->options;
  p->chosen = -1;
  for (int b = 0; b < p->built_count; ++b) {
    p->built[b].fits = fits(o, &p->built[b]);
    p->built[b].beaten = false;
    for (int k = 0; k < p->built_count; ++k) p->built[b].beaten |= beats(&p->built[k], &p->built[b]);
  }
  if (!(o->max_drop > 0 || o->max_error > 0 || o->target_ms > 0)) {
    p->chosen = knee(p);
    return;
  }
  for (int b = 0; b < p->built_count; ++b) {
    const hn_plan_built *one = &p->built[b], *best = p->chosen >= 0 ? &p->built[p->chosen] : NULL;
    if (!one->fits) continue;
    const bool better = !best || (o->target_ms > 0 ? one->rel_l2 < best->rel_l2 : one->median_ns < best->median_ns);
    if (better) p->chosen = b;
  }
}

/* Where the next point is to be looked for: between the chosen one and the nearest that is better but does not fit; at
 * a knee around it. Predicted times. */
static void look_between(const hn_planning *p, double *from_ns, double *to_ns) {
  const bool constrained = p->options.max_drop > 0 || p->options.max_error > 0 || p->options.target_ms > 0;
  const double at = p->chosen >= 0 ? p->built[p->chosen].predicted_ns : HUGE_VAL;
  double below = 0, above = HUGE_VAL;
  for (int b = 0; b < p->built_count; ++b) {
    const double ns = p->built[b].predicted_ns;
    if (ns < at) below = fmax(below, ns);
    if (ns > at) above = fmin(above, ns);
  }
  *from_ns = below;
  *to_ns = constrained && p->options.target_ms <= 0 ? at : above;
  if (p->options.target_ms > 0) *from_ns = at < HUGE_VAL ? at : 0;
}

/* What the search says of all that is built, with the pure engines' times as they were measured last. */
static void predict(hn_planning *p) {
  hn_plan_price(p);
  for (int b = 0; b < p->built_count; ++b) {
    p->built[b].predicted_ns = hn_search_ns(&p->search, p->built[b].types);
    p->built[b].predicted_noise = hn_search_noise(&p->search, p->built[b].types);
  }
}

static hone_status search(hn_planning *p) {
  predict(p);
  const hone_status searched = hn_search_frontier(&p->search, &p->arena, &p->frontier);
  if (searched != HONE_OK) {
    HN_TRY(hn_check_stop(p->context));
    return HN_FAIL_MEMORY(&p->context->diag);
  }
  hn_log(p->context, HONE_LOG_VERBOSE, "the search found %d points%s", p->frontier.count,
         p->frontier.exact ? "" : ", not all proved");
  return HONE_OK;
}

/* Is the point's noise more than twice, or less than half, of what was said? Errors below a thousandth do not matter.
 */
static bool is_surprise(const hn_plan_built *b) {
  if (fmax(b->noise, b->predicted_noise) < 1e-6) return false;
  return b->noise > 2 * b->predicted_noise || b->noise < b->predicted_noise / 2;
}

static hone_status build_frontier(hn_planning *p) {
  const int most = p->options.points, first = most - most / 3;
  int rankings = 0;
  HN_TRY(search(p));
  while (p->built_count < most && !hn_plan_stopped(p)) {
    double from_ns = 0, to_ns = HUGE_VAL;
    if (p->built_count >= first) {
      HN_TRY(hn_plan_time(p, 0, p->built_count));
      choose(p);
      look_between(p, &from_ns, &to_ns);
    }
    const int next = farthest(p, from_ns, to_ns);
    if (next < 0) break;
    HN_TRY(build_point(p, &p->frontier.points[next]));
    if (p->options.progress)
      p->options.progress(p->options.progress_user, "building and measuring points", p->built_count, most);
    const hn_plan_built *last = &p->built[p->built_count - 1];
    if (!is_surprise(last) || rankings++ >= MOST_RANKINGS || hn_plan_stopped(p)) continue;
    hn_log(p->context, HONE_LOG_INFO, "a point's noise is %.2e, %.2e was predicted: layers are ranked again from it",
           last->noise, last->predicted_noise);
    HN_TRY(hn_plan_remeasure_noise(p, last));
    HN_TRY(search(p));
  }
  return HONE_OK;
}

/* ---- in order ---- */

static hone_status plan(hn_planning *p, hone_engine **out_engine) {
  hn_quantizing *q = &p->q;
  HN_TRY(hn_quantize_find_ranges(q));
  if (!q->options.uncorrected) HN_TRY(hn_quantize_correct(q));
  HN_TRY(open_cache(p));
  HN_TRY(hn_plan_find_layers(p));
  HN_TRY(list_edges(p));
  HN_TRY(hn_plan_probe_all(p));
  for (int b = 0; b < p->built_count; ++b) HN_TRY(judge(p, &p->built[b]));
  HN_TRY(hn_plan_time(p, 0, p->built_count));
  if (!hn_plan_stopped(p)) HN_TRY(hn_plan_measure_noise(p));
  const bool known = !hn_plan_stopped(p); /* all that the search needs */
  if (known) HN_TRY(build_frontier(p));
  if (!known) p->noise = NULL;
  HN_TRY(hn_plan_time(p, 0, p->built_count));
  if (known) predict(p);
  choose(p);
  HN_TRY(hn_plan_tell(p));
  *out_engine = p->built[p->chosen].engine;
  p->built[p->chosen].engine = NULL;
  return HONE_OK;
}

static void forget(hn_planning *p) {
  for (int b = 0; b < p->built_count; ++b) {
    hone_session_destroy(p->built[b].session);
    hone_engine_release(p->built[b].engine);
  }
  close_cache(p);
  hn_arena_deinit(&p->arena);
}

hone_status hone_graph_plan(hone_context *context, const hone_graph *graph, hone_device *const *devices,
                            int device_count, const hone_planner_options *given, hone_engine **out_engine) {
  if (out_engine) *out_engine = NULL;
  HN_GIVEN(NULL, context);
  HN_GIVEN(&context->diag, graph);
  HN_GIVEN(&context->diag, out_engine);
  hn_planning p = {.context = context, .chosen = -1};
  HN_TRY(take_options(&p, given));
  hone_quantize_options quantize;
  HN_OPTIONS(&context->diag, "quantize", p.options.quantize, hone_quantize_options, sample_user, &quantize);
  if (quantize.activations == HONE_F8E4M3FN)
    return HN_FAIL(&context->diag, HONE_INVALID,
                   "quantize option activations: plans have layers in bytes, not in e4m3");
  HN_TRY(part_samples(&p, &quantize));
  hone_graph *fixed = NULL;
  hn_arena_init(&p.arena, context->allocator);
  hone_status status = hn_graph_clone(graph, &fixed);
  if (status == HONE_OK) status = hn_plan_fix_shapes(&p, fixed);
  if (status == HONE_OK) status = hn_quantize_begin(context, fixed, devices, device_count, &quantize, &p.q);
  hn_graph_destroy(fixed);
  if (status == HONE_OK) {
    status = plan(&p, out_engine);
    hn_quantize_end(&p.q);
  }
  forget(&p);
  return status;
}
