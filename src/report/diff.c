/* SPDX-License-Identifier: Apache-2.0 */
/* diff.c - the report of two engines of one model. Layers are put together by the nodes of the model that they came
 * from: where one engine fused what the other did not, both sides of a row are several steps.
 *
 * A block's time is the median of its runs; what counts is the difference of two neighbouring blocks, so that a slow
 * drift of the machine cancels. Intervals are ranks of these differences (sign test): nothing is assumed of their
 * distribution. */
#include "report/diff.h"
#include "base/hash.h"
#include "base/json.h"
#include "report/grid.h"
#include "tensor/shape.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct times {
  double ns[HN_DIFF_SIDES]; /* medians */
  double apart_ns, low_ns, high_ns;
} times;

typedef struct layer {
  const char *name, *what; /* what: which decisions differ; "" when none does */
  int steps[HN_DIFF_SIDES], converts[HN_DIFF_SIDES];
  const hn_plan_step *first[HN_DIFF_SIDES]; /* that is no convert, where there is one; NULL: none at all */
  const char *tactics[HN_DIFF_SIDES], *storages[HN_DIFF_SIDES];
  uint64_t weights[HN_DIFF_SIDES], activations[HN_DIFF_SIDES]; /* bytes */
  double error[HN_DIFF_SIDES];                                 /* the largest; -1: not measured */
  times t;
} layer;

typedef struct diff {
  const hn_diff_input *in;
  const hone_report_options *options;
  hn_arena *arena;
  int *parent; /* of steps, those of B behind those of A: a step of the same layer; itself: none before it */
  int *layer_of;
  layer *layers;
  int count;
  times whole;
  bool regressed;
} diff;

static int all_steps(const diff *d) { return d->in->sides[0].plan->step_count + d->in->sides[1].plan->step_count; }

static const hn_plan_step *step_at(const diff *d, int at, int *out_side) {
  const int first = d->in->sides[0].plan->step_count;
  *out_side = at >= first;
  return at < first ? &d->in->sides[0].plan->steps[at] : &d->in->sides[1].plan->steps[at - first];
}

static const float *samples_at(const diff *d, int at) {
  const int first = d->in->sides[0].plan->step_count;
  return at < first ? d->in->sides[0].samples[at] : d->in->sides[1].samples[at - first];
}

/* ---- which steps are one layer ---- */

static int root_of(const diff *d, int at) {
  while (d->parent[at] != at) at = d->parent[at] = d->parent[d->parent[at]];
  return at;
}

static bool join(diff *d, hn_table *names, const char *name, int at) {
  const int *known = hn_table_get(names, name);
  if (known) {
    const int a = root_of(d, *known), b = root_of(d, at);
    d->parent[a < b ? b : a] = a < b ? a : b;
    return true;
  }
  int *own = HN_NEW(d->arena, int, 1);
  if (!own) return false;
  *own = at;
  return hn_table_put(names, name, own);
}

/* Steps of one side by name, so that a convert finds the step that wanted it. */
static hone_status join_converts(diff *d, int begin, int end) {
  hn_table names;
  hn_table_init(&names, d->arena);
  int side;
  for (int at = begin; at < end; ++at) {
    const hn_plan_step *step = step_at(d, at, &side);
    if (!step->caused_by && !join(d, &names, step->name, at)) return HONE_NO_MEMORY;
  }
  for (int at = begin; at < end; ++at) {
    const hn_plan_step *step = step_at(d, at, &side);
    if (step->caused_by && !join(d, &names, step->caused_by, at)) return HONE_NO_MEMORY;
  }
  return HONE_OK;
}

static hone_status find_layers(diff *d) {
  const int count = all_steps(d), first = d->in->sides[0].plan->step_count;
  hn_table origins;
  d->parent = HN_NEW(d->arena, int, (size_t)count + 1);
  d->layer_of = HN_NEW(d->arena, int, (size_t)count + 1);
  d->layers = HN_NEW(d->arena, layer, (size_t)count + 1);
  if (!d->parent || !d->layer_of || !d->layers) return HONE_NO_MEMORY;
  for (int at = 0; at < count; ++at) d->parent[at] = at;
  hn_table_init(&origins, d->arena);
  for (int at = 0; at < count; ++at) {
    int side;
    const hn_plan_step *step = step_at(d, at, &side);
    for (int i = 0; i < step->origin_count; ++i)
      if (!join(d, &origins, step->origins[i], at)) return HONE_NO_MEMORY;
    if (step->origin_count == 0 && !step->caused_by && !join(d, &origins, step->name, at)) return HONE_NO_MEMORY;
  }
  HN_TRY(join_converts(d, 0, first));
  HN_TRY(join_converts(d, first, count));
  for (int at = 0; at < count; ++at) d->layer_of[at] = -1;
  for (int at = 0; at < count; ++at) {
    int side;
    if (!hn_step_runs(step_at(d, at, &side)) || !samples_at(d, at)) continue;
    const int root = root_of(d, at);
    if (d->layer_of[root] < 0) d->layer_of[root] = d->count++;
    d->layer_of[at] = d->layer_of[root];
  }
  return HONE_OK;
}

/* ---- what a layer is on each side ---- */

static uint64_t bytes_of(const hn_plan *plan, int tensor) {
  size_t bytes;
  const hone_type *type = tensor >= 0 ? &plan->tensors[tensor].type : NULL;
  return type && type->kind == HONE_TENSOR && hn_shape_known(&type->shape) && hn_type_bytes(type, &bytes) ? bytes : 0;
}

static hone_status add_step(diff *d, int side, const hn_plan_step *step, layer *to) {
  const hn_plan *plan = d->in->sides[side].plan;
  to->weights[side] += step->packed_bytes;
  for (int i = 0; i < step->in_count; ++i)
    if (step->in[i] >= 0 && plan->tensors[step->in[i]].place == HN_PLACE_CONSTANT)
      to->weights[side] += bytes_of(plan, step->in[i]);
  for (int i = 0; i < step->out_count; ++i) to->activations[side] += bytes_of(plan, step->out[i]);
  if (step->error_rel_l2 > to->error[side]) to->error[side] = step->error_rel_l2;
  const bool is_convert = step->caused_by != NULL, stands = to->steps[side] > 0;
  to->converts[side] += is_convert;
  to->steps[side] += !is_convert;
  if (to->first[side] && (is_convert || stands)) return HONE_OK;
  to->first[side] = step; /* a convert alone: what wanted it takes no time of its own */
  to->tactics[side] = hn_step_tactic(d->arena, step);
  to->storages[side] = hn_step_storage(d->arena, plan, step);
  return to->tactics[side] && to->storages[side] ? HONE_OK : HONE_NO_MEMORY;
}

static bool same_storage(const hn_plan *a, int x, const hn_plan *b, int y) {
  if (x < 0 || y < 0) return (x < 0) == (y < 0);
  return a->tensors[x].type.dtype == b->tensors[y].type.dtype && a->tensors[x].type.format == b->tensors[y].type.format;
}

static bool same_storages(const diff *d, const hn_plan_step *a, const hn_plan_step *b) {
  const hn_plan *x = d->in->sides[0].plan, *y = d->in->sides[1].plan;
  if (a->in_count != b->in_count || a->out_count != b->out_count) return false;
  for (int i = 0; i < a->in_count; ++i)
    if (!same_storage(x, a->in[i], y, b->in[i])) return false;
  for (int i = 0; i < a->out_count; ++i)
    if (!same_storage(x, a->out[i], y, b->out[i])) return false;
  return true;
}

static hone_status name_differences(diff *d, layer *at) {
  hn_text text;
  hn_text_init(&text, d->arena->allocator);
  const hn_plan_step *a = at->first[0], *b = at->first[1];
  if (!a || !b)
    hn_text_printf(&text, ", only in %s", a ? "A" : "B");
  else if (at->steps[0] != at->steps[1])
    hn_text_printf(&text, ", fusion: %d and %d steps", at->steps[0], at->steps[1]);
  if (a && b && strcmp(a->tactic ? a->tactic->name : "", b->tactic ? b->tactic->name : "") != 0)
    hn_text_add(&text, ", tactic");
  else if (a && b && !hn_params_equal(&a->params, &b->params))
    hn_text_add(&text, ", parameters");
  if (a && b && at->steps[0] == at->steps[1] && !same_storages(d, a, b)) hn_text_add(&text, ", storages");
  if (at->converts[0] != at->converts[1])
    hn_text_printf(&text, ", converts: %d and %d", at->converts[0], at->converts[1]);
  at->name = a ? a->name : b ? b->name : "?";
  const char *all = hn_text_string(&text);
  at->what = hn_arena_text(d->arena, *all ? all + 2 : "");
  const bool failed = text.failed || !at->what;
  hn_text_deinit(&text);
  return failed ? HONE_NO_MEMORY : HONE_OK;
}

/* ---- times ---- */

static int compare_doubles(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *values, int count) {
  qsort(values, (size_t)count, sizeof *values, compare_doubles);
  return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

int hn_median_rank(int count) {
  /* the largest rank below which half of the samples lie with a chance of 2.5 % at most: a binomial's tail */
  double tail = 0;
  int rank = -1;
  for (int k = 0; k < count; ++k) {
    tail += exp(lgamma(count + 1.0) - lgamma(k + 1.0) - lgamma(count - k + 1.0) - count * log(2.0));
    if (tail > 0.025) break;
    rank = k;
  }
  return rank;
}

void hn_compare_times(const double *a, const double *b, int blocks, int runs_of_a_block, double *block,
                      double *const medians[HN_DIFF_SIDES + 1], hone_times_difference *out) {
  const double *const sides[HN_DIFF_SIDES] = {a, b};
  double *apart = medians[HN_DIFF_SIDES];
  for (int k = 0; k < blocks; ++k) {
    for (int side = 0; side < HN_DIFF_SIDES; ++side) {
      memcpy(block, sides[side] + (size_t)k * (size_t)runs_of_a_block, (size_t)runs_of_a_block * sizeof *block);
      medians[side][k] = median(block, runs_of_a_block);
    }
    apart[k] = medians[1][k] - medians[0][k];
  }
  out->a_ns = median(medians[0], blocks);
  out->b_ns = median(medians[1], blocks);
  out->difference_ns = median(apart, blocks);
  const int rank = hn_median_rank(blocks);
  out->low_ns = apart[rank < 0 ? 0 : rank];
  out->high_ns = apart[blocks - 1 - (rank < 0 ? 0 : rank)];
}

/* sums: [side][run]. block and medians: room, as hn_compare_times() wants it. */
static void judge(const hn_diff_input *in, double *const *sums, double *block, double *const *medians, times *out) {
  hone_times_difference d;
  hn_compare_times(sums[0], sums[1], in->blocks, in->block, block, medians, &d);
  *out = (times){.ns = {d.a_ns, d.b_ns}, .apart_ns = d.difference_ns, .low_ns = d.low_ns, .high_ns = d.high_ns};
}

static void add_samples(const float *from, int runs, double *to) {
  for (int i = 0; from && i < runs; ++i) to[i] += (double)from[i];
}

static hone_status time_layers(diff *d) {
  const hn_diff_input *in = d->in;
  const int runs = in->blocks * in->block, first = in->sides[0].plan->step_count;
  double *sums[HN_DIFF_SIDES], *medians[HN_DIFF_SIDES + 1], *block = HN_NEW(d->arena, double, in->block);
  for (int side = 0; side < HN_DIFF_SIDES; ++side) sums[side] = HN_NEW(d->arena, double, runs);
  for (int m = 0; m <= HN_DIFF_SIDES; ++m) medians[m] = HN_NEW(d->arena, double, in->blocks);
  if (!block || !sums[0] || !sums[1] || !medians[0] || !medians[1] || !medians[2]) return HONE_NO_MEMORY;
  for (int l = 0; l <= d->count; ++l) { /* the last one: whole runs */
    for (int side = 0; side < HN_DIFF_SIDES; ++side) {
      memset(sums[side], 0, (size_t)runs * sizeof(double));
      const int steps = in->sides[side].plan->step_count;
      for (int s = 0; s < steps && l < d->count; ++s)
        if (d->layer_of[side * first + s] == l) add_samples(in->sides[side].samples[s], runs, sums[side]);
      if (l == d->count) add_samples(in->sides[side].samples[steps], runs, sums[side]);
    }
    judge(in, sums, block, medians, l < d->count ? &d->layers[l].t : &d->whole);
  }
  return HONE_OK;
}

static int by_difference(const void *a, const void *b) {
  const layer *x = a, *y = b;
  const double p = fabs(x->t.apart_ns), q = fabs(y->t.apart_ns);
  return p < q ? 1 : p > q ? -1 : strcmp(x->name, y->name);
}

static hone_status collect(diff *d) {
  HN_TRY(find_layers(d));
  for (int l = 0; l < d->count; ++l) d->layers[l].error[0] = d->layers[l].error[1] = -1;
  for (int at = 0; at < all_steps(d); ++at) {
    int side;
    const hn_plan_step *step = step_at(d, at, &side);
    if (d->layer_of[at] >= 0 && hn_step_runs(step) && samples_at(d, at))
      HN_TRY(add_step(d, side, step, &d->layers[d->layer_of[at]]));
  }
  for (int l = 0; l < d->count; ++l) HN_TRY(name_differences(d, &d->layers[l]));
  HN_TRY(time_layers(d));
  qsort(d->layers, (size_t)d->count, sizeof *d->layers, by_difference);
  d->regressed = d->in->max_regression >= 0 && d->whole.low_ns > 0 &&
                 100 * d->whole.apart_ns > d->in->max_regression * d->whole.ns[0];
  return HONE_OK;
}

/* ---- writing ---- */

static bool is_sure(const times *t) { return t->low_ns > 0 || t->high_ns < 0; }

static bool is_any_in_both(const diff *d) {
  for (int l = 0; l < d->count; ++l)
    if (d->layers[l].first[0] && d->layers[l].first[1]) return true;
  return false;
}

static void write_tactics(const diff *d, hn_text *out) {
  bool any = false;
  for (int l = 0; l < d->count; ++l) {
    const layer *at = &d->layers[l];
    if (!*at->what) continue;
    hn_text_printf(out, "%s%s: %s\n", any ? "" : "\ndecisions that differ\n", at->name, at->what);
    any = true;
    for (int side = 0; side < HN_DIFF_SIDES; ++side) {
      if (!at->first[side]) continue;
      hn_text_printf(out, "  %c  %s in %s", 'A' + side, at->tactics[side], at->storages[side]);
      if (at->steps[side] > 1) hn_text_printf(out, " and %d more steps", at->steps[side] - 1);
      hn_text_printf(out, "; weights %.1f kB, activations %.1f kB", (double)at->weights[side] * 1e-3,
                     (double)at->activations[side] * 1e-3);
      if (at->error[side] >= 0) hn_text_printf(out, ", error %.1e", at->error[side]);
      hn_text_add(out, "\n");
    }
  }
  if (!any) hn_text_add(out, "\nno decision differs\n");
}

static bool write_text(const diff *d, hn_text *out) {
  const hn_diff_side *a = &d->in->sides[0], *b = &d->in->sides[1];
  hn_grid grid;
  hn_grid_init(&grid, d->arena, d->options, "lrrrrll", "f");
  static const char *const heads[] = {"layer", "A us", "B us", "B - A us", "%", "95 % interval us", "differs in"};
  for (size_t i = 0; i < HN_COUNT(heads); ++i) hn_grid_add(&grid, "%s", heads[i]);
  for (int l = 0; l < d->count; ++l) {
    const layer *at = &d->layers[l];
    hn_grid_add(&grid, "%s", at->name);
    for (int side = 0; side < HN_DIFF_SIDES; ++side) hn_grid_add(&grid, "%.2f", at->t.ns[side] * 1e-3);
    hn_grid_add(&grid, "%+.2f", at->t.apart_ns * 1e-3);
    hn_grid_add(&grid, "%+.1f", hn_percent(at->t.apart_ns, at->t.ns[0]));
    hn_grid_add(&grid, "%+.2f to %+.2f%s", at->t.low_ns * 1e-3, at->t.high_ns * 1e-3,
                is_sure(&at->t) ? "" : ", may be chance");
    hn_grid_add(&grid, "%s", at->what);
  }
  hn_text_printf(out, "A  %s, weights %.3f MB, arena %.3f MB\nB  %s, weights %.3f MB, arena %.3f MB\n", a->name,
                 (double)a->weights_bytes * 1e-6, (double)a->plan->arena_bytes * 1e-6, b->name,
                 (double)b->weights_bytes * 1e-6, (double)b->plan->arena_bytes * 1e-6);
  hn_text_printf(out, "in turns, %d blocks of %d runs each; medians\n\n", d->in->blocks, d->in->block);
  hn_grid_write(&grid, out);
  hn_text_printf(out, "\ntotal  A %.2f us, B %.2f us; B - A %+.2f us (%+.2f %%), 95 %%: %+.2f to %+.2f us%s\n",
                 d->whole.ns[0] * 1e-3, d->whole.ns[1] * 1e-3, d->whole.apart_ns * 1e-3,
                 hn_percent(d->whole.apart_ns, d->whole.ns[0]), d->whole.low_ns * 1e-3, d->whole.high_ns * 1e-3,
                 is_sure(&d->whole) ? "" : ", may be chance");
  if (!is_any_in_both(d)) hn_text_add(out, "no layer is in both: these are not engines of one model\n");
  write_tactics(d, out);
  if (d->in->max_regression >= 0)
    hn_text_printf(out, "\n%s: B may be %g %% slower than A\n", d->regressed ? "REGRESSION" : "within the limit",
                   d->in->max_regression);
  return !grid.failed;
}

static void put_times(hn_json_writer *w, const times *t) {
  hn_json_put_real(w, "a_ns", t->ns[0]);
  hn_json_put_real(w, "b_ns", t->ns[1]);
  hn_json_put_real(w, "difference_ns", t->apart_ns);
  hn_json_put_real(w, "low_ns", t->low_ns);
  hn_json_put_real(w, "high_ns", t->high_ns);
  hn_json_put_bool(w, "sure", is_sure(t));
}

static void put_side(hn_json_writer *w, const layer *at, int side) {
  hn_json_open_flat(w, side ? "b" : "a", '{');
  hn_json_put_int(w, "steps", at->steps[side]);
  hn_json_put_int(w, "converts", at->converts[side]);
  hn_json_put_text(w, "tactic", at->tactics[side]);
  hn_json_put_text(w, "storage", at->storages[side]);
  hn_json_put_int(w, "weights_bytes", (int64_t)at->weights[side]);
  hn_json_put_int(w, "activations_bytes", (int64_t)at->activations[side]);
  if (at->error[side] >= 0) hn_json_put_real(w, "error_rel_l2", at->error[side]);
  hn_json_close(w, '}');
}

static void write_json(const diff *d, hn_text *out) {
  hn_json_writer writer, *w = &writer;
  hn_json_begin(w, out);
  hn_json_open(w, NULL, '{');
  hn_json_put_int(w, "schema", HONE_JSON_SCHEMA);
  for (int side = 0; side < HN_DIFF_SIDES; ++side) {
    hn_json_open_flat(w, side ? "b" : "a", '{');
    hn_json_put_text(w, "name", d->in->sides[side].name);
    hn_json_put_int(w, "weights_bytes", (int64_t)d->in->sides[side].weights_bytes);
    hn_json_put_int(w, "arena_bytes", (int64_t)d->in->sides[side].plan->arena_bytes);
    hn_json_close(w, '}');
  }
  hn_json_put_int(w, "blocks", d->in->blocks);
  hn_json_put_int(w, "runs_of_a_block", d->in->block);
  hn_json_open(w, "layers", '[');
  for (int l = 0; l < d->count; ++l) {
    hn_json_open(w, NULL, '{');
    hn_json_put_text(w, "name", d->layers[l].name);
    hn_json_put_text(w, "differs_in", d->layers[l].what);
    put_times(w, &d->layers[l].t);
    for (int side = 0; side < HN_DIFF_SIDES; ++side) put_side(w, &d->layers[l], side);
    hn_json_close(w, '}');
  }
  hn_json_close(w, ']');
  hn_json_open(w, "total", '{');
  put_times(w, &d->whole);
  hn_json_close(w, '}');
  hn_json_put_bool(w, "regressed", d->regressed);
  hn_json_close(w, '}');
  hn_text_add(out, "\n");
}

hone_status hn_report_diff(const hn_diff_input *input, const hone_report_options *options, hn_arena *arena,
                           hn_text *out, bool *out_regressed) {
  diff d = {.in = input, .options = options, .arena = arena};
  HN_TRY(collect(&d));
  bool good = true;
  if (options->json)
    write_json(&d, out);
  else
    good = write_text(&d, out);
  *out_regressed = d.regressed;
  return good && !out->failed ? HONE_OK : HONE_NO_MEMORY;
}
