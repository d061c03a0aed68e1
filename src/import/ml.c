/* SPDX-License-Identifier: Apache-2.0 */
/* ml.c - operators of ai.onnx.ml as what they are made of: scaling, labels, linear models. Source: the
 * operator schemas of ai.onnx.ml, versions 1 to 5. */
#include "import/ml.h"
#include "tensor/element.h"
#include "tensor/shape.h"

static hone_status malformed(hn_import_call *call, const char *what) {
  return HN_FAIL(call->importer->diag, HONE_MALFORMED, "%s", what);
}

static hone_status refuse(hn_import_call *call, const char *what) {
  return HN_FAIL(call->importer->diag, HONE_UNSUPPORTED, "%s", what);
}

static double take_real(hn_import_call *call, const char *name, double otherwise) {
  hone_attr attr;
  return hn_import_take_attr(call, name, &attr) && attr.kind == HONE_ATTR_FLOAT ? attr.f : otherwise;
}

/* ---- numbers ---- */

/* (x - offset) * scale, each one number or one a feature. */
static hone_status scaler(hn_import_call *call) {
  hn_ml_reals offset, scale;
  hn_value *x;
  HN_TRY(hn_ml_take_reals(call, "offset", NULL, &offset));
  HN_TRY(hn_ml_take_reals(call, "scale", NULL, &scale));
  if (!hn_contrib_input(call, 0)) return malformed(call, "its input is missing");
  x = call->in[0];
  HN_TRY(hn_ml_cast(call, HONE_F32, &x));
  if (offset.count) HN_TRY(hn_ml_join(call, "sub", &x, hn_ml_constant(call, HONE_F32, 1, &offset.count, offset.items)));
  if (scale.count) HN_TRY(hn_ml_join(call, "mul", &x, hn_ml_constant(call, HONE_F32, 1, &scale.count, scale.items)));
  return hn_import_finish(call, x);
}

/* Rows divided by their largest magnitude, their sum or length; rows of zeros stay. */
static hone_status normalizer(hn_import_call *call) {
  static const struct {
    const char *name, *op;
  } norms[] = {{"MAX", "reduce_max"}, {"L1", "reduce_l1"}, {"L2", "reduce_l2"}};
  const char *name = hn_ml_take_text(call, "norm", "MAX"), *op = NULL;
  for (size_t i = 0; i < HN_COUNT(norms); ++i)
    if (hn_name_equal(name, norms[i].name)) op = norms[i].op;
  if (!op) return malformed(call, "norm is none of MAX, L1 and L2");
  static const int64_t axis = 1;
  hn_value *x, *size, *in[3];
  HN_TRY(hn_ml_features(call, &x));
  HN_TRY(hn_ml_cast(call, HONE_F32, &x));
  hn_value *reduce[2] = {x, hn_constant_int(call->importer->graph, NULL, 1, 1, &axis)};
  hn_value *zero = hn_constant_scalar(call->importer->graph, HONE_F32, 0);
  in[1] = hn_constant_scalar(call->importer->graph, HONE_F32, 1);
  if (!reduce[1] || !zero || !in[1]) return HONE_NO_MEMORY;
  HN_TRY(hn_import_make(call, op, 2, reduce, 0, NULL, &size));
  in[0] = in[2] = size;
  HN_TRY(hn_ml_join(call, "equal", &in[0], zero));
  HN_TRY(hn_import_make(call, "where", 3, in, 0, NULL, &size));
  HN_TRY(hn_ml_join(call, "div", &x, size));
  return hn_import_finish(call, x);
}

/* 1 where an element is greater than the threshold, else 0, of the input's type. */
static hone_status binarizer(hn_import_call *call) {
  const double threshold = take_real(call, "threshold", 0);
  hn_value *x = hn_contrib_input(call, 0);
  if (!x) return malformed(call, "its input is missing");
  const hone_dtype dtype = x->fact.type.dtype;
  if (!hn_dtype_is_float(dtype)) return refuse(call, "its input is not of a floating type");
  HN_TRY(hn_ml_join(call, "greater", &x, hn_constant_scalar(call->importer->graph, dtype, threshold)));
  HN_TRY(hn_ml_cast(call, dtype, &x));
  return hn_import_finish(call, x);
}

/* Elements of the last axis by their numbers; of a vector, one row. */
static hone_status array_features(hn_import_call *call) {
  static const int64_t flat = -1, row[2] = {1, -1};
  hone_graph *graph = call->importer->graph;
  hn_value *x = hn_contrib_input(call, 0), *numbers = hn_contrib_input(call, 1), *y;
  if (!x || !numbers) return malformed(call, "an input is missing");
  const int rank = x->fact.type.shape.rank;
  const hone_attr axis = {.name = "axis", .kind = HONE_ATTR_INT, .i = -1};
  if (rank < 1) return refuse(call, "its input has no known rank");
  HN_TRY(hn_ml_join(call, "reshape", &numbers, hn_constant_int(graph, NULL, 1, 1, &flat)));
  hn_value *in[2] = {x, numbers};
  HN_TRY(hn_import_make(call, "gather", 2, in, 1, &axis, &y));
  if (rank == 1) HN_TRY(hn_ml_join(call, "reshape", &y, hn_constant_int(graph, NULL, 1, 2, row)));
  return hn_import_finish(call, y);
}

/* Its inputs side by side as f32. */
static hone_status feature_vectorizer(hn_import_call *call) {
  static const int64_t column[2] = {-1, 1};
  const hone_attr last = {.name = "axis", .kind = HONE_ATTR_INT, .i = 1};
  hn_value *y;
  (void)hn_ml_take_ints(call, "inputdimensions");
  if (call->in_count < 1) return malformed(call, "it has no inputs");
  for (int i = 0; i < call->in_count; ++i) {
    if (!call->in[i]) return malformed(call, "an input is missing");
    HN_TRY(hn_ml_cast(call, HONE_F32, &call->in[i]));
    if (call->in[i]->fact.type.shape.rank == 1)
      HN_TRY(hn_ml_join(call, "reshape", &call->in[i], hn_constant_int(call->importer->graph, NULL, 1, 2, column)));
  }
  HN_TRY(hn_import_make(call, "concat", call->in_count, call->in, 1, &last, &y));
  return hn_import_finish(call, y);
}

/* What equals a number, or NaN, becomes another one, a feature each. */
static hone_status imputer(hn_import_call *call) {
  hn_ml_reals by;
  const hn_ml_ints ints = hn_ml_take_ints(call, "imputed_value_int64s");
  const double missing = take_real(call, "replaced_value_float", 0);
  const double missing_int = (double)hn_contrib_take_int(call, "replaced_value_int64", 0);
  HN_TRY(hn_ml_take_reals(call, "imputed_value_floats", NULL, &by));
  hn_value *in[3] = {NULL, NULL, hn_contrib_input(call, 0)}, *y;
  if (!in[2]) return malformed(call, "its input is missing");
  const hone_dtype dtype = in[2]->fact.type.dtype;
  const bool real = hn_dtype_is_float(dtype);
  if (real ? by.count < 1 : ints.count < 1) return malformed(call, "it has no values to put in");
  in[0] = in[2];
  if (real && missing != missing) {
    HN_TRY(hn_ml_apply(call, "isnan", &in[0]));
  } else {
    HN_TRY(hn_ml_join(call, "equal", &in[0],
                      hn_constant_scalar(call->importer->graph, dtype, real ? missing : missing_int)));
  }
  in[1] = real ? hn_ml_constant(call, dtype, 1, &by.count, by.items)
               : hn_constant_int(call->importer->graph, NULL, 1, ints.count, ints.items);
  if (!in[1]) return HONE_NO_MEMORY;
  if (!real) HN_TRY(hn_ml_cast(call, dtype, &in[1]));
  HN_TRY(hn_import_make(call, "where", 3, in, 0, NULL, &y));
  return hn_import_finish(call, y);
}

/* ---- labels ---- */

/* A tensor of keys or values as a list. */
static hone_status list_of_tensor(hn_import_call *call, const char *tensor_name, const char *const names[3],
                                  hone_dtype *out_dtype) {
  hone_attr given, list = {0};
  if (!hn_import_take_attr(call, tensor_name, &given)) return HONE_OK;
  if (given.kind != HONE_ATTR_TENSOR) return malformed(call, "its keys or values are no tensor");
  const hone_tensor *tensor = given.tensor;
  const int64_t count = hn_elems(&tensor->type.shape);
  hn_arena *arena = &call->importer->arena;
  const hone_dtype dtype = tensor->type.dtype;
  *out_dtype = dtype;
  list.count = count;
  if (dtype == HONE_STRING) {
    const char **texts = HN_NEW(arena, const char *, count + 1);
    for (int64_t i = 0; texts && i < count; ++i) {
      const hone_string *text = (const hone_string *)tensor->data + i;
      texts[i] = hn_arena_printf(arena, "%.*s", (int)text->length, text->length ? text->data : "");
    }
    list.name = names[2];
    list.kind = HONE_ATTR_STRINGS;
    list.strings = texts;
  } else if (hn_dtype_is_float(dtype)) {
    double *items = HN_NEW(arena, double, count + 1);
    for (int64_t i = 0; items && i < count; ++i) items[i] = hn_real(tensor, i);
    list.name = names[0];
    list.kind = HONE_ATTR_FLOATS;
    list.floats = items;
  } else {
    int64_t *items = HN_NEW(arena, int64_t, count + 1);
    for (int64_t i = 0; items && i < count; ++i) items[i] = hn_int(tensor, i);
    list.name = names[1];
    list.kind = HONE_ATTR_INTS;
    list.ints = items;
  }
  return list.ints ? hn_import_add_attr(call, &list) : HN_FAIL_MEMORY(call->importer->diag);
}

static hone_status default_of_tensor(hn_import_call *call) {
  hone_attr given, one;
  if (!hn_import_take_attr(call, "default_tensor", &given)) return HONE_OK;
  if (given.kind != HONE_ATTR_TENSOR || hn_elems(&given.tensor->type.shape) != 1)
    return malformed(call, "default_tensor must have one element");
  const hone_tensor *tensor = given.tensor;
  if (tensor->type.dtype == HONE_STRING) {
    const hone_string *text = tensor->data;
    one = (hone_attr){.name = "default_string", .kind = HONE_ATTR_STRING, .count = (int64_t)text->length};
    one.s = hn_arena_printf(&call->importer->arena, "%.*s", (int)text->length, text->length ? text->data : "");
    if (!one.s) return HN_FAIL_MEMORY(call->importer->diag);
  } else if (hn_dtype_is_float(tensor->type.dtype)) {
    one = (hone_attr){.name = "default_float", .kind = HONE_ATTR_FLOAT, .f = hn_real(tensor, 0)};
  } else {
    one = (hone_attr){.name = "default_int64", .kind = HONE_ATTR_INT, .i = hn_int(tensor, 0)};
  }
  return hn_import_add_attr(call, &one);
}

/* Version 1: texts and their numbers, whichever the input is. */
static hone_status legacy_labels(hn_import_call *call, const hn_ml_texts *classes) {
  int64_t *numbers = HN_NEW(&call->importer->arena, int64_t, classes->count + 1);
  const bool texts = hn_contrib_input(call, 0) && call->in[0]->fact.type.dtype == HONE_STRING;
  if (!numbers) return HN_FAIL_MEMORY(call->importer->diag);
  for (int64_t i = 0; i < classes->count; ++i) numbers[i] = i;
  const hone_attr lists[2] = {{.name = texts ? "keys_strings" : "values_strings",
                               .kind = HONE_ATTR_STRINGS,
                               .count = classes->count,
                               .strings = classes->items},
                              {.name = texts ? "values_int64s" : "keys_int64s",
                               .kind = HONE_ATTR_INTS,
                               .count = classes->count,
                               .ints = numbers}};
  HN_TRY(hn_import_add_attr(call, &lists[0]));
  return hn_import_add_attr(call, &lists[1]);
}

static hone_status labels(hn_import_call *call) {
  static const char *const keys[] = {"keys_floats", "keys_int64s", "keys_strings"};
  static const char *const values[] = {"values_floats", "values_int64s", "values_strings"};
  const hn_ml_texts classes = hn_ml_take_texts(call, "classes_strings");
  hone_dtype dtype = HONE_NONE, ignored;
  if (classes.count) return legacy_labels(call, &classes);
  HN_TRY(list_of_tensor(call, "keys_tensor", keys, &ignored));
  HN_TRY(list_of_tensor(call, "values_tensor", values, &dtype));
  HN_TRY(default_of_tensor(call));
  const hone_attr attr = {.name = "dtype", .kind = HONE_ATTR_INT, .i = dtype};
  return hn_import_add_attr(call, &attr);
}

/* CategoryMapper: texts to numbers or back, by the input's type. */
static hone_status categories(hn_import_call *call) {
  const hn_ml_labels cats = hn_ml_take_labels(call, "cats_int64s", "cats_strings");
  const bool texts = hn_contrib_input(call, 0) && call->in[0]->fact.type.dtype == HONE_STRING;
  if (cats.ints.count != cats.texts.count || cats.ints.count < 1)
    return malformed(call, "cats_int64s and cats_strings must have as many elements");
  const hone_attr lists[2] = {{.name = texts ? "keys_strings" : "values_strings",
                               .kind = HONE_ATTR_STRINGS,
                               .count = cats.texts.count,
                               .strings = cats.texts.items},
                              {.name = texts ? "values_int64s" : "keys_int64s",
                               .kind = HONE_ATTR_INTS,
                               .count = cats.ints.count,
                               .ints = cats.ints.items}};
  HN_TRY(hn_import_add_attr(call, &lists[0]));
  return hn_import_add_attr(call, &lists[1]);
}

/* A row of zeros with a one where the category stands. */
static hone_status one_hot(hn_import_call *call) {
  hn_ml_labels cats = hn_ml_take_labels(call, "cats_int64s", "cats_strings");
  const bool zeros = hn_contrib_take_int(call, "zeros", 1) != 0;
  hn_value *x = hn_contrib_input(call, 0);
  const int64_t count = hn_ml_label_count(&cats), last = -1;
  if (!x || count < 1) return malformed(call, "its input or its categories are missing");
  if (!zeros) return refuse(call, "it fails where a category is not known");
  int64_t *numbers = HN_NEW(&call->importer->arena, int64_t, count);
  if (!numbers) return HN_FAIL_MEMORY(call->importer->diag);
  for (int64_t i = 0; i < count; ++i) numbers[i] = i;
  const hone_attr attrs[2] = {
      {.name = "values_int64s", .kind = HONE_ATTR_INTS, .count = count, .ints = numbers},
      cats.texts.count
          ? (hone_attr){.name = "keys_strings", .kind = HONE_ATTR_STRINGS, .count = count, .strings = cats.texts.items}
          : (hone_attr){.name = "keys_int64s", .kind = HONE_ATTR_INTS, .count = count, .ints = cats.ints.items}};
  if (cats.ints.count) HN_TRY(hn_ml_cast(call, HONE_I64, &x));
  HN_TRY(hn_import_make(call, "label_encoder", 1, &x, 2, attrs, &x)); /* -1: not among them */
  HN_TRY(hn_ml_join(call, "unsqueeze", &x, hn_constant_int(call->importer->graph, NULL, 1, 1, &last)));
  HN_TRY(hn_ml_join(call, "equal", &x, hn_constant_int(call->importer->graph, NULL, 1, count, numbers)));
  HN_TRY(hn_ml_cast(call, HONE_F32, &x));
  return hn_import_finish(call, x);
}

/* A list of dictionaries from labels to scores is the matrix of scores, its columns in the order of the labels. */
static hone_status zip_map(hn_import_call *call) {
  (void)hn_ml_take_labels(call, "classlabels_int64s", "classlabels_strings");
  hn_value *x = hn_contrib_input(call, 0);
  if (!x) return malformed(call, "its input is missing");
  HN_TRY(hn_ml_apply(call, "identity", &x));
  return hn_import_finish(call, x);
}

/* ---- linear models ---- */

/* x [rows, features] by coefficients [targets, features], which are turned, plus intercepts. */
static hone_status linear_scores(hn_import_call *call, const hn_ml_reals *weights, const hn_ml_reals *added,
                                 int64_t targets, hn_value **out) {
  hn_value *x;
  HN_TRY(hn_ml_features(call, &x));
  HN_TRY(hn_ml_cast(call, HONE_F32, &x));
  if (targets < 1 || weights->count % targets != 0 || (added->count && added->count != targets))
    return malformed(call, "its coefficients and intercepts do not fit its targets");
  const int64_t dims[2] = {targets, weights->count / targets};
  const hone_attr turned = {.name = "transB", .kind = HONE_ATTR_INT, .i = 1};
  hn_value *in[3] = {x, hn_ml_constant(call, HONE_F32, 2, dims, weights->items),
                     added->count ? hn_ml_constant(call, HONE_F32, 1, &added->count, added->items) : NULL};
  if (!in[1] || (added->count && !in[2])) return HONE_NO_MEMORY;
  return hn_import_make(call, "gemm", in[2] ? 3 : 2, in, 1, &turned, out);
}

static hone_status linear_regressor(hn_import_call *call) {
  hn_ml_reals weights, added;
  const char *transform = hn_ml_take_text(call, "post_transform", "NONE");
  const int64_t targets = hn_contrib_take_int(call, "targets", 1);
  hn_value *y;
  HN_TRY(hn_ml_take_reals(call, "coefficients", NULL, &weights));
  HN_TRY(hn_ml_take_reals(call, "intercepts", NULL, &added));
  HN_TRY(linear_scores(call, &weights, &added, targets, &y));
  HN_TRY(hn_ml_post(call, transform, &y));
  return hn_import_finish(call, y);
}

static hone_status linear_classifier(hn_import_call *call) {
  hn_ml_reals weights, added;
  const hn_ml_labels names = hn_ml_take_labels(call, "classlabels_ints", "classlabels_strings");
  const char *transform = hn_ml_take_text(call, "post_transform", "NONE");
  hn_value *y;
  if (hn_contrib_take_int(call, "multi_class", 0) && hn_name_equal(transform, "SOFTMAX_ZERO"))
    return refuse(call, "post_transform SOFTMAX_ZERO is not supported");
  HN_TRY(hn_ml_take_reals(call, "coefficients", NULL, &weights));
  HN_TRY(hn_ml_take_reals(call, "intercepts", NULL, &added));
  const int64_t classes = added.count ? added.count : hn_ml_label_count(&names);
  HN_TRY(linear_scores(call, &weights, &added, classes, &y));
  return hn_ml_classify(call, &names, transform, false, y);
}

const hn_adapter hn_ml_adapters[] = {
    {"ml_array_features", "", array_features},
    {"ml_binarizer", "threshold", binarizer},
    {"ml_categories", "cats_int64s cats_strings", categories},
    {"ml_feature_vectorizer", "inputdimensions", feature_vectorizer},
    {"ml_imputer", "imputed_value_floats imputed_value_int64s replaced_value_float replaced_value_int64", imputer},
    {"ml_labels", "classes_strings default_tensor keys_tensor values_tensor", labels},
    {"ml_linear_classifier", "classlabels_ints classlabels_strings coefficients intercepts multi_class post_transform",
     linear_classifier},
    {"ml_linear_regressor", "coefficients intercepts post_transform targets", linear_regressor},
    {"ml_normalizer", "norm", normalizer},
    {"ml_one_hot", "cats_int64s cats_strings zeros", one_hot},
    {"ml_scaler", "offset scale", scaler},
    {"ml_zip_map", "classlabels_int64s classlabels_strings", zip_map},
    {0}};
