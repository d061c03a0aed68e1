/* SPDX-License-Identifier: Apache-2.0 */
/* advice_model_rows.c - what a model should not have: each row knows one defect that exporters leave, names the nodes
 * and tells whether the build got rid of it. Conditions are strict: what networks have for a reason is no defect. */
#include "report/advice.h"
#include "tensor/element.h"
#include <math.h>
#include <string.h>

enum { LONGEST_CHAIN = 8 };

/* Nodes that were found, over all places of one defect. */
typedef struct finding {
  int count;
  int *nodes;
  bool *seen;
} finding;

static bool begin(hn_advising *a, finding *f) {
  const int count = a->facts.model->node_count;
  *f = (finding){.nodes = HN_NEW(a->arena, int, count + 1), .seen = HN_NEW(a->arena, bool, count + 1)};
  a->failed = a->failed || !f->nodes || !f->seen;
  return !a->failed;
}

static void put(finding *f, int node) {
  if (f->seen[node]) return;
  f->seen[node] = true;
  f->nodes[f->count++] = node;
}

static void end(hn_advising *a, const hn_advice_row *row, const finding *f, const char *what) {
  if (f->count == 0) return;
  hn_advice_item *item = hn_advice_add(a, row, "%s: %d node%s, first %s", what, f->count, f->count == 1 ? "" : "s",
                                       a->facts.model->nodes[f->nodes[0]].name);
  if (item) hn_advice_take_nodes(a, item, f->nodes, f->count);
}

/* ---- looking at the model ---- */

static bool is_op(const hn_advice_node *node, const char *op) { return strcmp(node->op, op) == 0; }

static bool is_one_of(const hn_advice_node *node, const char *const *ops) {
  for (; *ops; ++ops)
    if (is_op(node, *ops)) return true;
  return false;
}

static const char *const products[] = {"conv", "conv_transpose", "matmul", "gemm", "linear", NULL};

static const hn_advice_value *value_at(const hn_advising *a, int value) {
  return value >= 0 ? &a->facts.model->values[value] : NULL;
}

static const hn_advice_value *in_of(const hn_advising *a, const hn_advice_node *node, int port) {
  return port < node->in_count ? value_at(a, node->in[port]) : NULL;
}

/* The only reader of the node's only output; -1: there are several, or none. */
static int only_reader(const hn_advising *a, int node) {
  const hn_advice_node *n = &a->facts.model->nodes[node];
  if (n->out_count != 1 || n->out[0] < 0) return -1;
  const hn_advice_value *out = &a->facts.model->values[n->out[0]];
  return out->use_count == 1 ? out->reader : -1;
}

static int producer_of(const hn_advising *a, const hn_advice_node *node, int port) {
  const hn_advice_value *value = in_of(a, node, port);
  return value ? value->producer : -1;
}

static int64_t elements(const hone_type *type) {
  int64_t count = 1;
  if (type->shape.rank < 0) return -1;
  for (int d = 0; d < type->shape.rank; ++d) {
    if (type->shape.dim[d] < 0) return -1;
    count *= type->shape.dim[d];
  }
  return count;
}

/* One input that is no constant, and else scalars. */
static bool is_pointwise(const hn_advising *a, const hn_advice_node *node) {
  if (!node->row || !(node->row->traits & HONE_ELEMENTWISE)) return false;
  int open = 0;
  for (int i = 0; i < node->in_count; ++i) {
    const hn_advice_value *in = in_of(a, node, i);
    if (!in) continue;
    if (!in->constant)
      ++open;
    else if (elements(&in->type) != 1)
      return false;
  }
  return open == 1;
}

/* Each element by itself: a transpose may go through. */
static bool keeps_places(const hn_advising *a, const hn_advice_node *node) {
  return is_op(node, "identity") || is_op(node, "cast") || is_pointwise(a, node);
}

/* ---- transposes ---- */

static bool is_identity(const int64_t *perm, int count) {
  for (int i = 0; i < count; ++i)
    if (perm[i] != i) return false;
  return count > 0;
}

static bool are_inverse(const hn_advice_node *a, const hn_advice_node *b) {
  const int64_t *x, *y;
  const int count = hn_attr_ints(a->attrs, "perm", &x);
  if (count == 0 || hn_attr_ints(b->attrs, "perm", &y) != count) return false;
  for (int i = 0; i < count; ++i)
    if (x[i] < 0 || x[i] >= count || y[x[i]] != i) return false;
  return true;
}

/* The transpose that undoes this one behind nodes that `passes`; -1: none. */
static int undone_by(const hn_advising *a, int node, bool (*passes)(const hn_advising *a, const hn_advice_node *node)) {
  const hn_advice_node *nodes = a->facts.model->nodes;
  int at = only_reader(a, node);
  for (int length = 0; at >= 0 && length < LONGEST_CHAIN; ++length, at = only_reader(a, at)) {
    if (is_op(&nodes[at], "transpose")) return are_inverse(&nodes[node], &nodes[at]) ? at : -1;
    if (!passes(a, &nodes[at])) return -1;
  }
  return -1;
}

static void find_transposes(hn_advising *a, const hn_advice_row *row) {
  const hn_advice_model *m = a->facts.model;
  finding f;
  if (!begin(a, &f)) return;
  for (int n = 0; n < m->node_count; ++n) {
    const int64_t *perm;
    if (!is_op(&m->nodes[n], "transpose")) continue;
    const int count = hn_attr_ints(m->nodes[n].attrs, "perm", &perm);
    const int other = undone_by(a, n, keeps_places);
    if (is_identity(perm, count) || other >= 0) put(&f, n);
    if (other >= 0) put(&f, other);
  }
  end(a, row, &f, "transposes that undo one another, or move nothing");
}

/* Anything but what works on each element by itself: a stretch that is computed with channels last. */
static bool any_node(const hn_advising *a, const hn_advice_node *node) {
  (void)a;
  return node->out_count == 1;
}

static bool has_perm(const hn_advice_node *node, const int64_t *want) {
  const int64_t *perm;
  if (!is_op(node, "transpose") || hn_attr_ints(node->attrs, "perm", &perm) != 4) return false;
  for (int i = 0; i < 4; ++i)
    if (perm[i] != want[i]) return false;
  return true;
}

static void find_layouts(hn_advising *a, const hn_advice_row *row) {
  static const int64_t last[4] = {0, 2, 3, 1};
  const hn_advice_model *m = a->facts.model;
  finding f;
  if (!begin(a, &f)) return;
  for (int n = 0; n < m->node_count; ++n) {
    if (!has_perm(&m->nodes[n], last)) continue;
    const int other = undone_by(a, n, any_node);
    if (other < 0 || undone_by(a, n, keeps_places) >= 0) continue;
    put(&f, n);
    put(&f, other);
  }
  end(a, row, &f, "a stretch with channels last between layers with channels first, and transposes on both sides");
}

/* ---- normalisations ---- */

static void find_norms(hn_advising *a, const hn_advice_row *row) {
  const hn_advice_model *m = a->facts.model;
  finding f;
  if (!begin(a, &f)) return;
  for (int n = 0; n < m->node_count; ++n) {
    const int from = producer_of(a, &m->nodes[n], 0);
    if (is_op(&m->nodes[n], "batch_norm") && from >= 0 && is_one_of(&m->nodes[from], products)) put(&f, n);
  }
  end(a, row, &f, "batch normalisation behind a convolution or product, whose weights could hold it");
}

/* ---- shapes ---- */

static bool is_reshape(const hn_advice_node *node) { return node->row && (node->row->traits & HONE_ALIASES); }

static void find_reshapes(hn_advising *a, const hn_advice_row *row) {
  enum { MANY = 3 };
  const hn_advice_model *m = a->facts.model;
  finding f;
  if (!begin(a, &f)) return;
  for (int n = 0; n < m->node_count; ++n) {
    const int before = producer_of(a, &m->nodes[n], 0);
    if (!is_reshape(&m->nodes[n]) || (before >= 0 && is_reshape(&m->nodes[before]) && only_reader(a, before) == n))
      continue;
    int chain[LONGEST_CHAIN * 4], count = 0;
    for (int at = n; at >= 0 && is_reshape(&m->nodes[at]) && count < (int)HN_COUNT(chain); at = only_reader(a, at))
      chain[count++] = at;
    for (int i = 0; count >= MANY && i < count; ++i) put(&f, chain[i]);
  }
  end(a, row, &f, "changes of a shape behind one another, of which the last alone counts");
}

/* ---- constants that are computed ---- */

static bool is_of_constants(const hn_advising *a, const hn_advice_node *node, const bool *folded) {
  bool any = false;
  if (!node->row || (node->row->traits & (HONE_IMPURE | HONE_HAS_BLOCKS))) return false;
  for (int i = 0; i < node->in_count; ++i) {
    const hn_advice_value *in = in_of(a, node, i);
    if (!in) continue;
    if (!in->constant && (in->producer < 0 || !folded[in->producer])) return false;
    any = true;
  }
  return any;
}

static void find_constants(hn_advising *a, const hn_advice_row *row) {
  const hn_advice_model *m = a->facts.model;
  finding f;
  if (!begin(a, &f)) return;
  for (int n = 0; n < m->node_count; ++n)
    if (is_of_constants(a, &m->nodes[n], f.seen)) put(&f, n);
  end(a, row, &f, "nodes that compute the same in every run, from constants alone");
}

/* ---- operations without effect ---- */

static bool is_scalar(const hn_advising *a, const hn_advice_node *node, int port, double wanted) {
  const hn_advice_value *in = in_of(a, node, port);
  if (!in || !in->constant || elements(&in->type) != 1 || !(HONE_BIT(in->type.dtype) & HONE_TYPES_NUMBER)) return false;
  return hn_real(in->constant, 0) == wanted;
}

static bool is_neutral(const hn_advising *a, const hn_advice_node *node) {
  static const struct {
    const char *op;
    double neutral;
    bool either; /* side */
  } rows[] = {{"add", 0, true}, {"sub", 0, false}, {"mul", 1, true}, {"div", 1, false}, {"pow", 1, false}};
  for (size_t i = 0; i < HN_COUNT(rows); ++i)
    if (is_op(node, rows[i].op))
      return is_scalar(a, node, 1, rows[i].neutral) || (rows[i].either && is_scalar(a, node, 0, rows[i].neutral));
  return false;
}

/* Chains longer than any activation that exporters take apart (GELU by tanh has three in a row). */
static void find_tiny(hn_advising *a, const hn_advice_row *row) {
  enum { MANY = 6 };
  const hn_advice_model *m = a->facts.model;
  finding f;
  if (!begin(a, &f)) return;
  for (int n = 0; n < m->node_count; ++n) {
    if (is_neutral(a, &m->nodes[n])) put(&f, n);
    int chain[LONGEST_CHAIN * 4], count = 0;
    for (int at = n; at >= 0 && is_pointwise(a, &m->nodes[at]) && count < (int)HN_COUNT(chain); at = only_reader(a, at))
      chain[count++] = at;
    for (int i = 0; count >= MANY && i < count; ++i) put(&f, chain[i]);
  }
  end(a, row, &f, "operations on scalars that change nothing, or a long chain of them that one would do");
}

/* ---- types ---- */

static hone_dtype type_of(const hn_advising *a, int value) {
  const hn_advice_value *v = value_at(a, value);
  return v ? v->type.dtype : HONE_NONE;
}

static bool is_cast(const hn_advising *a, const hn_advice_node *node, hone_dtype from, hone_dtype to) {
  return is_op(node, "cast") && node->out_count == 1 && type_of(a, node->in[0]) == from &&
         type_of(a, node->out[0]) == to && !value_at(a, node->in[0])->constant;
}

static void find_f64(hn_advising *a, const hn_advice_row *row) {
  const hn_advice_model *m = a->facts.model;
  finding f;
  bool in = false, out = false;
  if (!begin(a, &f)) return;
  for (int n = 0; n < m->node_count; ++n) {
    in = in || is_cast(a, &m->nodes[n], HONE_F32, HONE_F64);
    out = out || is_cast(a, &m->nodes[n], HONE_F64, HONE_F32);
    if (m->nodes[n].out_count > 0 &&
        (type_of(a, m->nodes[n].out[0]) == HONE_F64 || is_cast(a, &m->nodes[n], HONE_F64, HONE_F32)))
      put(&f, n);
  }
  if (in && out) end(a, row, &f, "f64 in a model of f32, between casts");
}

/* Half the vector's lanes, twice the bytes, and the casts for nothing. */
static void predict_f64(const hn_advising *a, hn_advice_item *item) {
  for (int i = 0; i < item->row_count; ++i) {
    const hn_profile_row *row = &a->p->rows[item->rows[i]];
    item->saving_ns += row->median_ns * (strcmp(hn_step_type(row->step), "cast") == 0 ? 1 : 0.5);
  }
  item->low_ns = 0.7 * item->saving_ns;
  item->high_ns = 1.2 * item->saving_ns;
}

/* A product in f32, rounded and taken back, and then an operation that the product would have absorbed. */
static void find_quantised(hn_advising *a, const hn_advice_row *row) {
  const hn_advice_model *m = a->facts.model;
  finding f;
  if (!begin(a, &f)) return;
  for (int n = 0; n < m->node_count; ++n) {
    const int to = only_reader(a, n), from = producer_of(a, &m->nodes[n], 0);
    if (!is_op(&m->nodes[n], "quantize_linear") || to < 0 || !is_op(&m->nodes[to], "dequantize_linear") || from < 0)
      continue;
    const int feeds = producer_of(a, &m->nodes[from], 0), next = only_reader(a, to);
    if (!is_one_of(&m->nodes[from], products) || (feeds >= 0 && is_op(&m->nodes[feeds], "dequantize_linear"))) continue;
    if (next < 0 || !m->nodes[next].row || !(m->nodes[next].row->traits & HONE_ELEMENTWISE)) continue;
    put(&f, n);
    put(&f, to);
  }
  end(a, row, &f, "Q/DQ behind a product in f32, in front of an operation that the product would have absorbed");
}

/* ---- extents ---- */

static int64_t summed(const hn_advising *a, const hn_advice_node *node) {
  const hn_advice_value *weights = in_of(a, node, 1);
  if (!weights || !weights->constant || weights->type.shape.rank < 2) return 0;
  const hone_shape *shape = &weights->type.shape;
  if (is_op(node, "conv")) return hn_attr_int(node->attrs, "group") > 1 ? 0 : shape->dim[1];
  if (is_op(node, "gemm") && hn_attr_int(node->attrs, "transB")) return shape->dim[1];
  return is_op(node, "matmul") || is_op(node, "gemm") ? shape->dim[shape->rank - 2] : 0;
}

/* A few short of a size that was meant: 1021, not 116, which is a design's. */
static void find_depths(hn_advising *a, const hn_advice_row *row) {
  enum { VECTOR = 8, MEANT = 64 };
  const hn_advice_model *m = a->facts.model;
  finding f;
  if (!begin(a, &f)) return;
  for (int n = 0; n < m->node_count; ++n) {
    const int64_t depth = summed(a, &m->nodes[n]);
    if (depth > MEANT && depth % VECTOR && (depth % MEANT > MEANT - VECTOR || depth % MEANT < VECTOR)) put(&f, n);
  }
  end(a, row, &f, "products over a depth that is just no multiple of 8");
}

static void predict_depths(const hn_advising *a, hn_advice_item *item) {
  for (int i = 0; i < item->row_count; ++i) item->saving_ns += 0.02 * a->p->rows[item->rows[i]].median_ns;
  item->high_ns = 5 * item->saving_ns;
}

/* ---- weights that are mostly zeros ---- */

static double zeros(const hone_tensor *tensor) {
  enum { LOOKS = 4096 };
  const int64_t count = elements(&tensor->type), step = count > LOOKS ? count / LOOKS : 1;
  int64_t looked = 0, found = 0;
  for (int64_t i = 0; i < count; i += step, ++looked) found += hn_real(tensor, i) == 0;
  return looked > 0 ? (double)found / (double)looked : 0;
}

static void find_sparse(hn_advising *a, const hn_advice_row *row) {
  enum { LARGE = 4096 };
  const hn_advice_model *m = a->facts.model;
  finding f;
  if (!begin(a, &f)) return;
  double least = 1;
  for (int n = 0; n < m->node_count; ++n) {
    const hn_advice_value *weights = in_of(a, &m->nodes[n], 1);
    if (!is_one_of(&m->nodes[n], products) || !weights || !weights->constant || elements(&weights->type) < LARGE ||
        !(HONE_BIT(weights->type.dtype) & HONE_TYPES_FLOAT))
      continue;
    const double share = zeros(weights->constant);
    if (share < 0.5) continue;
    least = fmin(least, share);
    put(&f, n);
  }
  if (f.count == 0) return;
  hn_advice_item *item =
      hn_advice_add(a, row, "weights of %d layers are zeros to %.0f %% and more", f.count, 100 * least);
  if (!item) return;
  item->factor = least;
  hn_advice_take_nodes(a, item, f.nodes, f.count);
  item->removed = false;
}

static void predict_sparse(const hn_advising *a, hn_advice_item *item) {
  for (int i = 0; i < item->row_count; ++i) item->saving_ns += 0.5 * item->factor * a->p->rows[item->rows[i]].median_ns;
  item->high_ns = 2 * item->saving_ns;
}

const hn_advice_row hn_advice_model_rows[] = {
    {"useless-transposes", HN_ADVICE_DEFECT, "take both transposes out", "the transposes, and what names them", "high",
     false, find_transposes, hn_predict_removed, NULL},
    {"layout-clash", HN_ADVICE_DEFECT, "export the stretch with channels first",
     "operators with channels first in place of those between the transposes", "medium", false, find_layouts,
     hn_predict_removed, NULL},
    {"unfused-norm", HN_ADVICE_DEFECT, "fold it into the weights before: nothing else may read the product",
     "weights times scale, bias with mean and shift", "high", false, find_norms, hn_predict_removed, NULL},
    {"reshape-storm", HN_ADVICE_DEFECT, "keep the last change of shape", "one Reshape in place of the chain", "high",
     false, find_reshapes, hn_predict_removed, NULL},
    {"tiny-operators", HN_ADVICE_DEFECT, "take them out, or multiply and add once", "one Mul and one Add, or none",
     "high", false, find_tiny, hn_predict_removed, NULL},
    {"unfolded-constants", HN_ADVICE_DEFECT, "compute them when the model is exported",
     "the results as initialisers in place of the nodes", "high", false, find_constants, hn_predict_removed, NULL},
    {"f64-island", HN_ADVICE_DEFECT, "compute it in f32", "the same nodes in f32, without the casts", "medium", false,
     find_f64, predict_f64, NULL},
    {"blocking-quantisation", HN_ADVICE_DEFECT, "take the pair out, or quantise the product's inputs, too",
     "the Q/DQ pair behind the activation, or none", "medium", false, find_quantised, hn_predict_removed, NULL},
    {"odd-depth", HN_ADVICE_DEFECT, "append zeros up to the next multiple of 8",
     "weights, and what makes the input, with a few zeros more", "low", false, find_depths, predict_depths, NULL},
    {"sparse-weights", "sparsity", "hone multiplies zeros like any other number: prune whole channels instead",
     "layers with fewer channels", "low", false, find_sparse, predict_sparse, NULL},
    {0},
};
