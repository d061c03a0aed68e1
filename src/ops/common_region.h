/* SPDX-License-Identifier: Apache-2.0 */
/* common_region.h - ops that stand for a chain of layers: each layer is inferred and evaluated by its own row. */
#ifndef HN_OPS_COMMON_REGION_H
#define HN_OPS_COMMON_REGION_H

#include "ops/common_nn.h"

/* One layer of the chain: its row, and its attributes taken from the whole op's. */
typedef struct hn_layer {
  const hone_op *op;
  hone_attr items[HONE_MAX_ATTRS];
  hone_attrs attrs; /* items; a copied hn_layer must be made again */
} hn_layer;
/* Attributes are those whose names begin with prefix, then group when it is above 0. */
void hn_layer_make(hn_layer *layer, const hone_op *op, const hone_attrs *attrs, const char *prefix, int64_t group);

/* The attributes of a layer's own activation, in the list of the whole op's. */
#define HN_LAYER_ACTIVATION(layer)                                                                                     \
  HONE_STRING_ATTR(layer "_act", ""), HONE_FLOAT_ATTR(layer "_act_alpha", 0.0), HONE_FLOAT_ATTR(layer "_act_beta", 0.0)

/* Output 0 of the layer; out gets the dtype of input 0 and the inferred shape. */
hone_status hn_layer_infer(hone_infer *infer, const hn_layer *layer, int in_count, const hone_fact *in, hone_fact *out);
/* Elements [first, last) of the layer's output, which has memory for all. */
hone_status hn_layer_eval(hone_eval *eval, const hn_layer *layer, int in_count, const hone_tensor *in, hone_tensor *out,
                          int64_t first, int64_t last);
/* Rows [begin, end) of a plane: one channel of one image. Rows are along the first spatial axis, here and below. */
hone_status hn_layer_eval_rows(hone_eval *eval, const hn_layer *layer, int in_count, const hone_tensor *in,
                               hone_tensor *out, int64_t plane, int64_t begin, int64_t end);

/* A tensor between two layers, of x's dtype, in the op's scratch memory. */
hone_tensor hn_layer_tensor(hone_dtype dtype, const hone_shape *shape, void *memory);

/* The input's rows that the windows of output rows [begin, end) read. */
void hn_rows_read(const hn_sliding *sliding, int64_t begin, int64_t end, int64_t *in_begin, int64_t *in_end);

#endif
