/* SPDX-License-Identifier: Apache-2.0 */
/* ml.h - what the adapters of ai.onnx.ml share: attributes by kind, small graphs, scores and labels of classifiers. */
#ifndef HN_IMPORT_ML_H
#define HN_IMPORT_ML_H

#include "import/importer.h"

/* A list of numbers; count 0 when it is not given. The attribute goes. */
typedef struct hn_ml_ints {
  int64_t count;
  const int64_t *items;
} hn_ml_ints;
typedef struct hn_ml_reals {
  int64_t count;
  const double *items;
} hn_ml_reals;
typedef struct hn_ml_texts {
  int64_t count;
  const char *const *items;
} hn_ml_texts;
hn_ml_ints hn_ml_take_ints(hn_import_call *call, const char *name);
hn_ml_texts hn_ml_take_texts(hn_import_call *call, const char *name);
const char *hn_ml_take_text(hn_import_call *call, const char *name, const char *otherwise);
/* The list `name`, or the tensor `name`_as_tensor, or where both_names is false the tensor `name`. */
hone_status hn_ml_take_reals(hn_import_call *call, const char *name, const char *tensor, hn_ml_reals *out);

/* A constant of f32 or f64. */
hn_value *hn_ml_constant(hn_import_call *call, hone_dtype dtype, int rank, const int64_t *dims, const double *items);
/* *x = op(*x), op(*x, y); y NULL after NO_MEMORY. */
hone_status hn_ml_apply(hn_import_call *call, const char *op, hn_value **x);
hone_status hn_ml_join(hn_import_call *call, const char *op, hn_value **x, hn_value *y);
hone_status hn_ml_cast(hn_import_call *call, hone_dtype dtype, hn_value **x);
/* Input 0 as a matrix of f32, or f64 where it is that; vectors are one row. */
hone_status hn_ml_features(hn_import_call *call, hn_value **out);
/* NONE, SOFTMAX, LOGISTIC; what is approximate, or seen in no export, is refused. */
hone_status hn_ml_post(hn_import_call *call, const char *transform, hn_value **scores);
/* The labels of classes: those of the largest score a row. count: of classes, where the labels must be as many. */
typedef struct hn_ml_labels {
  hn_ml_ints ints;
  hn_ml_texts texts;
} hn_ml_labels;
hn_ml_labels hn_ml_take_labels(hn_import_call *call, const char *ints, const char *texts);
static inline int64_t hn_ml_label_count(const hn_ml_labels *labels) {
  return labels->texts.count ? labels->texts.count : labels->ints.count;
}
/* numbers: of classes, i64. */
hone_status hn_ml_label_of(hn_import_call *call, const hn_ml_labels *labels, hn_value *numbers, hn_value **out);
/* Outputs 0 and 1 of a classifier. raw: [rows, classes], or [rows, 1] of the second of two classes, whose score is a
 * probability where all weights are positive. */
hone_status hn_ml_classify(hn_import_call *call, const hn_ml_labels *labels, const char *transform, bool is_probability,
                           hn_value *raw);

extern const hn_adapter hn_ml_adapters[], hn_ml_svm_adapters[], hn_ml_tree_adapters[], hn_flex_adapters[],
    hn_training_adapters[], hn_experimental_adapters[];

#endif
