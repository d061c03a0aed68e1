/* SPDX-License-Identifier: Apache-2.0 */
/* device.h - the backend table's wrappers: each entry is called here once and nowhere else, with its arguments checked.
 */
#ifndef HN_DEVICE_DEVICE_H
#define HN_DEVICE_DEVICE_H

#include "base/context.h"
#include "base/memory.h"
#include <hone/device.h>
#include <stdatomic.h>

struct hone_device {
  const hone_backend *backend;
  hone_driver *driver;
  hone_unit *unit;
  hone_facts facts;
  hone_host host;
  hone_device_options options; /* as it was opened; cpus NULL */
  hn_allocator allocator;
  const hone_tactic *const *tactics; /* the backend's and those of plug-ins; ends with NULL */
  hn_arena arena;                    /* of the list above and the host's texts */
  atomic_int references;
  hn_users *users; /* of the context's plug-ins, whose tactics are in the list; may be NULL */
};

const hone_backend *const *hn_builtin_backends(void); /* cpu, ref, null; ends with NULL */
const hone_backend *hn_backend_find(const char *name);

/* Fills device->tactics, in its arena. */
hone_status hn_tactics_merge(hone_device *device, hone_context *context);

hone_status hn_device_open(hone_context *context, const hone_backend *backend, int index,
                           const hone_device_options *options, hone_device **out);
bool hn_is_host_unit(const hone_device *device); /* its unit is device/host_unit.h's */
/* The threads of a device that is the host; NULL for one thread and for other devices. */
struct hn_pool *hn_device_pool(const hone_device *device);
struct hn_pool *hn_devices_pool(hone_device *const *devices, int device_count); /* of the first that has one */
void hn_device_retain(hone_device *device);
void hn_device_release(hone_device *device);

/* The tactic of a provider (a backend's name) by name, among opened devices; version 0 finds any. NULL when absent. */
const hone_tactic *hn_tactic_find(hone_device *const *devices, int device_count, const char *provider, const char *name,
                                  uint32_t version);
/* The masks of queries and tactics have a bit for each of the first 32 inputs; those after them are in no mask. */
static inline uint32_t hn_mask_bit(int input) { return input < 32 ? UINT32_C(1) << input : 0; }
static inline bool hn_mask_has(uint32_t mask, int input) { return (mask & hn_mask_bit(input)) != 0; }
/* May this row be asked about this op: its name, "*", or "*elementwise" for ops with that trait. */
bool hn_tactic_covers(const hone_tactic *tactic, const hone_op *op);
/* The storage of one input under a pair: in or, for a port that says so, out; as far as its type can take it. */
hone_storage hn_port_storage(const hone_op *op, int input, const hone_type *type, const hone_storage_pair *pair);
/* The same names in the same order, with the same values. */
bool hn_params_equal(const hone_params *a, const hone_params *b);
/* A parameter of the layer: it stays as the graph has it. */
bool hn_port_is_param(const hone_op *op, int input);
/* Gives a query's facts, as the graph has them, the element types and formats that they have under a pair. */
/* The pair without the types that no port takes: values of an author's narrow type lie in it as they are. */
hone_storage_pair hn_storages_taken(const hone_op *op, const hone_storage_pair *pair, const hone_fact *in, int in_count,
                                    const hone_fact *out, int out_count);
/* The first of a row's types, with storages as they are taken, that narrows what is f32 and is not among the allowed
 * ones (bits of dtypes); NONE: none. */
hone_dtype hn_tactic_narrows(const hone_tactic *tactic, const hone_storage_pair *taken, uint32_t allowed);
void hn_query_apply_storages(const hone_op *op, const hone_storage_pair *pair, hone_fact *in, int in_count,
                             hone_fact *out, int out_count);
/* Measures the peaks of facts. stop may be NULL. UNSUPPORTED: the backend has no way. */
hone_status hn_device_measure(hone_device *device, hn_stop *stop, hone_diagnostics *diag);
/* The roof of elements of a type; HONE_ROOF_COUNT: of none. */
hone_roof hn_roof_of_type(hone_dtype type);
/* The largest relative L2 error that a tactic may have, for an output of this type in the graph, with values held in
 * `narrow` (NONE: in their own types). */
double hn_tactic_bound(const hone_tactic *tactic, hone_dtype out_dtype, hone_dtype narrow);

hone_status hn_memory_alloc(hone_device *device, size_t bytes, hone_memory *out, hone_diagnostics *diag);
hone_status hn_staging_alloc(hone_device *device, size_t bytes, hone_memory *out, hone_diagnostics *diag);
void hn_memory_free(hone_device *device, hone_memory *memory);
hone_status hn_stream_open(hone_device *device, int mark_count, hone_stream **out, hone_diagnostics *diag);
/* Over a stream of the caller's, as the device's driver knows it. UNSUPPORTED: the device takes none. */
hone_status hn_stream_adopt(hone_device *device, void *native, int mark_count, hone_stream **out,
                            hone_diagnostics *diag);
void hn_stream_close(hone_device *device, hone_stream *stream);
hone_status hn_stream_mark(hone_device *device, hone_stream *stream, int slot);
hone_status hn_stream_wait(hone_device *device, hone_stream *stream, hone_diagnostics *diag);
hone_status hn_stream_between(hone_device *device, hone_stream *stream, int from, int to, double *out_elapsed_ns);

/* Capture and replay. Backends without it: hn_stream_records is false. */
static inline bool hn_stream_records(const hone_device *device) { return device->backend->record != NULL; }
hone_status hn_stream_record(hone_device *device, hone_stream *stream);
hone_status hn_stream_keep(hone_device *device, hone_stream *stream, hone_replay **out, hone_diagnostics *diag);
hone_status hn_stream_replay(hone_device *device, hone_stream *stream, const hone_replay *replay);
void hn_replay_forget(hone_device *device, hone_replay *replay); /* NULL is fine */
/* Lanes of one recording; hone/backend.h says more. */
static inline bool hn_stream_has_lanes(const hone_device *device) { return device->backend->lane != NULL; }
hone_status hn_stream_lane(hone_device *device, hone_stream *stream, int lane);
hone_status hn_stream_after(hone_device *device, hone_stream *stream, int slot);

/* Each kernel and copy of a stream, by the device's own tracing; hone/backend.h says more. UNSUPPORTED, with a message:
 * the device has none, or none now. */
hone_status hn_stream_trace(hone_device *device, hone_stream *stream, bool on, hone_diagnostics *diag);
hone_status hn_stream_tag(hone_device *device, hone_stream *stream, int step);
hone_status hn_stream_activities(hone_device *device, hone_stream *stream, const hone_activity **out, int *out_count,
                                 hone_diagnostics *diag);

/* A name for what the device is given until the call with NULL; for the vendor's profilers. */
static inline void hn_device_range(const hone_device *device, const char *name) {
  if (device->backend->range) device->backend->range(name);
}
/* What hone/backend.h says of call, follow and signal. UNSUPPORTED: the device has no such entry. */
hone_status hn_stream_call(hone_device *device, hone_stream *stream, void (*function)(void *user), void *user,
                           hone_diagnostics *diag);
hone_status hn_stream_follow(hone_device *device, hone_stream *stream, void *native_event, hone_diagnostics *diag);
hone_status hn_stream_signal(hone_device *device, hone_stream *stream, void *native_event, hone_diagnostics *diag);

/* Copies between addresses; host tells which of them are the host's. */
typedef struct hn_place_at {
  void *data; /* host or device address */
  bool host;
} hn_place_at;
hone_status hn_stream_move(hone_device *device, hone_stream *stream, hn_place_at to, hn_place_at from, size_t bytes);

/* Asks the query's tactic: NULL when it accepts, and *needs says what it takes; else the reason against it. state:
 * NULL, or needs->state bytes of zeroed memory that it fills. */
const char *hn_tactic_plan(const hone_query *query, void *state, hone_needs *needs);

/* The query's tactic made ready: planned, its state filled, prepared. UNSUPPORTED: it declines. */
typedef struct hn_prepared {
  const hone_tactic *tactic;
  void *state;
  size_t state_bytes, scratch_bytes;
  int64_t parts; /* hn_launch_parts() on the host */
  const hn_allocator *allocator;
} hn_prepared;
/* What ends the launches on a stream early: hn_stop_check() tells when one was. Devices of their own finish what was
 * launched. */
void hn_stream_stops(hone_device *device, hone_stream *stream, hn_stop *stop);
/* Where the host's threads note their shares of the stream's loops; NULL: nowhere. Streams of devices of their own have
 * no such threads. */
struct hn_pool_log;
void hn_stream_logs(hone_device *device, hone_stream *stream, struct hn_pool_log *log);
/* When a mark was passed, on hn_clock_ns(). base: a mark that was passed, or put into the device's queue, at base_ns.
 */
hone_status hn_stream_time(hone_device *device, hone_stream *stream, int slot, int base, int64_t base_ns,
                           int64_t *out_ns);
hone_status hn_prepare(hone_device *device, const hone_query *query, hn_prepared *out, hone_diagnostics *diag);
/* Into how many parts a launch is to be cut so that each takes some milliseconds; 0: it is short, or its extents are
 * not known. */
int64_t hn_launch_parts(const hone_query *query, size_t scratch_bytes);
/* A launch that takes long looks at the stream's stop often enough. */
hone_status hn_launch(hone_device *device, const hn_prepared *prepared, hone_stream *stream, const hone_launch *launch);
void hn_unprepare(hn_prepared *prepared);

/* A launch described in host memory, made ready on a device: on the host it is the launch itself; a device with memory
 * of its own gets copies of the inputs and of the packed bytes, and room for outputs and scratch
 * (device/staged_launch.c). For measuring and verifying one step; plans have copy steps instead. */
typedef struct hn_staged_launch {
  hone_device *device;
  hone_stream *stream;
  const hone_launch *host; /* borrowed */
  hone_launch launch;      /* what the tactic gets */
  hone_memory *memory;     /* one a port, then packed, then scratch; NULL on the host */
  hone_tensor *ports;
  int count;
} hn_staged_launch;
hone_status hn_staged_launch_open(hone_device *device, hone_stream *stream, const hone_launch *host,
                                  size_t packed_bytes, size_t scratch_bytes, hn_staged_launch *out,
                                  hone_diagnostics *diag);
/* Waits, and brings the outputs back to the host's tensors. */
hone_status hn_staged_launch_fetch(hn_staged_launch *staged, hone_diagnostics *diag);
void hn_staged_launch_close(hn_staged_launch *staged);

#endif
