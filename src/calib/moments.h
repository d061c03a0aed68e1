/* SPDX-License-Identifier: Apache-2.0 */
/* moments.h - what a layer's weights meet on average: for each input channel and tap of the window, the sum of the
 * activations over all positions of the output. The mean of a convolution's output is then a product with its weights,
 * exact at the borders, too. */
#ifndef HN_CALIB_MOMENTS_H
#define HN_CALIB_MOMENTS_H

#include "calib/range.h"
#include "tensor/sliding.h"

/* x is [planes][in0][in1], planes = batch * channels; adds to sums[channel * taps + tap]. A window of one spatial axis
 * has in[1] = out[1] = kernel[1] = 1. */
void hn_tap_sums(const float *x, int64_t planes, int64_t channels, const hn_sliding *window, double *sums);
/* to[i]: what the byte of x[i] stands for. */
void hn_round_floats(const float *x, int64_t count, const hn_scale *scale, const hn_scheme *scheme, float *to);

#endif
