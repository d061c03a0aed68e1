/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_device.c - opening devices by name. */
#include "device/device.h"
#include "base/text.h"
#include "ops/registry.h"

static hone_status no_such_kind(hone_context *context, const char *kind) {
  hn_text list;
  hn_text_init(&list, context->allocator);
  for (const hone_backend *const *row = hn_builtin_backends(); *row; ++row) hn_text_printf(&list, " %s", (*row)->name);
  const hone_status status =
      HN_FAIL(&context->diag, HONE_INVALID, "there is no device kind %s; there are:%s", kind, hn_text_string(&list));
  hn_text_deinit(&list);
  return status;
}

hone_status hone_device_open(hone_context *context, const char *kind, int index, const hone_device_options *options,
                             hone_device **out_device) {
  *out_device = NULL;
  if (options && options->struct_size != sizeof *options)
    return HN_FAIL(&context->diag, HONE_INVALID, "device options have struct_size %u; this library knows %zu",
                   options->struct_size, sizeof *options);
  const hone_backend *backend = hn_backend_find(kind);
  return backend ? hn_device_open(context, backend, index, options, out_device) : no_such_kind(context, kind);
}

void hone_device_close(hone_device *device) { hn_device_release(device); }
void hone_device_facts(const hone_device *device, hone_facts *out_facts) { *out_facts = device->facts; }
const char *hone_device_kind(const hone_device *device) { return device->backend->name; }
