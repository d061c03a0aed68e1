/* SPDX-License-Identifier: Apache-2.0 */
/* message.c - what the tool says: errors and notes on stderr, results in files. */
#include "cli.h"
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *on_terminal(const char *sequence) {
  const char *no_color = getenv("NO_COLOR");
  return isatty(STDERR_FILENO) && !(no_color && *no_color) ? sequence : "";
}

const char *cli_red(void) { return on_terminal("\033[31m"); }
const char *cli_yellow(void) { return on_terminal("\033[33m"); }
const char *cli_bold(void) { return on_terminal("\033[1m"); }
const char *cli_plain(void) { return on_terminal("\033[0m"); }

void cli_error(const char *format, ...) {
  va_list list;
  va_start(list, format);
  fprintf(stderr, "%shone:%s ", cli_red(), cli_plain());
  vfprintf(stderr, format, list);
  fputc('\n', stderr);
  va_end(list);
}

void cli_note(const cli_tool *cli, const char *format, ...) {
  if (cli->quiet) return;
  va_list list;
  va_start(list, format);
  vfprintf(stderr, format, list);
  fputc('\n', stderr);
  va_end(list);
}

int cli_usage_error(const cli_tool *cli, const char *format, ...) {
  va_list list;
  va_start(list, format);
  fprintf(stderr, "%shone %s:%s ", cli_red(), cli->command->name, cli_plain());
  vfprintf(stderr, format, list);
  fprintf(stderr, "\n  usage: hone %s\n  more:  hone %s --help\n", cli->command->usage, cli->command->name);
  va_end(list);
  return CLI_EXIT_USAGE;
}

/* What is not here may be in a plug-in that was not named. */
static bool may_be_plugged_in(const char *message) {
  const char *of = strstr(message, "(of ");
  return strstr(message, "is not in this library") || strstr(message, "expected an operator that is known") ||
         (of && strncmp(of, "(of ai.onnx)", 12) != 0 && strstr(of, "is not supported"));
}

int cli_stopped(void) {
  const int code = cli_stop_code();
  cli_error("%s", code == CLI_EXIT_LIMIT ? "the deadline has passed (--deadline)" : "interrupted");
  return code;
}

int cli_fail(cli_tool *cli, hone_status status) {
  if (status == HONE_CANCELLED && cli_stop_code() != CLI_EXIT_OK) return cli_stopped();
  const int count = hone_context_message_count(cli->context);
  bool plugged = false;
  for (int i = 0; i < count; ++i) {
    const char *message = hone_context_message(cli->context, i, NULL);
    cli_error("%s", message);
    plugged = plugged || may_be_plugged_in(message);
  }
  if (plugged && !cli_has(cli, "plugins")) cli_note(cli, "a plug-in may bring it: load that with --plugins FILE");
  if (count == 0) cli_error("%s", hone_status_name(status));
  return cli_exit_code(status, cli->subject);
}

int cli_fail_session(cli_tool *cli, const hone_session *session, hone_status status) {
  if (status == HONE_CANCELLED && cli_stop_code() != CLI_EXIT_OK) return cli_stopped();
  const int count = hone_session_message_count(session);
  for (int i = 0; i < count; ++i) cli_error("%s", hone_session_message(session, i, NULL));
  if (count == 0) cli_error("%s", hone_status_name(status));
  return cli_exit_code(status, cli->subject);
}

bool cli_reader_left(void) {
  struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
  return poll(&out, 1, 0) == 1 && out.revents & (POLLERR | POLLHUP);
}

bool cli_write_file(void *user, const char *text, size_t length) {
  return fwrite(text, 1, length, (FILE *)user) == length || (user == stdout && cli_reader_left());
}

void cli_json_text(FILE *to, const char *text) {
  fputc('"', to);
  for (; *text; ++text) {
    const unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\')
      fprintf(to, "\\%c", c);
    else if (c < 0x20)
      fprintf(to, "\\u%04x", c);
    else
      fputc(c, to);
  }
  fputc('"', to);
}

FILE *cli_open_output(const char *path) {
  if (!path || strcmp(path, "-") == 0) return stdout;
  FILE *file = fopen(path, "w");
  if (!file) cli_error("%s: %s", path, strerror(errno));
  return file;
}

int cli_close_output(FILE *file, const char *path) {
  const bool is_stdout = file == stdout;
  const bool failed = fflush(file) != 0 || ferror(file);
  const int reason = errno;
  if (is_stdout && cli_reader_left()) return CLI_EXIT_OK;
  if ((!is_stdout && fclose(file) != 0) || failed) {
    cli_error("%s: %s", is_stdout ? "standard output" : path, strerror(reason));
    return CLI_EXIT_IO;
  }
  return CLI_EXIT_OK;
}
