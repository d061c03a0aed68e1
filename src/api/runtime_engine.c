/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_engine.c - engines to and from files. */
#include "api/engine.h"
#include "base/file.h"
#include "ops/registry.h"
#include <stdio.h>
#include <string.h>

enum { MAX_DEVICES = 16 };

hone_status hn_with_reference(hone_context *context, hone_device *const *devices, int device_count,
                              hone_device **out_devices, int *out_count, hone_device **out_reference) {
  *out_reference = NULL;
  if (device_count < 1 || device_count >= MAX_DEVICES)
    return HN_FAIL(&context->diag, HONE_INVALID, "%d devices were given; 1 to %d are possible", device_count,
                   MAX_DEVICES - 1);
  *out_count = device_count;
  for (int d = 0; d < device_count; ++d) {
    out_devices[d] = devices[d];
    if (strcmp(devices[d]->backend->name, "ref") == 0) return HONE_OK;
  }
  const hone_device_options one_thread = {.struct_size = sizeof one_thread, .threads = 1};
  HN_TRY(hn_device_open(context, hn_backend_find("ref"), 0, &one_thread, out_reference));
  out_devices[(*out_count)++] = *out_reference;
  return HONE_OK;
}

static hone_status load(hone_context *context, hn_blob *blob, const char *what, hone_device *const *devices,
                        int device_count, hone_engine **out_engine) {
  hone_device *all[MAX_DEVICES], *reference;
  int count;
  const hone_status opened = hn_with_reference(context, devices, device_count, all, &count, &reference);
  if (opened != HONE_OK) {
    hn_blob_close(blob);
    return opened;
  }
  hn_plan *plan;
  hone_status status = hn_plan_read(context->allocator, context->ops, blob, what, &plan, &context->diag);
  if (status == HONE_OK) status = hn_engine_create(context->allocator, plan, all, count, out_engine, &context->diag);
  hn_device_release(reference); /* the engine holds it now */
  return status;
}

hone_status hone_engine_load(hone_context *context, const char *path, hone_device *const *devices, int device_count,
                             hone_engine **out_engine) {
  *out_engine = NULL;
  hn_blob blob;
  HN_TRY(hn_file_map(&context->diag, path, &blob));
  return load(context, &blob, path, devices, device_count, out_engine);
}

hone_status hone_engine_load_memory(hone_context *context, const void *bytes, size_t count, hone_device *const *devices,
                                    int device_count, hone_engine **out_engine) {
  *out_engine = NULL;
  uint8_t *copy = hn_alloc(&context->allocator, count);
  if (!copy) return HN_FAIL_MEMORY(&context->diag);
  memcpy(copy, bytes, count);
  hn_blob blob = {.data = copy, .bytes = count, .owned = true, .allocator = context->allocator};
  return load(context, &blob, "in memory", devices, device_count, out_engine);
}

hone_status hone_engine_save(const hone_engine *engine, const char *path, hone_diagnostics *diag) {
  HN_TRY(hn_plan_write(engine->plan, path, diag));
  if (!engine->ledger) return HONE_OK;
  char ledger_path[4096];
  if ((size_t)snprintf(ledger_path, sizeof ledger_path, "%s.ledger", path) >= sizeof ledger_path)
    return HN_FAIL(diag, HONE_IO, "%s: the path is too long", path);
  return hn_file_replace(diag, ledger_path, engine->ledger, strlen(engine->ledger));
}
