/* SPDX-License-Identifier: Apache-2.0 */
/* common_region.c - a chain of layers as one op: inference and evaluation go from row to row. */
#include "ops/common_region.h"

void hn_layer_make(hn_layer *layer, const hone_op *op, const hone_attrs *attrs, const char *prefix, int64_t group) {
  layer->op = op;
  int count = hn_attrs_behind(attrs, prefix, layer->items, HONE_MAX_ATTRS - 1);
  if (group > 0) layer->items[count++] = (hone_attr){.name = "group", .kind = HONE_ATTR_INT, .i = group};
  layer->attrs = (hone_attrs){count, layer->items};
}

hone_status hn_layer_infer(hone_infer *infer, const hn_layer *layer, int in_count, const hone_fact *in,
                           hone_fact *out) {
  hone_infer one = *infer;
  *out = (hone_fact){.type = {.kind = HONE_TENSOR, .dtype = in[0].type.dtype, .shape = {.rank = -1}}};
  one.op = layer->op;
  one.attrs = &layer->attrs;
  one.in_count = in_count;
  one.in = in;
  one.out_count = 1;
  one.out = out;
  return layer->op->infer(&one);
}

hone_status hn_layer_eval(hone_eval *eval, const hn_layer *layer, int in_count, const hone_tensor *in, hone_tensor *out,
                          int64_t first, int64_t last) {
  hone_eval one = *eval;
  const hone_window window = {.first = first, .last = last};
  one.op = layer->op;
  one.attrs = &layer->attrs;
  one.in_count = in_count;
  one.in = in;
  one.out_count = 1;
  one.out = out;
  one.scratch = NULL;
  return layer->op->eval(&one, &window);
}

hone_status hn_layer_eval_rows(hone_eval *eval, const hn_layer *layer, int in_count, const hone_tensor *in,
                               hone_tensor *out, int64_t plane, int64_t begin, int64_t end) {
  const hone_shape *shape = &out->type.shape;
  int64_t row = 1, rows = shape->dim[2];
  for (int i = 3; i < shape->rank; ++i) row *= shape->dim[i];
  const int64_t first = plane * rows * row;
  return hn_layer_eval(eval, layer, in_count, in, out, first + begin * row, first + end * row);
}

hone_tensor hn_layer_tensor(hone_dtype dtype, const hone_shape *shape, void *memory) {
  hone_tensor tensor = {.type = hn_tensor_type(dtype, shape->rank, shape->dim), .data = memory};
  tensor.bytes = hn_bytes(&tensor.type);
  return tensor;
}

void hn_rows_read(const hn_sliding *sliding, int64_t begin, int64_t end, int64_t *in_begin, int64_t *in_end) {
  const int64_t first = begin * sliding->stride[0] - sliding->pad_begin[0];
  const int64_t last =
      (end - 1) * sliding->stride[0] - sliding->pad_begin[0] + (sliding->kernel[0] - 1) * sliding->dilation[0] + 1;
  *in_begin = first < 0 ? 0 : first < sliding->in[0] ? first : sliding->in[0];
  *in_end = last < *in_begin ? *in_begin : last < sliding->in[0] ? last : sliding->in[0];
}
