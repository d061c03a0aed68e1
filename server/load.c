/* SPDX-License-Identifier: Apache-2.0 */
/* load.c - which files of a folder are models. */
#include "server.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Of two the first. */
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

/* The model's own configuration, where there is one. */
static void look_settings(srv_file *out, const char *folder, const char *name, const char *ending) {
  struct stat about;
  *out->settings = 0;
  out->settings_size = out->settings_modified_ns = 0;
  if (snprintf(out->settings, sizeof out->settings, "%s/%s%s", folder, name, ending) >= (int)sizeof out->settings ||
      stat(out->settings, &about) != 0 || !S_ISREG(about.st_mode)) {
    *out->settings = 0;
    return;
  }
  out->settings_size = about.st_size;
  out->settings_modified_ns = about.st_mtim.tv_sec * INT64_C(1000000000) + about.st_mtim.tv_nsec;
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
    if (!look(path, &file) || !set_name(&file, item, length, "1")) return;
    look_settings(&file, folder, file.name, ".config.json");
    see(user, &file);
    return;
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
  if (highest == 0) return;
  look_settings(&best, path, "config.json", "");
  see(user, &best);
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
    char folder[4096];
    (void)snprintf(folder, sizeof folder, "%.*s", name > path ? (int)(name - path - 1) : 1, name > path ? path : ".");
    look_settings(&file, folder, file.name, ".config.json");
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

/* ---- loading ---- */

static void say(void *user, const char *text) { srv_say(((const srv_repository *)user)->pool->options, "%s", text); }

hone_status srv_load_engine(srv_repository *repository, const srv_file *file, hone_engine **out) {
  const srv_options *o = repository->pool->options;
  const srv_engine_source source = {.name = file->name,
                                    .path = file->path,
                                    .cache_dir = o->cache_dir,
                                    .timing_cache = o->timing_cache,
                                    .level = (int)o->level,
                                    .max_batch = (int)o->max_batch,
                                    .threads = (int)o->threads,
                                    .modified_ns = file->modified_ns,
                                    .say = say,
                                    .say_user = repository};
  hone_context_clear_messages(repository->context);
  return srv_engine_open(repository->context, repository->device, &source, out);
}
