/* SPDX-License-Identifier: Apache-2.0 */
/* calibrate.c - when the time for tuning is used up, some layers have times and others estimates of a machine that is
 * not quite this one. What a tactic took where it was timed, in shares of its estimates, corrects its other estimates:
 * so the two may stand in one sum, and storages do not change for the sake of the difference. */
#include "tune/tuning.h"
#include <math.h>

typedef struct ratio {
  double logs;
  int count;
} ratio;

/* The row's place in its device's list. */
static int row_of(const hone_device *device, const hone_tactic *tactic) {
  int row = 0;
  while (device->tactics[row] && device->tactics[row] != tactic) ++row;
  return row;
}

static void add(ratio *to, double logarithm) {
  to->logs += logarithm;
  ++to->count;
}

/* rows: of one device, and behind them the device itself. */
static void learn(const hn_choices *choices, int device, ratio *rows, int row_count) {
  for (int i = 0; i < choices->count; ++i) {
    const hn_choice *choice = &choices->items[i];
    for (int k = 0; k < choice->candidate_count && choice->same_as < 0; ++k) {
      const hn_candidate *candidate = &choice->candidates[k];
      if (candidate->state != HN_CANDIDATE_TIMED || candidate->device != device || !(candidate->estimate_ns > 0))
        continue;
      const double logarithm = log(candidate->time_low_ns / candidate->estimate_ns);
      add(&rows[row_of(choices->devices[device], candidate->tactic)], logarithm);
      add(&rows[row_count], logarithm);
    }
  }
}

/* The geometric mean of what was seen of the row; of a row that was never timed, of the device. */
static double factor_of(const ratio *row, const ratio *device) {
  const ratio *known = row->count ? row : device;
  return known->count ? exp(known->logs / known->count) : 1;
}

static void correct(const hn_choices *choices, int device, const ratio *rows, int row_count) {
  for (int i = 0; i < choices->count; ++i) {
    const hn_choice *choice = &choices->items[i];
    bool timed = false;
    for (int k = 0; k < choice->candidate_count; ++k)
      timed = timed || choice->candidates[k].state == HN_CANDIDATE_TIMED;
    for (int k = 0; k < choice->candidate_count; ++k) {
      hn_candidate *candidate = &choice->candidates[k];
      if (candidate->state != HN_CANDIDATE_ESTIMATED || candidate->device != device ||
          hn_candidate_is_reference(candidate))
        continue;
      if (timed && candidate->reason != hn_time_used_up) continue; /* it stands behind what was timed already */
      candidate->estimate_ns *= factor_of(&rows[row_of(choices->devices[device], candidate->tactic)], &rows[row_count]);
    }
  }
}

hone_status hn_tune_calibrate(hn_choices *choices) {
  if (!choices->tuning->stopped) return HONE_OK;
  for (int d = 0; d < choices->device_count; ++d) {
    int count = 0;
    while (choices->devices[d]->tactics[count]) ++count;
    ratio *rows = HN_NEW(&choices->arena, ratio, count + 1);
    if (!rows) return HN_FAIL_MEMORY(&choices->context->diag);
    learn(choices, d, rows, count);
    correct(choices, d, rows, count);
  }
  return HONE_OK;
}
