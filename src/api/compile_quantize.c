/* SPDX-License-Identifier: Apache-2.0 */
/* compile_quantize.c - f32 graph -> 8-bit graph: passes up to folded normalisations, calibration, insertion. */
#include "api/engine.h"
#include "api/quantize.h"
#include "base/arguments.h"
#include "base/file.h"
#include "base/pool.h"
#include "calib/cache.h"
#include "pass/passes.h"
#include "pass/pipeline.h"
#include "tensor/element.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the graph whose activations are quantised ---- */

enum { MOST_RULES = 256 };

/* Up to where normalisations and factors are in the convolutions' weights, but nothing is fused: what is written must
 * be ONNX's own operators, and a rounding may come between a layer and what follows it. Transposed convolutions that
 * are a 1x1 convolution and a shuffle are written so, since that is what bytes have kernels for. */
static hone_status prepare(hn_quantizing *q) {
  const char *disabled[MOST_RULES] = {"fold_shapes", "plugins"}; /* views are ours, and a plug-in's operators its own */
  hn_pass_run run = {.context = q->context, .graph = q->graph, .disable = disabled, .disable_count = 2};
  for (const hn_rewrite *rule = hn_rules_conv; rule->name && run.disable_count < MOST_RULES; ++rule)
    if (rule->fuses) disabled[run.disable_count++] = rule->name;
  HN_TRY(hn_pipeline_run(&run, "fuse_conv"));
  HN_TRY(hn_rewrite_run(&run, hn_rules_subpixel_apart, false, "subpixel_apart"));
  HN_TRY(hn_pass_fold_constants(&run));
  HN_TRY(hn_pass_eliminate_dead(&run));
  return hn_infer_graph(q->graph);
}

/* ---- the cache ---- */

static bool exists(const char *path) {
  struct stat about;
  return path && stat(path, &about) == 0;
}

static hone_status read_cache(hn_quantizing *q) {
  hone_diagnostics *diag = &q->context->diag;
  const char *path = q->options.cache_path;
  hn_blob blob;
  hn_calib_cache cache;
  HN_TRY(hn_file_read(diag, q->context->allocator, path, &blob));
  const hone_status status = hn_calib_cache_parse(diag, path, (const char *)blob.data, blob.bytes, &q->arena, &cache);
  hn_blob_close(&blob);
  HN_TRY(status);
  if (cache.model && cache.model != q->graph->model_hash)
    return HN_FAIL(diag, HONE_INVALID, "%s was made of another model (%016llx, this one is %016llx)", path,
                   (unsigned long long)cache.model, (unsigned long long)q->graph->model_hash);
  for (int i = 0; i < q->sites.count; ++i) {
    hn_site *site = &q->sites.items[i];
    const hn_cached_range *found = hn_calib_cache_find(&cache, site->value->name);
    if (found)
      site->range = found->range;
    else if (site->shares == i)
      return HN_FAIL(diag, HONE_INVALID,
                     "%s has no range of the tensor %s; with more samples than none and without the "
                     "file it is made anew",
                     path, site->value->name);
  }
  return HONE_OK;
}

static hone_status write_cache(const hn_quantizing *q) {
  hn_text text;
  hn_text_init(&text, q->context->allocator);
  hn_calib_cache_write(&q->sites, q->graph->model_hash, q->options.method, q->samples, &text);
  const hone_status status =
      text.failed ? HN_FAIL_MEMORY(&q->context->diag)
                  : hn_file_replace(&q->context->diag, q->options.cache_path, hn_text_string(&text), text.length);
  hn_text_deinit(&text);
  return status;
}

/* ---- in order ---- */

static void pick_some(void *user, int worker, int64_t begin, int64_t end) {
  hn_quantizing *q = user;
  (void)worker;
  for (int64_t i = begin; i < end; ++i) {
    hn_site *site = &q->sites.items[i];
    if (!site->histogram) continue; /* ranges of a file */
    if (site->changed) site->picked = q->picker->pick(site->histogram, &q->scheme, q->picker_number);
    site->changed = false;
    site->range = site->picked;
  }
}

void hn_quantize_pick(hn_quantizing *q) {
  hn_pool_run(q->device_count > 0 ? hn_device_pool(q->devices[0]) : NULL, q->sites.count, 1, pick_some, q);
  hn_sites_scale(&q->sites, &q->scheme);
}

void hn_quantize_tell_layers(const hn_quantizing *q) {
  for (int i = 0; i < q->sites.node_count && q->options.event; ++i) {
    const hn_quant_node *node = &q->sites.nodes[i];
    const hone_quantize_event event = {.layer = node->node->name, .op = node->node->op->name, .why = node->why};
    q->options.event(q->options.event_user, &event);
  }
}

static void tell(const hn_quantizing *q) {
  if (!q->options.event) return;
  for (int i = 0; i < q->sites.count; ++i) {
    const hn_site *site = &q->sites.items[i];
    const hn_histogram *seen = hn_sites_source(&q->sites, site->value)->histogram;
    const hone_quantize_event event = {.tensor = site->value->name,
                                       .low = seen ? seen->low : 0,
                                       .high = seen ? seen->high : 0,
                                       .from = hn_lowest(&site->scale, &q->scheme),
                                       .to = hn_highest(&site->scale, &q->scheme),
                                       .scale = site->scale.scale,
                                       .zero_point = site->scale.zero,
                                       .clipped = seen ? hn_clipped_share(seen, &site->scale, &q->scheme) : 0};
    q->options.event(q->options.event_user, &event);
  }
  hn_quantize_tell_layers(q);
}

hone_status hn_quantize_find_sites(hn_quantizing *q) {
  HN_TRY(hn_sites_check_floats(q->graph));
  HN_TRY(prepare(q));
  const bool of_floats = q->scheme.dtype == HONE_F8E4M3FN;
  HN_TRY((of_floats ? hn_sites_find_inputs : hn_sites_find)(q->graph, q->options.keep, q->options.keep_count, &q->arena,
                                                            &q->sites));
  if (q->sites.count > 0) return hn_channels_find(q->graph, &q->arena, &q->channels);
  const char *why = q->sites.node_count > 0 ? q->sites.nodes[0].why : NULL;
  return HN_FAIL(&q->context->diag, HONE_UNSUPPORTED, "no layer of the model can be quantised: %s%s%s",
                 why ? q->sites.nodes[0].node->name : "it has no convolution or product with constant weights",
                 why ? ": " : "", why ? why : "");
}

hone_status hn_quantize_find_ranges(hn_quantizing *q) {
  HN_TRY(hn_quantize_find_sites(q));
  const bool cached = exists(q->options.cache_path);
  if (cached) {
    HN_TRY(read_cache(q));
    if (q->options.sample) q->samples = INT64_MAX; /* not counted: as many as there are */
  } else {
    if (!q->options.sample)
      return HN_FAIL(&q->context->diag, HONE_INVALID, "%s%s",
                     q->options.cache_path ? q->options.cache_path : "there are no samples and no ranges",
                     q->options.cache_path ? ": no such file, and there are no samples" : "");
    HN_TRY(hn_quantize_observe(q, 0));
  }
  hn_quantize_pick(q);
  return q->options.cache_path && !cached ? write_cache(q) : HONE_OK;
}

static hone_status quantize(hn_quantizing *q) {
  if (q->options.weights != HONE_NONE) return hn_quantize_weights(q);
  HN_TRY(hn_quantize_find_ranges(q));
  if (q->options.sample) HN_TRY(hn_quantize_correct(q));
  tell(q);
  HN_TRY(hn_quantize_note(q));
  const hn_insertion how = {
      .scheme = q->scheme, .per_tensor = q->options.per_tensor, .bias = q->bias, .weights = q->weights};
  HN_TRY(hn_sites_insert(&q->sites, &how));
  hn_pass_run run = {.context = q->context, .graph = q->graph};
  HN_TRY(hn_pass_eliminate_dead(&run));
  return hn_graph_verify(q->graph);
}

static hone_status take_options(hone_diagnostics *diag, const hone_quantize_options *given, hn_quantizing *q) {
  hone_quantize_options *out = &q->options;
  HN_OPTIONS(diag, "quantize", given, hone_quantize_options, sample_user, out);
  HN_TRY(hn_argument_pointers(diag, "quantize option keep", out->keep, out->keep_count, INT32_MAX));
  HN_TRY(hn_argument_range(diag, "quantize option sample_count", out->sample_count, 0, 1000000000));
  HN_TRY(hn_quantize_check_weights(diag, out));
  if (out->activations == HONE_NONE) out->activations = HONE_U8;
  const bool of_floats = out->activations == HONE_F8E4M3FN;
  if (out->activations != HONE_U8 && out->activations != HONE_I8 && !of_floats)
    return HN_FAIL(diag, HONE_INVALID, "quantize option activations: allowed are u8, i8 and f8e4m3fn");
  HN_TRY(hn_quantize_check_corrections(diag, out->corrections, of_floats));
  q->scheme = (hn_scheme){.dtype = out->activations, .symmetric = out->activations != HONE_U8};
  if (!out->method) out->method = of_floats ? "minmax" : hn_pickers[0].name;
  q->picker = hn_picker_find(out->method, &q->picker_number);
  if (q->picker && q->picker->even && of_floats)
    return HN_FAIL(diag, HONE_INVALID,
                   "quantize option method: %s is for bytes; 8-bit floats take minmax or percentile", out->method);
  if (q->picker) return HONE_OK;
  char names[256] = "";
  size_t used = 0;
  for (const hn_picker *row = hn_pickers; row->name && used < sizeof names; ++row)
    used += (size_t)snprintf(names + used, sizeof names - used, "%s%s%s", row == hn_pickers ? "" : ", ", row->name,
                             row->least < row->most ? "[:NUMBER]" : "");
  return HN_FAIL(diag, HONE_INVALID, "quantize option method: no way to pick ranges is \"%.60s\"; there are %s",
                 out->method, names);
}

hone_status hn_quantize_begin(hone_context *context, const hone_graph *graph, hone_device *const *devices,
                              int device_count, const hone_quantize_options *given, hn_quantizing *q) {
  *q = (hn_quantizing){.context = context, .devices = devices, .device_count = device_count};
  HN_TRY(hn_argument_pointers(&context->diag, "devices", devices, device_count, HN_MAX_DEVICES));
  HN_TRY(take_options(&context->diag, given, q));
  if (q->options.sample && device_count == 0)
    return HN_FAIL(&context->diag, HONE_INVALID, "a device is needed to run the samples");
  hn_call_begin(context);
  HN_TRY(hn_graph_clone(graph, &q->graph));
  hn_arena_init(&q->arena, context->allocator);
  hn_distances_init(&q->distances, q);
  return HONE_OK;
}

void hn_quantize_end(hn_quantizing *q) {
  hn_distances_deinit(&q->distances);
  hn_graph_destroy(q->graph);
  hn_arena_deinit(&q->arena);
}

hone_status hone_graph_quantize(hone_context *context, const hone_graph *graph, hone_device *const *devices,
                                int device_count, const hone_quantize_options *given, hone_graph **out_graph) {
  if (out_graph) *out_graph = NULL;
  HN_GIVEN(NULL, context);
  HN_GIVEN(&context->diag, graph);
  HN_GIVEN(&context->diag, out_graph);
  hn_quantizing q;
  HN_TRY(hn_quantize_begin(context, graph, devices, device_count, given, &q));
  const hone_status status = quantize(&q);
  if (status == HONE_OK) {
    *out_graph = q.graph;
    q.graph = NULL;
  }
  hn_quantize_end(&q);
  return status;
}

/* Each another one, so that nothing is joined which other scales would keep apart. */
static void assume_ranges(hn_quantizing *q) {
  for (int i = 0; i < q->sites.count; ++i) {
    const double most = 1 + 0.01 * i;
    q->sites.items[i].range = (hn_range){.low = -most, .high = most};
  }
  hn_sites_scale(&q->sites, &q->scheme);
}

static hone_status insert_assumed(hn_quantizing *q) {
  HN_TRY(hn_quantize_find_sites(q));
  assume_ranges(q);
  const hn_insertion how = {.scheme = q->scheme};
  HN_TRY(hn_sites_insert(&q->sites, &how));
  hn_pass_run run = {.context = q->context, .graph = q->graph};
  HN_TRY(hn_pass_eliminate_dead(&run));
  return hn_graph_verify(q->graph);
}

hone_status hn_quantize_assumed(hone_context *context, const hone_graph *graph, hone_graph **out_graph) {
  hn_quantizing q;
  *out_graph = NULL;
  HN_TRY(hn_quantize_begin(context, graph, NULL, 0, NULL, &q));
  const hone_status status = insert_assumed(&q);
  if (status == HONE_OK) {
    *out_graph = q.graph;
    q.graph = NULL;
  }
  hn_quantize_end(&q);
  return status;
}

hone_status hone_range_pickers(hone_write_fn write, void *user) {
  HN_GIVEN(NULL, write);
  for (const hn_picker *row = hn_pickers; row->name; ++row) {
    char line[256];
    const int length = snprintf(line, sizeof line, "%s\t%s\n", row->name, row->doc);
    if (!write(user, line, (size_t)length)) return HONE_IO;
  }
  return HONE_OK;
}
