/* SPDX-License-Identifier: Apache-2.0 */
/* fusion.c - what a fusion saves. A function that is taken in reads and writes nothing more, and costs its arithmetic
 * where it is: a clip nothing that shows, a swish most of what it cost alone. */
#include "report/fusion.h"
#include <math.h>
#include <string.h>

/* Operations that a function costs for each element in vectors: a definition counts it as one. By the time of f32
 * layers above that of clips of the same sizes (docs/EXPERIMENTS.md); polynomials and a division, so they follow the
 * f32 roof. */
static const struct {
  const char *op;
  double operations;
} functions[] = {{"swish", 34}, {"sigmoid", 30}, {"tanh", 40}, {"gelu", 84}, {"erf", 80}, {"exp", 20},
                 {"elu", 24},   {"selu", 24},    {"celu", 24}, {"mish", 80}, {"log", 30}, {"softplus", 50}};

static double elements_of(const hn_plan *plan, const hn_plan_step *step) {
  const hone_shape *shape = step->out_count > 0 && step->out[0] >= 0 ? &plan->tensors[step->out[0]].type.shape : NULL;
  double count = shape ? 1 : 0;
  for (int d = 0; shape && d < shape->rank; ++d) count *= shape->dim[d] > 0 ? (double)shape->dim[d] : 1;
  return count;
}

static double arithmetic_ns(const hn_profile *p, const hn_profile_row *row) {
  const double roof = p->in->facts ? p->in->facts->roofs[HONE_ROOF_F32] : 0;
  for (size_t i = 0; i < HN_COUNT(functions) && roof > 0; ++i)
    if (strcmp(functions[i].op, hn_step_type(row->step)) == 0)
      return elements_of(p->in->plan, row->step) * functions[i].operations / roof * 1e9;
  if (row->step->op && (row->step->op->traits & HONE_PER_CHANNEL)) return 0; /* weights take it in, before any run */
  return 2 * row->bound.compute_ns;
}

/* Of the tensors that the layer reads and writes, the share that a fusion leaves: operands beyond the first one. */
static double left_share(const hn_plan *plan, const hn_plan_step *step) {
  int operands = 0;
  for (int i = 0; i < step->in_count; ++i) {
    if (step->in[i] < 0) continue;
    const hn_place place = plan->tensors[step->in[i]].place;
    operands += place != HN_PLACE_CONSTANT && place != HN_PLACE_PACKED;
  }
  return operands > 1 ? (double)(operands - 1) / (operands + 1) : 0;
}

double hn_fusion_saving_ns(const hn_profile *p, const hn_profile_row *row) {
  const bool elementwise = row->step->op && (row->step->op->traits & HONE_ELEMENTWISE);
  const double left_ns = elementwise ? left_share(p->in->plan, row->step) * row->median_ns : 0;
  return fmax(0, row->median_ns - fmax(arithmetic_ns(p, row), left_ns));
}
