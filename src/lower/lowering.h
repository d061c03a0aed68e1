/* SPDX-License-Identifier: Apache-2.0 */
/* lowering.h - inside of lower/: one lowering in progress. */
#ifndef HN_LOWER_LOWERING_H
#define HN_LOWER_LOWERING_H

#include "lower/lower.h"

/* Bytes that will stand in the weights: a constant copied (in a format), or what a tactic packs. */
typedef struct hn_weight_item {
  const hn_choice *choice;     /* packed by its chosen candidate; NULL: copied */
  const hone_tensor *constant; /* copied from, in format */
  hone_format format;
  uint64_t key, offset, bytes;
  const char *how;
  int from_count;
  const char *const *from;
} hn_weight_item;

typedef struct hn_lowering {
  hone_context *context;
  const hone_graph *graph;
  const hn_choices *choices;
  hn_plan *plan;
  int *tensor_of;       /* [value id * HONE_FORMAT_COUNT + format]: plan tensor, -1: none yet */
  hone_format *made_in; /* [value id]: the format its producer writes */
  int tensor_capacity, step_capacity, weight_capacity;
  const hn_candidate **candidate_of; /* one a step; NULL: reformats and views */
  int candidate_capacity;
  hn_weight_item *weights;
  int weight_count;
} hn_lowering;

/* A plan tensor for a value in a format; made on first use (lower/steps.c). -1 and a message when out of memory. */
int hn_lowering_tensor(hn_lowering *lowering, const hn_value *value, hone_format format);
hone_status hn_lowering_steps(hn_lowering *lowering);   /* all steps, reformats included */
/* Places what is joined or split where it belongs; inside[t] is the offset in part_of (lower/overlay.c). */
hone_status hn_lowering_overlay(hn_lowering *lowering, size_t *inside);
hone_status hn_lowering_storage(hn_lowering *lowering); /* in-place reuse, arena offsets, totals */
/* Adds an item, or finds the equal one. *out is its index (lower/weights.c). */
hone_status hn_lowering_add_weight(hn_lowering *lowering, const hn_weight_item *item, int *out);
hone_status hn_lowering_weights(hn_lowering *lowering); /* writes all items' bytes */
#endif
