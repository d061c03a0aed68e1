/* SPDX-License-Identifier: Apache-2.0 */
/* common_ports.c - a node's inputs and outputs against the ports of its op's row: counts, dtypes, letters. */
#include "ops/ports.h"
#include "base/diag.h"
#include "tensor/dims.h"
#include <stdio.h>
#include <string.h>

const hone_port *hn_port_at(const hone_port *ports, int index) {
  for (int i = 0; i < HONE_MAX_PORTS && ports[i].name; ++i) {
    if (i == index || (ports[i].flags & HONE_PORT_VARIADIC)) return &ports[i];
  }
  return NULL;
}

bool hn_out_is_counted(const hone_op *op, int output) {
  const hone_port *port = hn_port_at(op->out, output);
  return port && (port->flags & HONE_PORT_VARIADIC) && !(op->traits & HONE_HAS_BLOCKS);
}

/* How many there must be, and how many there may be (-1: any number). */
static void port_range(const hone_port *ports, int *out_least, int *out_most) {
  *out_least = *out_most = 0;
  for (int i = 0; i < HONE_MAX_PORTS && ports[i].name; ++i) {
    if (!(ports[i].flags & HONE_PORT_OPTIONAL)) *out_least = i + 1;
    *out_most = ports[i].flags & HONE_PORT_VARIADIC ? -1 : i + 1;
  }
}

static hone_status check_count(hone_diagnostics *diag, const hone_port *ports, const char *what, int count) {
  int least, most;
  port_range(ports, &least, &most);
  if (count < least)
    return HN_FAIL(diag, HONE_INVALID, "%d %ss are too few: %s %s is needed", count, what, what,
                   hn_port_at(ports, count)->name);
  if (most >= 0 && count > most) return HN_FAIL(diag, HONE_INVALID, "%d %ss, but there are %d", count, what, most);
  return HONE_OK;
}

hone_status hn_ports_check(hone_diagnostics *diag, const hone_op *op, int in_count, const void *const *in,
                           int out_count, const bool *out_wanted) {
  HN_TRY(check_count(diag, op->in, "input", in_count));
  HN_TRY(check_count(diag, op->out, "output", out_count));
  for (int i = 0; i < in_count; ++i) {
    const hone_port *port = hn_port_at(op->in, i);
    if (!in[i] && !(port->flags & HONE_PORT_OPTIONAL))
      return HN_FAIL(diag, HONE_INVALID, "input %s is needed", port->name);
  }
  for (int i = 0; i < out_count; ++i) {
    const hone_port *port = hn_port_at(op->out, i);
    if (!out_wanted[i] && (!(port->flags & (HONE_PORT_OPTIONAL | HONE_PORT_VARIADIC)) || hn_out_is_counted(op, i)))
      return HN_FAIL(diag, HONE_INVALID, "output %s cannot be left out", port->name);
  }
  return HONE_OK;
}

static void list_types(uint32_t types, char *out, size_t room) {
  size_t used = 0;
  out[0] = 0;
  for (int i = 1; i < HONE_DTYPE_COUNT; ++i) {
    if (!(types & HONE_BIT(i)) || used >= room) continue;
    const int added = snprintf(out + used, room - used, "%s%s", used > 0 ? ", " : "", hone_dtype_name((hone_dtype)i));
    used += added > 0 ? (size_t)added : 0;
  }
}

static hone_status check_dtype(hone_diagnostics *diag, const hone_port *port, hone_dtype dtype, hone_dtype *letters) {
  if (dtype <= HONE_NONE || dtype >= HONE_DTYPE_COUNT)
    return HN_FAIL(diag, HONE_INVALID, "input %s has no type yet", port->name);
  if (!(port->types & HONE_BIT(dtype))) {
    char known[160];
    list_types(port->types, known, sizeof known);
    return HN_FAIL(diag, HONE_UNSUPPORTED, "input %s is %s, and must be one of: %s", port->name, hone_dtype_name(dtype),
                   known);
  }
  if (port->letter == 0) return HONE_OK;
  hone_dtype *bound = &letters[(unsigned char)port->letter];
  if (*bound != HONE_NONE && *bound != dtype)
    return HN_FAIL(diag, HONE_MALFORMED, "input %s is %s, but another input of the same type is %s", port->name,
                   hone_dtype_name(dtype), hone_dtype_name(*bound));
  *bound = dtype;
  return HONE_OK;
}

/* The one dtype of a set, or NONE. */
static hone_dtype only_dtype(uint32_t types) {
  if (types == 0 || (types & (types - 1)) != 0) return HONE_NONE;
  return (hone_dtype)__builtin_ctz(types);
}

hone_status hn_ports_bind(hone_diagnostics *diag, const hone_op *op, int in_count, const hone_fact *in, int out_count,
                          hone_fact *out) {
  hone_dtype letters[256] = {HONE_NONE};
  for (int i = 0; i < in_count; ++i) {
    if (in[i].type.kind == HONE_ABSENT) continue;
    if (in[i].type.kind != HONE_TENSOR && !(op->traits & (HONE_ANY_KIND | HONE_HAS_BLOCKS)))
      return HN_FAIL(diag, HONE_MALFORMED, "input %s is %s, and must be a tensor", hn_port_at(op->in, i)->name,
                     in[i].type.kind == HONE_SEQUENCE ? "a sequence" : "an optional");
    HN_TRY(check_dtype(diag, hn_port_at(op->in, i), in[i].type.dtype, letters));
  }
  const int room = out_count > HONE_MAX_PORTS ? out_count : HONE_MAX_PORTS;
  memset(out, 0, (size_t)room * sizeof *out);
  for (int i = 0; i < room; ++i) {
    const hone_port *port = hn_port_at(op->out, i);
    out[i].type.kind = HONE_TENSOR;
    out[i].type.shape.rank = -1;
    if (port) out[i].type.dtype = port->letter ? letters[(unsigned char)port->letter] : only_dtype(port->types);
  }
  return HONE_OK;
}

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
