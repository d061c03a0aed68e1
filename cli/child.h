/* SPDX-License-Identifier: Apache-2.0 */
/* child.h - programs that the tool runs beside itself, and the temporary folder that they share with it. */
#ifndef CLI_CHILD_H
#define CLI_CHILD_H

#include "cli.h"

/* The arguments of a program, the first its path; texts that are made here are freed by cli_arguments_drop(). */
enum { CLI_MOST_ARGUMENTS = 1024 };
typedef struct cli_arguments {
  const char *items[CLI_MOST_ARGUMENTS]; /* ends with NULL */
  char *made[CLI_MOST_ARGUMENTS];
  int count, made_count;
} cli_arguments;
void cli_arguments_add(cli_arguments *a, const char *text); /* borrowed */
void cli_arguments_pair(cli_arguments *a, const char *before, const char *name,
                        const char *value);                  /* "--" NAME=VALUE */
void cli_arguments_flag(cli_arguments *a, const char *name); /* --NAME */
void cli_arguments_drop(cli_arguments *a);

/* Runs a program and waits. Its standard output and error go to `log` (NULL: error to ours, output nowhere). *out_code:
 * its exit code, or 128 + the signal that ended it. 127: there is no such program. Exit code. An interrupt of ours, or
 * the deadline, kills the child. limit_ms: after it the child is killed, *out_code is 128 + 9; 0: none. */
int cli_child_run(const char *const *arguments, const char *log, int64_t limit_ms, int *out_code);

/* A new folder for temporary files; cli_temporary_drop() removes it and what is in it. Exit code. */
int cli_temporary_make(char *room, size_t bytes);
void cli_temporary_drop(const char *folder);

/* The path of this tool. */
const char *cli_own_path(char *room, size_t bytes);

#endif
