/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - the plan: blocks of steps over tensors, with every byte stated. What an engine holds (one for each of its
 * schedules, plan/schedules.h) and run executes. No compiler pointer survives in it: tactics are named by (provider,
 * name, version, parameters). Everything lives in the plan's arena or in weights that it borrows. */
#ifndef HN_PLAN_PLAN_H
#define HN_PLAN_PLAN_H

#include "base/memory.h"
#include "device/device.h"
#include "tensor/attrs.h"
#include "tensor/dims.h"

typedef enum hn_place {
  HN_PLACE_ARENA,    /* offset in the session's arena */
  HN_PLACE_INPUT,    /* the bound buffer of input number index */
  HN_PLACE_OUTPUT,   /* the bound buffer of output number index */
  HN_PLACE_CONSTANT, /* offset in the weights */
  HN_PLACE_PACKED,   /* a constant whose bytes are only in its step's packed weights: no data at run time */
  HN_PLACE_HEAP      /* extents known only after running, sequences, loop bodies: session heap */
} hn_place;

typedef struct hn_plan_tensor {
  const char *name;
  hone_type type;   /* as it lies; dims may be codes in plan->dims */
  hone_dtype dtype; /* what the value is: type.dtype, or f32 held in a narrower type */
  hn_place place;
  int index;       /* INPUT, OUTPUT */
  int alias_of;    /* shares the storage of this tensor (same bytes or fewer, offset 0); -1: its own */
  int part_of;     /* lies inside the place of this larger tensor, at the difference of their offsets: what a tactic's
                      overlay allows, in static plans; -1: it does not */
  uint64_t offset; /* ARENA (when all dims are numbers), CONSTANT */
  int device;      /* the memory space (see hn_plan.spaces) that it lies in */
} hn_plan_tensor;

typedef enum hn_step_kind {
  HN_STEP_CALL,
  HN_STEP_VIEW, /* output 0 is input 0's bytes under another shape: nothing runs, but facts flow through it */
  HN_STEP_COPY, /* input 0's bytes from one memory space to another; the device with the memory of its own does it */
  HN_STEP_WAIT, /* the host waits until its device has done all that it was given */
  HN_STEP_BRANCH,
  HN_STEP_LOOP
} hn_step_kind;

typedef struct hn_plan_step {
  hn_step_kind kind;
  const char *name;  /* the node's name; converts: "NODE/convert_0" */
  const hone_op *op; /* resolved at build and at load by name */
  hone_attrs attrs;
  const char *provider;      /* backend's name */
  const hone_tactic *tactic; /* resolved */
  hone_params params;
  int in_count, out_count;
  int *in, *out; /* tensor numbers, -1 for absent ones */
  uint32_t constant_mask;
  uint64_t packed_offset, packed_bytes; /* in the weights; bytes 0: none */
  uint64_t scratch_bytes;               /* at the build's opt shapes (verified when static) */
  int device;
  int block_count; /* BRANCH, LOOP: block numbers */
  int *blocks;
  const char *caused_by; /* converts and copies: the step that needed it; else NULL */
  int origin_count;
  const char *const *origins;
  double error_rel_l2, error_bound; /* measured at build; -1: not measured (the reason is in the ledger) */
  double time_ns;                   /* measured at build, 0: not measured */
  hone_cost cost;                   /* at opt shapes */
} hn_plan_step;

typedef struct hn_plan_block {
  int first_step, step_count;
  int param_count, result_count;
  int *params, *results; /* tensor numbers */
} hn_plan_block;

typedef struct hn_plan_port {
  const char *name;
  int tensor;
  hone_shape min, opt, max; /* inputs: the profile; equal when static. Outputs: unused. */
  double error_rel_l2;      /* outputs: from that of the engine without narrow types, at build; -1: not measured */
} hn_plan_port;

typedef struct hn_plan {
  hn_allocator allocator;
  hn_arena arena;
  hone_dims dims;
  int tensor_count, step_count, block_count, input_count, output_count, device_count;
  hn_plan_tensor *tensors;
  hn_plan_step *steps;
  hn_plan_block *blocks; /* block 0 is the main one */
  hn_plan_port *inputs, *outputs;
  const char *const *device_kinds; /* "cpu" */
  int *spaces;                     /* [device]: the device whose memory it works in: itself, or the host's first */
  int host;                        /* the memory space of the devices that work in the host's memory */
  uint64_t *space_arena_bytes;     /* [device] at opt shapes; their sum is arena_bytes */
  bool dynamic;                    /* some dim is symbolic */
  int lanes; /* that a device's recording may be split into, where branches allow it: more than 1 in static plans alone
              */
  bool stripped;  /* the weights are not here: constants have no values, and tactics cannot be asked */
  bool shown;     /* to look at only: some device is not here, and its tactics are names alone */
  bool after_run; /* some extent is known only after running: the session uses a heap */
  uint64_t arena_bytes, scratch_bytes; /* at opt shapes; exact when not dynamic */
  double max_error_rel_l2;             /* of steps */
  const uint8_t *weights;              /* borrowed from the schedules, which share them */
  uint64_t weights_bytes;
} hn_plan;

hone_status hn_plan_create(hn_allocator allocator, hn_plan **out, hone_diagnostics *diag);
void hn_plan_destroy(hn_plan *plan);

/* ---- memory plan (plan/memory.c) ----
 * Greedy by size (Pisarchyk and Lee 2020, "Efficient memory management for deep neural net inference"): the largest
 * tensor first, at the lowest offset that is free during its life. Deterministic. Life is in steps of the main block,
 * derived from the steps, aliases included; reuse needs the later step to be ordered after the earlier one. */
typedef struct hn_life {
  int first, last; /* steps, inclusive; first > last: never used */
} hn_life;
int hn_plan_root(const hn_plan *plan, int t); /* the tensor whose place t shares; t itself when it has its own */
int hn_plan_top(const hn_plan *plan,
                int t); /* the tensor whose place t shares or lies in; t itself when it has its own */
void hn_plan_lives(const hn_plan *plan, hn_life *lives); /* one a tensor; aliases' lives are joined into the root's */
/* What a copy reads of the host's memory stays until the host waits for the device, since copies are done later. */
int hn_plan_next_wait(const hn_plan *plan, int device, int after_step); /* a WAIT step, or the main block's last step */
/* bytes[i] 0: not in the arena. offsets[i] receives multiples of 64. arena and order are for scratch. NO_MEMORY; LIMIT:
 * the arena would be larger than memory can be, or the stop (NULL: none) says so; no message. */
hone_status hn_memory_place(hn_arena *arena, hn_stop *stop, int count, const size_t *bytes, const hn_life *lives,
                            int *order, size_t *offsets, size_t *out_total);

/* ---- lanes (plan/lanes.c): branches of a device's steps that run side by side ----
 * Steps in their order, each in the lane of a step that it depends on where it can be, waiting for those of other lanes
 * that it depends on and that nothing before it waited for. */
typedef struct hn_lane_step {
  int lane, wait_count;
  int waits[HONE_MAX_LANES]; /* earlier items, of other lanes */
} hn_lane_step;
typedef bool (*hn_depends_fn)(const void *user, int earlier, int later);
/* How many lanes were used, at most `most`; 0: no memory. out: one an item. */
int hn_lanes_assign(hn_arena *arena, int count, int most, hn_depends_fn depends, const void *user, hn_lane_step *out);
/* Lanes that a plan's values would allow a device with memory of its own; 1: none beside the first, or a plan that can
 * have none. NO_MEMORY. */
hone_status hn_plan_width(const hn_plan *plan, hn_arena *arena, int most, int *out_lanes, hone_diagnostics *diag);
/* Places the arenas of a static plan anew: with more than one lane what one branch still needs is not overwritten by
 * another. arena: for scratch. */
hone_status hn_plan_place(hn_plan *plan, hn_arena *arena, int lanes, hone_diagnostics *diag);

/* ---- resolving and checking (plan/check.c): the same for a built plan and for a file's ----
 * Every offset, size, interval, ordering, index, name and parameter is derived again: shapes by the ops' own infer,
 * packed and scratch bytes by the tactics, lives from the steps. INCOMPATIBLE: a provider, tactic, version or ISA that
 * is not here. MALFORMED: anything that contradicts itself. */
hone_status hn_plan_check(const hn_plan *plan, hone_diagnostics *diag);
/* Facts of a step's inputs or outputs with dims evaluated under symbol values (NULL: all dims are numbers). */
hone_status hn_plan_step_facts(const hn_plan *plan, const hn_plan_step *step, const int64_t *symbols, hone_fact *in,
                               hone_fact *out, hone_diagnostics *diag);
void hn_plan_step_query(const hn_plan *plan, const hn_plan_step *step, const hone_facts *facts, const hone_fact *in,
                        const hone_fact *out, hone_query *query);
/* A constant tensor of the plan as a view of the weights; false for other tensors. Small integers also come as values,
 * in the caller's room of HONE_MAX_FACT_VALUES (may be NULL). */
bool hn_plan_constant(const hn_plan *plan, int t, hone_tensor *out, int64_t *room, const int64_t **out_value,
                      int64_t *out_count);
/* Symbol values from input shapes; INVALID names input, dim, value and range when out of the profile. */
hone_status hn_plan_bind_symbols(const hn_plan *plan, const hone_shape *inputs, int64_t *symbols,
                                 hone_diagnostics *diag);
/* What operators assumed of the main block's extents while they were symbols, at these symbol values (plan/extents.c):
 * INVALID names the step, the extents and where they meet. Steps whose inputs' extents are known only after running are
 * left to the run. Plans without symbols were checked when they were made or read. */
hone_status hn_plan_check_extents(const hn_plan *plan, const int64_t *symbols, hone_diagnostics *diag);

/* ---- the names of places and step kinds in engine files (words.c) ---- */
const char *hn_place_name(hn_place place); /* "arena"; static */
bool hn_place_find(const char *name, hn_place *out);
const char *hn_step_kind_name(hn_step_kind kind); /* "call"; static */
bool hn_step_kind_find(const char *name, hn_step_kind *out);

#endif
