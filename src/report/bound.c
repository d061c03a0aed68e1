/* SPDX-License-Identifier: Apache-2.0 */
/* bound.c - a layer held against the roofs. */
#include "report/bound.h"
#include "device/isa.h"
#include "tensor/shape.h"
#include <math.h>
#include <stdio.h>

#define LATENCY_MOST_NS 10e3 /* a longer step is not bound by its fixed costs */
#define LATENCY_SHARE 0.25   /* of its roof; a step below it that is this short is */

/* ---- work ---- */

static double bytes_of(const hone_type *type) {
  size_t bytes;
  return type->kind == HONE_TENSOR && hn_shape_known(&type->shape) && hn_type_bytes(type, &bytes) ? (double)bytes : 0;
}

static bool all_known(const hone_fact *facts, int count) {
  for (int i = 0; i < count; ++i)
    if (facts[i].type.kind == HONE_TENSOR && !hn_shape_known(&facts[i].type.shape)) return false;
  return true;
}

/* Constants of a step, as the graph has them. */
static double constant_bytes(const hn_plan *plan, const hn_plan_step *step, const hone_fact *in, bool packed) {
  double sum = 0;
  for (int i = 0; i < step->in_count; ++i) {
    if (step->in[i] < 0) continue;
    const hn_place place = plan->tensors[step->in[i]].place;
    if (place == HN_PLACE_PACKED ? packed : place == HN_PLACE_CONSTANT) sum += bytes_of(&in[i].type);
  }
  return sum;
}

/* A tactic that places its outputs and inputs in one another has nothing to do where lowering did so. */
static bool moves_nothing(const hn_plan *plan, const hn_plan_step *step) {
  if (!step->tactic || !step->tactic->overlay) return false;
  for (int o = 0; o < step->out_count; ++o)
    for (int i = 0; i < step->in_count; ++i) {
      if (step->in[i] < 0 || step->out[o] < 0) continue;
      const hn_plan_tensor *in = &plan->tensors[step->in[i]], *out = &plan->tensors[step->out[o]];
      if (in->place == HN_PLACE_ARENA && out->place == HN_PLACE_ARENA &&
          hn_plan_top(plan, step->in[i]) != hn_plan_top(plan, step->out[o]))
        return false;
      if (in->place != HN_PLACE_ARENA || out->place != HN_PLACE_ARENA) return false;
    }
  return true;
}

hn_work hn_step_work(const hn_plan *plan, const hn_plan_step *step, const int64_t *symbols) {
  hn_work work = {.cost = step->cost};
  hone_fact in[HONE_MAX_PORTS * 2], out[HONE_MAX_PORTS];
  if (step->in_count > HONE_MAX_PORTS * 2 || step->out_count > HONE_MAX_PORTS || (plan->dynamic && !symbols) ||
      hn_plan_step_facts(plan, step, plan->dynamic ? symbols : NULL, in, out, NULL) != HONE_OK)
    return work;
  hone_cost moved = step->cost;
  if (step->op && step->op->cost && all_known(in, step->in_count) && all_known(out, step->out_count))
    moved = step->op->cost(&step->attrs, in, step->in_count, out, step->out_count);
  if (plan->dynamic) work.cost = moved;
  work.moves_nothing = moves_nothing(plan, step);
  for (int i = 0; i < step->out_count; ++i) work.out_bytes += bytes_of(&out[i].type);
  for (int i = 0; i < step->in_count; ++i)
    if (step->in[i] >= 0 && plan->tensors[step->in[i]].place != HN_PLACE_CONSTANT &&
        plan->tensors[step->in[i]].place != HN_PLACE_PACKED)
      work.in_bytes += bytes_of(&in[i].type);
  /* Of a table that is looked up in, the rows that are needed: what the operator says of its reading. */
  const double rest = fmax(0, moved.bytes_read - work.in_bytes), whole = constant_bytes(plan, step, in, true);
  const double plain = constant_bytes(plan, step, in, false);
  work.params_bytes = step->packed_bytes > 0 ? (double)step->packed_bytes + plain : rest < whole ? rest : whole;
  return work;
}

/* ---- roofs ---- */

static bool is_narrow_integer(hone_dtype dtype) { return dtype == HONE_U8 || dtype == HONE_I8; }

/* The type that is multiplied: as the tactic's row says, else that of the activations. */
static hone_roof unit_of(const hn_plan *plan, const hn_plan_step *step, const hone_facts *facts) {
  hone_roof unit = HONE_ROOF_F32;
  if (step->tactic && step->tactic->compute == HONE_BF16) unit = HONE_ROOF_BF16;
  if (step->tactic && step->tactic->compute == HONE_F16) unit = HONE_ROOF_F16;
  for (int i = 0; i < step->in_count && unit == HONE_ROOF_F32; ++i) {
    if (step->in[i] < 0) continue;
    const hone_dtype dtype = plan->tensors[step->in[i]].type.dtype;
    if (dtype == HONE_F64) unit = HONE_ROOF_F64;
    if (is_narrow_integer(dtype)) unit = HONE_ROOF_INT8;
  }
  return facts->roofs[unit] > 0 ? unit : HONE_ROOF_F32;
}

/* Bytes that a level holds for all threads. */
static double level_holds(const hone_facts *facts, hone_roof level) {
  const double threads = facts->threads > 0 ? facts->threads : 1;
  switch (level) {
  case HONE_ROOF_L1: return (double)facts->l1_bytes * threads;
  case HONE_ROOF_L2: return (double)facts->l2_bytes * (facts->host_memory ? threads : 1);
  case HONE_ROOF_L3: return (double)facts->l3_bytes;
  default: return INFINITY;
  }
}

/* Reads bytes that are part of a set: what of the set a level holds comes from there, the rest from behind it. Adds to
 * what each level takes. */
static void add_reading(const hone_facts *facts, double bytes, double set, bool cold, double *level_ns) {
  double held = 0;
  for (hone_roof level = cold ? HONE_ROOF_MEMORY : HONE_ROOF_L1; level < HONE_ROOF_COUNT && held < 1; ++level) {
    if (!(facts->roofs[level] > 0)) continue;
    const double share = level == HONE_ROOF_MEMORY || set <= 0 ? 1 : fmin(1, level_holds(facts, level) / set);
    if (share <= held) continue;
    level_ns[level] += bytes * (share - held) / facts->roofs[level] * 1e9;
    held = share;
  }
}

hn_bound hn_step_bound(const hn_plan *plan, const hn_plan_step *step, const hn_work *work, const hone_facts *facts,
                       bool cold, double time_ns) {
  hn_bound bound = {.unit = unit_of(plan, step, facts), .level = HONE_ROOF_MEMORY};
  if (!(facts->roofs[HONE_ROOF_F32] > 0) || !(facts->roofs[HONE_ROOF_MEMORY] > 0)) return bound;
  const double fewer = step->tactic && step->tactic->fewer > 1 ? step->tactic->fewer : 1;
  bound.compute_ns = work->cost.flops / fewer / facts->roofs[bound.unit] * 1e9;
  double level_ns[HONE_ROOF_COUNT] = {0};
  if (!work->moves_nothing) {
    const double activations = work->in_bytes + work->out_bytes;
    const double own = activations + work->params_bytes + (double)step->scratch_bytes;
    const double all = (double)plan->weights_bytes + (double)plan->arena_bytes;
    add_reading(facts, activations, own, cold, level_ns);
    add_reading(facts, work->params_bytes, fmax(own, all), cold, level_ns);
  }
  for (hone_roof level = HONE_ROOF_L1; level < HONE_ROOF_COUNT; ++level) {
    bound.memory_ns += level_ns[level];
    if (level_ns[level] > level_ns[bound.level]) bound.level = level;
  }
  const bool computes = bound.compute_ns > bound.memory_ns;
  bound.floor_ns = computes ? bound.compute_ns : bound.memory_ns;
  bound.share = time_ns > 0 ? bound.floor_ns / time_ns : 0;
  bound.kind = time_ns < LATENCY_MOST_NS && bound.share < LATENCY_SHARE ? HN_BOUND_LATENCY
               : computes                                               ? HN_BOUND_COMPUTE
                                                                        : HN_BOUND_MEMORY;
  if (fewer > 1)
    bound.reason = step->tactic->algorithm;
  else if (bound.share > 1.05)
    bound.reason = computes ? "the roof was measured while the machine was busier" : "the cache before held more of it";
  return bound;
}

void hn_bound_text(const hn_bound *bound, char *out, size_t room) {
  switch (bound->kind) {
  case HN_BOUND_COMPUTE: (void)snprintf(out, room, "compute %s", hone_roof_name(bound->unit)); return;
  case HN_BOUND_MEMORY:
    (void)snprintf(out, room, "memory%s%s", bound->level == HONE_ROOF_MEMORY ? "" : " ",
                   bound->level == HONE_ROOF_MEMORY ? "" : hone_roof_name(bound->level));
    return;
  case HN_BOUND_LATENCY: (void)snprintf(out, room, "latency"); return;
  default: (void)snprintf(out, room, "-");
  }
}
