/* SPDX-License-Identifier: Apache-2.0 */
/* label_encoder.c - each element is looked up among keys, and becomes the value beside it or a default. Keys and values
 * are texts, integers or real numbers; NaN is found as a key, too. Source: LabelEncoder of ai.onnx.ml, version 4. */
#include "ops/common_move.h"
#include "tensor/element.h"
#include <math.h>
#include <string.h>

/* One of three lists, by the prefix of its name. */
static const hone_attr *list_of(const hone_attrs *attrs, const char *const names[3]) {
  const hone_attr *found = NULL;
  for (int i = 0; i < 3; ++i)
    if (hn_attr_find(attrs, names[i])) found = hn_attr_find(attrs, names[i]);
  return found;
}

static const hone_attr *keys_of(const hone_attrs *attrs) {
  static const char *const names[] = {"keys_floats", "keys_int64s", "keys_strings"};
  return list_of(attrs, names);
}

static const hone_attr *values_of(const hone_attrs *attrs) {
  static const char *const names[] = {"values_floats", "values_int64s", "values_strings"};
  return list_of(attrs, names);
}

static hone_status infer(hone_infer *infer) {
  const hone_attr *keys = keys_of(infer->attrs), *values = values_of(infer->attrs);
  const int64_t given = hn_attr_int(infer->attrs, "dtype");
  const hone_dtype dtype = infer->in[0].type.dtype;
  if (!keys || !values || keys->count != values->count)
    return HN_INFER_FAIL(infer, "it has %lld keys and %lld values", keys ? (long long)keys->count : 0,
                         values ? (long long)values->count : 0);
  if ((dtype == HONE_STRING) != (keys->kind == HONE_ATTR_STRINGS))
    return HN_INFER_FAIL(infer, "its input is %s, and its keys are of another type", hone_dtype_name(dtype));
  if (given < 0 || given >= HONE_DTYPE_COUNT ||
      ((given == HONE_STRING) != (values->kind == HONE_ATTR_STRINGS) && given))
    return HN_INFER_FAIL(infer, "its values cannot be of element type %lld", (long long)given);
  hn_out_dtype(infer, 0,
               given                               ? (hone_dtype)given
               : values->kind == HONE_ATTR_STRINGS ? HONE_STRING
               : values->kind == HONE_ATTR_INTS    ? HONE_I64
                                                   : HONE_F32);
  infer->out[0].type.shape = infer->in[0].type.shape;
  return HONE_OK;
}

static int compare_texts(const char *a, size_t a_length, const char *b, size_t b_length) {
  const int order = memcmp(a, b, a_length < b_length ? a_length : b_length);
  return order ? order : (a_length > b_length) - (a_length < b_length);
}

/* NaN stands behind all numbers. */
static int compare_reals(double a, double b) {
  if (isnan(a) || isnan(b)) return isnan(a) - isnan(b);
  return (a > b) - (a < b);
}

static bool key_before(const void *context, int64_t a, int64_t b) {
  const hone_attr *keys = context;
  int order = keys->kind == HONE_ATTR_INTS     ? (keys->ints[a] > keys->ints[b]) - (keys->ints[a] < keys->ints[b])
              : keys->kind == HONE_ATTR_FLOATS ? compare_reals(keys->floats[a], keys->floats[b])
                                               : compare_texts(keys->strings[a], strlen(keys->strings[a]),
                                                               keys->strings[b], strlen(keys->strings[b]));
  return order ? order < 0 : a < b;
}

static int compare_element(const hone_tensor *x, int64_t at, const hone_attr *keys, int64_t k) {
  if (keys->kind == HONE_ATTR_INTS) {
    const int64_t a = hn_int(x, at), b = keys->ints[k];
    return (a > b) - (a < b);
  }
  if (keys->kind == HONE_ATTR_FLOATS) return compare_reals(hn_real(x, at), keys->floats[k]);
  const hone_string *text = (const hone_string *)x->data + at;
  return compare_texts(text->length ? text->data : "", text->length, keys->strings[k], strlen(keys->strings[k]));
}

/* The first of equal keys counts, as in a dictionary that keeps what it has; -1: there is none. */
static int64_t find(const hone_tensor *x, int64_t at, const hone_attr *keys, const int64_t *order) {
  int64_t low = 0, high = keys->count;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (compare_element(x, at, keys, order[middle]) > 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low < keys->count && compare_element(x, at, keys, order[low]) == 0 ? order[low] : -1;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  (void)window;
  HN_TRY(hn_eval_sized(eval));
  const hone_attr *keys = keys_of(eval->attrs), *values = values_of(eval->attrs);
  const hone_tensor *x = &eval->in[0];
  hone_tensor *y = &eval->out[0];
  int64_t *order = eval->scratch;
  if (!hn_sort_indices(eval, order, keys->count, key_before, keys)) return HONE_OK; /* the run ends */
  for (int64_t i = 0; i < hn_elems(&x->type.shape); ++i) {
    const int64_t at = find(x, i, keys, order);
    if (values->kind == HONE_ATTR_STRINGS) {
      const char *text = at < 0 ? hn_attr_text(eval->attrs, "default_string") : values->strings[at];
      ((hone_string *)y->data)[i] = (hone_string){text, strlen(text)};
    } else if (values->kind == HONE_ATTR_INTS) {
      hn_store_int(y, i, at < 0 ? hn_attr_int(eval->attrs, "default_int64") : values->ints[at]);
    } else {
      hn_store_real(y, i, at < 0 ? hn_attr_float(eval->attrs, "default_float") : values->floats[at]);
    }
  }
  return HONE_OK;
}

static size_t scratch(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  (void)in, (void)in_count, (void)out, (void)out_count;
  const hone_attr *keys = keys_of(attrs);
  return keys ? (size_t)keys->count * sizeof(int64_t) : 0;
}

const hone_op hn_op_label_encoder = {
    .struct_size = sizeof(hone_op),
    .name = "label_encoder",
    .doc = "each element looked up among keys",
    .in = {{"x", 0, HONE_TYPES_FLOAT | HONE_TYPES_INT | HONE_BIT(HONE_STRING)}},
    .out = {{"y", 0, HONE_TYPES_NUMBER | HONE_BIT(HONE_STRING)}},
    .attr = {HONE_OPTIONAL_ATTR("keys_floats", HONE_ATTR_FLOATS), HONE_OPTIONAL_ATTR("keys_int64s", HONE_ATTR_INTS),
             HONE_OPTIONAL_ATTR("keys_strings", HONE_ATTR_STRINGS),
             HONE_OPTIONAL_ATTR("values_floats", HONE_ATTR_FLOATS), HONE_OPTIONAL_ATTR("values_int64s", HONE_ATTR_INTS),
             HONE_OPTIONAL_ATTR("values_strings", HONE_ATTR_STRINGS), HONE_FLOAT_ATTR("default_float", -0.0),
             HONE_INT_ATTR("default_int64", -1), HONE_STRING_ATTR("default_string", "_Unused"),
             HONE_INT_ATTR("dtype", 0)},
    .traits = HONE_WHOLE,
    .infer = infer,
    .eval = eval,
    .eval_scratch = scratch,
    .cost = hn_cost_select,
    .onnx = {{"LabelEncoder", 1, HONE_LATEST, "ai.onnx.ml", .adapt = "ml_labels"},
             {"CategoryMapper", 1, HONE_LATEST, "ai.onnx.ml", .adapt = "ml_categories", .alias = true}},
};
