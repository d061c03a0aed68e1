/* SPDX-License-Identifier: Apache-2.0 */
/* command_diff.c - hone diff: two engines, or models, run in turns on the same inputs, and compared layer by layer. */
#include "cli.h"
#include <string.h>

enum { MOST_RUNS = 512 /* that a session keeps the times of */, MOST_SESSIONS = 16 };

const cli_option cli_diff_options[] = {
    {"engine", CLI_LIST, "FILE", .doc = "the two engines or models: A, then B"},
    {"max-regression", CLI_REAL, "PERCENT",
     .doc = "exit 1 when B is so much slower than A, and the interval says that it is not by chance", .high = 1e6},
    {"blocks", CLI_INT, "N", .doc = "blocks of runs, in which A and B take turns; default 32", .low = 6, .high = 512},
    {"runs", CLI_INT, "N", .doc = "runs of a block; default: as many as --duration has time for, at most 512 / N",
     .low = 1, .high = 85},
    {"sessions", CLI_INT, "N",
     .doc = "sessions of each, which take the blocks in turns, as the place of their memory moves times; default 8",
     .low = 1, .high = MOST_SESSIONS},
    {"duration", CLI_REAL, "S", .doc = "how long all blocks may take, about; default 4", .high = 1e6},
    {"warmUp", CLI_REAL, "MS", .doc = "warm-up time of each before measuring; default 200", .high = 1e6},
    {0},
};

typedef struct pair {
  const char *paths[2];
  cli_model models[2];
  hone_session *sessions[2][MOST_SESSIONS];
  int count; /* of the sessions of a side */
} pair;

static int open_pair(cli_tool *cli, pair *p) {
  for (int side = 0; side < 2; ++side) {
    int code = cli_open_named_model(cli, p->paths[side], &p->models[side]);
    if (code != CLI_EXIT_OK) return code;
    for (int k = 0; k < p->count && code == CLI_EXIT_OK; ++k) {
      const hone_status status = cli_open_session(cli, p->models[side].engine, &p->sessions[side][k]);
      code = status == HONE_OK ? cli_fill_inputs(cli, &p->models[side], p->sessions[side][k]) : cli_fail(cli, status);
    }
    if (code != CLI_EXIT_OK) return code;
  }
  return CLI_EXIT_OK;
}

/* How many runs a block has: as many as there is time for. */
static int warm_up(cli_tool *cli, const pair *p, int blocks, int *out_runs) {
  double run_ms = 0;
  for (int side = 0; side < 2; ++side) {
    for (int k = 0; k < p->count; ++k) {
      const int code = cli_run_for(cli, p->sessions[side][k], cli_real(cli, "warmUp", 200) / p->count, 1, NULL);
      if (code != CLI_EXIT_OK) return code;
    }
    const double begin_ms = cli_now_ms();
    const int code = cli_run_for(cli, p->sessions[side][0], 0, 1, NULL);
    if (code != CLI_EXIT_OK) return code;
    run_ms += cli_now_ms() - begin_ms;
  }
  const double fit = 1e3 * cli_real(cli, "duration", 4) / (run_ms * blocks);
  const int most = MOST_RUNS / blocks;
  *out_runs = (int)cli_int(cli, "runs", fit < 1 ? 1 : fit > most ? most : (int64_t)fit);
  if (*out_runs <= most) return CLI_EXIT_OK;
  return cli_usage_error(cli, "--runs %d and --blocks %d: times of %d runs are kept", *out_runs, blocks, MOST_RUNS);
}

static int measure(cli_tool *cli, const pair *p, int blocks, int runs) {
  static cli_load load; /* large for a stack */
  for (int k = 0; k < 2 * p->count; ++k) hone_session_set_profile(p->sessions[k % 2][k / 2], true);
  cli_load_begin(&load);
  for (int block = 0; block < blocks; ++block)
    for (int turn = 0; turn < 2; ++turn) { /* neither is always the first */
      const int side = (block / p->count + turn) % 2;
      const int code = cli_run_for(cli, p->sessions[side][block % p->count], 0, runs, side ? NULL : &load);
      if (code != CLI_EXIT_OK) return code;
    }
  cli_load_end(cli, &load, 0);
  return CLI_EXIT_OK;
}

static int diff(cli_tool *cli, pair *p) {
  const int blocks = (int)cli_int(cli, "blocks", 32);
  const int sessions = (int)cli_int(cli, "sessions", 8);
  p->count = sessions < blocks ? sessions : blocks;
  int runs, code = open_pair(cli, p);
  if (code == CLI_EXIT_OK) code = warm_up(cli, p, blocks, &runs);
  if (code == CLI_EXIT_OK) code = measure(cli, p, blocks, runs);
  if (code != CLI_EXIT_OK) return code;
  const hone_diff_options options = {.struct_size = sizeof options,
                                     .json = cli_has(cli, "json"),
                                     .color = cli->color_out,
                                     .width = cli->width,
                                     .runs_of_a_block = runs,
                                     .name_a = p->paths[0],
                                     .name_b = p->paths[1],
                                     .max_regression = cli_real(cli, "max-regression", -1)};
  bool regressed;
  const hone_status status =
      hone_report_diff((const hone_session *const *)p->sessions[0], (const hone_session *const *)p->sessions[1],
                       p->count, &options, cli_write_file, stdout, &regressed, hone_context_diagnostics(cli->context));
  if (status != HONE_OK) return cli_fail(cli, status);
  cli_next(cli, "hone explain %s", p->paths[1]);
  return regressed ? CLI_EXIT_CHECK_FAILED : CLI_EXIT_OK;
}

int cli_command_diff(cli_tool *cli) {
  static pair p;
  if (cli_list(cli, "engine", p.paths, 2) != 2) return cli_usage_error(cli, "two engines or models must be named");
  const int code = diff(cli, &p);
  for (int side = 0; side < 2; ++side) {
    for (int k = 0; k < p.count; ++k) hone_session_destroy(p.sessions[side][k]);
    cli_close_model(cli, &p.models[side]);
  }
  return code;
}
