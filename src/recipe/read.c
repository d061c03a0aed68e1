/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - recipes as text: one step a line, by rows. Empty lines and what follows a # at a line's beginning are
 * skipped. */
#include "base/context.h"
#include "recipe/recipe.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const hn_decoder_names[HN_DECODER_COUNT] = {"yolov8", "yolov5", "ssd", "yunet"};
const char *const hn_box_format_names[HN_BOX_FORMAT_COUNT] = {"xyxy", "yxyx", "cxcywh", "xywh"};
const char *const hn_background_names[HN_BACKGROUND_COUNT] = {"none", "first", "last"};

typedef struct reader {
  hone_recipe *recipe;
  hone_diagnostics *diag;
  const char *path; /* NULL: not of a file */
  int line;
  char *at; /* the rest of the line */
  const struct step_row *row;
} reader;

typedef struct step_row {
  const char *word, *usage;
  uint32_t kinds; /* HONE_BIT of the kinds of recipe that it may stand in, behind the line that says the kind */
  bool often;     /* may stand more than once */
  hone_status (*read)(reader *r);
} step_row;

static hone_status fail(const reader *r, const char *format, ...) HONE_PRINTF(2, 3);
static hone_status fail(const reader *r, const char *format, ...) {
  char text[320];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return HN_FAIL(r->diag, r->recipe->kept ? HONE_MALFORMED : HONE_INVALID, "%s:%d: %s", r->path ? r->path : "recipe",
                 r->line, text);
}

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

/* The next word, ended in place; "" at the line's end. */
static char *next_word(reader *r) {
  while (is_blank(*r->at)) ++r->at;
  char *word = r->at;
  while (*r->at && !is_blank(*r->at)) ++r->at;
  if (*r->at) *r->at++ = 0;
  return word;
}

static hone_status end(reader *r) {
  const char *word = next_word(r);
  return *word ? fail(r, "%s: \"%s\" is too much; expected: %s %s", r->row->word, word, r->row->word, r->row->usage)
               : HONE_OK;
}

static hone_status keep(reader *r, const char *name, const char **out) {
  if (!hn_recipe_is_text(name)) return fail(r, "%s: the name is not UTF-8", r->row->word);
  *out = hn_arena_text(&r->recipe->arena, name);
  return *out ? HONE_OK : HN_FAIL_MEMORY(r->diag);
}

/* One of so many words. */
static hone_status choose(const reader *r, const char *what, const char *word, const char *const *names, int count,
                          int *out) {
  char allowed[128] = "";
  size_t used = 0;
  for (int i = 0; i < count; ++i) {
    if (strcmp(word, names[i]) == 0) {
      *out = i;
      return HONE_OK;
    }
    if (used < sizeof allowed)
      used += (size_t)snprintf(allowed + used, sizeof allowed - used, "%s%s", i ? ", " : "", names[i]);
  }
  return fail(r, "%s: the %s is \"%s\"; allowed: %s", r->row->word, what, word, allowed);
}

static hone_status read_number(const reader *r, const char *what, const char *text, double low, double high,
                               double *out) {
  char *stop;
  const double value = strtod(text, &stop);
  if (stop == text || *stop || !isfinite(value))
    return fail(r, "%s: the %s is \"%s\", which is no number", r->row->word, what, text);
  if (!(value >= low && value <= high))
    return fail(r, "%s: the %s is %s; allowed: %g to %g", r->row->word, what, text, low, high);
  *out = value;
  return HONE_OK;
}

static hone_status read_whole(const reader *r, const char *what, const char *text, int64_t low, int64_t high,
                              int64_t *out) {
  char *stop;
  const long long value = strtoll(text, &stop, 10);
  if (stop == text || *stop) return fail(r, "%s: the %s is \"%s\", which is no whole number", r->row->word, what, text);
  if (value < low || value > high)
    return fail(r, "%s: the %s is %s; allowed: %lld to %lld", r->row->word, what, text, (long long)low,
                (long long)high);
  *out = value;
  return HONE_OK;
}

/* ---- the image ---- */

static hone_status read_size(reader *r, bool may_be_short, hn_size *out) {
  const char *word = next_word(r), *forms = may_be_short ? "WxH, short:N or input" : "WxH or input";
  char *stop;
  if (strcmp(word, "input") == 0) {
    *out = (hn_size){.kind = HN_SIZE_INPUT};
    return HONE_OK;
  }
  if (may_be_short && strncmp(word, "short:", 6) == 0) {
    out->kind = HN_SIZE_SHORT;
    return read_whole(r, "shorter side", word + 6, 1, HN_IMAGE_MOST, &out->width);
  }
  const long long width = strtoll(word, &stop, 10);
  if (stop == word || *stop != 'x') return fail(r, "%s: the size is \"%s\"; expected: %s", r->row->word, word, forms);
  const char *behind = stop + 1;
  const long long height = strtoll(behind, &stop, 10);
  if (stop == behind || *stop) return fail(r, "%s: the size is \"%s\"; expected: %s", r->row->word, word, forms);
  if (width < 1 || height < 1 || width > HN_IMAGE_MOST || height > HN_IMAGE_MOST)
    return fail(r, "%s: the size is %s; allowed: 1 to %d each way", r->row->word, word, HN_IMAGE_MOST);
  *out = (hn_size){.kind = HN_SIZE_PIXELS, .width = width, .height = height};
  return HONE_OK;
}

static hone_status new_step(reader *r, hn_image_op op, hn_image_step **out) {
  hone_recipe *recipe = r->recipe;
  if (recipe->step_count == HN_RECIPE_STEPS)
    return fail(r, "%s: more than %d steps on the image", r->row->word, HN_RECIPE_STEPS);
  *out = &recipe->steps[recipe->step_count++];
  **out = (hn_image_step){.op = op, .filter = &hn_filters[0]};
  return HONE_OK;
}

static hone_status read_filter(const reader *r, const char *word, hn_image_step *step) {
  const char *names[8];
  int count = 0, found;
  for (const hn_filter *row = hn_filters; row->name; ++row) names[count++] = row->name;
  HN_TRY(choose(r, "filter", word, names, count, &found));
  step->filter = &hn_filters[found];
  return HONE_OK;
}

static hone_status read_fill(reader *r, hn_image_step *step) {
  int64_t fill;
  HN_TRY(read_whole(r, "fill", next_word(r), 0, 255, &fill));
  step->fill = (int)fill;
  return HONE_OK;
}

static hone_status read_input(reader *r) {
  const char *word = next_word(r);
  return *word ? keep(r, word, &r->recipe->input) : HONE_OK;
}

static hone_status read_resize(reader *r) {
  hn_image_step *step;
  HN_TRY(new_step(r, HN_IMAGE_RESIZE, &step));
  HN_TRY(read_size(r, true, &step->size));
  const char *word = next_word(r);
  return *word ? read_filter(r, word, step) : HONE_OK;
}

static hone_status read_letterbox(reader *r) {
  hn_image_step *step;
  HN_TRY(new_step(r, HN_IMAGE_LETTERBOX, &step));
  HN_TRY(read_size(r, false, &step->size));
  for (const char *word; *(word = next_word(r));)
    HN_TRY(strcmp(word, "fill") == 0 ? read_fill(r, step) : read_filter(r, word, step));
  return HONE_OK;
}

static hone_status read_crop(reader *r) {
  hn_image_step *step;
  HN_TRY(new_step(r, HN_IMAGE_CROP, &step));
  return read_size(r, false, &step->size);
}

/* Numbers between commas. */
static hone_status read_list(const reader *r, char *text, int count, double *out) {
  char *at = text;
  for (int i = 0; i < count; ++i) {
    char *comma = strchr(at, ',');
    if ((comma != NULL) != (i + 1 < count))
      return fail(r, "%s: expected %d numbers separated by commas", r->row->word, count);
    if (comma) *comma = 0;
    HN_TRY(read_number(r, "number", at, -1e30, 1e30, &out[i]));
    if (comma) at = comma + 1;
  }
  return HONE_OK;
}

static hone_status read_affine(reader *r) {
  hn_image_step *step;
  HN_TRY(new_step(r, HN_IMAGE_AFFINE, &step));
  HN_TRY(read_list(r, next_word(r), 6, step->matrix));
  HN_TRY(read_size(r, false, &step->size));
  const char *word = next_word(r);
  if (!*word) return HONE_OK;
  if (strcmp(word, "fill") != 0) return fail(r, "affine: \"%s\"; expected: affine %s", word, r->row->usage);
  return read_fill(r, step);
}

static hone_status read_grey(reader *r) {
  hn_image_step *step;
  return new_step(r, HN_IMAGE_GREY, &step);
}

static hone_status read_channels(reader *r) {
  static const char *const names[] = {"rgb", "bgr"};
  int found;
  HN_TRY(choose(r, "order", next_word(r), names, 2, &found));
  r->recipe->bgr = found == 1;
  return HONE_OK;
}

static hone_status read_layout(reader *r) {
  static const char *const names[] = {"nchw", "nhwc"};
  int found;
  HN_TRY(choose(r, "layout", next_word(r), names, 2, &found));
  r->recipe->layout = found == 1 ? HN_LAYOUT_NHWC : HN_LAYOUT_NCHW;
  return HONE_OK;
}

static hone_status read_scale(reader *r) {
  char *word = next_word(r), *stroke = strchr(word, '/');
  if (stroke) {
    *stroke = 0;
    HN_TRY(read_number(r, "divisor", stroke + 1, 1e-30, 1e30, &r->recipe->divisor));
  }
  HN_TRY(read_number(r, "factor", word, -1e30, 1e30, &r->recipe->scale));
  return r->recipe->scale != 0 ? HONE_OK : fail(r, "scale: the factor is 0");
}

/* One number for all channels, or three. */
static hone_status read_three(reader *r, double *out) {
  char *word = next_word(r);
  if (strchr(word, ',')) return read_list(r, word, 3, out);
  HN_TRY(read_number(r, "number", word, -1e30, 1e30, &out[0]));
  out[1] = out[2] = out[0];
  return HONE_OK;
}

static hone_status read_mean(reader *r) {
  r->recipe->has_mean = true;
  return read_three(r, r->recipe->mean);
}

static hone_status read_std(reader *r) {
  r->recipe->has_std = true;
  HN_TRY(read_three(r, r->recipe->std));
  for (int c = 0; c < 3; ++c)
    if (r->recipe->std[c] == 0) return fail(r, "std: a number is 0, and the image is divided by it");
  return HONE_OK;
}

/* ---- the outputs ---- */

static hone_status begin_kind(reader *r, hone_recipe_kind kind) {
  if (r->recipe->kind != HONE_RECIPE_NONE)
    return fail(r, "%s: the recipe says already what its output is", r->row->word);
  r->recipe->kind = kind;
  return HONE_OK;
}

static hone_status read_output(reader *r, hone_recipe_kind kind) {
  HN_TRY(begin_kind(r, kind));
  const char *word = next_word(r);
  return *word ? keep(r, word, &r->recipe->output) : HONE_OK;
}

static hone_status read_classes(reader *r) { return read_output(r, HONE_RECIPE_CLASSES); }
static hone_status read_mask(reader *r) { return read_output(r, HONE_RECIPE_MASK); }

static hone_status read_softmax(reader *r) {
  if (r->recipe->kind == HONE_RECIPE_BOXES && r->recipe->decoder != HN_SSD)
    return fail(r, "softmax: the scores of %s are no logits of exclusive classes",
                hn_decoder_names[r->recipe->decoder]);
  r->recipe->softmax = true;
  return HONE_OK;
}

static hone_status read_top(reader *r) { return read_whole(r, "count", next_word(r), 1, 1 << 20, &r->recipe->top); }

static hone_status read_ssd_key(reader *r, const char *key) {
  static const char *const keys[] = {"scores", "boxes", "format", "unit", "background"};
  static const char *const units[] = {"pixels", "relative"};
  hone_recipe *recipe = r->recipe;
  int which, found;
  HN_TRY(choose(r, "word", key, keys, 5, &which));
  const char *word = next_word(r);
  if (!*word) return fail(r, "boxes: nothing follows %s", key);
  if (which == 0) return keep(r, word, &recipe->output);
  if (which == 1) return keep(r, word, &recipe->boxes);
  if (which == 2) {
    HN_TRY(choose(r, "format", word, hn_box_format_names, HN_BOX_FORMAT_COUNT, &found));
    recipe->format = (hn_box_format)found;
  } else if (which == 3) {
    HN_TRY(choose(r, "unit", word, units, 2, &found));
    recipe->relative = found == 1;
  } else {
    HN_TRY(choose(r, "background", word, hn_background_names, HN_BACKGROUND_COUNT, &found));
    recipe->background = (hn_background)found;
  }
  return HONE_OK;
}

static hone_status read_boxes(reader *r) {
  hone_recipe *recipe = r->recipe;
  int found;
  HN_TRY(begin_kind(r, HONE_RECIPE_BOXES));
  HN_TRY(choose(r, "form", next_word(r), hn_decoder_names, HN_DECODER_COUNT, &found));
  recipe->decoder = (hn_decoder)found;
  if (recipe->decoder == HN_YUNET) return HONE_OK;
  const char *word = next_word(r);
  if (recipe->decoder != HN_SSD) return *word ? keep(r, word, &recipe->output) : HONE_OK;
  for (; *word; word = next_word(r)) HN_TRY(read_ssd_key(r, word));
  if (!recipe->output || !recipe->boxes)
    return fail(r, "boxes ssd: both outputs must be named: scores NAME boxes NAME");
  return HONE_OK;
}

static hone_status read_nms(reader *r) {
  static const char *const keys[] = {"score", "iou", "most"};
  hone_recipe *recipe = r->recipe;
  for (const char *key; *(key = next_word(r));) {
    int which;
    HN_TRY(choose(r, "word", key, keys, 3, &which));
    const char *word = next_word(r);
    if (which == 0) HN_TRY(read_number(r, "score", word, 0, 1, &recipe->score));
    if (which == 1) HN_TRY(read_number(r, "iou", word, 0, 1, &recipe->iou));
    if (which == 2) HN_TRY(read_whole(r, "count", word, 1, 1 << 20, &recipe->most));
  }
  return HONE_OK;
}

static hone_status read_threshold(reader *r) {
  return read_number(r, "threshold", next_word(r), -1e30, 1e30, &r->recipe->threshold);
}

/* ---- labels; names may hold blanks, so they are the rest of the line ---- */

static char *rest(reader *r) {
  while (is_blank(*r->at)) ++r->at;
  char *text = r->at;
  r->at += strlen(r->at);
  for (char *stop = r->at; stop > text && is_blank(stop[-1]);) *--stop = 0;
  return text;
}

static hone_status read_label(reader *r) {
  int64_t class;
  HN_TRY(read_whole(r, "class", next_word(r), 0, HN_LABEL_MOST - 1, &class));
  const char *name = rest(r);
  return *name ? hn_recipe_add_label(r->recipe, class, name) : fail(r, "label: the class has no name");
}

static hone_status read_labels(reader *r) {
  char path[4096];
  const char *name = rest(r), *slash = r->path && *name != '/' ? strrchr(r->path, '/') : NULL;
  if (!*name) return fail(r, "labels: no file is named");
  if (r->recipe->kept) return fail(r, "labels: an engine's recipe has its labels among its lines");
  const int length =
      snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash - r->path + 1) : 0, slash ? r->path : "", name);
  if (length < 0 || (size_t)length >= sizeof path) return fail(r, "labels: the path is too long");
  HN_TRY_NOTE(r->diag, hn_recipe_read_labels(r->recipe, path), "at %s:%d", r->path ? r->path : "recipe", r->line);
  return HONE_OK;
}

enum {
  ANY = 0xf,
  CLASSES = HONE_BIT(HONE_RECIPE_CLASSES),
  BOXES = HONE_BIT(HONE_RECIPE_BOXES),
  MASK = HONE_BIT(HONE_RECIPE_MASK)
};
static const step_row rows[] = {
    {"input", "[NAME]", ANY, false, read_input},
    {"resize", "WxH|short:N|input [FILTER]", ANY, true, read_resize},
    {"letterbox", "WxH|input [fill N] [FILTER]", ANY, true, read_letterbox},
    {"crop", "WxH|input", ANY, true, read_crop},
    {"affine", "A,B,C,D,E,F WxH|input [fill N]", ANY, true, read_affine},
    {"grey", "", ANY, false, read_grey},
    {"channels", "rgb|bgr", ANY, false, read_channels},
    {"scale", "X|X/Y", ANY, false, read_scale},
    {"mean", "X|R,G,B", ANY, false, read_mean},
    {"std", "X|R,G,B", ANY, false, read_std},
    {"layout", "nchw|nhwc", ANY, false, read_layout},
    {"classes", "[OUTPUT]", ANY, false, read_classes},
    {"softmax", "", CLASSES | BOXES, false, read_softmax},
    {"top", "K", CLASSES, false, read_top},
    {"boxes", "yolov8|yolov5 [OUTPUT] | yunet | ssd scores OUTPUT boxes OUTPUT ...", ANY, false, read_boxes},
    {"nms", "[score X] [iou X] [most N]", BOXES, false, read_nms},
    {"mask", "[OUTPUT]", ANY, false, read_mask},
    {"threshold", "X", MASK, false, read_threshold},
    {"label", "CLASS NAME", ANY, true, read_label},
    {"labels", "FILE", ANY, false, read_labels},
};

static hone_status find_row(const reader *r, const char *word, const step_row **out) {
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    *out = &rows[i];
    if (strcmp(rows[i].word, word) == 0) return HONE_OK;
  }
  char all[256] = "";
  size_t used = 0;
  for (size_t i = 0; i < HN_COUNT(rows) && used < sizeof all; ++i)
    used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", rows[i].word);
  return fail(r, "there is no step \"%s\"; allowed: %s", word, all);
}

static hone_status check_place(const reader *r, uint32_t *seen) {
  static const char *const kinds[] = {
      [HONE_RECIPE_CLASSES] = "classes", [HONE_RECIPE_BOXES] = "boxes", [HONE_RECIPE_MASK] = "mask"};
  const uint32_t bit = UINT32_C(1) << (r->row - rows);
  if (!r->row->often && (*seen & bit)) return fail(r, "%s stands in the recipe twice", r->row->word);
  *seen |= bit;
  if (r->row->kinds & HONE_BIT(r->recipe->kind)) return HONE_OK;
  int kind = HONE_RECIPE_CLASSES;
  while (!(r->row->kinds & HONE_BIT(kind))) ++kind;
  return fail(r, "%s stands behind %s, which says what the output is", r->row->word, kinds[kind]);
}

static hone_status read_line(reader *r, uint32_t *seen) {
  const char *word = next_word(r);
  if (!*word || *word == '#') return HONE_OK;
  HN_TRY(find_row(r, word, &r->row));
  HN_TRY(check_place(r, seen));
  HN_TRY(r->row->read(r));
  return end(r);
}

hone_status hn_recipe_parse(hone_recipe *recipe, const char *text, size_t length, const char *path) {
  reader r = {.recipe = recipe, .diag = &recipe->context->diag, .path = path};
  uint32_t seen = 0;
  recipe->scale = recipe->divisor = 1;
  for (int c = 0; c < 3; ++c) recipe->std[c] = 1;
  recipe->top = 5;
  recipe->score = 0.25;
  recipe->iou = 0.45;
  recipe->most = 300;
  recipe->threshold = 0.5;
  if (memchr(text, 0, length)) return fail(&r, "it holds a zero byte, so it is no text");
  char *copy = hn_arena_alloc(&recipe->arena, length + 1, 1);
  if (!copy) return HN_FAIL_MEMORY(r.diag);
  if (length > 0) memcpy(copy, text, length);
  copy[length] = 0;
  for (char *at = copy; at < copy + length;) {
    char *stop = at + strcspn(at, "\n");
    *stop = 0;
    if (stop > at && stop[-1] == '\r') stop[-1] = 0;
    ++r.line;
    r.at = at;
    at = stop + 1;
    HN_TRY(read_line(&r, &seen));
  }
  return HONE_OK;
}

hone_status hn_recipe_make(hone_context *context, const char *text, size_t length, const char *path, bool kept,
                           hone_recipe **out) {
  hone_recipe *recipe = hn_alloc_zero(&context->allocator, sizeof *recipe);
  if (!recipe) return HN_FAIL_MEMORY(&context->diag);
  recipe->context = context;
  recipe->kept = kept;
  hn_arena_init(&recipe->arena, context->allocator);
  const hone_status status = hn_recipe_parse(recipe, text, length, path);
  if (status == HONE_OK)
    *out = recipe;
  else
    hone_recipe_destroy(recipe);
  return status;
}
