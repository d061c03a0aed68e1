/* SPDX-License-Identifier: Apache-2.0 */
/* dnn.h - cuDNN, optional twice: without its header this module is built without convolutions, without the library
 * they are not offered. */
#ifndef HN_BACKEND_CUDA_DNN_H
#define HN_BACKEND_CUDA_DNN_H

#include "backend/cuda/conv/sliding.h"

enum { HN_CUDA_DNN_WORKSPACE_BYTES = 64 << 20 };

/* y = w over x in true f32 or in tf32, all plain. Transposed: x has `from` channels, w is [from, to / groups, kernel],
 * and the windows slide over y; else w is [to, from / groups, kernel]. */
typedef struct hn_cuda_conv_plan {
  hn_cuda_window window; /* in: of what the windows slide over */
  int batch, from, to, groups;
  bool transposed, in_tf32;
  int algorithm; /* which of the library's deterministic proposals that fit; beyond the last: the last */
} hn_cuda_conv_plan;

typedef struct hn_cuda_conv {
  hn_cuda_conv_plan plan; /* the rest is made */
  hone_unit *unit;
  void *inner, *outer, *filter, *desc; /* cuDNN's: what the windows slide over, what they make */
  int algorithm;
} hn_cuda_conv;

hone_status hn_cuda_conv_make(hone_unit *unit, hn_cuda_conv *conv, hone_diagnostics *diag);
void hn_cuda_conv_drop(hn_cuda_conv *conv);
/* workspace: HN_CUDA_DNN_WORKSPACE_BYTES of the device's. */
hone_status hn_cuda_conv_launch(const hn_cuda_conv *conv, hone_stream *stream, const void *x, const void *w, void *y,
                                void *workspace);

#endif
