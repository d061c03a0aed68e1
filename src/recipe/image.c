/* SPDX-License-Identifier: Apache-2.0 */
/* image.c - a recipe's steps on an image in bytes, and where its points lie in the image that was given.
 * An affine step is Pillow's Image.transform(size, AFFINE, matrix, BILINEAR, fillcolor), grey its convert("L"), crop
 * stands where torchvision's center_crop puts it. */
#include "base/context.h"
#include "recipe/recipe.h"
#include <math.h>
#include <string.h>

/* to_image of what is done with points before: (x, y) -> to(by(x, y)). */
static void compose(double to[6], const double by[6]) {
  const double was[6] = {to[0], to[1], to[2], to[3], to[4], to[5]};
  for (int r = 0; r < 6; r += 3) {
    to[r] = was[r] * by[0] + was[r + 1] * by[3];
    to[r + 1] = was[r] * by[1] + was[r + 1] * by[4];
    to[r + 2] = was[r] * by[2] + was[r + 1] * by[5] + was[r + 2];
  }
}

static void resized_size(const hn_size *size, const hn_image *in, int64_t *width, int64_t *height) {
  *width = size->width;
  *height = size->height;
  if (size->kind != HN_SIZE_SHORT) return;
  const int64_t least = in->width < in->height ? in->width : in->height;
  *width = size->width * in->width / least; /* the longer side is rounded down */
  *height = size->width * in->height / least;
}

static hone_status resize(hone_context *context, const hn_image_step *step, const hn_image *in, hn_image *out,
                          double to_image[6]) {
  hone_diagnostics *diag = &context->diag;
  int64_t width, height;
  resized_size(&step->size, in, &width, &height);
  if (width > HN_IMAGE_MOST || height > HN_IMAGE_MOST)
    return HN_FAIL(diag, HONE_INVALID,
                   "%lld x %lld pixels resized with the shorter side %lld: %lld x %lld; allowed: %d",
                   (long long)in->width, (long long)in->height, (long long)step->size.width, (long long)width,
                   (long long)height, HN_IMAGE_MOST);
  HN_TRY(hn_image_alloc(diag, &context->allocator, width, height, out));
  compose(to_image,
          (const double[6]){(double)in->width / (double)width, 0, 0, 0, (double)in->height / (double)height, 0});
  return hn_image_resize(diag, &context->allocator, step->filter, in, out);
}

/* As large as it fits with its own proportions, in the middle; halves of pixels go to the left and up. */
static hone_status letterbox(hone_context *context, const hn_image_step *step, const hn_image *in, hn_image *out,
                             double to_image[6]) {
  hone_diagnostics *diag = &context->diag;
  const hn_allocator *allocator = &context->allocator;
  const int64_t width = step->size.width, height = step->size.height;
  const double ratio = fmin((double)width / (double)in->width, (double)height / (double)in->height);
  hn_image inner;
  HN_TRY(hn_image_alloc(diag, allocator, (int64_t)fmax(1, nearbyint((double)in->width * ratio)),
                        (int64_t)fmax(1, nearbyint((double)in->height * ratio)), &inner));
  hone_status status = hn_image_resize(diag, allocator, step->filter, in, &inner);
  if (status == HONE_OK) status = hn_image_alloc(diag, allocator, width, height, out);
  const int64_t left = (width - inner.width) / 2, top = (height - inner.height) / 2;
  if (status == HONE_OK) {
    memset(out->pixels, step->fill, (size_t)width * (size_t)height * 3);
    for (int64_t y = 0; y < inner.height; ++y)
      memcpy(out->pixels + ((top + y) * width + left) * 3, inner.pixels + y * inner.width * 3, (size_t)inner.width * 3);
    const double across = (double)in->width / (double)inner.width, down = (double)in->height / (double)inner.height;
    compose(to_image, (const double[6]){across, 0, -(double)left * across, 0, down, -(double)top * down});
  }
  hn_image_free(allocator, &inner);
  return status;
}

/* Where a crop from the centre begins: halves go to the even number, as torchvision's do. */
static int64_t crop_offset(int64_t whole, int64_t part) {
  const int64_t twice = whole - part;
  return twice / 2 + (twice % 4 == 3);
}

static hone_status crop(hone_context *context, const hn_image_step *step, const hn_image *in, hn_image *out,
                        double to_image[6]) {
  const int64_t width = step->size.width, height = step->size.height;
  if (width > in->width || height > in->height)
    return HN_FAIL(&context->diag, HONE_INVALID, "a crop of %lld x %lld from an image of %lld x %lld pixels",
                   (long long)width, (long long)height, (long long)in->width, (long long)in->height);
  const int64_t left = crop_offset(in->width, width), top = crop_offset(in->height, height);
  HN_TRY(hn_image_alloc(&context->diag, &context->allocator, width, height, out));
  for (int64_t y = 0; y < height; ++y)
    memcpy(out->pixels + y * width * 3, in->pixels + ((top + y) * in->width + left) * 3, (size_t)width * 3);
  compose(to_image, (const double[6]){1, 0, (double)left, 0, 1, (double)top});
  return HONE_OK;
}

static int64_t within(int64_t at, int64_t extent) { return at < 0 ? 0 : at >= extent ? extent - 1 : at; }

/* One pixel between four; cut, not rounded, to bytes. */
static void sample(const hn_image *in, double x, double y, uint8_t *out) {
  const int64_t column = (int64_t)floor(x -= 0.5), row = (int64_t)floor(y -= 0.5);
  const double dx = x - (double)column, dy = y - (double)row;
  const uint8_t *above = in->pixels + within(row, in->height) * in->width * 3;
  const uint8_t *below = row + 1 >= 0 && row + 1 < in->height ? in->pixels + (row + 1) * in->width * 3 : above;
  const int64_t left = within(column, in->width) * 3, right = within(column + 1, in->width) * 3;
  for (int c = 0; c < 3; ++c) {
    const double a = above[left + c] + (above[right + c] - above[left + c]) * dx;
    const double b = below[left + c] + (below[right + c] - below[left + c]) * dx;
    out[c] = (uint8_t)(a + (b - a) * dy);
  }
}

static hone_status affine(hone_context *context, const hn_image_step *step, const hn_image *in, hn_image *out,
                          double to_image[6]) {
  const double *m = step->matrix;
  HN_TRY(hn_image_alloc(&context->diag, &context->allocator, step->size.width, step->size.height, out));
  for (int64_t row = 0; row < out->height; ++row)
    for (int64_t column = 0; column < out->width; ++column) {
      const double across = (double)column + 0.5, down = (double)row + 0.5;
      const double x = m[0] * across + m[1] * down + m[2], y = m[3] * across + m[4] * down + m[5];
      uint8_t *pixel = out->pixels + (row * out->width + column) * 3;
      if (x >= 0 && y >= 0 && x < (double)in->width && y < (double)in->height)
        sample(in, x, y, pixel);
      else
        memset(pixel, step->fill, 3);
    }
  compose(to_image, m);
  return HONE_OK;
}

/* ITU-R BT.601, in sixteenths of bits; still three bytes a pixel, so that later steps are the same. */
static hone_status grey(hone_context *context, const hn_image_step *step, const hn_image *in, hn_image *out,
                        double to_image[6]) {
  (void)step, (void)to_image;
  HN_TRY(hn_image_alloc(&context->diag, &context->allocator, in->width, in->height, out));
  for (int64_t i = 0; i < in->width * in->height; ++i) {
    const uint8_t *from = in->pixels + i * 3;
    memset(out->pixels + i * 3, (int)((from[0] * 19595u + from[1] * 38470u + from[2] * 7471u + 0x8000u) >> 16), 3);
  }
  return HONE_OK;
}

hone_status hn_recipe_image(const hone_recipe *recipe, hone_context *context, const hn_image *in, hn_image *out,
                            double to_image[6]) {
  static hone_status (*const run[])(hone_context *, const hn_image_step *, const hn_image *, hn_image *,
                                    double[6]) = {[HN_IMAGE_RESIZE] = resize,
                                                  [HN_IMAGE_LETTERBOX] = letterbox,
                                                  [HN_IMAGE_CROP] = crop,
                                                  [HN_IMAGE_AFFINE] = affine,
                                                  [HN_IMAGE_GREY] = grey};
  const hn_allocator *allocator = &context->allocator;
  hn_image now = *in;
  hone_status status = HONE_OK;
  *out = (hn_image){0};
  memcpy(to_image, (const double[6]){1, 0, 0, 0, 1, 0}, 6 * sizeof *to_image);
  for (int i = 0; i < recipe->step_count && status == HONE_OK; ++i) {
    const hn_image_step *step = &recipe->steps[i];
    hn_image next = {0};
    status = step->size.kind == HN_SIZE_INPUT
                 ? HN_FAIL(&context->diag, HONE_INVALID,
                           "the recipe's size is the input's, which is known when it is attached to a model")
                 : run[step->op](context, step, &now, &next, to_image);
    if (now.pixels != in->pixels) hn_image_free(allocator, &now);
    now = next;
  }
  if (status != HONE_OK) {
    hn_image_free(allocator, &now);
    return status;
  }
  if (now.pixels == in->pixels) {
    HN_TRY(hn_image_alloc(&context->diag, allocator, in->width, in->height, &now));
    memcpy(now.pixels, in->pixels, (size_t)in->width * (size_t)in->height * 3);
  }
  *out = now;
  return HONE_OK;
}

bool hn_recipe_is_grey(const hone_recipe *recipe) {
  for (int i = 0; i < recipe->step_count; ++i)
    if (recipe->steps[i].op == HN_IMAGE_GREY) return true;
  return false;
}

bool hn_recipe_size(const hone_recipe *recipe, int64_t *out_width, int64_t *out_height) {
  for (int i = recipe->step_count - 1; i >= 0; --i) {
    const hn_image_step *step = &recipe->steps[i];
    if (step->op == HN_IMAGE_GREY) continue;
    *out_width = step->size.width;
    *out_height = step->size.height;
    return step->size.kind == HN_SIZE_PIXELS;
  }
  return false;
}
