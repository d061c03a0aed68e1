/* SPDX-License-Identifier: Apache-2.0 */
/* lowering.h - inside of lower/: one lowering in progress. */
#ifndef HN_LOWER_LOWERING_H
#define HN_LOWER_LOWERING_H

#include "base/buckets.h"
#include "lower/lower.h"

/* Bytes that will stand in the weights: a constant copied (into a storage), or what a tactic packs. */
typedef struct hn_weight_item {
  const hn_choice *choice;     /* packed by its chosen candidate; NULL: copied */
  const hone_tensor *constant; /* copied from, as `storage` */
  hone_storage storage;
  uint64_t key, hash, offset, bytes; /* hash: of the bytes, once they are written */
  const char *how;
  int from_count;
  const char *const *from;
} hn_weight_item;

typedef struct hn_lowering {
  hone_context *context;
  const hone_graph *graph;
  const hn_choices *choices;
  hn_schedules *schedules; /* to which the plan is added, and whose weights it shares */
  hn_plan *plan;
  int *tensor_of;        /* [(value id * HONE_STORAGE_COUNT + storage) * devices + space]: plan tensor, -1: none yet */
  hone_storage *made_in; /* [value id]: the storage in which its producer writes it */
  int *made_at;          /* [value id]: the memory space that its producer writes to */
  const hn_choice **view_of; /* [value id]: the view that makes it; NULL: none */
  bool *unwaited;            /* [device]: it was asked for copies to the host since the host waited for it */
  int tensor_capacity, step_capacity, weight_capacity;
  const hn_candidate **candidate_of; /* one a step; NULL: converts and views */
  int candidate_capacity;
  hn_weight_item *weights;
  hn_buckets weights_by_key;
  int weight_count;
} hn_lowering;

/* A plan tensor for a value in a storage and a memory space; made on first use (lower/steps.c). -1 and a message when
 * out of memory. */
int hn_lowering_tensor(hn_lowering *lowering, const hn_value *value, hone_storage storage, int space);
int *hn_lowering_slot(hn_lowering *lowering, const hn_value *value, hone_storage storage, int space);
hn_plan_step *hn_lowering_new_step(hn_lowering *lowering, hn_step_kind kind, const char *name, const hone_op *op,
                                   int in_count, int out_count, const hn_candidate *candidate);
hone_status hn_lowering_origins(hn_lowering *lowering, const hn_origins *origins, hn_plan_step *step);
/* What a reader finds in its memory space: converts, copies and views are emitted as needed (lower/transfers.c). cause
 * and port name the reader; cause NULL: the graph's result. *out -1 for an absent value. */
hone_status hn_lowering_transfer(hn_lowering *lowering, const hn_value *value, hone_storage storage, int space,
                                 const hn_node *cause, int port, int *out);
/* The host waits for the devices that were asked for copies to it. */
hone_status hn_lowering_wait(hn_lowering *lowering);
/* Where result i of the main block leaves: a storage in a memory space (lower/steps.c). */
hn_port_place hn_lowering_result_place(const hn_lowering *lowering, int result);
hone_status hn_lowering_view(hn_lowering *lowering, const hn_choice *choice, int space); /* steps.c */
hone_status hn_lowering_steps(hn_lowering *lowering); /* all steps, converts included */
/* Places what is joined or split where it belongs; inside[t] is the offset in part_of (lower/overlay.c). */
hone_status hn_lowering_overlay(hn_lowering *lowering, size_t *inside);
/* How far behind the beginning of its top (hn_plan_top) a tensor lies. */
size_t hn_lowering_offset_in_top(const hn_plan *plan, const size_t *inside, int t);
hone_status hn_lowering_storage(hn_lowering *lowering); /* in-place reuse, arena offsets, totals */
/* Adds an item, or finds the equal one. *out is its index (lower/weights.c). */
hone_status hn_lowering_add_weight(hn_lowering *lowering, const hn_weight_item *item, int *out);
hone_status hn_lowering_weights(hn_lowering *lowering); /* puts all items' bytes into the shared weights */
#endif
