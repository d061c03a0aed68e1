/* SPDX-License-Identifier: Apache-2.0 */
/* command_bisect.c - hone bisect: why an engine's outputs are not those of its model. Types, tactics and passes are
 * taken back one kind after the other; the first kind without which the outputs are right is at fault, and the smallest
 * set of its members that must be taken back (search.h) is named with the command that does so. */
#include "calib.h"
#include "search.h"
#include "values.h"
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const cli_option cli_bisect_options[] = {
    {"tolerance", CLI_REAL, "X",
     .doc = "the relative L2 that outputs may be from the reference's, on the model as it was read; default 1e-4",
     .high = 1e6},
    {"builds", CLI_INT, "N", .doc = "the most builds that are made; default: any number", .low = 1, .high = 1e6},
    {0},
};

enum { MOST_ITEMS = 4096, MOST_ADDED = 16384 };

typedef enum kind { KIND_NONE, KIND_TYPES, KIND_TACTICS, KIND_PASSES } kind;

/* Something that can be taken back: a layer's type, a step's tactic, a pass or a rule. */
typedef struct item {
  char *name, *op, *tactic;
  char **origins; /* of a step */
  int origin_count;
} item;

typedef struct bisecting {
  cli_tool *cli;
  cli_model model;
  hone_graph *graph; /* in floats; the model's is in 8 bits while a build with --int8 is tried */
  cli_values inputs, right;
  item *items;
  int item_count;
  double worst; /* of the last build: the largest relative L2 of an output */
  int builds;
  kind back;          /* what the next build takes back: */
  const bool *taken;  /* of the items; NULL: all of that kind */
  const char *tactic; /* or this tactic for one step: "STEP=PATTERN" */
  const char **texts; /* what the options point to */
  hone_layer_type *types;
  char **made;
  int made_count;
} bisecting;

/* ---- one build ---- */

static const char *keep_text(bisecting *b, const char *before, const char *middle, const char *after) {
  const size_t room = strlen(before) + strlen(middle) + strlen(after) + 1;
  char *text = b->made_count < MOST_ADDED ? malloc(room) : NULL;
  if (!text) return "";
  (void)snprintf(text, room, "%s%s%s", before, middle, after);
  return b->made[b->made_count++] = text;
}

static void drop_texts(bisecting *b) {
  for (int i = 0; i < b->made_count; ++i) free(b->made[i]);
  b->made_count = 0;
}

static bool is_taken(const bisecting *b, int i) { return !b->taken || b->taken[i]; }

/* A choice "NODE=TACTIC" of the user's for a step that is taken back gives way. */
static bool gives_way(const bisecting *b, const char *choice, const bool *taken) {
  char node[1024];
  const char *equals = strrchr(choice, '=');
  (void)snprintf(node, sizeof node, "%.*s", equals ? (int)(equals - choice) : 0, choice);
  for (int i = 0; taken && i < b->item_count; ++i)
    if (taken[i] && fnmatch(node, b->items[i].name, 0) == 0) return true;
  return false;
}

static void add_tactics(bisecting *b, hone_build_options *options) {
  int count = 0;
  for (int i = 0; i < options->tactic_count; ++i)
    if (!gives_way(b, options->tactics[i], b->taken)) b->texts[count++] = options->tactics[i];
  for (int i = 0; b->back == KIND_TACTICS && i < b->item_count; ++i)
    if (is_taken(b, i) && count < MOST_ADDED) b->texts[count++] = keep_text(b, b->items[i].name, "=", "ref.eval");
  if (b->tactic && count < MOST_ADDED) b->texts[count++] = b->tactic;
  options->tactics = b->texts;
  options->tactic_count = count;
}

static void add_types(bisecting *b, hone_build_options *options) {
  int count = 0;
  for (; count < options->layer_type_count; ++count) b->types[count] = options->layer_types[count];
  for (int i = 0; i < b->item_count; ++i)
    for (int k = 0; is_taken(b, i) && k < b->items[i].origin_count && count < MOST_ADDED; ++k)
      b->types[count++] =
          (hone_layer_type){.node = b->items[i].origins[k], .compute = HONE_F32, .output = HONE_F32, .preferred = true};
  options->layer_types = b->types;
  options->layer_type_count = count;
}

static void adjust(void *user, hone_build_options *options) {
  bisecting *b = user;
  static hone_pass_options passes;
  if (b->back == KIND_TYPES && !b->taken) {
    options->precisions = 0;
    options->layer_type_count = 0;
  } else if (b->back == KIND_TYPES) {
    add_types(b, options);
  }
  if (b->back == KIND_TACTICS && !b->taken) {
    options->reference_only = true;
    options->tactic_count = 0;
  } else if (b->back == KIND_TACTICS || b->tactic) {
    add_tactics(b, options);
  }
  if (b->back != KIND_PASSES) return;
  passes = *options->passes;
  int count = 0;
  for (; count < passes.disable_count; ++count) b->texts[count] = passes.disable[count];
  for (int i = 0; i < b->item_count; ++i)
    if (is_taken(b, i) && count < MOST_ADDED) b->texts[count++] = b->items[i].name;
  passes.disable = b->texts;
  passes.disable_count = count;
  options->passes = &passes;
}

/* 8 bits but in the layers that are taken back. */
static int quantise(bisecting *b) {
  static const char *keep[MOST_ADDED];
  hone_quantize_options options = {.struct_size = sizeof options};
  b->model.graph = b->graph;
  if (!cli_has(b->cli, "int8") || (b->back == KIND_TYPES && !b->taken)) return CLI_EXIT_OK;
  int count = 0;
  for (int i = 0; b->back == KIND_TYPES && i < b->item_count; ++i)
    for (int k = 0; b->taken[i] && k < b->items[i].origin_count && count < MOST_ADDED; ++k)
      keep[count++] = b->items[i].origins[k];
  options.keep = keep;
  options.keep_count = count;
  hone_graph *made;
  const int code = cli_quantize(b->cli, b->graph, &options, &made);
  if (code == CLI_EXIT_OK) b->model.graph = made;
  return code;
}

static int hold_outputs(bisecting *b, const cli_values *got, bool *out_right) {
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
  const bisecting *b;
  cli_values got;
} keeping;

static hone_status keep_output(void *user, const hone_tap *tap) {
  keeping *k = user;
  for (int i = 0; i < k->b->right.count; ++i)
    if (strcmp(k->b->right.items[i].name, tap->name) == 0)
      return cli_values_add(&k->got, tap->name, tap->turn, tap->tensor);
  return HONE_OK;
}

/* Builds with something taken back: *out_right, are the outputs those of the reference? A build that fails is not. Its
 * engine stays in the model until the next one. Exit code. */
static int try_build(bisecting *b, kind back, const bool *taken, bool *out_right) {
  cli_tool *cli = b->cli;
  const bool quiet = cli->quiet;
  *out_right = false;
  b->back = back;
  b->taken = taken;
  b->worst = 0;
  hone_engine_release(b->model.engine);
  b->model.engine = NULL;
  cli->quiet = true; /* the same notes again */
  int code = quantise(b);
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

/* ---- what can be taken back ---- */

static void drop_items(bisecting *b) {
  for (int i = 0; i < b->item_count; ++i) {
    item *it = &b->items[i];
    for (int k = 0; k < it->origin_count; ++k) free(it->origins[k]);
    free(it->origins);
    free(it->name);
    free(it->op);
    free(it->tactic);
  }
  b->item_count = 0;
}

static item *add_item(bisecting *b, const char *name) {
  for (int i = 0; i < b->item_count; ++i)
    if (strcmp(b->items[i].name, name) == 0) return NULL;
  char *copy = b->item_count < MOST_ITEMS ? strdup(name) : NULL;
  if (!copy) return NULL;
  b->items[b->item_count] = (item){.name = copy};
  return &b->items[b->item_count++];
}

/* The steps of the engine that a kernel runs. */
static void see_step(void *user, const hone_tap *tap) {
  bisecting *b = user;
  item *it = tap->step && tap->tactic ? add_item(b, tap->step) : NULL;
  if (!it) return;
  it->op = strdup(tap->op ? tap->op : "");
  it->tactic = strdup(tap->tactic);
  it->origins = calloc((size_t)tap->origin_count + 1, sizeof *it->origins);
  for (int k = 0; it->origins && k < tap->origin_count; ++k)
    if ((it->origins[it->origin_count] = strdup(tap->origins[k])) != NULL) ++it->origin_count;
}

static void see_node(void *user, const char *name, const char *op) {
  bisecting *b = user;
  item *it = add_item(b, name);
  if (!it) return;
  it->op = strdup(op);
  it->origins = calloc(2, sizeof *it->origins);
  if (it->origins && (it->origins[0] = strdup(name)) != NULL) it->origin_count = 1;
}

/* Lines "pass\twhat it does" and "pass/rule\twhy". Passes with rules are their rules. */
static bool see_passes(void *user, const char *text, size_t length) {
  bisecting *b = user;
  const char *end = text + length;
  for (const char *line = text; line < end;) {
    const char *newline = memchr(line, '\n', (size_t)(end - line)), *stop = newline ? newline : end;
    const char *tab = memchr(line, '\t', (size_t)(stop - line)), *slash = memchr(line, '/', (size_t)(stop - line));
    char name[256];
    const char *from = slash && tab && slash < tab ? slash + 1 : line;
    if (tab && (size_t)(tab - from) < sizeof name) {
      (void)snprintf(name, sizeof name, "%.*s", (int)(tab - from), from);
      if (from == line || b->item_count == 0 || strcmp(b->items[b->item_count - 1].name, name) != 0)
        (void)add_item(b, name);
    }
    line = newline ? newline + 1 : end;
  }
  return true;
}

static int find_items(bisecting *b, kind what) {
  drop_items(b);
  hone_status status = HONE_OK;
  if (what == KIND_PASSES)
    status = hone_pass_list(see_passes, b);
  else if (what == KIND_TYPES && cli_has(b->cli, "int8"))
    hone_graph_each_node(b->graph, see_node, b);
  else
    status = hone_engine_each_tap(b->model.engine, see_step, b, hone_context_diagnostics(b->cli->context));
  return status == HONE_OK ? CLI_EXIT_OK : cli_fail(b->cli, status);
}

/* ---- the search ---- */

static kind asked_kind;

static int ask(void *user, const bool *in, int count) {
  bisecting *b = user;
  bool right;
  (void)count;
  const int code = try_build(b, asked_kind, in, &right);
  if (code != CLI_EXIT_OK) return code;
  return right ? CLI_SEARCH_HOLDS : CLI_SEARCH_FAILS;
}

typedef struct finding {
  kind what;
  bool *in; /* of the items */
  bool fusion;
  char tactic[1200]; /* "STEP=PATTERN", with which the outputs are right; "": the reference alone */
  double before;     /* the largest relative L2 as it was asked for */
} finding;

static int search(bisecting *b, finding *f) {
  f->in = malloc((size_t)b->item_count + 1);
  if (!f->in) return CLI_EXIT_NO_MEMORY;
  memset(f->in, true, (size_t)b->item_count);
  cli_search search = {
      .cli = b->cli, .ask = ask, .user = b, .unit = "suspects", .most = (int)cli_int(b->cli, "builds", 0)};
  asked_kind = f->what;
  bool right;
  const int code = try_build(b, f->what, f->in, &right); /* each of them taken back by name */
  if (code != CLI_EXIT_OK) return code;
  if (!right) f->what = KIND_NONE;
  return right ? cli_search_least(&search, f->in, b->item_count) : CLI_EXIT_OK;
}

/* A step's tactic is at fault: one of another instruction set may do instead of the reference. Where its parts alone
 * are right, it is the fusion. */
static int find_other_tactic(bisecting *b, finding *f) {
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
    code = try_build(b, KIND_NONE, f->in, &right);
    b->tactic = NULL;
    if (!right) continue;
    (void)snprintf(f->tactic, sizeof f->tactic, "%s", text);
    f->fusion = strcmp(patterns[i], "parts") == 0;
  }
  return code;
}

/* Are types narrower than the model's asked for? */
static bool asks_types(const cli_tool *cli) {
  static const char *const names[] = {"fp16", "bf16", "best", "int8", "layerPrecisions", "layerOutputTypes"};
  for (size_t i = 0; i < CLI_COUNT(names); ++i)
    if (cli_has(cli, names[i])) return true;
  return false;
}

/* The suspects of a kind: where the build as asked fails, the steps are those of the one that works. */
static int find_suspects(bisecting *b, kind what, bool built) {
  bool right;
  const bool steps = what == KIND_TACTICS || (what == KIND_TYPES && !cli_has(b->cli, "int8"));
  const int code = steps && built ? try_build(b, KIND_NONE, NULL, &right) : CLI_EXIT_OK;
  return code == CLI_EXIT_OK ? find_items(b, what) : code;
}

static int find_cause(bisecting *b, finding *f, bool *out_right) {
  static const kind kinds[] = {KIND_TYPES, KIND_TACTICS, KIND_PASSES};
  int code = try_build(b, KIND_NONE, NULL, out_right);
  f->before = b->worst;
  if (code != CLI_EXIT_OK || *out_right) return code;
  const bool built = b->model.engine != NULL;
  for (size_t i = 0; i < CLI_COUNT(kinds) && f->what == KIND_NONE; ++i) {
    bool right;
    if (kinds[i] == KIND_TYPES && !asks_types(b->cli)) continue;
    if (kinds[i] == KIND_PASSES) code = find_suspects(b, kinds[i], built); /* all of them are taken back by name */
    if (code == CLI_EXIT_OK) code = try_build(b, kinds[i], NULL, &right);
    if (code == CLI_EXIT_OK && right && kinds[i] != KIND_PASSES) code = find_suspects(b, kinds[i], built);
    if (code != CLI_EXIT_OK) return code;
    if (!right || b->item_count == 0) continue;
    free(f->in);
    f->what = kinds[i];
    code = search(b, f);
    if (code != CLI_EXIT_OK) return code;
  }
  return f->what == KIND_TACTICS ? find_other_tactic(b, f) : CLI_EXIT_OK;
}

/* ---- what is said ---- */

static bool is_in(const cli_option *table, const cli_option *option) {
  for (; table->name; ++table)
    if (table == option) return true;
  return false;
}

/* A list of NAME:TYPE,... for the layers that stay in f32. */
static void add_layers(const bisecting *b, const finding *f, const char *after, char *out, size_t room) {
  size_t used = 0;
  out[0] = 0;
  for (int i = 0; i < b->item_count; ++i)
    for (int k = 0; f->in[i] && k < b->items[i].origin_count && used < room; ++k)
      used += (size_t)snprintf(out + used, room - used, "%s%s%s", used ? "," : "", b->items[i].origins[k], after);
}

static size_t add_word(char *out, size_t room, size_t used, const char *before, const char *word) {
  char quoted[8192];
  cli_quote(word, quoted, sizeof quoted);
  return used < room ? used + (size_t)snprintf(out + used, room - used, "%s%s", before, quoted) : used;
}

static void write_command(const bisecting *b, const finding *f, char *out, size_t room) {
  const bool int8 = cli_has(b->cli, "int8");
  char list[8192];
  size_t used = (size_t)snprintf(out, room, "hone %s", f->what == KIND_TYPES && int8 ? "quantize" : "build");
  used = add_word(out, room, used, " ", cli_text(b->cli, "model"));
  for (int i = 0; i < b->cli->given_count; ++i) {
    const cli_given *given = &b->cli->given[i];
    const bool wanted = is_in(cli_build_options, given->option) || is_in(cli_device_options, given->option) ||
                        is_in(cli_precision_options, given->option) || strcmp(given->option->name, "plugins") == 0;
    const bool replaced =
        f->what == KIND_TACTICS && strcmp(given->option->name, "tactic") == 0 && gives_way(b, given->text, f->in);
    if (!wanted || replaced || (f->what == KIND_TYPES && int8 && strcmp(given->option->name, "int8") == 0) ||
        used >= room)
      continue;
    used += (size_t)snprintf(out + used, room - used, " --%s", given->option->name);
    if (given->text) used = add_word(out, room, used, " ", given->text);
  }
  if (f->what == KIND_TYPES && int8) {
    for (int i = 0; i < b->item_count; ++i)
      if (f->in[i]) used = add_word(out, room, used, " --keep ", b->items[i].name);
  } else if (f->what == KIND_TYPES) {
    add_layers(b, f, ":fp32", list, sizeof list);
    used = add_word(out, room, used, " --layerPrecisions=", list);
    used = add_word(out, room, used, " --layerOutputTypes=", list);
    used += used < room ? (size_t)snprintf(out + used, room - used, " --precisionConstraints=prefer") : 0;
  } else if (f->what == KIND_TACTICS && f->tactic[0]) {
    used = add_word(out, room, used, " --tactic ", f->tactic);
  } else {
    for (int i = 0; i < b->item_count; ++i) {
      char word[1200];
      if (!f->in[i]) continue;
      (void)snprintf(word, sizeof word, "%s%s", b->items[i].name, f->what == KIND_TACTICS ? "=ref.eval" : "");
      used = add_word(out, room, used, f->what == KIND_TACTICS ? " --tactic " : " --disable ", word);
    }
  }
}

static void tell_item(const finding *f, const item *it) {
  printf("  %s", it->name);
  if (it->op) printf(" (%s%s%s)", it->op, it->tactic ? ", " : "", it->tactic ? it->tactic : "");
  if (it->origin_count > 1) {
    printf(" of");
    for (int k = 0; k < it->origin_count; ++k) printf("%s %s", k ? "," : "", it->origins[k]);
  }
  if (f->fusion) printf(": right when its layers run apart");
  printf("\n");
}

static void tell_text(const bisecting *b, const finding *f, const char *command) {
  static const char *const causes[] = {[KIND_TYPES] = "these layers must stay in f32",
                                       [KIND_TACTICS] = "these tactics are at fault",
                                       [KIND_PASSES] = "these rules or passes are at fault"};
  if (f->what == KIND_NONE) {
    printf("outputs are %.3g from the reference's, and no type, tactic or pass alone is at fault (%d builds)\n",
           f->before, b->builds);
    return;
  }
  printf("outputs are %.3g from the reference's; %s (%d builds):\n", f->before,
         f->fusion ? "this fusion is at fault" : causes[f->what], b->builds);
  for (int i = 0; i < b->item_count; ++i)
    if (f->in[i]) tell_item(f, &b->items[i]);
  printf("a build without it:\n  %s\n", command);
}

static void tell_json(const bisecting *b, const finding *f, const char *command) {
  static const char *const causes[] = {
      [KIND_NONE] = "unknown", [KIND_TYPES] = "precision", [KIND_TACTICS] = "tactic", [KIND_PASSES] = "pass"};
  printf("{\"cause\": \"%s\", \"builds\": %d, \"names\": [", f->fusion ? "fusion" : causes[f->what], b->builds);
  const char *comma = "";
  for (int i = 0; f->what != KIND_NONE && i < b->item_count; ++i) {
    if (!f->in[i]) continue;
    printf("%s{\"name\": ", comma);
    cli_json_text(stdout, b->items[i].name);
    if (b->items[i].tactic) {
      printf(", \"tactic\": ");
      cli_json_text(stdout, b->items[i].tactic);
    }
    printf("}");
    comma = ", ";
  }
  printf("]");
  if (isfinite(f->before)) printf(", \"rel_l2\": %.9g", f->before);
  if (f->what != KIND_NONE) {
    printf(", \"command\": ");
    cli_json_text(stdout, command);
  }
  printf("}\n");
}

/* ---- the reference ---- */

static hone_status keep_right(void *user, const hone_tap *tap) {
  bisecting *b = user;
  for (int i = 0; i < hone_graph_output_count(b->graph); ++i)
    if (strcmp(hone_graph_output_name(b->graph, i), tap->name) == 0)
      return cli_values_add(&b->right, tap->name, tap->turn, tap->tensor);
  return HONE_OK;
}

static int run_reference(bisecting *b) {
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

static int open_bisecting(bisecting *b) {
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
  b->items = calloc(MOST_ITEMS, sizeof *b->items);
  b->texts = calloc(MOST_ADDED, sizeof *b->texts);
  b->types = calloc(MOST_ADDED, sizeof *b->types);
  b->made = calloc(MOST_ADDED, sizeof *b->made);
  if (!b->items || !b->texts || !b->types || !b->made) return CLI_EXIT_NO_MEMORY;
  return code == CLI_EXIT_OK ? run_reference(b) : code;
}

int cli_command_bisect(cli_tool *cli) {
  static bisecting b; /* large for a stack */
  static char command[16384];
  finding f = {0};
  bool right = false;
  b.cli = b.inputs.cli = b.right.cli = cli;
  int code = open_bisecting(&b);
  b.model.adjust = adjust;
  b.model.adjust_user = &b;
  b.model.final = true;
  if (code == CLI_EXIT_OK) code = find_cause(&b, &f, &right);
  if (code == CLI_EXIT_OK && right) {
    if (cli_has(cli, "json"))
      printf("{\"cause\": null, \"builds\": %d, \"rel_l2\": %.9g}\n", b.builds, f.before);
    else
      printf("the outputs are right: %.3g from the reference's, within %.3g\n", f.before,
             cli_real(cli, "tolerance", 1e-4));
  } else if (code == CLI_EXIT_OK) {
    if (f.what != KIND_NONE) write_command(&b, &f, command, sizeof command);
    if (cli_has(cli, "json"))
      tell_json(&b, &f, command);
    else
      tell_text(&b, &f, command);
    code = CLI_EXIT_CHECK_FAILED;
  }
  drop_items(&b);
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
