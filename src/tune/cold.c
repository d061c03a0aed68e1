/* SPDX-License-Identifier: Apache-2.0 */
/* cold.c - what won is timed again on weights that lie as far away as they do in a network: there all other layers'
 * weights are read between two runs of one. Choosing needs no more than weights beyond the inner cache, since tactics
 * of one layer read as much; what a layer takes in all does. */
#include "tune/tuning.h"
#include <math.h>

enum { SAMPLES = 9, MOST_REPEAT = 200 };
static const double sample_ns = 100e3;

static hone_status time_best(hn_choices *choices, hn_choice *choice, const hn_candidate *best) {
  hn_bench *bench;
  double ns = 0, least = HUGE_VAL;
  hn_candidate candidate = *best; /* its own time stays */
  HN_TRY(hn_bench_open(choices, choice, choices->options->seed, false, &bench));
  hone_status status = hn_bench_prepare(bench, &candidate, 0, true);
  if (status == HONE_OK) status = hn_bench_time(bench, 0, 1, true, &ns);
  const double wanted = ns > 0 ? ceil(sample_ns / ns) : 1;
  const int repeat = wanted < 1 ? 1 : wanted > MOST_REPEAT ? MOST_REPEAT : (int)wanted;
  for (int i = 0; i < SAMPLES && status == HONE_OK; ++i) {
    status = hn_bench_time(bench, 0, repeat, false, &ns);
    least = fmin(least, ns / repeat);
  }
  hn_bench_close(bench);
  if (status == HONE_OK) choice->cold_ns = least;
  return status;
}

hone_status hn_tune_cold(hn_choices *choices) {
  choices->cold_bytes = choices->tuning->cold_bytes;
  for (int i = 0; i < choices->count; ++i) {
    hn_choice *choice = &choices->items[i];
    const hn_candidate *best = hn_choice_runs(choice) ? hn_choice_best(choice, NULL) : NULL;
    if (!best || best->state != HN_CANDIDATE_TIMED || hn_tuning_stopped(choices->tuning)) continue;
    HN_TRY(hn_check_stop(choices->context));
    if (choice->same_as >= 0)
      choice->cold_ns = choices->items[choice->same_as].cold_ns;
    else
      HN_TRY(time_best(choices, choice, best));
  }
  return HONE_OK;
}
