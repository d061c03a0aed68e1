/* SPDX-License-Identifier: Apache-2.0 */
/* image_prepare.c - an image as a network wants it: resized, cropped, scaled, normalised, laid out.
 *
 * Resizing gives Pillow's bytes (hone_image_resize) and cropping torchvision's place, so that networks see what they
 * were trained with. Where the model has a recipe, that says all this. */
#include "recipe.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct preparation {
  int64_t resize_width, resize_height, resize_short; /* short > 0 wins */
  int64_t crop_width, crop_height;
  double mean[3], std[3], scale;
  bool channels_last, bgr;
  int64_t channels, width, height; /* of the input */
} preparation;

static int resize(cli_tool *cli, const cli_image *image, int64_t width, int64_t height, cli_image *out) {
  *out = (cli_image){.width = width, .height = height, .pixels = malloc((size_t)width * (size_t)height * 3)};
  if (!out->pixels) {
    cli_error("out of memory for the resized image");
    return CLI_EXIT_NO_MEMORY;
  }
  const hone_status status = hone_image_resize(cli->context, "bilinear", image->pixels, image->width, image->height,
                                               width, height, out->pixels);
  if (status == HONE_OK) return CLI_EXIT_OK;
  free(out->pixels);
  return cli_fail(cli, status);
}

static bool parse_size(const char *text, int64_t *width, int64_t *height) {
  char *end;
  *width = strtoll(text, &end, 10);
  if (*end != 'x') return false;
  *height = strtoll(end + 1, &end, 10);
  return *end == 0 && *width > 0 && *height > 0 && *width <= 1 << 15 && *height <= 1 << 15;
}

static int parse_three(cli_tool *cli, const char *option, double *out) {
  const char *text = cli_text(cli, option);
  if (!text) return CLI_EXIT_OK;
  const char *at = text;
  for (int c = 0; c < 3; ++c) {
    char *end;
    out[c] = strtod(at, &end);
    if (end == at || (*end != (c < 2 ? ',' : 0) && !(c == 0 && *end == 0)))
      return cli_usage_error(cli, "--%s expects one number or three separated by commas, not \"%s\"", option, text);
    if (*end == 0) { /* one for all */
      if (c == 0) out[1] = out[2] = out[0];
      break;
    }
    at = end + 1;
  }
  return CLI_EXIT_OK;
}

static int choice(cli_tool *cli, const char *option, const char *first, const char *second, bool *is_second) {
  const char *text = cli_text(cli, option);
  if (!text) return CLI_EXIT_OK;
  if (strcasecmp(text, first) != 0 && strcasecmp(text, second) != 0)
    return cli_usage_error(cli, "--%s is %s or %s, not \"%s\"", option, first, second, text);
  *is_second = strcasecmp(text, second) == 0;
  return CLI_EXIT_OK;
}

static int read_sizes(cli_tool *cli, preparation *p) {
  const char *text = cli_text(cli, "resize");
  if (text && strncmp(text, "short:", 6) == 0) {
    p->resize_short = strtoll(text + 6, NULL, 10);
    if (p->resize_short < 1 || p->resize_short > 1 << 15)
      return cli_usage_error(cli, "--resize short:N expects N from 1 to 32768, not \"%s\"", text);
  } else if (text && !parse_size(text, &p->resize_width, &p->resize_height)) {
    return cli_usage_error(cli, "--resize expects WxH or short:N, not \"%s\"", text);
  }
  text = cli_text(cli, "crop");
  if (text && !parse_size(text, &p->crop_width, &p->crop_height))
    return cli_usage_error(cli, "--crop expects WxH, not \"%s\"", text);
  return CLI_EXIT_OK;
}

static int read_preparation(cli_tool *cli, const hone_port_info *port, preparation *p) {
  const hone_shape *shape = &port->type.shape;
  const uint32_t real = HONE_TYPES_FLOAT;
  *p = (preparation){.std = {1, 1, 1}};
  if (shape->rank != 4 && shape->rank != 3)
    return cli_usage_error(cli, "input %s has rank %d; an image needs 4 (or 3, without the batch)", port->name,
                           shape->rank);
  const int64_t *dim = shape->dim + (shape->rank - 3);
  const bool first = dim[0] == 1 || dim[0] == 3, last = dim[2] == 1 || dim[2] == 3;
  p->channels_last = last && !first;
  p->scale = cli_real(cli, "scale", HONE_BIT(port->type.dtype) & real ? 1.0 / 255 : 1);
  int code = read_sizes(cli, p);
  if (code == CLI_EXIT_OK) code = parse_three(cli, "mean", p->mean);
  if (code == CLI_EXIT_OK) code = parse_three(cli, "std", p->std);
  if (code == CLI_EXIT_OK) code = choice(cli, "layout", "nchw", "nhwc", &p->channels_last);
  if (code == CLI_EXIT_OK) code = choice(cli, "channels", "rgb", "bgr", &p->bgr);
  if (code != CLI_EXIT_OK) return code;
  for (int c = 0; c < 3; ++c)
    if (p->std[c] == 0) return cli_usage_error(cli, "--std may not be 0");
  p->channels = p->channels_last ? dim[2] : dim[0];
  p->height = p->channels_last ? dim[0] : dim[1];
  p->width = p->channels_last ? dim[1] : dim[2];
  if (p->channels < 0) p->channels = 3;
  if (p->channels != 3 && p->channels != 1)
    return cli_usage_error(cli, "input %s has %lld channels; an image has 1 or 3", port->name, (long long)p->channels);
  return CLI_EXIT_OK;
}

/* The sizes of the steps, from the options, the input and the image. */
static int settle_sizes(cli_tool *cli, const hone_port_info *port, const cli_image *image, preparation *p) {
  const int64_t want_width = p->crop_width ? p->crop_width : p->width;
  const int64_t want_height = p->crop_height ? p->crop_height : p->height;
  if (p->resize_short > 0) {
    const int64_t least = image->width < image->height ? image->width : image->height;
    p->resize_width = p->resize_short * image->width / least; /* the longer side is rounded down */
    p->resize_height = p->resize_short * image->height / least;
  } else if (p->resize_width == 0) {
    const bool cropped_only = p->crop_width > 0;
    p->resize_width = cropped_only || want_width < 0 ? image->width : want_width;
    p->resize_height = cropped_only || want_height < 0 ? image->height : want_height;
  }
  p->crop_width = want_width < 0 ? p->resize_width : want_width;
  p->crop_height = want_height < 0 ? p->resize_height : want_height;
  if (p->crop_width > p->resize_width || p->crop_height > p->resize_height)
    return cli_usage_error(cli, "%lld x %lld pixels are wanted, but after resizing there are %lld x %lld",
                           (long long)p->crop_width, (long long)p->crop_height, (long long)p->resize_width,
                           (long long)p->resize_height);
  if ((p->width >= 0 && p->crop_width != p->width) || (p->height >= 0 && p->crop_height != p->height))
    return cli_usage_error(cli, "input %s expects %lld x %lld pixels; the options make %lld x %lld", port->name,
                           (long long)p->width, (long long)p->height, (long long)p->crop_width,
                           (long long)p->crop_height);
  return CLI_EXIT_OK;
}

/* Where a crop from the centre begins: halves go to the even number, as torchvision's do. */
static int64_t crop_offset(int64_t whole, int64_t part) {
  const int64_t twice = whole - part;
  return twice / 2 + (twice % 4 == 3);
}

static double pixel_value(const preparation *p, double byte, int channel) {
  return (byte * p->scale - p->mean[channel]) / p->std[channel];
}

/* Three channels of f32: what becomes of each byte is known before. */
static void write_floats(const preparation *p, const uint8_t *first, int64_t row_bytes, float *to) {
  float values[3][256];
  for (int c = 0; c < 3; ++c)
    for (int byte = 0; byte < 256; ++byte) values[c][byte] = (float)pixel_value(p, byte, c);
  const int64_t plane = p->crop_width * p->crop_height;
  for (int64_t y = 0; y < p->crop_height; ++y)
    for (int64_t x = 0; x < p->crop_width; ++x)
      for (int c = 0; c < 3; ++c) {
        const int from = p->bgr ? 2 - c : c;
        const int64_t at = y * p->crop_width + x;
        to[p->channels_last ? at * 3 + c : c * plane + at] = values[from][first[y * row_bytes + x * 3 + from]];
      }
}

static void write_pixels(const preparation *p, const cli_image *image, hone_tensor *out) {
  const int64_t left = crop_offset(image->width, p->crop_width), top = crop_offset(image->height, p->crop_height);
  const int64_t row_bytes = image->width * 3;
  const uint8_t *first = image->pixels + top * row_bytes + left * 3;
  if (out->type.dtype == HONE_F32 && p->channels == 3) {
    write_floats(p, first, row_bytes, out->data);
    return;
  }
  for (int64_t y = 0; y < p->crop_height; ++y)
    for (int64_t x = 0; x < p->crop_width; ++x) {
      const uint8_t *pixel = first + y * row_bytes + x * 3;
      for (int64_t c = 0; c < p->channels; ++c) {
        const int from = (int)(p->bgr ? 2 - c : c);
        double value = pixel[from];
        if (p->channels == 1) value = 0.299 * pixel[0] + 0.587 * pixel[1] + 0.114 * pixel[2]; /* ITU-R BT.601 */
        const int64_t at =
            p->channels_last ? (y * p->crop_width + x) * p->channels + c : (c * p->crop_height + y) * p->crop_width + x;
        hone_tensor_set_real(out, at, pixel_value(p, value, from));
      }
    }
}

int cli_image_to_tensor(cli_tool *cli, const cli_image *image, const hone_port_info *port, hone_tensor *out) {
  if (cli_recipe_prepares(cli, port)) return cli_recipe_image(cli, image, out);
  preparation p;
  int code = read_preparation(cli, port, &p);
  if (code == CLI_EXIT_OK) code = settle_sizes(cli, port, image, &p);
  if (code != CLI_EXIT_OK) return code;
  hone_type type = port->type;
  int64_t *dim = type.shape.dim + (type.shape.rank - 3);
  if (type.shape.rank == 4) type.shape.dim[0] = 1;
  dim[p.channels_last ? 2 : 0] = p.channels;
  dim[p.channels_last ? 0 : 1] = p.crop_height;
  dim[p.channels_last ? 1 : 2] = p.crop_width;
  if (type.shape.rank == 4 && port->type.shape.dim[0] > 1)
    return cli_usage_error(cli, "input %s has a batch of %lld; one image was given", port->name,
                           (long long)port->type.shape.dim[0]);
  cli_image resized = *image;
  if (p.resize_width != image->width || p.resize_height != image->height)
    code = resize(cli, image, p.resize_width, p.resize_height, &resized);
  if (code != CLI_EXIT_OK) return code;
  const hone_status status = hone_tensor_alloc(cli->context, &type, out);
  if (status == HONE_OK) write_pixels(&p, &resized, out);
  if (resized.pixels != image->pixels) free(resized.pixels);
  return status == HONE_OK ? CLI_EXIT_OK : cli_fail(cli, status);
}
