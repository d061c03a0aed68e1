/* SPDX-License-Identifier: Apache-2.0 */
/* command_compare.c - hone compare: an engine or a model against another, the reference, ONNX Runtime or saved tensors,
 * value by value in the order of the layers. Side B is what is right. The first side that can run is run with taps, and
 * each value held against the other's as it comes; the other side's values are kept, or read from their files. */
#include "child.h"
#include "compare_sides.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const cli_option cli_compare_command_options[] = {
    {"sides", CLI_LIST, "FILE",
     .doc = "A, then B, which is right: engines, models, folders of .npy, an .npz, ort (ONNX Runtime runs the other's "
            "model) or ort:MODEL. B is the model A on the reference when it is not given"},
    {"tolerance", CLI_REAL, "X",
     .doc = "the relative L2 that a layer may be from B's; others: exit 1. Default 1e-4; integers must be equal",
     .high = 1e6},
    {"atol", CLI_REAL, "X", .doc = "layers whose elements are all so near are equal; default 1e-6", .high = 1e30},
    {"outputs", CLI_FLAG, .doc = "compare the outputs alone"},
    {"built", CLI_FLAG, .doc = "build a model B with the options, too: by default it runs on the reference as it is"},
    {"histogram", CLI_FLAG, .doc = "show how large the differences are, by decades"},
    {"save", CLI_TEXT, "DIR", .doc = "write B's values there, as NAME.npy (made when absent)",
     .writes = CLI_WRITES_FOLDER},
    {0},
};

typedef struct comparing {
  cli_tool *cli;
  cli_side a, b;
  cli_values inputs;
  cli_inside inside;
} comparing;

/* ---- sides ---- */

static bool is_folder(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static bool is_npz(const char *path) {
  const size_t length = strlen(path);
  return length > 4 && strcmp(path + length - 4, ".npz") == 0;
}

static cli_side_kind kind_of(const char *path) {
  if (strcmp(path, "ort") == 0 || strncmp(path, "ort:", 4) == 0) return CLI_SIDE_RUNTIME;
  if (is_folder(path)) return CLI_SIDE_FOLDER;
  return is_npz(path) ? CLI_SIDE_NPZ : CLI_SIDE_RUN;
}

/* The model that is run, as it was imported, by the reference alone. */
static int open_run(cli_tool *cli, cli_side *side) {
  if (!side->plain) return cli_open_named_model(cli, side->path, &side->model);
  const cli_file_kind kind = cli_file_kind_of(side->path);
  if (kind == CLI_FILE_UNREADABLE) return CLI_EXIT_IO;
  side->plain = kind != CLI_FILE_ENGINE;
  if (!side->plain) return cli_open_named_model(cli, side->path, &side->model);
  int code = cli_open_device(cli);
  if (code != CLI_EXIT_OK) return code;
  const hone_status status = cli_load_graph(cli, side->path, &side->model.graph);
  if (status != HONE_OK) return cli_fail(cli, status);
  hone_port_info ports[CLI_MAX_INPUTS];
  const int count = cli_ports_of_graph(side->model.graph, ports, CLI_MAX_INPUTS);
  side->model.run_profile = -1;
  side->model.plain = true;
  code = cli_read_shapes(cli, "shapes", ports, count, side->model.shapes, &side->model.shape_count);
  if (code == CLI_EXIT_OK) code = cli_read_inputs(cli, ports, count, &side->model);
  return code == CLI_EXIT_OK ? cli_build_engine(cli, &side->model) : code;
}

static int open_side(comparing *c, cli_side *side, const char *path) {
  *side = (cli_side){.kind = kind_of(path), .path = path, .plain = side == &c->b && !cli_has(c->cli, "built")};
  side->values = (cli_values){.cli = c->cli};
  if (side->kind == CLI_SIDE_FOLDER) side->values.folder = path;
  if (side->kind == CLI_SIDE_NPZ) side->values.npz = path;
  return side->kind == CLI_SIDE_RUN ? open_run(c->cli, side) : CLI_EXIT_OK;
}

/* The model that ONNX Runtime runs: its own, or the other side's. */
static const char *runtime_model(const cli_side *side, const cli_side *other) {
  if (strncmp(side->path, "ort:", 4) == 0) return side->path + 4;
  return other->kind == CLI_SIDE_RUN && other->model.graph ? other->path : NULL;
}

/* What a session would make of the options, for whoever runs: one set of inputs for both. */
static int find_inputs(comparing *c) {
  const cli_side *run = c->a.kind == CLI_SIDE_RUN ? &c->a : c->b.kind == CLI_SIDE_RUN ? &c->b : NULL;
  c->inputs = (cli_values){.cli = c->cli};
  return run ? cli_values_of_inputs(c->cli, &run->model, &c->inputs) : CLI_EXIT_OK;
}

static int run_runtime(comparing *c, cli_side *side, const cli_side *other) {
  const char *model = runtime_model(side, other);
  if (!model) return cli_usage_error(c->cli, "ort: which model does ONNX Runtime run? write ort:MODEL.onnx");
  if (c->inputs.count == 0 && other->kind != CLI_SIDE_RUN)
    return cli_usage_error(c->cli, "ort: an engine or a model is needed beside it, which says what the inputs are");
  const int code = cli_temporary_make(side->folder, sizeof side->folder);
  side->values.folder = side->folder;
  return code == CLI_EXIT_OK ? cli_values_of_runtime(c->cli, model, &c->inputs, side->folder) : code;
}

/* ---- one against the other ---- */

static int save_values(cli_tool *cli, const cli_side *side) {
  const char *folder = cli_text(cli, "save");
  char path[4096];
  if (!folder) return CLI_EXIT_OK;
  if (side->kind != CLI_SIDE_RUN) return cli_usage_error(cli, "--save is for a B that runs; its values lie in files");
  (void)mkdir(folder, 0777); /* what goes wrong is said when files are written */
  for (int i = 0; i < side->values.count; ++i) {
    if (side->values.items[i].turn > 0) continue;
    cli_value_path(folder, side->values.items[i].name, path, sizeof path);
    const hone_status status = hone_tensor_write_npy(cli->context, path, &side->values.items[i].tensor);
    if (status != HONE_OK) return cli_fail(cli, status);
  }
  return CLI_EXIT_OK;
}

static hone_status keep_also_inputs(cli_values *values, const cli_values *inputs) {
  hone_status status = HONE_OK;
  for (int i = 0; i < inputs->count && status == HONE_OK; ++i)
    status = cli_values_add(values, inputs->items[i].name, 0, &inputs->items[i].tensor);
  return status;
}

/* The values of the side that is not streamed. */
static int fill_side(comparing *c, cli_side *side, const cli_side *other) {
  if (side->kind == CLI_SIDE_RUNTIME) return run_runtime(c, side, other);
  if (side->kind != CLI_SIDE_RUN) return CLI_EXIT_OK;
  int code = cli_run_tapped(c->cli, &side->model, &c->inputs, cli_values_keep_tap, &side->values);
  if (code == CLI_EXIT_OK && cli_has(c->cli, "save")) {
    const hone_status status = keep_also_inputs(&side->values, &c->inputs);
    code = status == HONE_OK ? save_values(c->cli, side) : cli_fail(c->cli, status);
  }
  return code;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Neither side runs: the files of A in the order of their names. */
static int compare_files(cli_layers *layers, const char *folder) {
  cli_tool *cli = layers->cli;
  enum { MOST = 65536 };
  char **names = calloc(MOST, sizeof *names);
  int count = 0;
  DIR *dir = opendir(folder);
  for (const struct dirent *entry; names && dir && count < MOST && (entry = readdir(dir)) != NULL;) {
    const size_t length = strlen(entry->d_name);
    if (length < 5 || strcmp(entry->d_name + length - 4, ".npy") != 0) continue;
    names[count] = strdup(entry->d_name);
    if (names[count]) names[count++][length - 4] = 0;
  }
  if (dir) closedir(dir);
  if (names) qsort(names, (size_t)count, sizeof *names, by_name);
  const cli_values values = {.cli = cli, .folder = folder};
  for (int i = 0; i < count && layers->code == CLI_EXIT_OK; ++i) {
    hone_tensor tensor;
    bool found;
    layers->code = cli_values_get(&values, names[i], 0, &tensor, &found);
    if (layers->code != CLI_EXIT_OK || !found) continue;
    cli_layers_add(layers, names[i], NULL, &tensor);
    cli_values_drop(&values, &tensor);
  }
  for (int i = 0; i < count; ++i) free(names[i]);
  free(names);
  return layers->code;
}

static int compare(comparing *c, cli_layers *layers) {
  cli_side *streamed = c->a.kind == CLI_SIDE_RUN ? &c->a : &c->b, *other = streamed == &c->a ? &c->b : &c->a;
  if (streamed->kind != CLI_SIDE_RUN) { /* files with files */
    streamed = &c->a;
    other = &c->b;
  }
  int code = find_inputs(c);
  if (code == CLI_EXIT_OK && streamed == &c->b && cli_has(c->cli, "save")) code = fill_side(c, streamed, other);
  if (code == CLI_EXIT_OK) code = fill_side(c, other, streamed);
  if (code == CLI_EXIT_OK && streamed->kind == CLI_SIDE_RUNTIME) code = fill_side(c, streamed, other);
  if (code != CLI_EXIT_OK) return code;
  layers->other = &other->values;
  layers->other_is_got = other == &c->a;
  if (streamed->kind != CLI_SIDE_RUN) {
    if (streamed->kind == CLI_SIDE_NPZ)
      return cli_usage_error(c->cli, "%s is an .npz; name it second, and a folder or what runs first", c->a.path);
    return compare_files(layers, streamed->values.folder);
  }
  layers->outputs = &streamed->model;
  code = cli_run_tapped(c->cli, &streamed->model, &c->inputs, cli_layers_tap, layers);
  return layers->code != CLI_EXIT_OK ? layers->code : code;
}

/* ---- inside a fused step ---- */

typedef struct splitting {
  char tactic[600];
  const char *tactics[256];
  hone_pass_options passes;
} splitting;

static void take_apart(void *user, hone_build_options *options) {
  splitting *s = user;
  int count = options->tactic_count;
  if (count > 255) count = 255;
  for (int i = 0; i < count; ++i) s->tactics[i] = options->tactics[i];
  s->tactics[count] = s->tactic;
  options->tactics = s->tactics;
  options->tactic_count = count + 1;
}

typedef struct writer {
  const char *value;
  char node[512];
} writer;

static void find_writer(void *user, const hone_node_info *node) {
  writer *w = user;
  for (int i = 0; i < node->out_count; ++i)
    if (node->out[i] && strcmp(hone_value_name(node->out[i]), w->value) == 0)
      (void)snprintf(w->node, sizeof w->node, "%s", node->name);
}

/* Builds A again with the step as its parts, and looks which of these is the first to be over. */
static int look_inside(comparing *c, const cli_layers *layers, const cli_layer *first) {
  cli_tool *cli = c->cli;
  if (c->a.kind != CLI_SIDE_RUN || !c->a.model.graph || c->a.plain || !first->step || first->origin_count < 2)
    return CLI_EXIT_OK;
  splitting s;
  (void)snprintf(s.tactic, sizeof s.tactic, "%s=parts", first->step);
  static cli_model apart; /* large for a stack */
  apart = c->a.model;     /* its graph, inputs and shapes */
  apart.engine = NULL;
  apart.adjust = take_apart;
  apart.adjust_user = &s;
  hone_status status;
  int code = cli_try_build(cli, &apart, &status);
  if (status != HONE_OK || code != CLI_EXIT_OK) { /* it has no parts: then there is no inside to look into */
    hone_context_clear_messages(cli->context);
    return code;
  }
  cli_layers inner = {.cli = cli, .other = layers->other, .tolerance = layers->tolerance, .floor = layers->floor};
  code = cli_run_tapped(cli, &apart, &c->inputs, cli_layers_tap, &inner);
  const cli_layer *found = cli_layers_first(&inner);
  c->inside.looked = code == CLI_EXIT_OK;
  if (code == CLI_EXIT_OK && found) {
    writer w = {.value = found->name};
    hone_graph_visit_nodes(apart.graph, find_writer, &w);
    (void)snprintf(c->inside.value, sizeof c->inside.value, "%s", found->name);
    (void)snprintf(c->inside.node, sizeof c->inside.node, "%s", w.node);
    c->inside.rel_l2 = found->distance.rel_l2;
  }
  cli_layers_free(&inner);
  hone_engine_release(apart.engine);
  return code;
}

static int compare_and_tell(comparing *c) {
  cli_tool *cli = c->cli;
  cli_layers layers = {.cli = cli,
                       .tolerance = cli_real(cli, "tolerance", 1e-4),
                       .floor = cli_real(cli, "atol", 1e-6),
                       .outputs_only = cli_has(cli, "outputs")};
  int code = compare(c, &layers);
  const cli_layer *first = cli_layers_first(&layers);
  if (code == CLI_EXIT_OK && layers.count == 0) {
    cli_error("%s and %s have no value of the same name", c->a.path, c->b.path);
    code = CLI_EXIT_USAGE;
  }
  if (code == CLI_EXIT_OK && first && !layers.outputs_only) code = look_inside(c, &layers, first);
  if (code == CLI_EXIT_OK) {
    if (cli_has(cli, "json"))
      cli_layers_json(&layers, &c->inside);
    else
      cli_layers_print(&layers, &c->inside, cli_has(cli, "histogram"));
    if (first) {
      code = CLI_EXIT_CHECK_FAILED;
      if (c->a.kind == CLI_SIDE_RUN && c->a.model.graph) cli_next(cli, "hone bisect %s", c->a.path);
    }
  }
  cli_layers_free(&layers);
  return code;
}

static void close_side(cli_tool *cli, cli_side *side) {
  cli_values_free(&side->values);
  cli_close_model(cli, &side->model);
  cli_temporary_drop(side->folder);
}

int cli_command_compare(cli_tool *cli) {
  static comparing c; /* large for a stack */
  const char *paths[3];
  const int count = cli_list(cli, "sides", paths, 3);
  c.cli = cli;
  if (count == 0) return cli_usage_error(cli, "an engine or a model must be named");
  if (count == 1) paths[1] = paths[0];
  c.a.values.cli = c.b.values.cli = c.inputs.cli = cli;
  int code = open_side(&c, &c.a, paths[0]);
  if (code == CLI_EXIT_OK && count == 1 && !c.a.model.graph)
    code = cli_usage_error(cli, "%s alone is compared with the reference where it is a model; name a B", paths[0]);
  if (code == CLI_EXIT_OK) code = open_side(&c, &c.b, paths[1]);
  if (code == CLI_EXIT_OK) code = compare_and_tell(&c);
  cli_values_free(&c.inputs);
  close_side(cli, &c.a);
  close_side(cli, &c.b);
  return code;
}
