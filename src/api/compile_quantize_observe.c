/* SPDX-License-Identifier: Apache-2.0 */
/* compile_quantize_observe.c - the f32 graph run over the calibration data. What is observed are outputs of the
 * observed graph, so that no fusion swallows them; an engine is built for each shape that follows another. */
#include "api/quantize.h"
#include "tensor/shape.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The graph with an output for each observed value, and what runs it. */
typedef struct observer {
  hn_quantizing *q;
  hone_graph *graph;
  hone_engine *engine;
  hone_session *session;
  hone_named_tensor *inputs;  /* of the present sample, one a graph input */
  hone_profile_shape *shapes; /* that the engine was built for */
} observer;

static bool is_observed(const hn_quantizing *q, int site) { return q->sites.items[site].shares == site; }

static hone_status add_outputs(observer *o) {
  hn_quantizing *q = o->q;
  HN_TRY(hn_graph_clone(q->graph, &o->graph));
  for (int i = 0; i < q->sites.count; ++i) {
    hn_site *site = &q->sites.items[i];
    if (!is_observed(q, i)) continue;
    site->histogram = HN_NEW(&q->arena, hn_histogram, 1);
    const char *name = hn_arena_printf(&q->arena, "hone.observed.%d", i);
    if (!site->histogram || !name) return HN_FAIL_MEMORY(&q->context->diag);
    if (site->value->node) HN_TRY(hn_block_add_result(o->graph->main, o->graph->values[site->value->id], name));
  }
  return HONE_OK;
}

static void close_engine(observer *o) {
  hone_session_destroy(o->session);
  hone_engine_release(o->engine);
  o->session = NULL;
  o->engine = NULL;
}

static hone_status open_engine(observer *o) {
  hn_quantizing *q = o->q;
  const int count = o->graph->main->param_count;
  close_engine(o);
  for (int i = 0; i < count; ++i) {
    const hone_shape *shape = &o->inputs[i].tensor.type.shape;
    o->shapes[i] =
        (hone_profile_shape){.input = o->graph->main->params[i]->name, .min = *shape, .opt = *shape, .max = *shape};
  }
  const hone_build_options options = {
      .struct_size = sizeof options, .level = -1, .shapes = o->shapes, .shape_count = count};
  HN_TRY_NOTE(&q->context->diag,
              hone_engine_build(q->context, o->graph, q->devices, q->device_count, &options, &o->engine),
              "while building what calibration runs");
  const hone_session_options session = {
      .struct_size = sizeof session, .trust_weights = true, .cancel = q->context->stop.cancel};
  return hone_session_create(o->engine, &session, &o->session, &q->context->diag);
}

static hone_status session_failed(const observer *o, hone_status status) {
  hone_diagnostics *diag = &o->q->context->diag;
  for (int i = 0; i < hone_session_message_count(o->session); ++i) {
    hone_status own;
    const char *text = hone_session_message(o->session, i, &own);
    (void)HN_FAIL(diag, own, "%s", text);
  }
  return hone_note(diag, status, "in calibration sample %lld", (long long)o->q->samples);
}

/* The sample's tensors in the order of the graph's inputs. */
static hone_status sort_inputs(observer *o, const hone_named_tensor *given, int given_count) {
  hone_diagnostics *diag = &o->q->context->diag;
  const hn_block *main = o->graph->main;
  for (int i = 0; i < main->param_count; ++i) {
    const char *name = main->params[i]->name;
    const hone_named_tensor *found = NULL;
    for (int k = 0; k < given_count; ++k)
      if (given[k].name && strcmp(given[k].name, name) == 0) found = &given[k];
    if (!found || !found->tensor.data)
      return HN_FAIL(diag, HONE_INVALID, "calibration sample %lld has no tensor for the input %s",
                     (long long)o->q->samples, name);
    if (found->tensor.type.dtype != main->params[i]->fact.type.dtype)
      return HN_FAIL(diag, HONE_INVALID, "calibration sample %lld holds %s for the input %s, which is %s",
                     (long long)o->q->samples, hone_dtype_name(found->tensor.type.dtype), name,
                     hone_dtype_name(main->params[i]->fact.type.dtype));
    o->inputs[i] = *found;
  }
  return HONE_OK;
}

static bool same_shapes(const observer *o) {
  for (int i = 0; i < o->graph->main->param_count; ++i)
    if (!hn_shape_equal(&o->inputs[i].tensor.type.shape, &o->shapes[i].opt)) return false;
  return o->engine != NULL;
}

static hone_status observe_one(const observer *o, int site) {
  hn_quantizing *q = o->q;
  const hn_site *at = &q->sites.items[site];
  hone_tensor tensor;
  int64_t odd;
  if (at->value->node) {
    char name[64];
    (void)snprintf(name, sizeof name, "hone.observed.%d", site);
    const hone_status status = hone_session_tensor(o->session, name, &tensor);
    if (status != HONE_OK) return session_failed(o, status);
  } else {
    for (int i = 0; i < o->graph->main->param_count; ++i)
      if (o->graph->main->params[i]->id == at->value->id) tensor = o->inputs[i].tensor;
  }
  if (hn_histogram_add(at->histogram, tensor.data, hn_elems(&tensor.type.shape), &odd)) return HONE_OK;
  return HN_FAIL(&q->context->diag, HONE_INVALID, "calibration sample %lld: element %lld of the tensor %s is %s",
                 (long long)q->samples, (long long)odd, at->value->name,
                 isnan(((const float *)tensor.data)[odd]) ? "NaN" : "infinite");
}

static hone_status run_sample(observer *o) {
  hn_quantizing *q = o->q;
  if (!same_shapes(o)) HN_TRY(open_engine(o));
  for (int i = 0; i < o->graph->main->param_count; ++i) {
    const hone_status status = hone_session_copy_in(o->session, o->graph->main->params[i]->name, &o->inputs[i].tensor);
    if (status != HONE_OK) return session_failed(o, status);
  }
  const hone_status status = hone_session_run(o->session);
  if (status != HONE_OK) return session_failed(o, status);
  for (int i = 0; i < q->sites.count; ++i)
    if (is_observed(q, i)) HN_TRY(observe_one(o, i));
  return HONE_OK;
}

static hone_status run_samples(observer *o) {
  hn_quantizing *q = o->q;
  const int count = o->graph->main->param_count;
  o->inputs = HN_NEW(&q->arena, hone_named_tensor, count + 1);
  o->shapes = HN_NEW(&q->arena, hone_profile_shape, count + 1);
  hone_named_tensor *given = HN_NEW(&q->arena, hone_named_tensor, count + 1);
  if (!o->inputs || !o->shapes || !given) return HN_FAIL_MEMORY(&q->context->diag);
  for (;; ++q->samples) {
    int given_count = 0;
    HN_TRY(hn_check_stop(q->context));
    const hone_status status = q->options.sample(q->options.sample_user, q->samples, given, count, &given_count);
    if (status != HONE_OK)
      return hone_note(&q->context->diag, status, "while reading calibration sample %lld", (long long)q->samples);
    if (given_count <= 0) break;
    if (given_count > count)
      return HN_FAIL(&q->context->diag, HONE_INVALID, "calibration sample %lld has %d tensors; the model has %d inputs",
                     (long long)q->samples, given_count, count);
    HN_TRY(sort_inputs(o, given, given_count));
    HN_TRY(run_sample(o));
    if (q->options.progress)
      q->options.progress(q->options.progress_user, "calibrating", q->samples + 1,
                          q->options.sample_count > q->samples ? q->options.sample_count : q->samples + 1);
  }
  if (q->samples > 0) return HONE_OK;
  return HN_FAIL(&q->context->diag, HONE_INVALID, "there is no calibration sample: at least one is needed");
}

hone_status hn_quantize_observe(hn_quantizing *q) {
  observer o = {.q = q};
  hone_status status = add_outputs(&o);
  if (status == HONE_OK) status = run_samples(&o);
  close_engine(&o);
  hn_graph_destroy(o.graph);
  return status;
}
