/* SPDX-License-Identifier: Apache-2.0 */
/* transpose_plan.h - the sizes that the planner and the loops must agree on. */
#ifndef HN_KERNELS_CPU_TRANSPOSE_PLAN_H
#define HN_KERNELS_CPU_TRANSPOSE_PLAN_H

enum {
  HN_TRANSPOSE_TILE = 64,         /* 64 x 64 floats, twice: half of a 32 KiB L1 cache */
  HN_TRANSPOSE_RUN_BYTES = 16384, /* a longer run is cut, so that threads can share it */
};

#endif
