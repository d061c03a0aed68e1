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

typedef struct resizing {
  hone_diagnostics *diag;
  const hn_allocator *allocator;
  const hn_filter *filter;
} resizing;

/* To another width; out is made here. */
static hone_status across(const resizing *r, const hn_image *in, int64_t width, hn_image *out) {
  line_filter f = {0};
  HN_TRY(hn_image_alloc(r->diag, r->allocator, width, in->height, out));
  const bool made = line_filter_make(r->allocator, r->filter, in->width, width, &f);
  if (made) resize_across(&f, in, out->pixels);
  line_filter_free(r->allocator, &f);
  return made ? HONE_OK : HN_FAIL_MEMORY(r->diag);
}

/* To another height; likewise. */
static hone_status down(const resizing *r, const hn_image *in, int64_t height, hn_image *out) {
  line_filter f = {0};
  const size_t sum_bytes = (size_t)in->width * 3 * sizeof(int32_t);
  HN_TRY(hn_image_alloc(r->diag, r->allocator, in->width, height, out));
  int32_t *sums = hn_alloc(r->allocator, sum_bytes);
  const bool made = sums && line_filter_make(r->allocator, r->filter, in->height, height, &f);
  if (made) resize_down(&f, in->pixels, in->width, sums, out->pixels);
  line_filter_free(r->allocator, &f);
  hn_free(r->allocator, sums, sum_bytes);
  return made ? HONE_OK : HN_FAIL_MEMORY(r->diag);
}

/* Which direction comes first is seen in the last bit of a byte. Pillow 13 begins with the height where that loses more
 * than twice as many pixels as the width; before it always began with the width. */
static bool down_first(const hn_image *in, const hn_image *out) {
  return out->height < in->height && in->height - out->height > 2 * (in->width - out->width);
}

hone_status hn_image_resize(hone_diagnostics *diag, const hn_allocator *allocator, const hn_filter *filter,
                            const hn_image *in, hn_image *out) {
  const resizing r = {diag, allocator, filter};
  const bool first = down_first(in, out);
  hn_image now = *in, next = {0};
  hone_status status = HONE_OK;
  for (int turn = 0; turn < 2 && status == HONE_OK; ++turn) {
    const bool rows = (turn == 0) == first;
    if (rows ? now.height == out->height : now.width == out->width) continue; /* nothing is rounded again */
    status = rows ? down(&r, &now, out->height, &next) : across(&r, &now, out->width, &next);
    if (now.pixels != in->pixels) hn_image_free(allocator, &now);
    now = next;
  }
  if (status == HONE_OK) memcpy(out->pixels, now.pixels, (size_t)out->width * (size_t)out->height * 3);
  if (now.pixels != in->pixels) hn_image_free(allocator, &now);
  return status;
}
