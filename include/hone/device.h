/* SPDX-License-Identifier: Apache-2.0 */
/* device.h - opening the devices that engines are built for and run on. */
#ifndef HONE_DEVICE_H
#define HONE_DEVICE_H

#include <hone/backend.h>
#include <hone/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An opened device with its thread pool. Any number of engines and sessions share it, from any thread. */
typedef struct hone_device hone_device;

/* kind   "cpu"; "cuda" or "gpu" (a backend in a shared object of its own, opened when it is asked for); "ref" (slow,
 *        right); "null" (a fake clock, for tests); or a kind that a plug-in brought.
 * index  which one of that kind.
 * An engine for a device with memory of its own runs what that device has no tactic for on a "cpu" device, which is
 * opened beside it with the same options unless the caller gives one.
 * Errors: INVALID (no such kind or index; the message lists what there is), DEVICE (it is there but does not open, or
 * its driver is missing; the message says what). */
HONE_API HONE_CHECKED hone_status hone_device_open(hone_context *context, const char *kind, int index,
                                                   const hone_device_options *options, hone_device **out_device);
/* Drops the caller's hold; engines built on it keep it open until they are released. NULL is fine. */
HONE_API void hone_device_close(hone_device *device);
HONE_API hone_status hone_device_facts(const hone_device *device, hone_facts *out_facts);
HONE_API const char *hone_device_kind(const hone_device *device); /* borrowed */
/* The instruction sets of a CPU's facts.isa that kernels are there for, e.g. "c avx2 avx512"; of isa_refused likewise.
 */
HONE_API void hone_isa_text(uint32_t isa, char *out, size_t room);
/* "f32", "int8", "L2", "memory"; "none" for what is no roof. Roofs before HONE_ROOF_L1 count operations a second, the
 * others bytes. */
HONE_API const char *hone_roof_name(hone_roof roof);
/* Measures the roofs of facts (about 200 ms); they stay with the device. */
HONE_API HONE_CHECKED hone_status hone_device_measure(hone_device *device, hone_diagnostics *diagnostics);

#ifdef __cplusplus
}
#endif
#endif
