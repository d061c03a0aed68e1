/* SPDX-License-Identifier: Apache-2.0 */
/* html.h - one self-contained page that shows all that the reports tell of an engine, for any browser. */
#ifndef HONE_HTML_H
#define HONE_HTML_H

#include <hone/report.h>
#include <hone/span.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the page shows beyond the session's own profile; each part that is left out has no section. Borrowed. */
typedef struct hone_html_options {
  uint32_t struct_size;
  const char *ledger_path; /* as in hone_report_explain; NULL: the engine's own, when it was built in this process */
  const hone_span *spans;  /* of one run with profiling on (hone_session_options.on_span), for the timeline */
  int64_t span_count;
  const char *before_path; /* JSON of hone_report_profile, of an earlier engine of the same model, to show beside */
  const char *advice;      /* JSON of the advice on this engine, {"advice": [...], ...} */
  const char *command;     /* what made the page, as one would type it again */
  bool one_schedule;       /* schedule number `schedule`; else the one that ran last */
  int schedule;
  bool cold;                                  /* as in hone_report_options */
  double unprofiled_ns, unprofiled_device_ns; /* as there, too */
} hone_html_options;

/* Writes the page of a session that ran with profiling on: the machine, totals, before and after, advice, layers,
 * classes, roofline, timeline, memory, the graph with what each step fuses, the tactics that were tried, and errors. It
 * holds the JSON of hone_report_profile, _engine, _memory, _roofline and _explain, with each tactic and reason of the
 * last written once, and asks no network. The file is replaced when it is complete. Roofs are those of the first
 * device's facts (hone_device_measure).
 *
 * Threads   as hone_report_profile.
 * Errors    INVALID    nothing was profiled, or the ledger is of another build
 *           IO         a file cannot be read or written; what was there before stays
 *           MALFORMED  the ledger, the earlier profile or the advice; the message names which */
HONE_API HONE_CHECKED hone_status hone_report_html(const hone_session *session, const char *path,
                                                   const hone_html_options *options, hone_diagnostics *diag);

#ifdef __cplusplus
}
#endif
#endif
