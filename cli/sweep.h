/* SPDX-License-Identifier: Apache-2.0 */
/* sweep.h - inside of hone bench --sweep: throughput against latency over batches and streams. */
#ifndef CLI_SWEEP_H
#define CLI_SWEEP_H

#include "cli.h"

enum { SWEEP_MOST_POINTS = 256 };

/* One batch size with one number of streams. */
typedef struct sweep_point {
  int64_t batch;
  int streams;
  int code;                     /* exit code of its measurement; what follows is of 0 alone */
  double samples;               /* a second, of all streams */
  double median_ms, latency_ms; /* of a batch; latency_ms: the sweep's percentile */
  bool frontier;                /* no other point has as much throughput at less latency */
} sweep_point;

typedef struct sweep {
  cli_tool *cli;
  const char *model;
  sweep_point points[SWEEP_MOST_POINTS];
  int count;
  double percentile;
  double max_latency_ms; /* 0: any */
  int knee, best;        /* points; -1: there is none. best: the most throughput within max_latency_ms */
} sweep;

int bench_sweep(cli_tool *cli); /* exit code; CHECK_FAILED: no point is within --max-latency */
/* The frontier, its knee and the best point. The knee is the point of the frontier that lies farthest from the line
 * between its ends, both axes from 0 to 1 (Satopaa et al. 2011, "Finding a kneedle in a haystack"). */
void sweep_judge(sweep *s);
void sweep_print(const sweep *s); /* a table, or JSON, or CSV */
void sweep_draw(const sweep *s, FILE *to);

#endif
