/* SPDX-License-Identifier: Apache-2.0 */
/* read_parts.c - small pieces of an engine file's header: lists, names, numbers, shapes, each checked. */
#include "plan/reader.h"
#include <string.h>

hone_status hn_read_list(hn_plan_reader *reader, const hn_json *object, const char *key, size_t item_bytes,
                         const hn_json **out_items, int *out_count, void **out_room) {
  const hn_json *list;
  *out_count = 0;
  HN_TRY(hn_json_array(object, key, &list, reader->diag));
  if (list->length > HN_PLAN_MAX_ITEMS)
    return HN_FAIL(reader->diag, HONE_MALFORMED, "%s has %zu items; at most %d are read", key, list->length,
                   HN_PLAN_MAX_ITEMS);
  *out_room = hn_arena_zero(reader->arena, list->length ? list->length : 1, item_bytes);
  if (!*out_room) return HN_FAIL_MEMORY(reader->diag);
  *out_items = list->items;
  *out_count = (int)list->length;
  return HONE_OK;
}

static hone_status copy_text(hn_plan_reader *reader, const hn_json *value, const char *key, const char **out) {
  if (value->kind != HN_JSON_STRING || strlen(value->string) != value->length)
    return HN_FAIL(reader->diag, HONE_MALFORMED, "%s is not a plain text", key);
  *out = hn_arena_text(reader->arena, value->string);
  return *out ? HONE_OK : HN_FAIL_MEMORY(reader->diag);
}

hone_status hn_read_text(hn_plan_reader *reader, const hn_json *object, const char *key, const char **out) {
  const hn_json *value = hn_json_get(object, key);
  if (!value) return HN_FAIL(reader->diag, HONE_MALFORMED, "%s is missing", key);
  return copy_text(reader, value, key, out);
}

hone_status hn_read_int(hn_plan_reader *reader, const hn_json *object, const char *key, int64_t low, int64_t high,
                        int64_t otherwise, int64_t *out) {
  *out = otherwise;
  return hn_json_get(object, key) ? hn_json_int(object, key, low, high, out, reader->diag) : HONE_OK;
}

hone_status hn_read_names(hn_plan_reader *reader, const hn_json *object, const char *key, int *out_count,
                          const char *const **out) {
  const hn_json *items;
  void *room;
  HN_TRY(hn_read_list(reader, object, key, sizeof(char *), &items, out_count, &room));
  const char **names = room;
  for (int i = 0; i < *out_count; ++i) HN_TRY(copy_text(reader, &items[i], key, &names[i]));
  *out = names;
  return HONE_OK;
}

hone_status hn_read_ints(hn_plan_reader *reader, const hn_json *object, const char *key, int64_t low, int64_t high,
                         int *out_count, int **out) {
  const hn_json *items;
  void *room;
  *out_count = 0;
  *out = NULL;
  if (!hn_json_get(object, key)) return HONE_OK;
  HN_TRY(hn_read_list(reader, object, key, sizeof(int), &items, out_count, &room));
  int *numbers = room;
  for (int i = 0; i < *out_count; ++i) {
    if (items[i].kind != HN_JSON_INT || items[i].i < low || items[i].i > high)
      return HN_FAIL(reader->diag, HONE_MALFORMED, "%s[%d] is not a number from %lld to %lld", key, i, (long long)low,
                     (long long)high);
    numbers[i] = (int)items[i].i;
  }
  *out = numbers;
  return HONE_OK;
}

static hone_status read_dim(hn_plan_reader *reader, const hn_json *item, const char *key, int64_t *out) {
  hone_dims *dims = &reader->plan->dims;
  if (item->kind == HN_JSON_INT && item->i >= 0 && item->i <= INT64_MAX / 64) {
    *out = item->i;
    return HONE_OK;
  }
  const int symbols = dims->symbol_count;
  if (item->kind != HN_JSON_STRING || !hn_dim_parse(dims, item->string, item->length, out) || dims->failed)
    return HN_FAIL(reader->diag, HONE_MALFORMED, "%s has a dim that is neither a number >= 0 nor an expression", key);
  if (dims->symbol_count != symbols)
    return HN_FAIL(reader->diag, HONE_MALFORMED, "%s names %s, which is not among the symbols", key,
                   dims->symbols[symbols].name);
  return HONE_OK;
}

hone_status hn_read_shape(hn_plan_reader *reader, const hn_json *object, const char *key, hone_shape *out) {
  const hn_json *value = hn_json_get(object, key);
  *out = (hone_shape){.rank = -1};
  if (value && value->kind == HN_JSON_NULL) return HONE_OK;
  const hn_json *list;
  HN_TRY(hn_json_array(object, key, &list, reader->diag));
  if (list->length > HONE_MAX_RANK)
    return HN_FAIL(reader->diag, HONE_MALFORMED, "%s has rank %zu; at most %d is known", key, list->length,
                   HONE_MAX_RANK);
  out->rank = (int32_t)list->length;
  for (int i = 0; i < out->rank; ++i) HN_TRY(read_dim(reader, &list->items[i], key, &out->dim[i]));
  return HONE_OK;
}
