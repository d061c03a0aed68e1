/* SPDX-License-Identifier: Apache-2.0 */
/* resize.c - images in bytes, resized with Pillow's arithmetic, so that networks see what they were trained with: a
 * filter whose support grows with the reduction, weights that are whole numbers over 2^22, bytes after each direction.
 */
#include "recipe/recipe.h"
#include <math.h>
#include <string.h>

enum { WEIGHT_BITS = 22 };

static double box(double x) { return x > -0.5 && x <= 0.5 ? 1 : 0; }
static double triangle(double x) { return fmax(0, 1 - fabs(x)); }

static double hamming(double x) {
  const double pi = 3.14159265358979323846;
  x = fabs(x);
  if (x == 0) return 1;
  return x >= 1 ? 0 : sin(pi * x) / (pi * x) * (0.54 + 0.46 * cos(pi * x));
}

static double cubic(double x) { /* Keys, a = -1/2 */
  const double a = -0.5;
  x = fabs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

static double sinc(double x) {
  const double turn = x * 3.14159265358979323846;
  return x == 0 ? 1 : sin(turn) / turn;
}
static double lanczos(double x) { return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0; }

const hn_filter hn_filters[] = {{"bilinear", 1, triangle}, {"bicubic", 2, cubic},   {"box", 0.5, box},
                                {"hamming", 1, hamming},   {"lanczos", 3, lanczos}, {0}};

const hn_filter *hn_filter_find(const char *name) {
  for (const hn_filter *row = hn_filters; row->name; ++row)
    if (strcmp(row->name, name) == 0) return row;
  return NULL;
}

hone_status hn_image_alloc(hone_diagnostics *diag, const hn_allocator *allocator, int64_t width, int64_t height,
                           hn_image *out) {
  *out = (hn_image){width, height, hn_alloc(allocator, (size_t)width * (size_t)height * 3)};
  return out->pixels ? HONE_OK : HN_FAIL_MEMORY(diag);
}

void hn_image_free(const hn_allocator *allocator, hn_image *image) {
  hn_free(allocator, image->pixels, (size_t)image->width * (size_t)image->height * 3);
  image->pixels = NULL;
}

/* What each place of a line of `to` pixels takes from one of `from`: count[i] pixels from first[i] on, by weights that
 * lie from i * reach on. */
typedef struct line_filter {
  int64_t to, reach;
  int64_t *first, *count;
  int32_t *weights;
} line_filter;

static void fill_place(const line_filter *f, const hn_filter *filter, int64_t from, int64_t i, double *real) {
  const double ratio = (double)from / (double)f->to, grown = ratio > 1 ? ratio : 1, support = filter->support * grown;
  const double center = ((double)i + 0.5) * ratio, slope = 1 / grown;
  const int64_t first = (int64_t)fmax(0, center - support + 0.5);
  const int64_t last = (int64_t)fmin((double)from, center + support + 0.5);
  double sum = 0;
  f->first[i] = first;
  f->count[i] = last - first;
  for (int64_t k = 0; k < last - first; ++k)
    sum += real[k] = filter->weight(((double)(k + first) - center + 0.5) * slope);
  for (int64_t k = 0; k < last - first; ++k) {
    const double weight = sum != 0 ? real[k] / sum : real[k];
    f->weights[i * f->reach + k] = (int32_t)(weight * (1 << WEIGHT_BITS) + (weight < 0 ? -0.5 : 0.5));
  }
}

static void line_filter_free(const hn_allocator *allocator, line_filter *f) {
  hn_free(allocator, f->first, (size_t)f->to * sizeof *f->first);
  hn_free(allocator, f->count, (size_t)f->to * sizeof *f->count);
  hn_free(allocator, f->weights, (size_t)(f->to * f->reach) * sizeof *f->weights);
}

static bool line_filter_make(const hn_allocator *allocator, const hn_filter *filter, int64_t from, int64_t to,
                             line_filter *f) {
  const double grown = from > to ? (double)from / (double)to : 1;
  const int64_t reach = 2 * (int64_t)ceil(filter->support * grown) + 1;
  *f = (line_filter){.to = to, .reach = reach};
  f->first = hn_alloc(allocator, (size_t)to * sizeof *f->first);
  f->count = hn_alloc(allocator, (size_t)to * sizeof *f->count);
  f->weights = hn_alloc(allocator, (size_t)(to * reach) * sizeof *f->weights);
  double *real = hn_alloc(allocator, (size_t)reach * sizeof *real);
  const bool made = f->first && f->count && f->weights && real;
  for (int64_t i = 0; made && i < to; ++i) fill_place(f, filter, from, i, real);
  hn_free(allocator, real, (size_t)reach * sizeof *real);
  return made;
}

static uint8_t clipped(int32_t sum) {
  const int32_t value = sum >> WEIGHT_BITS;
  return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

/* Weights of a place sum to 2^22, those below zero of the widest filter to less than a third of it: 32 bits are enough.
 */
static void resize_across(const line_filter *f, const hn_image *in, uint8_t *out) {
  for (int64_t y = 0; y < in->height; ++y) {
    const uint8_t *row = in->pixels + y * in->width * 3;
    for (int64_t x = 0; x < f->to; ++x, out += 3) {
      const int32_t *weights = f->weights + x * f->reach;
      const uint8_t *from = row + f->first[x] * 3;
      int32_t sum[3] = {1 << (WEIGHT_BITS - 1), 1 << (WEIGHT_BITS - 1), 1 << (WEIGHT_BITS - 1)};
      for (int64_t k = 0; k < f->count[x]; ++k)
        for (int c = 0; c < 3; ++c) sum[c] += weights[k] * from[k * 3 + c];
      for (int c = 0; c < 3; ++c) out[c] = clipped(sum[c]);
    }
  }
}

static void resize_down(const line_filter *f, const uint8_t *in, int64_t width, int32_t *sums, uint8_t *out) {
  const int64_t bytes = width * 3;
  for (int64_t y = 0; y < f->to; ++y) {
    const int32_t *weights = f->weights + y * f->reach;
    for (int64_t i = 0; i < bytes; ++i) sums[i] = 1 << (WEIGHT_BITS - 1);
    for (int64_t k = 0; k < f->count[y]; ++k) {
      const uint8_t *row = in + (f->first[y] + k) * bytes;
      for (int64_t i = 0; i < bytes; ++i) sums[i] += weights[k] * row[i];
    }
    for (int64_t i = 0; i < bytes; ++i) out[y * bytes + i] = clipped(sums[i]);
  }
}

hone_status hn_image_resize(hone_diagnostics *diag, const hn_allocator *allocator, const hn_filter *filter,
                            const hn_image *in, hn_image *out) {
  const size_t sum_bytes = (size_t)out->width * 3 * sizeof(int32_t);
  line_filter across = {0}, down = {0};
  hn_image wide = {0};
  int32_t *sums = hn_alloc(allocator, sum_bytes);
  hone_status status = hn_image_alloc(diag, allocator, out->width, in->height, &wide);
  if (status == HONE_OK && (!sums || !line_filter_make(allocator, filter, in->width, out->width, &across) ||
                            !line_filter_make(allocator, filter, in->height, out->height, &down)))
    status = HN_FAIL_MEMORY(diag);
  /* A direction whose extent stays is left out, as it is there: its weights would be 1 and 0, but for the box's. */
  if (status == HONE_OK && in->width == out->width)
    memcpy(wide.pixels, in->pixels, (size_t)in->width * (size_t)in->height * 3);
  else if (status == HONE_OK)
    resize_across(&across, in, wide.pixels);
  if (status == HONE_OK && in->height == out->height)
    memcpy(out->pixels, wide.pixels, (size_t)out->width * (size_t)out->height * 3);
  else if (status == HONE_OK)
    resize_down(&down, wide.pixels, out->width, sums, out->pixels);
  line_filter_free(allocator, &across);
  line_filter_free(allocator, &down);
  hn_image_free(allocator, &wide);
  hn_free(allocator, sums, sum_bytes);
  return status;
}
