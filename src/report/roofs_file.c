/* SPDX-License-Identifier: Apache-2.0 */
/* roofs_file.c - measured roofs in a file: FOLDER/peaks-HASH.json, the hash that of what they are of. */
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "report/peaks.h"
#include <errno.h>
#include <hone/device.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { FORMAT = 1, MOST_BYTES = 65536 };
static const double most = 1e18; /* of a clock, of operations and bytes a second */

static bool path_of(const char *folder, const hone_facts *facts, char *out, size_t room) {
  char key[512];
  (void)snprintf(key, sizeof key, "%s|%s|%08x|%d", facts->name, facts->version, (unsigned)facts->isa, facts->threads);
  const int length =
      snprintf(out, room, "%s/peaks-%016llx.json", folder, (unsigned long long)hn_hash(key, strlen(key)));
  return length > 0 && (size_t)length < room;
}

static bool read_number(const hn_json *object, const char *key, double high, double *out) {
  return hn_json_real(object, key, out, NULL) == HONE_OK && *out >= 0 && *out <= high;
}

/* All of it, or facts stay as they are. */
static bool take(const hn_json *file, hone_facts *facts) {
  hone_facts found = *facts;
  const char *name, *version;
  int64_t format, isa, threads;
  if (hn_json_int(file, "format", FORMAT, FORMAT, &format, NULL) != HONE_OK ||
      hn_json_text(file, "name", &name, NULL) != HONE_OK || hn_json_text(file, "version", &version, NULL) != HONE_OK ||
      hn_json_int(file, "isa", 0, UINT32_MAX, &isa, NULL) != HONE_OK ||
      hn_json_int(file, "threads", 0, INT32_MAX, &threads, NULL) != HONE_OK)
    return false;
  if (strcmp(name, facts->name) != 0 || strcmp(version, facts->version) != 0 || isa != (int64_t)facts->isa ||
      threads != facts->threads || !read_number(file, "clock_hz", most, &found.clock_hz))
    return false;
  const hn_json *roofs = hn_json_get(file, "roofs"), *spreads = hn_json_get(file, "spreads");
  for (int r = 0; r < HONE_ROOF_COUNT; ++r) {
    const char *key = hone_roof_name((hone_roof)r);
    if (!read_number(roofs, key, most, &found.roofs[r]) || !read_number(spreads, key, 1e6, &found.spreads[r]))
      return false;
  }
  *facts = found;
  return true;
}

bool hn_roofs_load(const char *folder, hn_allocator allocator, hone_facts *facts, const char **out_note) {
  char path[4096];
  struct stat about;
  *out_note = NULL;
  if (!path_of(folder, facts, path, sizeof path) || stat(path, &about) != 0) return false;
  hn_arena arena;
  hn_arena_init(&arena, allocator);
  hn_blob blob = {0};
  hn_json *file = NULL;
  bool good = about.st_size > 0 && about.st_size <= MOST_BYTES &&
              hn_file_read(NULL, allocator, path, &blob) == HONE_OK && blob.bytes <= MOST_BYTES;
  good = good && hn_json_read(&arena, NULL, path, (const char *)blob.data, blob.bytes, &file) == HONE_OK &&
         take(file, facts);
  if (!good) *out_note = "the file of measured peaks was damaged: measured anew";
  hn_blob_close(&blob);
  hn_arena_deinit(&arena);
  return good;
}

/* mkdir -p; only the last one is ours alone. */
static void make_folder(const char *folder) {
  char path[4096];
  hn_copy_text(path, sizeof path, folder);
  for (char *at = path + 1; *at; ++at) {
    if (*at != '/') continue;
    *at = 0;
    (void)mkdir(path, 0777);
    *at = '/';
  }
  (void)mkdir(path, 0700);
}

bool hn_roofs_save(const char *folder, hn_allocator allocator, const hone_facts *facts) {
  char path[4096];
  if (!path_of(folder, facts, path, sizeof path)) return false;
  hn_text text;
  hn_text_init(&text, allocator);
  hn_json_writer writer, *w = &writer;
  hn_json_begin(w, &text);
  hn_json_open(w, NULL, '{');
  hn_json_put_int(w, "format", FORMAT);
  hn_json_put_text(w, "name", facts->name);
  hn_json_put_text(w, "version", facts->version);
  hn_json_put_int(w, "isa", facts->isa);
  hn_json_put_int(w, "threads", facts->threads);
  hn_json_put_real(w, "clock_hz", facts->clock_hz);
  hn_json_open(w, "roofs", '{');
  for (int r = 0; r < HONE_ROOF_COUNT; ++r) hn_json_put_real(w, hone_roof_name((hone_roof)r), facts->roofs[r]);
  hn_json_close(w, '}');
  hn_json_open(w, "spreads", '{');
  for (int r = 0; r < HONE_ROOF_COUNT; ++r) hn_json_put_real(w, hone_roof_name((hone_roof)r), facts->spreads[r]);
  hn_json_close(w, '}');
  hn_json_close(w, '}');
  hn_text_add(&text, "\n");
  make_folder(folder);
  const bool good = !text.failed && hn_file_replace(NULL, path, hn_text_string(&text), text.length) == HONE_OK;
  hn_text_deinit(&text);
  return good;
}
