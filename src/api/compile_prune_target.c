/* SPDX-License-Identifier: Apache-2.0 */
/* compile_prune_target.c - widths by measured times. */
#include "api/prune.h"

hone_status hn_prune_to_target(hn_pruning *p) {
  return HN_FAIL(&p->context->diag, HONE_UNSUPPORTED, "not here yet");
}
