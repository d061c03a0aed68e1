/* SPDX-License-Identifier: Apache-2.0 */
/* verify.h - the report of a verification: each step's error against the reference and its bound. */
#ifndef HN_REPORT_VERIFY_H
#define HN_REPORT_VERIFY_H

#include "base/text.h"
#include "plan/schedules.h"
#include <hone/report.h>

typedef struct hn_verified_step {
  double error, bound; /* relative L2; HUGE_VAL: an integer differs, or a number is none */
  int64_t compared;
  const char *left_out; /* why the step was not run; NULL: it was */
} hn_verified_step;

/* rows: [schedule][step]; NULL: that schedule was not verified. */
void hn_report_verify(const hn_schedules *schedules, hn_verified_step *const *rows, const hone_report_options *options,
                      hn_arena *arena, hn_text *out);

#endif
