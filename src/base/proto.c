/* SPDX-License-Identifier: Apache-2.0 */
/* proto.c - the protobuf decoder. Source: the public description of the protobuf encoding.
 * Every message is read twice: the first walk over its own fields checks them and counts what repeats, so that lists
 * get their exact size; the second stores. Nested messages are only passed over by the first walk, so the work stays
 * linear in the file's size times the depth that it really has. */
#include "base/proto.h"
#include "base/checked.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

/* How each kind travels and what one element takes in memory; 0 bytes: the message's own. */
static const struct kind_row {
  uint8_t wire, bytes;
  bool repeated, packable;
} kinds[] = {
    [HN_PROTO_INT] = {WIRE_VARINT, 8, false, false},
    [HN_PROTO_FLOAT] = {WIRE_FIXED32, 4, false, false},
    [HN_PROTO_TEXT] = {WIRE_BYTES, sizeof(char *), false, false},
    [HN_PROTO_BYTES] = {WIRE_BYTES, sizeof(hn_proto_bytes), false, false},
    [HN_PROTO_MESSAGE] = {WIRE_BYTES, 0, false, false},
    [HN_PROTO_INTS] = {WIRE_VARINT, 8, true, true},
    [HN_PROTO_FLOATS] = {WIRE_FIXED32, 4, true, true},
    [HN_PROTO_DOUBLES] = {WIRE_FIXED64, 8, true, true},
    [HN_PROTO_TEXTS] = {WIRE_BYTES, sizeof(char *), true, false},
    [HN_PROTO_BYTES_LIST] = {WIRE_BYTES, sizeof(hn_proto_bytes), true, false},
    [HN_PROTO_MESSAGES] = {WIRE_BYTES, 0, true, false},
};

typedef struct frame {
  const hn_proto_message *message;
  char *object;
  const uint8_t *at, *end;
  const hn_proto_field *via; /* the parent's field */
  int64_t index;             /* in it, when it repeats */
} frame;

typedef struct decoder {
  hone_diagnostics *diag;
  hn_arena *arena;
  const hn_proto_limits *limits;
  const uint8_t *begin;
  int64_t used[HN_PROTO_MAX_LIMITS];
  int depth;
  frame stack[HN_PROTO_MAX_DEPTH];
} decoder;

/* One field as it stands in the bytes. */
typedef struct token {
  const hn_proto_field *field; /* NULL: not known */
  uint32_t wire;
  uint64_t number;     /* VARINT, FIXED32, FIXED64 */
  const uint8_t *data; /* BYTES */
  size_t length;
} token;

/* "graph.node[3].attribute[0]", cut on the left when it is long: the end says most. */
static void path_text(const decoder *d, char *text, size_t room) {
  size_t used = 0;
  text[0] = 0;
  for (int i = 1; i < d->depth; ++i) {
    const frame *f = &d->stack[i];
    char part[96];
    const char *dot = used > 0 ? "." : "";
    const int length = kinds[f->via->kind].repeated
                           ? snprintf(part, sizeof part, "%s%s[%" PRId64 "]", dot, f->via->name, f->index)
                           : snprintf(part, sizeof part, "%s%s", dot, f->via->name);
    if (length < 0 || (size_t)length >= sizeof part) continue;
    if (used + (size_t)length >= room) {
      memcpy(text, "...", 4);
      used = 3;
    }
    memcpy(text + used, part, (size_t)length + 1);
    used += (size_t)length;
  }
  if (used == 0) snprintf(text, room, "%s", d->stack[0].message->name);
}

static hone_status fail_at(const decoder *d, const uint8_t *at, hone_status status, const char *what) {
  char path[200];
  path_text(d, path, sizeof path);
  return HN_FAIL(d->diag, status, "byte %zu (%s): %s", (size_t)(at - d->begin), path, what);
}

static hone_status read_varint(const decoder *d, const uint8_t **at, const uint8_t *end, uint64_t *out) {
  const uint8_t *p = *at;
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (p == end) return fail_at(d, p, HONE_MALFORMED, "a number does not end");
    const uint8_t byte = *p++;
    if (shift == 63 && byte > 1) break;
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) {
      *at = p;
      *out = value;
      return HONE_OK;
    }
  }
  return fail_at(d, *at, HONE_MALFORMED, "a number of more than 64 bits");
}

static uint64_t load_little(const uint8_t *from, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) value |= (uint64_t)from[i] << (8 * i);
  return value;
}

static const hn_proto_field *find_field(const hn_proto_message *message, uint64_t number) {
  for (int i = 0; i < message->field_count; ++i) {
    if (message->fields[i].number == number) return &message->fields[i];
  }
  return NULL;
}

static hone_status check_wire(const decoder *d, const uint8_t *at, const token *t) {
  if (!t->field) return HONE_OK;
  const struct kind_row *row = &kinds[t->field->kind];
  if (t->wire == row->wire || (row->packable && t->wire == WIRE_BYTES)) return HONE_OK;
  char what[120];
  snprintf(what, sizeof what, "field %s has wire type %" PRIu32 ", must have %d", t->field->name, t->wire, row->wire);
  return fail_at(d, at, HONE_MALFORMED, what);
}

/* Of the whole file's own fields, a known one that is longer than the file tells of a file that was cut short. */
static hone_status fail_past_end(const decoder *d, const uint8_t *at, const token *t, uint64_t length, uint64_t left) {
  char what[160];
  if (d->depth > 1 || !t->field) return fail_at(d, at, HONE_MALFORMED, "a length past the end");
  snprintf(what, sizeof what,
           "field %s has %" PRIu64 " bytes, of which %" PRIu64 " are there: the file was cut short or damaged",
           t->field->name, length, left);
  return fail_at(d, at, HONE_MALFORMED, what);
}

/* Reads one field of the newest frame from *at on. */
static hone_status read_token(const decoder *d, const uint8_t **at, token *out) {
  const frame *f = &d->stack[d->depth - 1];
  const uint8_t *const from = *at;
  uint64_t tag;
  HN_TRY(read_varint(d, at, f->end, &tag));
  *out = (token){.field = find_field(f->message, tag >> 3), .wire = (uint32_t)(tag & 7)};
  if (tag >> 3 == 0 || tag >> 3 > 0x1fffffff) return fail_at(d, from, HONE_MALFORMED, "a field number out of range");
  HN_TRY(check_wire(d, from, out));
  const size_t left = (size_t)(f->end - *at);
  const int fixed = out->wire == WIRE_FIXED32 ? 4 : 8;
  switch (out->wire) {
  case WIRE_VARINT: return read_varint(d, at, f->end, &out->number);
  case WIRE_FIXED32:
  case WIRE_FIXED64:
    if (left < (size_t)fixed) return fail_at(d, from, HONE_MALFORMED, "a number does not end");
    out->number = load_little(*at, fixed);
    *at += fixed;
    return HONE_OK;
  case WIRE_BYTES: break;
  default: return fail_at(d, from, HONE_MALFORMED, "a wire type that protobuf does not have");
  }
  uint64_t length;
  HN_TRY(read_varint(d, at, f->end, &length));
  if (length > (uint64_t)(f->end - *at)) return fail_past_end(d, from, out, length, (uint64_t)(f->end - *at));
  out->data = *at;
  out->length = (size_t)length;
  *at += length;
  return HONE_OK;
}

/* How many elements a token adds to its list. */
static hone_status count_elements(const decoder *d, const token *t, int64_t *out) {
  *out = 1;
  const struct kind_row *row = &kinds[t->field->kind];
  if (!row->packable || t->wire != WIRE_BYTES) return HONE_OK;
  if (row->wire != WIRE_VARINT) {
    if (t->length % row->bytes != 0) return fail_at(d, t->data, HONE_MALFORMED, "a packed list does not end");
    *out = (int64_t)(t->length / row->bytes);
    return HONE_OK;
  }
  int64_t count = 0;
  for (size_t i = 0; i < t->length; ++i) count += t->data[i] < 0x80;
  if (t->length > 0 && t->data[t->length - 1] >= 0x80)
    return fail_at(d, t->data, HONE_MALFORMED, "a packed list does not end");
  *out = count;
  return HONE_OK;
}

static size_t element_bytes(const hn_proto_field *field) {
  return kinds[field->kind].bytes > 0 ? kinds[field->kind].bytes : field->message->bytes;
}

static hone_status count_against_limit(decoder *d, const uint8_t *at, const hn_proto_field *field, int64_t count) {
  const int limit = field->message ? field->message->limit - 1 : -1;
  if (limit < 0) return HONE_OK;
  d->used[limit] += count;
  if (d->used[limit] <= d->limits->counts[limit].most) return HONE_OK;
  char what[120];
  snprintf(what, sizeof what, "more than %" PRId64 " %s, the context's limit", d->limits->counts[limit].most,
           d->limits->counts[limit].what);
  return fail_at(d, at, HONE_LIMIT, what);
}

/* Texts start empty, lists with room for what was counted. */
static hone_status prepare_object(decoder *d, const frame *f, const int64_t *counts) {
  const char *const empty = "";
  for (int i = 0; i < f->message->field_count; ++i) {
    const hn_proto_field *field = &f->message->fields[i];
    if (field->kind == HN_PROTO_TEXT) memcpy(f->object + field->offset, &empty, sizeof empty);
    if (counts[i] == 0) continue;
    HN_TRY(count_against_limit(d, f->at, field, counts[i]));
    if (!kinds[field->kind].repeated) continue;
    const hn_proto_list list = {.items = hn_arena_zero(d->arena, (size_t)counts[i], element_bytes(field))};
    if (!list.items) return HN_FAIL_MEMORY(d->diag);
    memcpy(f->object + field->offset, &list, sizeof list);
  }
  return HONE_OK;
}

/* The first walk over the newest frame. */
static hone_status survey(decoder *d) {
  const frame *f = &d->stack[d->depth - 1];
  int64_t counts[HN_PROTO_MAX_FIELDS] = {0};
  for (const uint8_t *at = f->at; at < f->end;) {
    const uint8_t *const from = at;
    token t;
    HN_TRY(read_token(d, &at, &t));
    if (!t.field) continue;
    int64_t count;
    HN_TRY(count_elements(d, &t, &count));
    counts[t.field - f->message->fields] += count;
    if (t.field->kind == HN_PROTO_MESSAGE && counts[t.field - f->message->fields] > 1)
      return fail_at(d, from, HONE_MALFORMED, "a single message is given twice");
  }
  return prepare_object(d, f, counts);
}

static hone_status push(decoder *d, const uint8_t *at, const frame *next) {
  if (d->depth == HN_PROTO_MAX_DEPTH) return fail_at(d, at, HONE_LIMIT, "messages nested deeper than 64");
  d->stack[d->depth++] = *next;
  return survey(d);
}

static hone_status copy_text(const decoder *d, const token *t, const char **out) {
  if (t->length > (uint64_t)d->limits->text_bytes)
    return fail_at(d, t->data, HONE_LIMIT, "a text longer than the context's limit");
  if (t->length > 0 && memchr(t->data, 0, t->length))
    return fail_at(d, t->data, HONE_MALFORMED, "a text with a zero byte in it");
  char *text = hn_arena_alloc(d->arena, t->length + 1, 1);
  if (!text) return HN_FAIL_MEMORY(d->diag);
  if (t->length > 0) memcpy(text, t->data, t->length);
  text[t->length] = 0;
  *out = text;
  return HONE_OK;
}

/* One number of any kind. */
static void store_number(hn_proto_kind kind, void *to, uint64_t bits) {
  if (kind == HN_PROTO_FLOAT || kind == HN_PROTO_FLOATS) {
    const uint32_t half = (uint32_t)bits;
    memcpy(to, &half, sizeof half);
  } else {
    memcpy(to, &bits, sizeof bits);
  }
}

static hone_status store_packed(const decoder *d, const token *t, hn_proto_list *list) {
  const struct kind_row *row = &kinds[t->field->kind];
  const uint8_t *at = t->data, *const end = t->data + t->length;
  while (at < end) {
    uint64_t bits;
    if (row->wire == WIRE_VARINT) {
      HN_TRY(read_varint(d, &at, end, &bits));
    } else {
      bits = load_little(at, row->bytes);
      at += row->bytes;
    }
    store_number(t->field->kind, (char *)list->items + (size_t)list->count++ * row->bytes, bits);
  }
  return HONE_OK;
}

/* Stores a value at its place; a message becomes the newest frame. */
static hone_status store_value(decoder *d, const token *t, void *to, int64_t index) {
  const hn_proto_bytes view = {t->data, t->length};
  const char *text = NULL;
  frame next = {.message = t->field->message, .at = t->data, .via = t->field};
  if (t->data) next.end = t->data + t->length; /* numbers have no bytes of their own */
  switch (t->field->kind) {
  case HN_PROTO_TEXT:
  case HN_PROTO_TEXTS:
    HN_TRY(copy_text(d, t, &text));
    memcpy(to, &text, sizeof text);
    return HONE_OK;
  case HN_PROTO_BYTES:
  case HN_PROTO_BYTES_LIST: memcpy(to, &view, sizeof view); return HONE_OK;
  case HN_PROTO_MESSAGE:
    next.object = hn_arena_zero(d->arena, 1, next.message->bytes);
    if (!next.object) return HN_FAIL_MEMORY(d->diag);
    memcpy(to, &next.object, sizeof next.object);
    return push(d, t->data, &next);
  case HN_PROTO_MESSAGES:
    next.object = to;
    next.index = index;
    return push(d, t->data, &next);
  default: store_number(t->field->kind, to, t->number); return HONE_OK;
  }
}

static hone_status store(decoder *d, const frame *f, const token *t) {
  char *place = f->object + t->field->offset;
  if (t->field->given_offset > 0) memcpy(f->object + t->field->given_offset, &(bool){true}, sizeof(bool));
  if (!kinds[t->field->kind].repeated) return store_value(d, t, place, 0);
  hn_proto_list list;
  memcpy(&list, place, sizeof list);
  if (kinds[t->field->kind].packable && t->wire == WIRE_BYTES) {
    HN_TRY(store_packed(d, t, &list));
    memcpy(place, &list, sizeof list);
    return HONE_OK;
  }
  const int64_t index = list.count++;
  memcpy(place, &list, sizeof list);
  return store_value(d, t, (char *)list.items + (size_t)index * element_bytes(t->field), index);
}

hone_status hn_proto_decode(hone_diagnostics *diag, hn_arena *arena, const hn_proto_limits *limits,
                            const hn_proto_message *message, const void *bytes, size_t count, void **out) {
  *out = NULL;
  decoder d = {.diag = diag, .arena = arena, .limits = limits, .begin = count > 0 ? bytes : (const uint8_t *)""};
  char *object = hn_arena_zero(arena, 1, message->bytes);
  if (!object) return HN_FAIL_MEMORY(diag);
  const frame root = {.message = message, .object = object, .at = d.begin, .end = d.begin + count};
  HN_TRY(push(&d, d.begin, &root));
  while (d.depth > 0) {
    frame *f = &d.stack[d.depth - 1];
    if (f->at == f->end) {
      --d.depth;
      continue;
    }
    token t;
    HN_TRY(read_token(&d, &f->at, &t));
    if (t.field) HN_TRY(store(&d, f, &t));
  }
  *out = object;
  return HONE_OK;
}
