/* SPDX-License-Identifier: Apache-2.0 */
/* engine_file.c - an engine from a file: as it is, or built from an ONNX model and kept in a cache's folder. */
#include "server/ports.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/hash.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void say(const srv_engine_source *source, const char *format, ...) HONE_PRINTF(2, 3);

static void say(const srv_engine_source *source, const char *format, ...) {
  char text[1024];
  va_list list;
  va_start(list, format);
  (void)vsnprintf(text, sizeof text, format, list);
  va_end(list);
  source->say(source->say_user, text);
}

/* ---- building ---- */

typedef struct shapes {
  hone_profile_shape items[2 * SRV_MAX_PORTS];
  int count;
} shapes;

static hone_status add_shape(const hone_value *value, int profile, int64_t most, shapes *out, hone_diagnostics *diag) {
  hone_type type;
  bool free_dim = false;
  hone_value_type(value, &type);
  for (int d = 0; d < type.shape.rank; ++d) {
    if (type.shape.dim[d] >= 0) continue;
    if (d > 0)
      return hone_fail(diag, HONE_UNSUPPORTED,
                       "input \"%s\": dim %d is free; build an engine for a range of it (hone build --minShapes, "
                       "--optShapes, --maxShapes) and serve that",
                       hone_value_name(value), d);
    free_dim = true;
  }
  if (!free_dim) return HONE_OK;
  hone_profile_shape *s = &out->items[out->count++];
  *s = (hone_profile_shape){hone_value_name(value), type.shape, type.shape, type.shape, profile};
  s->min.dim[0] = 1;
  s->opt.dim[0] = s->max.dim[0] = profile ? most : 1;
  return HONE_OK;
}

/* Two schedules where the first dims alone are free: for a lone row, and for batches. */
static hone_status find_shapes(const hone_graph *graph, int most, shapes *out, hone_diagnostics *diag) {
  const int inputs = hone_graph_input_count(graph);
  if (inputs > SRV_MAX_PORTS)
    return hone_fail(diag, HONE_LIMIT, "%d inputs; at most %d are served", inputs, SRV_MAX_PORTS);
  for (int profile = 0; profile < (most > 1 ? 2 : 1); ++profile)
    for (int i = 0; i < inputs; ++i) HN_TRY(add_shape(hone_graph_input(graph, i), profile, most, out, diag));
  return HONE_OK;
}

static hone_status build(hone_context *context, hone_device *device, const srv_engine_source *source,
                         hone_engine **out) {
  hone_graph *graph = NULL;
  shapes found = {.count = 0};
  say(source, "%s: building %s", source->name, source->path);
  HN_TRY(hone_graph_load_onnx(context, source->path, &graph));
  hone_status status = find_shapes(graph, source->max_batch, &found, hone_context_diagnostics(context));
  const hone_build_options options = {.struct_size = sizeof options,
                                      .shapes = found.items,
                                      .shape_count = found.count,
                                      .level = source->level == 0 ? -1 : source->level,
                                      .timing_cache_path = source->timing_cache};
  if (status == HONE_OK) status = hone_engine_build(context, graph, &device, 1, &options, out);
  hone_graph_destroy(graph);
  return status;
}

/* ---- loading ---- */

static hone_status load(hone_context *context, hone_device *device, const char *path, hone_engine **out) {
  hn_blob bytes = {0};
  HN_TRY(hn_file_read(hone_context_diagnostics(context), hn_allocator_default(), path, &bytes));
  const hone_status status = hone_engine_load_memory(context, bytes.data, bytes.bytes, &device, 1, out);
  hn_blob_close(&bytes);
  return status;
}

/* A name from all that makes the engine what it is; external data counts by the model's own time. */
static hone_status cache_path(const srv_engine_source *source, hone_device *device, char *out, size_t room,
                              hone_diagnostics *diag) {
  hn_blob bytes = {0};
  hone_facts facts = HONE_SIZED(hone_facts);
  char salt[256], isa[128];
  *out = 0;
  if (!source->cache_dir) return HONE_OK;
  HN_TRY(hn_file_read(diag, hn_allocator_default(), source->path, &bytes));
  hone_device_facts(device, &facts);
  hone_isa_text(facts.isa, isa, sizeof isa);
  (void)snprintf(salt, sizeof salt, "%s %s level %d batch %d threads %d time %lld", hone_version(), isa, source->level,
                 source->max_batch, source->threads, (long long)source->modified_ns);
  const uint64_t hash = hn_hash_join(hn_hash(bytes.data, bytes.bytes), hn_hash_text(salt));
  hn_blob_close(&bytes);
  if (snprintf(out, room, "%s/%s-%016" PRIx64 ".hone", source->cache_dir, source->name, hash) < (int)room)
    return HONE_OK;
  return hone_fail(diag, HONE_INVALID, "%s: the path is too long", source->cache_dir);
}

hone_status srv_engine_open(hone_context *context, hone_device *device, const srv_engine_source *source,
                            hone_engine **out) {
  hone_diagnostics *diag = hone_context_diagnostics(context);
  const char *dot = strrchr(source->path, '.');
  char cached[4352];
  struct stat about;
  if (!dot || strcmp(dot, ".onnx") != 0) return load(context, device, source->path, out);
  HN_TRY(cache_path(source, device, cached, sizeof cached, diag));
  if (*cached && stat(cached, &about) == 0) {
    if (load(context, device, cached, out) == HONE_OK) return HONE_OK;
    say(source, "%s: built again: %s", source->name, hone_context_message(context, 0, NULL));
    hone_context_clear_messages(context);
  }
  HN_TRY(build(context, device, source, out));
  if (*cached && hone_engine_save(*out, cached, diag) != HONE_OK) {
    say(source, "%s: not kept in the cache: %s", source->name, hone_context_message(context, 0, NULL));
    hone_context_clear_messages(context);
  }
  return HONE_OK;
}
