/* SPDX-License-Identifier: Apache-2.0 */
/* load.c - which files are models, and how each becomes an engine. */
#include "server.h"
#include "base/file.h"
#include "base/hash.h"
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The better one first. */
static const char *const endings[] = {".hone", ".onnx"};

/* ---- finding ---- */

static bool ends_with(const char *name, const char *ending) {
  const size_t length = strlen(name), end = strlen(ending);
  return length > end && strcmp(name + length - end, ending) == 0;
}

/* A regular file's name, size and time; false: it is none. */
static bool look(const char *path, srv_file *out) {
  struct stat about;
  if (stat(path, &about) != 0 || !S_ISREG(about.st_mode)) return false;
  if (snprintf(out->path, sizeof out->path, "%s", path) >= (int)sizeof out->path) return false;
  out->size = about.st_size;
  out->number = (int64_t)about.st_ino;
  out->modified_ns = about.st_mtim.tv_sec * INT64_C(1000000000) + about.st_mtim.tv_nsec;
  return true;
}

static bool set_name(srv_file *out, const char *name, size_t length, const char *version) {
  if (length == 0 || length >= sizeof out->name || *name == '.') return false;
  memcpy(out->name, name, length);
  out->name[length] = 0;
  hn_copy_text(out->version, sizeof out->version, version);
  return true;
}

/* NAME.hone; NAME.onnx where there is no engine of that name. */
static void see_flat(const char *folder, const char *item, void (*see)(void *, const srv_file *), void *user) {
  srv_file file = {0}, better;
  char path[4096];
  for (size_t e = 0; e < HN_COUNT(endings); ++e) {
    if (!ends_with(item, endings[e])) continue;
    const size_t length = strlen(item) - strlen(endings[e]);
    if (e > 0) {
      (void)snprintf(path, sizeof path, "%s/%.*s%s", folder, (int)length, item, endings[0]);
      if (look(path, &better)) return;
    }
    if (snprintf(path, sizeof path, "%s/%s", folder, item) >= (int)sizeof path) return;
    if (look(path, &file) && set_name(&file, item, length, "1")) see(user, &file);
  }
}

/* NAME/VERSION/model.hone or model.onnx, the highest version that has one. */
static void see_versions(const char *folder, const char *item, void (*see)(void *, const srv_file *), void *user) {
  char path[4096];
  srv_file best = {0};
  int64_t highest = 0;
  if (snprintf(path, sizeof path, "%s/%s", folder, item) >= (int)sizeof path) return;
  DIR *dir = opendir(path);
  if (!dir) return;
  for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
    char *end, inner[4608];
    const int64_t version = strtoll(e->d_name, &end, 10);
    if (*end || version <= highest || *e->d_name < '1' || *e->d_name > '9') continue;
    srv_file file = {0};
    for (size_t k = 0; k < HN_COUNT(endings) && !file.size; ++k) {
      (void)snprintf(inner, sizeof inner, "%s/%s/model%s", path, e->d_name, endings[k]);
      (void)look(inner, &file);
    }
    if (!file.size || !set_name(&file, item, strlen(item), e->d_name)) continue;
    best = file;
    highest = version;
  }
  closedir(dir);
  if (highest > 0) see(user, &best);
}

bool srv_files_find(const char *path, void (*see)(void *, const srv_file *), void *user) {
  struct stat about;
  if (stat(path, &about) != 0) return false;
  if (!S_ISDIR(about.st_mode)) {
    srv_file file = {0};
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    const char *dot = strrchr(name, '.');
    const size_t length = dot && dot > name ? (size_t)(dot - name) : strlen(name);
    if (!look(path, &file) || !set_name(&file, name, length, "1")) return false;
    see(user, &file);
    return true;
  }
  DIR *dir = opendir(path);
  if (!dir) return false;
  for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
    if (*e->d_name == '.') continue;
    see_flat(path, e->d_name, see, user);
    see_versions(path, e->d_name, see, user);
  }
  closedir(dir);
  return true;
}

/* ---- building ---- */

typedef struct shapes {
  hone_profile_shape items[2 * SRV_MAX_PORTS];
  int count;
} shapes;

/* Two schedules where the first dims alone are free: for a lone row, and for batches. */
static hone_status find_shapes(srv_repository *repository, const hone_graph *graph, shapes *out) {
  hone_diagnostics *diag = hone_context_diagnostics(repository->context);
  const int64_t most = repository->pool->options->max_batch;
  const int inputs = hone_graph_input_count(graph);
  if (inputs > SRV_MAX_PORTS)
    return hone_fail(diag, HONE_LIMIT, "%d inputs; at most %d are served", inputs, SRV_MAX_PORTS);
  for (int profile = 0; profile < (most > 1 ? 2 : 1); ++profile)
    for (int i = 0; i < inputs; ++i) {
      hone_type type;
      const hone_value *value = hone_graph_input(graph, i);
      hone_value_type(value, &type);
      bool free_dim = false;
      for (int d = 0; d < type.shape.rank; ++d) {
        if (type.shape.dim[d] >= 0) continue;
        if (d > 0)
          return hone_fail(diag, HONE_UNSUPPORTED,
                           "input \"%s\": dim %d is free; build an engine for a range of it (hone build --minShapes, "
                           "--optShapes, --maxShapes) and serve that",
                           hone_value_name(value), d);
        free_dim = true;
      }
      if (!free_dim) continue;
      hone_profile_shape *s = &out->items[out->count++];
      *s = (hone_profile_shape){hone_value_name(value), type.shape, type.shape, type.shape, profile};
      s->min.dim[0] = 1;
      s->opt.dim[0] = s->max.dim[0] = profile ? most : 1;
    }
  return HONE_OK;
}

static hone_status build(srv_repository *repository, const srv_file *file, hone_engine **out) {
  const srv_options *o = repository->pool->options;
  hone_graph *graph = NULL;
  shapes found = {.count = 0};
  srv_say(o, "%s: building %s", file->name, file->path);
  HN_TRY(hone_graph_load_onnx(repository->context, file->path, &graph));
  hone_status status = find_shapes(repository, graph, &found);
  const hone_build_options options = {.struct_size = sizeof options,
                                      .shapes = found.items,
                                      .shape_count = found.count,
                                      .level = o->level == 0 ? -1 : (int)o->level,
                                      .timing_cache_path = o->timing_cache};
  if (status == HONE_OK) status = hone_engine_build(repository->context, graph, &repository->device, 1, &options, out);
  hone_graph_destroy(graph);
  return status;
}

/* ---- loading ---- */

static hone_status load(srv_repository *repository, const char *path, hone_engine **out) {
  hone_diagnostics *diag = hone_context_diagnostics(repository->context);
  hn_blob bytes = {0};
  HN_TRY(hn_file_read(diag, hn_allocator_default(), path, &bytes));
  const hone_status status =
      hone_engine_load_memory(repository->context, bytes.data, bytes.bytes, &repository->device, 1, out);
  hn_blob_close(&bytes);
  return status;
}

/* A name from all that makes the engine what it is; external data counts by the model's own time. */
static hone_status cache_path(srv_repository *repository, const srv_file *file, char *out, size_t room) {
  const srv_options *o = repository->pool->options;
  hone_diagnostics *diag = hone_context_diagnostics(repository->context);
  hn_blob bytes = {0};
  hone_facts facts;
  char salt[256], isa[128];
  *out = 0;
  if (!o->cache_dir) return HONE_OK;
  HN_TRY(hn_file_read(diag, hn_allocator_default(), file->path, &bytes));
  hone_device_facts(repository->device, &facts);
  hone_isa_text(facts.isa, isa, sizeof isa);
  (void)snprintf(salt, sizeof salt, "%s %s level %lld batch %lld threads %lld time %lld", hone_version(), isa,
                 (long long)o->level, (long long)o->max_batch, (long long)o->threads, (long long)file->modified_ns);
  const uint64_t hash = hn_hash_join(hn_hash(bytes.data, bytes.bytes), hn_hash_text(salt));
  hn_blob_close(&bytes);
  if (snprintf(out, room, "%s/%s-%016" PRIx64 ".hone", o->cache_dir, file->name, hash) < (int)room) return HONE_OK;
  return hone_fail(diag, HONE_INVALID, "%s: the path is too long", o->cache_dir);
}

hone_status srv_load_engine(srv_repository *repository, const srv_file *file, hone_engine **out) {
  const srv_options *o = repository->pool->options;
  char cached[4352];
  struct stat about;
  hone_context_clear_messages(repository->context);
  if (ends_with(file->path, endings[0])) return load(repository, file->path, out);
  HN_TRY(cache_path(repository, file, cached, sizeof cached));
  if (*cached && stat(cached, &about) == 0) {
    if (load(repository, cached, out) == HONE_OK) return HONE_OK;
    srv_say(o, "%s: built again: %s", file->name, hone_context_message(repository->context, 0, NULL));
    hone_context_clear_messages(repository->context);
  }
  HN_TRY(build(repository, file, out));
  if (*cached && hone_engine_save(*out, cached, hone_context_diagnostics(repository->context)) != HONE_OK) {
    srv_say(o, "%s: not kept in the cache: %s", file->name, hone_context_message(repository->context, 0, NULL));
    hone_context_clear_messages(repository->context);
  }
  return HONE_OK;
}
