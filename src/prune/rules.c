/* SPDX-License-Identifier: Apache-2.0 */
/* rules.c - the rows, with what layers and elementwise operators join; operators that move elements are in
 * rules_move.c. */
#include "prune/rules.h"
#include "prune/rules_move.h"
#include "tensor/attrs.h"
#include "tensor/shape.h"
#include <string.h>

/* ---- layers ---- */

static int out_rank(const hn_linker *l) { return hn_link_rank(l, HN_OUT(0)); }

/* Axes as numpy broadcasts them: from the last; an extent of 1 serves all. */
static void join_broadcast(const hn_linker *l, hn_side in) {
  const int rank = hn_link_rank(l, in), shift = out_rank(l) - rank;
  for (int a = 0; a < rank && shift >= 0; ++a) {
    if (hn_link_dim(l, in, a) == hn_link_dim(l, HN_OUT(0), a + shift))
      hn_link_same(l, in, a, HN_OUT(0), a + shift);
    else
      hn_link_claim(l, in, a);
  }
}

/* A constant for each channel, or one for all. */
static void join_param(const hn_linker *l, int port, int axis) {
  if (hn_link_rank(l, HN_IN(port)) == 1 && hn_link_dim(l, HN_IN(port), 0) == hn_link_dim(l, HN_OUT(0), axis))
    hn_link_same(l, HN_IN(port), 0, HN_OUT(0), axis);
}

/* Channels of a group stand and fall together, its inputs with its outputs. */
static const char *link_groups(const hn_linker *l, int64_t groups) {
  const int64_t inputs = hn_link_dim(l, HN_IN(0), 1), outputs = hn_link_dim(l, HN_OUT(0), 1);
  if (inputs <= 0 || outputs <= 0 || groups <= 0 || inputs % groups || outputs % groups)
    return "its groups do not fit its channels";
  const int64_t x = inputs / groups, y = outputs / groups;
  const bool by_inputs = hn_link_dim(l, HN_IN(1), 0) == inputs && hn_link_dim(l, HN_IN(1), 1) * groups == outputs &&
                         strcmp(l->rule->op, "conv_transpose") == 0;
  for (int64_t g = 0; g < groups; ++g) {
    hn_link_bundle(l, HN_IN(0), 1, g * x, x);
    hn_link_bundle(l, HN_OUT(0), 1, g * y, y);
    hn_link_join(l, HN_IN(0), 1, g * x, HN_OUT(0), 1, g * y, 1);
  }
  if (by_inputs)
    hn_link_same(l, HN_IN(0), 1, HN_IN(1), 0);
  else
    hn_link_same(l, HN_OUT(0), 1, HN_IN(1), 0);
  join_param(l, 2, 1);
  return NULL;
}

static const char *link_conv(const hn_linker *l) {
  const hn_prune_rule *rule = l->rule;
  const int64_t groups = hn_attr_int(&l->node->attrs, rule->group);
  if (groups != 1) {
    HN_TRY_REASON(link_groups(l, groups));
  } else {
    hn_link_same(l, HN_IN(0), 1, HN_IN(1), rule->inputs);
    hn_link_same(l, HN_OUT(0), 1, HN_IN(1), rule->outputs);
    join_param(l, 2, 1);
  }
  join_broadcast(l, HN_IN(3)); /* of layers that passes have fused: residual and slopes */
  join_param(l, 4, 1);
  return NULL;
}

static hone_status recut_conv(const hn_cut *cut, hn_node *node) {
  const hn_value *x = node->in[0];
  const int64_t groups = hn_attr_int(&node->attrs, "group"), before = x->fact.type.shape.dim[1],
                after = hn_cut_extent(cut, x, 1);
  return groups == 1 || before == after ? HONE_OK : hn_cut_set_attr(cut, node, "group", groups * after / before);
}

/* gemm, and linear with its residual and slopes: x[..., K] w -> y[..., N]. */
static const char *link_gemm(const hn_linker *l) {
  const hn_prune_rule *rule = l->rule;
  const bool turned = hn_attr_int(&l->node->attrs, rule->turned);
  const int rank = out_rank(l), last = rank - 1;
  if (strcmp(rule->op, "gemm") == 0 && hn_attr_int(&l->node->attrs, "transA")) return "its input is transposed";
  if (rank < 1 || hn_link_rank(l, HN_IN(0)) != rank) return "its shape is not known";
  for (int a = 0; a < last; ++a) hn_link_same(l, HN_IN(0), a, HN_OUT(0), a);
  hn_link_same(l, HN_IN(0), last, HN_IN(1), turned ? rule->outputs : rule->inputs);
  hn_link_same(l, HN_OUT(0), last, HN_IN(1), turned ? rule->inputs : rule->outputs);
  for (int port = 2; port <= 4; ++port) join_broadcast(l, HN_IN(port));
  return NULL;
}

static const char *link_matmul(const hn_linker *l) {
  const int rank = out_rank(l), last = rank - 1;
  const hn_value *w = hn_link_value(l, HN_IN(1));
  if (!hn_value_is_constant(w) || hn_link_rank(l, HN_IN(1)) != 2) return "it multiplies two activations";
  if (rank < 2 || hn_link_rank(l, HN_IN(0)) != rank) return "its shape is not known";
  for (int a = 0; a < last; ++a) hn_link_same(l, HN_IN(0), a, HN_OUT(0), a);
  hn_link_same(l, HN_IN(0), last, HN_IN(1), 0);
  hn_link_same(l, HN_OUT(0), last, HN_IN(1), 1);
  return NULL;
}

/* ---- layers on bytes ---- */

enum { BYTES_W = 3, BYTES_W_SCALE, BYTES_W_ZERO, BYTES_BIAS = 8, BYTES_RESIDUAL };

static const char *link_bytes_conv(const hn_linker *l) {
  const int params[] = {BYTES_W_SCALE, BYTES_W_ZERO, BYTES_BIAS};
  const bool grouped = hn_attr_int(&l->node->attrs, l->rule->group) != 1;
  if (grouped &&
      (hn_link_dim(l, HN_IN(BYTES_W), 1) != 1 || hn_link_dim(l, HN_IN(0), 1) != hn_link_dim(l, HN_OUT(0), 1)))
    return "its groups are of several channels";
  if (grouped)
    hn_link_same(l, HN_IN(0), 1, HN_OUT(0), 1);
  else
    hn_link_same(l, HN_IN(0), 1, HN_IN(BYTES_W), l->rule->inputs);
  hn_link_same(l, HN_OUT(0), 1, HN_IN(BYTES_W), l->rule->outputs);
  for (size_t i = 0; i < HN_COUNT(params); ++i) join_param(l, params[i], 1);
  join_broadcast(l, HN_IN(BYTES_RESIDUAL));
  return NULL;
}

static const char *link_bytes_matmul(const hn_linker *l) {
  const int rank = out_rank(l), last = rank - 1, params[] = {BYTES_W_SCALE, BYTES_W_ZERO, BYTES_BIAS};
  if (!hn_value_is_constant(hn_link_value(l, HN_IN(BYTES_W))) || hn_link_rank(l, HN_IN(BYTES_W)) != 2)
    return "it multiplies two activations";
  if (rank < 2 || hn_link_rank(l, HN_IN(0)) != rank) return "its shape is not known";
  for (int a = 0; a < last; ++a) hn_link_same(l, HN_IN(0), a, HN_OUT(0), a);
  hn_link_same(l, HN_IN(0), last, HN_IN(BYTES_W), l->rule->inputs);
  hn_link_same(l, HN_OUT(0), last, HN_IN(BYTES_W), l->rule->outputs);
  for (size_t i = 0; i < HN_COUNT(params); ++i) join_param(l, params[i], last);
  return NULL;
}

/* ---- channel by channel ---- */

static const char *link_elementwise(const hn_linker *l) {
  if (l->node->out_count != 1 || !l->node->out[0]) return "it has several outputs";
  for (int i = 0; i < l->node->in_count; ++i) join_broadcast(l, HN_IN(i));
  for (int a = 0; a < out_rank(l); ++a) hn_link_claim(l, HN_OUT(0), a);
  return NULL;
}

static bool more_outputs(const hn_node *node) {
  for (int i = 1; i < node->out_count; ++i)
    if (node->out[i] && hn_value_use_count(node->out[i]) > 0) return true;
  return false;
}

static const char *link_same(const hn_linker *l) {
  if (more_outputs(l->node)) return "it has several outputs";
  for (int a = 0; a < out_rank(l); ++a) hn_link_same(l, HN_IN(0), a, HN_OUT(0), a);
  return NULL;
}

/* Pools, normalisations by stored or spatial statistics, resizing: axis 1, and parameters along it. */
static const char *link_per_channel(const hn_linker *l) {
  if (more_outputs(l->node)) return "it has several outputs";
  if (hn_link_dim(l, HN_IN(0), 1) != hn_link_dim(l, HN_OUT(0), 1)) return "it changes how many channels there are";
  hn_link_same(l, HN_IN(0), 1, HN_OUT(0), 1);
  for (int i = 1; i < l->node->in_count; ++i)
    if (l->rule->joined & 1u << i) join_param(l, i, 1);
  return NULL;
}

/* Each place along all other axes is computed by itself. */
static const char *link_beside_axis(const hn_linker *l) {
  const int rank = out_rank(l);
  int64_t axis = hn_attr_int(&l->node->attrs, "axis");
  if (axis < 0) axis += rank;
  for (int a = 0; a < rank; ++a)
    if (a != axis) hn_link_same(l, HN_IN(0), a, HN_OUT(0), a);
  return NULL;
}

static const char *link_reduce(const hn_linker *l) {
  const hn_node *node = l->node;
  const int rank = hn_link_rank(l, HN_IN(0));
  bool reduced[HONE_MAX_RANK] = {false};
  int64_t count = 0;
  const int64_t *axes = hn_link_ints(node, 1, &count);
  if (node->in_count > 1 && node->in[1] && !axes) return "its axes are computed";
  for (int a = 0; a < rank; ++a) reduced[a] = count == 0 && !hn_attr_int(&node->attrs, "noop_with_empty_axes");
  for (int64_t i = 0; i < count; ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    if (axis < 0 || axis >= rank) return "its axes are not known";
    reduced[axis] = true;
  }
  const bool keep = hn_attr_int(&node->attrs, "keepdims");
  for (int a = 0, o = 0; a < rank; ++a) {
    if (!reduced[a]) hn_link_same(l, HN_IN(0), a, HN_OUT(0), o);
    o += keep || !reduced[a];
  }
  if (node->in_count > 1) hn_link_claim(l, HN_IN(1), 0);
  return NULL;
}

/* Reads extents alone: they are inferred again. */
static const char *link_extents(const hn_linker *l) {
  for (int a = 0; a < HONE_MAX_RANK; ++a) hn_link_claim(l, HN_IN(0), a);
  return NULL;
}

/* ---- the rows ---- */

#define PORT(n) (1u << (n))
static const char over_channels[] = "it computes each channel of the others along that axis",
                  not_channels[] = "it is no axis of channels";

const hn_prune_rule hn_prune_rules[] = {
    {"conv", .link = link_conv, .recut = recut_conv, .weights = 1, .outputs = 0, .inputs = 1, .group = "group",
     .channels = 1, .masked = PORT(1) | PORT(2), .scored = PORT(1), .why = not_channels},
    {"conv_transpose", .link = link_conv, .recut = recut_conv, .weights = 1, .outputs = 1, .inputs = 0,
     .group = "group", .channels = 1, .masked = PORT(1) | PORT(2), .scored = PORT(1), .why = not_channels},
    {"gemm", .link = link_gemm, .weights = 1, .outputs = 1, .inputs = 0, .turned = "transB", .channels = -1,
     .masked = PORT(1) | PORT(2), .scored = PORT(1)},
    {"linear", .link = link_gemm, .weights = 1, .outputs = 1, .inputs = 0, .turned = "transpose_w", .channels = -1,
     .masked = PORT(1) | PORT(2), .scored = PORT(1)},
    {"matmul", .link = link_matmul, .weights = 1, .outputs = 1, .inputs = 0, .channels = -1, .masked = PORT(1),
     .scored = PORT(1)},
    {"qlinear_conv", .link = link_bytes_conv, .recut = recut_conv, .weights = BYTES_W, .outputs = 0, .inputs = 1,
     .group = "group", .channels = 1, .alone = true, .why = not_channels},
    {"qlinear_matmul", .link = link_bytes_matmul, .weights = BYTES_W, .outputs = 1, .inputs = 0, .channels = -1,
     .alone = true, .why = not_channels},
    {"batch_norm", .link = link_per_channel, .joined = PORT(1) | PORT(2) | PORT(3) | PORT(4),
     .masked = PORT(1) | PORT(2), .scored = PORT(1)},
    {"instance_norm", .link = link_per_channel, .joined = PORT(1) | PORT(2), .masked = PORT(1) | PORT(2),
     .scored = PORT(1)},
    {"max_pool", .link = link_per_channel},
    {"average_pool", .link = link_per_channel},
    {"lp_pool", .link = link_per_channel},
    {"global_average_pool", .link = link_per_channel},
    {"global_max_pool", .link = link_per_channel},
    {"global_lp_pool", .link = link_per_channel},
    {"upsample", .link = link_per_channel},
    {"resize", .link = link_per_channel, .recut = hn_recut_resize},
    {"identity", .link = link_same},
    {"cast", .link = link_same},
    {"dropout", .link = link_same},
    {"softmax", .link = link_beside_axis, .why = over_channels},
    {"log_softmax", .link = link_beside_axis, .why = over_channels},
    {"hardmax", .link = link_beside_axis, .why = over_channels},
    {"reduce_mean", .link = link_reduce, .why = over_channels},
    {"reduce_max", .link = link_reduce, .why = over_channels},
    {"reduce_min", .link = link_reduce, .why = over_channels},
    {"reduce_sum", .link = link_reduce, .why = over_channels},
    {"reduce_l2", .link = link_reduce, .why = over_channels},
    {"shape", .link = link_extents},
    {"concat", .link = hn_link_concat},
    {"split", .link = hn_link_split, .recut = hn_recut_split},
    {"slice", .link = hn_link_slice, .recut = hn_recut_slice},
    {"transpose", .link = hn_link_transpose},
    {"pad", .link = hn_link_pad, .why = "it pads that axis"},
    {"reshape", .link = hn_link_reshape, .recut = hn_recut_reshape, .why = "its places are spread over others"},
    {.trait = HONE_ALIASES, .link = hn_link_view, .why = "its places are spread over others"},
    {.trait = HONE_ELEMENTWISE, .link = link_elementwise},
    {0}};

const hn_prune_rule *hn_prune_rule_of(const hone_op *op) {
  for (const hn_prune_rule *rule = hn_prune_rules; rule->link; ++rule)
    if (rule->op ? strcmp(rule->op, op->name) == 0 : (op->traits & rule->trait) != 0) return rule;
  return NULL;
}
