/* SPDX-License-Identifier: Apache-2.0 */
/* recipe_draw.c - boxes, names and masks drawn into a photo, which is written as PNG. */
#include "recipe.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef HONE_HAVE_PNG
#include <png.h>
#endif

typedef struct color {
  uint8_t rgb[3];
} color;

/* Neighbouring classes get hues far from each other: steps of the golden section around the circle. */
static color color_of(int64_t class) {
  const double turn = fmod((double)(class + 1) * 0.618033988749895, 1) * 6;
  color out;
  for (int c = 0; c < 3; ++c) {
    const double away = fabs(fmod(turn + (double)(6 - 2 * c), 6) - 3); /* 3 where the channel is full */
    out.rgb[c] = (uint8_t)(255 * fmin(fmax(away - 1, 0), 1));
  }
  return out;
}

static void put(cli_image *canvas, int64_t x, int64_t y, color with) {
  if (x >= 0 && y >= 0 && x < canvas->width && y < canvas->height)
    memcpy(canvas->pixels + (y * canvas->width + x) * 3, with.rgb, 3);
}

static void fill(cli_image *canvas, int64_t left, int64_t top, int64_t right, int64_t bottom, color with) {
  for (int64_t y = top < 0 ? 0 : top; y < bottom && y < canvas->height; ++y)
    for (int64_t x = left < 0 ? 0 : left; x < right && x < canvas->width; ++x) put(canvas, x, y, with);
}

/* Five rows of three dots, a digit of eight each; small letters are drawn as large ones. */
static const char *glyph_of(char c) {
  static const char letters[26][6] = {"25755", "65656", "34443", "65556", "74647", "74644", "34553", "55755", "72227",
                                      "11152", "55655", "44447", "57755", "65555", "25552", "65644", "25563", "65655",
                                      "34216", "72222", "55557", "55552", "55775", "55255", "55222", "71247"};
  static const char digits[10][6] = {"75557", "26227", "61247", "61216", "55711",
                                     "74616", "34652", "71222", "25252", "25316"};
  if (c >= 'a' && c <= 'z') return letters[c - 'a'];
  if (c >= 'A' && c <= 'Z') return letters[c - 'A'];
  if (c >= '0' && c <= '9') return digits[c - '0'];
  return c == '.' ? "00002" : c == '-' ? "00700" : c == '_' ? "00007" : "00000";
}

/* Dots are squares of a two-hundredth of the shorter side, two pixels at least. */
static int64_t dot_of(const cli_image *canvas) {
  const int64_t least = canvas->width < canvas->height ? canvas->width : canvas->height, dot = least / 200;
  return dot < 2 ? 2 : dot;
}

void cli_draw_text(cli_image *canvas, int64_t class, const char *text, int64_t left, int64_t top) {
  const int64_t dot = dot_of(canvas), length = (int64_t)strlen(text);
  const color behind = color_of(class);
  const bool bright = behind.rgb[0] * 3 + behind.rgb[1] * 6 + behind.rgb[2] > 1275; /* of 2550 */
  const color ink = bright ? (color){{0, 0, 0}} : (color){{255, 255, 255}};
  fill(canvas, left, top, left + (4 * length + 1) * dot, top + 7 * dot, behind);
  for (int64_t i = 0; i < length; ++i) {
    const char *glyph = glyph_of(text[i]);
    for (int row = 0; row < 5; ++row)
      for (int column = 0; column < 3; ++column) {
        const int64_t x = left + (4 * i + column + 1) * dot, y = top + (row + 1) * dot;
        if ((glyph[row] - '0') >> (2 - column) & 1) fill(canvas, x, y, x + dot, y + dot, ink);
      }
  }
}

void cli_draw_box(cli_image *canvas, const cli_box *box, const char *name) {
  const int64_t left = (int64_t)floor(box->left), top = (int64_t)floor(box->top), dot = dot_of(canvas);
  const int64_t right = (int64_t)ceil(box->right), bottom = (int64_t)ceil(box->bottom);
  const color with = color_of(box->class);
  char text[160];
  fill(canvas, left, top, right, top + dot, with);
  fill(canvas, left, bottom - dot, right, bottom, with);
  fill(canvas, left, top, left + dot, bottom, with);
  fill(canvas, right - dot, top, right, bottom, with);
  (void)snprintf(text, sizeof text, "%s %.2f", name, box->score);
  cli_draw_text(canvas, box->class, text, left, top >= 7 * dot ? top - 7 * dot : top);
}

void cli_draw_mask(cli_image *canvas, int64_t (*class_at)(const void *user, double x, double y), const void *user) {
  for (int64_t y = 0; y < canvas->height; ++y)
    for (int64_t x = 0; x < canvas->width; ++x) {
      const int64_t class = class_at(user, (double)x + 0.5, (double)y + 0.5);
      uint8_t *pixel = canvas->pixels + (y * canvas->width + x) * 3;
      if (class == 0) continue;
      const color with = color_of(class);
      for (int c = 0; c < 3; ++c) pixel[c] = (uint8_t)((pixel[c] + with.rgb[c]) / 2);
    }
}

int cli_draw_write(const cli_image *canvas, const char *path) {
#ifdef HONE_HAVE_PNG
  png_image png = {.version = PNG_IMAGE_VERSION,
                   .format = PNG_FORMAT_RGB,
                   .width = (png_uint_32)canvas->width,
                   .height = (png_uint_32)canvas->height};
  char temporary[4128];
  (void)snprintf(temporary, sizeof temporary, "%s.%ld.tmp", path, (long)getpid());
  const bool written = png_image_write_to_file(&png, temporary, 0, canvas->pixels, 0, NULL) != 0;
  if (written && rename(temporary, path) == 0) return CLI_EXIT_OK;
  cli_error("%s: %s", path, written ? strerror(errno) : png.message);
  (void)unlink(temporary);
  return CLI_EXIT_IO;
#else
  (void)canvas;
  cli_error("--draw %s: this build does not write PNG (libpng was not found)", path);
  return CLI_EXIT_UNSUPPORTED;
#endif
}
