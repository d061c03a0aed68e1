/* SPDX-License-Identifier: Apache-2.0 */
/* recipe.c - recipes: found by name or file, attached to models, and photos prepared by them. */
#include "recipe.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

const cli_option cli_recipe_options[] = {
    {"recipe", CLI_TEXT, "NAME|FILE",
     .doc =
         "how photos are prepared and what the outputs are, kept in the engine: imagenet, yolov8, yolov5, ultraface, "
         "yunet, deeplab, segmentation, or a file (docs/RECIPES.md)"},
    {"labels", CLI_TEXT, "FILE",
     .doc = "names of the classes: one per line, or tab-separated columns of class and name"},
    {0},
};

/* The text of a recipe by its name, or of a file, which the caller frees. */
static hone_status find_text(cli_tool *cli, const char *given, char **out, const char **out_path) {
  hone_diagnostics *diag = hone_context_diagnostics(cli->context);
  const char *name, *text, *why;
  char names[160] = "";
  size_t used = 0;
  *out_path = NULL;
  for (int i = 0; hone_recipe_builtin(i, &name, NULL, &text); ++i) {
    if (strcmp(name, given) == 0) {
      *out = strdup(text);
      return *out ? HONE_OK : hone_fail(diag, HONE_NO_MEMORY, "out of memory");
    }
    if (used < sizeof names) used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", name);
  }
  FILE *file = cli_open_input(given, &why);
  if (!file && errno == ENOENT)
    return hone_fail(diag, HONE_IO, "--recipe %s: there is no such file, and the built-in recipes are %s", given,
                     names);
  if (!file) return hone_fail(diag, HONE_IO, "--recipe %s: %s", given, why);
  enum { MOST = 1 << 24 };
  *out = malloc(MOST + 1);
  const size_t length = *out ? fread(*out, 1, MOST, file) : 0;
  const bool whole = *out && length < MOST && !ferror(file);
  fclose(file);
  if (whole) {
    (*out)[length] = 0;
    *out_path = given;
    return HONE_OK;
  }
  const bool memory = !*out;
  free(*out);
  return memory ? hone_fail(diag, HONE_NO_MEMORY, "out of memory")
                : hone_fail(diag, HONE_IO, "--recipe %s: it cannot be read, or is no recipe", given);
}

static hone_status read_recipe(cli_tool *cli, const char *given, hone_recipe **out) {
  char *text = NULL;
  const char *path;
  hone_status status = find_text(cli, given, &text, &path);
  if (status != HONE_OK) return status;
  status = hone_recipe_read(cli->context, text, strlen(text), path, out);
  free(text);
  const char *labels = cli_text(cli, "labels");
  if (status == HONE_OK && labels) status = hone_recipe_read_labels(*out, labels);
  return status;
}

/* Takes the recipe; *graph is the one that has it. */
static hone_status attach(hone_recipe *recipe, hone_graph **graph) {
  hone_graph *made = NULL;
  const hone_status status = hone_graph_attach_recipe(*graph, recipe, &made);
  hone_recipe_destroy(recipe);
  if (status != HONE_OK) return status;
  hone_graph_destroy(*graph);
  *graph = made;
  return HONE_OK;
}

hone_status cli_recipe_attach(cli_tool *cli, hone_graph **graph) {
  const char *given = cli_takes(cli->command, "recipe") ? cli_text(cli, "recipe") : NULL;
  hone_recipe *recipe = NULL;
  if (!given) return HONE_OK;
  hone_status status = read_recipe(cli, given, &recipe);
  if (status == HONE_OK)
    status = attach(recipe, graph);
  else
    hone_recipe_destroy(recipe);
  if (status != HONE_OK) return status;
  cli_recipe_close(cli);
  return hone_graph_recipe(cli->context, *graph, &cli->recipe);
}

hone_status cli_recipe_attach_again(cli_tool *cli, const hone_engine *engine, hone_graph **graph) {
  hone_recipe *recipe;
  const hone_status status = hone_engine_recipe(cli->context, engine, &recipe);
  return status == HONE_OK && recipe ? attach(recipe, graph) : status;
}

hone_status cli_recipe_of_engine(cli_tool *cli, const hone_engine *engine) {
  cli_recipe_close(cli);
  return hone_engine_recipe(cli->context, engine, &cli->recipe);
}

int cli_recipe_labels(cli_tool *cli) {
  const char *labels = cli_text(cli, "labels");
  if (cli_has(cli, "draw") && !cli_recipe_tells(cli))
    return cli_usage_error(cli, "--draw draws what a recipe says of the outputs, and there is none: --recipe NAME");
  if (!labels) return CLI_EXIT_OK;
  hone_status status = cli->recipe ? HONE_OK : hone_recipe_read(cli->context, "", 0, NULL, &cli->recipe);
  if (status == HONE_OK) status = hone_recipe_read_labels(cli->recipe, labels);
  return status == HONE_OK ? CLI_EXIT_OK : cli_fail(cli, status);
}

void cli_recipe_close(cli_tool *cli) {
  hone_recipe_destroy(cli->recipe);
  free(cli->photo.pixels);
  cli->recipe = NULL;
  cli->photo = (cli_image){0};
}

bool cli_recipe_prepares(const cli_tool *cli, const hone_port_info *port) {
  const char *input = cli->recipe ? hone_recipe_input(cli->recipe) : NULL;
  return input && port->type.dtype == HONE_U8 && strcmp(input, port->name) == 0;
}

/* What the recipe says cannot be said again. */
static int check_idle(const cli_tool *cli) {
  for (int i = 0; i < cli->given_count; ++i)
    for (const cli_option *row = cli_image_options; row->name; ++row)
      if (row == cli->given[i].option) return cli_usage_error(cli, "--%s: the recipe prepares the images", row->name);
  return CLI_EXIT_OK;
}

int cli_recipe_image(cli_tool *cli, const cli_image *image, hone_tensor *out) {
  const int code = check_idle(cli);
  if (code != CLI_EXIT_OK) return code;
  const size_t bytes = (size_t)image->width * (size_t)image->height * 3;
  uint8_t *kept = malloc(bytes);
  if (!kept) {
    cli_error("out of memory for the image");
    return CLI_EXIT_NO_MEMORY;
  }
  memcpy(kept, image->pixels, bytes);
  free(cli->photo.pixels);
  cli->photo = (cli_image){image->width, image->height, kept};
  const hone_status status =
      hone_recipe_prepare(cli->recipe, cli->context, image->pixels, image->width, image->height, out, cli->to_photo);
  if (status != HONE_OK) return cli_fail(cli, status);
  cli->prepared_height = out->type.shape.dim[1];
  cli->prepared_width = out->type.shape.dim[2];
  return CLI_EXIT_OK;
}
