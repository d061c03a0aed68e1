/* SPDX-License-Identifier: Apache-2.0 */
/* rounding.h - weights as bytes so that a layer's output, not each weight, is nearest: an error made in one weight is
 * made good by those not rounded yet, as far as the activations that they meet go together. Source: GPTQ (Frantar et
 * al., arXiv:2210.17323, algorithm 1), after Optimal Brain Surgeon. */
#ifndef HN_CALIB_ROUNDING_H
#define HN_CALIB_ROUNDING_H

#include "base/memory.h"

/* sums[n][n], the lower triangle, += x^T x over the rows of x. */
void hn_add_products(const float *x, int64_t rows, int64_t n, float *sums);

/* The upper factor U of the inverse of (sums + damping times their mean diagonal), U^T U = inverse, in place: what
 * hn_round_by_error reads. sums: the lower triangle. scratch: n * n floats. False: the sums are not positive. */
bool hn_error_factor(float *sums, int64_t n, double damping, float *scratch);

/* One output's n weights (overwritten) to bytes in -most..most; weights of inputs that were always 0 get the nearest.
 * factor: of hn_error_factor. */
void hn_round_by_error(float *weights, int64_t n, float scale, int most, const float *factor, int8_t *bytes);

#endif
