/* SPDX-License-Identifier: Apache-2.0 */
/* diff.h - two plans of one model beside each other: which layers differ, in what, and by how much time. */
#ifndef HN_REPORT_DIFF_H
#define HN_REPORT_DIFF_H

#include "report/report.h"
#include <hone/advice.h>

enum { HN_DIFF_SIDES = 2, HN_DIFF_BLOCKS = 6 /* at least: fewer have no interval of 95 % */ };

typedef struct hn_diff_side {
  const char *name;
  const hn_plan *plan;
  const float *const *samples; /* [step], then of whole runs: ns, in the order of time; NULL: was not timed */
  uint64_t weights_bytes;      /* that the schedule reads */
} hn_diff_side;

/* The sides ran in turns, `block` runs each time, so that what slows the machine slows both. Blocks may be of several
 * sessions of each side: the place of a session's memory moves its times, which no run within it shows. */
typedef struct hn_diff_input {
  hn_diff_side sides[HN_DIFF_SIDES];
  int blocks, block;     /* samples are blocks * block */
  double max_regression; /* percent of the whole run; below 0: not judged */
} hn_diff_input;

hone_status hn_report_diff(const hn_diff_input *input, const hone_report_options *options, hn_arena *arena,
                           hn_text *out, bool *out_regressed);
/* The rank, from 0 on, of the smaller end of an interval of at least 95 % around the median of so many samples,
 * whatever they are distributed like; the other end is as far from the other side. -1: there are too few. */
int hn_median_rank(int count);
/* What hone_compare_times() says, of counts that were checked. block: room for a block's times; medians: for all blocks
 * of both sides and of what lies between them. */
void hn_compare_times(const double *a, const double *b, int blocks, int runs_of_a_block, double *block,
                      double *const medians[HN_DIFF_SIDES + 1], hone_times_difference *out);

#endif
