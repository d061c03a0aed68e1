/* SPDX-License-Identifier: Apache-2.0 */
/* compute.c - one run of a partition: the runtime's tensors are bound to a session of hone's, without a copy, and it
 * runs. Any number of threads come here at once; each takes a session of its own. */
#include "ep.h"
#include <stdlib.h>
#include <string.h>

enum { FEW_INPUTS = 16 };

/* What the runtime gives for an input. */
typedef struct given {
  hone_shape shape;
  void *data;
} given;

typedef struct call {
  ep_partition_state *part;
  const ort_calls *ort;
  OrtKernelContext *context;
  given *in;
  hone_shape *shapes;
  ep_engine *engine;
  ep_slot *slot;
} call;

static OrtStatus *read_tensor_shape(const call *c, const ep_port *port, const OrtValue *value, hone_shape *out) {
  OrtTensorTypeAndShapeInfo *info = NULL;
  size_t rank = 0;
  int onnx_type = 0;
  EP_TRY(c->ort->GetTensorTypeAndShape(value, &info));
  OrtStatus *status = c->ort->GetTensorElementType(info, &onnx_type);
  if (!status) status = c->ort->GetDimensionsCount(info, &rank);
  if (!status && (onnx_type != port->onnx_type || rank > HONE_MAX_RANK))
    status = ep_fail(c->ort, ORT_ERROR_INVALID_ARGUMENT, "hone: input \"%s\" has rank %zu and element type %d, not %d",
                     port->name, rank, onnx_type, port->onnx_type);
  if (!status) status = c->ort->GetDimensions(info, out->dim, rank);
  out->rank = (int32_t)rank;
  c->ort->ReleaseTensorTypeAndShapeInfo(info);
  return status;
}

static OrtStatus *read_inputs(call *c) {
  for (int i = 0; i < c->part->in_count; ++i) {
    const OrtValue *value = NULL;
    const void *data = NULL;
    EP_TRY(c->ort->KernelContext_GetInput(c->context, (size_t)i, &value));
    if (!value)
      return ep_fail(c->ort, ORT_ERROR_INVALID_ARGUMENT, "hone: input \"%s\" was not given", c->part->in[i].name);
    EP_TRY(read_tensor_shape(c, &c->part->in[i], value, &c->shapes[i]));
    EP_TRY(c->ort->GetTensorData(value, &data));
    memcpy(&c->in[i].data, &data, sizeof data); /* inputs are only read */
  }
  return NULL;
}

static size_t bytes_of(hone_dtype dtype, const hone_shape *shape) {
  size_t bits = hone_dtype_bits(dtype);
  for (int d = 0; d < shape->rank; ++d)
    if (shape->dim[d] < 0 || __builtin_mul_overflow(bits, (size_t)shape->dim[d], &bits)) return 0;
  return (bits + 7) / 8;
}

static bool same_shape(const hone_shape *a, const hone_shape *b) {
  return a->rank == b->rank && (a->rank <= 0 || !memcmp(a->dim, b->dim, (size_t)a->rank * sizeof a->dim[0]));
}

/* All shapes first: a session prepares itself for them together. */
static hone_status bind_inputs(call *c) {
  const ep_partition_state *part = c->part;
  for (int i = 0; i < part->in_count; ++i) {
    if (same_shape(&c->shapes[i], &c->slot->shapes[i])) continue;
    c->slot->shapes[i].rank = -1; /* until it is taken */
    const hone_status status =
        hone_session_set_shape(c->slot->session, c->engine->in[i].name, c->shapes[i].rank, c->shapes[i].dim);
    if (status != HONE_OK) return status;
    c->slot->shapes[i] = c->shapes[i];
  }
  for (int i = 0; i < part->in_count; ++i) {
    const hone_tensor tensor = {.type = {.kind = HONE_TENSOR, .dtype = part->in[i].dtype, .shape = c->shapes[i]},
                                .data = c->in[i].data,
                                .bytes = bytes_of(part->in[i].dtype, &c->shapes[i])};
    if (tensor.bytes == 0) continue; /* nothing to read */
    const hone_status status = hone_session_bind(c->slot->session, c->engine->in[i].name, &tensor);
    if (status != HONE_OK) return status;
  }
  return HONE_OK;
}

/* The shape of an output of this run. */
static hone_status output_shape(const call *c, int i, hone_shape *out) {
  const hone_port_info *port = &c->engine->out[i];
  *out = port->type.shape;
  if (out->rank >= 0) return HONE_OK;
  hone_tensor tensor;
  const hone_status status = hone_session_tensor(c->slot->session, port->name, &tensor);
  if (status == HONE_OK) *out = tensor.type.shape;
  return status;
}

static OrtStatus *fail_run(const call *c, hone_status status) {
  return ep_fail_session(c->ort, c->slot->session, status, c->part->name);
}

static OrtStatus *output_data(const call *c, int i, const hone_shape *shape, void **out) {
  OrtValue *value = NULL;
  *out = NULL;
  EP_TRY(c->ort->KernelContext_GetOutput(c->context, (size_t)i, shape->dim, (size_t)shape->rank, &value));
  return value ? c->ort->GetTensorMutableData(value, out) : NULL; /* NULL: nobody reads it */
}

/* Outputs are written where the runtime wants them; those whose shapes a run alone tells are copied there later. */
static OrtStatus *bind_outputs(call *c, bool *later) {
  for (int i = 0; i < c->part->out_count; ++i) {
    hone_tensor tensor = {.type = {.kind = HONE_TENSOR, .dtype = c->part->out[i].dtype}};
    if (c->engine->out[i].data_dependent) {
      *later = true;
      continue;
    }
    hone_status status = output_shape(c, i, &tensor.type.shape);
    if (status != HONE_OK) return fail_run(c, status);
    EP_TRY(output_data(c, i, &tensor.type.shape, &tensor.data));
    tensor.bytes = bytes_of(tensor.type.dtype, &tensor.type.shape);
    if (tensor.bytes == 0) continue;
    status = hone_session_bind(c->slot->session, c->engine->out[i].name, &tensor);
    if (status != HONE_OK) return fail_run(c, status);
  }
  return NULL;
}

static OrtStatus *copy_later(call *c) {
  for (int i = 0; i < c->part->out_count; ++i) {
    hone_tensor tensor;
    void *to = NULL;
    if (!c->engine->out[i].data_dependent) continue;
    const hone_status status = hone_session_tensor(c->slot->session, c->engine->out[i].name, &tensor);
    if (status != HONE_OK) return fail_run(c, status);
    EP_TRY(output_data(c, i, &tensor.type.shape, &to));
    if (to && tensor.bytes > 0) memcpy(to, tensor.data, tensor.bytes);
  }
  return NULL;
}

static OrtStatus *run(call *c) {
  bool later = false;
  hone_status status = bind_inputs(c);
  if (status != HONE_OK) return fail_run(c, status);
  EP_TRY(bind_outputs(c, &later));
  status = hone_session_run(c->slot->session);
  if (status != HONE_OK) return fail_run(c, status);
  return later ? copy_later(c) : NULL;
}

static OrtStatus *compute(call *c) {
  EP_TRY(read_inputs(c));
  EP_TRY(ep_engine_find(c->part, c->shapes, &c->engine));
  EP_TRY(ep_slot_take(c->part, c->engine, &c->slot));
  OrtStatus *status = run(c);
  ep_slot_give(c->part, c->engine, c->slot);
  return status;
}

OrtStatus *ep_compute(ort_node_compute_info *info, void *state, OrtKernelContext *context) {
  ep_partition_state *part = state;
  given few[FEW_INPUTS];
  hone_shape few_shapes[FEW_INPUTS];
  call c = {.part = part, .ort = part->provider->ort, .context = context, .in = few, .shapes = few_shapes};
  (void)info;
  if (part->in_count <= FEW_INPUTS) return compute(&c);
  c.in = calloc((size_t)part->in_count, sizeof *c.in);
  c.shapes = calloc((size_t)part->in_count, sizeof *c.shapes);
  OrtStatus *status = c.in && c.shapes ? compute(&c) : ep_fail_memory(c.ort);
  free(c.in);
  free(c.shapes);
  return status;
}
