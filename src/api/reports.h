/* SPDX-License-Identifier: Apache-2.0 */
/* reports.h - inside of api/: what reports share. */
#ifndef HN_API_REPORTS_H
#define HN_API_REPORTS_H

#include "base/json.h"
#include "report/report.h"
#include "run/session.h"

/* One report in the making: what was asked for, its memory, and where its text goes. */
typedef struct hn_report_making {
  hone_report_options options;
  hn_arena arena;
  hn_text text;
  hone_diagnostics *diag;
} hn_report_making;
void hn_report_begin(hn_report_making *making, hn_allocator allocator, hone_diagnostics *diag);
/* Sends the text when status is OK, and frees the rest. IO: it could not be written. */
hone_status hn_report_end(hn_report_making *making, hone_status status, hone_write_fn write, void *user);

/* The ledger of one schedule: of a file, or the engine's own where the path is NULL; *out NULL: there is none. Its
 * texts lie in the arena. IO, MALFORMED, INVALID. */
hone_status hn_session_ledger(const hone_session *session, const char *path, int schedule, hn_arena *arena,
                              const hn_json **out, hone_diagnostics *diag);
/* What a profile is made of, of the schedule that the options name, or that ran last. INVALID when nothing was
 * profiled. The trace is the caller's room; all else lies in the arena. */
hone_status hn_session_profile(const hone_session *session, const hone_report_options *options, hn_arena *arena,
                               hn_trace *trace, hn_profile_input *out, hone_diagnostics *diag);

#endif
