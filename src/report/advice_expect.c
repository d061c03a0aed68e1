/* SPDX-License-Identifier: Apache-2.0 */
/* advice_expect.c - what remedies would save, from what the changed layers took that a run is made of
 * (hone_engine_expect).
 *
 * Sums of layers that were timed alone are not a run: so both engines' sums are compared, and the run changes as they
 * do. */
#include "report/advice.h"
#include <math.h>

static void put(const hn_advising *a, hn_advice_item *item, double share) {
  const double saving_ns = fmax(0, fmin(share, 1)) * a->run_ns;
  item->saving_ns = saving_ns;
  item->low_ns = 0.75 * saving_ns;
  item->high_ns = fmin(1.25 * saving_ns, a->run_ns);
}

/* Less of a run leaves too little to judge the rest by. */
static const double least_known = 0.5;

static bool tells(const hn_advising *a, const hone_expectation *e) {
  return e->known_share >= least_known && e->like_ns > 0 && a->facts.level >= 0;
}

bool hn_expect_run(const hn_advising *a, hn_advice_item *item, const hone_expectation *e) {
  if (!tells(a, e)) return false;
  put(a, item, 1 - e->run_ns / e->like_ns);
  item->timed_share = e->known_share;
  return true;
}

/* A layer that was timed alone gains more by a narrower type than it does in a run of several threads, where it reads
 * what another one wrote and waits for the last: 0.62 to 1 of it on seven networks, 0.8 in the mean
 * (docs/EXPERIMENTS.md). */
bool hn_expect_narrower(const hn_advising *a, hn_advice_item *item, const hone_expectation *e) {
  static const double left = 0.8;
  const hone_facts *facts = a->p->in->facts;
  if (!tells(a, e)) return false;
  put(a, item, (1 - e->run_ns / e->like_ns) * (facts->host_memory && facts->threads > 1 ? left : 1));
  item->timed_share = e->known_share;
  return true;
}

/* A layer that takes in what stands behind it keeps its kernel: what is gone is known from the profile. What computes
 * several layers at once is another kernel, with the functions that it took in. */
bool hn_expect_fusions(const hn_advising *a, hn_advice_item *item, const hone_expectation *e) {
  if (!tells(a, e)) return false;
  hn_predict_fused(a, item);
  const double beside = e->taken_ns > 0 ? 1 - fmin(e->joined_taken_ns / e->taken_ns, 1) : 1;
  put(a, item, item->saving_ns * a->scale / a->run_ns * beside + (e->joined_now_ns - e->joined_ns) / e->like_ns);
  item->timed_share = fmin(e->joined_ns / e->run_ns, 1);
  return true;
}

bool hn_expect_items(const hn_advising *a, hn_advice_item *item, const hone_expectation *e) {
  if (!tells(a, e)) return false;
  put(a, item, 1 - e->run_ns / HN_MORE_ITEMS / e->like_ns);
  item->timed_share = e->known_share;
  return true;
}

/* The kernels that estimates chose are among those that were timed. */
bool hn_expect_times(const hn_advising *a, hn_advice_item *item, const hone_expectation *e) {
  (void)a;
  if (e->known_share < least_known || !(e->like_ns > 0)) return false;
  put(a, item, 1 - e->run_ns / e->like_ns);
  item->timed_share = e->known_share;
  return true;
}

bool hn_advice_expects(hn_advising *a, int index, const hone_expectation *e) {
  hn_advice_item *item = &a->items[index];
  if (!item->row->expect || !item->row->expect(a, item, e)) return false;
  item->timed_layers = e->timed_layers;
  item->unknown_layers = e->unknown_layers;
  hn_advice_sort(a);
  return true;
}
