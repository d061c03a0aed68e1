/* SPDX-License-Identifier: Apache-2.0 */
/* ml_svm.c - support vector machines of ai.onnx.ml as what they are made of: a kernel of every row with every vector,
 * a product with the coefficients of each pair of classes, votes, and probabilities that fit those of the pairs.
 * Source: SVMClassifier and SVMRegressor of ai.onnx.ml, version 1; where the text is silent, ONNX Runtime's answers. */
#include "import/ml.h"
#include "tensor/shape.h"
#include <math.h>

static hone_status malformed(hn_import_call *call, const char *what) {
  return HN_FAIL(call->importer->diag, HONE_MALFORMED, "%s", what);
}

static hn_value *number(hn_import_call *call, double value) {
  return hn_constant_scalar(call->importer->graph, HONE_F32, value);
}

/* x rows [targets, features], transposed, plus added. */
static hone_status product(hn_import_call *call, hn_value *x, const double *rows, int64_t targets, int64_t features,
                           hn_value *added, hn_value **out) {
  const hone_attr turned = {.name = "transB", .kind = HONE_ATTR_INT, .i = 1};
  hn_value *in[3] = {x, hn_ml_constant(call, HONE_F32, 2, (int64_t[]){targets, features}, rows), added};
  return in[1] ? hn_import_make(call, "gemm", added ? 3 : 2, in, 1, &turned, out) : HONE_NO_MEMORY;
}

/* *y = exp(-gamma |x - vector|^2), of *y = x vector. */
static hone_status radial(hn_import_call *call, hn_value *x, const hn_ml_reals *vectors, int64_t count, double gamma,
                          hn_value **y) {
  static const int64_t one = 1;
  const int64_t features = vectors->count / count;
  hn_value *length[2] = {x, hn_constant_int(call->importer->graph, NULL, 1, 1, &one)};
  double *squares = HN_NEW(&call->importer->arena, double, count);
  if (!squares) return HN_FAIL_MEMORY(call->importer->diag);
  for (int64_t i = 0; i < vectors->count; ++i) squares[i / features] += vectors->items[i] * vectors->items[i];
  if (!length[1]) return HONE_NO_MEMORY;
  HN_TRY(hn_import_make(call, "reduce_sum_square", 2, length, 0, NULL, &length[0]));
  HN_TRY(hn_ml_join(call, "mul", y, number(call, -2)));
  HN_TRY(hn_ml_join(call, "add", y, length[0]));
  HN_TRY(hn_ml_join(call, "add", y, hn_ml_constant(call, HONE_F32, 1, &count, squares)));
  HN_TRY(hn_ml_join(call, "mul", y, number(call, -gamma)));
  return hn_ml_apply(call, "exp", y);
}

/* K(x, vectors), [rows, vectors]: LINEAR a.b, POLY (g a.b + c)^d, SIGMOID tanh(g a.b + c), RBF exp(-g |a - b|^2). */
static hone_status kernel_of(hn_import_call *call, hn_value *x, const hn_ml_reals *vectors, int64_t count,
                             const char *kind, const hn_ml_reals *params, hn_value **y) {
  const double gamma = params->count > 0 ? params->items[0] : 0, shift = params->count > 1 ? params->items[1] : 0;
  const double degree = params->count > 2 ? params->items[2] : 0;
  HN_TRY(product(call, x, vectors->items, count, vectors->count / count, NULL, y));
  if (hn_name_equal(kind, "LINEAR")) return HONE_OK;
  if (hn_name_equal(kind, "RBF")) return radial(call, x, vectors, count, gamma, y);
  HN_TRY(hn_ml_join(call, "mul", y, number(call, gamma)));
  HN_TRY(hn_ml_join(call, "add", y, number(call, shift)));
  if (hn_name_equal(kind, "SIGMOID")) return hn_ml_apply(call, "tanh", y);
  if (hn_name_equal(kind, "POLY")) return hn_ml_join(call, "pow", y, number(call, degree));
  return HN_FAIL(call->importer->diag, HONE_UNSUPPORTED, "its kernel_type is none of LINEAR, POLY, RBF and SIGMOID");
}

/* What both have; vectors.count 0: the coefficients are a linear model's. */
typedef struct machine {
  hn_value *x;
  hn_ml_reals vectors, weights, rho, params;
  const char *kind, *transform;
} machine;

static hone_status read(hn_import_call *call, machine *m) {
  m->kind = hn_ml_take_text(call, "kernel_type", "LINEAR");
  m->transform = hn_ml_take_text(call, "post_transform", "NONE");
  HN_TRY(hn_ml_take_reals(call, "kernel_params", NULL, &m->params));
  HN_TRY(hn_ml_take_reals(call, "support_vectors", NULL, &m->vectors));
  HN_TRY(hn_ml_take_reals(call, "coefficients", NULL, &m->weights));
  HN_TRY(hn_ml_take_reals(call, "rho", NULL, &m->rho));
  HN_TRY(hn_ml_features(call, &m->x));
  if (m->rho.count < 1 || m->weights.count < 1) return malformed(call, "its coefficients or rho are missing");
  return hn_ml_cast(call, HONE_F32, &m->x);
}

static hone_status svm_regressor(hn_import_call *call) {
  const int64_t count = hn_contrib_take_int(call, "n_supports", 0);
  const bool one_class = hn_contrib_take_int(call, "one_class", 0) != 0;
  machine m = {0};
  HN_TRY(read(call, &m));
  if (count < 0 || (count ? m.vectors.count < count || m.vectors.count % count || m.weights.count != count : 0))
    return malformed(call, "its support vectors, coefficients and rho do not fit together");
  hn_value *y = m.x, *rho = number(call, m.rho.items[0]);
  if (count) HN_TRY(kernel_of(call, m.x, &m.vectors, count, m.kind, &m.params, &y));
  HN_TRY(product(call, y, m.weights.items, 1, m.weights.count, rho, &y));
  if (one_class) {
    hn_value *in[3] = {y, number(call, 1), number(call, -1)};
    HN_TRY(hn_ml_join(call, "greater", &in[0], number(call, 0)));
    HN_TRY(hn_import_make(call, "where", 3, in, 0, NULL, &y));
  }
  HN_TRY(hn_ml_post(call, m.transform, &y));
  return hn_import_finish(call, y);
}

/* ---- classes ---- */

/* Coefficients are [classes - 1, vectors]: a vector of class i counts against class j > i by row j - 1, a vector of j
 * against i by row i. One row for each pair of them here. */
static hone_status pair_scores(hn_import_call *call, const machine *m, const hn_ml_ints *sizes, int64_t vectors,
                               hn_value *kernel, hn_value **out) {
  const int64_t classes = sizes->count, pairs = classes * (classes - 1) / 2;
  double *rows = HN_NEW(&call->importer->arena, double, pairs *vectors);
  if (!rows) return HN_FAIL_MEMORY(call->importer->diag);
  int64_t pair = 0, first_i = 0;
  for (int64_t i = 0; i < classes; first_i += sizes->items[i++]) {
    int64_t first_j = first_i + sizes->items[i];
    for (int64_t j = i + 1; j < classes; first_j += sizes->items[j++], ++pair) {
      for (int64_t v = first_i; v < first_i + sizes->items[i]; ++v)
        rows[pair * vectors + v] = m->weights.items[(j - 1) * vectors + v];
      for (int64_t v = first_j; v < first_j + sizes->items[j]; ++v)
        rows[pair * vectors + v] = m->weights.items[i * vectors + v];
    }
  }
  hn_value *rho = hn_ml_constant(call, HONE_F32, 1, &pairs, m->rho.items);
  return rho ? product(call, kernel, rows, pairs, vectors, rho, out) : HONE_NO_MEMORY;
}

/* The class that wins the most pairs, the first of equals. */
static hone_status winner(hn_import_call *call, int64_t classes, hn_value *scores, hn_value **out) {
  const hone_attr best[2] = {{.name = "axis", .kind = HONE_ATTR_INT, .i = 1},
                             {.name = "keepdims", .kind = HONE_ATTR_INT, .i = 0}};
  const int64_t pairs = classes * (classes - 1) / 2;
  double *votes = HN_NEW(&call->importer->arena, double, classes *pairs);
  double *seconds = HN_NEW(&call->importer->arena, double, classes);
  if (!votes || !seconds) return HN_FAIL_MEMORY(call->importer->diag);
  for (int64_t i = 0, pair = 0; i < classes; ++i)
    for (int64_t j = i + 1; j < classes; ++j, ++pair) {
      votes[i * pairs + pair] = 1;
      votes[j * pairs + pair] = -1; /* the second has won unless the first has */
      ++seconds[j];
    }
  hn_value *y = scores, *added = hn_ml_constant(call, HONE_F32, 1, &classes, seconds);
  if (!added) return HONE_NO_MEMORY;
  HN_TRY(hn_ml_join(call, "greater", &y, number(call, 0)));
  HN_TRY(hn_ml_cast(call, HONE_F32, &y));
  HN_TRY(product(call, y, votes, classes, pairs, added, &y));
  return hn_import_make(call, "arg_max", 1, &y, 2, best, out);
}

/* Of the pairs by Platt's sigmoid, then of the classes. */
static hone_status probabilities(hn_import_call *call, const hn_ml_reals *a, const hn_ml_reals *b, int64_t classes,
                                 hn_value **scores) {
  const hone_attr count = {.name = "classes", .kind = HONE_ATTR_INT, .i = classes};
  const double least = 1e-7;
  HN_TRY(hn_ml_join(call, "mul", scores, hn_ml_constant(call, HONE_F32, 1, &a->count, a->items)));
  HN_TRY(hn_ml_join(call, "add", scores, hn_ml_constant(call, HONE_F32, 1, &b->count, b->items)));
  HN_TRY(hn_ml_apply(call, "neg", scores));
  HN_TRY(hn_ml_apply(call, "sigmoid", scores));
  hn_value *bounds[3] = {*scores, number(call, least), number(call, 1 - least)};
  if (!bounds[1] || !bounds[2]) return HONE_NO_MEMORY;
  HN_TRY(hn_import_make(call, "clip", 3, bounds, 0, NULL, scores));
  return hn_import_make(call, "pairwise_coupling", 1, scores, 1, &count, scores);
}

/* Scores of two classes out of the first one's. */
static hone_status two_scores(hn_import_call *call, const char *transform, hn_value **scores) {
  const hone_attr last = {.name = "axis", .kind = HONE_ATTR_INT, .i = -1};
  hn_value *both[2] = {number(call, 1), *scores};
  if (!both[0]) return HONE_NO_MEMORY;
  if (hn_name_equal(transform, "NONE")) {
    both[0] = *scores;
    HN_TRY(hn_ml_apply(call, "neg", &both[0]));
  } else {
    HN_TRY(hn_ml_join(call, "sub", &both[0], *scores));
  }
  return hn_import_make(call, "concat", 2, both, 1, &last, scores);
}

static hone_status by_vectors(hn_import_call *call, const machine *m, const hn_ml_ints *sizes, const hn_ml_reals *a,
                              const hn_ml_reals *b, hn_value **numbers, hn_value **scores) {
  const int64_t classes = sizes->count, pairs = classes * (classes - 1) / 2;
  int64_t vectors = 0;
  for (int64_t i = 0; i < classes; ++i) {
    if (sizes->items[i] < 0 || sizes->items[i] > m->vectors.count - vectors)
      return malformed(call, "vectors_per_class does not fit its support vectors");
    vectors += sizes->items[i];
  }
  if (vectors < 1 || m->vectors.count % vectors || m->weights.count != (classes - 1) * vectors ||
      m->rho.count != pairs || a->count != b->count || (a->count && a->count != pairs))
    return malformed(call, "its support vectors, coefficients, rho and probabilities do not fit together");
  HN_TRY(kernel_of(call, m->x, &m->vectors, vectors, m->kind, &m->params, scores));
  HN_TRY(pair_scores(call, m, sizes, vectors, *scores, scores));
  HN_TRY(winner(call, classes, *scores, numbers));
  if (a->count) HN_TRY(probabilities(call, a, b, classes, scores));
  if (!a->count && classes == 2) return two_scores(call, m->transform, scores);
  return hn_ml_post(call, m->transform, scores);
}

/* A linear model of every class. Of two the second wins wherever a score is positive, or half with positive weights. */
static hone_status by_weights(hn_import_call *call, const machine *m, int64_t classes, hn_value **numbers,
                              hn_value **scores) {
  const hone_attr best[2] = {{.name = "axis", .kind = HONE_ATTR_INT, .i = 1},
                             {.name = "keepdims", .kind = HONE_ATTR_INT, .i = 0}};
  static const int64_t along = 1;
  bool positive = true;
  for (int64_t i = 0; i < m->weights.count; ++i) positive = positive && m->weights.items[i] >= 0;
  if (m->weights.count % classes) return malformed(call, "its coefficients do not fit its classes");
  HN_TRY(product(call, m->x, m->weights.items, classes, m->weights.count / classes, number(call, m->rho.items[0]),
                 scores));
  HN_TRY(hn_import_make(call, "arg_max", 1, scores, 2, best, numbers));
  if (classes == 2) {
    const hone_attr flat = {.name = "keepdims", .kind = HONE_ATTR_INT, .i = 0};
    hn_value *most[2] = {*scores, hn_constant_int(call->importer->graph, NULL, 1, 1, &along)};
    hn_value *in[3] = {NULL, hn_constant_int(call->importer->graph, NULL, 0, 1, &along), *numbers};
    if (!most[1] || !in[1]) return HONE_NO_MEMORY;
    HN_TRY(hn_import_make(call, "reduce_max", 2, most, 1, &flat, &in[0]));
    HN_TRY(hn_ml_join(call, positive ? "greater_or_equal" : "greater", &in[0], number(call, positive ? 0.5 : 0)));
    HN_TRY(hn_import_make(call, "where", 3, in, 0, NULL, numbers));
  }
  return hn_ml_post(call, m->transform, scores);
}

static hone_status svm_classifier(hn_import_call *call) {
  const hn_ml_labels names = hn_ml_take_labels(call, "classlabels_ints", "classlabels_strings");
  const hn_ml_ints sizes = hn_ml_take_ints(call, "vectors_per_class");
  const int64_t classes = hn_ml_label_count(&names);
  hn_ml_reals a, b;
  machine m = {0};
  hn_value *numbers, *scores;
  HN_TRY(hn_ml_take_reals(call, "prob_a", NULL, &a));
  HN_TRY(hn_ml_take_reals(call, "prob_b", NULL, &b));
  HN_TRY(read(call, &m));
  if (classes < 2 || classes > 1 << 15 || (sizes.count && sizes.count != classes))
    return malformed(call, "its labels and vectors_per_class do not fit together");
  if (m.vectors.count)
    HN_TRY(by_vectors(call, &m, &sizes, &a, &b, &numbers, &scores));
  else
    HN_TRY(by_weights(call, &m, classes, &numbers, &scores));
  HN_TRY(hn_ml_label_of(call, &names, numbers, &call->out[0]));
  if (call->out_count > 1) call->out[1] = scores;
  call->done = true;
  return HONE_OK;
}

const hn_adapter hn_ml_svm_adapters[] = {
    {"ml_svm_classifier",
     "classlabels_ints classlabels_strings coefficients kernel_params kernel_type post_transform prob_a prob_b rho "
     "support_vectors vectors_per_class",
     svm_classifier},
    {"ml_svm_regressor",
     "coefficients kernel_params kernel_type n_supports one_class post_transform rho support_vectors", svm_regressor},
    {0}};
