/* SPDX-License-Identifier: Apache-2.0 */
/* units.c - which layers of a device multiply on units for matrices, and why the others do not. What a row multiplies
 * in tells, not a kernel's name: devices have such units for types narrower than f32. */
#include "tensor/element.h"
#include "report/profile.h"
#include <string.h>

/* Values that are summed for one result; 0: not known. */
static int64_t depth_of(const hn_plan *plan, const hn_plan_step *step) {
  if (step->in_count < 2 || step->in[0] < 0 || step->in[1] < 0) return 0;
  const hone_shape *x = &plan->tensors[step->in[0]].type.shape, *w = &plan->tensors[step->in[1]].type.shape;
  if (strcmp(hn_step_class(step), "Convolution") == 0) return w->rank > 2 ? w->dim[1] : 0;
  return x->rank > 0 ? x->dim[x->rank - 1] : 0;
}

static bool on_host(const hn_plan *plan, const hn_plan_step *step) {
  return plan->host == 0 || plan->spaces[step->device] == plan->host; /* host 0: there is no other memory */
}

/* Were narrower types allowed, as far as other steps tell? */
static bool multiplies_narrow(const hn_plan *plan) {
  for (int s = 0; s < plan->step_count; ++s) {
    const hone_tactic *tactic = plan->steps[s].kind == HN_STEP_CALL ? plan->steps[s].tactic : NULL;
    if (tactic && (HN_TYPES_NARROW & HONE_BIT(tactic->compute))) return true;
  }
  return false;
}

static const char *why_not(const hn_plan *plan, const hn_plan_step *step) {
  const hone_dtype held = step->in_count && step->in[0] >= 0 ? plan->tensors[step->in[0]].type.dtype : HONE_NONE;
  const int64_t depth = depth_of(plan, step);
  if (on_host(plan, step)) return "it runs on the host";
  if (step->tactic->flags & HONE_TACTIC_PLAIN_UNITS)
    return depth == 1 ? "each channel is convolved by itself: there is no matrix"
                      : "its kernel multiplies on plain units";
  if (held == HONE_F64) return "it multiplies in f64";
  if (held == HONE_F32 && !multiplies_narrow(plan))
    return "it multiplies in f32 (--tf32, --fp16 and --bf16 allow narrower types)";
  if (depth > 0 && depth % 8) return "what it sums is no multiple of 8 values: its rows are not aligned to 16 bytes";
  return "the kernel that was chosen multiplies in f32 (hone explain has the reasons against others)";
}

bool hn_step_on_matrix_units(const hn_plan *plan, const hn_plan_step *step, const char **out_reason) {
  *out_reason = NULL;
  if (step->kind != HN_STEP_CALL || !step->tactic || !hn_profile_is_gemm(hn_step_class(step))) return false;
  const hone_dtype compute = step->tactic->compute;
  const bool narrow = compute != HONE_NONE && compute != HONE_F32 && compute != HONE_F64;
  if (narrow && !on_host(plan, step) && !(step->tactic->flags & HONE_TACTIC_PLAIN_UNITS)) return true;
  *out_reason = why_not(plan, step);
  return false;
}
