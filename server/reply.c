/* SPDX-License-Identifier: Apache-2.0 */
/* reply.c - replies as bytes: errors, texts, and what an inference gives. */
#include "server.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int srv_code_of(hone_status status) {
  static const int codes[] = {
      [HONE_OK] = 200,           [HONE_INVALID] = 400,   [HONE_MALFORMED] = 400, [HONE_UNSUPPORTED] = 400,
      [HONE_INCOMPATIBLE] = 400, [HONE_NO_MEMORY] = 503, [HONE_IO] = 500,        [HONE_DEVICE] = 500,
      [HONE_LIMIT] = 413,        [HONE_CANCELLED] = 503, [HONE_INTERNAL] = 500,
  };
  return (size_t)status < HN_COUNT(codes) ? codes[status] : 500;
}

void srv_reply_text(srv_reply *reply, int code, const char *type, hn_text *text) {
  free(reply->bytes);
  *reply = (srv_reply){.code = code, .type = type, .retry_s = reply->retry_s, .close = reply->close};
  char *bytes = text->failed ? NULL : malloc(text->length + 1);
  if (bytes) {
    if (text->length > 0) memcpy(bytes, text->data, text->length);
    reply->bytes = bytes;
    reply->length = text->length;
  } else {
    reply->code = 503;
  }
  hn_text_deinit(text);
}

void srv_reply_error(srv_reply *reply, int code, const char *format, ...) {
  char message[1024];
  hn_text text;
  va_list list;
  va_start(list, format);
  (void)vsnprintf(message, sizeof message, format, list);
  va_end(list);
  hn_text_init(&text, hn_allocator_default());
  hn_text_add(&text, "{\"error\": ");
  hn_text_quoted(&text, message, strlen(message));
  hn_text_add(&text, "}\n");
  reply->retry_s = code == 429 || code == 503;
  srv_reply_text(reply, code, "application/json", &text);
}

/* ---- an inference ---- */

typedef struct shown {
  hone_tensor tensor; /* the request's rows alone */
  const srv_port *port;
  bool binary;
} shown;

static hone_status look(const srv_request *request, hone_request *queued, const srv_wanted *wanted, shown *out,
                        hone_diagnostics *diag) {
  out->port = &request->model->ports.out[wanted->output];
  out->binary = wanted->binary;
  const hone_status status = hone_request_output(queued, wanted->output, &out->tensor);
  return status == HONE_OK ? HONE_OK : hone_fail(diag, status, "output \"%s\" cannot be read", out->port->name);
}

static void print_output(const shown *s, hn_text *out) {
  hn_text_add(out, "{\"name\":");
  hn_text_quoted(out, s->port->name, strlen(s->port->name));
  hn_text_printf(out, ",\"datatype\":\"%s\",\"shape\":[", s->port->type->name);
  const hone_shape *shape = &s->tensor.type.shape;
  for (int d = 0; d < shape->rank; ++d) hn_text_printf(out, "%s%lld", d ? "," : "", (long long)shape->dim[d]);
  if (s->binary) {
    hn_text_printf(out, "],\"parameters\":{\"binary_data_size\":%zu}}", s->tensor.bytes);
    return;
  }
  hn_text_add(out, "],\"data\":[");
  const size_t size = s->port->type->bytes;
  for (size_t at = 0; at < s->tensor.bytes; at += size) {
    if (at) hn_text_add(out, ",");
    srv_type_print(s->port->type, (const char *)s->tensor.data + at, out);
  }
  hn_text_add(out, "]}");
}

static void print_head(const srv_request *request, const shown *outputs, hn_text *out) {
  const srv_model *m = request->model;
  hn_text_add(out, "{\"model_name\":");
  hn_text_quoted(out, m->name, strlen(m->name));
  hn_text_printf(out, ",\"model_version\":\"%s\"", m->version);
  if (request->id) {
    hn_text_add(out, ",\"id\":");
    hn_text_quoted(out, request->id, strlen(request->id));
  }
  hn_text_add(out, ",\"outputs\":[");
  for (int i = 0; i < request->wanted_count; ++i) {
    if (i) hn_text_add(out, ",");
    print_output(&outputs[i], out);
  }
  hn_text_add(out, "]}");
}

hone_status srv_request_reply(srv_request *request, hone_request *queued, hone_diagnostics *diag) {
  shown outputs[SRV_MAX_PORTS];
  hn_text head;
  size_t binary = 0;
  bool any_binary = false;
  for (int i = 0; i < request->wanted_count; ++i) {
    HN_TRY(look(request, queued, &request->wanted[i], &outputs[i], diag));
    any_binary = any_binary || outputs[i].binary;
    if (outputs[i].binary) binary += outputs[i].tensor.bytes;
  }
  hn_text_init(&head, hn_allocator_default());
  print_head(request, outputs, &head);
  char *bytes = head.failed ? NULL : malloc(head.length + binary);
  if (!bytes) {
    hn_text_deinit(&head);
    return hone_fail(diag, HONE_NO_MEMORY, "out of memory for the reply");
  }
  memcpy(bytes, head.data, head.length);
  size_t at = head.length;
  for (int i = 0; i < request->wanted_count; ++i) {
    if (!outputs[i].binary || outputs[i].tensor.bytes == 0) continue;
    memcpy(bytes + at, outputs[i].tensor.data, outputs[i].tensor.bytes);
    at += outputs[i].tensor.bytes;
  }
  request->reply = (srv_reply){.code = 200,
                               .bytes = bytes,
                               .length = at,
                               .json_length = any_binary ? head.length : 0,
                               .type = any_binary ? "application/octet-stream" : "application/json"};
  hn_text_deinit(&head);
  return HONE_OK;
}
