/* SPDX-License-Identifier: Apache-2.0 */
/* infer.c - an inference request, from JSON and binary data to tensors that fit the model. Nothing is queued that does
 * not. Source: Open Inference Protocol, version 2, with the binary tensor data extension. */
#include "server.h"
#include <stdlib.h>
#include <string.h>

enum { JSON_MEMORY = 128 /* bytes of tree for a byte of text, at most; it goes when the tensors are filled */ };

typedef struct body {
  char *bytes;
  size_t length, at; /* at: where the next binary tensor begins */
} body;

/* ---- elements ---- */

/* Flat, or nested by the shape's dims: what counts is the order. Depth is bounded by the reader. */
static size_t count_elements(const hn_json *item) {
  size_t count = 0;
  if (item->kind != HN_JSON_ARRAY) return 1;
  for (size_t i = 0; i < item->length; ++i) count += count_elements(&item->items[i]);
  return count;
}

/* Room for all of them is there. False: the element at *at is none of the type. */
static bool fill(const srv_type *type, const hn_json *item, char *to, size_t *at) {
  if (item->kind != HN_JSON_ARRAY) return srv_type_store(type, to + *at * type->bytes, item) && ++*at;
  for (size_t i = 0; i < item->length; ++i)
    if (!fill(type, &item->items[i], to, at)) return false;
  return true;
}

static hone_status read_data(srv_request *request, const srv_port *port, const hn_json *data, hone_tensor *out,
                             hone_diagnostics *diag) {
  if (data->kind != HN_JSON_ARRAY) return hone_fail(diag, HONE_INVALID, "input \"%s\": data is no list", port->name);
  const size_t wanted = out->bytes / port->type->bytes, count = count_elements(data);
  if (count != wanted)
    return hone_fail(diag, HONE_INVALID, "input \"%s\": %zu elements, where its shape has %zu", port->name, count,
                     wanted);
  out->data = hn_arena_alloc(&request->arena, out->bytes, 64);
  if (!out->data) return hone_fail(diag, HONE_NO_MEMORY, "out of memory for input \"%s\"", port->name);
  size_t at = 0;
  if (fill(port->type, data, out->data, &at)) return HONE_OK;
  return hone_fail(diag, HONE_INVALID, "input \"%s\": element %zu is no %s", port->name, at, port->type->name);
}

static hone_status take_binary(const srv_port *port, int64_t bytes, body *from, hone_tensor *out,
                               hone_diagnostics *diag) {
  if (bytes < 0 || (uint64_t)bytes != out->bytes)
    return hone_fail(diag, HONE_INVALID, "input \"%s\": %lld bytes of binary data, where its shape has %zu", port->name,
                     (long long)bytes, out->bytes);
  if (from->length - from->at < out->bytes)
    return hone_fail(diag, HONE_INVALID, "input \"%s\": the body ends %zu bytes before its binary data", port->name,
                     out->bytes - (from->length - from->at));
  out->data = from->bytes + from->at;
  from->at += out->bytes;
  if (port->type->dtype != HONE_BOOL) return HONE_OK;
  for (size_t i = 0; i < out->bytes; ++i)
    if (((uint8_t *)out->data)[i] > 1)
      return hone_fail(diag, HONE_INVALID, "input \"%s\": byte %zu of a BOOL is neither 0 nor 1", port->name, i);
  return HONE_OK;
}

/* ---- an input ---- */

static int find_port(const srv_port *ports, int count, const char *name, const char **near) {
  *near = NULL;
  for (int i = 0; i < count; ++i) {
    if (strcmp(ports[i].name, name) == 0) return i;
    *near = hone_nearest_name(name, *near, ports[i].name);
  }
  return -1;
}

static hone_status unknown_port(const srv_model *m, const char *what, const char *name, const char *near,
                                hone_diagnostics *diag) {
  return hone_fail(diag, HONE_INVALID, "model \"%s\" has no %s \"%.100s\"%s%s%s", m->name, what, name,
                   near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

static hone_status read_shape(const srv_port *port, const hn_json *list, hone_shape *out, hone_diagnostics *diag) {
  char want[128], got[128];
  if (list->length != (size_t)port->shape.rank)
    return hone_fail(diag, HONE_INVALID, "input \"%s\": a shape of rank %zu; the model's rank is %d", port->name,
                     list->length, port->shape.rank);
  *out = (hone_shape){.rank = port->shape.rank};
  for (int d = 0; d < out->rank; ++d) {
    const hn_json *dim = &list->items[d];
    if (dim->kind != HN_JSON_INT || dim->i < 0 || dim->i > INT32_MAX)
      return hone_fail(diag, HONE_INVALID, "input \"%s\": dim %d is no number from 0 to 2147483647", port->name, d);
    out->dim[d] = dim->i;
  }
  for (int d = 0; d < out->rank; ++d) {
    if (port->shape.dim[d] < 0 || port->shape.dim[d] == out->dim[d]) continue;
    srv_shape_text(&port->shape, want, sizeof want);
    srv_shape_text(out, got, sizeof got);
    return hone_fail(diag, HONE_INVALID, "input \"%s\" is %s; the model wants %s", port->name, got, want);
  }
  return HONE_OK;
}

static bool set_type(const srv_port *port, const hone_shape *shape, hone_tensor *out) {
  *out = (hone_tensor){.type = {.kind = HONE_TENSOR, .dtype = port->type->dtype, .shape = *shape},
                       .bytes = port->type->bytes};
  for (int d = 0; d < shape->rank; ++d)
    if (__builtin_mul_overflow(out->bytes, (size_t)shape->dim[d], &out->bytes)) return false;
  return true;
}

static hone_status read_input(srv_request *request, const hn_json *item, body *from, hone_diagnostics *diag) {
  const srv_model *m = request->model;
  const char *name, *datatype, *near;
  const hn_json *list;
  hone_shape shape;
  if (item->kind != HN_JSON_OBJECT) return hone_fail(diag, HONE_INVALID, "an item of \"inputs\" is no object");
  HN_TRY(hn_json_text(item, "name", &name, diag));
  const int at = find_port(m->ports.in, m->ports.in_count, name, &near);
  if (at < 0) return unknown_port(m, "input", name, near, diag);
  const srv_port *port = &m->ports.in[at];
  HN_TRY_NOTE(diag, hn_json_text(item, "datatype", &datatype, diag), "in input \"%s\"", name);
  HN_TRY_NOTE(diag, hn_json_array(item, "shape", &list, diag), "in input \"%s\"", name);
  if (strcmp(datatype, port->type->name) != 0)
    return hone_fail(diag, HONE_INVALID, "input \"%s\" is %.40s; the model wants %s", name, datatype, port->type->name);
  HN_TRY(read_shape(port, list, &shape, diag));
  hone_tensor *out = &request->in[at];
  if (out->type.kind != HONE_ABSENT) return hone_fail(diag, HONE_INVALID, "input \"%s\" is given twice", name);
  if (!set_type(port, &shape, out)) return hone_fail(diag, HONE_INVALID, "input \"%s\": its shape is too large", name);
  const hn_json *parameters = hn_json_get(item, "parameters"), *data = hn_json_get(item, "data");
  const hn_json *size = hn_json_get(parameters, "binary_data_size");
  if (hn_json_get(parameters, "shared_memory_region"))
    return hone_fail(diag, HONE_INVALID, "input \"%s\": shared memory is not supported", name);
  if ((size != NULL) == (data != NULL))
    return hone_fail(diag, HONE_INVALID, "input \"%s\" wants either \"data\" or \"binary_data_size\"", name);
  if (data) return read_data(request, port, data, out, diag);
  if (size->kind != HN_JSON_INT)
    return hone_fail(diag, HONE_INVALID, "input \"%s\": \"binary_data_size\" is no integer", name);
  return take_binary(port, size->i, from, out, diag);
}

static hone_status read_inputs(srv_request *request, const hn_json *root, body *from, hone_diagnostics *diag) {
  const srv_model *m = request->model;
  const hn_json *inputs;
  HN_TRY(hn_json_array(root, "inputs", &inputs, diag));
  for (size_t i = 0; i < inputs->length; ++i) HN_TRY(read_input(request, &inputs->items[i], from, diag));
  for (int i = 0; i < m->ports.in_count; ++i)
    if (request->in[i].type.kind == HONE_ABSENT)
      return hone_fail(diag, HONE_INVALID, "input \"%s\" is missing", m->ports.in[i].name);
  if (from->at == from->length) return HONE_OK;
  return hone_fail(diag, HONE_INVALID, "the body has %zu bytes more than its inputs", from->length - from->at);
}

/* ---- what is wanted, and how ---- */

static bool read_flag(const hn_json *parameters, const char *key, bool otherwise, bool *out) {
  const hn_json *item = hn_json_get(parameters, key);
  *out = item ? item->i != 0 : otherwise;
  return !item || item->kind == HN_JSON_BOOL;
}

static hone_status read_output(srv_request *request, const hn_json *item, bool binary, hone_diagnostics *diag) {
  const srv_model *m = request->model;
  const char *name, *near;
  if (item->kind != HN_JSON_OBJECT) return hone_fail(diag, HONE_INVALID, "an item of \"outputs\" is no object");
  HN_TRY(hn_json_text(item, "name", &name, diag));
  const int at = find_port(m->ports.out, m->ports.out_count, name, &near);
  if (at < 0) return unknown_port(m, "output", name, near, diag);
  const hn_json *parameters = hn_json_get(item, "parameters");
  for (int i = 0; i < request->wanted_count; ++i)
    if (request->wanted[i].output == at) return hone_fail(diag, HONE_INVALID, "output \"%s\" is asked for twice", name);
  if (hn_json_get(parameters, "classification") || hn_json_get(parameters, "shared_memory_region"))
    return hone_fail(diag, HONE_INVALID, "output \"%s\": classification and shared memory are not supported", name);
  srv_wanted *wanted = &request->wanted[request->wanted_count++];
  wanted->output = at;
  if (read_flag(parameters, "binary_data", binary, &wanted->binary)) return HONE_OK;
  return hone_fail(diag, HONE_INVALID, "output \"%s\": \"binary_data\" is neither true nor false", name);
}

static hone_status read_outputs(srv_request *request, const hn_json *root, bool binary, hone_diagnostics *diag) {
  const hn_json *outputs = NULL;
  if (hn_json_get(root, "outputs")) HN_TRY(hn_json_array(root, "outputs", &outputs, diag));
  for (size_t i = 0; outputs && i < outputs->length; ++i)
    HN_TRY(read_output(request, &outputs->items[i], binary, diag));
  if (outputs && outputs->length > 0) return HONE_OK;
  for (int i = 0; i < request->model->ports.out_count; ++i) request->wanted[i] = (srv_wanted){i, binary};
  request->wanted_count = request->model->ports.out_count;
  return HONE_OK;
}

static hone_status read_parameters(srv_request *request, const hn_json *root, bool *out_binary,
                                   hone_diagnostics *diag) {
  const hn_json *p = hn_json_get(root, "parameters"), *id = hn_json_get(root, "id");
  int64_t timeout_us = 0;
  if (p && p->kind != HN_JSON_OBJECT) return hone_fail(diag, HONE_INVALID, "\"parameters\" is no object");
  if (id && (id->kind != HN_JSON_STRING || id->length > 4096))
    return hone_fail(diag, HONE_INVALID, "\"id\" is no text of at most 4096 bytes");
  if (id && !(request->id = hn_arena_text(&request->arena, id->string)))
    return hone_fail(diag, HONE_NO_MEMORY, "out of memory");
  if (!read_flag(p, "binary_data_output", false, out_binary))
    return hone_fail(diag, HONE_INVALID, "\"binary_data_output\" is neither true nor false");
  const hn_json *sequence = hn_json_get(p, "sequence_id");
  if (sequence && sequence->i != 0) return hone_fail(diag, HONE_INVALID, "sequences are not supported");
  if (hn_json_get(p, "priority")) HN_TRY(hn_json_int(p, "priority", 0, INT32_MAX, &request->priority, diag));
  if (hn_json_get(p, "timeout")) HN_TRY(hn_json_int(p, "timeout", 0, INT64_C(86400000000), &timeout_us, diag));
  if (timeout_us > 0) request->deadline_ns = request->begin_ns + timeout_us * 1000;
  return HONE_OK;
}

/* ---- whole requests ---- */

static hone_status check_shapes(srv_request *request, hone_diagnostics *diag) {
  const srv_model *m = request->model;
  hone_shape shapes[SRV_MAX_PORTS];
  char text[128];
  for (int i = 0; i < m->ports.in_count; ++i) shapes[i] = request->in[i].type.shape;
  request->rows = m->ports.max_batch > 0 ? shapes[0].dim[0] : 1;
  if (m->ports.max_batch > 0 && request->rows > m->ports.max_batch)
    return hone_fail(diag, HONE_INVALID, "%lld rows; model \"%s\" takes at most %d at once", (long long)request->rows,
                     m->name, m->ports.max_batch);
  if (srv_ports_take(&m->ports, shapes)) return HONE_OK;
  srv_shape_text(&shapes[0], text, sizeof text);
  return hone_fail(diag, HONE_INVALID, "model \"%s\" was not built for these shapes: input \"%s\" is %s%s", m->name,
                   m->ports.in[0].name, text, m->ports.in_count > 1 ? ", ..." : "");
}

/* The body is the single input; what of its shape is free, at most one dim, follows from its size. */
static hone_status read_raw(srv_request *request, body *from, hone_diagnostics *diag) {
  const srv_model *m = request->model;
  if (m->ports.in_count != 1)
    return hone_fail(diag, HONE_INVALID, "model \"%s\" has %d inputs: a raw request has one", m->name,
                     m->ports.in_count);
  hone_shape shape = m->ports.in[0].shape;
  size_t fixed = m->ports.in[0].type->bytes;
  int free_dim = -1;
  for (int d = 0; d < shape.rank; ++d) {
    if (shape.dim[d] >= 0) {
      fixed *= (size_t)shape.dim[d];
    } else if (free_dim >= 0) {
      return hone_fail(diag, HONE_INVALID, "input \"%s\" has several free dims: a raw request cannot say them",
                       m->ports.in[0].name);
    } else {
      free_dim = d;
    }
  }
  if (fixed == 0 || from->length % fixed != 0 || (free_dim < 0 && from->length != fixed) ||
      from->length / fixed > INT32_MAX)
    return hone_fail(diag, HONE_INVALID, "the body has %zu bytes; input \"%s\" wants %s%zu", from->length,
                     m->ports.in[0].name, free_dim < 0 ? "" : "a multiple of ", fixed);
  if (free_dim >= 0) shape.dim[free_dim] = (int64_t)(from->length / fixed);
  (void)set_type(&m->ports.in[0], &shape, &request->in[0]);
  HN_TRY(take_binary(&m->ports.in[0], (int64_t)from->length, from, &request->in[0], diag));
  return read_outputs(request, NULL, true, diag);
}

static hone_status read_json(srv_request *request, const hn_json *root, body *from, hone_diagnostics *diag) {
  bool binary;
  if (root->kind != HN_JSON_OBJECT) return hone_fail(diag, HONE_INVALID, "the request is no JSON object");
  HN_TRY(read_parameters(request, root, &binary, diag));
  HN_TRY(read_inputs(request, root, from, diag));
  return read_outputs(request, root, binary, diag);
}

hone_status srv_request_read(srv_request *request, const srv_options *options, char *bytes, size_t length,
                             size_t json_length, bool raw, hone_diagnostics *diag) {
  const srv_model *m = request->model;
  body from = {.bytes = bytes, .length = length, .at = json_length};
  request->in = HN_NEW(&request->arena, hone_tensor, m->ports.in_count);
  request->wanted = HN_NEW(&request->arena, srv_wanted, m->ports.out_count);
  if (!request->in || !request->wanted) return hone_fail(diag, HONE_NO_MEMORY, "out of memory");
  if (raw) {
    HN_TRY(read_raw(request, &from, diag));
    return check_shapes(request, diag);
  }
  if (json_length > (size_t)options->max_json)
    return hone_fail(diag, HONE_LIMIT, "%zu bytes of JSON; at most %lld are taken: send tensors as binary data",
                     json_length, (long long)options->max_json);
  hn_arena tree;
  hn_json *root;
  hn_arena_init(&tree, hn_allocator_default());
  tree.limit_bytes = (json_length + 64) * JSON_MEMORY;
  hone_status status = hn_json_read(&tree, diag, "the request", bytes, json_length, &root);
  if (status == HONE_OK) status = read_json(request, root, &from, diag);
  hn_arena_deinit(&tree);
  return status == HONE_OK ? check_shapes(request, diag) : status;
}

void srv_request_clear(srv_request *request) {
  hone_request_destroy(request->queued);
  free(request->reply.bytes);
  hn_arena_deinit(&request->arena);
  srv_model_release(request->model);
  *request = (srv_request){0};
}
