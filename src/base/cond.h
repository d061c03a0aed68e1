/* SPDX-License-Identifier: Apache-2.0 */
/* cond.h - conditions whose timed waits are on the clock of hn_clock_ns(). */
#ifndef HN_BASE_COND_H
#define HN_BASE_COND_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

static inline void hn_cond_init(pthread_cond_t *cond) {
  pthread_condattr_t how;
  pthread_condattr_init(&how);
  pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
  pthread_cond_init(cond, &how);
  pthread_condattr_destroy(&how);
}

/* Until it is signalled, or until the time; 0: without end. False: the time came. As any wait, it may end by itself. */
static inline bool hn_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t ns) {
  if (ns == 0) return pthread_cond_wait(cond, mutex) == 0;
  const struct timespec until = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
  return pthread_cond_timedwait(cond, mutex, &until) == 0;
}

#endif
