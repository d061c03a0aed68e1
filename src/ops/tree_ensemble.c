/* SPDX-License-Identifier: Apache-2.0 */
/* tree_ensemble.c - the sum, mean, least or greatest of what the leaves hold that a row of features comes to, one leaf
 * a tree. A node compares one feature with a number; its two ways are node numbers, or ~number of a leaf. A leaf has
 * weights, each for a target. All trees lie in the same arrays. Source: TreeEnsemble of ai.onnx.ml, version 5. */
#include "ops/op.h"
#include "tensor/element.h"
#include <math.h>
#include <string.h>

enum { X, FEATURES, SPLITS, MODES, WAYS, ROOTS, STARTS, TARGETS, WEIGHTS };
enum { TRACKS_TRUE = 8 }; /* of a mode: numbers that are missing go the way of true */

static hone_status infer(hone_infer *infer) {
  static const int rank[] = {2, 1, 1, 1, 2, 1, 1, 1, 1};
  const int64_t targets = hn_attr_int(infer->attrs, "targets"), aggregate = hn_attr_int(infer->attrs, "aggregate");
  if (targets < 1 || targets > INT32_MAX) return HN_INFER_FAIL(infer, "targets is %lld", (long long)targets);
  if (aggregate < 0 || aggregate > 3)
    return HN_INFER_FAIL(infer, "aggregate is %lld; allowed are 0 to 3: average, sum, min, max", (long long)aggregate);
  for (int i = 0; i < infer->in_count; ++i)
    if (hn_in_rank(infer, i) >= 0 && hn_in_rank(infer, i) != rank[i])
      return HN_INFER_FAIL(infer, "input %d has rank %d; it must be %d", i, hn_in_rank(infer, i), rank[i]);
  if (hn_in_rank(infer, X) == 2) hn_out_shape(infer, 0, 2, (int64_t[]){hn_in_shape(infer, X)->dim[0], targets});
  return HONE_OK;
}

static bool holds(double x, double split, int mode) {
  if (isnan(x) && (mode & TRACKS_TRUE)) return true;
  switch (mode & 7) {
  case 0: return x <= split;
  case 1: return x < split;
  case 2: return x >= split;
  case 3: return x > split;
  case 4: return x == split;
  default: return x != split;
  }
}

/* The leaf that a row comes to; -1: the arrays lead nowhere. */
static int64_t leaf_of(const hone_eval *e, int64_t row, int64_t root, int64_t features, int64_t nodes) {
  int64_t at = root;
  for (int64_t steps = 0; at >= 0; ++steps) {
    if (at >= nodes || steps > nodes) return -1;
    const int64_t feature = hn_int(&e->in[FEATURES], at);
    if (feature < 0 || feature >= features) return -1;
    const double x = hn_real(&e->in[X], row * features + feature);
    at = hn_int(&e->in[WAYS], 2 * at + !holds(x, hn_real(&e->in[SPLITS], at), (int)hn_int(&e->in[MODES], at)));
  }
  return ~at;
}

static double join(double sum, double weight, int64_t aggregate, bool first) {
  if (aggregate < 2) return sum + weight;
  return first || (aggregate == 2 ? weight < sum : weight > sum) ? weight : sum;
}

/* One target of one row: from a window, so that nothing is remembered between targets but the scan of the trees. */
static hone_status eval_row(hone_eval *e, int64_t row, int64_t targets) {
  const int64_t features = e->in[X].type.shape.dim[1], nodes = hn_elems(&e->in[FEATURES].type.shape);
  const int64_t trees = hn_elems(&e->in[ROOTS].type.shape), leaves = hn_elems(&e->in[STARTS].type.shape) - 1;
  const int64_t weights = hn_elems(&e->in[WEIGHTS].type.shape), aggregate = hn_attr_int(e->attrs, "aggregate");
  double *sums = e->scratch;
  bool *begun = (bool *)(sums + targets);
  memset(sums, 0, (size_t)targets * (sizeof *sums + sizeof *begun));
  for (int64_t t = 0; t < trees; ++t) {
    const int64_t leaf = leaf_of(e, row, hn_int(&e->in[ROOTS], t), features, nodes);
    if (leaf < 0 || leaf >= leaves)
      return HN_FAIL(e->diagnostics, HONE_INVALID, "tree %lld leads nowhere, or to a feature that x has not",
                     (long long)t);
    const int64_t first = hn_int(&e->in[STARTS], leaf), last = hn_int(&e->in[STARTS], leaf + 1);
    for (int64_t k = first; k < last && k >= 0 && k < weights; ++k) {
      const int64_t target = hn_int(&e->in[TARGETS], k);
      if (target < 0 || target >= targets)
        return HN_FAIL(e->diagnostics, HONE_INVALID, "a leaf is for target %lld of %lld", (long long)target,
                       (long long)targets);
      sums[target] = join(sums[target], hn_real(&e->in[WEIGHTS], k), aggregate, !begun[target]);
      begun[target] = true;
    }
  }
  for (int64_t i = 0; i < targets; ++i)
    hn_store_real(&e->out[0], row * targets + i, aggregate == 0 && trees ? sums[i] / (double)trees : sums[i]);
  return HONE_OK;
}

static hone_status eval(hone_eval *e, const hone_window *window) {
  int64_t first, last;
  HN_TRY(hn_eval_reinfer(e));
  const hn_rows rows = hn_rows_along(&e->out[0].type.shape, 1);
  hn_rows_window(e, window, &rows, &first, &last);
  for (int64_t row = first; row < last; ++row) HN_TRY(eval_row(e, row, rows.len));
  return HONE_OK;
}

static size_t scratch(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  (void)in, (void)in_count, (void)out, (void)out_count;
  return (size_t)hn_attr_int(attrs, "targets") * (sizeof(double) + sizeof(bool));
}

/* Each row goes down each tree: a comparison a level, of trees taken as balanced. */
static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  (void)attrs;
  const double rows = (double)in[X].type.shape.dim[0], trees = (double)hn_elems(&in[ROOTS].type.shape);
  const double nodes = (double)hn_elems(&in[FEATURES].type.shape);
  const double depth = trees > 0 && nodes > 0 ? log2(nodes / trees + 1) : 0;
  return (hone_cost){.flops = rows * trees * (depth + 1),
                     .bytes_read = hn_cost_bytes(in, in_count),
                     .bytes_written = hn_cost_bytes(out, out_count)};
}

#define REALS (HONE_BIT(HONE_F32) | HONE_BIT(HONE_F64))
#define NUMBERS HONE_BIT(HONE_I32), HONE_PORT_PARAM
const hone_op hn_op_tree_ensemble = {
    .struct_size = sizeof(hone_op),
    .name = "tree_ensemble",
    .doc = "decision trees, and what their leaves add up to",
    .in = {{"x", 'T', REALS},
           {"features", 0, NUMBERS},
           {"splits", 'T', REALS, HONE_PORT_PARAM},
           {"modes", 0, HONE_BIT(HONE_U8), HONE_PORT_PARAM},
           {"ways", 0, NUMBERS},
           {"roots", 0, NUMBERS},
           {"starts", 0, NUMBERS},
           {"leaf_targets", 0, NUMBERS},
           {"leaf_weights", 'T', REALS, HONE_PORT_PARAM}},
    .out = {{"y", 'T'}},
    .attr = {HONE_NEEDED_ATTR("targets", HONE_ATTR_INT), HONE_INT_ATTR("aggregate", 1)},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .eval_scratch = scratch,
    .cost = cost,
    .report_class = "Decision trees",
    .onnx = {{"TreeEnsemble", 5, HONE_LATEST, "ai.onnx.ml", .adapt = "ml_trees"},
             {"TreeEnsembleClassifier", 1, HONE_LATEST, "ai.onnx.ml", .drop = "nodes_hitrates nodes_hitrates_as_tensor",
              .adapt = "ml_tree_classifier", .alias = true},
             {"TreeEnsembleRegressor", 1, HONE_LATEST, "ai.onnx.ml", .drop = "nodes_hitrates nodes_hitrates_as_tensor",
              .adapt = "ml_tree_regressor", .alias = true}},
};
