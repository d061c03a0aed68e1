/* SPDX-License-Identifier: Apache-2.0 */
/* device.c - opening devices, and the backend table's wrappers. */
#include "device/device.h"
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
  HN_TRY(backend->open(device->driver, index, options ? options : &none, &device->unit, diag));
  backend->facts(device->unit, &device->facts);
  return HONE_OK;
}

hone_status hn_device_open(hone_context *context, const hone_backend *backend, int index,
                           const hone_device_options *options, hone_device **out) {
  *out = NULL;
  hone_device *device = hn_alloc_zero(&context->allocator, sizeof *device);
  if (!device) return HN_FAIL_MEMORY(&context->diag);
  device->allocator = context->allocator;
  device->backend = backend;
  device->host = (hone_host){.struct_size = sizeof(hone_host), .self = device, .resize = host_resize};
  atomic_init(&device->references, 1);
  const hone_status status = open_unit(device, index, options, &context->diag);
  if (status != HONE_OK) {
    hn_device_release(device);
    return hone_note(&context->diag, status, "while opening device %s:%d", backend->name, index);
  }
  *out = device;
  return HONE_OK;
}

void hn_device_retain(hone_device *device) { atomic_fetch_add(&device->references, 1); }

void hn_device_release(hone_device *device) {
  if (!device || atomic_fetch_sub(&device->references, 1) != 1) return;
  if (device->unit) device->backend->close(device->unit);
  if (device->driver) device->backend->unload(device->driver);
  hn_free(&device->allocator, device, sizeof *device);
}

const hone_tactic *hn_tactic_find(const char *provider, const char *name, uint32_t version) {
  const hone_backend *backend = hn_backend_find(provider);
  if (!backend) return NULL;
  for (const hone_tactic *const *row = backend->tactics; *row; ++row)
    if (strcmp((*row)->name, name) == 0 && (version == 0 || (*row)->version == version)) return *row;
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

hone_status hn_device_measure(hone_device *device, hone_diagnostics *diag) {
  const hone_backend *backend = device->backend;
  /* A backend from a plug-in may be of a time before this entry. */
  const bool has_entry = backend->struct_size >= offsetof(hone_backend, measure) + sizeof backend->measure;
  if (!has_entry || !backend->measure)
    return HN_FAIL(diag, HONE_UNSUPPORTED, "device kind %s has nothing to measure", backend->name);
  const hone_status status = backend->measure(device->unit);
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

hone_status hn_memory_alloc(hone_device *device, size_t bytes, hone_memory *out, hone_diagnostics *diag) {
  *out = (hone_memory){0};
  if (device->backend->alloc(device->unit, 0, bytes ? bytes : 64, out) != HONE_OK)
    return HN_FAIL(diag, HONE_NO_MEMORY, "device %s has no %zu bytes of memory left", device->backend->name, bytes);
  return HONE_OK;
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

hone_status hn_prepare(hone_device *device, const hone_tactic *tactic, const hone_query *query, hn_prepared *out,
                       hone_diagnostics *diag) {
  *out = (hn_prepared){.tactic = tactic, .allocator = &device->allocator};
  out->state_bytes = tactic->state_bytes ? tactic->state_bytes(query) : 0;
  if (out->state_bytes) {
    out->state = hn_alloc_zero(&device->allocator, out->state_bytes);
    if (!out->state) return HN_FAIL_MEMORY(diag);
  }
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
