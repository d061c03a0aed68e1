/* SPDX-License-Identifier: Apache-2.0 */
/* rule_help.h - what the conditions and computations of several rule lists share. */
#ifndef HN_PASS_RULE_HELP_H
#define HN_PASS_RULE_HELP_H

#include "pass/rewrite.h"

/* A new constant all of whose elements are `value`; NULL when its extents are not numbers or memory ran out, which was
 * reported. */
hn_value *hn_filled(hone_graph *graph, hone_dtype dtype, int rank, const int64_t *dims, double value);
hone_status hn_bind_filled(hn_match *match, const char *name, hone_dtype dtype, int rank, const int64_t *dims,
                           double value);
hone_status hn_bind_ints(hn_match *match, const char *name, int count, const int64_t *values); /* i64, rank 1 */

hone_status hn_bind_list(hn_match *match, const char *name, int count, const int64_t *values); /* an attribute */
hn_value *hn_input(const hn_node *node, int index);                                            /* NULL when absent */

/* Conditions: NULL or the reason. */
const char *hn_when_same_type(const hone_type *a, const hone_type *b, const char *reason);
/* The constant bound to k varies along this axis of the value bound to c only. */
const char *hn_when_along(const hn_match *match, int axis);

/* The layer bound to c, as conv and linear have it. */
const char *hn_when_affine(const hn_match *match); /* it takes a constant into its bias */
const char *hn_when_residual(const hn_match *match);
const char *hn_when_bounds(const hn_match *match);
hone_status hn_make_bounds(hn_match *match); /* $low and $high */
/* Binds b to c's bias or to zeros, `outputs` of them, and flat to the shape [-1]. */
hone_status hn_bind_bias(hn_match *match, int64_t outputs);

/* k holds a slope for each channel, or last feature, of the layer bound to c. */
const char *hn_when_slopes(const hn_match *match);

/* k holds a summand for each channel, or last feature, of the layer bound to c, which adds a residual already. Binds
 * flat to the shape [-1]. */
const char *hn_when_bias_late(const hn_match *match);
hone_status hn_make_flat(hn_match *match);
hone_status hn_make_slope(hn_match *match); /* $slope: the scalar bound to k */

/* ---- quantize_linear and dequantize_linear (quantised.c) ---- */
/* Does it make bytes of f32 or f32 of bytes, with constants for scales and zero points: one positive scale for all, or
 * one for each index of this axis (of `rank`) ? */
bool hn_quantised_by_one(const hn_node *node);
bool hn_quantised_along(const hn_node *node, int rank, int axis);

/* ---- nodes of op view (views.c) ---- */
/* Is every extent known before anything runs (a number or an expression over inputs' extents)? */
bool hn_view_possible(const hone_graph *graph, const hone_type *type);
/* A view of x in front of a node, after which it is named. The shape can be written as text (numbers always can). */
hone_status hn_view_create(const hn_pass_run *run, hn_node *before, hn_value *x, const hone_shape *shape,
                           hn_node **out);
/* Binds $dims to the shape as text. */
hone_status hn_view_bind_dims(hn_match *match, const hone_shape *shape);

#endif
