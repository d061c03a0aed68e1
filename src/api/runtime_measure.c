/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_measure.c - measuring what a device can do at most. */
#include "base/diag.h"
#include "device/device.h"

hone_status hone_device_measure(hone_device *device, hone_diagnostics *diagnostics) {
  const hone_backend *backend = device->backend;
  /* A backend from a plug-in may be of a time before this entry. */
  const bool has_entry = backend->struct_size >= offsetof(hone_backend, measure) + sizeof backend->measure;
  if (!has_entry || !backend->measure)
    return HN_FAIL(diagnostics, HONE_UNSUPPORTED, "device kind %s has nothing to measure", backend->name);
  const hone_status status = backend->measure(device->unit);
  if (status != HONE_OK) return HN_FAIL(diagnostics, status, "device %s could not be measured", backend->name);
  backend->facts(device->unit, &device->facts);
  return HONE_OK;
}
