/* SPDX-License-Identifier: Apache-2.0 */
/* status.h - what every fallible call returns: one code for each thing a caller can do about it. */
#ifndef HONE_STATUS_H
#define HONE_STATUS_H

#if defined(_WIN32)
#define HONE_API
#else
#define HONE_API __attribute__((visibility("default")))
#endif
#define HONE_CHECKED __attribute__((warn_unused_result))
#define HONE_PRINTF(text, first) __attribute__((format(printf, text, first)))

/* A struct with its struct_size set and all else zero: hone_port_info port = HONE_SIZED(hone_port_info); */
#if defined(__cplusplus)
#define HONE_SIZED(type)                                                                                               \
  ([] {                                                                                                                \
    type made = type();                                                                                                \
    made.struct_size = sizeof made;                                                                                    \
    return made;                                                                                                       \
  }())
#else
#define HONE_SIZED(type) ((type){.struct_size = sizeof(type)})
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hone_status {
  HONE_OK = 0,
  HONE_INVALID = 1,      /* fix your call */
  HONE_MALFORMED = 2,    /* fix the file */
  HONE_UNSUPPORTED = 3,  /* choose another device, or add an op */
  HONE_INCOMPATIBLE = 4, /* rebuild the engine */
  HONE_NO_MEMORY = 5,    /* on the host or the device */
  HONE_IO = 6,           /* the operating system refused a file */
  HONE_DEVICE = 7,       /* close the device and open it again */
  HONE_LIMIT = 8,        /* raise the limit or the deadline */
  HONE_CANCELLED = 9,    /* the cancel flag was set */
  HONE_INTERNAL = 10     /* our bug */
} hone_status;

/* Of every public function: a pointer that must be given and is NULL, and an option, index or enum out of its range, is
 * INVALID with a message (in the list that the call is given, or the context's or session's). Functions that return
 * values instead return 0, NULL or -1, and those without a result do nothing. Options may be NULL (all defaults), and
 * may be of an older program: a smaller struct_size, down to the first version's, leaves the newer fields zero. A
 * larger one is INVALID. Structs that the library fills in begin with struct_size, too, which the caller sets
 * (HONE_SIZED): no more than that is written, and another size is INVALID. Both kinds grow at their ends alone. So do
 * structs that callbacks are shown. Others (shapes, types, tensors, entries of lists) never change. Counts and limits
 * are not negative, and real numbers are finite, where nothing else is said.
 */

/* The code's name in lower case words, e.g. "malformed". Static storage. */
HONE_API const char *hone_status_name(hone_status status);

/* For "did you mean": of all names that there are, the nearest to one that is none of them. Begin with NULL as the best
 * and give every name in turn: the result is the best so far. Names with more than a few wrong letters are not near;
 * case does not count. Of equals the first stays. */
HONE_API const char *hone_nearest_name(const char *wanted, const char *best, const char *name);

/* A list of messages with a fixed capacity; adding one never allocates. Later messages than fit are counted only.
 * Everything that fails says why in such a list, and each is read by the same functions: the context's
 * (hone_context_diagnostics) of calls that are given a context or a graph, the session's (hone_session_diagnostics) of
 * calls that are given a session, and the one that a call is given. One list may serve for all calls of a thread. */
typedef struct hone_diagnostics hone_diagnostics;

/* A list of the caller's own, with room for 64 messages. Errors: INVALID, NO_MEMORY. */
HONE_API HONE_CHECKED hone_status hone_diagnostics_create(hone_diagnostics **out_diagnostics);
/* Of what hone_diagnostics_create() gave, no other. NULL is fine. */
HONE_API void hone_diagnostics_destroy(hone_diagnostics *diagnostics);
/* Messages that are there, oldest first; 0 for NULL. */
HONE_API int hone_diagnostics_count(const hone_diagnostics *diagnostics);
/* Borrowed until the list changes; NULL: there is no such message. out_status may be NULL. */
HONE_API const char *hone_diagnostics_message(const hone_diagnostics *diagnostics, int index, hone_status *out_status);
/* How many messages found no room. */
HONE_API int hone_diagnostics_dropped(const hone_diagnostics *diagnostics);
HONE_API void hone_diagnostics_clear(hone_diagnostics *diagnostics);

/* Adds one message and returns status, so that a function can end with `return hone_fail(...)`.
 * diagnostics  may be NULL: the message is dropped, the code stays. */
HONE_API hone_status hone_fail(hone_diagnostics *diagnostics, hone_status status, const char *format, ...)
    HONE_PRINTF(3, 4);

/* Adds a line that says where the newest message happened, e.g. "in node prob (softmax)". Returns status. */
HONE_API hone_status hone_note(hone_diagnostics *diagnostics, hone_status status, const char *format, ...)
    HONE_PRINTF(3, 4);

#ifdef __cplusplus
}
#endif
#endif
