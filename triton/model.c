/* SPDX-License-Identifier: Apache-2.0 */
/* model.c - the backend, and its models from their folder to an engine. */
#include "backend.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- errors and the log ---- */

TRITONSERVER_Error *trt_fail(int code, const char *format, ...) {
  char text[1024];
  va_list list;
  va_start(list, format);
  (void)vsnprintf(text, sizeof text, format, list);
  va_end(list);
  return TRITONSERVER_ErrorNew(code, text);
}

static int code_of(hone_status status) {
  static const int codes[] = {[HONE_INVALID] = TRITON_INVALID_ARG,     [HONE_MALFORMED] = TRITON_INVALID_ARG,
                              [HONE_UNSUPPORTED] = TRITON_UNSUPPORTED, [HONE_INCOMPATIBLE] = TRITON_INVALID_ARG,
                              [HONE_NO_MEMORY] = TRITON_UNAVAILABLE,   [HONE_LIMIT] = TRITON_UNAVAILABLE,
                              [HONE_INTERNAL] = TRITON_INTERNAL};
  return (size_t)status < HN_COUNT(codes) && codes[status] ? codes[status] : TRITON_INTERNAL;
}

TRITONSERVER_Error *trt_fail_status(const char *model, hone_status status, const hone_diagnostics *diag) {
  return trt_fail(code_of(status), "hone: %s: %s", model,
                  diag->count > 0 ? diag->entries[0].text : hone_status_name(status));
}

TRITONSERVER_Error *trt_fail_context(const char *model, hone_status status, const hone_context *context) {
  const char *text = context && hone_context_message_count(context) > 0 ? hone_context_message(context, 0, NULL) : NULL;
  return trt_fail(code_of(status), "hone: %s: %s", model, text ? text : hone_status_name(status));
}

void trt_drop_error(TRITONSERVER_Error *error) {
  if (!error) return;
  TRITONSERVER_Error *again =
      TRITONSERVER_LogMessage(TRITON_LOG_ERROR, __FILE__, __LINE__, TRITONSERVER_ErrorMessage(error));
  if (again) TRITONSERVER_ErrorDelete(again);
  TRITONSERVER_ErrorDelete(error);
}

void trt_log(int level, const char *format, ...) {
  char text[1024];
  va_list list;
  va_start(list, format);
  (void)vsnprintf(text, sizeof text, format, list);
  va_end(list);
  TRITONSERVER_Error *error = TRITONSERVER_LogMessage(level, __FILE__, __LINE__, text);
  if (error) TRITONSERVER_ErrorDelete(error);
}

/* ---- the backend ---- */

TRITON_ENTRY TRITONBACKEND_Initialize(TRITONBACKEND_Backend *backend) {
  uint32_t major, minor;
  (void)backend;
  TRT_TRY(TRITONBACKEND_ApiVersion(&major, &minor));
  if (major != TRITON_API_MAJOR || minor < TRITON_API_MINOR)
    return trt_fail(TRITON_UNSUPPORTED, "hone: the server's backend API is %u.%u; %d.%d or a later minor one is needed",
                    major, minor, TRITON_API_MAJOR, TRITON_API_MINOR);
  trt_log(TRITON_LOG_INFO, "hone %s, backend API %u.%u", hone_version(), major, minor);
  return NULL;
}

/* ---- a model ---- */

static bool is_file(const char *path, int64_t *modified_ns) {
  struct stat about;
  if (stat(path, &about) != 0 || !S_ISREG(about.st_mode)) return false;
  *modified_ns = about.st_mtim.tv_sec * INT64_C(1000000000) + about.st_mtim.tv_nsec;
  return true;
}

/* LOCATION/VERSION/FILE: what the configuration names, else model.hone, else model.onnx. */
static bool find_file(const trt_model *m, const char *location, uint64_t version, char *out, size_t room,
                      int64_t *modified_ns) {
  const char *const names[] = {*m->config.file ? m->config.file : "model.hone", *m->config.file ? NULL : "model.onnx"};
  for (size_t i = 0; i < HN_COUNT(names) && names[i]; ++i) {
    const int length = snprintf(out, room, "%s/%llu/%s", location, (unsigned long long)version, names[i]);
    if (length < (int)room && is_file(out, modified_ns)) return true;
  }
  return false;
}

static void say(void *user, const char *text) {
  (void)user;
  trt_log(TRITON_LOG_INFO, "hone: %s", text);
}

static TRITONSERVER_Error *open_engine(trt_model *m, TRITONBACKEND_Model *model) {
  int artifact;
  const char *location;
  uint64_t version;
  char path[4352];
  srv_engine_source source = {.name = m->name,
                              .path = path,
                              .level = m->config.level,
                              .threads = m->config.threads,
                              .max_batch = m->config.max_batch > 0 ? (int)m->config.max_batch : 8,
                              .say = say};
  const hone_device_options options = {.struct_size = sizeof options, .threads = m->config.threads};
  TRT_TRY(TRITONBACKEND_ModelRepository(model, &artifact, &location));
  TRT_TRY(TRITONBACKEND_ModelVersion(model, &version));
  if (!find_file(m, location, version, path, sizeof path, &source.modified_ns))
    return trt_fail(TRITON_INVALID_ARG, "hone: %s: there is no %s in %s/%llu", m->name,
                    *m->config.file ? m->config.file : "model.hone and no model.onnx", location,
                    (unsigned long long)version);
  if (*m->config.cache_dir) source.cache_dir = m->config.cache_dir;
  if (*m->config.timing_cache) source.timing_cache = m->config.timing_cache;
  hone_status status = hone_context_create(NULL, &m->context);
  if (status == HONE_OK) status = hone_device_open(m->context, "cpu", 0, &options, &m->device);
  if (status == HONE_OK) status = srv_engine_open(m->context, m->device, &source, &m->engine);
  if (status == HONE_OK)
    status = srv_ports_read(&m->ports, m->engine, SRV_MAX_BATCH, hone_context_diagnostics(m->context));
  return status == HONE_OK ? NULL : trt_fail_context(m->name, status, m->context);
}

/* What the configuration leaves out is filled in where the server lets us; then all of it is checked. */
static TRITONSERVER_Error *settle_config(trt_model *m, TRITONBACKEND_Model *model, hn_json *root, hn_arena *arena) {
  hn_diag_entry entry;
  hone_diagnostics diag;
  hn_text text;
  bool wanted;
  TRITONSERVER_Error *error = NULL;
  TRT_TRY(TRITONBACKEND_ModelAutoCompleteConfig(model, &wanted));
  hn_diag_init(&diag, &entry, 1);
  hn_text_init(&text, hn_allocator_default());
  hone_status status = HONE_OK;
  if (wanted && trt_config_complete(root, &m->ports, &text)) {
    TRITONSERVER_Message *message = NULL;
    error = TRITONSERVER_MessageNewFromSerializedJson(&message, text.data, text.length);
    if (!error) error = TRITONBACKEND_ModelSetConfig(model, 1, message);
    if (message) trt_drop_error(TRITONSERVER_MessageDelete(message));
    if (!error) status = hn_json_read(arena, &diag, "the completed configuration", text.data, text.length, &root);
    if (!error && status == HONE_OK) status = trt_config_read(root, &m->config, &diag);
  }
  hn_text_deinit(&text);
  if (!error && status == HONE_OK) status = trt_config_check(root, &m->ports, &m->config, &diag);
  return error || status == HONE_OK ? error : trt_fail_status(m->name, status, &diag);
}

static TRITONSERVER_Error *fill_model(trt_model *m, TRITONBACKEND_Model *model, TRITONSERVER_Message *message) {
  const char *json;
  size_t bytes;
  hn_arena arena;
  hn_json *root;
  hn_diag_entry entry;
  hone_diagnostics diag;
  TRT_TRY(TRITONSERVER_MessageSerializeToJson(message, &json, &bytes));
  hn_diag_init(&diag, &entry, 1);
  hn_arena_init(&arena, hn_allocator_default());
  hone_status status = hn_json_read(&arena, &diag, "the configuration", json, bytes, &root);
  if (status == HONE_OK) status = trt_config_read(root, &m->config, &diag);
  TRITONSERVER_Error *error = status == HONE_OK ? open_engine(m, model) : trt_fail_status(m->name, status, &diag);
  if (!error) error = settle_config(m, model, root, &arena);
  hn_arena_deinit(&arena);
  return error;
}

static void free_model(trt_model *m) {
  srv_ports_free(&m->ports);
  hone_engine_release(m->engine);
  hone_device_close(m->device);
  hone_context_destroy(m->context);
  free(m);
}

TRITON_ENTRY TRITONBACKEND_ModelInitialize(TRITONBACKEND_Model *model) {
  const char *name;
  TRITONSERVER_Message *message;
  TRT_TRY(TRITONBACKEND_ModelName(model, &name));
  TRT_TRY(TRITONBACKEND_ModelConfig(model, 1, &message));
  trt_model *m = calloc(1, sizeof *m);
  TRITONSERVER_Error *error = m ? NULL : trt_fail(TRITON_UNAVAILABLE, "hone: out of memory");
  if (m) {
    hn_copy_text(m->name, sizeof m->name, name);
    error = fill_model(m, model, message);
  }
  trt_drop_error(TRITONSERVER_MessageDelete(message));
  if (!error) error = TRITONBACKEND_ModelSetState(model, m);
  if (error && m) free_model(m);
  return error;
}

TRITON_ENTRY TRITONBACKEND_ModelFinalize(TRITONBACKEND_Model *model) {
  void *m;
  TRT_TRY(TRITONBACKEND_ModelState(model, &m));
  if (m) free_model(m);
  return NULL;
}
