/* SPDX-License-Identifier: Apache-2.0 */
/* diag.c - messages in fixed storage: adding one formats in place and never allocates. */
#include "base/diag.h"
#include "base/memory.h"
#include <inttypes.h>
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

void hn_diag_hand_over(const hone_diagnostics *from, hone_diagnostics *to) {
  for (int i = 0; to && i < from->count; ++i) {
    if (to->count < to->capacity)
      to->entries[to->count++] = from->entries[i];
    else
      ++to->dropped;
  }
}

void hn_diag_cut(hone_diagnostics *diag, int count) {
  if (diag->count <= count) return;
  diag->count = count;
  diag->dropped = 0; /* there was room when number `count` came */
}

void hn_diag_restate(hone_diagnostics *diag, int first, hone_status from, hone_status to) {
  for (int i = first; i < diag->count; ++i)
    if (diag->entries[i].status == from) diag->entries[i].status = to;
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

static void name_memory_limit(const hone_diagnostics *diag, char *text) {
  const uint64_t most_bytes = hn_memory_limit_hit(diag->memory);
  const size_t used = strlen(text);
  if (most_bytes)
    snprintf(text + used, HN_DIAG_TEXT_BYTES - used,
             ": the memory limit is %" PRIu64 " bytes (memory_limit_bytes, --memory-limit)", most_bytes);
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
  if (!format) format = "(no message)";
  format_into(entry->text, sizeof entry->text, format, arguments);
  if (status == HONE_NO_MEMORY) name_memory_limit(diag, entry->text);
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
  if (!diagnostics || !format || diagnostics->count == 0 || diagnostics->dropped > 0) return status;
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

enum { OWN_MESSAGES = 64 };

hone_status hone_diagnostics_create(hone_diagnostics **out_diagnostics) {
  if (!out_diagnostics) return HONE_INVALID;
  const hn_allocator allocator = hn_allocator_default();
  const size_t bytes = sizeof(hone_diagnostics) + OWN_MESSAGES * sizeof(hn_diag_entry);
  hone_diagnostics *diag = *out_diagnostics = hn_alloc(&allocator, bytes);
  if (!diag) return HONE_NO_MEMORY;
  hn_diag_init(diag, (hn_diag_entry *)(diag + 1), OWN_MESSAGES);
  return HONE_OK;
}

void hone_diagnostics_destroy(hone_diagnostics *diagnostics) {
  const hn_allocator allocator = hn_allocator_default();
  hn_free(&allocator, diagnostics, sizeof(hone_diagnostics) + OWN_MESSAGES * sizeof(hn_diag_entry));
}

int hone_diagnostics_count(const hone_diagnostics *diagnostics) { return diagnostics ? diagnostics->count : 0; }
int hone_diagnostics_dropped(const hone_diagnostics *diagnostics) { return diagnostics ? diagnostics->dropped : 0; }

const char *hone_diagnostics_message(const hone_diagnostics *diagnostics, int index, hone_status *out_status) {
  if (!diagnostics || index < 0 || index >= diagnostics->count) return NULL;
  if (out_status) *out_status = diagnostics->entries[index].status;
  return diagnostics->entries[index].text;
}

void hone_diagnostics_clear(hone_diagnostics *diagnostics) {
  if (diagnostics) hn_diag_clear(diagnostics);
}
