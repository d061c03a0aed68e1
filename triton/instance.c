/* SPDX-License-Identifier: Apache-2.0 */
/* instance.c - an instance runs what the server hands it: requests whose shapes agree as rows of one batch, others one
 * after the other. Each request gets a response or an error, and is released once. */
#include "backend.h"
#include "base/clock.h"
#include <stdlib.h>
#include <string.h>

enum { PREPARED_SHAPES = 16 /* that a session keeps */ };

typedef struct trt_instance {
  trt_model *model;
  TRITONBACKEND_ModelInstance *of;
  hone_context *context; /* for messages: the model's may be in use */
  hone_device *device;
  hone_engine *engine;
  hone_session *session;
} trt_instance;

/* A request as the batch sees it. */
typedef struct job {
  TRITONBACKEND_Request *request;
  TRITONBACKEND_Response *response;
  TRITONBACKEND_Input *in[SRV_MAX_PORTS];
  hone_shape shapes[SRV_MAX_PORTS];
  int64_t rows;
  TRITONSERVER_Error *error; /* ours */
} job;

/* ---- reading requests ---- */

static TRITONSERVER_Error *read_input(const trt_model *m, job *j, int input) {
  const srv_port *port = &m->ports.in[input];
  const int64_t *dims;
  uint32_t rank;
  int datatype;
  uint64_t bytes, want = port->type->bytes;
  TRT_TRY(TRITONBACKEND_RequestInput(j->request, port->name, &j->in[input]));
  TRT_TRY(TRITONBACKEND_InputProperties(j->in[input], NULL, &datatype, &dims, &rank, &bytes, NULL));
  if (datatype != port->type->triton || rank != (uint32_t)port->shape.rank)
    return trt_fail(TRITON_INVALID_ARG, "hone: %s: input \"%s\" is not %s of rank %d", m->name, port->name,
                    port->type->name, port->shape.rank);
  j->shapes[input] = (hone_shape){.rank = (int32_t)rank};
  for (uint32_t d = 0; d < rank; ++d) {
    j->shapes[input].dim[d] = dims[d];
    if (dims[d] < 0 || __builtin_mul_overflow(want, (uint64_t)dims[d], &want)) want = UINT64_MAX;
  }
  if (bytes == want) return NULL;
  return trt_fail(TRITON_INVALID_ARG, "hone: %s: input \"%s\" has %llu bytes, where its shape has %llu", m->name,
                  port->name, (unsigned long long)bytes, (unsigned long long)want);
}

static TRITONSERVER_Error *read_job(const trt_model *m, job *j) {
  char text[128];
  for (int i = 0; i < m->ports.in_count; ++i) TRT_TRY(read_input(m, j, i));
  j->rows = m->config.max_batch > 0 ? j->shapes[0].dim[0] : 1;
  if (srv_ports_take(&m->ports, j->shapes)) return NULL;
  srv_shape_text(&j->shapes[0], text, sizeof text);
  return trt_fail(TRITON_INVALID_ARG, "hone: %s was not built for these shapes: input \"%s\" is %s%s", m->name,
                  m->ports.in[0].name, text, m->ports.in_count > 1 ? ", ..." : "");
}

static bool fits(const trt_model *m, const job *a, const job *b) {
  for (int i = 0; i < m->ports.in_count; ++i)
    for (int d = 1; d < a->shapes[i].rank; ++d)
      if (a->shapes[i].dim[d] != b->shapes[i].dim[d]) return false;
  return true;
}

/* How many jobs from the first one on are one batch that a schedule takes. */
static uint32_t plan_batch(const trt_model *m, const job *jobs, uint32_t count) {
  uint32_t best = 1;
  int64_t rows = jobs[0].rows;
  for (uint32_t i = 1; i < count && m->config.max_batch > 0 && !jobs[i].error; ++i) {
    rows += jobs[i].rows;
    if (rows > m->ports.max_batch || !fits(m, &jobs[0], &jobs[i])) break;
    if (m->ports.takes[rows]) best = i + 1;
  }
  return best;
}

/* ---- running ---- */

static TRITONSERVER_Error *fail_session(const trt_instance *n, hone_status status) {
  const char *text = hone_session_message_count(n->session) > 0 ? hone_session_message(n->session, 0, NULL) : NULL;
  return trt_fail(TRITON_INTERNAL, "hone: %s: %s", n->model->name, text ? text : hone_status_name(status));
}

#define SESSION_TRY(n, call)                                                                                           \
  do {                                                                                                                 \
    const hone_status session_status = (call);                                                                         \
    if (session_status != HONE_OK) return fail_session(n, session_status);                                             \
  } while (0)

/* Copies an input's buffers; *lone is the one buffer where it can be used as it is. */
static TRITONSERVER_Error *copy_input(const trt_instance *n, const job *j, int input, char *to, const void **lone) {
  uint32_t buffers;
  TRT_TRY(TRITONBACKEND_InputProperties(j->in[input], NULL, NULL, NULL, NULL, NULL, &buffers));
  for (uint32_t b = 0; b < buffers; ++b) {
    const void *from;
    uint64_t bytes;
    int memory = TRITON_CPU;
    int64_t id = 0;
    TRT_TRY(TRITONBACKEND_InputBuffer(j->in[input], b, &from, &bytes, &memory, &id));
    if (memory != TRITON_CPU && memory != TRITON_CPU_PINNED)
      return trt_fail(TRITON_UNSUPPORTED, "hone: %s: input \"%s\" lies on a GPU", n->model->name,
                      n->model->ports.in[input].name);
    if (lone && buffers == 1 && ((uintptr_t)from & 63) == 0) {
      *lone = from;
      return NULL;
    }
    if (bytes > 0) memcpy(to, from, bytes);
    to += bytes;
  }
  return NULL;
}

static TRITONSERVER_Error *fill_input(trt_instance *n, const job *jobs, uint32_t count, int input, bool *bound) {
  const char *name = n->model->ports.in[input].name;
  hone_tensor room;
  const void *lone = NULL;
  SESSION_TRY(n, hone_session_tensor(n->session, name, &room));
  const size_t row_bytes =
      room.type.shape.rank > 0 && room.type.shape.dim[0] > 0 ? room.bytes / (size_t)room.type.shape.dim[0] : room.bytes;
  char *to = room.data;
  for (uint32_t i = 0; i < count; ++i) {
    TRT_TRY(copy_input(n, &jobs[i], input, to, count == 1 ? &lone : NULL));
    to += row_bytes * (size_t)jobs[i].rows;
  }
  if (!lone) return NULL;
  room.data = (void *)(uintptr_t)lone; /* inputs are only read */
  SESSION_TRY(n, hone_session_bind(n->session, name, &room));
  bound[input] = true;
  return NULL;
}

static TRITONSERVER_Error *run_batch(trt_instance *n, const job *jobs, uint32_t count, int64_t rows, int64_t *begin_ns,
                                     int64_t *end_ns) {
  const srv_ports *ports = &n->model->ports;
  bool bound[SRV_MAX_PORTS] = {false};
  for (int i = 0; i < ports->in_count; ++i) {
    hone_shape shape = jobs[0].shapes[i];
    if (n->model->config.max_batch > 0) shape.dim[0] = rows;
    SESSION_TRY(n, hone_session_set_shape(n->session, ports->in[i].name, shape.rank, shape.dim));
  }
  TRITONSERVER_Error *error = NULL;
  for (int i = 0; i < ports->in_count && !error; ++i) error = fill_input(n, jobs, count, i, bound);
  *begin_ns = hn_clock_ns();
  if (!error) {
    const hone_status status = hone_session_run(n->session);
    if (status != HONE_OK) error = fail_session(n, status);
  }
  *end_ns = hn_clock_ns();
  for (int i = 0; i < ports->in_count; ++i) { /* the server's memory is not ours any longer */
    const hone_tensor none = {.data = NULL};
    if (bound[i] && hone_session_bind(n->session, ports->in[i].name, &none) != HONE_OK && !error)
      error = fail_session(n, HONE_INTERNAL);
  }
  return error;
}

/* ---- responses ---- */

static TRITONSERVER_Error *add_output(trt_instance *n, const job *j, int64_t first_row, const srv_port *port) {
  hone_tensor view;
  TRITONBACKEND_Output *output;
  void *to;
  int memory = TRITON_CPU;
  int64_t id = 0;
  SESSION_TRY(n, hone_session_tensor(n->session, port->name, &view));
  const char *from = view.data;
  if (n->model->config.max_batch > 0) {
    const size_t row_bytes = view.type.shape.dim[0] > 0 ? view.bytes / (size_t)view.type.shape.dim[0] : 0;
    from += row_bytes * (size_t)first_row;
    view.bytes = row_bytes * (size_t)j->rows;
    view.type.shape.dim[0] = j->rows;
  }
  TRT_TRY(TRITONBACKEND_ResponseOutput(j->response, &output, port->name, port->type->triton, view.type.shape.dim,
                                       (uint32_t)view.type.shape.rank));
  TRT_TRY(TRITONBACKEND_OutputBuffer(output, &to, view.bytes, &memory, &id));
  if (memory != TRITON_CPU && memory != TRITON_CPU_PINNED)
    return trt_fail(TRITON_UNSUPPORTED, "hone: %s: output \"%s\" is wanted on a GPU", n->model->name, port->name);
  if (view.bytes > 0) memcpy(to, from, view.bytes);
  return NULL;
}

static TRITONSERVER_Error *answer(trt_instance *n, const job *j, int64_t first_row) {
  const srv_ports *ports = &n->model->ports;
  uint32_t count;
  TRT_TRY(TRITONBACKEND_RequestOutputCount(j->request, &count));
  for (uint32_t i = 0; i < count; ++i) {
    const char *name;
    TRT_TRY(TRITONBACKEND_RequestOutputName(j->request, i, &name));
    for (int k = 0; k < ports->out_count; ++k)
      if (strcmp(ports->out[k].name, name) == 0) TRT_TRY(add_output(n, j, first_row, &ports->out[k]));
  }
  return NULL;
}

/* Sends, counts and releases. */
static void finish(trt_instance *n, job *j, const int64_t times[4]) {
  if (j->response) trt_drop_error(TRITONBACKEND_ResponseSend(j->response, TRITON_COMPLETE_FINAL, j->error));
  trt_drop_error(TRITONBACKEND_ModelInstanceReportStatistics(
      n->of, j->request, !j->error, (uint64_t)times[0], (uint64_t)times[1], (uint64_t)times[2], (uint64_t)times[3]));
  if (j->error) TRITONSERVER_ErrorDelete(j->error);
  trt_drop_error(TRITONBACKEND_RequestRelease(j->request, TRITON_RELEASE_ALL));
}

static void run_jobs(trt_instance *n, job *jobs, uint32_t count) {
  int64_t rows = 0, row = 0;
  int64_t times[4] = {hn_clock_ns()}; /* begin, computing, computed, end */
  times[1] = times[2] = times[0];
  for (uint32_t i = 0; i < count; ++i) rows += jobs[i].rows;
  TRITONSERVER_Error *error = jobs[0].error ? NULL : run_batch(n, jobs, count, rows, &times[1], &times[2]);
  for (uint32_t i = 0; i < count; ++i) {
    if (error)
      jobs[i].error = trt_fail(TRITON_INTERNAL, "%s", TRITONSERVER_ErrorMessage(error));
    else if (!jobs[i].error)
      jobs[i].error = answer(n, &jobs[i], row);
    row += jobs[i].rows;
  }
  times[3] = hn_clock_ns();
  const bool ran = !error && !jobs[0].error;
  for (uint32_t i = 0; i < count; ++i) finish(n, &jobs[i], times);
  if (error) TRITONSERVER_ErrorDelete(error);
  if (ran)
    trt_drop_error(TRITONBACKEND_ModelInstanceReportBatchStatistics(
        n->of, (uint64_t)rows, (uint64_t)times[0], (uint64_t)times[1], (uint64_t)times[2], (uint64_t)times[3]));
}

TRITON_ENTRY TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance *instance, TRITONBACKEND_Request **requests,
                                                uint32_t count) {
  void *state;
  TRT_TRY(TRITONBACKEND_ModelInstanceState(instance, &state)); /* with an error the requests stay the server's */
  trt_instance *n = state;
  job *jobs = calloc(count, sizeof *jobs);
  if (!jobs) return trt_fail(TRITON_UNAVAILABLE, "hone: out of memory");
  for (uint32_t i = 0; i < count; ++i) {
    jobs[i].request = requests[i];
    jobs[i].error = TRITONBACKEND_ResponseNew(&jobs[i].response, requests[i]);
    if (!jobs[i].error) jobs[i].error = read_job(n->model, &jobs[i]);
  }
  for (uint32_t i = 0; i < count;) {
    const uint32_t together = jobs[i].error ? 1 : plan_batch(n->model, &jobs[i], count - i);
    run_jobs(n, &jobs[i], together);
    i += together;
  }
  free(jobs);
  return NULL;
}

/* ---- instances ---- */

static void free_instance(trt_instance *n) {
  hone_session_destroy(n->session);
  hone_engine_release(n->engine);
  hone_device_close(n->device);
  hone_context_destroy(n->context);
  free(n);
}

static TRITONSERVER_Error *fill_instance(trt_instance *n) {
  const hone_device_options device = {.struct_size = sizeof device, .threads = n->model->config.threads};
  const hone_session_options options = {.struct_size = sizeof options, .instance_cache = PREPARED_SHAPES};
  hone_status status = hone_context_create(NULL, &n->context);
  if (status == HONE_OK) status = hone_device_open(n->context, "cpu", 0, &device, &n->device);
  if (status == HONE_OK)
    status = hone_engine_share(n->model->engine, &n->device, 1, &n->engine, hone_context_diagnostics(n->context));
  if (status == HONE_OK)
    status = hone_session_create(n->engine, &options, &n->session, hone_context_diagnostics(n->context));
  return status == HONE_OK ? NULL : trt_fail_context(n->model->name, status, n->context);
}

TRITON_ENTRY TRITONBACKEND_ModelInstanceInitialize(TRITONBACKEND_ModelInstance *instance) {
  TRITONBACKEND_Model *model;
  void *state;
  int kind;
  TRT_TRY(TRITONBACKEND_ModelInstanceModel(instance, &model));
  TRT_TRY(TRITONBACKEND_ModelState(model, &state));
  TRT_TRY(TRITONBACKEND_ModelInstanceKind(instance, &kind));
  const trt_model *m = state;
  if (kind != TRITON_INSTANCE_CPU)
    return trt_fail(TRITON_UNSUPPORTED, "hone: %s: instance_group must be of KIND_CPU", m->name);
  trt_instance *n = calloc(1, sizeof *n);
  if (!n) return trt_fail(TRITON_UNAVAILABLE, "hone: out of memory");
  n->model = state;
  n->of = instance;
  TRITONSERVER_Error *error = fill_instance(n);
  if (!error) error = TRITONBACKEND_ModelInstanceSetState(instance, n);
  if (error) free_instance(n);
  return error;
}

TRITON_ENTRY TRITONBACKEND_ModelInstanceFinalize(TRITONBACKEND_ModelInstance *instance) {
  void *n;
  TRT_TRY(TRITONBACKEND_ModelInstanceState(instance, &n));
  if (n) free_instance(n);
  return NULL;
}
