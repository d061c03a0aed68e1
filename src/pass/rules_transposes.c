/* SPDX-License-Identifier: Apache-2.0 */
/* rules_transposes.c - transposes sink towards the outputs until they meet another: two are one or none. What cannot be
 * passed stops them; those that only move axes of one element end as views.
 * Below, t is transpose(x), its axis i being x's axis perm[i]. */
#include "pass/passes.h"
#include "pass/rule_help.h"

/* The permutation of a transpose; false when the rank is not known. */
static bool perm_of(const hn_node *transpose, int64_t *out, int *out_rank) {
  const int rank = transpose->out[0]->fact.type.shape.rank;
  *out_rank = rank;
  for (int i = 0; i < rank; ++i) out[i] = hn_attr_ints_at(&transpose->attrs, "perm", i, rank - 1 - i);
  return rank >= 0;
}

static bool same_perm(const hn_node *a, const hn_node *b) {
  int64_t p[HONE_MAX_RANK], q[HONE_MAX_RANK];
  int a_rank, b_rank;
  if (!perm_of(a, p, &a_rank) || !perm_of(b, q, &b_rank) || a_rank != b_rank) return false;
  for (int i = 0; i < a_rank; ++i)
    if (p[i] != q[i]) return false;
  return true;
}

/* ---- two in a row ---- */

static bool compose(const hn_match *match, int64_t *out, int *out_rank) {
  int64_t outer[HONE_MAX_RANK], inner[HONE_MAX_RANK];
  if (!perm_of(match->root, outer, out_rank) || !perm_of(hn_bound_node(match, "t"), inner, out_rank)) return false;
  for (int i = 0; i < *out_rank; ++i) out[i] = inner[outer[i]];
  return true;
}

static const char *when_cancel(const hn_match *match) {
  int64_t perm[HONE_MAX_RANK];
  int rank;
  if (!compose(match, perm, &rank)) return "the rank is not known";
  for (int i = 0; i < rank; ++i)
    if (perm[i] != i) return "";
  return NULL;
}

static const char *when_rank(const hn_match *match) {
  return hn_bound_type(match, "x")->shape.rank >= 0 ? NULL : "the rank is not known";
}

static hone_status make_merged(hn_match *match) {
  int64_t perm[HONE_MAX_RANK];
  int rank;
  (void)compose(match, perm, &rank);
  return hn_bind_list(match, "perm", rank, perm);
}

static const char *when_in_order(const hn_match *match) {
  int64_t perm[HONE_MAX_RANK];
  int rank;
  if (!perm_of(match->root, perm, &rank)) return "";
  for (int i = 0; i < rank; ++i)
    if (perm[i] != i) return "";
  return NULL;
}

/* ---- through elementwise nodes ---- */

static const char *when_scalars(const hn_match *match) {
  const hn_node *node = match->root;
  const int rank = hn_bound_type(match, "x")->shape.rank;
  for (int i = 1; i < node->in_count; ++i) {
    const hn_value *in = node->in[i];
    if (in && (!hn_is_scalar_constant(in) || in->fact.type.shape.rank > rank)) return "";
  }
  return when_rank(match);
}

static const char *when_permutable(const hn_match *match) {
  const hone_shape *k = &hn_bound_type(match, "k")->shape;
  if (k->rank > hn_bound_type(match, "x")->shape.rank) return "the constant has more axes";
  return when_rank(match);
}

/* k with as many axes as x, and the permutation that carries it to x's order. */
static hone_status make_constant(hn_match *match) {
  int64_t perm[HONE_MAX_RANK], inverse[HONE_MAX_RANK], full[HONE_MAX_RANK];
  int rank;
  const hone_shape *k = &hn_bound_type(match, "k")->shape;
  (void)perm_of(hn_bound_node(match, "t"), perm, &rank);
  for (int i = 0; i < rank; ++i) {
    inverse[perm[i]] = i;
    full[i] = i < rank - k->rank ? 1 : k->dim[i - (rank - k->rank)];
  }
  HN_TRY(hn_bind_ints(match, "full", rank, full));
  return hn_bind_list(match, "inverse", rank, inverse);
}

static const char *when_alike(const hn_match *match) {
  return same_perm(hn_bound_node(match, "t"), hn_bound_node(match, "u")) ? NULL : "the two are transposed differently";
}

/* ---- through pad, concat and reductions ---- */

static const char *when_all_axes(const hn_match *match) {
  const hn_value *pads = hn_bound(match, "pads");
  const int rank = hn_bound_type(match, "x")->shape.rank;
  if (hn_input(match->root, 3)) return "it pads some axes only";
  return rank >= 0 && pads->fact.value && pads->fact.value_count == 2 * rank ? NULL : "the pads are not known";
}

static hone_status make_pads(hn_match *match) {
  int64_t perm[HONE_MAX_RANK], pads[2 * HONE_MAX_RANK];
  const int64_t *old = hn_bound(match, "pads")->fact.value;
  int rank;
  (void)perm_of(hn_bound_node(match, "t"), perm, &rank);
  for (int i = 0; i < rank; ++i) {
    pads[perm[i]] = old[i];
    pads[rank + perm[i]] = old[rank + i];
  }
  return hn_bind_ints(match, "moved", 2 * rank, pads);
}

static const char *when_all_transposed(const hn_match *match) {
  const hn_node *concat = match->root;
  const hn_node *first = concat->in[0]->node;
  const hone_op *transpose = hn_op_find(match->run->context->ops, "transpose");
  for (int i = 0; i < concat->in_count; ++i) {
    const hn_node *node = concat->in[i]->node;
    if (!node || node->op != transpose || !hn_attrs_equal(&node->attrs, &first->attrs)) return "";
    if (hn_value_use_count(node->out[0]) != 1) return "a transpose has another use";
  }
  return first->out[0]->fact.type.shape.rank > 0 ? NULL : "the rank is not known";
}

static hone_status make_concat(hn_match *match) {
  const hn_node *concat = match->root;
  hn_node *first = concat->in[0]->node;
  int64_t perm[HONE_MAX_RANK], axis = hn_attr_int(&concat->attrs, "axis");
  int rank;
  hn_value **rest = HN_NEW(&match->run->graph->arena, hn_value *, concat->in_count);
  if (!rest) return HN_FAIL_MEMORY(&match->run->context->diag);
  if (match->binding_count == HN_MATCH_BINDINGS) return HN_FAIL(&match->run->context->diag, HONE_INTERNAL, "no room");
  (void)perm_of(first, perm, &rank);
  for (int i = 0; i < concat->in_count; ++i) rest[i] = concat->in[i]->node->in[0];
  match->bindings[match->binding_count++] = (hn_binding){.name = "ys", .rest_count = concat->in_count, .rest = rest};
  HN_TRY(hn_bind_attr(match,
                      &(hone_attr){.name = "axis", .kind = HONE_ATTR_INT, .i = perm[axis < 0 ? axis + rank : axis]}));
  return hn_bind_list(match, "perm", rank, perm);
}

static const char *when_axes_known(const hn_match *match) {
  const hn_value *axes = hn_bound(match, "axes");
  const int rank = hn_bound_type(match, "x")->shape.rank;
  if (rank < 0 || !axes->fact.value || axes->fact.value_count == 0) return "the axes are not known";
  for (int64_t i = 0; i < axes->fact.value_count; ++i)
    if (axes->fact.value[i] < -rank || axes->fact.value[i] >= rank) return "the axes are not known";
  return NULL;
}

/* moved: the reduced axes of x. rest: what is left of the permutation when those are gone. */
static hone_status make_axes(hn_match *match) {
  int64_t perm[HONE_MAX_RANK], moved[HONE_MAX_RANK], rest[HONE_MAX_RANK];
  bool gone[HONE_MAX_RANK] = {false}; /* of x */
  const hn_value *axes = hn_bound(match, "axes");
  int rank, count = 0, left = 0;
  (void)perm_of(hn_bound_node(match, "t"), perm, &rank);
  for (int64_t i = 0; i < axes->fact.value_count; ++i) {
    const int64_t axis = axes->fact.value[i];
    gone[perm[axis < 0 ? axis + rank : axis]] = true;
  }
  for (int i = 0; i < rank; ++i) {
    if (gone[i]) moved[count++] = i;
    if (gone[perm[i]]) continue;
    rest[left] = 0;
    for (int j = 0; j < perm[i]; ++j) rest[left] += !gone[j];
    ++left;
  }
  HN_TRY(hn_bind_list(match, "rest", left, rest));
  return hn_bind_ints(match, "moved", count, moved);
}

const hn_rewrite hn_rules_transposes[] = {
    {.name = "drop_ordered_transpose",
     .find = "transpose(x)",
     .put = "x",
     .when = when_in_order,
     .why = "the axes stay in order"},
    {.name = "cancel_transposes",
     .find = "transpose(t:transpose(x))",
     .put = "x",
     .when = when_cancel,
     .keeps = true,
     .why = "the second undoes the first"},
    {.name = "merge_transposes",
     .find = "transpose(t:transpose(x))",
     .put = "transpose[perm=$perm](x)",
     .when = when_rank,
     .make = make_merged,
     .keeps = true,
     .why = "two permutations are one"},
    {.name = "transpose_after_elementwise",
     .find = "u:any[elementwise](t:transpose(x), ...)",
     .put = "transpose[perm=t.perm](u(x, ...))",
     .when = when_scalars,
     .why = "it may meet another on its way"},
    {.name = "transpose_after_cast",
     .find = "u:cast(t:transpose(x))",
     .put = "transpose[perm=t.perm](u(x))",
     .when = when_rank,
     .why = "it may meet another on its way"},
    {.name = "transpose_after_constant",
     .find = "b:any[elementwise](t:transpose(x), k:const)",
     .put = "transpose[perm=t.perm](b(x, transpose[perm=$inverse](reshape(k, full))))",
     .when = when_permutable,
     .make = make_constant,
     .why = "the constant is permuted once, here"},
    {.name = "transpose_after_constant_first",
     .find = "b:any[elementwise](k:const, t:transpose(x))",
     .put = "transpose[perm=t.perm](b(transpose[perm=$inverse](reshape(k, full)), x))",
     .when = when_permutable,
     .make = make_constant,
     .why = "the constant is permuted once, here"},
    {.name = "transpose_after_pair",
     .find = "b:any[elementwise](t:transpose(x), u:transpose(y))",
     .put = "transpose[perm=t.perm](b(x, y))",
     .when = when_alike,
     .why = "one instead of two"},
    {.name = "transpose_after_twice",
     .find = "b:any[elementwise](t:transpose(x), t)",
     .put = "transpose[perm=t.perm](b(x, x))",
     .when = when_rank,
     .why = "it may meet another on its way"},
    {.name = "transpose_after_pad",
     .find = "p:pad(t:transpose(x), pads:const, ...)",
     .put = "transpose[perm=t.perm](p(x, moved, ...))",
     .when = when_all_axes,
     .make = make_pads,
     .why = "it may meet another on its way"},
    {.name = "transpose_after_concat",
     .find = "c:concat(xs...)",
     .put = "transpose[perm=$perm](c[axis=$axis](ys...))",
     .when = when_all_transposed,
     .make = make_concat,
     .why = "one instead of several"},
    {.name = "transpose_after_reduce_mean",
     .find = "r:reduce_mean[keepdims=1](t:transpose(x), axes:const)",
     .put = "transpose[perm=t.perm](r(x, moved))",
     .when = when_axes_known,
     .make = make_axes,
     .why = "less is left to move"},
    {.name = "transpose_after_flat_reduce_mean",
     .find = "r:reduce_mean[keepdims=0](t:transpose(x), axes:const)",
     .put = "transpose[perm=$rest](r(x, moved))",
     .when = when_axes_known,
     .make = make_axes,
     .why = "less is left to move"},
    {.name = "transpose_after_reduce_sum",
     .find = "r:reduce_sum[keepdims=1](t:transpose(x), axes:const)",
     .put = "transpose[perm=t.perm](r(x, moved))",
     .when = when_axes_known,
     .make = make_axes,
     .why = "less is left to move"},
    {.name = "transpose_after_flat_reduce_sum",
     .find = "r:reduce_sum[keepdims=0](t:transpose(x), axes:const)",
     .put = "transpose[perm=$rest](r(x, moved))",
     .when = when_axes_known,
     .make = make_axes,
     .why = "less is left to move"},
    {.name = "transpose_after_reduce_max",
     .find = "r:reduce_max[keepdims=1](t:transpose(x), axes:const)",
     .put = "transpose[perm=t.perm](r(x, moved))",
     .when = when_axes_known,
     .make = make_axes,
     .why = "less is left to move"},
    {.name = "transpose_after_flat_reduce_max",
     .find = "r:reduce_max[keepdims=0](t:transpose(x), axes:const)",
     .put = "transpose[perm=$rest](r(x, moved))",
     .when = when_axes_known,
     .make = make_axes,
     .why = "less is left to move"},
    {.name = "transpose_after_reduce_min",
     .find = "r:reduce_min[keepdims=1](t:transpose(x), axes:const)",
     .put = "transpose[perm=t.perm](r(x, moved))",
     .when = when_axes_known,
     .make = make_axes,
     .why = "less is left to move"},
    {.name = "transpose_after_flat_reduce_min",
     .find = "r:reduce_min[keepdims=0](t:transpose(x), axes:const)",
     .put = "transpose[perm=$rest](r(x, moved))",
     .when = when_axes_known,
     .make = make_axes,
     .why = "less is left to move"},
    {0}};

/* ---- those that move nothing ---- */

static const char *when_only_ones_move(const hn_match *match) {
  int64_t perm[HONE_MAX_RANK], last = -1;
  int rank;
  const hone_shape *x = &hn_bound_type(match, "x")->shape;
  if (!perm_of(match->root, perm, &rank) || x->rank != rank) return "";
  for (int i = 0; i < rank; ++i) {
    if (x->dim[perm[i]] == 1) continue;
    if (perm[i] < last) return "";
    last = perm[i];
  }
  return hn_view_possible(match->run->graph, &match->roots[0]->fact.type) ? NULL : "its extents are not known";
}

static hone_status make_dims(hn_match *match) { return hn_view_bind_dims(match, &match->roots[0]->fact.type.shape); }

const hn_rewrite hn_rules_transpose_views[] = {{.name = "transpose_to_view",
                                                .find = "transpose(x)",
                                                .put = "view[dims=$dims](x)",
                                                .when = when_only_ones_move,
                                                .make = make_dims,
                                                .why = "only axes of one element change places"},
                                               {0}};

/* ---- beside flattened planes ---- */

/* Planes that are flattened, or rows that become planes, beside channels. Before or behind that, the transpose moves
 * the channels of images behind their planes, or back: where they are last already it moves nothing. */
static const char *when_beside_planes(const hn_match *match, const hone_shape *image, const hone_shape *flat,
                                      int channels) {
  int64_t perm[HONE_MAX_RANK];
  int rank;
  const hn_node *transpose = hn_bound_node(match, "t");
  if (!perm_of(transpose, perm, &rank) || rank != 3 || perm[0] != 0 || perm[1] != 2 || perm[2] != 1) return "";
  if (image->rank < 4 || image->dim[0] != flat->dim[0] || image->dim[1] != flat->dim[channels]) return "";
  return hn_view_possible(match->run->graph, &match->roots[0]->fact.type) ? NULL : "its extents are not known";
}
static const char *when_flattened(const hn_match *match) {
  const hone_shape *flat = &hn_bound_node(match, "v")->out[0]->fact.type.shape;
  return flat->rank == 3 ? when_beside_planes(match, &hn_bound_type(match, "x")->shape, flat, 1) : "";
}
static const char *when_made_planes(const hn_match *match) {
  const hone_shape *flat = &hn_bound_type(match, "x")->shape;
  return flat->rank == 3 ? when_beside_planes(match, &match->roots[0]->fact.type.shape, flat, 2) : "";
}

static hone_status make_channels_last(hn_match *match) {
  const int rank = hn_bound_type(match, "x")->shape.rank;
  int64_t perm[HONE_MAX_RANK] = {0};
  for (int i = 1; i < rank; ++i) perm[i] = i < rank - 1 ? i + 1 : 1;
  HN_TRY(hn_view_bind_dims(match, &match->roots[0]->fact.type.shape));
  return hn_bind_list(match, "perm", rank, perm);
}
static hone_status make_channels_first(hn_match *match) {
  const hone_shape *image = &match->roots[0]->fact.type.shape;
  const int rank = image->rank;
  hone_shape last = *image;
  int64_t perm[HONE_MAX_RANK] = {0};
  for (int i = 1; i < rank; ++i) {
    perm[i] = i == 1 ? rank - 1 : i - 1;
    last.dim[i] = image->dim[i < rank - 1 ? i + 1 : 1];
  }
  HN_TRY(hn_view_bind_dims(match, &last));
  return hn_bind_list(match, "perm", rank, perm);
}

const hn_rewrite hn_rules_planes[] = {{.name = "transpose_before_flattening",
                                       .find = "t:transpose(v:view(x))",
                                       .put = "view[dims=$dims](transpose[perm=$perm](x))",
                                       .when = when_flattened,
                                       .make = make_channels_last,
                                       .keeps = true,
                                       .why = "an image whose channels are last has them there already"},
                                      {.name = "transpose_after_planes",
                                       .find = "v:view(t:transpose(x))",
                                       .put = "transpose[perm=$perm](view[dims=$dims](x))",
                                       .when = when_made_planes,
                                       .make = make_channels_first,
                                       .keeps = true,
                                       .why = "an image whose channels are last has them there already"},
                                      {0}};
