/* SPDX-License-Identifier: Apache-2.0 */
/* compile_recipe_boxes.c - detectors' heads as boxes and scores: a row a form, all of ONNX's operators. */
#include "api/attach.h"
#include "tensor/shape.h"
#include <stdio.h>

/* An output of a known rank, in f32. */
static hn_value *head(hn_attach *a, const char *name, int rank, const char *form) {
  hn_value *value = hn_attach_output(a, name);
  if (a->status != HONE_OK) return NULL;
  const hone_type *type = &value->fact.type;
  if (type->shape.rank != rank || !(HONE_BIT(type->dtype) & HONE_TYPES_FLOAT)) {
    hn_attach_fail(a, "output %s is %s of rank %d; expected are real numbers %s", value->name,
                   hone_dtype_name(type->dtype), type->shape.rank, form);
    return NULL;
  }
  return hn_attach_cast(a, value, HONE_F32);
}

static int64_t extent(const hn_value *value, int axis) { return value ? value->fact.type.shape.dim[axis] : 0; }

static void swap_last(hn_attach *a, hn_value **value) {
  *value = hn_attach_transpose(a, *value, 3, (const int64_t[]){0, 2, 1});
}

/* [N,A,4] of any format as left, top, right, bottom. */
static hn_value *corners(hn_attach *a, hn_value *boxes, hn_box_format format) {
  static const int64_t turned[] = {1, 0, 3, 2};
  if (format == HN_BOX_XYXY) return boxes;
  if (format == HN_BOX_YXYX) {
    const hone_attr attrs[] = {{.name = "axis", .kind = HONE_ATTR_INT, .i = 2}};
    hn_value *out;
    hn_attach_nodes(a, "gather", 2, (hn_value *const[]){boxes, hn_attach_ints(a, 1, 4, turned)}, 1, attrs, 1, &out);
    return out;
  }
  hn_value *at = hn_attach_slice(a, boxes, 2, 0, 2), *size = hn_attach_slice(a, boxes, 2, 2, 4);
  if (format == HN_BOX_XYWH)
    return hn_attach_concat(a, 2, (hn_value *const[]){at, hn_attach_binary(a, "add", at, size)}, 2);
  hn_value *half = hn_attach_binary(a, "mul", size, hn_attach_real(a, 0.5));
  hn_value *const ends[] = {hn_attach_binary(a, "sub", at, half), hn_attach_binary(a, "add", at, half)};
  return hn_attach_concat(a, 2, ends, 2);
}

/* Each place counts for its best class alone, as ultralytics' predict has it. */
static void best_class(hn_attach *a, hn_value **scores) {
  if (a->status != HONE_OK || extent(*scores, 1) == 1) return;
  static const int64_t classes = 1;
  hn_value *best = hn_attach_binary(a, "reduce_max", *scores, hn_attach_ints(a, 1, 1, &classes));
  hn_value *const in[] = {hn_attach_binary(a, "equal", *scores, best), *scores, hn_attach_real(a, 0)};
  hn_attach_nodes(a, "where", 3, in, 0, NULL, 1, scores);
}

/* [N,4+C,A]: centre and size in pixels, then a probability a class. */
static void yolov8(hn_attach *a, hn_value **boxes, hn_value **scores) {
  hn_value *x = head(a, a->recipe.output, 3, "[N,4+C,A]");
  const int64_t rows = extent(x, 1);
  if (HONE_SYMBOLIC(rows) || rows < 5)
    hn_attach_fail(a, "yolov8 reads [N,4+C,A], and dim 1 of the output is %lld",
                   HONE_SYMBOLIC(rows) ? -1 : (long long)rows);
  *boxes = hn_attach_slice(a, x, 1, 0, 4);
  swap_last(a, boxes);
  *boxes = corners(a, *boxes, HN_BOX_CXCYWH);
  *scores = hn_attach_slice(a, x, 1, 4, rows);
  best_class(a, scores);
}

/* [N,A,5+C]: centre and size in pixels, whether there is something, then a probability a class. */
static void yolov5(hn_attach *a, hn_value **boxes, hn_value **scores) {
  hn_value *x = head(a, a->recipe.output, 3, "[N,A,5+C]");
  const int64_t columns = extent(x, 2);
  if (HONE_SYMBOLIC(columns) || columns < 6)
    hn_attach_fail(a, "yolov5 reads [N,A,5+C], and dim 2 of the output is %lld",
                   HONE_SYMBOLIC(columns) ? -1 : (long long)columns);
  *boxes = corners(a, hn_attach_slice(a, x, 2, 0, 4), HN_BOX_CXCYWH);
  *scores = hn_attach_binary(a, "mul", hn_attach_slice(a, x, 2, 5, columns), hn_attach_slice(a, x, 2, 4, 5));
  swap_last(a, scores);
  best_class(a, scores);
}

/* Scores [N,A,C] and boxes [N,A,4] that are decoded already. */
static void ssd(hn_attach *a, hn_value **boxes, hn_value **scores) {
  hn_value *x = head(a, a->recipe.output, 3, "[N,A,C]"), *places = head(a, a->recipe.boxes, 3, "[N,A,4]");
  const int64_t columns = extent(x, 2);
  const bool background = a->recipe.background != HN_BACKGROUND_NONE;
  if (HONE_SYMBOLIC(columns) || columns < 1 + background)
    hn_attach_fail(a, "ssd reads scores [N,A,C], and dim 2 of output %s is %lld", a->recipe.output,
                   HONE_SYMBOLIC(columns) ? -1 : (long long)columns);
  if (a->status == HONE_OK && extent(places, 2) != 4)
    hn_attach_fail(a, "ssd reads boxes [N,A,4], and dim 2 of output %s is another", a->recipe.boxes);
  if (a->recipe.softmax) hn_attach_softmax(a, &x, 2);
  const int64_t first = a->recipe.background == HN_BACKGROUND_FIRST;
  if (background) x = hn_attach_slice(a, x, 2, first, columns - 1 + first);
  *scores = x;
  swap_last(a, scores);
  *boxes = corners(a, places, a->recipe.format);
  if (!a->recipe.relative) return;
  if (a->width < 0)
    hn_attach_fail(a, "boxes in parts of the image need an image of known size: resize or letterbox WxH");
  const float size[] = {(float)a->width, (float)a->height, (float)a->width, (float)a->height};
  *boxes = hn_attach_binary(a, "mul", *boxes, hn_attach_reals(a, 1, (const int64_t[]){4}, size));
}

/* Where the anchors of a stride stand, in strides: [1,A,2]. */
static hn_value *grid(hn_attach *a, int64_t stride) {
  const int64_t columns = a->width / stride, rows = a->height / stride, dims[] = {1, columns * rows, 2};
  if (a->status != HONE_OK) return NULL;
  float *at = HN_NEW(&a->graph->arena, float, columns *rows * 2 + 1);
  if (!at) a->status = HN_FAIL_MEMORY(&a->graph->context->diag);
  for (int64_t i = 0; at && i < columns * rows; ++i) {
    at[2 * i] = (float)(i % columns);
    at[2 * i + 1] = (float)(i / columns);
  }
  return hn_attach_reals(a, 3, dims, at);
}

/* One stride of YuNet: cls and obj [N,A,1], whose mean is geometric; bbox [N,A,4], offset and log of the size. */
static void yunet_stride(hn_attach *a, int64_t stride, hn_value **boxes, hn_value **scores) {
  char cls[16], obj[16], bbox[16];
  (void)snprintf(cls, sizeof cls, "cls_%d", (int)stride);
  (void)snprintf(obj, sizeof obj, "obj_%d", (int)stride);
  (void)snprintf(bbox, sizeof bbox, "bbox_%d", (int)stride);
  hn_value *c = head(a, cls, 3, "[N,A,1]"), *o = head(a, obj, 3, "[N,A,1]"), *b = head(a, bbox, 3, "[N,A,4]");
  *scores = hn_attach_unary(a, "sqrt", hn_attach_binary(a, "mul", c, o));
  hn_value *step = hn_attach_real(a, (double)stride);
  hn_value *at = hn_attach_binary(a, "add", hn_attach_slice(a, b, 2, 0, 2), grid(a, stride));
  hn_value *size = hn_attach_unary(a, "exp", hn_attach_slice(a, b, 2, 2, 4));
  hn_value *const both[] = {hn_attach_binary(a, "mul", at, step), hn_attach_binary(a, "mul", size, step)};
  *boxes = hn_attach_concat(a, 2, both, 2);
}

static void yunet(hn_attach *a, hn_value **boxes, hn_value **scores) {
  static const int64_t strides[] = {8, 16, 32};
  enum { STRIDES = HN_COUNT(strides) };
  hn_value *b[STRIDES], *s[STRIDES];
  if (a->width < 0 || a->width % 32 != 0 || a->height % 32 != 0)
    hn_attach_fail(a, "yunet needs an image of known size, width and height multiples of 32: letterbox 640x640");
  for (int i = 0; i < STRIDES; ++i) yunet_stride(a, strides[i], &b[i], &s[i]);
  *boxes = corners(a, hn_attach_concat(a, STRIDES, b, 1), HN_BOX_CXCYWH);
  *scores = hn_attach_concat(a, STRIDES, s, 1);
  swap_last(a, scores);
}

void hn_attach_boxes(hn_attach *a, hn_value **out_boxes, hn_value **out_scores) {
  static void (*const decode[HN_DECODER_COUNT])(hn_attach *, hn_value **, hn_value **) = {
      [HN_YOLOV8] = yolov8, [HN_YOLOV5] = yolov5, [HN_SSD] = ssd, [HN_YUNET] = yunet};
  *out_boxes = *out_scores = NULL;
  decode[a->recipe.decoder](a, out_boxes, out_scores);
}
