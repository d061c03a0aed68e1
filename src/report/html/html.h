/* SPDX-License-Identifier: Apache-2.0 */
/* html.h - inside of report/: the page, put together from embedded files and the JSON of the other reports. */
#ifndef HN_REPORT_HTML_H
#define HN_REPORT_HTML_H

#include "base/json.h"
#include <hone/html.h>

/* Each is a JSON text of another report, or NULL: then the page has no such section. */
typedef struct hn_html_input {
  const char *title;   /* the engine's name */
  const char *plain;   /* the profile as text, for readers without scripts */
  const char *command; /* what made it; NULL */
  const char *made;    /* when: "2026-01-31 12:00 UTC"; NULL */
  const char *profile, *engine, *memory, *roofline, *before, *advice;
  const hn_json *explained; /* what hone_report_explain() writes */
  const hone_facts *facts;  /* of the first device */
  const char *isa;          /* its instruction sets; "" for a GPU */
  const hone_span *spans;
  int64_t span_count;
} hn_html_input;

/* The whole page. NO_MEMORY. */
hone_status hn_html_write(const hn_html_input *input, hn_arena *arena, hn_text *out);

/* An object "ledger" (ledger.c): what a ledger repeats stands once. {"texts": [...], "rows": [[tactic, provider, in,
 * out, params, state, reason, estimate_ns, time_ns, low_ns, high_ns, runs, error, bound], ...], "nodes": [{...,
 * "candidates": [row, ...]}, ...]}: names and reasons are places in texts, candidates places in rows, null is what was
 * not said. */
hone_status hn_html_put_ledger(const hn_json *explained, hn_arena *arena, hn_json_writer *writer);

#endif
