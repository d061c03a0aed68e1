/* SPDX-License-Identifier: Apache-2.0 */
/* next.c - the last line of what people read: the command that is usually wanted next. It goes to standard error, since
 * standard output is for the result alone. */
#include "cli.h"
#include <string.h>

void cli_quote(const char *path, char *out, size_t room) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%";
  size_t used = 0;
  if (*path && !path[strspn(path, plain)]) {
    (void)snprintf(out, room, "%s", path);
    return;
  }
  out[used++] = '\'';
  for (; *path && used + 6 < room; ++path) {
    if (*path == '\'') {
      memcpy(out + used, "'\\''", 4);
      used += 4;
    } else {
      out[used++] = *path;
    }
  }
  out[used++] = '\'';
  out[used] = 0;
}

void cli_next(cli_tool *cli, const char *command, const char *path) {
  char word[4352];
  cli_quote(path, word, sizeof word);
  const char *at = strstr(command, "%s");
  if (at)
    (void)snprintf(cli->next, sizeof cli->next, "%.*s%s%s", (int)(at - command), command, word, at + 2);
  else
    (void)snprintf(cli->next, sizeof cli->next, "%s", command);
}

void cli_next_print(const cli_tool *cli) {
  if (!cli->next[0] || cli->quiet || cli_has(cli, "json") || cli_reader_left()) return;
  fflush(stdout);
  fprintf(stderr, "next: %s%s%s\n", cli_bold(), cli->next, cli_plain());
}
