/* SPDX-License-Identifier: Apache-2.0 */
/* stop.c - the flag and the deadline of a call. */
#include "base/stop.h"
#include "base/clock.h"
#include <string.h>

enum { BYTES_AT_ONCE = 1 << 20 }; /* fresh pages may take 16 us each: 4 ms */

void hn_stop_begin(hn_stop *stop) {
  const int64_t now_ns = hn_clock_ns(), most_ms = (INT64_MAX - now_ns) / 1000000;
  stop->deadline_ns = 0;
  if (stop->allowed_ms > 0)
    stop->deadline_ns = now_ns + 1000000 * (stop->allowed_ms < most_ms ? stop->allowed_ms : most_ms);
  atomic_store_explicit(&stop->reason, HONE_OK, memory_order_relaxed);
}

hone_status hn_stop_look(hn_stop *stop) {
  int reason = atomic_load_explicit(&stop->reason, memory_order_relaxed);
  if (reason != HONE_OK) return (hone_status)reason;
  if (stop->cancel && atomic_load_explicit(stop->cancel, memory_order_relaxed))
    reason = HONE_CANCELLED;
  else if (stop->deadline_ns != 0 && hn_clock_ns() >= stop->deadline_ns)
    reason = HONE_LIMIT;
  if (reason != HONE_OK) atomic_store_explicit(&stop->reason, reason, memory_order_relaxed);
  return (hone_status)reason;
}

hone_status hn_stop_check(hn_stop *stop, hone_diagnostics *diag) {
  if (!hn_stop_now(stop)) return HONE_OK;
  if (atomic_load_explicit(&stop->reason, memory_order_relaxed) == HONE_CANCELLED)
    return HN_FAIL(diag, HONE_CANCELLED, "cancelled by the caller");
  return HN_FAIL(diag, HONE_LIMIT, "the deadline of %lld ms has passed", (long long)stop->allowed_ms);
}

static size_t bytes_at_once(size_t left) { return left < BYTES_AT_ONCE ? left : BYTES_AT_ONCE; }

bool hn_stop_clear(hn_stop *stop, void *data, size_t bytes) {
  for (size_t at = 0; at < bytes; at += BYTES_AT_ONCE) {
    if (hn_stop_now(stop)) return false;
    memset((char *)data + at, 0, bytes_at_once(bytes - at));
  }
  return true;
}

bool hn_stop_copy(hn_stop *stop, void *to, const void *from, size_t bytes) {
  for (size_t at = 0; at < bytes; at += BYTES_AT_ONCE) {
    if (at > 0 && hn_stop_now(stop)) return false;
    memcpy((char *)to + at, (const char *)from + at, bytes_at_once(bytes - at));
  }
  return true;
}
