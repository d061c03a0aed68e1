/* SPDX-License-Identifier: Apache-2.0 */
/* settings.c - what the options say for all models, a model's own configuration says for it: {"max_rate": 100}. */
#include "server.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 16 };

typedef struct row {
  const char *key, *option; /* of whose range it is */
  size_t at;                /* in srv_settings: an int64_t; a double where the option is a real */
} row;
static const row rows[] = {{"max_delay_us", "max-delay", offsetof(srv_settings, max_delay_us)},
                           {"max_queue", "max-queue", offsetof(srv_settings, max_queue)},
                           {"max_rate", "max-rate", offsetof(srv_settings, max_rate)}};

static hone_status read_key(srv_settings *out, const hn_json *item, hone_diagnostics *diag) {
  const char *near = NULL;
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    near = hone_nearest_name(item->key, near, rows[i].key);
    if (strcmp(item->key, rows[i].key) != 0) continue;
    double low, high;
    const bool real = srv_option_range(rows[i].option, &low, &high);
    void *to = (char *)out + rows[i].at;
    if ((item->kind != HN_JSON_INT && !(real && item->kind == HN_JSON_REAL)) || item->real < low || item->real > high)
      return hone_fail(diag, HONE_MALFORMED, "\"%s\" is no %s from %.0f to %.0f", item->key,
                       real ? "number" : "whole number", low, high);
    if (real)
      *(double *)to = item->real;
    else
      *(int64_t *)to = item->i;
    return HONE_OK;
  }
  return hone_fail(diag, HONE_MALFORMED, "there is no \"%.60s\"%s%s%s", item->key, near ? "; did you mean \"" : "",
                   near ? near : "", near ? "\"?" : "");
}

static hone_status read_text(srv_settings *out, const char *path, const char *text, size_t length,
                             hone_diagnostics *diag) {
  hn_arena tree;
  hn_json *root;
  hn_arena_init(&tree, hn_allocator_default());
  hone_status status = hn_json_read(&tree, diag, path, text, length, &root);
  if (status == HONE_OK && root->kind != HN_JSON_OBJECT)
    status = hone_fail(diag, HONE_MALFORMED, "it is no JSON object");
  for (size_t i = 0; status == HONE_OK && i < root->length; ++i) status = read_key(out, &root->items[i], diag);
  hn_arena_deinit(&tree);
  return status;
}

hone_status srv_settings_read(const srv_options *options, const char *path, srv_settings *out, hone_diagnostics *diag) {
  *out = (srv_settings){
      .max_delay_us = options->max_delay_us, .max_queue = options->max_queue, .max_rate = options->max_rate};
  if (!*path) return HONE_OK;
  FILE *file = fopen(path, "rbe");
  if (!file) return hone_fail(diag, HONE_IO, "%s: %s", path, strerror(errno));
  char *text = malloc(MOST_BYTES + 1);
  hone_status status = text ? HONE_OK : hone_fail(diag, HONE_NO_MEMORY, "out of memory");
  const size_t length = text ? fread(text, 1, MOST_BYTES + 1, file) : 0;
  if (ferror(file)) status = hone_fail(diag, HONE_IO, "%s cannot be read", path);
  (void)fclose(file);
  if (status == HONE_OK && length > MOST_BYTES)
    status = hone_fail(diag, HONE_MALFORMED, "%s has more than %d bytes", path, (int)MOST_BYTES);
  if (status == HONE_OK) status = read_text(out, path, text, length, diag);
  free(text);
  return status == HONE_OK ? HONE_OK : hone_note(diag, status, "in %s", path);
}
