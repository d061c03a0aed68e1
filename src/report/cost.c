/* SPDX-License-Identifier: Apache-2.0 */
/* cost.c - what the reference costs, in numbers: a model whose every operator is supported may still run a thousand
 * times slower than it would with kernels. */
#include "report/report.h"
#include <math.h>

/* An order of magnitude: one element at a time, in double. 12 ns an operation were measured on quantised and
 * half-precision networks (older cores), 1.2 in a product of 64-bit integers and 0.4 to 1.4 in f32 networks on a Zen 5:
 * the slow kinds are those that people meet. */
double hn_report_reference_ns(const hone_cost *cost) {
  return 8 * cost->flops + 4 * (cost->bytes_read + cost->bytes_written);
}

/* Half of what the device reaches at most; of one whose peaks are not measured, those of a common core. */
static double kernel_ns(const hone_cost *cost, const hone_facts *facts) {
  const double threads = facts->threads > 0 ? facts->threads : 1;
  const double flops = facts->roofs[HONE_ROOF_F32] > 0 ? facts->roofs[HONE_ROOF_F32] : 100e9 * threads;
  const double bytes = facts->roofs[HONE_ROOF_MEMORY] > 0 ? facts->roofs[HONE_ROOF_MEMORY] : 15e9 * threads;
  return 1e3 + 2e9 * fmax(cost->flops / flops, (cost->bytes_read + cost->bytes_written) / (4 * bytes));
}

void hn_report_cost(const hn_plan *plan, const hone_facts *facts, hone_engine_summary *out) {
  for (int s = 0; s < plan->step_count; ++s) {
    const hn_plan_step *step = &plan->steps[s];
    if (!hn_step_runs(step)) continue;
    const double fast_ns = kernel_ns(&step->cost, facts);
    if (!hn_step_is_reference(step)) {
      out->other_ns += fast_ns;
      continue;
    }
    out->reference_nodes += step->origin_count > 0 ? step->origin_count : 1;
    out->reference_flops += step->cost.flops;
    out->reference_ns += hn_report_reference_ns(&step->cost);
    out->kernel_ns += fast_ns;
  }
}
