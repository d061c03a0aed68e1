/* SPDX-License-Identifier: Apache-2.0 */
/* outputs.c - where a command is to write, looked at before it begins: a build of minutes must not end in a folder that
 * is not there. What can still fail later (a full disk) is said then. */
#include "cli.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int complain(const char *name, const char *path, const char *what, const char *which) {
  cli_error("--%s %s: %s%s", name, path, what, which);
  return CLI_EXIT_IO;
}

/* The folder part of a path, "." when it has none. */
static void folder_of(const char *path, char *folder, size_t room) {
  const char *slash = strrchr(path, '/');
  if (!slash)
    (void)snprintf(folder, room, ".");
  else
    (void)snprintf(folder, room, "%.*s", slash == path ? 1 : (int)(slash - path), path);
}

/* A folder in which files can be made. */
static int check_folder(const char *name, const char *path, const char *folder) {
  struct stat about;
  if (stat(folder, &about) != 0) {
    if (errno == ENOENT) return complain(name, path, "there is no folder ", folder);
    cli_error("--%s %s: %s: %s", name, path, folder, strerror(errno));
    return CLI_EXIT_IO;
  }
  if (!S_ISDIR(about.st_mode)) return complain(name, path, folder, " is not a folder");
  if (access(folder, W_OK | X_OK) == 0) return CLI_EXIT_OK;
  cli_error("--%s %s: nothing can be written in the folder %s: %s", name, path, folder, strerror(errno));
  return CLI_EXIT_IO;
}

int cli_check_output(const char *name, const char *path, cli_writes writes) {
  char folder[4096];
  struct stat about;
  const bool exists = stat(path, &about) == 0;
  if (strlen(path) >= sizeof folder) return complain(name, path, "the path is too long", "");
  if (!*path) return complain(name, path, "the name is empty", "");
  if (writes == CLI_WRITES_WHEN_ABSENT && exists) return CLI_EXIT_OK;
  if (writes == CLI_WRITES_IN_PLACE && strcmp(path, "-") == 0) return CLI_EXIT_OK;
  if (writes == CLI_WRITES_FOLDER && exists) return check_folder(name, path, path);
  if (exists && S_ISDIR(about.st_mode)) return complain(name, path, "it is a folder; name a file in it", "");
  if (writes == CLI_WRITES_IN_PLACE && exists) {
    if (access(path, W_OK) == 0) return CLI_EXIT_OK;
    return complain(name, path, "it cannot be written: ", strerror(errno));
  }
  if (exists && !S_ISREG(about.st_mode)) return complain(name, path, "it exists and is not a regular file", "");
  folder_of(path, folder, sizeof folder);
  return check_folder(name, path, folder);
}

/* NAME=FILE or NAME:FILE, separated by commas; a name alone writes nothing. */
static int check_pairs(const char *name, const char *text) {
  char path[4096];
  for (const char *at = text; *at;) {
    const size_t length = strcspn(at, ",");
    size_t sign = length;
    while (sign > 0 && at[sign - 1] != '=' && at[sign - 1] != ':') --sign;
    if (sign > 0 && length - sign < sizeof path) {
      (void)snprintf(path, sizeof path, "%.*s", (int)(length - sign), at + sign);
      const int code = cli_check_output(name, path, CLI_WRITES_FILE);
      if (code != CLI_EXIT_OK) return code;
    }
    at += length + (at[length] == ',');
  }
  return CLI_EXIT_OK;
}

int cli_check_outputs(const cli_tool *cli) {
  for (int i = 0; i < cli->given_count; ++i) {
    const cli_option *option = cli->given[i].option;
    const char *text = cli->given[i].text;
    if (option->writes == CLI_WRITES_NOTHING || !text) continue;
    const int code = option->writes == CLI_WRITES_PAIRS ? check_pairs(option->name, text)
                                                        : cli_check_output(option->name, text, option->writes);
    if (code != CLI_EXIT_OK) return code;
  }
  return CLI_EXIT_OK;
}

void cli_name_beside(const char *model, const char *suffix, char *out, size_t room) {
  const char *slash = strrchr(model, '/'), *dot = strrchr(model, '.');
  const size_t length = dot && (!slash || dot > slash) ? (size_t)(dot - model) : strlen(model);
  (void)snprintf(out, room, "%.*s%s", (int)length, model, suffix);
}
