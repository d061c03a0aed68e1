/* SPDX-License-Identifier: Apache-2.0 */
/* advice_device_rows.c - remedies of devices with a memory and a power limit of their own: how copies are made, and
 * what clock a run is worth. hone can neither lock another program's pages nor set a limit: these are predicted alone.
 */
#include "report/advice.h"
#include <math.h>

/* Copies of this size and more run at the link's rate; page-locked memory has at least `locked` bytes a ns of it (a
 * PCIe 3.0 link of 16 lanes gives 12 of its 15.75), pageable memory is copied twice, at less than `pageable`. */
static const double large_bytes = 256e3, locked = 12, pageable = 8;

static bool is_copy(const hn_profile_row *row) { return row->step->kind == HN_STEP_COPY; }

static double copied_bytes(const hn_profile_row *row) { return fmax(row->work->in_bytes, row->work->out_bytes); }

static bool is_slow_copy(const hn_advising *a, const hn_profile_row *row) {
  (void)a;
  const double bytes = copied_bytes(row);
  return is_copy(row) && bytes >= large_bytes && row->median_ns > 0 && bytes / row->median_ns < pageable;
}

static void find_pageable(hn_advising *a, const hn_advice_row *row) {
  double bytes = 0, ns = 0;
  if (a->p->in->facts->host_memory || a->shares.transfer < 0.05) return;
  for (int i = 0; i < a->p->count; ++i) {
    if (!is_slow_copy(a, &a->p->rows[i])) continue;
    bytes += copied_bytes(&a->p->rows[i]);
    ns += a->p->rows[i].median_ns;
  }
  if (ns <= 0) return;
  hn_advice_item *item =
      hn_advice_add(a, row, "copies run at %.1f GB/s, as out of pageable memory: page-locked memory has %.0f and more",
                    bytes / ns, locked);
  if (item) hn_advice_take_rows(a, item, is_slow_copy);
}

static void predict_pageable(const hn_advising *a, hn_advice_item *item) {
  for (int i = 0; i < item->row_count; ++i) {
    const hn_profile_row *row = &a->p->rows[item->rows[i]];
    item->saving_ns += fmax(0, row->median_ns - copied_bytes(row) / locked);
  }
  item->low_ns = 0.7 * item->saving_ns;
  item->high_ns = 1.4 * item->saving_ns;
}

static bool is_any_copy(const hn_advising *a, const hn_profile_row *row) {
  (void)a;
  return is_copy(row);
}

/* The shorter of both lies beside the longer one, but for 13 % (docs/EXPERIMENTS.md: 87 % of the copies were hidden).
 */
static double beside_ns(const hn_advising *a) {
  const double copies = a->p->to_device_ns + a->p->to_host_ns;
  return 0.87 * fmax(0, fmin(copies, a->p->median_ns - copies));
}

static void find_waiting_copies(hn_advising *a, const hn_advice_row *row) {
  if (a->p->in->facts->host_memory || a->shares.transfer < 0.1 || beside_ns(a) <= 0) return;
  hn_advice_item *item = hn_advice_add(
      a, row, "copies take %.0f %% of a run, and computing waits for them: the next request's could lie beside it",
      100 * a->shares.transfer);
  if (!item) return;
  hn_advice_take_rows(a, item, is_any_copy);
  hn_advice_flags(a, item, "hone bench --includeDataTransfers, or two sessions in turns");
}

static void predict_waiting_copies(const hn_advising *a, hn_advice_item *item) {
  item->saving_ns = beside_ns(a);
  item->low_ns = 0.6 * item->saving_ns;
  item->high_ns = 1.1 * item->saving_ns;
}

/* What neither computes nor is near its roof keeps its time at a lower clock; power falls about as the clock's cube. */
static void find_power(hn_advising *a, const hn_advice_row *row) {
  enum { PERCENT = 80 }; /* of the clock */
  const double idle = a->shares.memory + a->shares.latency + a->shares.transfer, share = PERCENT / 100.0;
  if (a->p->in->facts->host_memory || idle < 0.6) return;
  const double longer = a->shares.compute * (1 / share - 1);
  hn_advice_item *item = hn_advice_add(
      a, row,
      "%.0f %% of a run waits for memory, copies or launches: at %d %% of the clock it takes about %.0f %% longer, at "
      "about %.0f %% of the power that computing takes",
      fmin(100, 100 * idle), PERCENT, 100 * longer, 100 * share * share * share);
  if (item) item->factor = longer;
}

/* No time is saved. */
static void predict_power(const hn_advising *a, hn_advice_item *item) {
  (void)a;
  item->saving_ns = item->low_ns = item->high_ns = 0;
}

const hn_advice_row hn_advice_device_rows[] = {
    {"pageable-copies", "transfer", "lock the pages that are copied, or let the session's own buffers be filled",
     "none: the program binds page-locked memory (cudaHostAlloc, cudaHostRegister)", "low", false, find_pageable,
     predict_pageable, NULL},
    {"waiting-copies", "transfer", "copy one request's data while another computes: throughput, not latency", NULL,
     "medium", false, find_waiting_copies, predict_waiting_copies, NULL},
    {"power", HN_ADVICE_POWER, "lower the power limit or the clock (nvidia-smi --power-limit, --lock-gpu-clocks)",
     "none: a setting of the device", "low", false, find_power, predict_power, NULL},
    {0},
};
