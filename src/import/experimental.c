/* SPDX-License-Identifier: Apache-2.0 */
/* experimental.c - operators that ONNX had as experimental ones until version 1.5 and took away again, as what they are
 * made of: old exports of image networks begin with them. Source: the operator schemas of ONNX 1.4. */
#include "import/ml.h"
#include "tensor/shape.h"

static double take_real(hn_import_call *call, const char *name, double otherwise) {
  hone_attr attr;
  return hn_import_take_attr(call, name, &attr) && attr.kind == HONE_ATTR_FLOAT ? attr.f : otherwise;
}

static hone_status malformed(hn_import_call *call, const char *what) {
  return HN_FAIL(call->importer->diag, HONE_MALFORMED, "%s", what);
}

/* *x = op(*x, number), of the type of *x. */
static hone_status join_number(hn_import_call *call, const char *op, hn_value **x, double number) {
  return hn_ml_join(call, op, x, hn_constant_scalar(call->importer->graph, (*x)->fact.type.dtype, number));
}

static hone_status take_input(hn_import_call *call, int rank, hn_value **x) {
  *x = hn_contrib_input(call, 0);
  if (!*x) return malformed(call, "its input is missing");
  if (rank && (*x)->fact.type.shape.rank != rank)
    return HN_FAIL(call->importer->diag, HONE_UNSUPPORTED, "its input is not of rank %d", rank);
  return HONE_OK;
}

/* alpha x + beta */
static hone_status affine(hn_import_call *call) {
  const double alpha = take_real(call, "alpha", 1), beta = take_real(call, "beta", 0);
  hn_value *x;
  HN_TRY(take_input(call, 0, &x));
  HN_TRY(join_number(call, "mul", &x, alpha));
  HN_TRY(join_number(call, "add", &x, beta));
  return hn_import_finish(call, x);
}

/* alpha f(beta x) */
static hone_status scaled(hn_import_call *call) {
  const double alpha = take_real(call, "alpha", 1), beta = take_real(call, "beta", 1);
  hn_value *x;
  HN_TRY(take_input(call, 0, &x));
  HN_TRY(join_number(call, "mul", &x, beta));
  HN_TRY(hn_import_make(call, call->op->name, 1, &x, 0, NULL, &x));
  HN_TRY(join_number(call, "mul", &x, alpha));
  return hn_import_finish(call, x);
}

/* x scale + a bias each channel. */
static hone_status image_scaler(hn_import_call *call) {
  const double scale = take_real(call, "scale", 1);
  hone_attr bias;
  hn_value *x;
  HN_TRY(take_input(call, 4, &x));
  HN_TRY(join_number(call, "mul", &x, scale));
  if (!hn_import_take_attr(call, "bias", &bias)) return hn_import_finish(call, x);
  const hone_dtype dtype = x->fact.type.dtype;
  if (bias.kind != HONE_ATTR_FLOATS || dtype != HONE_F32) return malformed(call, "its bias is no list of real numbers");
  float *items = HN_NEW(&call->importer->arena, float, bias.count + 1);
  if (!items) return HN_FAIL_MEMORY(call->importer->diag);
  for (int64_t i = 0; i < bias.count; ++i) items[i] = (float)bias.floats[i];
  const hone_tensor tensor = hn_tensor_over(dtype, 3, (int64_t[]){bias.count, 1, 1}, items);
  HN_TRY(hn_ml_join(call, "add", &x, hn_constant_create(call->importer->graph, NULL, &tensor, false)));
  return hn_import_finish(call, x);
}

/* border: left, top, right, bottom; scale: height and width from the left upper corner, in the place of the last two.
 */
static hone_status crop(hn_import_call *call) {
  static const int64_t axes[2] = {2, 3};
  hone_attr border, scale;
  hn_value *in[4] = {NULL}, *y;
  HN_TRY(take_input(call, 4, &in[0]));
  if (!hn_import_take_attr(call, "border", &border) || border.kind != HONE_ATTR_INTS || border.count != 4)
    return malformed(call, "border must be four numbers");
  const bool is_sized = hn_import_take_attr(call, "scale", &scale);
  if (is_sized && (scale.kind != HONE_ATTR_INTS || scale.count != 2))
    return malformed(call, "scale must be two numbers");
  const int64_t begin[2] = {border.ints[1], border.ints[0]};
  int64_t end[2];
  for (int i = 0; i < 2; ++i) {
    const int64_t extent = in[0]->fact.type.shape.dim[2 + i], behind = border.ints[3 - i];
    if (begin[i] < 0 || (is_sized ? scale.ints[i] < 1 || scale.ints[i] > INT32_MAX : behind < 0))
      return malformed(call, "its border or scale is out of range");
    if (!is_sized && behind > 0)
      end[i] = -behind;
    else
      end[i] = is_sized ? begin[i] + scale.ints[i] : INT64_MAX;
    if (!HONE_SYMBOLIC(extent) &&
        (begin[i] >= extent || (end[i] < 0 ? behind >= extent - begin[i] : is_sized && end[i] > extent)))
      return malformed(call, "its border leaves nothing of the image");
  }
  in[1] = hn_constant_int(call->importer->graph, NULL, 1, 2, begin);
  in[2] = hn_constant_int(call->importer->graph, NULL, 1, 2, end);
  in[3] = hn_constant_int(call->importer->graph, NULL, 1, 2, axes);
  if (!in[1] || !in[2] || !in[3]) return HONE_NO_MEMORY;
  HN_TRY(hn_import_make(call, "slice", 4, in, 0, NULL, &y));
  return hn_import_finish(call, y);
}

/* Over all images: of each channel, or of all of them. */
static hone_status mean_variance(hn_import_call *call) {
  static const int64_t all_axes[4] = {0, 1, 2, 3}, axes[3] = {0, 2, 3};
  const bool all = hn_contrib_take_int(call, "across_channels", 0) != 0;
  if (!hn_contrib_take_int(call, "normalize_variance", 1))
    return HN_FAIL(call->importer->diag, HONE_UNSUPPORTED, "it takes the mean away and leaves the variance");
  hn_value *x;
  HN_TRY(take_input(call, 4, &x));
  const hone_attr attr = {.name = "axes", .kind = HONE_ATTR_INTS, .count = all ? 4 : 3, .ints = all ? all_axes : axes};
  return hn_import_add_attr(call, &attr);
}

const hn_adapter hn_experimental_adapters[] = {
    {"experimental_affine", "alpha beta", affine},
    {"experimental_crop", "border scale", crop},
    {"experimental_image_scaler", "bias scale", image_scaler},
    {"experimental_mean_variance", "across_channels normalize_variance", mean_variance},
    {"experimental_scaled", "alpha beta", scaled},
    {0}};
