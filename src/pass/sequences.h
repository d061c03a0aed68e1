/* SPDX-License-Identifier: Apache-2.0 */
/* sequences.h - what joining steps of recurrent layers needs in one block and in the bodies of loops: which element of
 * which sequence a step reads, and the nodes around the layer that takes the steps' place. */
#ifndef HN_PASS_SEQUENCES_H
#define HN_PASS_SEQUENCES_H

#include "pass/pipeline.h"

enum { HN_RNN_X, HN_RNN_W, HN_RNN_R, HN_RNN_B, HN_RNN_LENGTHS, HN_RNN_H, HN_RNN_C }; /* inputs of lstm and gru */
enum { HN_RNN_Y, HN_RNN_Y_H, HN_RNN_Y_C };                                           /* and outputs */

bool hn_is_op(const hn_node *node, const char *op);   /* false for NULL */
hn_value *hn_behind_views(hn_value *value);           /* the value whose bytes a chain of views shows */
hn_value *hn_rnn_in(const hn_node *node, int index);  /* NULL when absent */
hn_value *hn_rnn_out(const hn_node *node, int index); /* likewise */

/* An lstm or gru over one step, forward, its batch known and its states given. */
bool hn_is_step(const hn_node *node);
/* Is it, maybe under another shape, the state h, or c, that the node leaves? */
bool hn_is_state(hn_value *value, const hn_node *node, bool c);

/* Index `at` along the axis of a tensor: in front of the axis `outer` elements, behind it `inner`. */
typedef struct hn_element {
  hn_value *from;
  int axis;
  int64_t at, outer, inner;
} hn_element;
/* A gather, slice or part of a split of one index, maybe under another shape. */
bool hn_find_element(hn_value *value, hn_element *out);
bool hn_element_extents(hn_element *place); /* outer and inner, from the rest; false when they are not known */

/* Makes nodes in front of another; each function replaces *x by what it makes. Extents are known. */
typedef struct hn_sequence_maker {
  hn_pass_run *run;
  hn_node *before;
  hn_origins origins;
} hn_sequence_maker;
hone_status hn_make_view(const hn_sequence_maker *maker, const hone_shape *shape, hn_value **x);
hone_status hn_make_slice(const hn_sequence_maker *maker, int64_t axis, int64_t begin, int64_t end, hn_value **x);
/* [a, b, c] as [b, a, c]. */
hone_status hn_make_swapped(const hn_sequence_maker *maker, int64_t a, int64_t b, int64_t c, hn_value **x);
/* The steps [at, at + count) of a sequence as [count, batch, size]; step: [1, batch, size]. */
hone_status hn_make_sequence(const hn_sequence_maker *maker, const hn_element *place, int64_t count,
                             const hone_shape *step, hn_value **x);
/* The layer: x, h and c its inputs, weights and attributes those of a step. wants: which outputs. *out_unmet, when not
 * NULL, says why it should not be; the caller removes it then. */
hone_status hn_make_recurrent(const hn_sequence_maker *maker, hn_node *step, hn_value *const x_h_c[3], bool backwards,
                              const bool wants[3], hn_node **out, const char **out_unmet);

/* Scan or Loop whose body is a step: the layer takes its place, when nothing speaks against it. */
hone_status hn_join_body(hn_pass_run *run, hn_node *node);

#endif
