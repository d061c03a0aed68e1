/* SPDX-License-Identifier: Apache-2.0 */
/* port_copies.c - the session's own buffers for inputs and outputs; and, of ports that lie on a device, the way there
 * from a tensor in the host's memory and back. */
#include "run/session.h"
#include "tensor/shape.h"
#include "tensor/storage.h"

static hone_status allocate(hone_session *session, const hn_plan *plan, int device, size_t bytes, hone_memory *own,
                            hone_memory *staged) {
  if (device == plan->host) return hn_session_host_alloc(session, bytes, own);
  HN_TRY(hn_memory_alloc(session->engine->devices[device], bytes, own, &session->diag));
  return hn_session_host_alloc(session, bytes, staged);
}

/* As the model has it. */
static hone_type plain_type(const hn_instance *instance, int t) {
  hone_type type = instance->tensors[t].type;
  type.dtype = instance->plan->tensors[t].dtype;
  type.format = HONE_PLAIN;
  return type;
}

/* Inputs begin as zeros. */
static hone_status clear(hone_session *session, hn_instance *instance, int input) {
  hone_memory *own = &instance->inputs[input], *host = own->data ? own : &instance->staged_in[input];
  const int device = instance->plan->tensors[instance->plan->inputs[input].tensor].device;
  if (!hn_stop_clear(&session->stop, host->data, host->bytes)) return hn_stop_check(&session->stop, &session->diag);
  if (host == own || own->bytes == 0) return HONE_OK;
  const hone_status status = hn_stream_move(session->engine->devices[device], session->streams[device],
                                            (hn_place_at){(void *)(uintptr_t)own->address, false},
                                            (hn_place_at){host->data, true}, own->bytes);
  return status == HONE_OK ? HONE_OK : HN_FAIL(&session->diag, status, "an input cannot be copied to its device");
}

hone_status hn_port_buffers(hone_session *session, hn_instance *instance) {
  const hn_plan *plan = instance->plan;
  for (int i = 0; i < plan->input_count; ++i) {
    const int t = plan->inputs[i].tensor;
    if (hn_state_of(session, i, -1)) continue; /* a buffer of the session's, for all instances */
    HN_TRY(allocate(session, plan, plan->tensors[t].device, instance->tensors[t].bytes, &instance->inputs[i],
                    &instance->staged_in[i]));
    HN_TRY(clear(session, instance, i));
  }
  for (int i = 0; i < plan->output_count; ++i) {
    const int t = plan->outputs[i].tensor;
    if (plan->tensors[t].place != HN_PLACE_OUTPUT || hn_state_of(session, -1, i)) continue; /* on the heap; a state */
    HN_TRY(allocate(session, plan, plan->tensors[t].device, instance->tensors[t].bytes, &instance->outputs[i],
                    &instance->staged_out[i]));
    size_t bytes;
    const hone_type type = plain_type(instance, t);
    if (!hn_port_on_device(plan, &plan->outputs[i])) continue;
    if (!hn_type_bytes(&type, &bytes)) return HN_FAIL(&session->diag, HONE_LIMIT, "an output is too large");
    HN_TRY(hn_session_host_alloc(session, bytes, &instance->plain_out[i]));
  }
  return HONE_OK;
}

static void free_port(const hone_session *session, const hn_plan *plan, int t, hone_memory *own, hone_memory *staged) {
  const int device = plan->tensors[t].device;
  if (device == plan->host)
    hn_session_host_free(session, own);
  else
    hn_memory_free(session->engine->devices[device], own);
  hn_session_host_free(session, staged);
}

void hn_port_free_buffers(const hone_session *session, hn_instance *instance) {
  const hn_plan *plan = instance->plan;
  if (!instance->inputs || !instance->outputs || !instance->staged_in || !instance->staged_out || !instance->plain_out)
    return; /* nothing was made */
  for (int i = 0; i < plan->input_count; ++i)
    free_port(session, plan, plan->inputs[i].tensor, &instance->inputs[i], &instance->staged_in[i]);
  for (int i = 0; i < plan->output_count; ++i) {
    free_port(session, plan, plan->outputs[i].tensor, &instance->outputs[i], &instance->staged_out[i]);
    hn_session_host_free(session, &instance->plain_out[i]);
  }
}

/* The bytes between the staging buffer and where the port lies now. */
static hone_status move(hone_session *session, const hn_instance *instance, int t, void *staged, bool to_device) {
  const int d = instance->plan->tensors[t].device;
  const hone_tensor *tensor = &instance->tensors[t];
  const hn_place_at device_side = {tensor->data, false}, host_side = {staged, true};
  if (tensor->bytes == 0) return HONE_OK;
  const hone_status status =
      hn_stream_move(session->engine->devices[d], session->streams[d], to_device ? device_side : host_side,
                     to_device ? host_side : device_side, tensor->bytes);
  if (status != HONE_OK) return HN_FAIL(&session->diag, status, "%s cannot be copied", instance->plan->tensors[t].name);
  return hn_stream_wait(session->engine->devices[d], session->streams[d], &session->diag);
}

hone_status hn_port_put(hone_session *session, hn_instance *instance, int input, const hone_tensor *tensor) {
  const int t = instance->plan->inputs[input].tensor;
  hone_tensor staged = instance->tensors[t];
  staged.data = instance->staged_in[input].data;
  if (!hn_layout_convert(tensor, &staged))
    return HN_FAIL(&session->diag, HONE_INVALID, "%s cannot be held as %s in format %s",
                   instance->plan->inputs[input].name, hone_dtype_name(staged.type.dtype),
                   hone_format_name(staged.type.format));
  return move(session, instance, t, staged.data, true);
}

hone_status hn_port_get(hone_session *session, hn_instance *instance, int output, hone_tensor *out) {
  const int t = instance->plan->outputs[output].tensor;
  hone_tensor staged = instance->tensors[t];
  staged.data = instance->staged_out[output].data;
  *out = (hone_tensor){.type = plain_type(instance, t),
                       .data = instance->plain_out[output].data,
                       .bytes = instance->plain_out[output].bytes};
  HN_TRY(move(session, instance, t, staged.data, false));
  return hn_layout_convert(&staged, out)
             ? HONE_OK
             : HN_FAIL(&session->diag, HONE_INTERNAL, "%s cannot be made plain", instance->plan->outputs[output].name);
}
