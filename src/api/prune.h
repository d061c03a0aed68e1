/* SPDX-License-Identifier: Apache-2.0 */
/* api/prune.h - inside of api/: one pruning in the making. */
#ifndef HN_API_PRUNE_H
#define HN_API_PRUNE_H

#include "base/context.h"
#include "device/device.h"
#include "prune/cut.h"
#include "prune/part.h"
#include "prune/score.h"
#include <hone/hone.h>

typedef struct hn_pruning {
  hone_context *context;
  hone_prune_options options;
  hone_device *const *devices;
  int device_count;
  const hn_scorer *scorer;
  hn_arena arena;
  hone_graph *whole; /* our copy */
  hn_parted parted;
  hn_coupling coupling; /* of it */
  double *scores;       /* by unit */
  hone_prune_summary summary;
} hn_pruning;

/* A copy without the units that are removed. */
hone_status hn_prune_make(hn_pruning *p, hone_graph **out);
/* Chooses widths by times (compile_prune_target.c). */
hone_status hn_prune_to_target(hn_pruning *p);

#endif
