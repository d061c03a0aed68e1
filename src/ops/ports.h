/* SPDX-License-Identifier: Apache-2.0 */
/* ports.h - inputs and outputs against the ports of an op's row: counts, dtypes, letters. For the graph and for plans;
 * and the extents that a plan's steps have come to. */
#ifndef HN_OPS_PORTS_H
#define HN_OPS_PORTS_H

#include "base/memory.h"
#include <hone/op.h>

/* Is it one of any number of outputs, of an op without blocks? Those cannot be left out: their count has a meaning. */
bool hn_out_is_counted(const hone_op *op, int output);
const hone_port *hn_port_at(const hone_port *ports, int index); /* the variadic last one stands for the rest; or NULL */
/* in: anything not NULL for an input that is given. INVALID names the port. */
hone_status hn_ports_check(hone_diagnostics *diag, const hone_op *op, int in_count, const void *const *in,
                           int out_count, const bool *out_wanted);
/* Checks dtypes against the ports and their letters, and fills out[] with kind, dtype and rank -1 for infer. out has
 * room for max(out_count, HONE_MAX_PORTS). */
hone_status hn_ports_bind(hone_diagnostics *diag, const hone_op *op, int in_count, const hone_fact *in, int out_count,
                          hone_fact *out);

/* ---- extents that are numbers by now, held against the operator's own rules ----
 * While they were symbols, infer assumed what it could not know: that what is broadcast or joined fits together.
 * Kernels trust it. */
/* Runs call->op's infer on call->in, whose extents are numbers. The caller fills op, attrs, in_count, out_count, in,
 * out (room for max(out_count, HONE_MAX_PORTS)) and diagnostics; dims, arena and out's facts are filled here, in the
 * given arena. INVALID in words when the operator refuses these extents. */
hone_status hn_extents_infer(hone_infer *call, hn_arena *arena, hone_dims *dims);
/* Where both are numbers, inferred and planned extents must be the same; rank -1: nothing is known. */
hone_status hn_extents_agree(hone_diagnostics *diag, const char *what, const hone_shape *inferred,
                             const hone_shape *planned);

#endif
