/* SPDX-License-Identifier: Apache-2.0 */
/* support.c - the clock, seeded numbers, the progress bar. */
#include "cli.h"
#include <string.h>
#include <time.h>

double cli_now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

uint64_t cli_random(uint64_t *state) { /* splitmix64 (Steele, Lea, Flood 2014) */
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* Only on a terminal, and not more often than the eye can see. */
void cli_progress(void *user, const char *what, int64_t done, int64_t total) {
  cli_tool *cli = user;
  enum { WIDTH = 30 };
  if (!cli->terminal_err || cli->quiet) return;
  const double now_ms = cli_now_ms();
  if (done < total && now_ms - cli->progress_ms < 50) return;
  cli->progress_ms = now_ms;
  const double share = total > 0 ? (double)done / (double)total : 0;
  const int filled = (int)(share * WIDTH);
  char bar[WIDTH + 1];
  for (int i = 0; i < WIDTH; ++i) bar[i] = i < filled ? '#' : '.';
  bar[WIDTH] = 0;
  fprintf(stderr, "\r[%s] %3.0f %%  %-44.44s", bar, 100 * share, what ? what : "");
  fflush(stderr);
  cli->progress_shown = true;
}

void cli_progress_end(cli_tool *cli) {
  if (cli->progress_shown) fprintf(stderr, "\r%*s\r", 84, "");
  cli->progress_shown = false;
}

void cli_session_options_read(const cli_tool *cli, hone_session_options *out) {
  *out = (hone_session_options){.struct_size = sizeof *out};
  if (cli_takes(cli->command, "no-replay")) out->no_replay = cli_has(cli, "no-replay");
  if (cli_takes(cli->command, "instance-cache")) out->instance_cache = (int)cli_int(cli, "instance-cache", 0);
  out->one_schedule = cli_wants_schedule(cli, &out->schedule);
}

hone_status cli_open_session(cli_tool *cli, hone_engine *engine, hone_session **out) {
  hone_session_options options;
  cli_session_options_read(cli, &options);
  return hone_session_create(engine, &options, out, hone_context_diagnostics(cli->context));
}

bool cli_wants_schedule(const cli_tool *cli, int *out_schedule) {
  if (!cli_takes(cli->command, "schedule") || !cli_has(cli, "schedule")) return false;
  *out_schedule = (int)cli_int(cli, "schedule", 0);
  return true;
}

hone_status cli_engine_input(const cli_tool *cli, const hone_engine *engine, int index, hone_port_info *out) {
  int schedule;
  /* a schedule that there is not is an error when the session is made */
  if (cli_wants_schedule(cli, &schedule) && hone_engine_schedule_input(engine, schedule, index, out) == HONE_OK)
    return HONE_OK;
  return hone_engine_input(engine, index, out);
}

void cli_report_options(const cli_tool *cli, hone_report_options *out) {
  *out = (hone_report_options){.struct_size = sizeof *out, .json = cli_has(cli, "json"), .color = cli->color_out};
  out->one_schedule = cli_wants_schedule(cli, &out->schedule);
}
