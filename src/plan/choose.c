/* SPDX-License-Identifier: Apache-2.0 */
/* choose.c - which schedule runs given input shapes, or why none does. */
#include "plan/schedules.h"
#include "tensor/shape.h"
#include <math.h>

/* Where a schedule does not take the shapes: an input's dim, or its rank (dim -1). */
typedef struct misfit {
  int input, dim;
} misfit;

static bool find_misfit_of(const hn_plan *plan, int input, const hone_shape *shape, misfit *out) {
  const hn_plan_port *port = &plan->inputs[input];
  *out = (misfit){input, -1};
  if (shape->rank != port->opt.rank) return true;
  for (int d = 0; d < shape->rank; ++d)
    if (shape->dim[d] < port->min.dim[d] || shape->dim[d] > port->max.dim[d]) {
      out->dim = d;
      return true;
    }
  return false;
}

static bool find_misfit(const hn_plan *plan, const hone_shape *inputs, misfit *out) {
  for (int i = 0; i < plan->input_count; ++i)
    if (find_misfit_of(plan, i, &inputs[i], out)) return true;
  return false;
}

static double distance(const hn_plan *plan, const hone_shape *inputs) {
  double sum = 0;
  for (int i = 0; i < plan->input_count; ++i)
    for (int d = 0; d < inputs[i].rank; ++d) {
      const double dim = (double)inputs[i].dim[d], opt = (double)plan->inputs[i].opt.dim[d];
      sum += fabs(log((dim > 1 ? dim : 1) / (opt > 1 ? opt : 1)));
    }
  return sum;
}

/* What each schedule allows where it does not take the shapes; those that miss at the same dim are said together.
 * misfits: of all schedules, those to be left out marked by input -1. shapes: of the inputs from number first on. */
static hone_status fail_misfits(const hn_schedules *schedules, misfit *misfits, const hone_shape *shapes, int first,
                                hone_diagnostics *diag) {
  hn_text text;
  hn_text_init(&text, schedules->allocator);
  for (int k = 0; k < schedules->count; ++k) {
    const misfit m = misfits[k];
    if (m.input < 0) continue;
    const hn_plan_port *port = &schedules->plans[k]->inputs[m.input];
    const hone_shape *shape = &shapes[m.input - first];
    if (m.dim < 0) { /* every schedule has this rank */
      hn_text_clear(&text);
      hn_text_printf(&text, "input %s has rank %d, not %d", port->name, port->opt.rank, shape->rank);
      break;
    }
    hn_text_printf(&text, "%sinput %s: dim %d is %lld; allowed: ", text.length ? "; " : "", port->name, m.dim,
                   (long long)shape->dim[m.dim]);
    for (int other = k, said = 0; other < schedules->count; ++other) {
      if (misfits[other].input != m.input || misfits[other].dim != m.dim) continue;
      const hn_plan_port *range = &schedules->plans[other]->inputs[m.input];
      hn_text_printf(&text, "%s%lld to %lld", said++ ? ", " : "", (long long)range->min.dim[m.dim],
                     (long long)range->max.dim[m.dim]);
      if (schedules->count > 1) hn_text_printf(&text, " (schedule %d)", other);
      misfits[other].input = -1;
    }
  }
  const hone_status status = text.failed ? HN_FAIL_MEMORY(diag) : HN_FAIL(diag, HONE_INVALID, "%s", text.data);
  hn_text_deinit(&text);
  return status;
}

static bool is_asked(int only, int schedule) { return only < 0 || only == schedule; }

hone_status hn_schedules_allow(const hn_schedules *schedules, int only, int input, const hone_shape *shape,
                               hone_diagnostics *diag) {
  misfit misfits[HONE_MAX_SCHEDULES];
  for (int k = 0; k < schedules->count; ++k) {
    misfits[k].input = -1;
    if (is_asked(only, k) && !find_misfit_of(schedules->plans[k], input, shape, &misfits[k])) return HONE_OK;
  }
  return fail_misfits(schedules, misfits, shape, input, diag);
}

hone_status hn_schedules_choose(const hn_schedules *schedules, int only, const hone_shape *inputs, int64_t *symbols,
                                int *out, hone_diagnostics *diag) {
  misfit misfits[HONE_MAX_SCHEDULES];
  int nearest = -1, unequal = -1; /* unequal: in range, but dims that are one differ */
  double least = 0;
  for (int k = 0; k < schedules->count; ++k) {
    misfits[k].input = -1;
    if (!is_asked(only, k) || find_misfit(schedules->plans[k], inputs, &misfits[k])) continue;
    misfits[k].input = -1;
    if (hn_plan_bind_symbols(schedules->plans[k], inputs, symbols, NULL) != HONE_OK) {
      unequal = k;
      continue;
    }
    const double far = distance(schedules->plans[k], inputs);
    if (nearest >= 0 && far >= least) continue;
    nearest = k;
    least = far;
  }
  *out = nearest;
  if (nearest >= 0) return HONE_OK;
  if (unequal >= 0) return hn_plan_bind_symbols(schedules->plans[unequal], inputs, symbols, diag);
  return fail_misfits(schedules, misfits, inputs, 0, diag);
}
