/* SPDX-License-Identifier: Apache-2.0 */
/* device.c - opening devices, and the backend table's wrappers. */
#include "device/device.h"
#include "device/host_unit.h"
#include "tensor/evaluate.h"
#include "tensor/expr.h"
#include "tensor/shape.h"
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

/* The backend's rows, then those of plug-ins for it; a plug-in's row stands for a built-in one of the same name. */
static hone_status merge_tactics(hone_device *device, hone_context *context) {
  const hone_backend *backend = device->backend;
  int room = 1, count = 0, added = 0;
  device->tactics = backend->tactics;
  for (const hone_tactic *const *row = backend->tactics; *row; ++row) ++room;
  for (const hn_plugin_tactic *known = context->plugin_tactics; known; known = known->next)
    added += strcmp(known->device, backend->name) == 0;
  if (added == 0) return HONE_OK;
  const hone_tactic **rows = HN_NEW(&device->arena, const hone_tactic *, room + added);
  if (!rows) return HN_FAIL_MEMORY(&context->diag);
  for (const hone_tactic *const *row = backend->tactics; *row; ++row) rows[count++] = *row;
  for (const hn_plugin_tactic *known = context->plugin_tactics; known; known = known->next) {
    if (strcmp(known->device, backend->name) != 0) continue;
    int at = 0;
    while (at < count && strcmp(rows[at]->name, known->tactic->name) != 0) ++at;
    if (at < count)
      hn_log(context, HONE_LOG_WARN, "%s: its tactic %s replaces the built-in one", known->path, known->tactic->name);
    rows[at] = known->tactic;
    if (at == count) ++count;
  }
  device->tactics = rows;
  return HONE_OK;
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
  if (status == HONE_OK) status = merge_tactics(device, context);
  if (status == HONE_OK) status = open_unit(device, index, options, &context->diag);
  if (status != HONE_OK) {
    hn_device_release(device);
    return hone_note(&context->diag, status, "while opening device %s:%d", backend->name, index);
  }
  *out = device;
  return HONE_OK;
}

/* Is the unit, and so its streams, that of device/host_unit.h? */
static bool is_host_unit(const hone_device *device) { return device->backend->close == hn_host_close; }

struct hn_pool *hn_device_pool(const hone_device *device) {
  return is_host_unit(device) && device->facts.threads > 1 ? device->unit->pool : NULL;
}

void hn_device_retain(hone_device *device) { atomic_fetch_add(&device->references, 1); }

void hn_device_release(hone_device *device) {
  if (!device || atomic_fetch_sub(&device->references, 1) != 1) return;
  if (device->unit) device->backend->close(device->unit);
  if (device->driver) device->backend->unload(device->driver);
  hn_arena_deinit(&device->arena);
  hn_free(&device->allocator, device, sizeof *device);
}

const hone_tactic *hn_tactic_find(hone_device *const *devices, int device_count, const char *provider, const char *name,
                                  uint32_t version) {
  for (int d = 0; d < device_count; ++d) {
    if (strcmp(devices[d]->backend->name, provider) != 0) continue;
    for (const hone_tactic *const *row = devices[d]->tactics; *row; ++row)
      if (strcmp((*row)->name, name) == 0 && (version == 0 || (*row)->version == version)) return *row;
  }
  return NULL;
}

bool hn_tactic_covers(const hone_tactic *tactic, const hone_op *op) {
  if (strcmp(tactic->op, "*") == 0) return true;
  if (strcmp(tactic->op, "*elementwise") == 0) return (op->traits & HONE_ELEMENTWISE) && op->expr;
  return strcmp(tactic->op, op->name) == 0;
}

static uint8_t port_flags(const hone_port *ports, int index) {
  for (int i = 0; i < HONE_MAX_PORTS && ports[i].name; ++i)
    if (i == index || (ports[i].flags & HONE_PORT_VARIADIC)) return ports[i].flags;
  return 0;
}

hone_format hn_port_format(const hone_op *op, int input, const hone_type *type, const hone_format_pair *pair) {
  const uint8_t flags = port_flags(op->in, input);
  if (!hn_can_block(type) || (flags & HONE_PORT_PARAM)) return HONE_PLAIN;
  return flags & HONE_PORT_AS_OUT ? pair->out : pair->in;
}

void hn_query_apply_formats(const hone_op *op, const hone_format_pair *pair, hone_fact *in, int in_count,
                            hone_fact *out, int out_count) {
  for (int i = 0; i < in_count; ++i) in[i].type.format = hn_port_format(op, i, &in[i].type, pair);
  for (int i = 0; i < out_count; ++i) out[i].type.format = hn_can_block(&out[i].type) ? pair->out : HONE_PLAIN;
}

hone_status hn_device_measure(hone_device *device, hn_stop *stop, hone_diagnostics *diag) {
  const hone_backend *backend = device->backend;
  /* A backend from a plug-in may be of a time before this entry. */
  const bool has_entry = backend->struct_size >= offsetof(hone_backend, measure) + sizeof backend->measure;
  if (!has_entry || !backend->measure)
    return HN_FAIL(diag, HONE_UNSUPPORTED, "device kind %s has nothing to measure", backend->name);
  if (is_host_unit(device)) device->unit->stop = stop;
  const hone_status status = backend->measure(device->unit);
  if (is_host_unit(device)) device->unit->stop = NULL;
  if (stop) HN_TRY(hn_stop_check(stop, diag));
  if (status != HONE_OK) return HN_FAIL(diag, status, "device %s could not be measured", backend->name);
  hone_facts facts;
  backend->facts(device->unit, &facts);
  device->facts.peak_flops = facts.peak_flops; /* the others stay: sessions may be reading them */
  device->facts.peak_bytes = facts.peak_bytes;
  return HONE_OK;
}

double hn_tactic_bound(const hone_tactic *tactic, hone_dtype out_dtype) {
  if (tactic->bound > 0) return tactic->bound;
  switch (out_dtype) {
  case HONE_F32: return 1e-5;
  case HONE_F64: return 1e-12;
  case HONE_F16: return 2e-3;
  case HONE_BF16: return 1.6e-2;
  default: return 0; /* integers and bools are exact */
  }
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

void hn_stream_close(hone_device *device, hone_stream *stream) {
  if (stream) device->backend->drop(stream);
}

hone_status hn_stream_mark(hone_device *device, hone_stream *stream, int slot) {
  return device->backend->mark(stream, slot);
}

hone_status hn_stream_wait(hone_device *device, hone_stream *stream, hone_diagnostics *diag) {
  const hone_status status = device->backend->wait(stream);
  if (status != HONE_OK) return HN_FAIL(diag, status, "device %s failed while running", device->backend->name);
  return HONE_OK;
}

hone_status hn_stream_between(hone_device *device, hone_stream *stream, int from, int to, double *out_elapsed_ns) {
  return device->backend->between(stream, from, to, out_elapsed_ns);
}

hone_status hn_stream_copy(hone_device *device, hone_stream *stream, hone_slice to, hone_slice from) {
  return device->backend->copy(stream, to, from);
}

hone_status hn_stream_move(hone_device *device, hone_stream *stream, hn_place_at to, hn_place_at from, size_t bytes) {
  const hone_memory to_memory = {.data = to.host ? to.data : NULL, .address = (uintptr_t)to.data, .bytes = bytes};
  const hone_memory from_memory = {
      .data = from.host ? from.data : NULL, .address = (uintptr_t)from.data, .bytes = bytes};
  const hone_slice to_slice = {.memory = &to_memory, .bytes = bytes},
                   from_slice = {.memory = &from_memory, .bytes = bytes};
  return hn_stream_copy(device, stream, to_slice, from_slice);
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

void hn_replay_forget(hone_device *device, hone_replay *replay) {
  if (replay) device->backend->forget(replay);
}

void hn_stream_stops(hone_device *device, hone_stream *stream, hn_stop *stop) {
  if (is_host_unit(device)) stream->pool.stop = stop;
}

/* Parts of some 20 ms on a core that is slow at it. Memory that nobody has touched before takes the most: up to 16 us a
 * page. */
int64_t hn_launch_parts(const hone_tactic *tactic, const hone_query *query) {
  static const double part_work = 1e8, part_bytes = 2 << 20, most = 1e6;
  for (int i = 0; i < query->in_count + query->out_count; ++i) {
    const hone_type *type = i < query->in_count ? &query->in[i].type : &query->out[i - query->in_count].type;
    if (type->kind != HONE_ABSENT && (type->kind != HONE_TENSOR || !hn_shape_known(&type->shape))) return 0;
  }
  double bytes = tactic->scratch ? (double)tactic->scratch(query) : 0;
  for (int i = 0; i < query->out_count; ++i) bytes += (double)hn_bytes(&query->out[i].type);
  const double work =
      hn_evaluation_work(query->op, query->attrs, query->in, query->in_count, query->out, query->out_count);
  const double parts = work / part_work + bytes / part_bytes;
  return parts < 2 ? 0 : parts > most ? (int64_t)most : (int64_t)parts;
}

hone_status hn_launch(hone_device *device, const hn_prepared *prepared, hone_stream *stream,
                      const hone_launch *launch) {
  const bool is_long = prepared->parts > 1 && is_host_unit(device);
  if (is_long) stream->pool.at_least = prepared->parts;
  const hone_status status = prepared->tactic->launch(prepared->state, stream, launch);
  if (is_long) stream->pool.at_least = 0;
  return status;
}

hone_status hn_prepare(hone_device *device, const hone_tactic *tactic, const hone_query *query, hn_prepared *out,
                       hone_diagnostics *diag) {
  *out = (hn_prepared){.tactic = tactic, .allocator = &device->allocator};
  out->state_bytes = tactic->state_bytes ? tactic->state_bytes(query) : 0;
  if (out->state_bytes) {
    out->state = hn_alloc_zero(&device->allocator, out->state_bytes);
    if (!out->state) return HN_FAIL_MEMORY(diag);
  }
  out->parts = is_host_unit(device) ? hn_launch_parts(tactic, query) : 0;
  if (!tactic->prepare) return HONE_OK;
  const hone_status status = tactic->prepare(device->unit, query, out->state, diag);
  if (status != HONE_OK) {
    hn_free(&device->allocator, out->state, out->state_bytes);
    *out = (hn_prepared){0};
  }
  return status;
}

void hn_unprepare(hn_prepared *prepared) {
  if (!prepared->tactic) return;
  if (prepared->tactic->release && prepared->state) prepared->tactic->release(prepared->state);
  hn_free(prepared->allocator, prepared->state, prepared->state_bytes);
  *prepared = (hn_prepared){0};
}
