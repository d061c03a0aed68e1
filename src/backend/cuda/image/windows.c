/* SPDX-License-Identifier: Apache-2.0 */
/* windows.c - sliding windows over images with their channels last. */
#include "backend/cuda/image/image.h"

const char *hn_cuda_image_windows(const hone_query *query, const int64_t *kernel, int pixels, int rows,
                                  hn_cuda_image_window *a, hone_dtype *out_held) {
  hn_cuda_image x, y;
  const hone_dtype held = hn_cuda_image_held(query, &query->in[0]);
  HN_TRY_REASON(hn_cuda_image_of(&query->in[0], held, &x));
  HN_TRY_REASON(hn_cuda_image_of(&query->out[0], held, &y));
  HN_TRY_REASON(hn_cuda_sliding(query, &query->in[0].type.shape, &query->out[0].type.shape, kernel, &a->window));
  a->pitch = y.pitch;
  a->tiles = (y.w + pixels - 1) / pixels;
  a->lines = (y.h + rows - 1) / rows;
  a->threads = (unsigned)(y.n * a->lines * a->tiles * (y.pitch / 8));
  *out_held = held;
  return x.pitch == y.pitch ? NULL : "the channels differ";
}
