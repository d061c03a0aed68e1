/* SPDX-License-Identifier: Apache-2.0 */
/* list.c - whole copies of values that point to other memory. Everything in a copy begins at a multiple of 64. */
#include "tensor/list.h"
#include "base/checked.h"
#include "tensor/shape.h"
#include <string.h>

enum { LINE = 64 };

/* false: too large */
static bool add_lines(size_t *total, size_t bytes) {
  size_t lines;
  if (!hn_add_size(bytes, LINE - 1, &lines)) return false;
  return hn_add_size(*total, lines & ~(size_t)(LINE - 1), total);
}

bool hn_value_copy_bytes(const hone_tensor *value, size_t *out) {
  size_t own;
  *out = 0;
  if (!hn_held_bytes(&value->type, &own) || !add_lines(out, own)) return false;
  const int64_t count = hn_elems(&value->type.shape);
  if (value->type.kind != HONE_TENSOR) {
    for (int64_t i = 0; i < count; ++i) {
      size_t item;
      if (!hn_value_copy_bytes(&hn_list_items(value)[i], &item) || !add_lines(out, item)) return false;
    }
  } else if (value->type.dtype == HONE_STRING) {
    size_t text = 0;
    for (int64_t i = 0; i < count; ++i)
      if (!hn_add_size(text, ((const hone_string *)value->data)[i].length, &text)) return false;
    return add_lines(out, text);
  }
  return true;
}

static size_t in_lines(size_t bytes) { return (bytes + LINE - 1) & ~(size_t)(LINE - 1); }

void hn_value_copy(const hone_tensor *value, void *block, hone_tensor *out) {
  size_t own = 0;
  const int64_t count = hn_elems(&value->type.shape);
  (void)hn_held_bytes(&value->type, &own);
  *out = (hone_tensor){.type = value->type, .data = block, .bytes = own};
  (void)hn_value_copy_bytes(value, &out->bytes);
  char *behind = (char *)block + in_lines(own);
  if (value->type.kind != HONE_TENSOR) {
    hone_tensor *items = block;
    for (int64_t i = 0; i < count; ++i) {
      hn_value_copy(&hn_list_items(value)[i], behind, &items[i]);
      behind += in_lines(items[i].bytes);
    }
  } else if (value->type.dtype == HONE_STRING) {
    const hone_string *from = value->data;
    hone_string *to = block;
    for (int64_t i = 0; i < count; ++i) {
      if (from[i].length > 0) memcpy(behind, from[i].data, from[i].length);
      to[i] = (hone_string){behind, from[i].length};
      behind += from[i].length;
    }
  } else if (own > 0) {
    memcpy(block, value->data, own);
  }
}
