/* SPDX-License-Identifier: Apache-2.0 */
/* attribute.c - an ONNX node's attributes as the operator's row wants them: renamed, dropped, set, or turned into
 * constant inputs. The lists of a row are words separated by spaces, some with a value after '='. */
#include "import/importer.h"
#include "tensor/attrs.h"
#include "tensor/shape.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name;
  int block;
} body_names[] = {{"then_branch", 0}, {"else_branch", 1}, {"body", 0}, {"score_mod", 0}, {"prob_mod", 1}};

/* Copies the next word of a list and moves on; false at the end. value gets what stands after '=', or "". */
static bool next_word(const char **at, char *word, size_t room, char *value, size_t value_room) {
  *at += strspn(*at, " ");
  const size_t length = strcspn(*at, " ");
  if (length == 0) return false;
  const char *equal = memchr(*at, '=', length);
  const size_t name_length = equal ? (size_t)(equal - *at) : length;
  const size_t value_length = equal ? length - name_length - 1 : 0;
  if (name_length >= room || value_length >= value_room) return false;
  memcpy(word, *at, name_length);
  word[name_length] = 0;
  if (value_length > 0) memcpy(value, equal + 1, value_length);
  value[value_length] = 0;
  *at += length;
  return true;
}

/* Is `word` in a list such as "axes=1 k=2"? *value (may be NULL) gets what stands after '='. */
static bool list_has(const char *list, const char *word, char *value, size_t room) {
  char found[64], text[64];
  while (list && next_word(&list, found, sizeof found, text, sizeof text)) {
    if (!hn_name_equal(found, word)) continue;
    if (value) hn_copy_text(value, room, text);
    return true;
  }
  return false;
}

static const hone_attr_decl *find_decl(const hone_op *op, const char *name) {
  for (int i = 0; i < HONE_MAX_ATTRS && op->attr[i].name; ++i) {
    if (hn_name_equal(op->attr[i].name, name)) return &op->attr[i];
  }
  return NULL;
}

/* "$name" as a whole word in a composite's text. */
static bool composite_uses(const char *text, const char *name) {
  const size_t length = strlen(name);
  for (const char *at = text; at && (at = strchr(at, '$')); ++at) {
    if (strncmp(at + 1, name, length) != 0) continue;
    const char after = at[1 + length];
    if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", after) || !after) return true;
  }
  return false;
}

static bool adapter_takes(const hone_onnx_row *row, const char *name) {
  const hn_adapter *adapter = row->adapt ? hn_adapter_find(row->adapt) : NULL;
  return adapter && list_has(adapter->attributes, name, NULL, 0);
}

bool hn_import_knows_attribute(const hone_op *op, const hone_onnx_row *row, const char *name) {
  for (size_t i = 0; i < HN_COUNT(body_names); ++i) {
    if (hn_name_equal(body_names[i].name, name)) return (op->traits & HONE_HAS_BLOCKS) || adapter_takes(row, name);
  }
  return adapter_takes(row, name) || list_has(row->drop, name, NULL, 0) || list_has(row->to_input, name, NULL, 0) ||
         list_has(row->rename, name, NULL, 0) || composite_uses(row->as, name) || find_decl(op, name) != NULL;
}

int64_t hn_onnx_attribute_type(const hn_onnx_attribute *a) {
  if (a->type != 0) return a->type;
  return a->has_f           ? HN_ONNX_ATTR_FLOAT
         : a->has_i         ? HN_ONNX_ATTR_INT
         : a->has_s         ? HN_ONNX_ATTR_STRING
         : a->t             ? HN_ONNX_ATTR_TENSOR
         : a->g             ? HN_ONNX_ATTR_GRAPH
         : a->floats.count  ? HN_ONNX_ATTR_FLOATS
         : a->strings.count ? HN_ONNX_ATTR_STRINGS
         : a->sparse        ? HN_ONNX_ATTR_SPARSE
         : a->tp            ? HN_ONNX_ATTR_TYPE
                            : HN_ONNX_ATTR_INTS;
}

const hn_onnx_attribute *hn_import_resolve(const hn_import_frame *frame, const hn_onnx_attribute *attribute) {
  while (attribute && *attribute->ref_name) {
    if (!frame) return NULL;
    const char *name = attribute->ref_name;
    attribute = hn_onnx_find_attribute(&frame->node->attributes, name);
    if (!attribute) return hn_onnx_find_attribute(&frame->function->defaults, name);
    frame = frame->outer;
  }
  return attribute;
}

static hone_status copy_string(hn_importer *importer, const hn_proto_bytes *from, const char **out) {
  char *text = hn_arena_alloc(&importer->arena, from->length + 1, 1);
  if (!text) return HN_FAIL_MEMORY(importer->diag);
  if (from->length > 0) memcpy(text, from->data, from->length);
  text[from->length] = 0;
  if (strlen(text) != from->length) return HN_FAIL(importer->diag, HONE_MALFORMED, "a text with a zero byte in it");
  *out = text;
  return HONE_OK;
}

static hone_status convert_list(hn_importer *importer, const hn_onnx_attribute *from, hone_attr *to) {
  if (to->kind == HONE_ATTR_INTS) {
    to->count = from->ints.count;
    to->ints = from->ints.items;
    return HONE_OK;
  }
  to->count = to->kind == HONE_ATTR_FLOATS ? from->floats.count : from->strings.count;
  if (to->kind == HONE_ATTR_FLOATS) {
    const float *items = from->floats.items;
    double *floats = HN_NEW(&importer->arena, double, to->count);
    if (!floats) return HN_FAIL_MEMORY(importer->diag);
    for (int64_t i = 0; i < to->count; ++i) floats[i] = (double)items[i];
    to->floats = floats;
    return HONE_OK;
  }
  const hn_proto_bytes *items = from->strings.items;
  const char **strings = HN_NEW(&importer->arena, const char *, to->count);
  if (!strings) return HN_FAIL_MEMORY(importer->diag);
  for (int64_t i = 0; i < to->count; ++i) HN_TRY(copy_string(importer, &items[i], &strings[i]));
  to->strings = strings;
  return HONE_OK;
}

/* A type becomes the numbers of its kind and element type: what a node has of it. */
static hone_status convert_type(hn_importer *importer, const hn_onnx_attribute *from, hone_attr *to) {
  hone_type type;
  if (!from->tp) return HN_FAIL(importer->diag, HONE_MALFORMED, "the type is missing");
  HN_TRY(hn_import_type(importer, from->tp, true, &type));
  int64_t *numbers = HN_NEW(&importer->arena, int64_t, 2);
  if (!numbers) return HN_FAIL_MEMORY(importer->diag);
  numbers[0] = type.kind;
  numbers[1] = type.dtype;
  *to = (hone_attr){.name = to->name, .kind = HONE_ATTR_INTS, .count = 2, .ints = numbers};
  return HONE_OK;
}

static hone_status convert(hn_importer *importer, const hn_onnx_attribute *from, hone_attr *to) {
  hone_tensor *tensor;
  switch (hn_onnx_attribute_type(from)) {
  case HN_ONNX_ATTR_FLOAT:
    to->kind = HONE_ATTR_FLOAT;
    to->f = (double)from->f;
    return HONE_OK;
  case HN_ONNX_ATTR_INT:
    to->kind = HONE_ATTR_INT;
    to->i = from->i;
    return HONE_OK;
  case HN_ONNX_ATTR_STRING:
    to->kind = HONE_ATTR_STRING;
    to->count = (int64_t)from->s.length;
    return copy_string(importer, &from->s, &to->s);
  case HN_ONNX_ATTR_INTS: to->kind = HONE_ATTR_INTS; return convert_list(importer, from, to);
  case HN_ONNX_ATTR_FLOATS: to->kind = HONE_ATTR_FLOATS; return convert_list(importer, from, to);
  case HN_ONNX_ATTR_STRINGS: to->kind = HONE_ATTR_STRINGS; return convert_list(importer, from, to);
  case HN_ONNX_ATTR_TENSOR:
    if (!from->t) return HN_FAIL(importer->diag, HONE_MALFORMED, "the tensor is missing");
    tensor = HN_NEW(&importer->arena, hone_tensor, 1);
    if (!tensor) return HN_FAIL_MEMORY(importer->diag);
    to->kind = HONE_ATTR_TENSOR;
    to->tensor = tensor;
    return hn_import_tensor(importer, from->t, tensor);
  case HN_ONNX_ATTR_TYPE: return convert_type(importer, from, to);
  default:
    return HN_FAIL(importer->diag, HONE_UNSUPPORTED, "its kind (%" PRId64 ") is not known here",
                   hn_onnx_attribute_type(from));
  }
}

hone_status hn_import_add_attr(hn_import_call *call, const hone_attr *attr) {
  hone_attr *old = hn_import_find_attr(call, attr->name);
  if (old) {
    *old = *attr;
    return HONE_OK;
  }
  hn_importer *importer = call->importer;
  if (!hn_arena_grow(&importer->arena, (void **)&call->attrs, &call->attr_capacity, call->attr_count + 1,
                     sizeof(hone_attr)))
    return HN_FAIL_MEMORY(importer->diag);
  call->attrs[call->attr_count++] = *attr;
  return HONE_OK;
}

hone_attr *hn_import_find_attr(hn_import_call *call, const char *name) {
  for (int i = 0; i < call->attr_count; ++i) {
    if (hn_name_equal(call->attrs[i].name, name)) return &call->attrs[i];
  }
  return NULL;
}

bool hn_import_take_attr(hn_import_call *call, const char *name, hone_attr *out) {
  hone_attr *attr = hn_import_find_attr(call, name);
  if (!attr) return false;
  *out = *attr;
  const size_t after = (size_t)(call->attr_count - 1 - (attr - call->attrs));
  memmove(attr, attr + 1, after * sizeof *attr);
  --call->attr_count;
  return true;
}

hone_status hn_import_set_input(hn_import_call *call, int index, hn_value *value) {
  hn_importer *importer = call->importer;
  if (!hn_arena_grow(&importer->arena, (void **)&call->in, &call->in_capacity, index + 1, sizeof(hn_value *)))
    return HN_FAIL_MEMORY(importer->diag);
  while (call->in_count <= index) call->in[call->in_count++] = NULL;
  call->in[index] = value;
  return HONE_OK;
}

/* The type of an input that was an attribute: that of the inputs with the same letter, f32 when there is none. */
static hone_dtype dtype_at(const hn_import_call *call, int index) {
  const hone_op *op = call->op;
  for (int i = 0; i < call->in_count && i < HONE_MAX_PORTS && op->in[i].name; ++i) {
    if (index < HONE_MAX_PORTS && op->in[index].letter && op->in[i].letter == op->in[index].letter && call->in[i] &&
        call->in[i]->fact.type.dtype != HONE_NONE)
      return call->in[i]->fact.type.dtype;
  }
  return HONE_F32;
}

/* An int becomes a list of one, as all attributes of that kind did; a float becomes a scalar. */
static hone_status make_input(hn_import_call *call, int index, const hone_attr *attr) {
  hn_importer *importer = call->importer;
  hone_graph *graph = importer->graph;
  if (index < call->in_count && call->in[index])
    return HN_FAIL(importer->diag, HONE_MALFORMED, "it is given as an input too");
  hn_value *value = NULL;
  if (attr->kind == HONE_ATTR_INTS || attr->kind == HONE_ATTR_INT) {
    value = attr->kind == HONE_ATTR_INT ? hn_constant_int(graph, attr->name, 1, 1, &attr->i)
                                        : hn_constant_int(graph, attr->name, 1, attr->count, attr->ints);
  } else if (attr->kind == HONE_ATTR_FLOAT) {
    value = hn_constant_scalar(graph, dtype_at(call, index), attr->f);
  } else if (attr->kind == HONE_ATTR_FLOATS) {
    float *items = HN_NEW(&importer->arena, float, attr->count);
    if (!items) return HN_FAIL_MEMORY(importer->diag);
    for (int64_t i = 0; i < attr->count; ++i) items[i] = (float)attr->floats[i];
    const hone_tensor tensor = {
        .type = hn_tensor_type(HONE_F32, 1, &attr->count), .data = items, .bytes = (size_t)attr->count * sizeof(float)};
    value = hn_constant_create(graph, attr->name, &tensor, false);
  } else {
    return HN_FAIL(importer->diag, HONE_MALFORMED, "it must be a number or a list of numbers");
  }
  return value ? hn_import_set_input(call, index, value) : HONE_NO_MEMORY;
}

static hone_status add_body(hn_import_call *call, const hn_onnx_attribute *attribute) {
  hn_importer *importer = call->importer;
  if (!attribute->g) return HN_FAIL(importer->diag, HONE_MALFORMED, "the graph is missing");
  for (size_t i = 0; i < HN_COUNT(body_names); ++i) {
    if (!hn_name_equal(body_names[i].name, attribute->name)) continue;
    call->bodies[body_names[i].block] = attribute->g;
    if (call->body_count <= body_names[i].block) call->body_count = body_names[i].block + 1;
    return HONE_OK;
  }
  return HN_FAIL(importer->diag, HONE_UNSUPPORTED, "a graph is not expected here");
}

static hone_status import_attribute(hn_import_call *call, const hn_onnx_attribute *given) {
  hn_importer *importer = call->importer;
  const hone_onnx_row *row = call->row;
  const char *name = given->name;
  if (!hn_import_knows_attribute(call->op, row, name))
    return HN_FAIL(importer->diag, HONE_UNSUPPORTED, "not an attribute that is known here");
  if (list_has(row->drop, name, NULL, 0) && !adapter_takes(row, name)) return HONE_OK;
  const hn_onnx_attribute *attribute = hn_import_resolve(call->scope->frame, given);
  if (!attribute) return HONE_OK;
  if (hn_onnx_attribute_type(attribute) == HN_ONNX_ATTR_GRAPH) return add_body(call, attribute);
  hone_attr attr = {.name = name};
  HN_TRY(convert(importer, attribute, &attr));
  char other[64];
  if (list_has(row->to_input, name, other, sizeof other)) return make_input(call, atoi(other), &attr);
  if (list_has(row->rename, name, other, sizeof other)) {
    attr.name = hn_arena_text(&importer->arena, other);
    if (!attr.name) return HN_FAIL_MEMORY(importer->diag);
  }
  if (hn_import_find_attr(call, attr.name)) return HN_FAIL(importer->diag, HONE_MALFORMED, "it is given twice");
  return hn_import_add_attr(call, &attr);
}

/* A number without point is an INT unless the row declares another kind. */
static hone_status set_attribute(hn_import_call *call, const char *name, const char *text) {
  hn_importer *importer = call->importer;
  if (hn_import_find_attr(call, name)) return HONE_OK;
  const hone_attr_decl *decl = find_decl(call->op, name);
  char *end;
  const double number = strtod(text, &end);
  const bool is_number = *text && !*end;
  hone_attr attr = {.name = hn_arena_text(&importer->arena, name)};
  attr.kind = decl ? decl->kind : !is_number ? HONE_ATTR_STRING : strpbrk(text, ".e") ? HONE_ATTR_FLOAT : HONE_ATTR_INT;
  if (attr.kind == HONE_ATTR_INT) {
    attr.i = (int64_t)number;
  } else if (attr.kind == HONE_ATTR_FLOAT) {
    attr.f = number;
  } else {
    attr.s = hn_arena_text(&importer->arena, text);
    attr.count = (int64_t)strlen(text);
  }
  if (!attr.name || (attr.kind == HONE_ATTR_STRING && !attr.s)) return HN_FAIL_MEMORY(importer->diag);
  return hn_import_add_attr(call, &attr);
}

hone_status hn_import_attributes(hn_import_call *call) {
  hn_importer *importer = call->importer;
  const hn_onnx_attribute *given = call->node->attributes.items;
  for (int64_t i = 0; i < call->node->attributes.count; ++i) {
    const int from = hn_import_mark(importer);
    const hone_status status = import_attribute(call, &given[i]);
    HN_TRY(hn_import_problem(importer, status, from, "node \"%s\" (%s, opset %" PRId64 "): attribute %s: ", call->name,
                             call->node->op_type, call->opset, given[i].name));
  }
  char name[64], value[64];
  for (const char *at = call->row->set; at && next_word(&at, name, sizeof name, value, sizeof value);)
    HN_TRY(set_attribute(call, name, value));
  return HONE_OK;
}
