/* SPDX-License-Identifier: Apache-2.0 */
/* recipe.h - recipes: how a photo becomes a network's input, and what its outputs are. Text, one step a line
 * (docs/RECIPES.md). Attached to a graph, all that does not depend on the photo's size becomes nodes of it: the engine
 * takes bytes [N,H,W,3] and gives classes, boxes or a mask. What depends on it (resize, letterbox, crop, affine) is
 * done here, in bytes, with Pillow's arithmetic. */
#ifndef HONE_RECIPE_H
#define HONE_RECIPE_H

#include <hone/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_recipe hone_recipe; /* immutable but for its labels; read by any number of threads */

/* What an engine with a recipe gives. Extents: N images, K results an image, M results in all. */
typedef enum hone_recipe_kind {
  HONE_RECIPE_NONE,    /* the model's own outputs */
  HONE_RECIPE_CLASSES, /* scores f32 [N,K], best first, and classes i64 [N,K] */
  /* boxes f32 [M,4] as left, top, right, bottom in pixels of the prepared image; scores f32 [M]; classes i64 [M];
   * batch_indices i64 [M], which of the N it is in. M is known after the run. */
  HONE_RECIPE_BOXES,
  HONE_RECIPE_MASK /* mask u8 [N,H,W] of classes */
} hone_recipe_kind;

/* Reads a recipe. path: names it in messages, and files of labels are looked for beside it; NULL: they are looked for
 * where the process runs. *out_recipe is the caller's: hone_recipe_destroy().
 * Errors: INVALID (the message names file, line, word and what is allowed), IO (of labels), LIMIT, NO_MEMORY. */
HONE_API HONE_CHECKED hone_status hone_recipe_read(hone_context *context, const char *text, size_t length,
                                                   const char *path, hone_recipe **out_recipe);
/* Names of classes from a file: one a line, or columns parted by tabs of which the last is the name and a number before
 * it the class. They replace those that the recipe had. Errors: IO, LIMIT, NO_MEMORY. */
HONE_API HONE_CHECKED hone_status hone_recipe_read_labels(hone_recipe *recipe, const char *path);
HONE_API void hone_recipe_destroy(hone_recipe *recipe); /* NULL is fine; before its context */

/* Recipes that the library has, by number from 0; false after the last. Static texts; any of the three may be NULL. */
HONE_API bool hone_recipe_builtin(int index, const char **out_name, const char **out_doc, const char **out_text);

HONE_API hone_recipe_kind hone_recipe_kind_of(const hone_recipe *recipe);
HONE_API const char *hone_recipe_input(const hone_recipe *recipe);                /* NULL: none is named */
HONE_API const char *hone_recipe_label(const hone_recipe *recipe, int64_t index); /* NULL: it has no name */
HONE_API int64_t hone_recipe_label_count(const hone_recipe *recipe); /* one more than the last with a name */

/* A graph with the recipe's steps in front of it and behind it. The engine that is built of it keeps the recipe, with
 * its labels. A softmax is left out where the model's output is made by one (or by a sigmoid): a log line says so.
 *
 * Ownership  *out_graph is the caller's; the graph is not touched
 * Errors     INVALID    the recipe does not fit the model: an input or output that is not there, sizes, an output that
 *                       is no class scores, boxes or mask; the graph has a recipe already
 *            NO_MEMORY */
HONE_API HONE_CHECKED hone_status hone_graph_attach_recipe(const hone_graph *graph, const hone_recipe *recipe,
                                                           hone_graph **out_graph);
/* The recipe of an engine or a graph, with sizes as numbers and its labels; *out_recipe is NULL where there is none,
 * else the caller's. Errors: MALFORMED (of a damaged engine), NO_MEMORY. */
HONE_API HONE_CHECKED hone_status hone_engine_recipe(hone_context *context, const hone_engine *engine,
                                                     hone_recipe **out_recipe);
HONE_API HONE_CHECKED hone_status hone_graph_recipe(hone_context *context, const hone_graph *graph,
                                                    hone_recipe **out_recipe);
/* Writes it as text that hone_recipe_read() takes. Errors: IO (write returned false), NO_MEMORY. */
HONE_API HONE_CHECKED hone_status hone_recipe_print(const hone_recipe *recipe, hone_write_fn write, void *user);

/* An image as the recipe prepares it for the engine's input.
 *
 * rgb           width x height x 3 bytes, row by row
 * out_tensor    u8 [1,H,W,3], or [1,H,W,1] of a grey one; the caller's: hone_tensor_free()
 * out_to_image  where a point (x, y) of the prepared image lies in the given one, edges of pixels being whole numbers:
 *               (m[0] x + m[1] y + m[2], m[3] x + m[4] y + m[5]); NULL: not wanted
 * Errors        INVALID (the image is smaller than the crop; the recipe's size is the input's, and it was not
 * attached), NO_MEMORY */
HONE_API HONE_CHECKED hone_status hone_recipe_prepare(const hone_recipe *recipe, hone_context *context,
                                                      const uint8_t *rgb, int64_t width, int64_t height,
                                                      hone_tensor *out_tensor, double out_to_image[6]);

/* Resizes RGB bytes as Pillow does: Image.resize(), byte for byte. The filter's support grows with the reduction, as
 * antialiasing asks for; sums are whole numbers over 2^22, rounded to bytes after each direction.
 *
 * filter   "bilinear", "bicubic", "box", "hamming", "lanczos"
 * out_rgb  room for to_width x to_height x 3 bytes
 * Errors   INVALID (no such filter; extents outside of 1 to 32768), NO_MEMORY */
HONE_API HONE_CHECKED hone_status hone_image_resize(hone_context *context, const char *filter, const uint8_t *rgb,
                                                    int64_t width, int64_t height, int64_t to_width, int64_t to_height,
                                                    uint8_t *out_rgb);

#ifdef __cplusplus
}
#endif
#endif
