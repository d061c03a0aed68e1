/* SPDX-License-Identifier: Apache-2.0 */
/* weights.h - weights alone in few bits: products' in blocks along what is summed over, convolutions' by output
 * channel. Activations stay in f32, so no sample is needed. */
#ifndef HN_CALIB_WEIGHTS_H
#define HN_CALIB_WEIGHTS_H

#include "calib/sites.h"
#include <hone/engine.h>

enum { HN_BLOCK_LEAST = 16, HN_BLOCK_MOST = 256, HN_BLOCK_USUAL = 32 };
enum { HN_LEAST_WEIGHTS = 4096 }; /* a layer with fewer stays: 16 KiB of f32 are not what a product waits for */

typedef struct hn_weights_how {
  hone_dtype dtype; /* I8, I4: symmetric, without zero points; U8, U4: with them */
  int64_t block;    /* weights of one scale, a power of two */
  hone_progress_fn progress;
  void *progress_user;
} hn_weights_how;

/* What stands for x = (number - zero) * scale. */
typedef struct hn_block_scale {
  float scale;
  int zero;
} hn_block_scale;
/* Of `count` weights, `step` apart, all finite: symmetric, the largest magnitude over the greatest number (127 or 7);
 * else from the least to the greatest, 0 among them, over 255 or 15. Zeros, or nearly (no normal scale): 1 and 0. */
hn_block_scale hn_block_scale_of(hone_dtype dtype, const float *weights, int64_t count, int64_t step);

/* Puts dequantize_linear in front of the layers' weights, and writes into sites->nodes why others stay. What several
 * layers read as the same matrix is written once. UNSUPPORTED: a weight is NaN or infinite. */
hone_status hn_weights_insert(hn_sites *sites, const hn_weights_how *how);

#endif
