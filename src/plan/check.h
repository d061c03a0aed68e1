/* SPDX-License-Identifier: Apache-2.0 */
/* check.h - inside of plan/: one check in progress, in three parts. */
#ifndef HN_PLAN_CHECK_H
#define HN_PLAN_CHECK_H

#include "plan/plan.h"

typedef struct hn_plan_checker {
  const hn_plan *plan;
  hone_diagnostics *diag;
  hn_arena arena;
  hone_dims dims;   /* the plan's, for expressions that infer makes */
  hone_fact *facts; /* one a tensor: type, small values, constants */
  hone_tensor *constants;
  int64_t *symbols;  /* at the profile's opt shapes; -1: known only after running */
  bool *block_owned; /* some earlier step runs this block */
  int *block_of;     /* the block whose step or parameter makes a tensor; -1: none yet */
  int *written_at;   /* step that writes a tensor; -1: none */
  int *waited_at;    /* [device]: the last step at which the host waited for it; -1: none */
} hn_plan_checker;

hone_status hn_check_tensors(hn_plan_checker *checker); /* places, bytes, profiles (check_tensors.c) */
hone_status hn_check_steps(hn_plan_checker *checker);   /* order, shapes by infer, tactics (check_steps.c) */
hone_status hn_check_spaces(hn_plan_checker *checker);  /* whose memory each device works in (check_spaces.c) */
/* A copy or a wait; and whether a step finds its tensors in its own memory, with what was copied there
 * (check_spaces.c).
 */
hone_status hn_check_copy(hn_plan_checker *checker, const hn_plan_step *step, int block);
hone_status hn_check_wait(hn_plan_checker *checker, const hn_plan_step *step, int s, int block);
hone_status hn_check_in_space(hn_plan_checker *checker, const hn_plan_step *step);
hone_status hn_check_storage(hn_plan_checker *checker); /* lives, aliases, overlaps (check_storage.c) */

#endif
