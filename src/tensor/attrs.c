/* SPDX-License-Identifier: Apache-2.0 */
/* attrs.c - attribute lists: lookups, completion against a row's declarations, deep copies, text. */
#include "tensor/attrs.h"
#include "base/checked.h"
#include "tensor/element.h"
#include "tensor/shape.h"
#include <string.h>

const hone_attr *hn_attr_find(const hone_attrs *attrs, const char *name) {
  for (int i = 0; attrs && i < attrs->count; ++i)
    if (hn_name_equal(attrs->items[i].name, name)) return &attrs->items[i];
  return NULL;
}

bool hn_attr_has(const hone_attrs *attrs, const char *name) { return hn_attr_find(attrs, name) != NULL; }

int64_t hn_attr_int(const hone_attrs *attrs, const char *name) {
  const hone_attr *attr = hn_attr_find(attrs, name);
  return attr && attr->kind == HONE_ATTR_INT ? attr->i : 0;
}

double hn_attr_float(const hone_attrs *attrs, const char *name) {
  const hone_attr *attr = hn_attr_find(attrs, name);
  if (attr && attr->kind == HONE_ATTR_INT) return (double)attr->i;
  return attr && attr->kind == HONE_ATTR_FLOAT ? attr->f : 0.0;
}

const char *hn_attr_text(const hone_attrs *attrs, const char *name) {
  const hone_attr *attr = hn_attr_find(attrs, name);
  return attr && attr->kind == HONE_ATTR_STRING && attr->s ? attr->s : "";
}

int hn_attr_ints(const hone_attrs *attrs, const char *name, const int64_t **out) {
  const hone_attr *attr = hn_attr_find(attrs, name);
  const bool found = attr && attr->kind == HONE_ATTR_INTS && attr->count <= INT32_MAX;
  *out = found ? attr->ints : NULL;
  return found ? (int)attr->count : 0;
}

bool hn_attr_ints_are(const hone_attrs *attrs, const char *name, int64_t want) {
  const int64_t *items;
  const int count = hn_attr_ints(attrs, name, &items);
  for (int i = 0; i < count; ++i)
    if (items[i] != want) return false;
  return true;
}

int64_t hn_attr_ints_at(const hone_attrs *attrs, const char *name, int at, int64_t otherwise) {
  const int64_t *items;
  return at >= 0 && at < hn_attr_ints(attrs, name, &items) ? items[at] : otherwise;
}

int hn_attrs_behind(const hone_attrs *attrs, const char *prefix, hone_attr *items, int room) {
  const size_t length = strlen(prefix);
  int count = 0;
  for (int i = 0; i < attrs->count && count < room; ++i) {
    if (strncmp(attrs->items[i].name, prefix, length) != 0) continue;
    items[count] = attrs->items[i];
    items[count++].name += length;
  }
  return count;
}

static bool is_list(hone_attr_kind kind) {
  return kind == HONE_ATTR_INTS || kind == HONE_ATTR_FLOATS || kind == HONE_ATTR_STRINGS;
}

static const char *kind_name(hone_attr_kind kind) {
  static const char *const names[] = {"nothing", "an int", "a float", "a string",
                                      "ints",    "floats", "strings", "a tensor"};
  return (unsigned)kind < HN_COUNT(names) ? names[kind] : "an unknown kind";
}

static const hone_tensor *copy_tensor(hn_arena *arena, const hone_tensor *from) {
  hone_tensor *to = hn_arena_copy(arena, from, sizeof *from);
  if (!to) return NULL;
  to->data = hn_arena_alloc(arena, from->bytes ? from->bytes : 1, 64);
  if (!to->data) return NULL;
  if (from->bytes) memcpy(to->data, from->data, from->bytes);
  if (from->type.dtype != HONE_STRING) return to;
  hone_string *strings = to->data;
  for (size_t i = 0; i < from->bytes / sizeof(hone_string); ++i) {
    char *text = hn_arena_alloc(arena, strings[i].length + 1, 1);
    if (!text) return NULL;
    if (strings[i].length) memcpy(text, strings[i].data, strings[i].length);
    text[strings[i].length] = 0;
    strings[i].data = text;
  }
  return to;
}

static const char *const *copy_strings(hn_arena *arena, const char *const *from, int64_t count) {
  const char **to = HN_NEW(arena, const char *, count > 0 ? count : 1);
  for (int64_t i = 0; to && i < count; ++i)
    if (!(to[i] = hn_arena_text(arena, from[i] ? from[i] : ""))) return NULL;
  return to;
}

/* A copy of count items of 8 bytes. */
static const void *copy_items(hn_arena *arena, const void *from, int64_t count) {
  void *to = HN_NEW(arena, int64_t, count > 0 ? count : 1);
  if (to && count > 0) memcpy(to, from, (size_t)count * sizeof(int64_t));
  return to;
}

static char *copy_string(hn_arena *arena, const char *from, int64_t length) {
  char *to = hn_arena_alloc(arena, (size_t)length + 1, 1);
  if (!to) return NULL;
  if (length > 0) memcpy(to, from, (size_t)length);
  to[length] = 0;
  return to;
}

static bool copy_attr(hn_arena *arena, const hone_attr *from, hone_attr *to) {
  *to = *from;
  to->name = hn_arena_text(arena, from->name);
  if (!to->name) return false;
  switch (from->kind) {
  case HONE_ATTR_STRING: return (to->s = copy_string(arena, from->s, from->count)) != NULL;
  case HONE_ATTR_INTS: return (to->ints = copy_items(arena, from->ints, from->count)) != NULL;
  case HONE_ATTR_FLOATS: return (to->floats = copy_items(arena, from->floats, from->count)) != NULL;
  case HONE_ATTR_STRINGS: return (to->strings = copy_strings(arena, from->strings, from->count)) != NULL;
  case HONE_ATTR_TENSOR: return (to->tensor = copy_tensor(arena, from->tensor)) != NULL;
  default: return true;
  }
}

hone_status hn_attrs_copy(hn_arena *arena, const hone_attrs *from, hone_attrs *out) {
  *out = (hone_attrs){0};
  hone_attr *items = HN_NEW(arena, hone_attr, from->count > 0 ? from->count : 1);
  if (!items) return HONE_NO_MEMORY;
  for (int i = 0; i < from->count; ++i)
    if (!copy_attr(arena, &from->items[i], &items[i])) return HONE_NO_MEMORY;
  *out = (hone_attrs){from->count, items};
  return HONE_OK;
}

static bool tensors_equal(const hone_tensor *a, const hone_tensor *b) {
  if (!hn_type_equal(&a->type, &b->type) || a->bytes != b->bytes) return false;
  if (a->type.dtype != HONE_STRING) return a->bytes == 0 || memcmp(a->data, b->data, a->bytes) == 0;
  const hone_string *x = a->data, *y = b->data;
  for (size_t i = 0; i < a->bytes / sizeof *x; ++i)
    if (x[i].length != y[i].length || (x[i].length && memcmp(x[i].data, y[i].data, x[i].length) != 0)) return false;
  return true;
}

static bool attr_equal(const hone_attr *a, const hone_attr *b) {
  if (!hn_name_equal(a->name, b->name) || a->kind != b->kind) return false;
  if (is_list(a->kind) || a->kind == HONE_ATTR_STRING) {
    if (a->count != b->count) return false;
    if (a->count == 0) return true;
  }
  switch (a->kind) {
  case HONE_ATTR_INT: return a->i == b->i;
  case HONE_ATTR_FLOAT: return memcmp(&a->f, &b->f, sizeof a->f) == 0;
  case HONE_ATTR_STRING: return memcmp(a->s, b->s, (size_t)a->count) == 0;
  case HONE_ATTR_INTS:
  case HONE_ATTR_FLOATS: return memcmp(a->ints, b->ints, (size_t)a->count * sizeof *a->ints) == 0;
  case HONE_ATTR_STRINGS:
    for (int64_t i = 0; i < a->count; ++i)
      if (!hn_name_equal(a->strings[i], b->strings[i])) return false;
    return true;
  case HONE_ATTR_TENSOR: return tensors_equal(a->tensor, b->tensor);
  default: return true;
  }
}

bool hn_attrs_equal(const hone_attrs *a, const hone_attrs *b) {
  if (a->count != b->count) return false;
  for (int i = 0; i < a->count; ++i)
    if (!attr_equal(&a->items[i], &b->items[i])) return false;
  return true;
}

static hone_attr default_of(const hone_attr_decl *decl) {
  hone_attr attr = {.name = decl->name, .kind = decl->kind};
  switch (decl->kind) {
  case HONE_ATTR_FLOAT: attr.f = decl->f; break;
  case HONE_ATTR_STRING:
    attr.s = decl->s ? decl->s : "";
    attr.count = (int64_t)strlen(attr.s);
    break;
  default: attr.i = decl->i; break;
  }
  return attr;
}

static const hone_attr_decl *find_decl(const hone_op *op, const char *name) {
  for (int i = 0; i < HONE_MAX_ATTRS && op->attr[i].name; ++i)
    if (hn_name_equal(op->attr[i].name, name)) return &op->attr[i];
  return NULL;
}

/* Every given attribute is declared, of the declared kind, and given once. An empty list has no kind of its own. */
static hone_status check_given(hone_diagnostics *diag, const hone_op *op, const hone_attrs *given) {
  hone_status status = HONE_OK;
  for (int i = 0; i < given->count; ++i) {
    const hone_attr *attr = &given->items[i];
    const hone_attr_decl *decl = find_decl(op, attr->name);
    if (!decl) {
      status = HN_FAIL(diag, HONE_INVALID, "%s has no attribute %s", op->name, attr->name ? attr->name : "(unnamed)");
    } else if (decl->kind != attr->kind && !(is_list(decl->kind) && is_list(attr->kind) && attr->count == 0)) {
      status = HN_FAIL(diag, HONE_INVALID, "attribute %s of %s is %s, not %s", attr->name, op->name,
                       kind_name(decl->kind), kind_name(attr->kind));
    } else if (hn_attr_find(given, attr->name) != attr) {
      status = HN_FAIL(diag, HONE_INVALID, "attribute %s of %s is given twice", attr->name, op->name);
    }
  }
  return status;
}

hone_status hn_attrs_complete(hn_arena *arena, hone_diagnostics *diag, const hone_op *op, const hone_attrs *given,
                              hone_attrs *out) {
  *out = (hone_attrs){0};
  HN_TRY(check_given(diag, op, given));
  hone_attr *items = HN_NEW(arena, hone_attr, HONE_MAX_ATTRS);
  if (!items) return HN_FAIL_MEMORY(diag);
  int count = 0;
  for (int i = 0; i < HONE_MAX_ATTRS && op->attr[i].name; ++i) {
    const hone_attr_decl *decl = &op->attr[i];
    const hone_attr *found = hn_attr_find(given, decl->name);
    const hone_attr otherwise = default_of(decl);
    if (!found && (decl->flags & HONE_ATTR_REQUIRED))
      return HN_FAIL(diag, HONE_INVALID, "%s needs attribute %s", op->name, decl->name);
    if (!found && !decl->has_default) continue;
    if (!copy_attr(arena, found ? found : &otherwise, &items[count])) return HN_FAIL_MEMORY(diag);
    items[count++].kind = decl->kind;
  }
  *out = (hone_attrs){count, items};
  return HONE_OK;
}

/* A number that no reader takes for an integer. */
static void text_float(hn_text *text, double value) {
  const size_t before = text->length;
  hn_text_double(text, value);
  if (text->failed || text->length == before) return;
  if (!strpbrk(text->data + before, ".einf")) hn_text_add(text, ".0"); /* "e" of exponents, "inf", "nan" */
}

static void text_tensor(hn_text *text, const hone_tensor *tensor) {
  hn_text_type(text, &tensor->type, NULL);
  hn_text_add(text, "{");
  const int64_t elems = hn_elems(&tensor->type.shape);
  const hone_string *strings = tensor->data;
  for (int64_t i = 0; i < elems; ++i) {
    if (i > 0) hn_text_add(text, ",");
    if (tensor->type.dtype == HONE_STRING)
      hn_text_quoted(text, strings[i].data, strings[i].length);
    else if (hn_dtype_is_float(tensor->type.dtype))
      text_float(text, hn_real(tensor, i));
    else if (tensor->type.dtype == HONE_U64)
      hn_text_printf(text, "%llu", (unsigned long long)hn_int(tensor, i));
    else
      hn_text_printf(text, "%lld", (long long)hn_int(tensor, i));
  }
  hn_text_add(text, "}");
}

static void text_item(hn_text *text, const hone_attr *attr, int64_t at) {
  if (at > 0) hn_text_add(text, ",");
  if (attr->kind == HONE_ATTR_INTS)
    hn_text_printf(text, "%lld", (long long)attr->ints[at]);
  else if (attr->kind == HONE_ATTR_FLOATS)
    text_float(text, attr->floats[at]);
  else
    hn_text_quoted(text, attr->strings[at], strlen(attr->strings[at]));
}

void hn_text_attr_value(hn_text *text, const hone_attr *attr) {
  if (is_list(attr->kind)) {
    hn_text_add(text, "[");
    for (int64_t i = 0; i < attr->count; ++i) text_item(text, attr, i);
    hn_text_add(text, "]");
    return;
  }
  switch (attr->kind) {
  case HONE_ATTR_INT: hn_text_printf(text, "%lld", (long long)attr->i); break;
  case HONE_ATTR_FLOAT: text_float(text, attr->f); break;
  case HONE_ATTR_STRING: hn_text_quoted(text, attr->s, (size_t)attr->count); break;
  case HONE_ATTR_TENSOR: text_tensor(text, attr->tensor); break;
  default: break;
  }
}

static bool is_default(const hone_op *op, const hone_attr *attr) {
  const hone_attr_decl *decl = op ? find_decl(op, attr->name) : NULL;
  if (!decl || !decl->has_default) return false;
  const hone_attr otherwise = default_of(decl);
  return attr_equal(attr, &otherwise);
}

void hn_text_attrs(hn_text *text, const hone_attrs *attrs, const hone_op *op_for_defaults_to_omit_or_null) {
  bool any = false;
  for (int i = 0; i < attrs->count; ++i) {
    const hone_attr *attr = &attrs->items[i];
    if (is_default(op_for_defaults_to_omit_or_null, attr)) continue;
    hn_text_printf(text, "%s%s=", any ? ", " : "[", attr->name);
    hn_text_attr_value(text, attr);
    any = true;
  }
  if (any) hn_text_add(text, "]");
}
