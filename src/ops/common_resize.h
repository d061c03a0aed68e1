/* SPDX-License-Identifier: Apache-2.0 */
/* common_resize.h - separable resampling, as resize and upsample share it. */
#ifndef HN_OPS_COMMON_RESIZE_H
#define HN_OPS_COMMON_RESIZE_H

#include "ops/common_nn.h"

typedef struct hn_resize_axis {
  int64_t in, out;
  double scale;      /* out / in, before out was rounded */
  double start, end; /* the region of interest, in units of the axis */
  bool active;       /* false: copied as it is */
} hn_resize_axis;

typedef struct hn_resampling {
  int rank;
  hn_resize_axis axis[HONE_MAX_RANK];
  const char *mode, *transform, *nearest; /* ONNX's words */
  double cubic_a, extrapolation;
  bool antialias, exclude_outside;
} hn_resampling;

/* floor(dim * scale) in float, as other runtimes do; symbolic when the scale is a fraction with a small power of two
 * below, else known after running. */
int64_t hn_resize_dim(hone_dims *dims, int64_t dim, float scale);
hone_status hn_resize_check_scale(hone_diagnostics *diag, int64_t dim, float scale, int axis);
/* Resamples input 0 into output 0, whose shape is resize's out. */
void hn_resize_run(hone_eval *eval, const hone_window *window, const hn_resampling *resize);
/* Gives output 0 its memory when it has none, and else checks its shape. */
hone_status hn_resize_output(hone_eval *eval, const hn_resampling *resize);
hone_cost hn_cost_resize(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out,
                         int out_count);

#endif
