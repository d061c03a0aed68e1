/* SPDX-License-Identifier: Apache-2.0 */
/* pack.c - what the lock chose, packed before it is proved: by all threads, and once, since lowering takes the same
 * bytes. Where nothing is locked, weights are packed for a trial and then for the plan: most trials lose. */
#include "base/pool.h"
#include "tune/tuning.h"
#include <string.h>

enum { BEHIND = 64 };

/* Beyond it weights are packed twice: a fourth of what the context may still have, and no more than this. */
static const uint64_t most_kept = (uint64_t)512 << 20;

typedef struct packing {
  hn_candidate *candidate;
  hone_query query;
  void *to;
  hone_status status;
} packing;

static void pack_part(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  for (packing *p = (packing *)arg + begin; p < (packing *)arg + end; ++p) {
    memset(p->to, 0, p->candidate->packed_bytes + BEHIND);
    p->status = p->candidate->tactic->pack(&p->query, p->to);
  }
}

/* Room with a line behind it, as the bench gives it. */
static hone_status begin(hn_choices *choices, const hn_choice *choice, packing *out) {
  const hn_node *node = choice->node;
  hn_candidate *candidate = &choice->candidates[choice->chosen];
  hone_fact *facts = HN_NEW(&choices->arena, hone_fact, node->in_count + node->out_count + 1);
  *out = (packing){.candidate = candidate, .to = hn_arena_alloc(&choices->arena, candidate->packed_bytes + BEHIND, 64)};
  if (!facts || !out->to) return HN_FAIL_MEMORY(&choices->context->diag);
  hn_candidate_query(choices, choice, candidate, facts, facts + node->in_count, &out->query);
  return HONE_OK;
}

/* What the lock chose for it packs something; NULL: it does not, or the bench watches it pack (tune/guard.h). */
static const hn_candidate *packs(const hn_choices *choices, const hn_choice *choice) {
  if (!hn_choice_runs(choice) || !choice->locked || choice->data_dependent || choice->chosen < 0) return NULL;
  const hn_candidate *candidate = &choice->candidates[choice->chosen];
  if (candidate->packed_bytes == 0 || hn_plugin_of_tactic(choices->context, candidate->tactic)) return NULL;
  return candidate;
}

hone_status hn_tune_pack(hn_choices *choices) {
  packing *items = HN_NEW(&choices->arena, packing, choices->count + 1);
  const hn_pool *own = hn_devices_pool(choices->devices, choices->device_count);
  int count = 0;
  uint64_t left = hn_memory_limit_left(hn_memory_limit_of(&choices->context->allocator)) / 4;
  if (left > most_kept) left = most_kept;
  if (!items) return HN_FAIL_MEMORY(&choices->context->diag);
  for (int i = 0; i < choices->count; ++i) {
    const hn_candidate *candidate = packs(choices, &choices->items[i]);
    if (!candidate || candidate->packed_bytes > left) continue;
    left -= candidate->packed_bytes;
    HN_TRY(begin(choices, &choices->items[i], &items[count++]));
  }
  hn_pool pool = own ? *own : (hn_pool){0};
  pool.stop = &choices->context->stop;
  hn_pool_run(own ? &pool : NULL, count, 1, pack_part, items);
  HN_TRY(hn_check_stop(choices->context));
  for (int i = 0; i < count; ++i) /* what failed is packed again when it is proved, which says so */
    if (items[i].status == HONE_OK) items[i].candidate->packed = items[i].to;
  return HONE_OK;
}
