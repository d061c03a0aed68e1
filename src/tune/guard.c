/* SPDX-License-Identifier: Apache-2.0 */
/* guard.c - bytes behind what a plug-in's row may write. Its first launch on the bench, its pack and its eval run with
 * them in the host's memory; what it wrote behind its own belongs to somebody else in a network. hone's own kernels are
 * held to the same by their tests. */
#include "tune/guard.h"
#include "ops/ports.h"
#include <stdio.h>
#include <string.h>

static unsigned char pattern(int i) { return (unsigned char)(0xa5 ^ (i * 7)); }

void hn_guard_set(void *end) {
  unsigned char *at = end;
  for (int i = 0; i < HN_GUARD_BYTES; ++i) at[i] = pattern(i);
}

hone_status hn_guard_check(const hn_guarded *guarded, const char *what, void *end, size_t bytes) {
  unsigned char *at = end;
  int broken = 0;
  for (int i = 0; i < HN_GUARD_BYTES; ++i)
    if (at[i] != pattern(i)) broken = i + 1;
  memset(end, 0, HN_GUARD_BYTES);
  if (!broken) return HONE_OK;
  hone_diagnostics *diag = &guarded->context->diag;
  (void)HN_FAIL(diag, HONE_INVALID, "%s: %s %s writes behind its %s of %zu bytes: %s%d bytes too far", guarded->plugin,
                guarded->kind, guarded->name, what, bytes, broken == HN_GUARD_BYTES ? "at least " : "", broken);
  return hone_note(diag, HONE_INVALID, "at node %s (%s)", guarded->node->name, guarded->node->op->name);
}

void hn_guards_set(const hn_guarded *guarded, const hone_tensor *out, void *scratch, size_t scratch_bytes) {
  for (int o = 0; o < guarded->node->out_count; ++o)
    if (out[o].data) hn_guard_set((char *)out[o].data + out[o].bytes);
  hn_guard_set((char *)scratch + scratch_bytes);
}

hone_status hn_guards_check(const hn_guarded *guarded, const hone_tensor *out, void *scratch, size_t scratch_bytes) {
  for (int o = 0; o < guarded->node->out_count; ++o) {
    char what[80];
    if (!out[o].data) continue;
    (void)snprintf(what, sizeof what, "output %s", hn_port_at(guarded->node->op->out, o)->name);
    HN_TRY(hn_guard_check(guarded, what, (char *)out[o].data + out[o].bytes, out[o].bytes));
  }
  return hn_guard_check(guarded, "scratch", (char *)scratch + scratch_bytes, scratch_bytes);
}
