/* SPDX-License-Identifier: Apache-2.0 */
/* staged_launch.c - one launch carried to a device's own memory and back. */
#include "device/device.h"

/* Memory for one part, with the host's bytes when there are some. */
static hone_status place(hn_staged_launch *s, int at, size_t bytes, void *from, void **out, hone_diagnostics *diag) {
  HN_TRY(hn_memory_alloc(s->device, bytes, &s->memory[at], diag));
  *out = (void *)(uintptr_t)s->memory[at].address;
  if (!from || bytes == 0) return HONE_OK;
  if (hn_stream_move(s->device, s->stream, (hn_place_at){*out, false}, (hn_place_at){from, true}, bytes) != HONE_OK)
    return HN_FAIL(diag, HONE_DEVICE, "device %s does not take a copy", s->device->backend->name);
  return HONE_OK;
}

static hone_status fill(hn_staged_launch *s, size_t packed_bytes, size_t scratch_bytes, hone_diagnostics *diag) {
  const hone_launch *host = s->host;
  const int ports = host->in_count + host->out_count;
  for (int i = 0; i < ports; ++i) {
    const bool output = i >= host->in_count;
    const hone_tensor *tensor = output ? &host->out[i - host->in_count] : &host->in[i];
    s->ports[i] = *tensor;
    if (tensor->data) HN_TRY(place(s, i, tensor->bytes, output ? NULL : tensor->data, &s->ports[i].data, diag));
  }
  void *packed = NULL;
  if (packed_bytes) HN_TRY(place(s, ports, packed_bytes, (void *)(uintptr_t)host->packed, &packed, diag));
  if (scratch_bytes) HN_TRY(place(s, ports + 1, scratch_bytes, NULL, &s->launch.scratch, diag));
  s->launch.packed = packed;
  s->launch.in = s->ports;
  s->launch.out = s->ports + host->in_count;
  return hn_stream_wait(s->device, s->stream, diag); /* the host's bytes are the caller's again */
}

hone_status hn_staged_launch_open(hone_device *device, hone_stream *stream, const hone_launch *host,
                                  size_t packed_bytes, size_t scratch_bytes, hn_staged_launch *out,
                                  hone_diagnostics *diag) {
  *out = (hn_staged_launch){.device = device, .stream = stream, .host = host, .launch = *host};
  if (device->facts.host_memory) return HONE_OK;
  out->count = host->in_count + host->out_count + 2;
  out->memory = hn_alloc_zero(&device->allocator, (size_t)out->count * sizeof *out->memory);
  out->ports = hn_alloc_zero(&device->allocator, (size_t)out->count * sizeof *out->ports);
  out->launch.scratch = NULL;
  const hone_status status =
      out->memory && out->ports ? fill(out, packed_bytes, scratch_bytes, diag) : HN_FAIL_MEMORY(diag);
  if (status != HONE_OK) hn_staged_launch_close(out);
  return status;
}

hone_status hn_staged_launch_fetch(hn_staged_launch *s, hone_diagnostics *diag) {
  for (int o = 0; s->memory && o < s->host->out_count; ++o) {
    const hone_tensor *to = &s->host->out[o];
    if (!to->data || to->bytes == 0) continue;
    const hone_status status = hn_stream_move(s->device, s->stream, (hn_place_at){to->data, true},
                                              (hn_place_at){s->launch.out[o].data, false}, to->bytes);
    if (status != HONE_OK) return HN_FAIL(diag, status, "device %s does not give a copy", s->device->backend->name);
  }
  return hn_stream_wait(s->device, s->stream, diag);
}

void hn_staged_launch_close(hn_staged_launch *s) {
  if (!s->device) return;
  for (int i = 0; s->memory && i < s->count; ++i) hn_memory_free(s->device, &s->memory[i]);
  hn_free(&s->device->allocator, s->memory, (size_t)s->count * sizeof *s->memory);
  hn_free(&s->device->allocator, s->ports, (size_t)s->count * sizeof *s->ports);
  *s = (hn_staged_launch){0};
}
