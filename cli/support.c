/* SPDX-License-Identifier: Apache-2.0 */
/* support.c - the clock, seeded numbers, sessions and reports by the options. */
#include "trace.h"
#include <string.h>
#include <time.h>
#include <unistd.h>

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

void cli_session_options_read(const cli_tool *cli, hone_session_options *out) {
  *out = (hone_session_options){.struct_size = sizeof *out, .cancel = cli_stop_flag()};
  if (cli_takes(cli->command, "no-replay")) out->no_replay = cli_has(cli, "no-replay");
  if (cli_takes(cli->command, "instance-cache")) out->instance_cache = (int)cli_int(cli, "instance-cache", 0);
  if (cli_takes(cli->command, "heap-limit")) out->heap_limit_bytes = cli_size(cli, "heap-limit", 0);
  out->one_schedule = cli_wants_schedule(cli, &out->schedule);
}

hone_status cli_open_session(cli_tool *cli, hone_engine *engine, hone_session **out) {
  return cli_open_traced_session(cli, engine, NULL, out);
}

bool cli_wants_schedule(const cli_tool *cli, int *out_schedule) {
  if (!cli_takes(cli->command, "schedule") || !cli_has(cli, "schedule")) return false;
  *out_schedule = (int)cli_int(cli, "schedule", 0);
  return true;
}

hone_status cli_engine_input(const cli_tool *cli, const hone_engine *engine, int index, hone_port_info *out) {
  int schedule;
  *out = HONE_SIZED(hone_port_info);
  /* a schedule that there is not is an error when the session is made */
  if (cli_wants_schedule(cli, &schedule) && hone_engine_schedule_input(engine, schedule, index, out) == HONE_OK)
    return HONE_OK;
  return hone_engine_input(engine, index, out);
}

void cli_report_options(const cli_tool *cli, hone_report_options *out) {
  *out = (hone_report_options){.struct_size = sizeof *out, .json = cli_has(cli, "json"), .color = cli->color_out};
  out->one_schedule = cli_wants_schedule(cli, &out->schedule);
  out->width = cli->width;
}

const char *cli_ledger_of(const char *path, char *room, size_t bytes) {
  if (cli_file_kind_of(path) != CLI_FILE_ENGINE) return NULL;
  return (size_t)snprintf(room, bytes, "%s.ledger", path) < bytes && access(room, R_OK) == 0 ? room : NULL;
}
