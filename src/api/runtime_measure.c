/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_measure.c - measuring what a device can do at most. */
#include "base/arguments.h"
#include "device/device.h"

hone_status hone_device_measure(hone_device *device, hone_diagnostics *diagnostics) {
  HN_GIVEN(diagnostics, device);
  return hn_device_measure(device, NULL, diagnostics);
}
