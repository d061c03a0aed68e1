/* SPDX-License-Identifier: Apache-2.0 */
/* rules.h - how an operator maps channels of its inputs to channels of its outputs, a row an operator. */
#ifndef HN_PRUNE_RULES_H
#define HN_PRUNE_RULES_H

#include "prune/cut.h"

/* One node being read: a rule claims the axes that it joins; those that nobody claims are fixed afterwards. */
typedef struct hn_linker {
  hn_coupling *c;
  const hn_node *node;
  const struct hn_prune_rule *rule;
  bool *claimed; /* [(input, or in_count + output) * HONE_MAX_RANK + axis] */
} hn_linker;

typedef struct hn_prune_rule {
  const char *op; /* NULL: by a trait */
  uint32_t trait;
  /* Joins elements. NULL, or why nothing can be said of this node: then nothing was joined. */
  const char *(*link)(const hn_linker *linker);
  /* After the cut, before shapes are inferred again: attributes and constants that count channels. NULL: none do. */
  hone_status (*recut)(const hn_cut *cut, hn_node *node);
  const char *why; /* axes that it leaves alone, in words */
  /* Layers alone: what makes output channels of input channels. weights 0: it is none. */
  int weights;         /* port */
  int outputs, inputs; /* axes of the weights */
  const char *turned;  /* an attribute that swaps the two; NULL: none */
  const char *group;   /* an attribute that counts groups; NULL: none */
  int channels;        /* axis of the input's channels; -1: the last */
  bool alone;          /* for layers that are looked at by themselves: models of them are not pruned */
  /* Sets of ports, a bit each. */
  uint32_t joined; /* parameters along axis 1, one a channel */
  uint32_t masked; /* constants whose slices become zero where a channel is masked */
  uint32_t scored; /* constants whose slices tell what a channel is worth */
} hn_prune_rule;

extern const hn_prune_rule hn_prune_rules[]; /* ends with link NULL */
/* By name, else by trait; NULL: there is none. */
const hn_prune_rule *hn_prune_rule_of(const hone_op *op);

/* ---- for rules (coupling.c) ---- */

/* Input i, or output i where out is true. */
typedef struct hn_side {
  bool out;
  int index;
} hn_side;
#define HN_IN(i) ((hn_side){false, (i)})
#define HN_OUT(i) ((hn_side){true, (i)})
const hn_value *hn_link_value(const hn_linker *linker, hn_side side); /* NULL: absent */
int hn_link_rank(const hn_linker *linker, hn_side side);              /* -1: absent or not known */
int64_t hn_link_dim(const hn_linker *linker, hn_side side, int axis);
void hn_link_claim(const hn_linker *linker, hn_side side, int axis);
/* Elements a_first.. of a and b_first.. of b are the same channels. Sides that are absent are left out; where one has
 * no elements (a free extent), the other's are fixed. Claims both axes. */
void hn_link_join(const hn_linker *linker, hn_side a, int a_axis, int64_t a_first, hn_side b, int b_axis,
                  int64_t b_first, int64_t count);
/* All of an axis that both have. */
void hn_link_same(const hn_linker *linker, hn_side a, int a_axis, hn_side b, int b_axis);
/* Elements of one axis stand and fall together. */
void hn_link_bundle(const hn_linker *linker, hn_side side, int axis, int64_t first, int64_t count);

/* The integers of an input that are known before anything runs. NULL: they are not. */
const int64_t *hn_link_ints(const hn_node *node, int port, int64_t *out_count);

#endif
