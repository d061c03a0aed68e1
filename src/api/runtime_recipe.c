/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_recipe.c - recipes for users: read, looked at, and photos prepared by them. */
#include "api/engine.h"
#include "base/arguments.h"
#include "recipe/recipe.h"
#include "tensor/shape.h"
#include <hone/tensor_io.h>
#include <string.h>

hone_status hone_recipe_read(hone_context *context, const char *text, size_t length, const char *path,
                             hone_recipe **out_recipe) {
  if (out_recipe) *out_recipe = NULL;
  HN_GIVEN(NULL, context);
  HN_GIVEN(&context->diag, text);
  HN_GIVEN(&context->diag, out_recipe);
  hn_call_begin(context);
  return hn_recipe_make(context, text, length, path, false, out_recipe);
}

hone_status hone_recipe_read_labels(hone_recipe *recipe, const char *path) {
  HN_GIVEN(NULL, recipe);
  HN_GIVEN(&recipe->context->diag, path);
  hn_call_begin(recipe->context);
  return hn_recipe_read_labels(recipe, path);
}

void hone_recipe_destroy(hone_recipe *recipe) {
  if (!recipe) return;
  const hn_allocator allocator = recipe->context->allocator;
  hn_arena_deinit(&recipe->arena);
  hn_free(&allocator, recipe, sizeof *recipe);
}

bool hone_recipe_builtin(int index, const char **out_name, const char **out_doc, const char **out_text) {
  for (int i = 0; hn_builtin_recipes[i].name; ++i) {
    if (i != index) continue;
    if (out_name) *out_name = hn_builtin_recipes[i].name;
    if (out_doc) *out_doc = hn_builtin_recipes[i].doc;
    if (out_text) *out_text = hn_builtin_recipes[i].text;
    return true;
  }
  return false;
}

hone_recipe_kind hone_recipe_kind_of(const hone_recipe *recipe) { return recipe ? recipe->kind : HONE_RECIPE_NONE; }
const char *hone_recipe_input(const hone_recipe *recipe) { return recipe ? recipe->input : NULL; }
int64_t hone_recipe_label_count(const hone_recipe *recipe) { return recipe ? recipe->label_count : 0; }

const char *hone_recipe_label(const hone_recipe *recipe, int64_t index) {
  return recipe && index >= 0 && index < recipe->label_count ? recipe->labels[index] : NULL;
}

hone_status hone_engine_recipe(hone_context *context, const hone_engine *engine, hone_recipe **out_recipe) {
  if (out_recipe) *out_recipe = NULL;
  HN_GIVEN(NULL, context);
  HN_GIVEN(&context->diag, engine);
  HN_GIVEN(&context->diag, out_recipe);
  hn_call_begin(context);
  const char *text = engine->schedules->recipe;
  return text ? hn_recipe_make(context, text, strlen(text), "the engine's recipe", true, out_recipe) : HONE_OK;
}

hone_status hone_recipe_print(const hone_recipe *recipe, hone_write_fn write, void *user) {
  HN_GIVEN(NULL, recipe);
  HN_GIVEN(&recipe->context->diag, write);
  hn_text text;
  hn_text_init(&text, recipe->context->allocator);
  hn_recipe_write(recipe, &text);
  hone_status status = text.failed ? HN_FAIL_MEMORY(&recipe->context->diag) : HONE_OK;
  if (status == HONE_OK && !write(user, hn_text_string(&text), text.length))
    status = HN_FAIL(&recipe->context->diag, HONE_IO, "the text could not be written");
  hn_text_deinit(&text);
  return status;
}

static hone_status check_extents(hone_context *context, const char *what, int64_t width, int64_t height) {
  HN_TRY_NOTE(&context->diag, hn_argument_range(&context->diag, "width", width, 1, HN_IMAGE_MOST), "of %s", what);
  HN_TRY_NOTE(&context->diag, hn_argument_range(&context->diag, "height", height, 1, HN_IMAGE_MOST), "of %s", what);
  return HONE_OK;
}

hone_status hone_recipe_prepare(const hone_recipe *recipe, hone_context *context, const uint8_t *rgb, int64_t width,
                                int64_t height, hone_tensor *out_tensor, double out_to_image[6]) {
  HN_GIVEN(NULL, context);
  HN_GIVEN(&context->diag, recipe);
  HN_GIVEN(&context->diag, rgb);
  HN_GIVEN(&context->diag, out_tensor);
  *out_tensor = (hone_tensor){0};
  HN_TRY(check_extents(context, "the image", width, height));
  hn_call_begin(context);
  double to_image[6];
  hn_image image;
  const hn_image given = {width, height, (uint8_t *)(uintptr_t)rgb}; /* read alone */
  HN_TRY(hn_recipe_image(recipe, context, &given, &image, to_image));
  const int64_t channels = hn_recipe_is_grey(recipe) ? 1 : 3, dims[4] = {1, image.height, image.width, channels};
  const hone_type type = {.kind = HONE_TENSOR, .dtype = HONE_U8, .shape = hn_shape(4, dims)};
  const hone_status status = hone_tensor_alloc(context, &type, out_tensor);
  const int64_t count = image.width * image.height;
  if (status == HONE_OK && channels == 3) memcpy(out_tensor->data, image.pixels, (size_t)count * 3);
  for (int64_t i = 0; status == HONE_OK && channels == 1 && i < count; ++i)
    ((uint8_t *)out_tensor->data)[i] = image.pixels[i * 3];
  if (status == HONE_OK && out_to_image) memcpy(out_to_image, to_image, sizeof to_image);
  hn_image_free(&context->allocator, &image);
  return status;
}

hone_status hone_image_resize(hone_context *context, const char *filter, const uint8_t *rgb, int64_t width,
                              int64_t height, int64_t to_width, int64_t to_height, uint8_t *out_rgb) {
  HN_GIVEN(NULL, context);
  HN_GIVEN(&context->diag, filter);
  HN_GIVEN(&context->diag, rgb);
  HN_GIVEN(&context->diag, out_rgb);
  HN_TRY(check_extents(context, "the image", width, height));
  HN_TRY(check_extents(context, "the new image", to_width, to_height));
  hn_call_begin(context);
  const hn_filter *row = hn_filter_find(filter);
  if (!row)
    return HN_FAIL(&context->diag, HONE_INVALID,
                   "there is no filter %s; allowed: bilinear, bicubic, box, hamming, lanczos", filter);
  const hn_image in = {width, height, (uint8_t *)(uintptr_t)rgb}; /* read alone */
  hn_image out = {to_width, to_height, out_rgb};
  return hn_image_resize(&context->diag, &context->allocator, row, &in, &out);
}
