/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - monotonic time; the vDSO makes a call cost some 20 ns. */
#ifndef HN_BASE_CLOCK_H
#define HN_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t hn_clock_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#endif
