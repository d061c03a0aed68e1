/* SPDX-License-Identifier: Apache-2.0 */
/* attach.h - inside of api/: nodes in front of a graph and behind it, for recipes. Failures stick: after one, values
 * are NULL and calls do nothing, so that a chain is checked once at its end. */
#ifndef HN_API_ATTACH_H
#define HN_API_ATTACH_H

#include "ir/graph.h"
#include "recipe/recipe.h"

typedef struct hn_attach {
  hone_graph *graph;
  hone_recipe recipe;    /* a copy whose sizes and names are those of the graph */
  hn_node *before;       /* where new nodes stand; NULL: at the end */
  int64_t width, height; /* of the prepared image; -1: free */
  bool channels_last;
  hone_status status; /* the first failure */
} hn_attach;

/* ---- nodes (compile_recipe_nodes.c) ---- */
void hn_attach_nodes(hn_attach *a, const char *op, int in_count, hn_value *const *in, int attr_count,
                     const hone_attr *attrs, int out_count, hn_value **out);
hn_value *hn_attach_unary(hn_attach *a, const char *op, hn_value *x);
hn_value *hn_attach_binary(hn_attach *a, const char *op, hn_value *x, hn_value *y);
hn_value *hn_attach_along(hn_attach *a, const char *op, hn_value *x, const char *attr, int64_t axis);
hn_value *hn_attach_concat(hn_attach *a, int count, hn_value *const *in, int64_t axis);
hn_value *hn_attach_cast(hn_attach *a, hn_value *x, hone_dtype to); /* x itself where it is of that type */
hn_value *hn_attach_transpose(hn_attach *a, hn_value *x, int rank, const int64_t *order);
hn_value *hn_attach_slice(hn_attach *a, hn_value *x, int64_t axis, int64_t first, int64_t last);
hn_value *hn_attach_ints(hn_attach *a, int rank, int64_t count, const int64_t *values);
hn_value *hn_attach_reals(hn_attach *a, int rank, const int64_t *dims, const float *values);
hn_value *hn_attach_real(hn_attach *a, double value); /* f32 scalar */
/* Where it fails: the first failure counts. */
hone_status hn_attach_fail(hn_attach *a, const char *format, ...) HONE_PRINTF(2, 3);

/* ---- outputs ---- */
hn_value *hn_attach_output(hn_attach *a, const char *name); /* of the model; NULL: the only one. After a failure NULL */
bool hn_attach_is_probability(const hn_value *value);       /* is it made by a softmax or a sigmoid? */
void hn_attach_softmax(hn_attach *a, hn_value **value, int64_t axis); /* unless it is made by one */
/* Labels are for classes that are there. */
void hn_attach_check_labels(hn_attach *a, int64_t classes);

/* boxes f32 [N,A,4] as left, top, right, bottom in pixels; scores f32 [N,C,A] (compile_recipe_boxes.c) */
void hn_attach_boxes(hn_attach *a, hn_value **out_boxes, hn_value **out_scores);

#endif
