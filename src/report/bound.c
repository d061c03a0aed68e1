/* SPDX-License-Identifier: Apache-2.0 */
/* bound.c - a layer held against the roofs. */
#include "device/device.h"
#include "tensor/element.h"
#include "report/bound.h"
#include "tensor/shape.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

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

/* Do both lie in one place of the arena? */
static bool is_same_place(const hn_plan *plan, int a, int b) {
  return a >= 0 && b >= 0 && plan->tensors[a].place == HN_PLACE_ARENA && plan->tensors[b].place == HN_PLACE_ARENA &&
         hn_plan_top(plan, a) == hn_plan_top(plan, b);
}

static bool lies_with_any(const hn_plan *plan, int tensor, int count, const int *others) {
  for (int i = 0; i < count; ++i)
    if (is_same_place(plan, tensor, others[i])) return true;
  return false;
}

/* A tactic that only moves bytes leaves alone what lowering put where it belongs: of the larger side (a join's output,
 * a split's input) as much is touched as of the smaller tensors that must be moved. */
static void leave_in_place(const hn_plan *plan, const hn_plan_step *step, const hone_fact *in, const hone_fact *out,
                           hn_work *work) {
  if (!step->tactic || !step->tactic->overlay) return;
  const bool joins = work->out_bytes >= work->in_bytes;
  const int count = joins ? step->in_count : step->out_count, others = joins ? step->out_count : step->in_count;
  const int *tensors = joins ? step->in : step->out, *larger = joins ? step->out : step->in;
  double moved = 0;
  for (int i = 0; i < count; ++i)
    if (tensors[i] >= 0 && !lies_with_any(plan, tensors[i], others, larger))
      moved += fmin(bytes_of(joins ? &in[i].type : &out[i].type), work->out_bytes); /* or a part of a constant */
  work->in_bytes = work->out_bytes = moved;
  work->params_bytes = 0;
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
  for (int i = 0; i < step->out_count; ++i) work.out_bytes += bytes_of(&out[i].type);
  for (int i = 0; i < step->in_count; ++i)
    if (step->in[i] >= 0 && plan->tensors[step->in[i]].place != HN_PLACE_CONSTANT &&
        plan->tensors[step->in[i]].place != HN_PLACE_PACKED)
      work.in_bytes += bytes_of(&in[i].type);
  work.in_bytes = fmin(work.in_bytes, moved.bytes_read);
  /* Of a table that is looked up in, the rows that are needed: what the operator says of its reading. */
  const double rest = fmax(0, moved.bytes_read - work.in_bytes), whole = constant_bytes(plan, step, in, true);
  const double plain = constant_bytes(plan, step, in, false);
  work.in_place =
      step->in_count > 0 && step->out_count > 0 && lies_with_any(plan, step->out[0], step->in_count, step->in);
  work.params_bytes = step->packed_bytes > 0 ? (double)step->packed_bytes + plain : rest < whole ? rest : whole;
  leave_in_place(plan, step, in, out, &work);
  return work;
}

/* ---- roofs ---- */

hone_roof hn_step_unit(const hn_plan *plan, const hn_plan_step *step) {
  const hone_dtype compute = step->tactic ? step->tactic->compute : HONE_NONE;
  if (HN_TYPES_NARROW & HONE_BIT(compute)) return hn_roof_of_type(compute);
  for (int i = 0; i < step->in_count; ++i) {
    if (step->in[i] < 0) continue;
    const hone_roof roof = hn_roof_of_type(plan->tensors[step->in[i]].type.dtype);
    if (roof == HONE_ROOF_F64 || roof == HONE_ROOF_INT8) return roof;
  }
  return HONE_ROOF_F32;
}

static hone_roof unit_of(const hn_plan *plan, const hn_plan_step *step, const hone_facts *facts) {
  const hone_roof unit = hn_step_unit(plan, step);
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

/* Moves bytes that are part of a set: what of the set a level holds lies there, the rest behind it. Adds to what each
 * level takes. */
static void add_moving(const hone_facts *facts, double bytes, double set, bool cold, double *level_ns) {
  double held = 0;
  for (hone_roof level = cold ? HONE_ROOF_MEMORY : HONE_ROOF_L1; level < HONE_ROOF_COUNT && held < 1; ++level) {
    if (!(facts->roofs[level] > 0)) continue;
    const double share = level == HONE_ROOF_MEMORY || set <= 0 ? 1 : fmin(1, level_holds(facts, level) / set);
    if (share <= held) continue;
    level_ns[level] += bytes * (share - held) / facts->roofs[level] * 1e9;
    held = share;
  }
}

/* Caches take in and give out at once, main memory in turns. */
static void move(const hn_plan *plan, const hn_plan_step *step, const hn_work *work, const hone_facts *facts, bool cold,
                 double width, hn_bound *bound) {
  double read_ns[HONE_ROOF_COUNT] = {0}, write_ns[HONE_ROOF_COUNT] = {0}, most_ns = -1;
  const double activations = work->in_place ? fmax(work->in_bytes, work->out_bytes) : work->in_bytes + work->out_bytes;
  const double own = width * (activations + work->params_bytes + (double)step->scratch_bytes);
  const double all = width * ((double)plan->weights_bytes + (double)plan->arena_bytes);
  add_moving(facts, width * work->in_bytes, own, cold, read_ns);
  add_moving(facts, width * work->params_bytes, fmax(own, all), cold, read_ns);
  add_moving(facts, width * work->out_bytes, own, cold, write_ns);
  for (hone_roof level = HONE_ROOF_L1; level < HONE_ROOF_COUNT; ++level) {
    const double ns =
        level == HONE_ROOF_MEMORY ? read_ns[level] + write_ns[level] : fmax(read_ns[level], write_ns[level]);
    bound->memory_ns += ns;
    if (ns > most_ns) bound->level = level;
    most_ns = fmax(ns, most_ns);
  }
}

double hn_step_memory_ns(const hn_plan *plan, const hn_plan_step *step, const hn_work *work, const hone_facts *facts,
                         bool cold, double width) {
  hn_bound bound = {.level = HONE_ROOF_MEMORY};
  move(plan, step, work, facts, cold, width, &bound);
  return bound.memory_ns;
}

hn_bound hn_step_bound(const hn_plan *plan, const hn_plan_step *step, const hn_work *work, const hone_facts *facts,
                       bool cold, double time_ns) {
  hn_bound bound = {.unit = unit_of(plan, step, facts), .level = HONE_ROOF_MEMORY};
  if (!(facts->roofs[HONE_ROOF_F32] > 0) || !(facts->roofs[HONE_ROOF_MEMORY] > 0)) return bound;
  const double fewer = step->tactic && step->tactic->fewer > 1 ? step->tactic->fewer : 1;
  bound.compute_ns = work->cost.flops / fewer / facts->roofs[bound.unit] * 1e9;
  move(plan, step, work, facts, cold, 1, &bound);
  const bool computes = bound.compute_ns > bound.memory_ns;
  bound.floor_ns = computes ? bound.compute_ns : bound.memory_ns;
  bound.share = time_ns > 0 ? bound.floor_ns / time_ns : 0;
  bound.kind = time_ns < LATENCY_MOST_NS && bound.share < LATENCY_SHARE ? HN_BOUND_LATENCY
               : computes                                               ? HN_BOUND_COMPUTE
                                                                        : HN_BOUND_MEMORY;
  if (fewer > 1)
    bound.reason = step->tactic->algorithm;
  else if (bound.share > 1.05)
    bound.reason =
        computes ? "unexplained: was the roof measured on a busier machine?"
                 : "unexplained: a nearer cache may have held more of it, or the roof was measured on a busier machine";
  return bound;
}

void hn_bound_text(hn_bound_kind kind, const char *unit, const char *level, char *out, size_t room) {
  switch (kind) {
  case HN_BOUND_COMPUTE: (void)snprintf(out, room, "compute %s", unit); return;
  case HN_BOUND_MEMORY:
    (void)snprintf(out, room, strcmp(level, hone_roof_name(HONE_ROOF_MEMORY)) == 0 ? "%s" : "memory %s", level);
    return;
  case HN_BOUND_LATENCY: (void)snprintf(out, room, "latency"); return;
  default: (void)snprintf(out, room, "-");
  }
}

void hn_step_bound_text(const hn_bound *bound, char *out, size_t room) {
  hn_bound_text(bound->kind, hone_roof_name(bound->unit), hone_roof_name(bound->level), out, room);
}
