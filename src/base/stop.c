/* SPDX-License-Identifier: Apache-2.0 */
/* stop.c - the flag and the deadline of a call. */
#include "base/stop.h"
#include "base/clock.h"
#include <string.h>

enum { CLEARED_AT_ONCE = 16 << 20 };

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

bool hn_stop_clear(hn_stop *stop, void *data, size_t bytes) {
  for (size_t at = 0; at < bytes; at += CLEARED_AT_ONCE) {
    if (hn_stop_now(stop)) return false;
    memset((char *)data + at, 0, bytes - at < CLEARED_AT_ONCE ? bytes - at : CLEARED_AT_ONCE);
  }
  return true;
}
