/* SPDX-License-Identifier: Apache-2.0 */
/* roi.h - regions of feature maps sampled on grids, bilinearly. Source: ONNX operator RoiAlign; He et al. 2017.
 *
 * A sample's weights are products of one of its row and one of its column, and so are sums and maxima of samples on a
 * grid (weights are not negative): first the rows of every bin are joined, over all columns that the region reads, then
 * the columns. Each row or column of x stands once in a bin's list, however many samples read it. */
#ifndef HN_KERNELS_CPU_ROI_H
#define HN_KERNELS_CPU_ROI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct hn_roi_args {
  const float *x;        /* batch x channels planes of in_h x in_w */
  const float *rois;     /* regions x {x0, y0, x1, y1} */
  const int64_t *images; /* of each region */
  float *y;              /* regions x channels planes of out_h x out_w */
  int64_t channels, in_h, in_w, out_h, out_w;
  int64_t samples; /* of a bin along each axis; 0: as many as it is long */
  int64_t unit_channels;
  double scale;
  bool is_half_pixel; /* else regions are at least one element long, and begin at corners */
  bool is_max;
} hn_roi_args;

/* By axes: rows, columns. */
typedef struct hn_roi_region {
  double start[2], size[2]; /* size: of a bin */
  int64_t grid[2];          /* samples of a bin */
} hn_roi_region;

/* What the bins of an axis read. */
typedef struct hn_roi_bins {
  int32_t *begin;        /* of a bin's entries, and the end of the last one's */
  int32_t *at;           /* entry: row or column */
  float *weight, *least; /* averages: the sum of its weights; maxima: the largest and the least */
  bool *is_outside;      /* a bin has samples that lie outside and count as zeros */
} hn_roi_bins;

/* False: it is too large, or not a number. */
bool hn_roi_region_c(const hn_roi_args *args, int64_t roi, hn_roi_region *out);
/* Room in *out: bins + 1 begins, bins times the extent of x for each list of entries. */
void hn_roi_bins_c(const hn_roi_args *args, const hn_roi_region *region, int axis, hn_roi_bins *out);
/* One output by the definition, in double: for planes that hold infinities or NaN. */
float hn_roi_bin_c(const hn_roi_args *args, const hn_roi_region *region, const float *plane, int64_t row,
                   int64_t column);

/* All that is known of one region, in a call's scratch. */
typedef struct hn_roi_table {
  hn_roi_bins rows, columns;
  int32_t *slot;         /* column of x: its number among those that are read, or -1 */
  int32_t *used;         /* the reverse, less `low` */
  float *weight, *least; /* used x stride: what bins read of a column; maxima: NaN where they do not */
  float *floors;         /* of bins: 0 where samples lie outside, else -infinity */
  float *joined;         /* out_h x joined_stride */
  int64_t low, width;    /* columns of x, from the first to the last that is read */
  int64_t count;         /* of used */
  int64_t stride, joined_stride;
} hn_roi_table;
/* Bytes of scratch of one call; NULL: only asked, else the lists of *out lie there. */
size_t hn_roi_table_c(const hn_roi_args *args, void *scratch, hn_roi_table *out);
/* Work units: unit_channels planes of one region. Regions must have passed hn_roi_region_c(), images lie in x. */
static inline int64_t hn_roi_units(const hn_roi_args *a, int64_t regions) {
  return regions * ((a->channels + a->unit_channels - 1) / a->unit_channels);
}
typedef void hn_roi_f32_fn(const hn_roi_args *args, int64_t begin, int64_t end, void *scratch);
hn_roi_f32_fn hn_roi_f32_avx512, hn_roi_f32_avx2, hn_roi_f32_c;

#endif
