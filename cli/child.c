/* SPDX-License-Identifier: Apache-2.0 */
/* child.c - programs that the tool runs beside itself: what may crash, runs there. */
#include "child.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- arguments ---- */

void cli_arguments_add(cli_arguments *a, const char *text) {
  if (a->count + 1 < CLI_MOST_ARGUMENTS) a->items[a->count++] = text;
}

void cli_arguments_pair(cli_arguments *a, const char *before, const char *name, const char *value) {
  const size_t room = strlen(before) + strlen(name) + strlen(value) + 4;
  char *text = malloc(room);
  if (!text || a->made_count == CLI_MOST_ARGUMENTS) {
    free(text);
    return;
  }
  (void)snprintf(text, room, "%s%s=%s", before, name, value);
  a->made[a->made_count++] = text;
  cli_arguments_add(a, text);
}

void cli_arguments_flag(cli_arguments *a, const char *name) {
  const size_t room = strlen(name) + 3;
  char *text = a->made_count < CLI_MOST_ARGUMENTS ? malloc(room) : NULL;
  if (!text) return;
  (void)snprintf(text, room, "--%s", name);
  a->made[a->made_count++] = text;
  cli_arguments_add(a, text);
}

void cli_arguments_drop(cli_arguments *a) {
  for (int i = 0; i < a->made_count; ++i) free(a->made[i]);
  *a = (cli_arguments){0};
}

/* ---- programs ---- */

/* In the child, between fork and exec: only what is safe there. */
static void become(const char *const *arguments, const char *log) {
  const int to = open(log ? log : "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (to >= 0) {
    (void)dup2(to, STDOUT_FILENO);
    if (log) (void)dup2(to, STDERR_FILENO);
  }
  const int from = open("/dev/null", O_RDONLY);
  if (from >= 0) (void)dup2(from, STDIN_FILENO);
  (void)setpgid(0, 0); /* a terminal's interrupt is ours to hand on */
  sigset_t none;
  sigemptyset(&none);
  (void)sigprocmask(SIG_SETMASK, &none, NULL);
  (void)signal(SIGPIPE, SIG_DFL);
  execvp(arguments[0], (char *const *)(uintptr_t)arguments);
  _exit(127);
}

int cli_child_run(const char *const *arguments, const char *log, int64_t limit_ms, int *out_code) {
  const double begin_ms = cli_now_ms();
  const pid_t pid = fork();
  if (pid == 0) become(arguments, log);
  if (pid < 0) {
    cli_error("%s cannot be started: %s", arguments[0], strerror(errno));
    return CLI_EXIT_INTERNAL;
  }
  int status = 0;
  bool killed = false;
  struct timespec pause = {.tv_nsec = 500000};
  for (;;) {
    const pid_t done = waitpid(pid, &status, killed ? 0 : WNOHANG);
    if (done == pid) break;
    if (done < 0 && errno != EINTR) return CLI_EXIT_INTERNAL;
    const bool late = limit_ms > 0 && cli_now_ms() - begin_ms > (double)limit_ms;
    if (!killed && (late || cli_is_interrupted())) {
      (void)kill(-pid, SIGKILL); /* the shell that ran a command, and the command */
      (void)kill(pid, SIGKILL);
      killed = true;
      continue;
    }
    (void)nanosleep(&pause, NULL);
    if (pause.tv_nsec < 16000000) pause.tv_nsec *= 2;
  }
  *out_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return CLI_EXIT_OK;
}

int cli_temporary_make(char *room, size_t bytes) {
  const char *folder = getenv("TMPDIR");
  if (!folder || !*folder) folder = "/tmp";
  if ((size_t)snprintf(room, bytes, "%s/hone-XXXXXX", folder) < bytes && mkdtemp(room)) return CLI_EXIT_OK;
  cli_error("no temporary folder can be made in %s: %s", folder, strerror(errno));
  room[0] = 0;
  return CLI_EXIT_IO;
}

void cli_temporary_drop(const char *folder) {
  if (!*folder) return;
  DIR *dir = opendir(folder);
  for (const struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
    char path[4096];
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= sizeof path) continue;
    if (unlink(path) != 0 && (errno == EISDIR || errno == EPERM)) cli_temporary_drop(path); /* folders of ours */
  }
  if (dir) closedir(dir);
  (void)rmdir(folder);
}

const char *cli_own_path(char *room, size_t bytes) {
  const ssize_t length = readlink("/proc/self/exe", room, bytes - 1);
  room[length > 0 ? length : 0] = 0;
  return room;
}
