/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - what a session asks of the provider: entries "ep.honeexecutionprovider.NAME" of its configuration, which
 * the runtime makes of provider options, and the runtime's own about compiled models. */
#include "ep.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "ep.honeexecutionprovider."

typedef enum option_kind { OPTION_INT, OPTION_MS, OPTION_BOOL, OPTION_REAL, OPTION_TEXT } option_kind;

/* docs/ONNXRUNTIME.md lists them. */
typedef struct option_row {
  const char *name;
  option_kind kind;
  size_t place;
  int64_t least, most, otherwise; /* of numbers; reals are 0 without */
  const char *runtime_key;        /* an entry of the runtime's own; NULL: of the provider */
} option_row;
#define AT(field) offsetof(ep_options, field)
static const option_row rows[] = {
    {"level", OPTION_INT, AT(level), -1, 5, 3, NULL},
    {"threads", OPTION_INT, AT(threads), 0, 1024, 0, NULL},
    {"min_nodes", OPTION_INT, AT(min_nodes), 1, INT32_MAX, 5, NULL},
    {"time_budget_ms", OPTION_MS, AT(time_budget_ms), 0, INT64_C(1000000000000), 0, NULL},
    {"fp16", OPTION_BOOL, AT(fp16), 0, 1, 0, NULL},
    {"bf16", OPTION_BOOL, AT(bf16), 0, 1, 0, NULL},
    {"tf32", OPTION_BOOL, AT(tf32), 0, 1, 0, NULL},
    {"max_error", OPTION_REAL, AT(max_error), 0, 1, 0, NULL},
    {"keep_subnormals", OPTION_BOOL, AT(keep_subnormals), 0, 1, 0, NULL},
    {"device", OPTION_TEXT, AT(device), 0, 0, 0, NULL},
    {"device_index", OPTION_INT, AT(device_index), 0, 1024, 0, NULL},
    {"cache_dir", OPTION_TEXT, AT(cache_dir), 0, 0, 0, NULL},
    {"timing_cache", OPTION_TEXT, AT(timing_cache), 0, 0, 0, NULL},
    {"profile_min_shapes", OPTION_TEXT, AT(profile_min), 0, 0, 0, NULL},
    {"profile_opt_shapes", OPTION_TEXT, AT(profile_opt), 0, 0, 0, NULL},
    {"profile_max_shapes", OPTION_TEXT, AT(profile_max), 0, 0, 0, NULL},
    {"", OPTION_BOOL, AT(context_enable), 0, 1, 0, "ep.context_enable"},
    {"", OPTION_BOOL, AT(context_embed), 0, 1, 0, "ep.context_embed_mode"},
    {"", OPTION_TEXT, AT(context_path), 0, 0, 0, "ep.context_file_path"},
    {"", OPTION_TEXT, AT(context_prefix), 0, 0, 0, "ep.context_node_name_prefix"},
};
enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

static OrtStatus *fail_value(const ort_calls *ort, const option_row *row, const char *key, const char *value) {
  if (row->kind == OPTION_BOOL)
    return ep_fail(ort, ORT_ERROR_INVALID_ARGUMENT, "hone: option %s is \"%s\"; allowed: 0, 1, true, false", key,
                   value);
  if (row->kind == OPTION_REAL)
    return ep_fail(ort, ORT_ERROR_INVALID_ARGUMENT, "hone: option %s is \"%s\"; allowed: a number from 0 on", key,
                   value);
  return ep_fail(ort, ORT_ERROR_INVALID_ARGUMENT, "hone: option %s is \"%s\"; allowed: %" PRId64 " to %" PRId64, key,
                 value, row->least, row->most);
}

static bool read_bool(const char *value, bool *out) {
  *out = !strcmp(value, "1") || !strcmp(value, "true") || !strcmp(value, "True");
  return *out || !strcmp(value, "0") || !strcmp(value, "false") || !strcmp(value, "False");
}

static bool read_int(const option_row *row, const char *value, int64_t *out) {
  char *end;
  errno = 0;
  *out = strtoll(value, &end, 10);
  return end != value && !*end && errno == 0 && *out >= row->least && *out <= row->most;
}

static bool read_real(const char *value, double *out) {
  char *end;
  *out = strtod(value, &end);
  return end != value && !*end && *out >= 0 && *out <= 1e300;
}

static OrtStatus *read_row(const ort_calls *ort, const option_row *row, const char *key, const char *value,
                           ep_options *out) {
  void *place = (char *)out + row->place;
  int64_t number = 0;
  double real = 0;
  bool flag = false;
  switch (row->kind) {
  case OPTION_TEXT:
    *(const char **)place = ep_copy_text(&out->arena, value);
    return *(const char **)place ? NULL : ep_fail_memory(ort);
  case OPTION_BOOL:
    if (!read_bool(value, &flag)) return fail_value(ort, row, key, value);
    *(bool *)place = flag;
    return NULL;
  case OPTION_REAL:
    if (!read_real(value, &real)) return fail_value(ort, row, key, value);
    *(double *)place = real;
    return NULL;
  case OPTION_INT:
  case OPTION_MS:
    if (!read_int(row, value, &number)) return fail_value(ort, row, key, value);
    if (row->kind == OPTION_INT)
      *(int *)place = (int)number;
    else
      *(int64_t *)place = number;
    return NULL;
  }
  return NULL;
}

static void set_defaults(ep_options *out) {
  *out = (ep_options){0};
  for (int i = 0; i < ROW_COUNT; ++i) {
    void *place = (char *)out + rows[i].place;
    if (rows[i].kind == OPTION_INT) *(int *)place = (int)rows[i].otherwise;
    if (rows[i].kind == OPTION_TEXT) *(const char **)place = "";
  }
  out->device = "cpu";
}

static OrtStatus *read_entry(const ort_calls *ort, const char *key, const char *value, ep_options *out) {
  const bool ours = strncmp(key, PREFIX, sizeof PREFIX - 1) == 0;
  const char *name = ours ? key + sizeof PREFIX - 1 : key, *nearest = NULL;
  for (int i = 0; i < ROW_COUNT; ++i) {
    const option_row *row = &rows[i];
    if (strcmp(name, ours || !row->runtime_key ? row->name : row->runtime_key) == 0 && ours == !row->runtime_key)
      return read_row(ort, row, name, value, out);
    if (!row->runtime_key) nearest = hone_nearest_name(name, nearest, row->name);
  }
  if (!ours) return NULL;
  return ep_fail(ort, ORT_ERROR_INVALID_ARGUMENT, "hone: no option is called \"%s\"%s%s%s", name,
                 nearest ? "; did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?" : "");
}

OrtStatus *ep_options_read(const ep_factory *factory, const OrtSessionOptions *given, ep_options *out) {
  const ort_calls *ort = &factory->ort;
  OrtKeyValuePairs *pairs = NULL;
  const char *const *keys = NULL, *const *values = NULL;
  size_t count = 0;
  set_defaults(out);
  EP_TRY(ort->GetSessionOptionsConfigEntries(given, &pairs));
  OrtStatus *status = NULL;
  ort->GetKeyValuePairs(pairs, &keys, &values, &count);
  for (size_t i = 0; i < count && !status; ++i) status = read_entry(ort, keys[i], values[i], out);
  ort->ReleaseKeyValuePairs(pairs);
  if (!status && (*out->profile_min || *out->profile_opt || *out->profile_max) &&
      (!*out->profile_min || !*out->profile_opt || !*out->profile_max))
    status = ep_fail(ort, ORT_ERROR_INVALID_ARGUMENT,
                     "hone: profile_min_shapes, profile_opt_shapes and profile_max_shapes go together: give all three");
  if (!status) status = ep_profiles_read(ort, out);
  if (status) ep_options_free(out);
  return status;
}

void ep_options_free(ep_options *options) {
  ep_arena_free(&options->arena);
  set_defaults(options);
}

void ep_options_text(const ep_options *options, char *out, size_t room) {
  (void)snprintf(
      out, room,
      "level %d, budget %lld, threads %d, fp16 %d, bf16 %d, tf32 %d, max_error %g, subnormals %d, device %s %d",
      options->level, (long long)options->time_budget_ms, options->threads, options->fp16, options->bf16, options->tf32,
      options->max_error, options->keep_subnormals, options->device, options->device_index);
}
