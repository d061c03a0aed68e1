/* SPDX-License-Identifier: Apache-2.0 */
/* views.h - what rules need to put nodes of op view. */
#ifndef HN_PASS_VIEWS_H
#define HN_PASS_VIEWS_H

#include "pass/rewrite.h"

/* Is every extent known before anything runs (a number or an expression over inputs' extents)? */
bool hn_view_possible(const hone_graph *graph, const hone_type *type);
/* Binds $dims to the shape as text. */
hone_status hn_view_bind_dims(hn_match *match, const hone_shape *shape);

#endif
