/* SPDX-License-Identifier: Apache-2.0 */
/* command_bisect.c - hone bisect: why an engine's outputs are not those of its model. Types, tactics and passes are
 * taken back one kind after the other; the first kind without which the outputs are right is at fault, and the smallest
 * set of its members that must be taken back (search.h) is named with the command that does so. */
#include "bisect.h"
#include <stdlib.h>
#include <string.h>

const cli_option cli_bisect_options[] = {
    {"tolerance", CLI_REAL, "X",
     .doc = "the relative L2 that outputs may be from the reference's, on the model as it was read; default 1e-4",
     .high = 1e6},
    {"builds", CLI_INT, "N", .doc = "the most builds that are made; default: any number", .low = 1, .high = 1e6},
    {0},
};

/* ---- the search ---- */

static int ask(void *user, const bool *in, int count) {
  cli_bisect *b = user;
  bool right;
  (void)count;
  const int code = cli_bisect_try_build(b, b->asked, in, &right);
  if (code != CLI_EXIT_OK) return code;
  return right ? CLI_SEARCH_HOLDS : CLI_SEARCH_FAILS;
}

static int search(cli_bisect *b, cli_finding *f) {
  f->in = malloc((size_t)b->item_count + 1);
  if (!f->in) return CLI_EXIT_NO_MEMORY;
  memset(f->in, true, (size_t)b->item_count);
  cli_search search = {
      .cli = b->cli, .ask = ask, .user = b, .unit = "suspects", .most = (int)cli_int(b->cli, "builds", 0)};
  b->asked = f->what;
  bool right;
  const int code = cli_bisect_try_build(b, f->what, f->in, &right); /* each of them taken back by name */
  if (code != CLI_EXIT_OK) return code;
  if (!right) f->what = CLI_BISECT_NONE;
  return right ? cli_search_least(&search, f->in, b->item_count) : CLI_EXIT_OK;
}

/* A step's tactic is at fault: one of another instruction set may do instead of the reference. Where its parts alone
 * are right, it is the fusion. */
static int find_other_tactic(cli_bisect *b, cli_finding *f) {
  static const char *const patterns[] = {"*.avx512", "*.avx2", "*.c", "parts"};
  int found = -1, count = 0;
  for (int i = 0; i < b->item_count; ++i)
    if (f->in[i]) {
      found = i;
      ++count;
    }
  int code = CLI_EXIT_OK;
  for (size_t i = 0; count == 1 && i < CLI_COUNT(patterns) && !f->tactic[0] && code == CLI_EXIT_OK; ++i) {
    char text[1200];
    bool right;
    (void)snprintf(text, sizeof text, "%s=%s", b->items[found].name, patterns[i]);
    b->tactic = text;
    code = cli_bisect_try_build(b, CLI_BISECT_NONE, f->in, &right);
    b->tactic = NULL;
    if (!right) continue;
    (void)snprintf(f->tactic, sizeof f->tactic, "%s", text);
    f->fusion = strcmp(patterns[i], "parts") == 0;
  }
  return code;
}

/* Of the passes that are at fault, the rules; where none of them alone does, the passes stay named. */
static int refine_passes(cli_bisect *b, cli_finding *f) {
  char *of[64];
  int count = 0;
  for (int i = 0; i < b->item_count && count < (int)CLI_COUNT(of); ++i)
    if (f->in[i] && (of[count] = strdup(b->items[i].name)) != NULL) ++count;
  int code = cli_bisect_find_rules(b, of, count);
  free(f->in);
  f->in = NULL;
  if (code == CLI_EXIT_OK) code = search(b, f);
  if (code == CLI_EXIT_OK && f->what == CLI_BISECT_NONE) {
    cli_bisect_drop_items(b);
    for (int i = 0; i < count; ++i) (void)cli_bisect_add_item(b, of[i]);
    free(f->in);
    f->in = calloc((size_t)b->item_count + 1, sizeof *f->in);
    for (int i = 0; f->in && i < b->item_count; ++i) f->in[i] = true;
    f->what = f->in ? CLI_BISECT_PASSES : CLI_BISECT_NONE;
  }
  for (int i = 0; i < count; ++i) free(of[i]);
  return code;
}

/* Are types narrower than the model's asked for? */
static bool asks_types(const cli_tool *cli) {
  static const char *const names[] = {"fp16", "bf16", "tf32", "best", "int8", "layerPrecisions", "layerOutputTypes"};
  for (size_t i = 0; i < CLI_COUNT(names); ++i)
    if (cli_has(cli, names[i])) return true;
  return false;
}

/* The suspects of a kind: where the build as asked fails, the steps are those of the one that works. */
static int find_suspects(cli_bisect *b, cli_bisect_kind what, bool built) {
  bool right;
  const bool steps = what == CLI_BISECT_TACTICS || (what == CLI_BISECT_TYPES && !cli_has(b->cli, "int8"));
  const int code = steps && built ? cli_bisect_try_build(b, CLI_BISECT_NONE, NULL, &right) : CLI_EXIT_OK;
  return code == CLI_EXIT_OK ? cli_bisect_find_items(b, what) : code;
}

static int find_cause(cli_bisect *b, cli_finding *f, bool *out_right) {
  static const cli_bisect_kind kinds[] = {CLI_BISECT_TYPES, CLI_BISECT_TACTICS, CLI_BISECT_PASSES};
  int code = cli_bisect_try_build(b, CLI_BISECT_NONE, NULL, out_right);
  f->before = b->worst;
  if (code != CLI_EXIT_OK || *out_right) return code;
  const bool built = f->built = b->model.engine != NULL;
  for (size_t i = 0; i < CLI_COUNT(kinds) && f->what == CLI_BISECT_NONE; ++i) {
    bool right;
    if (kinds[i] == CLI_BISECT_TYPES && !asks_types(b->cli)) continue;
    if (kinds[i] == CLI_BISECT_PASSES)
      code = find_suspects(b, kinds[i], built); /* all of them are taken back by name */
    if (code == CLI_EXIT_OK) code = cli_bisect_try_build(b, kinds[i], NULL, &right);
    if (code == CLI_EXIT_OK && right && kinds[i] != CLI_BISECT_PASSES) code = find_suspects(b, kinds[i], built);
    if (code != CLI_EXIT_OK) return code;
    if (!right || b->item_count == 0) continue;
    free(f->in);
    f->what = kinds[i];
    code = search(b, f);
    if (code != CLI_EXIT_OK) return code;
  }
  if (f->what == CLI_BISECT_PASSES) return refine_passes(b, f);
  return f->what == CLI_BISECT_TACTICS ? find_other_tactic(b, f) : CLI_EXIT_OK;
}

/* ---- the reference ---- */

static hone_status keep_right(void *user, const hone_tap *tap) {
  cli_bisect *b = user;
  for (int i = 0; i < hone_graph_output_count(b->graph); ++i)
    if (strcmp(hone_graph_output_name(b->graph, i), tap->name) == 0)
      return cli_values_add(&b->right, tap->name, tap->turn, tap->tensor);
  return HONE_OK;
}

static int run_reference(cli_bisect *b) {
  b->model.plain = true;
  int code = cli_build_engine(b->cli, &b->model);
  b->model.plain = false;
  if (code == CLI_EXIT_OK) code = cli_values_of_inputs(b->cli, &b->model, &b->inputs);
  if (code == CLI_EXIT_OK) code = cli_run_tapped(b->cli, &b->model, &b->inputs, keep_right, b);
  if (code == CLI_EXIT_OK && b->right.count == 0) {
    cli_error("the model has no output of numbers that a layer writes");
    code = CLI_EXIT_UNSUPPORTED;
  }
  return code;
}

static int open_bisecting(cli_bisect *b) {
  cli_tool *cli = b->cli;
  const char *path = cli_text(cli, "model");
  if (!path) return cli_usage_error(cli, "a model must be named");
  const cli_file_kind file = cli_file_kind_of(path);
  if (file == CLI_FILE_UNREADABLE) return CLI_EXIT_IO;
  if (file == CLI_FILE_ENGINE)
    return cli_usage_error(cli, "%s is an engine: bisect builds anew, and so needs its model", path);
  int code = cli_open_device(cli);
  if (code != CLI_EXIT_OK) return code;
  const hone_status status = cli_load_graph(cli, path, &b->graph);
  if (status != HONE_OK) return cli_fail(cli, status);
  b->model.graph = b->graph;
  b->model.run_profile = -1;
  b->model.adjust = NULL;
  hone_port_info ports[CLI_MAX_INPUTS];
  const int count = cli_ports_of_graph(b->graph, ports, CLI_MAX_INPUTS);
  code = cli_read_shapes(cli, "shapes", ports, count, b->model.shapes, &b->model.shape_count);
  if (code == CLI_EXIT_OK) code = cli_read_inputs(cli, ports, count, &b->model);
  if (code == CLI_EXIT_OK) code = cli_check_types(cli, &b->model);
  b->items = calloc(CLI_MOST_SUSPECTS, sizeof *b->items);
  b->texts = calloc(CLI_MOST_ADDED, sizeof *b->texts);
  b->types = calloc(CLI_MOST_ADDED, sizeof *b->types);
  b->made = calloc(CLI_MOST_ADDED, sizeof *b->made);
  if (!b->items || !b->texts || !b->types || !b->made) return CLI_EXIT_NO_MEMORY;
  return code == CLI_EXIT_OK ? run_reference(b) : code;
}

int cli_command_bisect(cli_tool *cli) {
  static cli_bisect b; /* large for a stack */
  static char command[16384];
  cli_finding f = {0};
  bool right = false;
  b.cli = b.inputs.cli = b.right.cli = cli;
  int code = open_bisecting(&b);
  b.model.adjust = cli_bisect_adjust;
  b.model.adjust_user = &b;
  b.model.final = true;
  if (code == CLI_EXIT_OK) code = find_cause(&b, &f, &right);
  if (code == CLI_EXIT_OK && right) {
    if (cli_has(cli, "json"))
      printf(CLI_JSON_BEGIN "\"cause\": null, \"builds\": %d, \"rel_l2\": %.9g}\n", b.builds, f.before);
    else
      printf("the outputs are right: %.3g from the reference's, within %.3g\n", f.before,
             cli_real(cli, "tolerance", 1e-4));
  } else if (code == CLI_EXIT_OK) {
    if (f.what != CLI_BISECT_NONE) cli_bisect_write_command(&b, &f, command, sizeof command);
    if (cli_has(cli, "json"))
      cli_bisect_tell_json(&b, &f, command);
    else
      cli_bisect_tell_text(&b, &f, command);
    code = CLI_EXIT_CHECK_FAILED;
  }
  cli_bisect_drop_items(&b);
  free(b.items);
  free(b.texts);
  free(b.types);
  free(b.made);
  free(f.in);
  cli_values_free(&b.inputs);
  cli_values_free(&b.right);
  b.model.graph = NULL;
  cli_close_model(cli, &b.model);
  hone_graph_destroy(b.graph);
  return code;
}
