/* SPDX-License-Identifier: Apache-2.0 */
/* debug.h - inside of --debug-tensor and --check-nan: names, and what is done with the values. */
#ifndef CLI_DEBUG_H
#define CLI_DEBUG_H

#include "cli.h"

enum { CLI_MAX_DEBUG = 128 };
typedef struct cli_debug_name {
  char tap[512];   /* as the session's options want it */
  char file[1024]; /* "": none */
  char value[512]; /* the value that was asked for, when tap names the node that writes it; else "" */
} cli_debug_name;

/* One run that is looked at. */
typedef struct cli_debug {
  cli_tool *cli;
  const cli_model *model;
  cli_debug_name names[CLI_MAX_DEBUG];
  int count;
  bool all, checks, infinities; /* every value is shown; those that are not finite stop the run; infinities are fine */
  const char *folder;           /* for every value; NULL: none */
  FILE *to;                     /* of the lines, or of the items of a JSON list that the caller has begun */
  bool json;
  int64_t shown, seen;
  int code; /* why the run was stopped */
} cli_debug;

bool cli_debugs(const cli_tool *cli);            /* does the command look at values, and was it asked to? */
int cli_debug_read(cli_debug *debug);            /* the options; exit code */
bool cli_debug_is_fused(const cli_debug *debug); /* is a node asked for that went into a step? */
/* Reads the options and opens a session with their taps. to and json may be set before it runs. Exit code. */
int cli_debug_open(cli_tool *cli, const cli_model *model, cli_debug *debug, hone_session **out_session);
/* Runs once: prints, writes, checks. As JSON: the rest of the list, "]", and ", \"check_nan\": {...}" where asked for.
 * Exit code; CLI_EXIT_CHECK_FAILED: a value is not finite. */
int cli_debug_run(cli_debug *debug, hone_session *session);

#endif
