/* SPDX-License-Identifier: Apache-2.0 */
/* bench.h - inside of hone bench: what measuring and reporting share. */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "cli.h"

enum { BENCH_PERCENTILES = 16 };
typedef struct bench_times {
  int64_t count, capacity;
  double *start_ms, *compute_ms; /* one each run */
  double wall_ms;
  int percentile_count;
  double percentiles[BENCH_PERCENTILES];
} bench_times;

int bench_read_percentiles(cli_tool *cli, bench_times *times);
/* Lines as trtexec's: the mean of each --avgRuns runs. */
void bench_print_averages(cli_tool *cli, const bench_times *times);
void bench_print_block(cli_tool *cli, const bench_times *times);                 /* or JSON */
int bench_export_times(cli_tool *cli, const bench_times *times);                 /* --exportTimes */
int bench_outputs(cli_tool *cli, const cli_model *model, hone_session *session); /* --dumpOutput, --exportOutput */

#endif
