/* SPDX-License-Identifier: Apache-2.0 */
/* span.h - telling spans of time as they end; nothing is done while nobody listens. */
#ifndef HN_BASE_SPAN_H
#define HN_BASE_SPAN_H

#include "base/clock.h"
#include <hone/span.h>

typedef struct hn_spans {
  hone_span_fn tell; /* NULL: nobody listens */
  void *user;
  int schedule;
} hn_spans;

static inline int64_t hn_span_begin(const hn_spans *spans) { return spans->tell ? hn_clock_ns() : 0; }

/* Of a build: begin_ns is what hn_span_begin() gave. */
static inline void hn_span_end(const hn_spans *spans, hone_span_kind kind, const char *name, int64_t begin_ns,
                               int64_t parts) {
  if (!spans->tell) return;
  const hone_span span = {.kind = kind,
                          .name = name,
                          .begin_ns = begin_ns,
                          .end_ns = hn_clock_ns(),
                          .schedule = spans->schedule,
                          .step = -1,
                          .device = -1,
                          .parts = parts};
  spans->tell(spans->user, &span);
}

#endif
