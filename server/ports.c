/* SPDX-License-Identifier: Apache-2.0 */
/* ports.c - what an engine's inputs and outputs are for the protocol, and which batches it takes. */
#include "server/ports.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The one place that asks the engine for its ports. */
static hone_status read_port(const hone_engine *engine, bool input, int index, srv_port *out, hone_port_info *info,
                             hone_diagnostics *diag) {
  const hone_status status = input ? hone_engine_input(engine, index, info) : hone_engine_output(engine, index, info);
  const char *what = input ? "input" : "output";
  if (status != HONE_OK) return hone_fail(diag, status, "%s %d cannot be read", what, index);
  *out = (srv_port){.name = info->name, .type = srv_type_of(info->type.dtype), .shape = info->type.shape};
  if (info->type.kind != HONE_TENSOR || !out->type)
    return hone_fail(diag, HONE_UNSUPPORTED, "%s \"%s\" is of a type that is not served (%s)", what, info->name,
                     hone_dtype_name(info->type.dtype));
  if (info->on_device)
    return hone_fail(diag, HONE_UNSUPPORTED, "%s \"%s\" lies on a device: build without --device-io", what, info->name);
  return HONE_OK;
}

static hone_status read_ports(srv_ports *m, const hone_engine *engine, hone_diagnostics *diag) {
  hone_port_info info = HONE_SIZED(hone_port_info);
  hone_status status = HONE_OK;
  for (int i = 0; i < m->in_count && status == HONE_OK; ++i)
    status = read_port(engine, true, i, &m->in[i], &info, diag);
  for (int i = 0; i < m->out_count && status == HONE_OK; ++i) {
    status = read_port(engine, false, i, &m->out[i], &info, diag);
    if (m->out[i].shape.rank < 0) m->out[i].shape.rank = 0; /* a run alone tells */
  }
  for (int s = 0; s < m->schedule_count; ++s)
    for (int i = 0; i < m->in_count && status == HONE_OK; ++i) {
      hone_port_info *port = &m->schedules[s * m->in_count + i];
      *port = (hone_port_info)HONE_SIZED(hone_port_info);
      if (hone_engine_schedule_input(engine, s, i, port) != HONE_OK)
        status = hone_fail(diag, HONE_INTERNAL, "schedule %d cannot be read", s);
    }
  return status;
}

bool srv_ports_take(const srv_ports *m, const hone_shape *shapes) {
  for (int s = 0; s < m->schedule_count; ++s) {
    bool all = true;
    for (int i = 0; all && i < m->in_count; ++i) {
      const hone_port_info *port = &m->schedules[s * m->in_count + i];
      for (int d = 0; all && d < shapes[i].rank; ++d)
        all = shapes[i].dim[d] >= port->min.dim[d] && shapes[i].dim[d] <= port->max.dim[d];
    }
    if (all) return true;
  }
  return m->in_count == 0;
}

static void find_batches(srv_ports *m, const hone_engine *engine, int most) {
  hone_batches batches = HONE_SIZED(hone_batches);
  if (hone_engine_batches(engine, most, &batches) != HONE_OK) return;
  m->max_batch = batches.most;
  m->preferred = batches.preferred;
  for (int n = 1; n <= m->max_batch; ++n) m->takes[n] = hone_engine_takes_rows(engine, n);
}

hone_status srv_ports_read(srv_ports *m, const hone_engine *engine, int most_rows, hone_diagnostics *diag) {
  *m = (srv_ports){.in_count = hone_engine_input_count(engine),
                   .out_count = hone_engine_output_count(engine),
                   .schedule_count = hone_engine_schedule_count(engine)};
  if (m->in_count > SRV_MAX_PORTS || m->out_count > SRV_MAX_PORTS)
    return hone_fail(diag, HONE_LIMIT, "%d inputs and %d outputs; at most %d are served", m->in_count, m->out_count,
                     SRV_MAX_PORTS);
  m->in = calloc((size_t)m->in_count + 1, sizeof *m->in);
  m->out = calloc((size_t)m->out_count + 1, sizeof *m->out);
  m->schedules = calloc((size_t)(m->in_count * m->schedule_count) + 1, sizeof *m->schedules);
  if (!m->in || !m->out || !m->schedules) return hone_fail(diag, HONE_NO_MEMORY, "out of memory");
  const hone_status status = read_ports(m, engine, diag);
  if (status == HONE_OK) find_batches(m, engine, most_rows < SRV_MAX_BATCH ? most_rows : SRV_MAX_BATCH);
  return status;
}

void srv_ports_free(srv_ports *m) {
  free(m->schedules);
  free(m->in);
  free(m->out);
  *m = (srv_ports){0};
}

void srv_shape_text(const hone_shape *shape, char *out, size_t room) {
  size_t used = (size_t)snprintf(out, room, "[");
  for (int d = 0; d < shape->rank && used < room; ++d)
    used += (size_t)snprintf(out + used, room - used, "%s%lld", d ? "," : "", (long long)shape->dim[d]);
  if (used < room) (void)snprintf(out + used, room - used, "]");
}
