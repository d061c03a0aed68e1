/* SPDX-License-Identifier: Apache-2.0 */
/* ml_common.c - what the adapters of ai.onnx.ml share. Source: the operator schemas of ai.onnx.ml. */
#include "import/ml.h"
#include "tensor/element.h"
#include "tensor/shape.h"

hn_ml_ints hn_ml_take_ints(hn_import_call *call, const char *name) {
  hone_attr attr;
  if (!hn_import_take_attr(call, name, &attr) || attr.kind != HONE_ATTR_INTS) return (hn_ml_ints){0};
  return (hn_ml_ints){attr.count, attr.ints};
}

hn_ml_texts hn_ml_take_texts(hn_import_call *call, const char *name) {
  hone_attr attr;
  if (!hn_import_take_attr(call, name, &attr) || attr.kind != HONE_ATTR_STRINGS) return (hn_ml_texts){0};
  return (hn_ml_texts){attr.count, attr.strings};
}

const char *hn_ml_take_text(hn_import_call *call, const char *name, const char *otherwise) {
  hone_attr attr;
  return hn_import_take_attr(call, name, &attr) && attr.kind == HONE_ATTR_STRING ? attr.s : otherwise;
}

hone_status hn_ml_take_reals(hn_import_call *call, const char *name, const char *tensor, hn_ml_reals *out) {
  hone_attr attr;
  *out = (hn_ml_reals){0};
  if (name && hn_import_take_attr(call, name, &attr) && attr.kind == HONE_ATTR_FLOATS)
    *out = (hn_ml_reals){attr.count, attr.floats};
  if (!tensor || !hn_import_take_attr(call, tensor, &attr)) return HONE_OK;
  if (attr.kind != HONE_ATTR_TENSOR || hone_dtype_bits(attr.tensor->type.dtype) < 8 ||
      attr.tensor->type.dtype == HONE_STRING)
    return HN_FAIL(call->importer->diag, HONE_MALFORMED, "attribute %s must be a tensor of numbers", tensor);
  const int64_t count = hn_elems(&attr.tensor->type.shape);
  double *items = HN_NEW(&call->importer->arena, double, count + 1);
  if (!items) return HN_FAIL_MEMORY(call->importer->diag);
  for (int64_t i = 0; i < count; ++i) items[i] = hn_real(attr.tensor, i);
  *out = (hn_ml_reals){count, items};
  return HONE_OK;
}

hn_value *hn_ml_constant(hn_import_call *call, hone_dtype dtype, int rank, const int64_t *dims, const double *items) {
  hone_tensor tensor = {.type = hn_tensor_type(dtype, rank, dims)};
  tensor.bytes = hn_bytes(&tensor.type);
  tensor.data = hn_arena_alloc(&call->importer->arena, tensor.bytes + 1, 64);
  if (!tensor.data) return NULL;
  for (int64_t i = 0; i < hn_elems(&tensor.type.shape); ++i) hn_store_real(&tensor, i, items[i]);
  return hn_constant_create(call->importer->graph, NULL, &tensor, false);
}

hone_status hn_ml_apply(hn_import_call *call, const char *op, hn_value **x) {
  return hn_import_make(call, op, 1, x, 0, NULL, x);
}

hone_status hn_ml_join(hn_import_call *call, const char *op, hn_value **x, hn_value *y) {
  hn_value *in[2] = {*x, y};
  return y ? hn_import_make(call, op, 2, in, 0, NULL, x) : HONE_NO_MEMORY;
}

/* The attribute `to` is ONNX's number. */
hone_status hn_ml_cast(hn_import_call *call, hone_dtype dtype, hn_value **x) {
  if ((*x)->fact.type.dtype == dtype) return HONE_OK;
  for (int64_t number = 1; number < 32; ++number) {
    const hone_attr to = {.name = "to", .kind = HONE_ATTR_INT, .i = number};
    if (hn_dtype_of_onnx(number) == dtype) return hn_import_make(call, "cast", 1, x, 1, &to, x);
  }
  return HONE_INTERNAL;
}

hone_status hn_ml_features(hn_import_call *call, hn_value **out) {
  static const int64_t row[2] = {1, -1};
  hn_value *x = hn_contrib_input(call, 0);
  if (!x) return HN_FAIL(call->importer->diag, HONE_MALFORMED, "its input is missing");
  const int rank = x->fact.type.shape.rank;
  if (rank < 1 || rank > 2)
    return HN_FAIL(call->importer->diag, HONE_UNSUPPORTED, "its input has rank %d; it must be a matrix", rank);
  if (x->fact.type.dtype != HONE_F64) HN_TRY(hn_ml_cast(call, HONE_F32, &x));
  if (rank == 1) HN_TRY(hn_ml_join(call, "reshape", &x, hn_constant_int(call->importer->graph, NULL, 1, 2, row)));
  *out = x;
  return HONE_OK;
}

hone_status hn_ml_post(hn_import_call *call, const char *transform, hn_value **scores) {
  const hone_attr last = {.name = "axis", .kind = HONE_ATTR_INT, .i = -1};
  if (hn_name_equal(transform, "NONE")) return HONE_OK;
  if (hn_name_equal(transform, "LOGISTIC")) return hn_ml_apply(call, "sigmoid", scores);
  if (hn_name_equal(transform, "SOFTMAX")) return hn_import_make(call, "softmax", 1, scores, 1, &last, scores);
  return HN_FAIL(call->importer->diag, HONE_UNSUPPORTED, "post_transform %.20s is not supported", transform);
}

hn_ml_labels hn_ml_take_labels(hn_import_call *call, const char *ints, const char *texts) {
  return (hn_ml_labels){hn_ml_take_ints(call, ints), hn_ml_take_texts(call, texts)};
}

hone_status hn_ml_label_of(hn_import_call *call, const hn_ml_labels *labels, hn_value *numbers, hn_value **out) {
  const int64_t count = hn_ml_label_count(labels);
  if (labels->texts.count == 0) {
    hn_value *in[2] = {hn_constant_int(call->importer->graph, NULL, 1, count, labels->ints.items), numbers};
    return in[0] ? hn_import_make(call, "gather", 2, in, 0, NULL, out) : HONE_NO_MEMORY;
  }
  int64_t *keys = HN_NEW(&call->importer->arena, int64_t, count);
  if (!keys) return HN_FAIL_MEMORY(call->importer->diag);
  for (int64_t i = 0; i < count; ++i) keys[i] = i;
  const hone_attr attrs[2] = {
      {.name = "keys_int64s", .kind = HONE_ATTR_INTS, .count = count, .ints = keys},
      {.name = "values_strings", .kind = HONE_ATTR_STRINGS, .count = count, .strings = labels->texts.items}};
  return hn_import_make(call, "label_encoder", 1, &numbers, 2, attrs, out);
}

/* Scores of both classes out of the second one's, as ONNX Runtime has them. */
static hone_status two_scores(hn_import_call *call, const char *transform, bool is_probability, hn_value **scores) {
  const hone_attr last = {.name = "axis", .kind = HONE_ATTR_INT, .i = -1};
  hn_value *both[2] = {*scores, *scores};
  if (is_probability) {
    hn_value *one = hn_constant_scalar(call->importer->graph, (*scores)->fact.type.dtype, 1);
    if (!one) return HONE_NO_MEMORY;
    both[0] = one;
    HN_TRY(hn_ml_join(call, "sub", &both[0], *scores));
  } else {
    HN_TRY(hn_ml_apply(call, "neg", &both[0]));
  }
  for (int i = 0; i < 2 && !is_probability && hn_name_equal(transform, "LOGISTIC"); ++i)
    HN_TRY(hn_ml_apply(call, "sigmoid", &both[i]));
  return hn_import_make(call, "concat", 2, both, 1, &last, scores);
}

hone_status hn_ml_classify(hn_import_call *call, const hn_ml_labels *labels, const char *transform, bool is_probability,
                           hn_value *raw) {
  static const int64_t last = -1;
  const hone_attr best[2] = {{.name = "axis", .kind = HONE_ATTR_INT, .i = 1},
                             {.name = "keepdims", .kind = HONE_ATTR_INT, .i = 0}};
  const int64_t classes = raw->fact.type.shape.dim[1];
  hn_value *numbers, *scores = raw;
  if (classes == 1 && hn_ml_label_count(labels) == 2) {
    hn_value *limit = hn_constant_scalar(call->importer->graph, raw->fact.type.dtype, is_probability ? 0.5 : 0);
    numbers = raw;
    HN_TRY(hn_ml_join(call, "greater", &numbers, limit));
    HN_TRY(hn_ml_cast(call, HONE_I64, &numbers));
    HN_TRY(hn_ml_join(call, "reshape", &numbers, hn_constant_int(call->importer->graph, NULL, 1, 1, &last)));
    HN_TRY(two_scores(call, transform, is_probability, &scores));
  } else {
    if (hn_ml_label_count(labels) != classes)
      return HN_FAIL(call->importer->diag, HONE_UNSUPPORTED, "it has %lld labels for %lld scores",
                     (long long)hn_ml_label_count(labels), (long long)classes);
    HN_TRY(hn_import_make(call, "arg_max", 1, &raw, 2, best, &numbers));
    HN_TRY(hn_ml_post(call, transform, &scores));
  }
  HN_TRY(hn_ml_label_of(call, labels, numbers, &call->out[0]));
  HN_TRY(hn_ml_cast(call, HONE_F32, &scores));
  if (call->out_count > 1) call->out[1] = scores;
  call->done = true;
  return HONE_OK;
}
