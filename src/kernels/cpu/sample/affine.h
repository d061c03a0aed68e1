/* SPDX-License-Identifier: Apache-2.0 */
/* affine.h - the places that affine maps give to the elements of images. Source: ONNX operator AffineGrid. */
#ifndef HN_KERNELS_CPU_AFFINE_H
#define HN_KERNELS_CPU_AFFINE_H

#include <stdint.h>

enum { HN_AFFINE_AXES = 3 };

typedef struct hn_affine_args {
  const float *theta;  /* maps of axes x (axes + 1) */
  const float *places; /* of the elements of the last axis, each `axes` times: x x, y y, ... */
  float *y;            /* maps x size[0] x size[1] x size[2] x axes */
  int64_t size[HN_AFFINE_AXES];
  int32_t axes; /* 2: size[0] is 1; 3 */
  int32_t is_aligned;
} hn_affine_args;

/* Of element `at` of `count`, in [-1, 1]; a single one lies at 0 where corners are aligned. */
static inline double hn_affine_place(const hn_affine_args *a, int64_t at, int64_t count) {
  if (!a->is_aligned) return (2 * (double)at + 1) / (double)count - 1;
  return count > 1 ? 2 * (double)at / ((double)count - 1) - 1 : 0;
}

/* Work units: rows of the last axis, of all maps. */
typedef void hn_affine_f32_fn(const hn_affine_args *args, int64_t begin, int64_t end);
hn_affine_f32_fn hn_affine_f32_avx512, hn_affine_f32_avx2, hn_affine_f32_c;

#endif
