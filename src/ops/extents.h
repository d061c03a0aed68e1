/* SPDX-License-Identifier: Apache-2.0 */
/* extents.h - extents that are numbers by now, held against the operator's own rules. While they were symbols, infer
 * assumed what it could not know: that what is broadcast or joined fits together. Kernels trust it. */
#ifndef HN_OPS_EXTENTS_H
#define HN_OPS_EXTENTS_H

#include "base/memory.h"
#include <hone/op.h>

/* Runs call->op's infer on call->in, whose extents are numbers. The caller fills op, attrs, in_count, out_count, in,
 * out (room for max(out_count, HONE_MAX_PORTS)) and diagnostics; dims, arena and out's facts are filled here, in the
 * given arena. INVALID in words when the operator refuses these extents. */
hone_status hn_extents_infer(hone_infer *call, hn_arena *arena, hone_dims *dims);
/* Where both are numbers, inferred and planned extents must be the same; rank -1: nothing is known. */
hone_status hn_extents_agree(hone_diagnostics *diag, const char *what, const hone_shape *inferred,
                             const hone_shape *planned);

#endif
