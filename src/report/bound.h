/* SPDX-License-Identifier: Apache-2.0 */
/* bound.h - what bounds a layer: the work that it is, the unit that computes it, the caches that its bytes lie in, and
 * the time that it cannot undercut on a device whose roofs were measured. By the roofline (Williams, Waterman and
 * Patterson 2009), with a roof for each type and each level of the memory (Ilic, Pratas and Sousa 2014, cache-aware
 * roofline). */
#ifndef HN_REPORT_BOUND_H
#define HN_REPORT_BOUND_H

#include "plan/plan.h"

/* The work of one step, at shapes that are known. */
typedef struct hn_work {
  hone_cost cost; /* by the operator's definition, in the types of the graph: what is compulsory */
  /* Bytes as they lie: constants packed for the kernel or read as they are, activations in their storages. What is
   * found only where it is needed (rows of a table), or has a place already where it belongs, does not count. */
  double params_bytes, in_bytes, out_bytes;
  bool in_place; /* the output takes an input's place */
} hn_work;

typedef enum hn_bound_kind {
  HN_BOUND_UNKNOWN, /* no roofs were measured */
  HN_BOUND_COMPUTE,
  HN_BOUND_MEMORY, /* of any level */
  HN_BOUND_LATENCY /* a short step: its fixed costs are most of it */
} hn_bound_kind;

typedef struct hn_bound {
  hn_bound_kind kind;
  hone_roof unit;               /* what computes */
  hone_roof level;              /* where most of the time for its bytes goes */
  double compute_ns, memory_ns; /* at the roofs */
  double floor_ns;              /* the larger one */
  double share;                 /* of the roof: floor over time; above 1 there is a reason */
  const char *reason;           /* why it is above 1, or why it may be; NULL: nothing is special */
} hn_bound;

/* symbols: of the shapes that ran; NULL where all dims are numbers. Extents that are not known count nothing. */
hn_work hn_step_work(const hn_plan *plan, const hn_plan_step *step, const int64_t *symbols);
/* The type that is multiplied: as the tactic's row says, else that of the activations. */
hone_roof hn_step_unit(const hn_plan *plan, const hn_plan_step *step);
/* Compute and memory are thought to overlap. Parameters come from the level that holds all that a run touches,
 * activations from those that hold what the step does; cold: all from main memory. */
hn_bound hn_step_bound(const hn_plan *plan, const hn_plan_step *step, const hn_work *work, const hone_facts *facts,
                       bool cold, double time_ns);
/* "compute f32", "memory L2", "latency", "-"; of names of units and levels. room of 40 is enough. */
/* The time for its bytes alone, when all of the run were held in `width` times as many (0.5: in halves). */
double hn_step_memory_ns(const hn_plan *plan, const hn_plan_step *step, const hn_work *work, const hone_facts *facts,
                         bool cold, double width);
void hn_bound_text(hn_bound_kind kind, const char *unit, const char *level, char *out, size_t room);
void hn_step_bound_text(const hn_bound *bound, char *out, size_t room);

#endif
