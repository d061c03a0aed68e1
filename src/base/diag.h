/* SPDX-License-Identifier: Apache-2.0 */
/* diag.h - the list of messages behind a status. Its storage is fixed, so that complaining never allocates.
 * Invariant: a function that returns another code than OK has added at least one message; OK adds none. */
#ifndef HN_BASE_DIAG_H
#define HN_BASE_DIAG_H

#include <hone/status.h>
#include <stdbool.h>
#include <stddef.h>

enum { HN_DIAG_TEXT_BYTES = 480 };

typedef struct hn_diag_entry {
  hone_status status;
  const char *file; /* of our source; static */
  int line;
  char text[HN_DIAG_TEXT_BYTES]; /* cut with "..." when longer; notes are appended after a newline */
} hn_diag_entry;

struct hone_diagnostics {
  hn_diag_entry *entries; /* capacity of them, given at init */
  int capacity;
  int count;                            /* stored */
  int dropped;                          /* not stored for want of room */
  const struct hn_memory_limit *memory; /* that messages of NO_MEMORY name when it was the reason; NULL: none */
};

void hn_diag_init(hone_diagnostics *diag, hn_diag_entry *storage, int capacity);
void hn_diag_clear(hone_diagnostics *diag);
/* Adds another list's messages as they are. to may be NULL. */
void hn_diag_hand_over(const hone_diagnostics *from, hone_diagnostics *to);
void hn_diag_cut(hone_diagnostics *diag, int count); /* forgets messages from number `count` on */
/* Messages from number `first` on that have one status get another. */
void hn_diag_restate(hone_diagnostics *diag, int first, hone_status from, hone_status to);
hone_status hn_diag_add(hone_diagnostics *diag, hone_status status, const char *file, int line, const char *format, ...)
    HONE_PRINTF(5, 6);

/* Adds a message and is the status: `return HN_FAIL(diag, HONE_MALFORMED, "axis %d ...", axis);` diag may be NULL. */
#define HN_FAIL(diag, status, ...) hn_diag_add((diag), (status), __FILE__, __LINE__, __VA_ARGS__)
#define HN_FAIL_MEMORY(diag) HN_FAIL((diag), HONE_NO_MEMORY, "out of memory")

/* Propagates anything but OK. */
#define HN_TRY(call)                                                                                                   \
  do {                                                                                                                 \
    const hone_status hn_try_status = (call);                                                                          \
    if (hn_try_status != HONE_OK) return hn_try_status;                                                                \
  } while (0)
/* The same, adding where it happened: HN_TRY_NOTE(diag, call, "in node %s", name). */
#define HN_TRY_NOTE(diag, call, ...)                                                                                   \
  do {                                                                                                                 \
    const hone_status hn_try_status = (call);                                                                          \
    if (hn_try_status != HONE_OK) return hone_note((diag), hn_try_status, __VA_ARGS__);                                \
  } while (0)
/* The same where the result says in words why something is declined; NULL: it is not. */
#define HN_TRY_REASON(call)                                                                                            \
  do {                                                                                                                 \
    const char *const hn_try_reason = (call);                                                                          \
    if (hn_try_reason) return hn_try_reason;                                                                           \
  } while (0)

#define HN_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
