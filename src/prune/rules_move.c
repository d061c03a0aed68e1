/* SPDX-License-Identifier: Apache-2.0 */
/* rules_move.c - operators that move, join or part elements. */
#include "prune/rules_move.h"
#include "tensor/attrs.h"
#include <string.h>

static int64_t axis_of(const hn_node *node, int rank) {
  const int64_t axis = hn_attr_int(&node->attrs, "axis");
  return axis < 0 ? axis + rank : axis;
}

/* ---- concat, split ---- */

const char *hn_link_concat(const hn_linker *l) {
  const int rank = hn_link_rank(l, HN_OUT(0)), axis = (int)axis_of(l->node, rank);
  if (axis < 0 || axis >= rank) return "its axis is not known";
  for (int i = 0; i < l->node->in_count; ++i)
    if (hn_link_dim(l, HN_IN(i), axis) < 0) return "an extent that it joins is free";
  int64_t at = 0;
  for (int i = 0; i < l->node->in_count; ++i) {
    const int64_t count = hn_link_dim(l, HN_IN(i), axis);
    for (int a = 0; a < rank; ++a)
      if (a != axis) hn_link_same(l, HN_IN(i), a, HN_OUT(0), a);
    hn_link_join(l, HN_IN(i), axis, 0, HN_OUT(0), axis, at, count);
    at += count;
  }
  return NULL;
}

static bool has_sizes(const hn_node *node) { return node->in_count > 1 && node->in[1]; }

/* Parts without sizes are equal, and stay so: their places stand and fall together. */
const char *hn_link_split(const hn_linker *l) {
  const hn_node *node = l->node;
  const int rank = hn_link_rank(l, HN_IN(0)), axis = (int)axis_of(node, rank);
  if (axis < 0 || axis >= rank) return "its axis is not known";
  if (has_sizes(node) && !hn_value_is_constant(node->in[1])) return "its sizes are computed";
  for (int i = 0; i < node->out_count; ++i)
    if (!node->out[i] || hn_link_dim(l, HN_OUT(i), axis) < 0 ||
        (!has_sizes(node) && hn_link_dim(l, HN_OUT(i), axis) != hn_link_dim(l, HN_OUT(0), axis)))
      return "its parts are not known";
  int64_t at = 0;
  for (int i = 0; i < node->out_count; ++i) {
    const int64_t count = hn_link_dim(l, HN_OUT(i), axis);
    for (int a = 0; a < rank; ++a)
      if (a != axis) hn_link_same(l, HN_IN(0), a, HN_OUT(i), a);
    hn_link_join(l, HN_IN(0), axis, at, HN_OUT(i), axis, 0, count);
    if (!has_sizes(node)) hn_link_same(l, HN_OUT(0), axis, HN_OUT(i), axis);
    at += count;
  }
  if (has_sizes(node)) hn_link_claim(l, HN_IN(1), 0);
  return NULL;
}

hone_status hn_recut_split(const hn_cut *cut, hn_node *node) {
  int64_t sizes[HONE_MAX_FACT_VALUES];
  const int axis = (int)axis_of(node, node->in[0]->fact.type.shape.rank);
  if (!has_sizes(node) || node->out_count > HONE_MAX_FACT_VALUES) return HONE_OK;
  bool changed = false;
  for (int i = 0; i < node->out_count; ++i) {
    sizes[i] = hn_cut_extent(cut, node->out[i], axis);
    changed |= sizes[i] != node->out[i]->fact.type.shape.dim[axis];
  }
  return changed ? hn_cut_set_ints(cut, node, 1, sizes) : HONE_OK;
}

/* ---- slice ---- */

typedef struct slicing {
  int64_t count;
  int axis[HONE_MAX_RANK];
  int64_t first[HONE_MAX_RANK], step[HONE_MAX_RANK];
} slicing;

static const char *read_slice(const hn_node *node, slicing *out) {
  int64_t starts_count, count;
  const hone_shape *shape = &node->in[0]->fact.type.shape;
  const int64_t *starts = hn_link_ints(node, 1, &starts_count);
  const int64_t *axes = hn_link_ints(node, 3, &count), *steps = hn_link_ints(node, 4, &count);
  const bool has_axes = node->in_count > 3 && node->in[3], has_steps = node->in_count > 4 && node->in[4];
  if (!starts || !hn_value_is_constant(node->in[1]) || !hn_value_is_constant(node->in[2]) || (has_axes && !axes) ||
      (has_steps && !steps))
    return "its bounds are computed";
  if (starts_count > HONE_MAX_RANK || shape->rank < 0) return "its bounds are not known";
  out->count = starts_count;
  for (int64_t i = 0; i < starts_count; ++i) {
    const int64_t axis = has_axes ? axes[i] : i;
    out->axis[i] = (int)(axis < 0 ? axis + shape->rank : axis);
    if (out->axis[i] < 0 || out->axis[i] >= shape->rank) return "its axes are not known";
    const int64_t extent = shape->dim[out->axis[i]];
    out->first[i] = starts[i] < 0 ? starts[i] + extent : starts[i];
    if (out->first[i] < 0) out->first[i] = 0;
    out->step[i] = has_steps ? steps[i] : 1;
  }
  return NULL;
}

const char *hn_link_slice(const hn_linker *l) {
  slicing s;
  bool sliced[HONE_MAX_RANK] = {false};
  HN_TRY_REASON(read_slice(l->node, &s));
  for (int64_t i = 0; i < s.count; ++i) sliced[s.axis[i]] = true;
  for (int a = 0; a < hn_link_rank(l, HN_OUT(0)); ++a)
    if (!sliced[a]) hn_link_same(l, HN_IN(0), a, HN_OUT(0), a);
  for (int64_t i = 0; i < s.count; ++i)
    if (s.step[i] == 1 && hn_link_dim(l, HN_IN(0), s.axis[i]) > 0)
      hn_link_join(l, HN_IN(0), s.axis[i], s.first[i], HN_OUT(0), s.axis[i], 0, hn_link_dim(l, HN_OUT(0), s.axis[i]));
  for (int port = 1; port <= 4; ++port) hn_link_claim(l, HN_IN(port), 0);
  return NULL;
}

hone_status hn_recut_slice(const hn_cut *cut, hn_node *node) {
  slicing s;
  int64_t starts[HONE_MAX_RANK], ends[HONE_MAX_RANK], count;
  bool changed = false;
  if (read_slice(node, &s)) return HONE_OK; /* nothing was joined, so nothing was cut */
  const int64_t *old_starts = hn_link_ints(node, 1, &count), *old_ends = hn_link_ints(node, 2, &count);
  for (int64_t i = 0; i < s.count; ++i) {
    const hn_value *x = node->in[0], *y = node->out[0];
    starts[i] = old_starts[i];
    ends[i] = old_ends ? old_ends[i] : 0;
    if (hn_cut_extent(cut, x, s.axis[i]) == x->fact.type.shape.dim[s.axis[i]]) continue;
    starts[i] = hn_cut_before(cut, x, s.axis[i], s.first[i]);
    ends[i] = starts[i] + hn_cut_extent(cut, y, s.axis[i]);
    changed = true;
  }
  if (!changed || !old_ends) return HONE_OK;
  HN_TRY(hn_cut_set_ints(cut, node, 1, starts));
  return hn_cut_set_ints(cut, node, 2, ends);
}

/* ---- transpose, pad, resize ---- */

const char *hn_link_transpose(const hn_linker *l) {
  const int rank = hn_link_rank(l, HN_OUT(0));
  for (int a = 0; a < rank; ++a)
    hn_link_same(l, HN_IN(0), (int)hn_attr_ints_at(&l->node->attrs, "perm", a, rank - 1 - a), HN_OUT(0), a);
  return NULL;
}

const char *hn_link_pad(const hn_linker *l) {
  int64_t count;
  const int rank = hn_link_rank(l, HN_OUT(0));
  const int64_t *pads = hn_link_ints(l->node, 1, &count);
  if (!pads) return "its pads are computed";
  if ((l->node->in_count > 3 && l->node->in[3]) || rank < 0 || count != 2 * rank) return "it pads some axes alone";
  for (int a = 0; a < rank; ++a)
    if (pads[a] == 0 && pads[a + rank] == 0) hn_link_same(l, HN_IN(0), a, HN_OUT(0), a);
  hn_link_claim(l, HN_IN(1), 0);
  return NULL;
}

hone_status hn_recut_resize(const hn_cut *cut, hn_node *node) {
  int64_t sizes[HONE_MAX_RANK], count;
  const hn_value *x = node->in[0];
  const int64_t *old = hn_link_ints(node, 3, &count);
  if (!old || !hn_value_is_constant(node->in[3]) || count != x->fact.type.shape.rank || count < 2) return HONE_OK;
  memcpy(sizes, old, (size_t)count * sizeof *sizes);
  sizes[1] = hn_cut_extent(cut, node->out[0], 1);
  return sizes[1] == old[1] ? HONE_OK : hn_cut_set_ints(cut, node, 3, sizes);
}

/* ---- reshape and its like ---- */

/* Axes [in, in_end) hold the same places as axes [out, out_end), in the same order. */
typedef struct stretch {
  int in, in_end, out, out_end;
} stretch;

/* Cuts both shapes where their products meet. How many stretches; -1: that cannot be said. */
static int find_stretches(const hone_shape *x, const hone_shape *y, stretch *out) {
  int count = 0, i = 0, o = 0;
  while (i < x->rank || o < y->rank) {
    stretch s = {i, i, o, o};
    const int64_t xd = i < x->rank ? x->dim[i] : 1, yd = o < y->rank ? y->dim[o] : 1;
    if (xd == yd) {
      i += i < x->rank;
      o += o < y->rank;
    } else {
      int64_t xn = 1, yn = 1;
      do {
        const bool take_x = xn < yn || (xn == yn && i < x->rank && (x->dim[i] == 1 || xn == 1));
        if (take_x ? i == x->rank : o == y->rank) return -1;
        const int64_t dim = take_x ? x->dim[i++] : y->dim[o++];
        if (dim <= 0) return -1;
        *(take_x ? &xn : &yn) *= dim;
      } while (xn != yn || xn == 1);
    }
    s.in_end = i;
    s.out_end = o;
    out[count++] = s;
  }
  return count;
}

/* The axes of more than one place; *out_count may be 0. */
static void wide_axes(const hone_shape *shape, int from, int to, int *out, int *out_count) {
  *out_count = 0;
  for (int a = from; a < to; ++a)
    if (shape->dim[a] != 1) out[(*out_count)++] = a;
}

/* Several axes become one: the outermost is taken to be channels, as in front of a layer behind [N, C, H, W]. One axis
 * becomes several: of two the inner one, as in a shuffle of channels; of three or more the outermost. */
static void join_stretch(const hn_linker *l, const hone_shape *x, const hone_shape *y, const stretch *s) {
  int xs[HONE_MAX_RANK], ys[HONE_MAX_RANK], x_count, y_count;
  wide_axes(x, s->in, s->in_end, xs, &x_count);
  wide_axes(y, s->out, s->out_end, ys, &y_count);
  for (int a = s->in; a < s->in_end; ++a)
    if (x->dim[a] == 1) hn_link_claim(l, HN_IN(0), a);
  for (int a = s->out; a < s->out_end; ++a)
    if (y->dim[a] == 1) hn_link_claim(l, HN_OUT(0), a);
  if (x_count == 1 && y_count == 1) hn_link_same(l, HN_IN(0), xs[0], HN_OUT(0), ys[0]);
  if ((x_count == 1) == (y_count == 1)) return;
  const bool merges = y_count == 1;
  const hone_shape *many = merges ? x : y;
  const hn_side many_side = merges ? HN_IN(0) : HN_OUT(0), one_side = merges ? HN_OUT(0) : HN_IN(0);
  const int *axes = merges ? xs : ys, count = merges ? x_count : y_count, one = merges ? ys[0] : xs[0];
  const bool inner = !merges && count == 2;
  const int axis = axes[inner ? count - 1 : 0];
  const int64_t extent = many->dim[axis];
  int64_t others = 1;
  for (int i = 0; i < count; ++i) others *= axes[i] == axis ? 1 : many->dim[axes[i]];
  for (int64_t k = 0; k < extent; ++k)
    for (int64_t i = 0; i < others; ++i)
      hn_link_join(l, many_side, axis, k, one_side, one, inner ? i * extent + k : k * others + i, 1);
}

/* What the constant shape may say so that the output follows its input: numbers, 0 (as the input) and one -1. false:
 * its free extents are more than that. */
static bool read_target(const hn_node *node, int64_t *out, int64_t *out_count) {
  const hone_shape *x = &node->in[0]->fact.type.shape, *y = &node->out[0]->fact.type.shape;
  const int64_t *old = hn_link_ints(node, 1, out_count);
  const bool zero_copies = !hn_attr_int(&node->attrs, "allowzero");
  int inferred = 0;
  if (!old || *out_count != y->rank) return false;
  for (int64_t a = 0; a < *out_count; ++a) {
    out[a] = old[a];
    if (HONE_SYMBOLIC(old[a])) out[a] = zero_copies && a < x->rank && x->dim[a] == y->dim[a] ? 0 : -1;
    if (old[a] == 0 && !zero_copies) return false;
    inferred += out[a] == -1;
  }
  return inferred <= 1;
}

const char *hn_link_reshape(const hn_linker *l) {
  int64_t target[HONE_MAX_FACT_VALUES], count;
  return read_target(l->node, target, &count) ? hn_link_view(l) : "its shape is computed";
}

const char *hn_link_view(const hn_linker *l) {
  stretch stretches[2 * HONE_MAX_RANK + 1];
  const hn_value *xv = hn_link_value(l, HN_IN(0)), *yv = hn_link_value(l, HN_OUT(0));
  if (!xv || !yv) return "it has no input";
  const hone_shape *x = &xv->fact.type.shape, *y = &yv->fact.type.shape;
  if (x->rank < 0 || y->rank < 0) return "its shape is not known";
  const int count = find_stretches(x, y, stretches);
  if (count < 0) return "its shape is not fixed";
  for (int i = 0; i < count; ++i) {
    const stretch *s = &stretches[i];
    if (s->in_end == s->in + 1 && s->out_end == s->out + 1)
      hn_link_same(l, HN_IN(0), s->in, HN_OUT(0), s->out); /* symbols too */
    else
      join_stretch(l, x, y, s);
  }
  for (int port = 1; port < l->node->in_count; ++port) hn_link_claim(l, HN_IN(port), 0);
  return NULL;
}

hone_status hn_recut_reshape(const hn_cut *cut, hn_node *node) {
  int64_t target[HONE_MAX_FACT_VALUES], count;
  const hn_value *y = node->out[0];
  if (!read_target(node, target, &count)) return HONE_OK; /* nothing was joined, so nothing was cut */
  bool changed = false;
  for (int64_t a = 0; a < count; ++a) {
    const int64_t extent = target[a] > 0 ? hn_cut_extent(cut, y, (int)a) : target[a];
    changed |= extent != target[a];
    target[a] = extent;
  }
  return changed ? hn_cut_set_ints(cut, node, 1, target) : HONE_OK;
}
