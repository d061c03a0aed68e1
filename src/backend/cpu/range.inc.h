/* SPDX-License-Identifier: Apache-2.0 */
/* range.inc.h - the state and the launch of a tactic whose kernel reads x, writes y and computes a range of units. The
 * file that includes it names range_kernel (a function type) and range_args before; every call stays typed. */
#ifndef HN_BACKEND_CPU_RANGE_INC_H
#define HN_BACKEND_CPU_RANGE_INC_H

#include "backend/cpu/cpu.h"

typedef struct range {
  range_kernel *kernel;
  range_args args; /* x and y are known to a launch alone */
  int64_t units, grain;
} range;

static void range_body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const range *r = arg;
  r->kernel(&r->args, begin, end);
}

static inline void range_run(const range *planned, hone_stream *stream, const void *x, void *y) {
  range r = *planned;
  r.args.x = x;
  r.args.y = y;
  hn_pool_run(hn_stream_pool(stream), r.units, r.grain, range_body, &r);
}

static inline hone_status range_launch(void *state, hone_stream *stream, const hone_launch *launch) {
  range_run(state, stream, launch->in[0].data, launch->out[0].data);
  return HONE_OK;
}

#endif
