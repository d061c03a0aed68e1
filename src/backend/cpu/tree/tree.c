/* SPDX-License-Identifier: Apache-2.0 */
/* tree.c - ensembles of decision trees in f32: sums and means of what compares by <= alone, or by < alone, as all
 * exporters write them. The arrays come out of files, so that plan holds each number against the others: kernels trust
 * them, and no way leads round. */
#include "backend/cpu/cpu.h"
#include "kernels/cpu/tree/tree.h"
#include "tensor/attrs.h"

enum { X, FEATURES, SPLITS, MODES, WAYS, ROOTS, STARTS, TARGETS, WEIGHTS, INPUTS };
enum { BLOCK_ROWS = 4 * HN_TREE_ROWS }; /* that go down a tree before the next one */
#define NS_PER_STEP 1.0

typedef struct ensemble {
  hn_tree_args args;
  hn_tree_f32_fn *run;
  int64_t units, grain;
} ensemble;

typedef struct row_kernel {
  hn_tree_f32_fn *run;
} row_kernel;

static const int32_t *numbers(const hone_query *query, int input) { return query->in[input].constant->data; }
static int64_t count_of(const hone_query *query, int input) { return query->in[input].type.shape.dim[0]; }

/* Every way leads to a later node or a leaf: nodes in that order end somewhere. */
static const char *check_nodes(const hone_query *query, bool *out_strict) {
  const uint8_t *modes = query->in[MODES].constant->data;
  const int64_t nodes = count_of(query, FEATURES), leaves = count_of(query, STARTS) - 1;
  *out_strict = nodes > 0 && (modes[0] & 7) == 1;
  for (int64_t i = 0; i < nodes; ++i) {
    if ((modes[i] & 7) != (*out_strict ? 1 : 0)) return "its nodes do not all compare by <=, or all by <";
    if (numbers(query, FEATURES)[i] < 0 || numbers(query, FEATURES)[i] >= query->in[X].type.shape.dim[1])
      return "a node reads a feature that there is not";
    for (int way = 0; way < 2; ++way) {
      const int32_t to = numbers(query, WAYS)[2 * i + way];
      if (to >= 0 ? to <= i || to >= nodes : ~(int64_t)to >= leaves)
        return "a way does not lead to a later node or a leaf";
    }
  }
  for (int64_t i = 0; i < count_of(query, ROOTS); ++i) {
    const int32_t root = numbers(query, ROOTS)[i];
    if (root >= nodes || (root < 0 && ~(int64_t)root >= leaves)) return "a root is no node";
  }
  return NULL;
}

static const char *check_leaves(const hone_query *query, bool *out_single) {
  const int64_t leaves = count_of(query, STARTS) - 1, weights = count_of(query, WEIGHTS);
  const int64_t targets = query->out[0].type.shape.dim[1];
  const int32_t *starts = numbers(query, STARTS);
  *out_single = targets == 1 && weights == leaves;
  if (leaves < 0 || count_of(query, TARGETS) != weights) return "its leaves and weights do not fit together";
  for (int64_t i = 0; i <= leaves; ++i) {
    if (starts[i] < (i ? starts[i - 1] : 0) || starts[i] > weights) return "a leaf's weights do not lie in the list";
    *out_single = *out_single && starts[i] == i;
  }
  for (int64_t k = 0; k < weights; ++k)
    if (numbers(query, TARGETS)[k] < 0 || numbers(query, TARGETS)[k] >= targets) return "a weight has no target";
  return NULL;
}

/* A constant of the type that the operator has there, whole. */
static const char *check_array(const hone_query *query, int input) {
  static const hone_dtype dtypes[INPUTS] = {HONE_F32, HONE_I32, HONE_F32, HONE_U8, HONE_I32,
                                            HONE_I32, HONE_I32, HONE_I32, HONE_F32};
  const hone_type *type = &query->in[input].type;
  const hone_tensor *constant = query->in[input].constant;
  if (!constant || !constant->data) return "its trees are not constant";
  if (type->kind != HONE_TENSOR || type->dtype != dtypes[input] || type->format != HONE_PLAIN ||
      type->shape.rank != (input == WAYS ? 2 : 1) || !hn_type_equal(type, &constant->type) ||
      constant->bytes < hn_bytes(type))
    return "an array of its trees has another type";
  return NULL;
}

static const char *read(const hone_query *query, hn_tree_args *args) {
  HN_TRY_REASON(hn_cpu_check(query, INPUTS, INPUTS, 1));
  const hone_shape *x = &query->in[X].type.shape;
  if (query->in[X].type.dtype != HONE_F32 || query->in[X].type.format != HONE_PLAIN) return "it is of another type";
  if (hn_attr_int(query->attrs, "aggregate") > 1) return "it takes the least or greatest of its leaves";
  for (int i = FEATURES; i < INPUTS; ++i) HN_TRY_REASON(check_array(query, i));
  const hone_type *y = &query->out[0].type;
  if (x->rank != 2 || y->dtype != HONE_F32 || y->format != HONE_PLAIN || y->shape.rank != 2 ||
      y->shape.dim[0] != x->dim[0])
    return "its output is no row of targets for each row";
  const int64_t nodes = count_of(query, FEATURES);
  if (count_of(query, SPLITS) != nodes || count_of(query, MODES) != nodes || count_of(query, WAYS) != nodes ||
      query->in[WAYS].type.shape.dim[1] != 2)
    return "its arrays of nodes have other lengths";
  if (nodes > INT32_MAX / 2 || x->dim[1] > INT32_MAX / (HN_TREE_ROWS + 1)) return "it is too large";
  HN_TRY_REASON(check_nodes(query, &args->is_strict));
  HN_TRY_REASON(check_leaves(query, &args->is_single));
  const bool mean = hn_attr_int(query->attrs, "aggregate") == 0;
  args->row_count = x->dim[0];
  args->feature_count = x->dim[1];
  args->node_count = nodes;
  args->root_count = count_of(query, ROOTS);
  args->target_count = query->out[0].type.shape.dim[1];
  args->scale = mean && args->root_count > 0 ? 1.0F / (float)args->root_count : 1.0F;
  return NULL;
}

static const char *plan(const hone_query *query, void *state, hone_needs *needs) {
  hn_tree_args args = {0};
  ensemble *e = state;
  const char *reason = read(query, &args);
  needs->state = sizeof *e;
  if (reason || !e) return reason;
  e->args = args;
  e->run = ((const row_kernel *)query->tactic->kernel)->run;
  e->units = hn_ceil_div(args.row_count, BLOCK_ROWS);
  const double depth = 8; /* of a usual tree */
  e->grain = hn_cpu_grain(e->units, (double)args.row_count * (double)args.root_count * depth * NS_PER_STEP);
  return NULL;
}

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const ensemble *e = arg;
  for (int64_t unit = begin; unit < end; ++unit)
    e->run(&e->args, unit * BLOCK_ROWS, hn_cpu_lesser(e->args.row_count, (unit + 1) * BLOCK_ROWS));
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  ensemble e = *(const ensemble *)state_memory;
  e.args.x = launch->in[X].data;
  e.args.features = launch->in[FEATURES].data;
  e.args.splits = launch->in[SPLITS].data;
  e.args.modes = launch->in[MODES].data;
  e.args.ways = launch->in[WAYS].data;
  e.args.roots = launch->in[ROOTS].data;
  e.args.starts = launch->in[STARTS].data;
  e.args.targets = launch->in[TARGETS].data;
  e.args.weights = launch->in[WEIGHTS].data;
  e.args.y = launch->out[0].data;
  hn_pool_run(hn_stream_pool(stream), e.units, e.grain, body, &e);
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_tree[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.tree_ensemble.f32.avx512", .version = 1, .op = "tree_ensemble",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){hn_tree_f32_avx512}},
#endif
    {sizeof(hone_tactic), .name = "cpu.tree_ensemble.f32.c", .version = 1, .op = "tree_ensemble",
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch, .kernel = &(const row_kernel){hn_tree_f32_c}},
    {0}};
