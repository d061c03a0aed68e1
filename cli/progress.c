/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c - signs of life during long work: a bar on a terminal; elsewhere a line after 5 seconds and then every 10,
 * from a thread that otherwise sleeps, so that also what reports no progress is not silent. */
#include "cli.h"
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

enum { FIRST_SECONDS = 5, NEXT_SECONDS = 10 };

/* Meets the ticker's thread by the mutex. */
static struct ticker {
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t stopped;
  const char *command;
  bool runs, stop;
  double begin_ms;
  const char *unit; /* what is counted */
  char what[64];    /* what is worked at; "": nothing was told yet */
  int64_t done, total;
} ticker = {.mutex = PTHREAD_MUTEX_INITIALIZER, .stopped = PTHREAD_COND_INITIALIZER};

static void print_line(void) {
  const double seconds = (cli_now_ms() - ticker.begin_ms) * 1e-3;
  if (ticker.total > 0 && ticker.done < ticker.total)
    fprintf(stderr, "hone %s: %s %lld of %lld (%s), %.0f s\n", ticker.command, ticker.unit, (long long)ticker.done + 1,
            (long long)ticker.total, ticker.what, seconds);
  else
    fprintf(stderr, "hone %s: still at work, %.0f s\n", ticker.command, seconds);
}

static void *tick(void *unused) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += FIRST_SECONDS;
  pthread_mutex_lock(&ticker.mutex);
  while (!ticker.stop) {
    if (pthread_cond_timedwait(&ticker.stopped, &ticker.mutex, &until) == 0 || ticker.stop) continue;
    print_line();
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += NEXT_SECONDS;
  }
  pthread_mutex_unlock(&ticker.mutex);
  return unused;
}

void cli_progress_begin(cli_tool *cli) {
  if (cli->terminal_err || cli->quiet) return;
  ticker.command = cli->command->name;
  ticker.begin_ms = cli_now_ms();
  sigset_t all, before; /* signals are the working thread's, whose waiting they end */
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  ticker.runs = pthread_create(&ticker.thread, NULL, tick, NULL) == 0; /* without it the work is as good */
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void cli_progress_stop(cli_tool *cli) {
  cli_progress_end(cli);
  if (!ticker.runs) return;
  pthread_mutex_lock(&ticker.mutex);
  ticker.stop = true;
  pthread_cond_signal(&ticker.stopped);
  pthread_mutex_unlock(&ticker.mutex);
  pthread_join(ticker.thread, NULL);
  ticker.runs = false;
}

/* Not more often than the eye can see. */
static void draw_bar(cli_tool *cli, const char *what, int64_t done, int64_t total) {
  enum { WIDTH = 30 };
  const double now_ms = cli_now_ms();
  if (done < total && now_ms - cli->progress_ms < 50) return;
  cli->progress_ms = now_ms;
  const double share = total > 0 ? (double)done / (double)total : 0;
  const int filled = (int)(share * WIDTH);
  char bar[WIDTH + 1];
  for (int i = 0; i < WIDTH; ++i) bar[i] = i < filled ? '#' : '.';
  bar[WIDTH] = 0;
  fprintf(stderr, "\r[%s] %3.0f %%  %-40.40s", bar, 100 * share, what ? what : "");
  fflush(stderr);
  cli->progress_shown = true;
}

static void show(cli_tool *cli, const char *unit, const char *what, int64_t done, int64_t total) {
  if (cli->quiet) return;
  if (cli->terminal_err) {
    draw_bar(cli, what, done, total);
    return;
  }
  pthread_mutex_lock(&ticker.mutex);
  ticker.unit = unit;
  (void)snprintf(ticker.what, sizeof ticker.what, "%s", what ? what : "");
  ticker.done = done;
  ticker.total = total;
  pthread_mutex_unlock(&ticker.mutex);
}

void cli_progress(void *user, const char *what, int64_t done, int64_t total) {
  show(user, "tuning layer", what, done, total);
}

void cli_progress_samples(void *user, const char *what, int64_t done, int64_t total) {
  show(user, "sample", what, done, total);
}

void cli_progress_search(void *user, const char *what, int64_t done, int64_t total) {
  show(user, "search", what, done, total);
}

void cli_progress_end(cli_tool *cli) {
  if (cli->progress_shown) fprintf(stderr, "\r%*s\r", 79, "");
  cli->progress_shown = false;
}
