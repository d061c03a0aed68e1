/* SPDX-License-Identifier: Apache-2.0 */
/* views.h - what rules need to put nodes of op view. */
#ifndef HN_PASS_VIEWS_H
#define HN_PASS_VIEWS_H

#include "pass/rewrite.h"

/* Is every extent known before anything runs (a number or an expression over inputs' extents)? */
bool hn_view_possible(const hone_graph *graph, const hone_type *type);
/* A view of x in front of a node, after which it is named. The shape can be written as text (numbers always can). */
hone_status hn_view_create(const hn_pass_run *run, hn_node *before, hn_value *x, const hone_shape *shape,
                           hn_node **out);
/* Binds $dims to the shape as text. */
hone_status hn_view_bind_dims(hn_match *match, const hone_shape *shape);

#endif
