/* SPDX-License-Identifier: Apache-2.0 */
/* grid.h - reading planes at places that a grid names in [-1, 1]. Source: ONNX operator GridSample. */
#ifndef HN_KERNELS_CPU_GRID_H
#define HN_KERNELS_CPU_GRID_H

#include <stdint.h>

enum { HN_GRID_AXES = 3, HN_GRID_TAPS = 4, HN_GRID_PIXELS = 64 };

typedef enum { HN_GRID_ZEROS, HN_GRID_BORDER, HN_GRID_REFLECTION } hn_grid_padding;

typedef struct {
  const float *x;    /* batch x channels planes of in[0] x in[1] x in[2], fewer than 2^31 elements each */
  const float *grid; /* batch x pixels x axes, the last spatial axis first */
  float *y;          /* batch x channels planes of `pixels` */
  int64_t channels, pixels, in[HN_GRID_AXES];
  int32_t axes; /* 1 to 3: the last ones of in; the others are 1 */
  int32_t taps; /* 1: nearest, 2: linear, 4: cubic */
  int32_t is_aligned;
  hn_grid_padding padding;
} hn_grid_args;

/* For each of up to HN_GRID_PIXELS pixels, per axis and tap: where to read, in elements of the plane, and a weight. */
typedef struct {
  int32_t at[HN_GRID_AXES][HN_GRID_TAPS][HN_GRID_PIXELS];
  float weight[HN_GRID_AXES][HN_GRID_TAPS][HN_GRID_PIXELS];
} hn_grid_table;

/* The table of `count` pixels of a grid that begin at `grid`. */
void hn_grid_table_c(const hn_grid_args *args, const float *grid, int64_t count, hn_grid_table *table);

/* Work units: runs of HN_GRID_PIXELS pixels of one image, all channels. */
static inline int64_t hn_grid_units(const hn_grid_args *a, int64_t batch) {
  return batch * ((a->pixels + HN_GRID_PIXELS - 1) / HN_GRID_PIXELS);
}
typedef void hn_grid_f32_fn(const hn_grid_args *args, int64_t begin, int64_t end);
hn_grid_f32_fn hn_grid_f32_avx512, hn_grid_f32_avx2, hn_grid_f32_c;

#endif
