/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_engine.c - engines to and from files. */
#include "api/engine.h"
#include "base/arguments.h"
#include "base/clock.h"
#include "base/file.h"
#include "ops/registry.h"
#include <hone/lifecycle.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool has_kind(hone_device *const *devices, int count, const char *kind) {
  for (int d = 0; d < count; ++d)
    if (strcmp(devices[d]->backend->name, kind) == 0) return true;
  return false;
}

static hone_status add_helper(hone_context *context, const char *kind, const hone_device_options *options,
                              hn_device_list *list) {
  if (has_kind(list->devices, list->count, kind)) return HONE_OK;
  hone_device **helper = &list->helpers[list->helper_count];
  HN_TRY(hn_device_open(context, hn_backend_find(kind), 0, options, helper));
  ++list->helper_count;
  list->devices[list->count++] = *helper;
  return HONE_OK;
}

hone_status hn_device_list_open(hone_context *context, hone_device *const *devices, int device_count,
                                hn_device_list *out) {
  *out = (hn_device_list){0};
  if (device_count < 1 || device_count > HN_MAX_DEVICES - HN_MAX_HELPERS)
    return HN_FAIL(&context->diag, HONE_INVALID, "%d devices were given; 1 to %d are possible", device_count,
                   HN_MAX_DEVICES - HN_MAX_HELPERS);
  HN_TRY(hn_argument_pointers(&context->diag, "devices", devices, device_count, HN_MAX_DEVICES));
  bool all_host = true;
  for (int d = 0; d < device_count; ++d) {
    out->devices[out->count++] = devices[d];
    all_host = all_host && devices[d]->facts.host_memory;
  }
  const hone_device_options one_thread = {.struct_size = sizeof one_thread, .threads = 1};
  hone_status status = HONE_OK;
  if (!all_host) status = add_helper(context, "cpu", &devices[0]->options, out);
  if (status == HONE_OK) status = add_helper(context, "ref", &one_thread, out);
  if (status != HONE_OK) hn_device_list_close(out);
  return status;
}

void hn_device_list_close(hn_device_list *list) {
  for (int h = 0; h < list->helper_count; ++h) hn_device_release(list->helpers[h]);
  *list = (hn_device_list){0};
}

/* Without devices: what is always here resolves what it can, the rest of the engine is names. */
static hone_status open_none(hone_context *context, hn_device_list *list) {
  static const hone_device_options one_thread = {.struct_size = sizeof one_thread, .threads = 1};
  *list = (hn_device_list){0};
  hone_status status = add_helper(context, "cpu", &one_thread, list);
  if (status == HONE_OK) status = add_helper(context, "ref", &one_thread, list);
  if (status != HONE_OK) hn_device_list_close(list);
  return status;
}

static void log_load(const hone_engine *engine, const char *what, size_t bytes, int64_t begin_ns) {
  const hn_schedules *schedules = engine->schedules;
  hn_logger_say(&engine->logger, HONE_LOG_INFO, "%s: engine %s of %zu bytes loaded in %.3f ms: %d schedule%s, %d steps",
                what, schedules->name, bytes, (double)(hn_clock_ns() - begin_ns) * 1e-6, schedules->count,
                schedules->count == 1 ? "" : "s", schedules->plans[0]->step_count);
}

static hone_status load(hone_context *context, hn_blob *blob, const char *what, hone_device *const *devices,
                        int device_count, hone_engine **out_engine) {
  hn_device_list list;
  const int64_t begin_ns = hn_clock_ns();
  const size_t bytes = blob->bytes;
  const char *name = blob->mapped ? what : "ENGINE";
  const hone_status opened =
      device_count == 0 ? open_none(context, &list) : hn_device_list_open(context, devices, device_count, &list);
  if (opened != HONE_OK) {
    hn_blob_close(blob);
    return opened;
  }
  hn_schedules *schedules;
  hone_status status = (device_count == 0 ? hn_schedules_show : hn_schedules_read)(
      context->allocator, context->ops, list.devices, list.count, blob, what, &schedules, &context->diag);
  const bool rebuilds = status == HONE_OK && schedules->onnx;
  if (status == HONE_OK)
    status = hn_engine_create(context->allocator, schedules, list.devices, list.count, out_engine, &context->diag);
  if (rebuilds && status == HONE_INCOMPATIBLE) (void)hone_note(&context->diag, status, HN_ENGINE_REBUILDS, name);
  hn_device_list_close(&list); /* the engine holds those that it uses */
  if (status == HONE_OK) {
    (*out_engine)->logger = context->logger;
    (*out_engine)->users = hn_users_join(context->plugin_users, HN_USER_ENGINE);
    log_load(*out_engine, what, bytes, begin_ns);
  }
  return status;
}

hone_status hone_engine_load(hone_context *context, const char *path, hone_device *const *devices, int device_count,
                             hone_engine **out_engine) {
  if (out_engine) *out_engine = NULL;
  HN_GIVEN(NULL, context);
  HN_GIVEN(&context->diag, path);
  HN_GIVEN(&context->diag, out_engine);
  hn_blob blob;
  HN_TRY(hn_file_map(&context->diag, path, &blob));
  return load(context, &blob, path, devices, device_count, out_engine);
}

hone_status hone_engine_load_memory(hone_context *context, const void *bytes, size_t count, hone_device *const *devices,
                                    int device_count, hone_engine **out_engine) {
  if (out_engine) *out_engine = NULL;
  HN_GIVEN(NULL, context);
  HN_GIVEN(&context->diag, bytes);
  HN_GIVEN(&context->diag, out_engine);
  uint8_t *copy = hn_alloc(&context->allocator, count);
  if (!copy) return HN_FAIL_MEMORY(&context->diag);
  memcpy(copy, bytes, count);
  hn_blob blob = {.data = copy, .bytes = count, .owned = true, .allocator = context->allocator};
  return load(context, &blob, "in memory", devices, device_count, out_engine);
}

/* The ledger names the engine that it tells of: its first entry is the engine's content hash. */
static hone_status save_ledger(const char *ledger, uint64_t hash, const char *path, hone_diagnostics *diag) {
  char entry[64];
  hn_file_writer writer;
  const int length = snprintf(entry, sizeof entry, "{\n  \"engine\": \"%016" PRIx64 "\",", hash);
  HN_TRY(hn_file_begin(diag, &writer, path));
  HN_TRY(hn_file_write(diag, &writer, entry, (size_t)length));
  HN_TRY(hn_file_write(diag, &writer, ledger + 1, strlen(ledger + 1)));
  return hn_file_commit(diag, &writer);
}

/* The parts of a file as the options have them. */
static hone_status take_parts(const hone_engine *engine, const hone_save_options *given, hn_engine_parts *out,
                              hone_diagnostics *diag) {
  hone_save_options options;
  HN_OPTIONS(diag, "save", given, hone_save_options, onnx_bytes, &options);
  *out = hn_schedules_parts(engine->schedules);
  if (options.onnx) *out = (hn_engine_parts){out->stripped, options.onnx, options.onnx_bytes};
  if (options.onnx && options.onnx_bytes == 0)
    return HN_FAIL(diag, HONE_INVALID, "save option onnx_bytes is 0, must be that of a model");
  if (out->onnx_bytes > INT32_MAX)
    return HN_FAIL(diag, HONE_LIMIT, "the model has %llu bytes; an engine carries up to %d",
                   (unsigned long long)out->onnx_bytes, INT32_MAX);
  if (!options.strip_weights) return HONE_OK;
  out->stripped = true;
  if (engine->schedules->refit) return HONE_OK;
  return HN_FAIL(diag, HONE_INVALID,
                 "the engine could not be given weights again: to leave them out, build it with refittable "
                 "(hone build --refit)");
}

hone_status hone_engine_save_with(const hone_engine *engine, const char *path, const hone_save_options *options,
                                  hone_diagnostics *diag) {
  HN_GIVEN(diag, engine);
  HN_GIVEN(diag, path);
  HN_TRY(hn_engine_check_real(engine, "saved", diag));
  char ledger_path[4096];
  uint64_t hash;
  hn_engine_parts parts;
  HN_TRY(take_parts(engine, options, &parts, diag));
  if ((size_t)snprintf(ledger_path, sizeof ledger_path, "%s.ledger", path) >= sizeof ledger_path)
    return HN_FAIL(diag, HONE_IO, "%s: the path is too long", path);
  HN_TRY(hn_schedules_write(engine->schedules, &parts, path, &hash, diag));
  return engine->ledger ? save_ledger(engine->ledger, hash, ledger_path, diag) : HONE_OK;
}

hone_status hone_engine_save(const hone_engine *engine, const char *path, hone_diagnostics *diag) {
  return hone_engine_save_with(engine, path, NULL, diag);
}

hone_status hone_engine_model(const hone_engine *engine, const void **out_bytes, size_t *out_count,
                              hone_diagnostics *diag) {
  if (out_bytes) *out_bytes = NULL;
  if (out_count) *out_count = 0;
  HN_GIVEN(diag, engine);
  HN_GIVEN(diag, out_bytes);
  HN_GIVEN(diag, out_count);
  HN_TRY(hn_schedules_check_onnx(engine->schedules, diag));
  *out_bytes = engine->schedules->onnx;
  *out_count = (size_t)engine->schedules->onnx_bytes;
  return HONE_OK;
}

hone_status hone_engine_write(const hone_engine *engine, hone_write_fn write, void *user, hone_diagnostics *diag) {
  HN_GIVEN(diag, engine);
  HN_GIVEN(diag, write);
  HN_TRY(hn_engine_check_real(engine, "saved", diag));
  const hn_engine_parts parts = hn_schedules_parts(engine->schedules);
  return hn_schedules_put(engine->schedules, &parts, write, user, diag);
}

int hone_engine_weight_count(const hone_engine *engine) { return engine ? engine->schedules->weight_count : 0; }

hone_status hone_engine_weight(const hone_engine *engine, int index, hone_weight_info *out_info) {
  HN_RESULT(NULL, out_info, hone_weight_info, from);
  HN_GIVEN(NULL, engine);
  if (index < 0 || index >= engine->schedules->weight_count) return HONE_INVALID;
  const hn_weight_blob *blob = &engine->schedules->weights_table[index];
  const hone_weight_info info = {
      .bytes = blob->bytes, .how = blob->how, .from_count = blob->from_count, .from = blob->from};
  hn_result_give(&info, out_info);
  return HONE_OK;
}
