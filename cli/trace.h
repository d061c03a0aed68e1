/* SPDX-License-Identifier: Apache-2.0 */
/* trace.h - --trace FILE: what ran when, in the Trace Event Format that Perfetto and chrome://tracing read. */
#ifndef CLI_TRACE_H
#define CLI_TRACE_H

#include "cli.h"

/* One process of the file: a session's runs, or a build. Filled by one thread. */
typedef struct cli_trace_group cli_trace_group;
typedef struct cli_trace {
  cli_tool *cli;
  cli_trace_group *groups;
  int count; /* 0: neither --trace nor --html, whose timeline is made of a trace's run */
} cli_trace;

extern const cli_option cli_trace_options[];

/* Exit code. Without --trace and --html there are no groups. */
int cli_trace_open(cli_tool *cli, int groups, cli_trace *trace);
cli_trace_group *cli_trace_group_at(const cli_trace *trace, int number); /* NULL without groups */
void cli_trace_close(cli_trace *trace);                                  /* before the sessions' engines are gone */

/* A session whose profiled runs go to the group while it is on; group NULL: as cli_open_session(). */
hone_status cli_open_traced_session(cli_tool *cli, hone_engine *engine, cli_trace_group *group, hone_session **out);
void cli_trace_turn(cli_trace_group *group, bool on); /* on at first; NULL is fine */
/* As many runs as the file keeps, for the trace alone. Exit code. */
int cli_trace_runs(cli_tool *cli, cli_trace_group *group);

/* A build's spans: a hone_span_fn, user is the group; and phases of the tool's own. */
void cli_trace_span(void *user, const hone_span *span);
int64_t cli_trace_now(void);                                                      /* on the spans' clock */
void cli_trace_phase(cli_trace_group *group, const char *name, int64_t begin_ns); /* it ends now; NULL is fine */

/* Where --trace is given: writes the file under another name first. Exit code. */
int cli_trace_write(const cli_trace *trace);

/* ---- --html FILE (html.c) ---- */
extern const cli_option cli_html_options[];

/* What a profile has measured beside the session. */
typedef struct cli_html_facts {
  bool cold;
  double unprofiled_ns, unprofiled_device_ns;
  const char *ledger_path; /* beside the engine's file; NULL: none is there, or it was built here and has its own */
  const hone_graph *graph; /* the model, where it was built from one: advice looks for its defects; NULL: not */
} cli_html_facts;
/* Where --html is given: writes the page. Exit code. */
int cli_html_write(cli_tool *cli, const hone_session *session, const cli_trace_group *group,
                   const cli_html_facts *facts);
/* Are the options that go with --html given without it? Exit code. */
int cli_html_check(const cli_tool *cli);

#endif
