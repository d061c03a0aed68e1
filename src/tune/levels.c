/* SPDX-License-Identifier: Apache-2.0 */
/* levels.c - the builder levels: how much is timed, and for how long. docs/TUNING.md has the same table with figures.
 */
#include "tune/tuning.h"
#include "base/clock.h"
#include <stdatomic.h>

#define ALL 1e9

static const hn_level levels[] = {
    {.doc = "no timing: the cost model alone, the same choices every time"},
    {.doc = "the first variant of the best estimates, three short samples",
     .times = true,
     .variants = 1,
     .samples = 3,
     .sample_ns = 10e3,
     .prune = 1.9,
     .drop = 1.2},
    {.doc = "two variants of each, five samples",
     .times = true,
     .variants = 2,
     .samples = 5,
     .sample_ns = 20e3,
     .prune = 3,
     .drop = 1.25},
    {.doc = "all variants, fused nodes against their parts; the default",
     .times = true,
     .variants = HN_MAX_VARIANTS,
     .samples = 9,
     .sample_ns = 30e3,
     .prune = 4,
     .drop = 1.25,
     .parts = HN_PARTS_LIKE,
     .rivals = 2,
     .race_ns = 100e6},
    {.doc = "longer, and parts by all their candidates",
     .times = true,
     .variants = HN_MAX_VARIANTS,
     .samples = 15,
     .sample_ns = 50e3,
     .prune = 9,
     .drop = 1.5,
     .parts = HN_PARTS_ALL,
     .rivals = 3,
     .race_ns = 200e6},
    {.doc = "everything that is accepted, for as long as it takes",
     .times = true,
     .variants = HN_MAX_VARIANTS,
     .samples = 31,
     .sample_ns = 100e3,
     .prune = ALL,
     .drop = 2,
     .parts = HN_PARTS_ALL,
     .rivals = 4,
     .host_rivals = 4,
     .race_ns = 500e6},
};

const hn_level *hn_level_of(const hone_build_options *options, hone_device *const *devices, int device_count) {
  for (int d = 0; d < device_count; ++d)
    if (devices[d]->facts.described) return &levels[0]; /* nothing runs there */
  const int last = (int)HN_COUNT(levels) - 1;
  if (options->level == 0) return &levels[3];
  return &levels[options->level < 0 ? 0 : options->level > last ? last : options->level];
}

const char hn_time_used_up[] = "not timed: the tuning time budget ran out";

bool hn_tuning_stopped(hn_tuning *tuning) {
  const atomic_bool *stop = tuning->options->stop_timing;
  if (tuning->stop_ns && hn_clock_ns() >= tuning->stop_ns) tuning->stopped = true;
  if (stop && atomic_load_explicit(stop, memory_order_relaxed)) tuning->stopped = true;
  return tuning->stopped;
}
