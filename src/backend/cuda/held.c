/* SPDX-License-Identifier: Apache-2.0 */
/* held.c - what is held in f16, bf16 or bytes, or in f32 with the channels last: images, and plain tensors. */
#include "backend/cuda/cuda.h"

static bool is_half(hone_dtype dtype) { return dtype == HONE_F16 || dtype == HONE_BF16; }
static bool is_byte(hone_dtype dtype) { return dtype == HONE_U8 || dtype == HONE_I8; }

hone_dtype hn_cuda_held(const hone_query *query, const hone_fact *fact) {
  if (is_half(query->tactic->compute)) return query->tactic->compute;
  return is_half(fact->type.dtype) ? fact->type.dtype : HONE_NONE;
}

hone_dtype hn_cuda_image_held(const hone_query *query, const hone_fact *fact) {
  const hone_dtype held = hn_cuda_held(query, fact);
  return held == HONE_NONE && fact->type.dtype == HONE_F32 ? HONE_F32 : held;
}

const char *hn_cuda_image_of(const hone_fact *fact, hone_dtype held, hn_cuda_image *out) {
  const hone_shape *shape = &fact->type.shape;
  if (fact->type.kind != HONE_TENSOR || fact->type.dtype != held ||
      !(is_half(held) || is_byte(held) || held == HONE_F32))
    return "it is of another type";
  if (shape->rank < 3 || shape->rank > 4) return "it has not one or two axes";
  for (int i = 0; i < shape->rank; ++i)
    if (shape->dim[i] < 1 || shape->dim[i] > 1 << 24) return "an extent is zero or too large";
  const int piece = is_byte(held) ? 16 : 8; /* sixteen bytes, of f32 twice as many */
  *out = (hn_cuda_image){.n = (int)shape->dim[0],
                         .c = (int)shape->dim[1],
                         .h = shape->rank > 3 ? (int)shape->dim[2] : 1,
                         .w = (int)shape->dim[shape->rank - 1],
                         .pitch = ((int)shape->dim[1] + piece - 1) / piece * piece};
  const bool is_pixel = fact->type.format == HONE_PLAIN && out->h == 1 && out->w == 1 && out->pitch == out->c;
  if (fact->type.format != HONE_NHWC && !is_pixel) return "its channels are not last";
  const int64_t pixels = hn_cuda_elements(shape) / out->c;
  return pixels > INT32_MAX / 2 / out->pitch ? "more elements than 30 bits count" : NULL;
}

bool hn_cuda_plain_of(const hone_fact *fact, hone_dtype dtype) {
  return fact->type.kind == HONE_TENSOR && fact->type.dtype == dtype && fact->type.format == HONE_PLAIN;
}
