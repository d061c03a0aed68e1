/* SPDX-License-Identifier: Apache-2.0 */
/* bisect_build.c - builds of hone bisect: types, tactics or passes taken back, and the outputs held against the
 * reference's. */
#include "bisect.h"
#include "calib.h"
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- one build ---- */

static const char *keep_text(cli_bisect *b, const char *before, const char *middle, const char *after) {
  const size_t room = strlen(before) + strlen(middle) + strlen(after) + 1;
  char *text = b->made_count < CLI_MOST_ADDED ? malloc(room) : NULL;
  if (!text) return "";
  (void)snprintf(text, room, "%s%s%s", before, middle, after);
  return b->made[b->made_count++] = text;
}

static void drop_texts(cli_bisect *b) {
  for (int i = 0; i < b->made_count; ++i) free(b->made[i]);
  b->made_count = 0;
}

static bool is_taken(const cli_bisect *b, int i) { return !b->taken || b->taken[i]; }

bool cli_bisect_gives_way(const cli_bisect *b, const char *choice, const bool *taken) {
  char node[1024];
  const char *equals = strrchr(choice, '=');
  (void)snprintf(node, sizeof node, "%.*s", equals ? (int)(equals - choice) : 0, choice);
  for (int i = 0; taken && i < b->item_count; ++i)
    if (taken[i] && fnmatch(node, b->items[i].name, 0) == 0) return true;
  return false;
}

static void add_tactics(cli_bisect *b, hone_build_options *options) {
  int count = 0;
  for (int i = 0; i < options->tactic_count; ++i)
    if (!cli_bisect_gives_way(b, options->tactics[i], b->taken)) b->texts[count++] = options->tactics[i];
  for (int i = 0; b->back == CLI_BISECT_TACTICS && i < b->item_count; ++i)
    if (is_taken(b, i) && count < CLI_MOST_ADDED) b->texts[count++] = keep_text(b, b->items[i].name, "=", "ref.eval");
  if (b->tactic && count < CLI_MOST_ADDED) b->texts[count++] = b->tactic;
  options->tactics = b->texts;
  options->tactic_count = count;
}

static void add_types(cli_bisect *b, hone_build_options *options) {
  int count = 0;
  for (; count < options->layer_type_count; ++count) b->types[count] = options->layer_types[count];
  for (int i = 0; i < b->item_count; ++i)
    for (int k = 0; is_taken(b, i) && k < b->items[i].origin_count && count < CLI_MOST_ADDED; ++k)
      b->types[count++] =
          (hone_layer_type){.node = b->items[i].origins[k], .compute = HONE_F32, .output = HONE_F32, .preferred = true};
  options->layer_types = b->types;
  options->layer_type_count = count;
}

void cli_bisect_adjust(void *user, hone_build_options *options) {
  cli_bisect *b = user;
  if (b->back == CLI_BISECT_TYPES && !b->taken) {
    options->precisions = 0;
    options->layer_type_count = 0;
  } else if (b->back == CLI_BISECT_TYPES) {
    add_types(b, options);
  }
  if (b->back == CLI_BISECT_TACTICS && !b->taken) {
    options->reference_only = true;
    options->tactic_count = 0;
  } else if (b->back == CLI_BISECT_TACTICS || b->tactic) {
    add_tactics(b, options);
  }
  if (b->back != CLI_BISECT_PASSES) return;
  b->passes = *options->passes;
  int count = 0;
  for (; count < b->passes.disable_count; ++count) b->texts[count] = b->passes.disable[count];
  for (int i = 0; i < b->item_count; ++i)
    if (is_taken(b, i) && count < CLI_MOST_ADDED) b->texts[count++] = b->items[i].name;
  b->passes.disable = b->texts;
  b->passes.disable_count = count;
  options->passes = &b->passes;
}

static void see_layer(void *user, const hone_quantize_event *event) {
  cli_suspect *layer = event->layer && !event->why ? cli_bisect_add_item(user, event->layer) : NULL;
  if (!layer) return;
  layer->op = strdup(event->op ? event->op : "");
  layer->origins = calloc(2, sizeof *layer->origins);
  if (layer->origins && (layer->origins[0] = strdup(event->layer)) != NULL) layer->origin_count = 1;
}

/* 8 bits but in the layers that are taken back. find: which layers there are, as suspects. */
static int quantise(cli_bisect *b, bool find) {
  static const char *keep[CLI_MOST_ADDED];
  hone_quantize_options options = {.struct_size = sizeof options, .event = find ? see_layer : NULL, .event_user = b};
  b->model.graph = b->graph;
  if (!cli_has(b->cli, "int8") || (b->back == CLI_BISECT_TYPES && !b->taken)) return CLI_EXIT_OK;
  int count = 0;
  for (int i = 0; b->back == CLI_BISECT_TYPES && i < b->item_count; ++i)
    for (int k = 0; b->taken[i] && k < b->items[i].origin_count && count < CLI_MOST_ADDED; ++k)
      keep[count++] = b->items[i].origins[k];
  if (count > 0 && count == b->item_count) return CLI_EXIT_OK; /* none is left */
  options.keep = keep;
  options.keep_count = count;
  hone_graph *made;
  const int code = cli_quantize(b->cli, b->graph, &options, &made);
  if (code == CLI_EXIT_OK) b->model.graph = made;
  return code;
}

static int hold_outputs(cli_bisect *b, const cli_values *got, bool *out_right) {
  for (int i = 0; i < b->right.count; ++i) {
    const hone_tensor *want = &b->right.items[i].tensor;
    hone_tensor tensor;
    cli_distance distance;
    bool found;
    const int code = cli_values_get(got, b->right.items[i].name, 0, &tensor, &found);
    if (code != CLI_EXIT_OK) return code;
    if (!found) continue;
    cli_distance_of(&tensor, want, &distance);
    const bool over =
        !distance.comparable || cli_distance_is_over(&distance, want, cli_real(b->cli, "tolerance", 1e-4), 1e-6);
    if (!(distance.rel_l2 <= b->worst)) b->worst = isnan(distance.rel_l2) ? HUGE_VAL : distance.rel_l2;
    *out_right = *out_right && !over;
  }
  return CLI_EXIT_OK;
}

typedef struct keeping {
  const cli_bisect *b;
  cli_values got;
} keeping;

static hone_status keep_output(void *user, const hone_tap *tap) {
  keeping *k = user;
  for (int i = 0; i < k->b->right.count; ++i)
    if (strcmp(k->b->right.items[i].name, tap->name) == 0)
      return cli_values_add(&k->got, tap->name, tap->turn, tap->tensor);
  return HONE_OK;
}

int cli_bisect_try_build(cli_bisect *b, cli_bisect_kind back, const bool *taken, bool *out_right) {
  cli_tool *cli = b->cli;
  const bool quiet = cli->quiet;
  *out_right = false;
  b->back = back;
  b->taken = taken;
  b->worst = 0;
  hone_engine_release(b->model.engine);
  b->model.engine = NULL;
  cli->quiet = true; /* the same notes again */
  int code = quantise(b, false);
  hone_status status = HONE_OK;
  if (code == CLI_EXIT_OK) code = cli_try_build(cli, &b->model, &status);
  ++b->builds;
  keeping k = {.b = b, .got = {.cli = cli}};
  const bool mistaken = status == HONE_INVALID && b->builds == 1; /* the options, not what is built of them */
  if (status == HONE_CANCELLED || status == HONE_NO_MEMORY || mistaken) code = cli_fail(cli, status);
  if (code == CLI_EXIT_OK && status == HONE_OK) {
    code = cli_run_tapped(cli, &b->model, &b->inputs, keep_output, &k);
    *out_right = code == CLI_EXIT_OK;
    if (code == CLI_EXIT_OK) code = hold_outputs(b, &k.got, out_right);
  } else {
    b->worst = HUGE_VAL;
    hone_context_clear_messages(cli->context);
  }
  cli_values_free(&k.got);
  if (b->model.graph != b->graph) hone_graph_destroy(b->model.graph);
  b->model.graph = b->graph;
  cli->quiet = quiet;
  drop_texts(b);
  return code;
}

int cli_bisect_find_layers(cli_bisect *b) {
  b->back = CLI_BISECT_NONE;
  cli_bisect_drop_items(b);
  const int code = quantise(b, true);
  if (b->model.graph != b->graph) hone_graph_destroy(b->model.graph);
  b->model.graph = b->graph;
  return code;
}
