/* SPDX-License-Identifier: Apache-2.0 */
/* diag.c - messages in fixed storage: adding one formats in place and never allocates. */
#include "base/diag.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const status_names[] = {
    [HONE_OK] = "ok",
    [HONE_INVALID] = "invalid",
    [HONE_MALFORMED] = "malformed",
    [HONE_UNSUPPORTED] = "unsupported",
    [HONE_INCOMPATIBLE] = "incompatible",
    [HONE_NO_MEMORY] = "no memory",
    [HONE_IO] = "io",
    [HONE_DEVICE] = "device",
    [HONE_LIMIT] = "limit",
    [HONE_CANCELLED] = "cancelled",
    [HONE_INTERNAL] = "internal",
};

const char *hone_status_name(hone_status status) {
  const size_t at = (size_t)status;
  return at < HN_COUNT(status_names) ? status_names[at] : "unknown";
}

void hn_diag_init(hone_diagnostics *diag, hn_diag_entry *storage, int capacity) {
  *diag = (hone_diagnostics){.entries = storage, .capacity = capacity};
}

void hn_diag_clear(hone_diagnostics *diag) {
  diag->count = 0;
  diag->dropped = 0;
}

/* Ends a text that did not fit with "...", without leaving half of a UTF-8 character before the dots. */
static void mark_cut(char *text, size_t room) {
  size_t at = room - 4;
  while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80) --at;
  memcpy(text + at, "...", 4);
}

static void format_into(char *text, size_t room, const char *format, va_list arguments) {
  const int needed = vsnprintf(text, room, format, arguments);
  if (needed < 0) {
    text[0] = 0; /* an encoding error of the C library; the status still says what kind of failure it was */
  } else if ((size_t)needed >= room) {
    mark_cut(text, room);
  }
}

static hone_status add(hone_diagnostics *diag, hone_status status, const char *file, int line, const char *format,
                       va_list arguments) {
  if (!diag) return status;
  if (diag->count >= diag->capacity) {
    ++diag->dropped;
    return status;
  }
  hn_diag_entry *entry = &diag->entries[diag->count++];
  entry->status = status;
  entry->file = file;
  entry->line = line;
  format_into(entry->text, sizeof entry->text, format, arguments);
  return status;
}

hone_status hn_diag_add(hone_diagnostics *diag, hone_status status, const char *file, int line, const char *format,
                        ...) {
  va_list arguments;
  va_start(arguments, format);
  add(diag, status, file, line, format, arguments);
  va_end(arguments);
  return status;
}

hone_status hone_fail(hone_diagnostics *diagnostics, hone_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  add(diagnostics, status, "", 0, format, arguments);
  va_end(arguments);
  return status;
}

hone_status hone_note(hone_diagnostics *diagnostics, hone_status status, const char *format, ...) {
  /* When the newest message was dropped, a note would land under another one and mislead. */
  if (!diagnostics || diagnostics->count == 0 || diagnostics->dropped > 0) return status;
  char *text = diagnostics->entries[diagnostics->count - 1].text;
  const size_t used = strlen(text);
  const size_t room = HN_DIAG_TEXT_BYTES - used;
  if (room < 8) return status; /* full: the first lines say most */
  text[used] = '\n';
  va_list arguments;
  va_start(arguments, format);
  format_into(text + used + 1, room - 1, format, arguments);
  va_end(arguments);
  return status;
}
