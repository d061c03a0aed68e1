/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - a plan is believed only after everything in it was derived again: the same for a plan just built and for a
 * file's. A plan that passes can be run without reading or writing outside its memory. */
#include "plan/check.h"
#include "tensor/shape.h"

static hone_status start(hn_plan_checker *checker) {
  const hn_plan *plan = checker->plan;
  hn_arena *arena = &checker->arena;
  const int tensors = plan->tensor_count + 1, symbols = plan->dims.symbol_count + 1;
  checker->facts = HN_NEW(arena, hone_fact, tensors);
  checker->constants = HN_NEW(arena, hone_tensor, tensors);
  checker->symbols = HN_NEW(arena, int64_t, symbols);
  checker->written_at = HN_NEW(arena, int, tensors);
  checker->block_of = HN_NEW(arena, int, tensors);
  checker->waited_at = HN_NEW(arena, int, plan->device_count);
  checker->block_owned = HN_NEW(arena, bool, plan->block_count + 1);
  hn_dims_init(&checker->dims, arena);
  if (!checker->facts || !checker->constants || !checker->symbols || !checker->written_at || !checker->block_of ||
      !checker->block_owned || !checker->waited_at || !hn_dims_copy(&checker->dims, &plan->dims))
    return HN_FAIL_MEMORY(checker->diag);
  for (int t = 0; t < plan->tensor_count; ++t) checker->written_at[t] = checker->block_of[t] = -1;
  for (int d = 0; d < plan->device_count; ++d) checker->waited_at[d] = -1;
  return HONE_OK;
}

/* Facts before any step: recorded types as the graph has them, as infer sees them, and the values of constants. */
static hone_status first_facts(hn_plan_checker *checker) {
  const hn_plan *plan = checker->plan;
  for (int t = 0; t < plan->tensor_count; ++t) {
    hone_fact *fact = &checker->facts[t];
    fact->type = plan->tensors[t].type;
    fact->type.dtype = plan->tensors[t].dtype;
    fact->type.format = HONE_PLAIN;
    int64_t *room = NULL;
    if (plan->tensors[t].place == HN_PLACE_CONSTANT && hn_elems(&fact->type.shape) <= HONE_MAX_FACT_VALUES) {
      room = HN_NEW(&checker->arena, int64_t, HONE_MAX_FACT_VALUES);
      if (!room) return HN_FAIL_MEMORY(checker->diag);
    }
    if (hn_plan_constant(plan, t, &checker->constants[t], room, &fact->value, &fact->value_count))
      fact->constant = &checker->constants[t];
  }
  return HONE_OK;
}

static hone_status check(hn_plan_checker *checker) {
  const hn_plan *plan = checker->plan;
  HN_TRY(start(checker));
  HN_TRY(hn_check_spaces(checker));
  HN_TRY(hn_check_tensors(checker));
  HN_TRY(first_facts(checker));
  hone_shape *opt = HN_NEW(&checker->arena, hone_shape, plan->input_count + 1);
  if (!opt) return HN_FAIL_MEMORY(checker->diag);
  for (int i = 0; i < plan->input_count; ++i) opt[i] = plan->inputs[i].opt;
  HN_TRY(hn_plan_bind_symbols(plan, opt, checker->symbols, checker->diag));
  HN_TRY(hn_check_steps(checker));
  if (plan->stripped) return HONE_OK; /* what follows hangs on constants */
  const hone_status fits = hn_plan_check_extents(plan, checker->symbols, checker->diag);
  if (fits != HONE_OK) return fits == HONE_INVALID ? HONE_MALFORMED : fits;
  return plan->shown ? HONE_OK : hn_check_storage(checker); /* tactics say what may lie over what */
}

hone_status hn_plan_check(const hn_plan *plan, hone_diagnostics *diag) {
  hn_plan_checker checker = {.plan = plan, .diag = diag};
  hn_arena_init(&checker.arena, plan->allocator);
  const hone_status status = check(&checker);
  hn_arena_deinit(&checker.arena);
  return status;
}
