/* SPDX-License-Identifier: Apache-2.0 */
/* recipe.h - a recipe as it is read: steps on the image in bytes, what the network wants of numbers, and what its
 * outputs are. */
#ifndef HN_RECIPE_RECIPE_H
#define HN_RECIPE_RECIPE_H

#include "base/diag.h"
#include "base/memory.h"
#include "base/text.h"
#include <hone/recipe.h>

enum { HN_RECIPE_STEPS = 16, HN_IMAGE_MOST = 1 << 15, HN_LABEL_MOST = 1 << 20 };

/* ---- filters (resize.c) ---- */
typedef struct hn_filter {
  const char *name;
  double support; /* in pixels of the smaller grid */
  double (*weight)(double x);
} hn_filter;
extern const hn_filter hn_filters[]; /* ends with name NULL */
const hn_filter *hn_filter_find(const char *name);

typedef struct hn_image {
  int64_t width, height;
  uint8_t *pixels; /* RGB */
} hn_image;
hone_status hn_image_alloc(hone_diagnostics *diag, const hn_allocator *allocator, int64_t width, int64_t height,
                           hn_image *out);
void hn_image_free(const hn_allocator *allocator, hn_image *image);
/* out has its size and memory. */
hone_status hn_image_resize(hone_diagnostics *diag, const hn_allocator *allocator, const hn_filter *filter,
                            const hn_image *in, hn_image *out);

/* ---- steps ---- */
typedef enum hn_size_kind { HN_SIZE_PIXELS, HN_SIZE_SHORT, HN_SIZE_INPUT } hn_size_kind;
typedef struct hn_size {
  hn_size_kind kind;
  int64_t width, height; /* SHORT: width is the shorter side; INPUT: not known before it is attached */
} hn_size;

typedef enum hn_image_op {
  HN_IMAGE_RESIZE,
  HN_IMAGE_LETTERBOX,
  HN_IMAGE_CROP,
  HN_IMAGE_AFFINE,
  HN_IMAGE_GREY
} hn_image_op;
typedef struct hn_image_step {
  hn_image_op op;
  hn_size size;
  const hn_filter *filter; /* resize, letterbox */
  int fill;                /* letterbox, affine: a grey */
  double matrix[6];        /* affine: from a point of the output to one of the input */
} hn_image_step;

typedef enum hn_recipe_layout { HN_LAYOUT_BY_INPUT, HN_LAYOUT_NCHW, HN_LAYOUT_NHWC } hn_recipe_layout;

/* ---- outputs ---- */
typedef enum hn_decoder { HN_YOLOV8, HN_YOLOV5, HN_SSD, HN_YUNET, HN_DECODER_COUNT } hn_decoder;
typedef enum hn_box_format { HN_BOX_XYXY, HN_BOX_YXYX, HN_BOX_CXCYWH, HN_BOX_XYWH, HN_BOX_FORMAT_COUNT } hn_box_format;
typedef enum hn_background {
  HN_BACKGROUND_NONE,
  HN_BACKGROUND_FIRST,
  HN_BACKGROUND_LAST,
  HN_BACKGROUND_COUNT
} hn_background;
extern const char *const hn_decoder_names[HN_DECODER_COUNT], *const hn_box_format_names[HN_BOX_FORMAT_COUNT],
                                                                 *const hn_background_names[HN_BACKGROUND_COUNT];

struct hone_recipe {
  hone_context *context;
  hn_arena arena;
  bool kept; /* read out of an engine: it names no files */
  /* the input */
  const char *input; /* NULL: the only one of rank 4 */
  int step_count;
  hn_image_step steps[HN_RECIPE_STEPS];
  bool bgr, has_mean, has_std;
  hn_recipe_layout layout;
  double scale, divisor; /* x * scale / divisor, then - mean, then / std */
  double mean[3], std[3];
  /* the outputs */
  hone_recipe_kind kind;
  const char *output; /* NULL: the only one */
  const char *boxes;  /* ssd: of the boxes; output is of the scores */
  bool softmax;
  int64_t top;
  hn_decoder decoder;
  hn_box_format format;
  hn_background background;
  bool relative; /* boxes in 0..1 of the input's extents, else in pixels */
  double score, iou;
  int64_t most;
  double threshold; /* of a mask of one channel */
  int64_t label_count, label_room;
  const char **labels; /* by class; NULL where there is none */
};

bool hn_recipe_is_grey(const hone_recipe *recipe);
/* The prepared size; false: it is the photo's to say. Sizes of INPUT are not known. */
bool hn_recipe_size(const hone_recipe *recipe, int64_t *out_width, int64_t *out_height);
bool hn_recipe_is_text(const char *text); /* UTF-8 without control characters: an engine's header takes it */
hone_status hn_recipe_add_label(hone_recipe *recipe, int64_t class, const char *name); /* keeps a copy */
hone_status hn_recipe_read_labels(hone_recipe *recipe, const char *path);              /* labels.c */
/* kept: the text is an engine's, and MALFORMED where it would be INVALID. */
hone_status hn_recipe_make(hone_context *context, const char *text, size_t length, const char *path, bool kept,
                           hone_recipe **out);
/* Reads into a recipe that is zero but for context, arena and kept. */
hone_status hn_recipe_parse(hone_recipe *recipe, const char *text, size_t length, const char *path);
void hn_recipe_write(const hone_recipe *recipe, hn_text *out);
/* The steps on the image (image.c). */
hone_status hn_recipe_image(const hone_recipe *recipe, hone_context *context, const hn_image *in, hn_image *out,
                            double to_image[6]);

typedef struct hn_builtin_recipe {
  const char *name, *doc, *text;
} hn_builtin_recipe;
extern const hn_builtin_recipe hn_builtin_recipes[]; /* ends with name NULL */

#endif
