/* SPDX-License-Identifier: Apache-2.0 */
/* reports.h - inside of api/: what reports of a session's runs share. */
#ifndef HN_API_REPORTS_H
#define HN_API_REPORTS_H

#include "report/report.h"
#include "run/session.h"

/* What a profile is made of, of the schedule that the options name, or that ran last. INVALID when nothing was
 * profiled. The trace is the caller's room; all else lies in the arena. */
hone_status hn_session_profile(const hone_session *session, const hone_report_options *options, hn_arena *arena,
                               hn_trace *trace, hn_profile_input *out, hone_diagnostics *diag);

#endif
