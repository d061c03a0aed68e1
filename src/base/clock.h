/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - monotonic time. */
#ifndef HN_BASE_CLOCK_H
#define HN_BASE_CLOCK_H
#include <stdint.h>
int64_t hn_clock_ns(void); /* CLOCK_MONOTONIC */
#endif
