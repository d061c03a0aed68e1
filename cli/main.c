/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - the tool `hone`: finds the command's row, reads its options, gives it a context, runs it. */
#include "recipe.h"
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <unistd.h>

/* A signal handler can reach nothing but these; the library itself has no globals. */
static atomic_bool interrupted, timed_out, stopped;
static atomic_bool interrupt_stops = true; /* else it only ends the timing of a build */

static void on_interrupt(int number) {
  atomic_store(&interrupted, true);
  if (atomic_load(&interrupt_stops)) atomic_store(&stopped, true);
  signal(number, SIG_DFL); /* the second one ends the tool at once */
}

static void on_deadline(int number) {
  (void)number;
  atomic_store(&timed_out, true);
  atomic_store(&stopped, true);
}

const void *cli_interrupt_flag(void) { return &interrupted; }

const void *cli_stop_flag(void) { return &stopped; }

bool cli_is_interrupted(void) { return atomic_load(&interrupted) || atomic_load(&stopped); }

int cli_stop_code(void) {
  if (!atomic_load(&stopped)) return CLI_EXIT_OK;
  return atomic_load(&timed_out) ? CLI_EXIT_LIMIT : CLI_EXIT_INTERRUPTED;
}

/* The deadline is the whole command's, and so not that of the library's calls. */
static void start_deadline(const cli_tool *cli) {
  if (!cli_has(cli, "deadline")) return;
  const int64_t ms = cli_int(cli, "deadline", 0);
  const struct itimerval timer = {.it_value = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000}};
  signal(SIGALRM, on_deadline);
  setitimer(ITIMER_REAL, &timer, NULL);
}

static void on_log(void *user, hone_log_level level, const char *line) {
  cli_tool *cli = user;
  if (cli->quiet) return;
  cli_progress_end(cli);
  if (level == HONE_LOG_WARN) fprintf(stderr, "%swarning:%s ", cli_yellow(), cli_plain());
  fprintf(stderr, "%s\n", line);
}

const cli_command *cli_command_find(const char *name) {
  const char *near = NULL;
  for (const cli_command *const *row = cli_commands; *row; ++row) {
    if (strcmp((*row)->name, name) == 0) return *row;
    near = hone_nearest_name(name, near, (*row)->name);
  }
  if (near)
    cli_error("there is no command %s; did you mean %s?", name, near);
  else
    cli_error("there is no command %s; hone help lists them", name);
  return NULL;
}

/* $HONE_CACHE_DIR, else the user's cache folder; NULL when there is neither. */
const char *cli_cache_dir(char *room, size_t bytes) {
  const char *own = getenv("HONE_CACHE_DIR"), *shared = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  int length = -1;
  if (own && *own)
    length = snprintf(room, bytes, "%s", own);
  else if (shared && *shared)
    length = snprintf(room, bytes, "%s/hone", shared);
  else if (home && *home)
    length = snprintf(room, bytes, "%s/.cache/hone", home);
  return length >= 0 && (size_t)length < bytes ? room : NULL;
}

/* Appends a folder, made of two parts. */
static void add_folder(char *room, size_t bytes, const char *folder, const char *under) {
  const size_t used = strlen(room);
  if (folder && *folder) (void)snprintf(room + used, bytes - used, "%s%s%s", used ? ":" : "", folder, under);
}

const char *cli_library_path(char *room, size_t bytes) {
  char own[4096];
  room[0] = 0;
  add_folder(room, bytes, getenv("HONE_LIBRARY_PATH"), "");
  const ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
  own[length > 0 ? length : 0] = 0;
  if (strrchr(own, '/')) *strrchr(own, '/') = 0;
  add_folder(room, bytes, own, "");
  add_folder(room, bytes, own, "/../lib");
  add_folder(room, bytes, getenv("CUDA_PATH"), "/lib64");
  add_folder(room, bytes, getenv("CUDA_HOME"), "/lib64");
  return room;
}

int cli_output_width(int elsewhere) {
  enum { LEAST = 60, MOST = 1000 };
  struct winsize size;
  const char *columns = getenv("COLUMNS");
  long width = columns ? strtol(columns, NULL, 10) : 0;
  if (width <= 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  if (width <= 0) width = elsewhere;
  return (int)(width < LEAST ? LEAST : width > MOST ? MOST : width);
}

/* With a time budget, or in a search, an interrupt ends that and not the command; the second one still ends the tool.
 */
static bool stops_timing(const cli_tool *cli) {
  if (cli->command->keeps_best) return true;
  return cli_takes(cli->command, "time-budget") && cli_has(cli, "time-budget");
}

/* A model may want any amount: the rest of the machine stays usable. */
static uint64_t memory_limit(void) {
  const long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
  return pages > 0 && bytes > 0 ? (uint64_t)pages * (uint64_t)bytes / 4 * 3 : 0;
}

static int open_context(cli_tool *cli) {
  enum { WIDE_PAGE = 120 }; /* files and pipes */
  char cache[4096], libraries[16384];
  const char *no_color = getenv("NO_COLOR");
  cli->verbose = cli_has(cli, "verbose");
  cli->quiet = cli_has(cli, "quiet");
  cli->color_out = isatty(STDOUT_FILENO) && !(no_color && *no_color);
  cli->width = cli_output_width(WIDE_PAGE);
  cli->terminal_err = isatty(STDERR_FILENO);
  const hone_context_options options = {.struct_size = sizeof options,
                                        .log = on_log,
                                        .log_user = cli,
                                        .log_level = cli->quiet     ? HONE_LOG_OFF
                                                     : cli->verbose ? HONE_LOG_VERBOSE
                                                                    : HONE_LOG_WARN,
                                        .cache_dir = cli_cache_dir(cache, sizeof cache),
                                        .cancel = &stopped,
                                        .allow_external_links = cli_takes(cli->command, "allow-external-links") &&
                                                                cli_has(cli, "allow-external-links"),
                                        .memory_limit_bytes = cli_size(cli, "memory-limit", memory_limit()),
                                        .library_path = cli_library_path(libraries, sizeof libraries)};
  const hone_status status = hone_context_create(&options, &cli->context);
  if (status == HONE_OK) return CLI_EXIT_OK;
  cli_error("the library does not start: %s", hone_status_name(status));
  return cli_exit_code(status, CLI_MODEL);
}

/* Plug-ins come before any model or engine is read. */
static int load_plugins(cli_tool *cli) {
  const char *paths[CLI_MAX_INPUTS];
  const int count = cli_list(cli, "plugins", paths, CLI_MAX_INPUTS);
  for (int i = 0; i < count; ++i) {
    const hone_status status = hone_plugin_load(cli->context, paths[i]);
    if (status != HONE_OK) return cli_fail(cli, status);
  }
  return CLI_EXIT_OK;
}

static int run_command(cli_tool *cli) {
  int code = open_context(cli);
  if (code != CLI_EXIT_OK) return code;
  atomic_store(&interrupt_stops, !stops_timing(cli));
  start_deadline(cli);
  signal(SIGINT, on_interrupt);
  signal(SIGTERM, on_interrupt);
  signal(SIGPIPE, SIG_IGN); /* a closed pipe is seen where it is written to */
  cli_progress_begin(cli);
  code = load_plugins(cli);
  if (code == CLI_EXIT_OK) code = cli->command->run(cli);
  cli_progress_stop(cli);
  cli_recipe_close(cli);
  hone_device_close(cli->device);
  hone_context_destroy(cli->context);
  if (fflush(stdout) != 0 && code == CLI_EXIT_OK && !cli_reader_left()) {
    cli_error("standard output cannot be written: %s", strerror(errno));
    code = CLI_EXIT_IO;
  }
  if (code == CLI_EXIT_OK || code == CLI_EXIT_CHECK_FAILED) cli_next_print(cli);
  return code;
}

int main(int count, char **arguments) {
  if (count < 2) {
    cli_help_all(stderr);
    return CLI_EXIT_USAGE;
  }
  const char *name = arguments[1];
  if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) name = "help";
  if (strcmp(name, "--version") == 0) name = "version";
  static cli_tool cli; /* large for a stack */
  cli.command = cli_command_find(name);
  if (!cli.command) return CLI_EXIT_USAGE;
  for (int i = 2; i < count; ++i) { /* whatever else is wrong, help is given */
    const bool all = strcmp(arguments[i], "--help-all") == 0;
    if (!all && strcmp(arguments[i], "--help") != 0 && strcmp(arguments[i], "-h") != 0) continue;
    const cli_command *named = cli.command->run == cli_command_help && i > 2 ? cli_command_find(arguments[2]) : NULL;
    cli_help(named ? named : cli.command, all, stdout);
    return CLI_EXIT_OK;
  }
  int code = cli_parse(&cli, count - 2, arguments + 2);
  if (code == CLI_EXIT_OK) code = cli_check_outputs(&cli);
  return code == CLI_EXIT_OK ? run_command(&cli) : code;
}
