/* SPDX-License-Identifier: Apache-2.0 */
/* recipe.h - recipes at the tool: attached by --recipe or found in an engine, photos prepared by them, results told and
 * drawn. The recipe and the photo are the tool's (cli_tool). */
#ifndef CLI_RECIPE_H
#define CLI_RECIPE_H

#include "cli.h"

/* ---- recipe.c ---- */
/* Does what --recipe asks for, if the command has it: *graph is another one then. */
hone_status cli_recipe_attach(cli_tool *cli, hone_graph **graph);
hone_status cli_recipe_attach_again(cli_tool *cli, const hone_engine *engine, hone_graph **graph); /* an engine's */
hone_status cli_recipe_of_engine(cli_tool *cli, const hone_engine *engine); /* becomes the tool's, if it has one */
/* --labels and --draw of a model that is open: without a recipe one is made of nothing but the names. Exit code. */
int cli_recipe_labels(cli_tool *cli);
void cli_recipe_close(cli_tool *cli);
/* Is the recipe the one that prepares images for this input? */
bool cli_recipe_prepares(const cli_tool *cli, const hone_port_info *port);
int cli_recipe_image(cli_tool *cli, const cli_image *image, hone_tensor *out); /* exit code */

/* ---- recipe_results.c ---- */
typedef struct cli_box {
  int64_t class, image;
  double score, left, top, right, bottom; /* in pixels of the photo */
} cli_box;
/* Has the open recipe results to tell? */
bool cli_recipe_tells(const cli_tool *cli);
/* Tells what a run found, with names; json: the fields "results". Draws where --draw asks for it. Exit code. */
int cli_recipe_give(cli_tool *cli, hone_session *session, bool json);

/* ---- recipe_draw.c; the canvas is the photo that was given ---- */
void cli_draw_box(cli_image *canvas, const cli_box *box, const char *name);
/* class_at: the class at a point of the photo; 0 is left as it is. */
void cli_draw_mask(cli_image *canvas, int64_t (*class_at)(const void *user, double x, double y), const void *user);
void cli_draw_text(cli_image *canvas, int64_t class, const char *text, int64_t left, int64_t top);
/* Writes a PNG under a temporary name, then renames it. Exit code. */
int cli_draw_write(const cli_image *canvas, const char *path);

#endif
