/* SPDX-License-Identifier: Apache-2.0 */
/* device.c - opening devices, and the backend table's wrappers. */
#include "device/device.h"
#include "device/host_unit.h"
#include "tensor/evaluate.h"
#include "tensor/expr.h"
#include <string.h>

#define HN_BACKEND(name) extern const hone_backend hn_backend_##name;
#include "device/backends.inc"
#undef HN_BACKEND

const hone_backend *const *hn_builtin_backends(void) {
#define HN_BACKEND(name) &hn_backend_##name,
  static const hone_backend *const rows[] = {
#include "device/backends.inc"
      NULL};
#undef HN_BACKEND
  return rows;
}

const hone_backend *hn_backend_find(const char *name) {
  for (const hone_backend *const *row = hn_builtin_backends(); *row; ++row)
    if (strcmp((*row)->name, name) == 0) return *row;
  return NULL;
}

static void *host_resize(void *self, void *old, size_t old_bytes, size_t new_bytes) {
  const hone_device *device = self;
  if (new_bytes == 0) {
    hn_free(&device->allocator, old, old_bytes);
    return NULL;
  }
  return hn_resize(&device->allocator, old, old_bytes, new_bytes);
}

static hone_status host_fail(hone_diagnostics *diagnostics, hone_status status, const char *text) {
  return HN_FAIL(diagnostics, status, "%s", text);
}

static bool host_expression(void *self, const hone_op *op, const hone_attrs *attrs, int in_count, char *out,
                            size_t room) {
  const hone_device *device = self;
  hn_expr expr;
  if (room > 0) *out = 0;
  if (hn_expr_of_op(NULL, op, attrs, in_count, &expr) != HONE_OK) return false;
  hn_text text;
  hn_text_init(&text, device->allocator);
  hn_text_expr(&text, &expr);
  const bool fits = !text.failed && text.length < room;
  if (fits) memcpy(out, hn_text_string(&text), text.length + 1);
  hn_text_deinit(&text);
  return fits;
}

static hone_status make_host(hone_device *device, hone_context *context) {
  device->host = (hone_host){.struct_size = sizeof(hone_host),
                             .self = device,
                             .resize = host_resize,
                             .fail = host_fail,
                             .expression = host_expression,
                             .library_path = hn_arena_text(&device->arena, context->library_path),
                             .cache_dir = hn_arena_text(&device->arena, context->cache_dir)};
  if ((context->library_path && !device->host.library_path) || (context->cache_dir && !device->host.cache_dir))
    return HN_FAIL_MEMORY(&context->diag);
  return HONE_OK;
}

/* Opens the driver's unit; on failure the caller closes what is there. */
static hone_status open_unit(hone_device *device, int index, const hone_device_options *options,
                             hone_diagnostics *diag) {
  const hone_backend *backend = device->backend;
  HN_TRY(backend->load(&device->host, &device->driver, diag));
  const int count = backend->count(device->driver);
  if (index < 0 || index >= count)
    return HN_FAIL(diag, HONE_INVALID, "device %s:%d does not exist; there %s %d", backend->name, index,
                   count == 1 ? "is" : "are", count);
  static const hone_device_options none = {.struct_size = sizeof none};
  if (!options) options = &none;
  device->options = *options;
  device->options.cpus = NULL;
  device->options.cpu_count = 0;
  device->options.machine = NULL;
  HN_TRY(backend->open(device->driver, index, options, &device->unit, diag));
  backend->facts(device->unit, &device->facts);
  if (options->machine && !device->facts.described)
    return HN_FAIL(diag, HONE_INVALID, "device kind %s knows no described machines", backend->name);
  return HONE_OK;
}

hone_status hn_device_open(hone_context *context, const hone_backend *backend, int index,
                           const hone_device_options *options, hone_device **out) {
  *out = NULL;
  hone_device *device = hn_alloc_zero(&context->allocator, sizeof *device);
  if (!device) return HN_FAIL_MEMORY(&context->diag);
  device->allocator = context->allocator;
  device->backend = backend;
  hn_arena_init(&device->arena, device->allocator);
  atomic_init(&device->references, 1);
  hone_status status = make_host(device, context);
  if (status == HONE_OK) status = hn_tactics_merge(device, context);
  if (status == HONE_OK) status = open_unit(device, index, options, &context->diag);
  if (status != HONE_OK) {
    hn_device_release(device);
    return hone_note(&context->diag, status, "while opening device %s:%d", backend->name, index);
  }
  device->users = hn_users_join(context->plugin_users, HN_USER_DEVICE);
  *out = device;
  return HONE_OK;
}

/* Is the unit, and so its streams, that of device/host_unit.h? */
bool hn_is_host_unit(const hone_device *device) { return device->backend->close == hn_host_close; }

struct hn_pool *hn_device_pool(const hone_device *device) {
  return hn_is_host_unit(device) && device->facts.threads > 1 ? device->unit->pool : NULL;
}

struct hn_pool *hn_devices_pool(hone_device *const *devices, int device_count) {
  struct hn_pool *pool = NULL;
  for (int d = 0; d < device_count && !pool; ++d) pool = hn_device_pool(devices[d]);
  return pool;
}

void hn_device_retain(hone_device *device) { atomic_fetch_add(&device->references, 1); }

void hn_device_release(hone_device *device) {
  if (!device || atomic_fetch_sub(&device->references, 1) != 1) return;
  if (device->unit) device->backend->close(device->unit);
  if (device->driver) device->backend->unload(device->driver);
  hn_users *users = device->users;
  hn_arena_deinit(&device->arena);
  hn_free(&device->allocator, device, sizeof *device);
  hn_users_leave(users, HN_USER_DEVICE);
}

hone_status hn_device_measure(hone_device *device, hn_stop *stop, hone_diagnostics *diag) {
  const hone_backend *backend = device->backend;
  /* A backend from a plug-in may be of a time before this entry. */
  const bool has_entry = backend->struct_size >= offsetof(hone_backend, measure) + sizeof backend->measure;
  if (!has_entry || !backend->measure)
    return HN_FAIL(diag, HONE_UNSUPPORTED, "device kind %s has nothing to measure", backend->name);
  if (hn_is_host_unit(device)) device->unit->stop = stop;
  const hone_status status = backend->measure(device->unit);
  if (hn_is_host_unit(device)) device->unit->stop = NULL;
  if (stop) HN_TRY(hn_stop_check(stop, diag));
  if (status != HONE_OK) return HN_FAIL(diag, status, "device %s could not be measured", backend->name);
  hone_facts facts;
  backend->facts(device->unit, &facts);
  memcpy(device->facts.roofs, facts.roofs, sizeof facts.roofs); /* the others stay: sessions may be reading them */
  device->facts.clock_hz = facts.clock_hz;
  memcpy(device->facts.spreads, facts.spreads, sizeof facts.spreads);
  return HONE_OK;
}

static hone_status alloc_kind(hone_device *device, int kind, size_t bytes, hone_memory *out, hone_diagnostics *diag) {
  *out = (hone_memory){0};
  if (device->backend->alloc(device->unit, kind, bytes ? bytes : 64, out) != HONE_OK)
    return HN_FAIL(diag, HONE_NO_MEMORY, "device %s has no %zu bytes of memory left", device->backend->name, bytes);
  return HONE_OK;
}

hone_status hn_memory_alloc(hone_device *device, size_t bytes, hone_memory *out, hone_diagnostics *diag) {
  return alloc_kind(device, HONE_MEMORY_DEVICE, bytes, out, diag);
}

hone_status hn_staging_alloc(hone_device *device, size_t bytes, hone_memory *out, hone_diagnostics *diag) {
  return alloc_kind(device, HONE_MEMORY_STAGING, bytes, out, diag);
}

void hn_memory_free(hone_device *device, hone_memory *memory) {
  if (memory->bytes) device->backend->free(device->unit, memory);
  *memory = (hone_memory){0};
}

hone_status hn_stream_open(hone_device *device, int mark_count, hone_stream **out, hone_diagnostics *diag) {
  const hone_status status = device->backend->stream(device->unit, mark_count, out);
  if (status != HONE_OK) return HN_FAIL(diag, status, "device %s gives no stream", device->backend->name);
  return HONE_OK;
}

hone_status hn_stream_adopt(hone_device *device, void *native, int mark_count, hone_stream **out,
                            hone_diagnostics *diag) {
  *out = NULL;
  if (!device->backend->adopt)
    return HN_FAIL(diag, HONE_UNSUPPORTED, "device %s takes no stream of the caller's", device->backend->name);
  const hone_status status = device->backend->adopt(device->unit, native, mark_count, out);
  if (status != HONE_OK)
    return HN_FAIL(diag, status, "device %s cannot use the caller's stream", device->backend->name);
  return HONE_OK;
}

void hn_stream_close(hone_device *device, hone_stream *stream) {
  if (stream) device->backend->drop(stream);
}

hone_status hn_stream_mark(hone_device *device, hone_stream *stream, int slot) {
  return device->backend->mark(stream, slot);
}

hone_status hn_stream_wait(hone_device *device, hone_stream *stream, hone_diagnostics *diag) {
  const hone_status status = device->backend->wait(stream);
  if (status == HONE_OK) return HONE_OK;
  const char *reason = device->backend->reason ? device->backend->reason(stream) : NULL;
  return HN_FAIL(diag, status, "device %s failed while running%s%s", device->backend->name, reason ? ": " : "",
                 reason ? reason : "");
}

hone_status hn_stream_between(hone_device *device, hone_stream *stream, int from, int to, double *out_elapsed_ns) {
  return device->backend->between(stream, from, to, out_elapsed_ns);
}

static hone_status stream_copy(hone_device *device, hone_stream *stream, hone_slice to, hone_slice from) {
  return device->backend->copy(stream, to, from);
}

hone_status hn_stream_move(hone_device *device, hone_stream *stream, hn_place_at to, hn_place_at from, size_t bytes) {
  const hone_memory to_memory = {.data = to.host ? to.data : NULL, .address = (uintptr_t)to.data, .bytes = bytes};
  const hone_memory from_memory = {
      .data = from.host ? from.data : NULL, .address = (uintptr_t)from.data, .bytes = bytes};
  const hone_slice to_slice = {.memory = &to_memory, .bytes = bytes},
                   from_slice = {.memory = &from_memory, .bytes = bytes};
  return stream_copy(device, stream, to_slice, from_slice);
}

hone_status hn_stream_record(hone_device *device, hone_stream *stream) { return device->backend->record(stream); }

hone_status hn_stream_keep(hone_device *device, hone_stream *stream, hone_replay **out, hone_diagnostics *diag) {
  *out = NULL;
  const hone_status status = device->backend->keep(stream, out);
  if (status != HONE_OK) return HN_FAIL(diag, status, "device %s cannot keep what was recorded", device->backend->name);
  return HONE_OK;
}

hone_status hn_stream_replay(hone_device *device, hone_stream *stream, const hone_replay *replay) {
  return device->backend->replay(stream, replay);
}

hone_status hn_stream_lane(hone_device *device, hone_stream *stream, int lane) {
  return device->backend->lane(stream, lane);
}

hone_status hn_stream_after(hone_device *device, hone_stream *stream, int slot) {
  return device->backend->after(stream, slot);
}

void hn_replay_forget(hone_device *device, hone_replay *replay) {
  if (replay) device->backend->forget(replay);
}

hone_status hn_stream_trace(hone_device *device, hone_stream *stream, bool on, hone_diagnostics *diag) {
  if (device->backend->trace) return device->backend->trace(stream, on, diag);
  return HN_FAIL(diag, HONE_UNSUPPORTED, "device %s does not tell what its queues do", device->backend->name);
}

hone_status hn_stream_tag(hone_device *device, hone_stream *stream, int step) {
  return device->backend->tag(stream, step);
}

hone_status hn_stream_activities(hone_device *device, hone_stream *stream, const hone_activity **out, int *out_count,
                                 hone_diagnostics *diag) {
  const hone_status status = device->backend->activities(stream, out, out_count);
  if (status != HONE_OK) return HN_FAIL(diag, status, "device %s does not tell what it did", device->backend->name);
  return HONE_OK;
}

static hone_status has_no(hone_device *device, const char *what, hone_diagnostics *diag) {
  return HN_FAIL(diag, HONE_UNSUPPORTED, "device %s has no %s", device->backend->name, what);
}

hone_status hn_stream_call(hone_device *device, hone_stream *stream, void (*function)(void *user), void *user,
                           hone_diagnostics *diag) {
  if (!device->backend->call) return has_no(device, "calls behind what it was given", diag);
  const hone_status status = device->backend->call(stream, function, user);
  return status == HONE_OK ? status : HN_FAIL(diag, status, "device %s takes no call", device->backend->name);
}

hone_status hn_stream_follow(hone_device *device, hone_stream *stream, void *native_event, hone_diagnostics *diag) {
  if (!device->backend->follow) return has_no(device, "events", diag);
  const hone_status status = device->backend->follow(stream, native_event);
  return status == HONE_OK ? status
                           : HN_FAIL(diag, status, "device %s cannot wait for the event", device->backend->name);
}

hone_status hn_stream_signal(hone_device *device, hone_stream *stream, void *native_event, hone_diagnostics *diag) {
  if (!device->backend->signal) return has_no(device, "events", diag);
  const hone_status status = device->backend->signal(stream, native_event);
  return status == HONE_OK ? status : HN_FAIL(diag, status, "device %s cannot record the event", device->backend->name);
}

void hn_stream_stops(hone_device *device, hone_stream *stream, hn_stop *stop) {
  if (hn_is_host_unit(device)) stream->pool.stop = stop;
}

void hn_stream_logs(hone_device *device, hone_stream *stream, hn_pool_log *log) {
  if (hn_is_host_unit(device)) stream->pool.log = log;
}

hone_status hn_stream_time(hone_device *device, hone_stream *stream, int slot, int base, int64_t base_ns,
                           int64_t *out_ns) {
  double elapsed_ns;
  if (hn_is_host_unit(device) && !device->unit->fake_clock) { /* read from that very clock */
    *out_ns = (int64_t)stream->marks_ns[slot];
    return HONE_OK;
  }
  HN_TRY(hn_stream_between(device, stream, base, slot, &elapsed_ns));
  *out_ns = base_ns + (int64_t)elapsed_ns;
  return HONE_OK;
}
