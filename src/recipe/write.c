/* SPDX-License-Identifier: Apache-2.0 */
/* write.c - a recipe as text that reads back as the same. */
#include "recipe/recipe.h"

static void put_numbers(hn_text *out, const char *word, const double *numbers, int count, char between) {
  hn_text_add(out, word);
  for (int i = 0; i < count; ++i) {
    hn_text_add_bytes(out, i ? &between : " ", 1);
    hn_text_double(out, numbers[i]);
  }
}

static void put_size(hn_text *out, const hn_size *size) {
  switch (size->kind) {
  case HN_SIZE_PIXELS: hn_text_printf(out, " %lldx%lld", (long long)size->width, (long long)size->height); break;
  case HN_SIZE_SHORT: hn_text_printf(out, " short:%lld", (long long)size->width); break;
  case HN_SIZE_INPUT: hn_text_add(out, " input"); break;
  }
}

static void put_step(hn_text *out, const hn_image_step *step) {
  switch (step->op) {
  case HN_IMAGE_RESIZE:
    hn_text_add(out, "resize");
    put_size(out, &step->size);
    hn_text_printf(out, " %s\n", step->filter->name);
    break;
  case HN_IMAGE_LETTERBOX:
    hn_text_add(out, "letterbox");
    put_size(out, &step->size);
    hn_text_printf(out, " fill %d %s\n", step->fill, step->filter->name);
    break;
  case HN_IMAGE_CROP:
    hn_text_add(out, "crop");
    put_size(out, &step->size);
    hn_text_add(out, "\n");
    break;
  case HN_IMAGE_AFFINE:
    put_numbers(out, "affine", step->matrix, 6, ',');
    put_size(out, &step->size);
    hn_text_printf(out, " fill %d\n", step->fill);
    break;
  case HN_IMAGE_GREY: hn_text_add(out, "grey\n"); break;
  }
}

static void put_name(hn_text *out, const char *before, const char *name) {
  if (name) hn_text_printf(out, "%s%s", before, name);
}

static void put_input(hn_text *out, const hone_recipe *r) {
  hn_text_add(out, "input");
  put_name(out, " ", r->input);
  hn_text_add(out, "\n");
  for (int i = 0; i < r->step_count; ++i) put_step(out, &r->steps[i]);
  if (r->bgr) hn_text_add(out, "channels bgr\n");
  if (r->scale != 1 || r->divisor != 1) {
    hn_text_add(out, "scale ");
    hn_text_double(out, r->scale);
    if (r->divisor != 1) hn_text_add(out, "/");
    if (r->divisor != 1) hn_text_double(out, r->divisor);
    hn_text_add(out, "\n");
  }
  if (r->has_mean) put_numbers(out, "mean", r->mean, 3, ',');
  if (r->has_mean) hn_text_add(out, "\n");
  if (r->has_std) put_numbers(out, "std", r->std, 3, ',');
  if (r->has_std) hn_text_add(out, "\n");
  if (r->layout != HN_LAYOUT_BY_INPUT)
    hn_text_printf(out, "layout %s\n", r->layout == HN_LAYOUT_NHWC ? "nhwc" : "nchw");
}

static void put_boxes(hn_text *out, const hone_recipe *r) {
  hn_text_printf(out, "boxes %s", hn_decoder_names[r->decoder]);
  if (r->decoder == HN_SSD)
    hn_text_printf(out, " scores %s boxes %s format %s unit %s background %s", r->output, r->boxes,
                   hn_box_format_names[r->format], r->relative ? "relative" : "pixels",
                   hn_background_names[r->background]);
  else
    put_name(out, " ", r->output);
  hn_text_add(out, "\n");
  if (r->softmax) hn_text_add(out, "softmax\n");
  hn_text_add(out, "nms score ");
  hn_text_double(out, r->score);
  hn_text_add(out, " iou ");
  hn_text_double(out, r->iou);
  hn_text_printf(out, " most %lld\n", (long long)r->most);
}

static void put_mask(hn_text *out, const hone_recipe *r) {
  hn_text_add(out, "mask");
  put_name(out, " ", r->output);
  hn_text_add(out, "\nthreshold ");
  hn_text_double(out, r->threshold);
  hn_text_add(out, "\n");
}

void hn_recipe_write(const hone_recipe *recipe, hn_text *out) {
  put_input(out, recipe);
  if (recipe->kind == HONE_RECIPE_CLASSES) {
    hn_text_add(out, "classes");
    put_name(out, " ", recipe->output);
    hn_text_printf(out, "\n%stop %lld\n", recipe->softmax ? "softmax\n" : "", (long long)recipe->top);
  } else if (recipe->kind == HONE_RECIPE_BOXES) {
    put_boxes(out, recipe);
  } else if (recipe->kind == HONE_RECIPE_MASK) {
    put_mask(out, recipe);
  }
  for (int64_t i = 0; i < recipe->label_count; ++i)
    if (recipe->labels[i]) hn_text_printf(out, "label %lld %s\n", (long long)i, recipe->labels[i]);
}
