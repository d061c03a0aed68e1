/* SPDX-License-Identifier: Apache-2.0 */
/* common_extents.c - extents that are numbers by now, held against the operator's own rules. */
#include "ops/extents.h"
#include "base/diag.h"
#include "ops/ports.h"
#include "tensor/dims.h"

hone_status hn_extents_infer(hone_infer *call, hn_arena *arena, hone_dims *dims) {
  hn_dims_init(dims, arena);
  call->dims = dims;
  call->arena = arena;
  HN_TRY(hn_ports_bind(call->diagnostics, call->op, call->in_count, call->in, call->out_count, call->out));
  const hone_status status = call->op->infer(call);
  if (dims->failed) return HN_FAIL(call->diagnostics, HONE_NO_MEMORY, "no room for the extents of %s", call->op->name);
  return status == HONE_MALFORMED ? HONE_INVALID : status; /* the model allows other extents: these are the caller's */
}

hone_status hn_extents_agree(hone_diagnostics *diag, const char *what, const hone_shape *inferred,
                             const hone_shape *planned) {
  if (inferred->rank < 0 || planned->rank < 0) return HONE_OK;
  if (inferred->rank != planned->rank)
    return HN_FAIL(diag, HONE_INVALID, "%s has rank %d with these extents, not %d", what, inferred->rank,
                   planned->rank);
  for (int d = 0; d < planned->rank; ++d) {
    const int64_t now = inferred->dim[d], then = planned->dim[d];
    if (now != then && !HONE_SYMBOLIC(now) && !HONE_SYMBOLIC(then))
      return HN_FAIL(diag, HONE_INVALID, "%s: dim %d is %lld with these extents, but other steps need %lld", what, d,
                     (long long)now, (long long)then);
  }
  return HONE_OK;
}
