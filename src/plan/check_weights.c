/* SPDX-License-Identifier: Apache-2.0 */
/* check_weights.c - the weights' hashes, one a MiB, checked side by side: the bytes come through memory once, which is
 * what takes the time, and touching them now is what the first run would do else. */
#include "base/hash.h"
#include "plan/format.h"
#include "plan/schedules.h"
#include <stdatomic.h>

typedef struct check {
  const hn_schedules *schedules;
  atomic_int damaged; /* the first piece with another hash; the count of pieces when there is none */
} check;

static void check_pieces(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  check *c = arg;
  const hn_schedules *schedules = c->schedules;
  for (int64_t i = begin; i < end; ++i) {
    const uint64_t at = (uint64_t)i * HN_WEIGHT_PAGE_BYTES, left = schedules->weights_bytes - at;
    const size_t count = (size_t)(left < HN_WEIGHT_PAGE_BYTES ? left : HN_WEIGHT_PAGE_BYTES);
    if (hn_hash(schedules->weights + at, count) == schedules->weight_hashes[i]) continue;
    int known = atomic_load(&c->damaged);
    while (i < known && !atomic_compare_exchange_weak(&c->damaged, &known, (int)i)) continue;
  }
}

hone_status hn_schedules_check_weights(const hn_schedules *schedules, const hn_pool *pool, hn_stop *stop,
                                       hone_diagnostics *diag) {
  if (schedules->weights_checked) return HONE_OK;
  check c = {.schedules = schedules};
  atomic_init(&c.damaged, schedules->weight_hash_count);
  hn_pool stopped = pool ? *pool : (hn_pool){0};
  stopped.stop = stop;
  stopped.at_least = schedules->weight_hash_count;
  hn_pool_run(&stopped, schedules->weight_hash_count, 1, check_pieces, &c);
  const int damaged = atomic_load(&c.damaged);
  if (damaged == schedules->weight_hash_count) return stop ? hn_stop_check(stop, diag) : HONE_OK;
  return HN_FAIL(diag, HONE_MALFORMED, "the engine's weights are damaged in MiB %d (its hash is wrong)", damaged);
}
