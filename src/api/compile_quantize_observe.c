/* SPDX-License-Identifier: Apache-2.0 */
/* compile_quantize_observe.c - a graph run over the calibration data. What is watched are outputs of the graph that
 * runs, so that no fusion swallows them; an engine is built for each shape that follows another. */
#include "api/compile.h"
#include "api/quantize.h"
#include "base/pool.h"
#include "tensor/shape.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A graph with an output for each watched value, and what runs it. */
typedef struct runner {
  hn_quantizing *q;
  const hn_watch *watch;
  hn_arena arena;
  hone_graph *graph;
  hone_engine *engine;
  hone_session *session;
  hone_named_tensor *inputs;  /* of the present sample, one a graph input */
  hone_profile_shape *shapes; /* that the engine was built for */
  hone_tensor *tensors;       /* that are watched */
  hone_status *statuses;      /* of what was seen beside others */
  int64_t sample;
} runner;

static void output_name(int index, char out[64]) { (void)snprintf(out, 64, "hone.watched.%d", index); }

/* An input is no output: it is looked at as it was given. */
static int input_of(const runner *r, int value) {
  for (int i = 0; i < r->graph->main->param_count; ++i)
    if (r->graph->main->params[i]->id == value) return i;
  return -1;
}

static hone_status add_outputs(runner *r) {
  HN_TRY(hn_graph_clone(r->watch->graph, &r->graph));
  for (int i = 0; i < r->watch->count; ++i) {
    char name[64];
    output_name(i, name);
    hn_value *value = r->graph->values[r->watch->values[i]];
    if (input_of(r, value->id) < 0) HN_TRY(hn_block_add_result(r->graph->main, value, name));
  }
  return HONE_OK;
}

static void close_engine(runner *r) {
  hone_session_destroy(r->session);
  hone_engine_release(r->engine);
  r->session = NULL;
  r->engine = NULL;
}

const char *const hn_quantize_left_out[HN_LEFT_OUT] = {"regions",         "region_beginnings", "quantised",
                                                       "quantised_moves", "quantised_concats", "quantised_linear",
                                                       "quantised_sums",  "byte_tables"};

static hone_status open_engine(runner *r) {
  hn_quantizing *q = r->q;
  const int count = r->graph->main->param_count;
  close_engine(r);
  for (int i = 0; i < count; ++i) {
    const hone_shape *shape = &r->inputs[i].tensor.type.shape;
    r->shapes[i] =
        (hone_profile_shape){.input = r->graph->main->params[i]->name, .min = *shape, .opt = *shape, .max = *shape};
  }
  const hone_pass_options passes = {.struct_size = sizeof passes,
                                    .disable = hn_quantize_left_out,
                                    .disable_count = r->watch->floats ? HN_LEFT_OUT : HN_LEFT_OUT_ALWAYS};
  const hone_build_options options = {
      .struct_size = sizeof options, .level = -1, .shapes = r->shapes, .shape_count = count, .passes = &passes};
  const hn_build_watch watch = {.unproved = q->proved};
  HN_TRY_NOTE(&q->context->diag,
              hn_engine_build_watched(q->context, r->graph, q->devices, q->device_count, &options, &watch, &r->engine),
              "while building what calibration sample %lld runs", (long long)r->sample);
  q->proved = true;
  const hone_session_options session = {
      .struct_size = sizeof session, .trust_weights = true, .cancel = q->context->stop.cancel};
  return hone_session_create(r->engine, &session, &r->session, &q->context->diag);
}

static hone_status session_failed(const runner *r, hone_status status) {
  hone_diagnostics *diag = &r->q->context->diag;
  for (int i = 0; i < hone_session_message_count(r->session); ++i) {
    hone_status own;
    const char *text = hone_session_message(r->session, i, &own);
    (void)HN_FAIL(diag, own, "%s", text);
  }
  return hone_note(diag, status, "in calibration sample %lld", (long long)r->sample);
}

/* The sample's tensors in the order of the graph's inputs. */
static hone_status sort_inputs(const runner *r, const hone_named_tensor *given, int given_count) {
  hone_diagnostics *diag = &r->q->context->diag;
  const hn_block *main = r->graph->main;
  for (int i = 0; i < main->param_count; ++i) {
    const char *name = main->params[i]->name;
    const hone_named_tensor *found = NULL;
    for (int k = 0; k < given_count; ++k)
      if (given[k].name && strcmp(given[k].name, name) == 0) found = &given[k];
    if (!found || !found->tensor.data)
      return HN_FAIL(diag, HONE_INVALID, "calibration sample %lld has no tensor for the input %s", (long long)r->sample,
                     name);
    if (found->tensor.type.dtype != main->params[i]->fact.type.dtype)
      return HN_FAIL(diag, HONE_INVALID, "calibration sample %lld holds %s for the input %s, which is %s",
                     (long long)r->sample, hone_dtype_name(found->tensor.type.dtype), name,
                     hone_dtype_name(main->params[i]->fact.type.dtype));
    r->inputs[i] = *found;
  }
  return HONE_OK;
}

static bool same_shapes(const runner *r) {
  for (int i = 0; i < r->graph->main->param_count; ++i)
    if (!hn_shape_equal(&r->inputs[i].tensor.type.shape, &r->shapes[i].opt)) return false;
  return r->engine != NULL;
}

static void see_range(void *user, int worker, int64_t begin, int64_t end) {
  const runner *r = user;
  (void)worker;
  for (int64_t i = begin; i < end; ++i)
    r->statuses[i] = r->watch->see(r->watch->user, r->sample, (int)i, &r->tensors[i]);
}

static hone_status see_all(runner *r) {
  const hn_watch *watch = r->watch;
  hn_pool_run(hn_device_pool(r->q->devices[0]), watch->beside, 1, see_range, r);
  for (int i = 0; i < watch->beside; ++i)
    if (r->statuses[i] != HONE_OK)
      return watch->fail ? watch->fail(watch->user, r->sample, i, &r->tensors[i])
                         : HN_FAIL_MEMORY(&r->q->context->diag);
  for (int i = watch->beside; i < watch->count; ++i) HN_TRY(watch->see(watch->user, r->sample, i, &r->tensors[i]));
  return HONE_OK;
}

static hone_status run_sample(runner *r) {
  if (!same_shapes(r)) HN_TRY(open_engine(r));
  for (int i = 0; i < r->graph->main->param_count; ++i) {
    const hone_status status = hone_session_copy_in(r->session, r->graph->main->params[i]->name, &r->inputs[i].tensor);
    if (status != HONE_OK) return session_failed(r, status);
  }
  hone_status status = hone_session_run(r->session);
  for (int i = 0; i < r->watch->count && status == HONE_OK; ++i) {
    const int input = input_of(r, r->watch->values[i]);
    char name[64];
    output_name(i, name);
    if (input >= 0)
      r->tensors[i] = r->inputs[input].tensor;
    else
      status = hone_session_tensor(r->session, name, &r->tensors[i]);
  }
  return status == HONE_OK ? see_all(r) : session_failed(r, status);
}

static hone_status run_samples(runner *r) {
  const hone_quantize_options *options = &r->q->options;
  hone_diagnostics *diag = &r->q->context->diag;
  const int count = r->graph->main->param_count;
  r->inputs = HN_NEW(&r->arena, hone_named_tensor, count + 1);
  r->shapes = HN_NEW(&r->arena, hone_profile_shape, count + 1);
  r->tensors = HN_NEW(&r->arena, hone_tensor, r->watch->count + 1);
  r->statuses = HN_NEW(&r->arena, hone_status, r->watch->count + 1);
  hone_named_tensor *given = HN_NEW(&r->arena, hone_named_tensor, count + 1);
  if (!r->inputs || !r->shapes || !r->tensors || !r->statuses || !given) return HN_FAIL_MEMORY(diag);
  for (; r->watch->most == 0 || r->sample < r->watch->most; ++r->sample) {
    int given_count = 0;
    HN_TRY(hn_check_stop(r->q->context));
    const hone_status status = options->sample(options->sample_user, r->sample, given, count, &given_count);
    if (status != HONE_OK) {
      if (diag->count == 0) (void)HN_FAIL(diag, status, "the calibration data could not be read");
      return hone_note(diag, status, "while reading calibration sample %lld", (long long)r->sample);
    }
    if (given_count <= 0) break;
    if (given_count > count)
      return HN_FAIL(diag, HONE_INVALID, "calibration sample %lld has %d tensors; the model has %d inputs",
                     (long long)r->sample, given_count, count);
    HN_TRY(sort_inputs(r, given, given_count));
    HN_TRY(run_sample(r));
    const int64_t most = r->watch->most ? r->watch->most : options->sample_count;
    if (options->progress)
      options->progress(options->progress_user, r->watch->what, r->sample + 1, most > r->sample ? most : r->sample + 1);
  }
  return HONE_OK;
}

hone_status hn_quantize_watch(hn_quantizing *q, const hn_watch *watch, int64_t *out_samples) {
  runner r = {.q = q, .watch = watch};
  hn_arena_init(&r.arena, q->context->allocator);
  hone_status status = add_outputs(&r);
  if (status == HONE_OK) status = run_samples(&r);
  *out_samples = r.sample;
  close_engine(&r);
  hn_graph_destroy(r.graph);
  hn_arena_deinit(&r.arena);
  return status;
}

/* ---- histograms ---- */

typedef struct histograms {
  hn_quantizing *q;
  int *sites; /* whose values are watched */
  int count;
  bool first; /* pass: channels are looked at, and the outputs behind the sites' values kept */
} histograms;

static hone_status add_to_histogram(void *user, int64_t sample, int index, const hone_tensor *tensor) {
  const histograms *h = user;
  hn_quantizing *q = h->q;
  if (index >= h->count) return sample < HN_MOST_COMPARED ? hn_distances_keep(&q->distances, tensor) : HONE_OK;
  const hn_site *site = &q->sites.items[h->sites[index]];
  int64_t odd;
  if (!hn_histogram_add(site->histogram, tensor->data, hn_elems(&tensor->type.shape), &odd)) return HONE_INVALID;
  if (sample < HN_MOST_COMPARED && sample % 2 == 0) /* the others tell what factors are worth where they are new */
    hn_channels_see(&q->channels, site->value, tensor);
  return HONE_OK;
}

static hone_status say_odd(void *user, int64_t sample, int index, const hone_tensor *tensor) {
  const histograms *h = user;
  const float *x = tensor->data;
  int64_t odd = 0;
  while (odd + 1 < hn_elems(&tensor->type.shape) && isfinite(x[odd])) ++odd;
  return HN_FAIL(&h->q->context->diag, HONE_INVALID, "calibration sample %lld: element %lld of the tensor %s is %s",
                 (long long)sample, (long long)odd, h->q->sites.items[h->sites[index]].value->name,
                 isnan(x[odd]) ? "NaN" : "infinite");
}

hone_status hn_quantize_observe(hn_quantizing *q, int64_t most) {
  histograms h = {.q = q, .sites = HN_NEW(&q->arena, int, q->sites.count + 1), .first = q->samples == 0};
  const hn_block *main = q->graph->main;
  int *values = HN_NEW(&q->arena, int, q->sites.count + main->result_count + 1), count = 0;
  if (!h.sites || !values) return HN_FAIL_MEMORY(&q->context->diag);
  for (int i = 0; i < q->sites.count; ++i) {
    hn_site *site = &q->sites.items[i];
    if (site->shares != i || (!h.first && !site->changed)) continue;
    site->changed = true;
    site->histogram = HN_NEW(&q->arena, hn_histogram, 1);
    if (!site->histogram) return HN_FAIL_MEMORY(&q->context->diag);
    h.sites[count] = i;
    values[count++] = site->value->id;
  }
  h.count = count;
  for (int i = 0; h.first && i < main->result_count; ++i) values[count++] = main->results[i]->id;
  const hn_watch watch = {.graph = q->graph,
                          .values = values,
                          .count = count,
                          .beside = h.count,
                          .see = add_to_histogram,
                          .fail = say_odd,
                          .user = &h,
                          .most = most,
                          .what = h.first ? "calibrating" : "calibrating again"};
  int64_t samples;
  HN_TRY(hn_quantize_watch(q, &watch, &samples));
  if (h.first) q->samples = samples;
  q->channels.samples = (hn_distances_samples(q) + 1) / 2;
  if (samples > 0) return HONE_OK;
  return HN_FAIL(&q->context->diag, HONE_INVALID, "there is no calibration sample: at least one is needed");
}
