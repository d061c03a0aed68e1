/* SPDX-License-Identifier: Apache-2.0 */
/* stop.h - what ends a call before its work is done: the caller's flag, and a deadline. Whoever works long asks it;
 * what was skipped once stays skipped, so that the call's end always hears of it. */
#ifndef HN_BASE_STOP_H
#define HN_BASE_STOP_H

#include "base/diag.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct hn_stop {
  const atomic_bool *cancel; /* borrowed; NULL: never */
  int64_t allowed_ms;        /* of each call; 0: no deadline */
  int64_t deadline_ns;       /* on hn_clock_ns(), of the running call; 0: none */
  atomic_int reason;         /* HONE_OK, else why this call ends */
} hn_stop;

/* A call begins: its time counts from now, and nothing has been skipped. */
void hn_stop_begin(hn_stop *stop);
/* Looks at the flag and the clock. */
hone_status hn_stop_look(hn_stop *stop);

/* Can anything end the call? NULL: no. */
static inline bool hn_stop_armed(const hn_stop *stop) { return stop && (stop->cancel || stop->deadline_ns != 0); }

/* Must the work end? Any thread may ask, some 30 ns with a deadline. */
static inline bool hn_stop_now(hn_stop *stop) { return hn_stop_armed(stop) && hn_stop_look(stop) != HONE_OK; }

/* The same in a loop whose turns are short: asks in every 4096th. */
static inline bool hn_stop_at(hn_stop *stop, int64_t turn) { return (turn & 0xfff) == 0 && hn_stop_now(stop); }

/* CANCELLED or LIMIT, with a message, when the work must end or parts of it were skipped. */
hone_status hn_stop_check(hn_stop *stop, hone_diagnostics *diag);

/* memset to 0 and memcpy, which take seconds when there is much of it; false: stopped before the end. */
bool hn_stop_clear(hn_stop *stop, void *data, size_t bytes);
bool hn_stop_copy(hn_stop *stop, void *to, const void *from, size_t bytes);

#endif
