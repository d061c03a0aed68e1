/* SPDX-License-Identifier: Apache-2.0 */
/* rules_channels.c - what joins, cuts and reorders: concat, split, slice, and the channel shuffle, which exporters
 * write as reshape, transpose, reshape (Zhang et al., arXiv:1707.01083, section 3.1). */
#include "pass/passes.h"
#include "pass/rule_help.h"
#include "tensor/shape.h"

enum { MOST_JOINED = 16 }; /* inputs of a concat made of others */

static int64_t axis_of(const hn_node *node, int rank) {
  const int64_t axis = hn_attr_int(&node->attrs, "axis");
  return axis < 0 ? axis + rank : axis;
}

static int rank_of(const hn_value *value) { return value ? value->fact.type.shape.rank : -1; }

/* ---- lists of inputs that become others ---- */

/* What a list of inputs becomes: `count` values in place of `taken` inputs from `from` on. */
typedef struct exchange {
  int from, taken, count;
  hn_value *const *by;
} exchange;

static hone_status bind_exchanged(hn_match *match, const exchange *e) {
  const hn_node *root = match->root;
  const int count = root->in_count - e->taken + e->count;
  hn_value **rest = HN_NEW(&match->run->graph->arena, hn_value *, count);
  if (!rest) return HN_FAIL_MEMORY(&match->run->context->diag);
  if (match->binding_count == HN_MATCH_BINDINGS) return HN_FAIL(&match->run->context->diag, HONE_INTERNAL, "no room");
  int at = 0;
  for (int i = 0; i < e->from; ++i) rest[at++] = root->in[i];
  for (int i = 0; i < e->count; ++i) rest[at++] = e->by[i];
  for (int i = e->from + e->taken; i < root->in_count; ++i) rest[at++] = root->in[i];
  match->bindings[match->binding_count++] = (hn_binding){.name = "ys", .rest_count = count, .rest = rest};
  return HONE_OK;
}

/* The first input of a concat that is a concat along the same axis and serves nothing else. */
static bool find_inner_concat(const hn_match *match, exchange *out) {
  const hn_node *root = match->root;
  for (int i = 0; i < root->in_count; ++i) {
    const hn_node *inner = root->in[i]->node;
    if (!inner || inner->op != root->op || inner->owner != root->owner || hn_value_use_count(root->in[i]) != 1)
      continue;
    const int rank = rank_of(root->in[i]);
    if (rank < 1 || axis_of(inner, rank) != axis_of(root, rank)) continue;
    *out = (exchange){.from = i, .taken = 1, .count = inner->in_count, .by = inner->in};
    return true;
  }
  return false;
}

static const char *when_nested(const hn_match *match) {
  exchange e;
  if (!find_inner_concat(match, &e)) return "";
  return match->root->in_count - 1 + e.count <= MOST_JOINED ? NULL : "the two join too many tensors";
}

static hone_status make_flat(hn_match *match) {
  exchange e;
  (void)find_inner_concat(match, &e);
  return bind_exchanged(match, &e);
}

/* All parts of a split side by side in their order, along the axis of both. */
static bool find_parts(const hn_match *match, exchange *out) {
  const hn_node *root = match->root;
  const hone_op *split = hn_op_find(match->run->context->ops, "split");
  for (int i = 0; i < root->in_count; ++i) {
    const hn_node *node = root->in[i]->node;
    const int rank = rank_of(root->in[i]);
    if (!node || node->op != split || root->in[i]->out_index != 0 || i + node->out_count > root->in_count) continue;
    if (rank < 1 || axis_of(node, rank) != axis_of(root, rank)) continue;
    int found = 0;
    while (found < node->out_count && root->in[i + found] == node->out[found]) ++found;
    if (found < node->out_count) continue;
    *out = (exchange){.from = i, .taken = found, .count = 1, .by = node->in};
    return true;
  }
  return false;
}

static const char *when_rejoined(const hn_match *match) {
  exchange e;
  return find_parts(match, &e) ? NULL : "";
}

static hone_status make_whole(hn_match *match) {
  exchange e;
  (void)find_parts(match, &e);
  return bind_exchanged(match, &e);
}

/* ---- slices ---- */

/* One slice made of two with steps of 1: the same lists of axes, and bounds that are not negative and inside. */
typedef struct slicing {
  int count;
  int64_t starts[HONE_MAX_RANK], ends[HONE_MAX_RANK], axes[HONE_MAX_RANK];
} slicing;

static bool all_ones(const hn_value *steps) {
  for (int64_t i = 0; steps && i < steps->fact.value_count; ++i)
    if (!steps->fact.value || steps->fact.value[i] != 1) return false;
  return !steps || steps->fact.value;
}

/* Where a slice begins along each axis and how much it keeps, from numbers alone. */
static bool read_slice(const hn_node *node, slicing *out) {
  const hn_value *starts = hn_input(node, 1), *axes = hn_input(node, 3);
  const hone_shape *from = &node->in[0]->fact.type.shape, *to = &node->out[0]->fact.type.shape;
  if (from->rank < 1 || !starts->fact.value || !all_ones(hn_input(node, 4)) || (axes && !axes->fact.value))
    return false;
  out->count = (int)starts->fact.value_count;
  if (out->count > from->rank || (axes && axes->fact.value_count != out->count)) return false;
  for (int i = 0; i < out->count; ++i) {
    int64_t axis = axes ? axes->fact.value[i] : i, start = starts->fact.value[i];
    if (axis < 0) axis += from->rank;
    if (axis < 0 || axis >= from->rank || HONE_SYMBOLIC(from->dim[axis]) || HONE_SYMBOLIC(to->dim[axis]) ||
        HONE_SYMBOLIC(start))
      return false;
    if (start < 0) start += from->dim[axis];
    start = start < 0 ? 0 : start > from->dim[axis] ? from->dim[axis] : start;
    out->axes[i] = axis;
    out->starts[i] = start;
    out->ends[i] = start + to->dim[axis];
  }
  return true;
}

static bool compose(const hn_match *match, slicing *out) {
  slicing inner;
  if (!read_slice(match->root, out) || !read_slice(hn_bound_node(match, "t"), &inner)) return false;
  for (int i = 0; i < inner.count; ++i) {
    int at = 0;
    while (at < out->count && out->axes[at] != inner.axes[i]) ++at;
    if (at == out->count) { /* the outer one keeps all that the inner one kept */
      if (out->count == HONE_MAX_RANK) return false;
      out->axes[at] = inner.axes[i];
      out->starts[at] = inner.starts[i];
      out->ends[at] = inner.ends[i];
      ++out->count;
    } else {
      out->starts[at] += inner.starts[i];
      out->ends[at] += inner.starts[i];
    }
  }
  return true;
}

static const char *when_slices_known(const hn_match *match) {
  slicing both;
  return compose(match, &both) ? NULL : "what the slices keep is not known as numbers, or they have steps";
}

static hone_status make_slice(hn_match *match) {
  slicing both;
  (void)compose(match, &both);
  HN_TRY(hn_bind_ints(match, "starts", both.count, both.starts));
  HN_TRY(hn_bind_ints(match, "ends", both.count, both.ends));
  return hn_bind_ints(match, "axes", both.count, both.axes);
}

/* ---- slices of channels are parts of a split ---- */

/* Channels [*start, *end) of one image, which lie side by side, so that a part of them needs no copy where the memory
 * plan knows all extents; elsewhere a split would copy the parts that nobody reads, too. */
static bool find_part(const hn_node *slice, int64_t *start, int64_t *end) {
  slicing part;
  const hone_shape *x = &slice->in[0]->fact.type.shape;
  if (x->rank < 3 || x->dim[0] != 1 || !hn_shape_known(x) || !read_slice(slice, &part)) return false;
  *start = *end = 0;
  for (int i = 0; i < part.count; ++i) {
    if (part.axes[i] == 1) {
      *start = part.starts[i];
      *end = part.ends[i];
    } else if (part.ends[i] - part.starts[i] != x->dim[part.axes[i]]) {
      return false;
    }
  }
  return *start < *end && *end - *start < x->dim[1];
}

static const char *when_part(const hn_match *match) {
  int64_t start, end;
  return find_part(match->root, &start, &end) ? NULL : "";
}

/* Where the channels are cut, in order, from 0 to their number. */
enum { MOST_CUTS = 32 };
typedef struct cuts {
  int64_t at[MOST_CUTS];
  int count;
  bool full; /* there was no room */
} cuts;

static void add_cut(cuts *c, int64_t at) {
  int i = c->count;
  while (i > 0 && c->at[i - 1] > at) --i;
  if (i > 0 && c->at[i - 1] == at) return;
  c->full = c->full || c->count == MOST_CUTS;
  if (c->full) return;
  for (int j = c->count++; j > i; --j) c->at[j] = c->at[j - 1];
  c->at[i] = at;
}

/* Those of a split that slices have become already. */
static void add_split(cuts *c, const hn_node *split) {
  int64_t at = 0;
  for (int i = 0; i < split->out_count && split->out[i]; ++i) add_cut(c, at += split->out[i]->fact.type.shape.dim[1]);
}

/* Slices of one tensor that do not overlap are parts of one split: all of them cut alike, and merge_common sees it. */
static void find_cuts(const hn_match *match, int64_t start, int64_t end, cuts *out) {
  const hn_value *x = hn_bound(match, "x");
  const hone_op *split = hn_op_find(match->run->context->ops, "split");
  int64_t first, last;
  bool apart = true;
  *out = (cuts){.at = {0, x->fact.type.shape.dim[1]}, .count = 2};
  cuts own = *out;
  add_cut(&own, start);
  add_cut(&own, end);
  for (const hn_use *use = x->uses; use; use = use->next) {
    const hn_node *node = use->node;
    if (!node || use->index != 0) continue;
    if (node->op == split && axis_of(node, x->fact.type.shape.rank) == 1) add_split(out, node);
    if (node->op != match->root->op || !find_part(node, &first, &last)) continue;
    add_cut(out, first);
    add_cut(out, last);
  }
  for (const hn_use *use = x->uses; use; use = use->next)
    for (int i = 0; use->node && use->index == 0 && use->node->op == match->root->op && i < out->count; ++i)
      if (find_part(use->node, &first, &last) && first < out->at[i] && out->at[i] < last) apart = false;
  if (!apart || out->full) *out = own;
}

/* y: the part of a split of x that is the slice; the parts beside it may be nobody's. */
static hone_status make_part(hn_match *match) {
  hone_graph *graph = match->run->graph;
  int64_t sizes[MOST_CUTS], start, end;
  cuts c;
  int at = 0;
  (void)find_part(match->root, &start, &end);
  find_cuts(match, start, end, &c);
  for (int i = 0; i + 1 < c.count; ++i) {
    sizes[i] = c.at[i + 1] - c.at[i];
    if (c.at[i] == start) at = i;
  }
  const hone_attr axis = {.name = "axis", .kind = HONE_ATTR_INT, .i = 1};
  hn_value *in[2] = {hn_bound(match, "x"), hn_constant_int(graph, NULL, 1, c.count - 1, sizes)};
  if (!in[1]) return HONE_NO_MEMORY;
  const hn_node_spec spec = {.op = hn_op_find(graph->context->ops, "split"),
                             .attrs = {1, &axis},
                             .in_count = 2,
                             .out_count = c.count - 1,
                             .in = in,
                             .origins = match->root->origins,
                             .before = match->root};
  hn_node *split;
  HN_TRY(hn_node_create(match->root->owner, &spec, &split));
  return hn_bind(match, "y", split->out[at]);
}

/* ---- channel shuffles ---- */

/* The axes [first, last) of what is transposed that make up the channels. */
typedef struct shuffle {
  const hone_shape *middle;
  int64_t perm[HONE_MAX_RANK];
  int first, last;
  int64_t channels;
} shuffle;

static int64_t product(const hone_shape *shape, int first, int last) {
  int64_t result = 1;
  for (int i = first; i < last; ++i)
    if (HONE_SYMBOLIC(shape->dim[i]) || !hn_mul_i64(result, shape->dim[i], &result)) return -1;
  return result;
}

/* Do the two lists of extents hold as much, as far as codes and numbers can tell? */
static bool same_planes(const hone_shape *a, int a_first, const hone_shape *b, int b_first) {
  bool same = a->rank - a_first == b->rank - b_first;
  for (int i = 0; same && a_first + i < a->rank; ++i) same = a->dim[a_first + i] == b->dim[b_first + i];
  return same || (product(a, a_first, a->rank) >= 0 && product(a, a_first, a->rank) == product(b, b_first, b->rank));
}

static bool find_shuffle(const hn_match *match, shuffle *out) {
  const hn_node *transpose = hn_bound_node(match, "t");
  const hone_shape *x = &hn_bound_type(match, "x")->shape;
  *out = (shuffle){.middle = &transpose->in[0]->fact.type.shape};
  const hone_shape *middle = out->middle;
  if (x->rank < 3 || middle->rank < 2 || HONE_SYMBOLIC(x->dim[1]) || x->dim[1] < 1) return false;
  if (!hn_shape_equal(x, &match->roots[0]->fact.type.shape)) return false;
  for (int i = 0; i < middle->rank; ++i)
    out->perm[i] = hn_attr_ints_at(&transpose->attrs, "perm", i, middle->rank - 1 - i);
  out->channels = x->dim[1];
  out->first = middle->dim[0] == x->dim[0] && out->perm[0] == 0 ? 1 : 0;
  if (out->first == 0 && x->dim[0] != 1) return false;
  for (out->last = out->first + 1; out->last <= middle->rank; ++out->last) {
    if (product(middle, out->first, out->last) != out->channels || !same_planes(middle, out->last, x, 2)) continue;
    bool apart = true; /* channels change places among themselves, planes do not */
    for (int i = out->last; i < middle->rank; ++i) apart = apart && out->perm[i] == i;
    if (apart) return true;
  }
  return false;
}

static const char *when_shuffled(const hn_match *match) {
  shuffle s;
  return find_shuffle(match, &s) ? NULL : "";
}

/* channels[c]: where the shuffled tensor's channel c comes from. */
static hone_status make_channels(hn_match *match) {
  shuffle s;
  (void)find_shuffle(match, &s);
  int64_t *channels = HN_NEW(&match->run->graph->arena, int64_t, s.channels);
  if (!channels) return HN_FAIL_MEMORY(&match->run->context->diag);
  for (int64_t c = 0; c < s.channels; ++c) {
    int64_t rest = c, from = 0;
    for (int i = s.last - 1; i >= s.first; --i) {
      const int axis = (int)s.perm[i];
      from += rest % s.middle->dim[axis] * product(s.middle, axis + 1, s.last);
      rest /= s.middle->dim[axis];
    }
    channels[c] = from;
  }
  HN_TRY(hn_bind_list(match, "channels", (int)s.channels, channels));
  return hn_bind_list(match, "split", 1, &s.channels);
}

static const char *when_reordered(const hn_match *match) {
  const hn_value *k = hn_bound(match, "k");
  const hone_shape *x = &hn_bound_type(match, "x")->shape;
  if (x->rank < 4 || rank_of(k) != 1 || HONE_SYMBOLIC(x->dim[1]) || hn_elems(&k->fact.type.shape) < 2) return "";
  for (int64_t i = 0; i < hn_elems(&k->fact.type.shape); ++i) {
    const int64_t channel = hn_int(k->fact.constant, i);
    if (channel < -x->dim[1] || channel >= x->dim[1]) return "";
  }
  return NULL;
}

static hone_status make_reordered(hn_match *match) {
  const hone_tensor *k = hn_bound(match, "k")->fact.constant;
  const int64_t count = hn_elems(&k->type.shape), extent = hn_bound_type(match, "x")->shape.dim[1];
  int64_t *channels = HN_NEW(&match->run->graph->arena, int64_t, count);
  if (!channels) return HN_FAIL_MEMORY(&match->run->context->diag);
  for (int64_t i = 0; i < count; ++i) {
    channels[i] = hn_int(k, i);
    if (channels[i] < 0) channels[i] += extent;
  }
  HN_TRY(hn_bind_list(match, "channels", (int)count, channels));
  return hn_bind_list(match, "split", 1, &count);
}

static const char *when_joinable(const hn_match *match) {
  const hn_node *concat = hn_bound_node(match, "c");
  if (axis_of(concat, rank_of(concat->out[0])) != 1) return "";
  return concat->in_count <= HONE_MAX_PORTS ? NULL : "the concat joins too many tensors";
}

static const char *when_two_parts(const hn_match *match) {
  const hn_node *split = hn_bound_node(match, "s");
  if (hn_bound_node(match, "g")->out_count != 1 || axis_of(split, rank_of(split->in[0])) != 1) return "";
  return split->out_count == 2 ? NULL : "it is cut into more than two parts";
}

static hone_status make_two_parts(hn_match *match) {
  const hn_node *split = hn_bound_node(match, "s");
  const int64_t sizes[2] = {split->out[0]->fact.type.shape.dim[1], split->out[1]->fact.type.shape.dim[1]};
  return hn_bind_list(match, "split", 2, sizes);
}

const hn_rewrite hn_rules_slices[] = {{.name = "merge_slices",
                                       .find = "slice(t:slice(x, ...), ...)",
                                       .put = "slice(x, starts, ends, axes)",
                                       .when = when_slices_known,
                                       .make = make_slice,
                                       .keeps = true,
                                       .why = "a part of a part is a part"},
                                      {0}};

const hn_rewrite hn_rules_parts[] = {{.name = "slice_to_split",
                                      .find = "slice(x, ...)",
                                      .put = "y",
                                      .when = when_part,
                                      .make = make_part,
                                      .why = "parts of a split need no copy, and siblings are parts of one"},
                                     {0}};

const hn_rewrite hn_rules_channels[] = {{.name = "merge_concats",
                                         .find = "c:concat(xs...)",
                                         .put = "c(ys...)",
                                         .when = when_nested,
                                         .make = make_flat,
                                         .why = "what is joined twice is copied twice"},
                                        {.name = "rejoin_split",
                                         .find = "c:concat(xs...)",
                                         .put = "c(ys...)",
                                         .when = when_rejoined,
                                         .make = make_whole,
                                         .why = "all parts of a tensor are that tensor"},
                                        {.name = "shuffle_channels",
                                         .find = "view(t:transpose(view(x)))",
                                         .put = "channel_gather[channels=$channels, split=$split](x)",
                                         .when = when_shuffled,
                                         .make = make_channels,
                                         .fuses = true,
                                         .why = "channels of a blocked format change places without another format"},
                                        {.name = "gather_channels",
                                         .find = "gather[axis=1](x, k:const)",
                                         .put = "channel_gather[channels=$channels, split=$split](x)",
                                         .when = when_reordered,
                                         .make = make_reordered,
                                         .fuses = true,
                                         .why = "channels of a blocked format change places without another format"},
                                        {.name = "concat_into_channel_gather",
                                         .find = "g:channel_gather(c:concat(xs...))",
                                         .put = "g(xs...)",
                                         .when = when_joinable,
                                         .fuses = true,
                                         .why = "joined and shuffled in one copy"},
                                        {.name = "split_into_channel_gather",
                                         .find = "(s:split(g:channel_gather(xs...), ...), s.1)",
                                         .put = "(h:channel_gather[channels=g.channels, split=$split](xs...), h.1)",
                                         .when = when_two_parts,
                                         .make = make_two_parts,
                                         .fuses = true,
                                         .why = "shuffled and cut in one copy"},
                                        {0}};
