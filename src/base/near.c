/* SPDX-License-Identifier: Apache-2.0 */
/* near.c - "did you mean": the names that are least unlike a mistyped one. */
#include "base/text.h"
#include <string.h>
#include <strings.h>

static bool contains(const char *name, const char *part, size_t length) {
  for (; strlen(name) >= length; ++name)
    if (strncasecmp(name, part, length) == 0) return true;
  return false;
}

bool hn_is_near(const char *wanted, const char *name) {
  const size_t length = strlen(wanted), wrong_letters = length < 3 ? 1 : length < 8 ? 2 : 3;
  return hn_text_unlike(wanted, length, name) <= 2 * wrong_letters || (length >= 3 && contains(name, wanted, length));
}

const char *hone_nearest_name(const char *wanted, const char *best, const char *name) {
  if (!wanted || !name || !hn_is_near(wanted, name)) return best;
  const size_t length = strlen(wanted);
  return best && hn_text_unlike(wanted, length, best) <= hn_text_unlike(wanted, length, name) ? best : name;
}

void hn_near_add(hn_near *near, const char *name) {
  const size_t unlike = hn_text_unlike(near->wanted, near->length, name);
  int at = near->count;
  for (int i = 0; i < near->count; ++i)
    if (strcmp(near->names[i], name) == 0) return;
  while (at > 0 && near->unlike[at - 1] > unlike) --at;
  if (at == HN_NEAR_MOST) return;
  if (near->count < HN_NEAR_MOST) ++near->count;
  const size_t moved = (size_t)(near->count - 1 - at);
  memmove(&near->names[at + 1], &near->names[at], moved * sizeof near->names[0]);
  memmove(&near->unlike[at + 1], &near->unlike[at], moved * sizeof near->unlike[0]);
  near->names[at] = name;
  near->unlike[at] = unlike;
}

void hn_near_tell(const hn_near *near, hn_text *out) {
  for (int i = 0; i < near->count; ++i) hn_text_printf(out, "%s%s", i ? ", " : "; near it: ", near->names[i]);
}
