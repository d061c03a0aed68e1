/* SPDX-License-Identifier: Apache-2.0 */
/* image_read.c - PNG, JPEG and PPM files as RGB bytes, told apart by their first bytes. */
#include "cli.h"
#include <stdlib.h>
#include <string.h>
#ifdef HONE_HAVE_PNG
#include <png.h>
#endif
#ifdef HONE_HAVE_TURBOJPEG
#include <turbojpeg.h>
#endif

static const int64_t max_extent = 1 << 15; /* 32768 x 32768 x 3 bytes still fit where memory does */

typedef struct file_bytes {
  uint8_t *data;
  size_t count;
} file_bytes;

static hone_status read_file(hone_diagnostics *diag, const char *path, file_bytes *out) {
  *out = (file_bytes){0};
  const char *why;
  FILE *file = cli_open_input(path, &why);
  if (!file) return hone_fail(diag, HONE_IO, "%s: %s", path, why);
  long size = -1;
  if (fseek(file, 0, SEEK_END) == 0) size = ftell(file);
  if (size >= 0 && fseek(file, 0, SEEK_SET) == 0) out->data = malloc((size_t)size + 1);
  if (out->data) out->count = fread(out->data, 1, (size_t)size, file);
  fclose(file);
  if (size < 0) return hone_fail(diag, HONE_IO, "%s: its size cannot be found", path);
  if (!out->data) return hone_fail(diag, HONE_NO_MEMORY, "%s: %ld bytes", path, size);
  if (out->count == (size_t)size) return HONE_OK;
  free(out->data);
  return hone_fail(diag, HONE_IO, "%s: shorter than it said", path);
}

static hone_status allocate(hone_diagnostics *diag, const char *path, int64_t width, int64_t height, cli_image *out) {
  if (width < 1 || height < 1 || width > max_extent || height > max_extent)
    return hone_fail(diag, HONE_MALFORMED, "%s: %lld x %lld pixels; allowed: 1 to %lld each way", path,
                     (long long)width, (long long)height, (long long)max_extent);
  *out = (cli_image){.width = width, .height = height, .pixels = malloc((size_t)width * (size_t)height * 3)};
  return out->pixels ? HONE_OK : hone_fail(diag, HONE_NO_MEMORY, "%s: out of memory", path);
}

/* A number of a PPM header, comments skipped. */
static int64_t ppm_number(const file_bytes *file, size_t *at) {
  while (*at < file->count && (file->data[*at] == '#' || strchr(" \t\r\n", file->data[*at]))) {
    if (file->data[*at] == '#')
      while (*at < file->count && file->data[*at] != '\n') ++*at;
    else
      ++*at;
  }
  int64_t value = -1;
  while (*at < file->count && file->data[*at] >= '0' && file->data[*at] <= '9' && value < max_extent * 4)
    value = (value < 0 ? 0 : value * 10) + (file->data[(*at)++] - '0');
  return value;
}

/* P6: three bytes a pixel; P5: one, grey. */
static hone_status read_ppm(hone_diagnostics *diag, const char *path, const file_bytes *file, cli_image *out) {
  const size_t channels = file->data[1] == '6' ? 3 : 1;
  size_t at = 2;
  const int64_t width = ppm_number(file, &at), height = ppm_number(file, &at), top = ppm_number(file, &at);
  if (top < 1 || top > 255)
    return hone_fail(diag, HONE_MALFORMED, "%s: the largest value is %lld; allowed: 1 to 255", path, (long long)top);
  const hone_status status = allocate(diag, path, width, height, out);
  if (status != HONE_OK) return status;
  const size_t count = (size_t)width * (size_t)height;
  ++at; /* one blank ends the header */
  if (at > file->count || file->count - at < count * channels) {
    free(out->pixels);
    return hone_fail(diag, HONE_MALFORMED, "%s: fewer pixels than its header says", path);
  }
  for (size_t i = 0; i < count * 3; ++i) {
    const unsigned value = file->data[at + (channels == 3 ? i : i / 3)];
    out->pixels[i] = (uint8_t)((value > (unsigned)top ? (unsigned)top : value) * 255 / (unsigned)top);
  }
  return HONE_OK;
}

static hone_status read_png(hone_diagnostics *diag, const char *path, const file_bytes *file, cli_image *out) {
#ifdef HONE_HAVE_PNG
  png_image png = {.version = PNG_IMAGE_VERSION};
  if (!png_image_begin_read_from_memory(&png, file->data, file->count))
    return hone_fail(diag, HONE_MALFORMED, "%s: %s", path, png.message);
  png.format = PNG_FORMAT_RGB;
  hone_status status = allocate(diag, path, png.width, png.height, out);
  const png_color black = {0, 0, 0}; /* behind transparent pixels */
  if (status == HONE_OK && !png_image_finish_read(&png, &black, out->pixels, 0, NULL)) {
    free(out->pixels);
    status = hone_fail(diag, HONE_MALFORMED, "%s: %s", path, png.message);
  }
  png_image_free(&png);
  return status;
#else
  (void)file;
  (void)out;
  return hone_fail(diag, HONE_UNSUPPORTED, "%s: this build does not read PNG (libpng was not found)", path);
#endif
}

static hone_status read_jpeg(hone_diagnostics *diag, const char *path, const file_bytes *file, cli_image *out) {
#ifdef HONE_HAVE_TURBOJPEG
  const tjhandle handle = tjInitDecompress();
  if (!handle) return hone_fail(diag, HONE_NO_MEMORY, "%s: the JPEG reader does not start", path);
  int width = 0, height = 0, sampling = 0, colors = 0;
  hone_status status = HONE_OK;
  if (tjDecompressHeader3(handle, file->data, file->count, &width, &height, &sampling, &colors) != 0)
    status = hone_fail(diag, HONE_MALFORMED, "%s: %s", path, tjGetErrorStr2(handle));
  if (status == HONE_OK) status = allocate(diag, path, width, height, out);
  /* The exact transform and upsampling, as common image libraries decode by default. */
  if (status == HONE_OK &&
      tjDecompress2(handle, file->data, file->count, out->pixels, width, 0, height, TJPF_RGB, TJFLAG_ACCURATEDCT) !=
          0 &&
      (tjGetErrorCode(handle) != TJERR_WARNING || strstr(tjGetErrorStr2(handle), "Premature"))) {
    free(out->pixels);
    status = hone_fail(diag, HONE_MALFORMED, "%s: %s", path, tjGetErrorStr2(handle));
  }
  tjDestroy(handle);
  return status;
#else
  (void)file;
  (void)out;
  return hone_fail(diag, HONE_UNSUPPORTED, "%s: this build does not read JPEG (libturbojpeg was not found)", path);
#endif
}

typedef struct image_kind {
  const char *magic;
  size_t length;
  hone_status (*read)(hone_diagnostics *diag, const char *path, const file_bytes *file, cli_image *out);
} image_kind;
static const image_kind kinds[] = {
    {"\x89PNG\r\n\x1a\n", 8, read_png}, {"\xff\xd8\xff", 3, read_jpeg}, {"P6", 2, read_ppm}, {"P5", 2, read_ppm}};

static const image_kind *kind_of(const uint8_t *bytes, size_t count) {
  for (size_t i = 0; i < CLI_COUNT(kinds); ++i)
    if (count > kinds[i].length && memcmp(bytes, kinds[i].magic, kinds[i].length) == 0) {
      if (kinds[i].read != read_ppm || strchr(" \t\r\n#", bytes[2])) return &kinds[i];
    }
  return NULL;
}

bool cli_is_image(const char *path) {
  uint8_t begin[16];
  const char *why;
  FILE *file = cli_open_input(path, &why);
  if (!file) return false; /* whoever reads it says so */
  const size_t count = fread(begin, 1, sizeof begin, file);
  fclose(file);
  return kind_of(begin, count) != NULL;
}

hone_status cli_image_read(hone_diagnostics *diag, const char *path, cli_image *out) {
  *out = (cli_image){0};
  file_bytes file;
  hone_status status = read_file(diag, path, &file);
  if (status != HONE_OK) return status;
  const image_kind *kind = kind_of(file.data, file.count);
  status = kind ? kind->read(diag, path, &file, out)
                : hone_fail(diag, HONE_UNSUPPORTED, "%s: neither PNG, JPEG nor PPM", path);
  free(file.data);
  if (status != HONE_OK) *out = (cli_image){0};
  return status;
}
