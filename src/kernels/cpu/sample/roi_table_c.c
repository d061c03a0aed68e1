/* SPDX-License-Identifier: Apache-2.0 */
/* roi_table_c.c - from regions to what their bins read, and a bin by the definition: in double. */
#include "kernels/cpu/sample/roi.h"
#include <math.h>

bool hn_roi_region_c(const hn_roi_args *a, int64_t roi, hn_roi_region *out) {
  const double shift = a->is_half_pixel ? 0.5 : 0, counts[2] = {(double)a->out_h, (double)a->out_w};
  for (int i = 0; i < 2; ++i) {
    const double start = (double)a->rois[roi * 4 + 1 - i] * a->scale - shift;
    double extent = (double)a->rois[roi * 4 + 3 - i] * a->scale - shift - start;
    if (!a->is_half_pixel) extent = fmax(extent, 1);
    const double size = extent / counts[i];
    if (!(fabs(start) < 1e9 && size < 1e6)) return false;
    out->start[i] = start;
    out->size[i] = size;
    out->grid[i] = a->samples > 0 ? a->samples : (int64_t)fmax(ceil(size), 0);
  }
  return true;
}

typedef struct {
  char *at;
  size_t used;
} room;

static void *cut(room *from, int64_t count, size_t each) {
  enum { LINE = 64 };
  void *part = from->at ? from->at + from->used : NULL;
  from->used += ((size_t)count * each + LINE - 1) / LINE * LINE;
  return part;
}

static void cut_bins(room *from, int64_t bins, int64_t extent, hn_roi_bins *out) {
  out->begin = cut(from, bins + 1, sizeof *out->begin);
  out->at = cut(from, bins * extent, sizeof *out->at);
  out->weight = cut(from, bins * extent, sizeof *out->weight);
  out->least = cut(from, bins * extent, sizeof *out->least);
  out->is_outside = cut(from, bins, sizeof *out->is_outside);
}

size_t hn_roi_table_c(const hn_roi_args *a, void *scratch, hn_roi_table *out) {
  enum { PAD = 16 }; /* a multiple of every vector */
  room from = {scratch, 0};
  *out = (hn_roi_table){.stride = (a->out_w + PAD - 1) / PAD * PAD, .joined_stride = (a->in_w + PAD - 1) / PAD * PAD};
  cut_bins(&from, a->out_h, a->in_h, &out->rows);
  cut_bins(&from, a->out_w, a->in_w, &out->columns);
  out->slot = cut(&from, a->in_w, sizeof *out->slot);
  out->used = cut(&from, a->in_w, sizeof *out->used);
  out->weight = cut(&from, a->in_w * out->stride, sizeof *out->weight);
  out->least = cut(&from, a->in_w * out->stride, sizeof *out->least);
  out->floors = cut(&from, out->stride, sizeof *out->floors);
  out->joined = cut(&from, a->out_h * out->joined_stride, sizeof *out->joined);
  return from.used;
}

/* A sample of an axis: between two elements, the second of which may be the first again. */
typedef struct {
  int64_t at[2];
  double weight[2];
} sample;

static bool sample_at(const hn_roi_region *r, int axis, int64_t bin, int64_t i, int64_t extent, sample *out) {
  double at = r->start[axis] + r->size[axis] * ((double)bin + ((double)i + 0.5) / (double)r->grid[axis]);
  if (!(at >= -1 && at <= (double)extent)) return false;
  at = fmax(at, 0);
  int64_t first = (int64_t)at;
  if (first >= extent - 1) {
    first = extent - 1;
    at = (double)first;
  }
  const double part = at - (double)first;
  *out = (sample){{first, first + 1 < extent ? first + 1 : first}, {1 - part, part}};
  return true;
}

/* Samples go one way, so that what they read again is among the last entries. */
static int32_t add(const hn_roi_bins *b, int32_t first, int32_t count, int64_t at, float weight, bool is_max) {
  enum { NEAR = 4 };
  for (int32_t k = count - 1; k >= first && k >= count - NEAR; --k) {
    if (b->at[k] != at) continue;
    if (is_max) {
      b->weight[k] = b->weight[k] > weight ? b->weight[k] : weight;
      b->least[k] = b->least[k] < weight ? b->least[k] : weight;
    } else {
      b->weight[k] += weight;
    }
    return count;
  }
  b->at[count] = (int32_t)at;
  b->weight[count] = b->least[count] = weight;
  return count + 1;
}

void hn_roi_bins_c(const hn_roi_args *a, const hn_roi_region *r, int axis, hn_roi_bins *b) {
  const int64_t bins = axis ? a->out_w : a->out_h, extent = axis ? a->in_w : a->in_h;
  int32_t count = 0;
  for (int64_t bin = 0; bin < bins; ++bin) {
    b->begin[bin] = count;
    b->is_outside[bin] = false;
    for (int64_t i = 0; i < r->grid[axis]; ++i) {
      sample s;
      if (!sample_at(r, axis, bin, i, extent, &s)) {
        b->is_outside[bin] = true;
        continue;
      }
      for (int k = 0; k < 2; ++k) count = add(b, b->begin[bin], count, s.at[k], (float)s.weight[k], a->is_max);
    }
  }
  b->begin[bins] = count;
}

float hn_roi_bin_c(const hn_roi_args *a, const hn_roi_region *r, const float *plane, int64_t row, int64_t column) {
  double sum = 0, best = 0;
  bool any = false;
  for (int64_t i = 0; i < r->grid[0]; ++i)
    for (int64_t j = 0; j < r->grid[1]; ++j) {
      sample y, x;
      const bool inside = sample_at(r, 0, row, i, a->in_h, &y) && sample_at(r, 1, column, j, a->in_w, &x);
      for (int k = 0; k < 4; ++k) {
        const double value =
            inside ? y.weight[k / 2] * x.weight[k % 2] * (double)plane[y.at[k / 2] * a->in_w + x.at[k % 2]] : 0;
        sum += value;
        best = any ? fmax(best, value) : value;
        any = true;
      }
    }
  return (float)(a->is_max ? best : sum / fmax((double)(r->grid[0] * r->grid[1]), 1));
}
