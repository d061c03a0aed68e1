/* SPDX-License-Identifier: Apache-2.0 */
/* tree.c - ensembles of decision trees in f32: sums and means. The arrays come out of files, so that plan holds each
 * number against the others: kernels trust them, and no way leads round. Nodes are packed into the state, not by
 * `pack`: packed bytes would come out of files, too. */
#include "backend/cpu/cpu.h"
#include "kernels/cpu/tree/tree.h"
#include "tensor/attrs.h"

enum { X, FEATURES, SPLITS, MODES, WAYS, ROOTS, STARTS, TARGETS, WEIGHTS, INPUTS };
enum {
  MOST_FEATURES = 1 << 24,
  MOST_ROWS = 64,      /* that go down a tree before the next one */
  KEY_BYTES = 16 << 10 /* of these rows, where they are fewer than that */
};
static const double usual_depth = 8, ns_per_step = 5, ns_per_packed_step = 0.7; /* a step: one node passed */

typedef struct ensemble {
  hn_tree_args args;
  int64_t units, grain;
} ensemble;

static const int32_t *numbers(const hone_query *query, int input) { return query->in[input].constant->data; }
static int64_t count_of(const hone_query *query, int input) { return query->in[input].type.shape.dim[0]; }

/* Every way leads to a later node or a leaf: nodes in that order end somewhere. */
static const char *check_nodes(const hone_query *query) {
  const uint8_t *modes = query->in[MODES].constant->data;
  const int64_t nodes = count_of(query, FEATURES), leaves = count_of(query, STARTS) - 1;
  for (int64_t i = 0; i < nodes; ++i) {
    if ((modes[i] & 7) > 3) return "a node asks whether numbers are equal";
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
  if (nodes > INT32_MAX / 2 || x->dim[1] > MOST_FEATURES) return "it is too large";
  HN_TRY_REASON(check_nodes(query));
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

static void cut(ensemble *e, int64_t block_rows, double ns_per_row) {
  e->units = hn_ceil_div(e->args.row_count, block_rows);
  e->grain = hn_cpu_grain(e->units, (double)e->args.row_count * ns_per_row);
}

static const char *plan(const hone_query *query, void *state, hone_needs *needs) {
  ensemble asked = {0}, *e = state ? state : &asked;
  needs->state = sizeof *e;
  HN_TRY_REASON(read(query, &e->args));
  cut(e, MOST_ROWS, (double)e->args.root_count * usual_depth * ns_per_step);
  return NULL;
}

static hn_tree_args args_of(const hn_tree_args *planned, const hone_launch *launch) {
  hn_tree_args args = *planned;
  args.x = launch->in[X].data;
  args.features = launch->in[FEATURES].data;
  args.splits = launch->in[SPLITS].data;
  args.modes = launch->in[MODES].data;
  args.ways = launch->in[WAYS].data;
  args.roots = launch->in[ROOTS].data;
  args.starts = launch->in[STARTS].data;
  args.targets = launch->in[TARGETS].data;
  args.weights = launch->in[WEIGHTS].data;
  args.y = launch->out[0].data;
  return args;
}

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const ensemble *e = arg;
  hn_tree_f32_c(&e->args, begin * MOST_ROWS, hn_cpu_lesser(e->args.row_count, end * MOST_ROWS));
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  ensemble e = *(const ensemble *)state_memory;
  e.args = args_of(&e.args, launch);
  hn_pool_run(hn_stream_pool(stream), e.units, e.grain, body, &e);
  return HONE_OK;
}

/* ---- packed ---- */

typedef struct packed_ensemble {
  ensemble e;
  hn_packed_trees trees; /* behind this, in the same state */
  int64_t block_rows, worker_keys;
  uint32_t *keys; /* known to a launch alone */
} packed_ensemble;

/* Packing itself cannot fail. */
static const char *check_packed(const hone_query *query, const hn_tree_args *args) {
  const uint8_t *modes = query->in[MODES].constant->data;
  const float *splits = query->in[SPLITS].constant->data;
  const int shift = hn_tree_link_shift_c(args->feature_count);
  if (shift > 31 || (double)args->root_count + 2 * (double)args->node_count > (double)(UINT32_MAX >> shift))
    return "its nodes and features are too many for links of 32 bits";
  for (int64_t i = 0; i < args->node_count; ++i)
    if ((modes[i] & 7) >= 2 && splits[i] != splits[i]) return "a node compares by >= or > with what is no number";
  return NULL;
}

static void fill(const hone_query *query, packed_ensemble *p) {
  hn_tree_args args = p->e.args;
  args.features = numbers(query, FEATURES);
  args.splits = query->in[SPLITS].constant->data;
  args.modes = query->in[MODES].constant->data;
  args.ways = numbers(query, WAYS);
  args.roots = numbers(query, ROOTS);
  args.weights = query->in[WEIGHTS].constant->data;
  p->trees.nodes = (hn_tree_node *)(void *)(p + 1);
  p->trees.depths = (int32_t *)(void *)(p->trees.nodes + args.root_count + 2 * args.node_count);
  hn_tree_pack_c(&args, &p->trees);
  double steps = 0;
  for (int64_t t = 0; t < args.root_count; ++t) steps += (double)p->trees.depths[t];
  cut(&p->e, p->block_rows, steps * ns_per_packed_step);
}

static const char *plan_packed(const hone_query *query, void *state, hone_needs *needs) {
  packed_ensemble asked = {0}, *p = state ? state : &asked;
  const hn_tree_args *args = &p->e.args;
  HN_TRY_REASON(read(query, &p->e.args));
  HN_TRY_REASON(check_packed(query, args));
  const int64_t row_keys = args->feature_count + 1, fitting = KEY_BYTES / ((int64_t)sizeof *p->keys * row_keys);
  p->block_rows = hn_cpu_greater(HN_TREE_LANES, hn_cpu_lesser(MOST_ROWS, fitting / HN_TREE_LANES * HN_TREE_LANES));
  p->worker_keys = hn_cpu_whole_lines(p->block_rows * row_keys);
  needs->state = sizeof *p + (size_t)(args->root_count + 2 * args->node_count) * sizeof *p->trees.nodes +
                 (size_t)args->root_count * sizeof *p->trees.depths;
  needs->scratch = (size_t)(hn_cpu_threads(query->facts) * p->worker_keys) * sizeof *p->keys;
  if (state) fill(query, p);
  return NULL;
}

static void body_packed(void *arg, int worker, int64_t begin, int64_t end) {
  const packed_ensemble *p = arg;
  for (int64_t unit = begin; unit < end; ++unit)
    hn_tree_packed_c(&p->e.args, &p->trees, unit * p->block_rows,
                     hn_cpu_lesser(p->e.args.row_count, (unit + 1) * p->block_rows), p->keys + worker * p->worker_keys);
}

static hone_status launch_packed(void *state, hone_stream *stream, const hone_launch *launch) {
  packed_ensemble p = *(const packed_ensemble *)state;
  p.e.args = args_of(&p.e.args, launch);
  p.keys = launch->scratch;
  hn_pool_run(hn_stream_pool(stream), p.e.units, p.e.grain, body_packed, &p);
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_tree[] = {
    {sizeof(hone_tactic), .name = "cpu.tree_ensemble.f32.packed", .version = 1, .op = "tree_ensemble",
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_packed, .launch = launch_packed, .efficiency = 0.1},
    {sizeof(hone_tactic), .name = "cpu.tree_ensemble.f32.c", .version = 2, .op = "tree_ensemble",
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch, .efficiency = 0.015},
    {0}};
