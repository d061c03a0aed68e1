/* SPDX-License-Identifier: Apache-2.0 */
/* labels.c - names of classes: kept by number, read from files of one name a line or of columns. */
#include "base/context.h"
#include "base/file.h"
#include "base/letters.h"
#include "recipe/recipe.h"
#include <string.h>

bool hn_recipe_is_text(const char *text) {
  const size_t length = strlen(text);
  for (size_t at = 0; at < length;) {
    const size_t bytes = hn_utf8_bytes((const unsigned char *)text + at, length - at);
    if (bytes == 0 || (unsigned char)text[at] < 0x20) return false;
    at += bytes;
  }
  return true;
}

hone_status hn_recipe_add_label(hone_recipe *recipe, int64_t class, const char *name) {
  hone_diagnostics *diag = &recipe->context->diag;
  if (class < 0 || class >= HN_LABEL_MOST)
    return HN_FAIL(diag, HONE_LIMIT, "class %lld; allowed: 0 to %d", (long long)class, HN_LABEL_MOST - 1);
  if (!hn_recipe_is_text(name))
    return HN_FAIL(diag, HONE_INVALID, "the name of class %lld is not UTF-8", (long long)class);
  if (class >= recipe->label_room) {
    const int64_t room = class + 1 > recipe->label_room * 2 ? class + 1 : recipe->label_room * 2;
    const char **larger = HN_NEW(&recipe->arena, const char *, room);
    if (!larger) return HN_FAIL_MEMORY(diag);
    if (recipe->label_count > 0) memcpy(larger, recipe->labels, (size_t)recipe->label_count * sizeof *larger);
    recipe->labels = larger;
    recipe->label_room = room;
  }
  recipe->labels[class] = hn_arena_text(&recipe->arena, name);
  if (!recipe->labels[class]) return HN_FAIL_MEMORY(diag);
  if (class >= recipe->label_count) recipe->label_count = class + 1;
  return HONE_OK;
}

/* One line: a name, or columns of which the last is the name and one before it the class, when it is a number. */
static hone_status add_line(hone_recipe *recipe, char *line, int64_t line_number) {
  int64_t class = line_number;
  char *name = line;
  for (char *tab; (tab = strchr(name, '\t')); name = tab + 1) {
    int64_t number = 0;
    char *digit = name;
    while (*digit >= '0' && *digit <= '9' && number < HN_LABEL_MOST) number = number * 10 + (*digit++ - '0');
    if (digit == tab && digit != name) class = number;
  }
  name += strspn(name, " ");
  return *name ? hn_recipe_add_label(recipe, class, name) : HONE_OK;
}

hone_status hn_recipe_read_labels(hone_recipe *recipe, const char *path) {
  hone_diagnostics *diag = &recipe->context->diag;
  hn_blob file;
  HN_TRY(hn_file_read(diag, recipe->context->allocator, path, &file));
  char *text = hn_arena_alloc(&recipe->arena, file.bytes + 1, 1);
  if (text) {
    if (file.bytes > 0) memcpy(text, file.data, file.bytes);
    text[file.bytes] = 0;
  }
  hn_blob_close(&file);
  if (!text) return HN_FAIL_MEMORY(diag);
  recipe->label_count = recipe->label_room = 0;
  int64_t line_number = 0;
  for (char *at = text; *at;) {
    char *stop = at + strcspn(at, "\r\n");
    char *next = stop + strspn(stop, "\r\n");
    *stop = 0;
    HN_TRY_NOTE(diag, add_line(recipe, at, line_number++), "in %s", path);
    at = next;
  }
  return HONE_OK;
}
