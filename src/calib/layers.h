/* SPDX-License-Identifier: Apache-2.0 */
/* layers.h - what a quantised layer's weights are: how many outputs, of which inputs, through which window; and their
 * scales. */
#ifndef HN_CALIB_LAYERS_H
#define HN_CALIB_LAYERS_H

#include "calib/sites.h"
#include "tensor/sliding.h"

typedef struct hn_layer_shape {
  int64_t outputs, groups;
  int64_t channels, taps; /* of the input, all groups; of the window */
  int64_t inner;          /* products of an output: channels of a group times taps */
} hn_layer_shape;

hn_layer_shape hn_layer_shape_of(const hn_quant_node *layer);
/* The window over an input of this shape, as two spatial axes; a product's is one tap. False: it has more axes. */
bool hn_layer_window(const hn_quant_node *layer, const hone_shape *x, hn_sliding *out);

/* UNSUPPORTED: one of the node's weights, a constant of f32, is NaN or infinite. */
hone_status hn_layer_check_finite(hone_diagnostics *diag, const hn_node *node, const hn_value *weights);

/* Scales of weights for bytes in -127..127: of each output along the axis, or equal ones. The largest weight is given
 * 127, or what of 32 to 181 makes next to no error: such weights lie on a grid already. Weights that are all 0 have 1.
 */
void hn_layer_scales(const hone_tensor *weights, int axis, bool one, float *scales);

#endif
