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

/* Of the work that the bar shows: it begins anew when the total is another, or less is done than before. */
static struct {
  double begin_ms;
  int64_t begin, done, total;
} drawn;

/* "12 s left", by the rate so far; "" while that says little. */
static void time_left(double now_ms, int64_t done, int64_t total, char *out, size_t room) {
  enum { LEAST_MS = 2000, MINUTE = 60 };
  out[0] = 0;
  if (total != drawn.total || done < drawn.done) {
    drawn.begin_ms = now_ms;
    drawn.begin = done;
  }
  drawn.done = done;
  drawn.total = total;
  const double spent_ms = now_ms - drawn.begin_ms;
  if (done <= drawn.begin || done >= total || spent_ms < LEAST_MS) return;
  const double seconds = spent_ms * 1e-3 * (double)(total - done) / (double)(done - drawn.begin);
  if (seconds < 2 * MINUTE)
    (void)snprintf(out, room, "%.0f s left", seconds);
  else
    (void)snprintf(out, room, "%.0f min left", seconds / MINUTE);
}

/* Not more often than the eye can see. */
static void draw_bar(cli_tool *cli, const char *what, int64_t done, int64_t total) {
  enum { WIDTH = 24 };
  const double now_ms = cli_now_ms();
  if (done < total && now_ms - cli->progress_ms < 50) return;
  cli->progress_ms = now_ms;
  const double share = total > 0 ? (double)done / (double)total : 0;
  const int filled = (int)(share * WIDTH);
  char bar[WIDTH + 1];
  for (int i = 0; i < WIDTH; ++i) bar[i] = i < filled ? '#' : '.';
  bar[WIDTH] = 0;
  char left[32];
  time_left(now_ms, done, total, left, sizeof left);
  fprintf(stderr, "\r[%s] %3.0f %% %11s  %-34.34s", bar, 100 * share, left, what ? what : "");
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
