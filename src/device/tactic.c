/* SPDX-License-Identifier: Apache-2.0 */
/* tactic.c - tactics of devices: the list of a device, one question to a row, and a row made ready for one query. */
#include "device/device.h"
#include "device/host_unit.h"
#include "tensor/evaluate.h"
#include "tensor/shape.h"
#include "tensor/storage.h"
#include <math.h>
#include <string.h>

/* An operator's own row is written for its attributes and its meaning: not for what a plug-in put in its place. */
static bool is_of_replaced(const hone_context *context, const hone_tactic *row) {
  for (const hn_plugin_op *known = context->plugin_ops; known; known = known->next)
    if (strcmp(known->op->name, row->op) == 0) return true;
  return false;
}

/* The backend's rows, then those of plug-ins for it; a plug-in's row stands for a built-in one of the same name. */
hone_status hn_tactics_merge(hone_device *device, hone_context *context) {
  const hone_backend *backend = device->backend;
  int room = 1, count = 0;
  for (const hone_tactic *const *family = backend->families; *family; ++family)
    for (const hone_tactic *row = *family; row->name; ++row) ++room;
  for (const hn_plugin_tactic *known = context->plugin_tactics; known; known = known->next)
    room += strcmp(known->device, backend->name) == 0;
  const hone_tactic **rows = HN_NEW(&device->arena, const hone_tactic *, room);
  if (!rows) return HN_FAIL_MEMORY(&context->diag);
  for (const hone_tactic *const *family = backend->families; *family; ++family)
    for (const hone_tactic *row = *family; row->name; ++row)
      if (!is_of_replaced(context, row)) rows[count++] = row;
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

bool hn_params_equal(const hone_params *a, const hone_params *b) {
  if (a->count != b->count) return false;
  for (int i = 0; i < a->count; ++i)
    if (a->items[i].value != b->items[i].value || strcmp(a->items[i].name, b->items[i].name) != 0) return false;
  return true;
}

static uint8_t port_flags(const hone_port *ports, int index) {
  for (int i = 0; i < HONE_MAX_PORTS && ports[i].name; ++i)
    if (i == index || (ports[i].flags & HONE_PORT_VARIADIC)) return ports[i].flags;
  return 0;
}

bool hn_port_is_param(const hone_op *op, int input) { return port_flags(op->in, input) & HONE_PORT_PARAM; }

hone_storage hn_port_storage(const hone_op *op, int input, const hone_type *type, const hone_storage_pair *pair) {
  const uint8_t flags = port_flags(op->in, input);
  if (flags & HONE_PORT_PARAM) return HONE_PLAIN;
  return hn_storage_fit(type, flags & HONE_PORT_AS_OUT ? pair->out : pair->in);
}

hone_storage_pair hn_storages_taken(const hone_op *op, const hone_storage_pair *pair, const hone_fact *in, int in_count,
                                    const hone_fact *out, int out_count) {
  bool narrows = false;
  for (int i = 0; i < in_count && !narrows; ++i)
    narrows = hn_storage_dtype(hn_port_storage(op, i, &in[i].type, pair)) != HONE_NONE;
  for (int i = 0; i < out_count && !narrows; ++i)
    narrows = hn_storage_dtype(hn_storage_fit(&out[i].type, pair->out)) != HONE_NONE;
  if (narrows) return *pair;
  return (hone_storage_pair){(hone_storage)hn_storage_format(pair->in), (hone_storage)hn_storage_format(pair->out)};
}

hone_dtype hn_tactic_narrows(const hone_tactic *tactic, const hone_storage_pair *taken, uint32_t allowed) {
  const hone_dtype types[] = {hn_storage_dtype(taken->in), hn_storage_dtype(taken->out), tactic->compute};
  for (size_t i = 0; i < HN_COUNT(types); ++i)
    if (types[i] != HONE_NONE && types[i] != HONE_F32 && !(allowed & HONE_BIT(types[i]))) return types[i];
  return HONE_NONE;
}

void hn_query_apply_storages(const hone_op *op, const hone_storage_pair *pair, hone_fact *in, int in_count,
                             hone_fact *out, int out_count) {
  for (int i = 0; i < in_count; ++i)
    in[i].type = hn_stored_type(&in[i].type, hn_port_storage(op, i, &in[i].type, pair));
  for (int i = 0; i < out_count; ++i)
    out[i].type = hn_stored_type(&out[i].type, hn_storage_fit(&out[i].type, pair->out));
}

/* Of results that were rounded to a type, or computed from what was. */
static double bound_of(hone_dtype dtype) {
  switch (dtype) {
  case HONE_F32: return 1e-5;
  case HONE_F64: return 1e-12;
  case HONE_TF32: /* as many bits as f16 has */
  case HONE_F16: return 2e-3;
  case HONE_BF16: return 1.6e-2;
  default: return 0; /* integers and bools are exact */
  }
}

double hn_tactic_bound(const hone_tactic *tactic, hone_dtype out_dtype, hone_dtype narrow) {
  if (tactic->bound > 0) return tactic->bound;
  const double bound = bound_of(out_dtype);
  return bound > 0 ? fmax(bound, fmax(bound_of(tactic->compute), bound_of(narrow))) : 0;
}

static bool all_known(const hone_query *query) {
  for (int i = 0; i < query->in_count + query->out_count; ++i) {
    const hone_type *type = i < query->in_count ? &query->in[i].type : &query->out[i - query->in_count].type;
    if (type->kind != HONE_ABSENT && (type->kind != HONE_TENSOR || !hn_shape_known(&type->shape))) return false;
  }
  return true;
}

static bool lists(const hone_tactic *tactic, hone_format format) {
  for (int i = 0; i < HONE_MAX_STORAGE_PAIRS && format != HONE_PLAIN; ++i)
    if (hn_storage_format(tactic->storages[i].in) == format || hn_storage_format(tactic->storages[i].out) == format)
      return true;
  return format == HONE_PLAIN;
}

/* A damaged engine's tensors may lie in any format; a row reads its own alone. */
static bool lists_all(const hone_tactic *tactic, const hone_fact *facts, int count) {
  for (int i = 0; i < count; ++i)
    if (facts[i].type.kind == HONE_TENSOR && !lists(tactic, facts[i].type.format)) return false;
  return true;
}

const char *hn_tactic_plan(const hone_query *query, void *state, hone_needs *needs) {
  *needs = (hone_needs){.efficiency = query->tactic->efficiency};
  if (!lists_all(query->tactic, query->in, query->in_count) || !lists_all(query->tactic, query->out, query->out_count))
    return "it lies in a format that the tactic does not have";
  return query->tactic->plan(query, state, needs);
}

/* Parts of some 20 ms on a core that is slow at it. Memory that nobody has touched before takes the most: up to 16 us a
 * page. */
int64_t hn_launch_parts(const hone_query *query, size_t scratch_bytes) {
  static const double part_work = 1e8, part_bytes = 2 << 20, most = 1e6;
  if (!all_known(query)) return 0;
  double bytes = (double)scratch_bytes;
  for (int i = 0; i < query->out_count; ++i) bytes += (double)hn_bytes(&query->out[i].type);
  const double work =
      hn_evaluation_work(query->op, query->attrs, query->in, query->in_count, query->out, query->out_count);
  const double parts = work / part_work + bytes / part_bytes;
  return parts < 2 ? 0 : parts > most ? (int64_t)most : (int64_t)parts;
}

hone_status hn_launch(hone_device *device, const hn_prepared *prepared, hone_stream *stream,
                      const hone_launch *launch) {
  const bool is_long = prepared->parts > 1 && hn_is_host_unit(device);
  hone_launch own;
  if (is_long) stream->pool.at_least = prepared->parts;
  if (device->backend->native) {
    own = *launch;
    own.native_stream = device->backend->native(stream);
    HN_TRY(device->backend->enter(device->unit));
    launch = &own;
  }
  const hone_status status = prepared->tactic->launch(prepared->state, stream, launch);
  if (is_long) stream->pool.at_least = 0;
  return status;
}

hone_status hn_prepare(hone_device *device, const hone_query *query, hn_prepared *out, hone_diagnostics *diag) {
  const hone_tactic *tactic = query->tactic;
  hone_needs needs;
  hone_status status = HONE_OK;
  *out = (hn_prepared){.tactic = tactic, .allocator = &device->allocator};
  const char *reason = hn_tactic_plan(query, NULL, &needs);
  if (!reason && needs.state) {
    out->state = hn_alloc_zero(&device->allocator, needs.state);
    if (!out->state) return HN_FAIL_MEMORY(diag);
    out->state_bytes = needs.state;
    reason = hn_tactic_plan(query, out->state, &needs);
  }
  out->scratch_bytes = needs.scratch;
  out->parts = hn_is_host_unit(device) ? hn_launch_parts(query, needs.scratch) : 0;
  if (reason)
    status = HN_FAIL(diag, HONE_UNSUPPORTED, "tactic %s does not take these shapes: %s", tactic->name, reason);
  if (status == HONE_OK && tactic->prepare && device->backend->enter) status = device->backend->enter(device->unit);
  if (status == HONE_OK && tactic->prepare) status = tactic->prepare(device->unit, query, out->state, diag);
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
