/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h - how attention's rows are cut into units. */
#ifndef HN_BACKEND_CPU_ATTENTION_ROWS_H
#define HN_BACKEND_CPU_ATTENTION_ROWS_H

#include "backend/cpu/cpu.h"

enum { HN_ATTENTION_FEW_ROWS = 16 }; /* of a query: packing keys costs more than it saves */

/* Rows of a unit: whole heads where there are enough of them for all threads, else chunks of their rows. Each unit
 * packs its head's keys and values. */
static inline int64_t hn_attention_row_chunk(int64_t heads, int64_t rows, int64_t threads) {
  enum { MOST = 512, LEAST = 56 };
  int64_t chunks = hn_ceil_div(rows, MOST);
  if (threads > 1 && heads * chunks < threads * HN_CPU_UNITS_PER_THREAD)
    chunks = hn_cpu_greater(chunks, hn_cpu_lesser(hn_ceil_div(threads * HN_CPU_UNITS_PER_THREAD, heads), rows / LEAST));
  return hn_ceil_div(rows, hn_cpu_greater(chunks, 1));
}

#endif
