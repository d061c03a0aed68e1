/* SPDX-License-Identifier: Apache-2.0 */
/* trace_file.h - inside of --trace: the spans that are kept, and their file. */
#ifndef CLI_TRACE_FILE_H
#define CLI_TRACE_FILE_H

#include "trace.h"

typedef struct cli_trace_run {
  hone_span *spans;
  int64_t count, capacity;
} cli_trace_run;

struct cli_trace_group {
  hone_session *session; /* NULL: a build, whose names are copies */
  cli_trace_run *runs;   /* the latest, as a ring; of a build the only one */
  int room;
  int64_t seen;
  bool builds, on, failed; /* failed: out of memory */
};

int cli_trace_write_file(const cli_trace *trace, const char *path); /* exit code */

#endif
