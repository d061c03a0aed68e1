/* SPDX-License-Identifier: Apache-2.0 */
/* calib.c - calibration data: which files are samples, and each read when its turn comes. */
#include "calib.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { DEFAULT_COUNT = 64, MOST_FILES = 1 << 20, MOST_KEPT_BYTES = 512 << 20 };

const cli_option cli_calib_options[] = {
    {"calib", CLI_TEXT, "FOLDER|FILE",
     .doc =
         "calibration data: a folder of images, .npy or .pb files, or of folders with a file an input; or an .npy "
         "or .npz file, a sample each index of its first axis; or ranges, as --ranges writes them or trtexec's cache"},
    {"calib-count", CLI_INT, "N", .doc = "samples to use, the first by name; default 64", .low = 1, .high = 1e6},
    {0},
};

static bool has_suffix(const char *name, const char *const *suffixes) {
  const char *dot = strrchr(name, '.');
  for (; dot && *suffixes; ++suffixes)
    if (strcasecmp(dot + 1, *suffixes) == 0) return true;
  return false;
}

static const char *const tensor_suffixes[] = {"npy", "pb", NULL};
static const char *const archive_suffixes[] = {"npz", NULL};
static const char *const image_suffixes[] = {"jpg", "jpeg", "png", "ppm", "pgm", NULL};

static bool is_folder(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static int no_memory(void) {
  cli_error("out of memory for the list of calibration data");
  return CLI_EXIT_NO_MEMORY;
}

static int join(const char *folder, const char *name, char *out, size_t room) {
  const int length = snprintf(out, room, "%s/%s", folder, name);
  if (length >= 0 && (size_t)length < room) return CLI_EXIT_OK;
  cli_error("%s/%s: the path is too long", folder, name);
  return CLI_EXIT_IO;
}

static int add_name(cli_calib *c, const char *name, int64_t *room) {
  if (c->name_count == MOST_FILES) {
    cli_error("%s: more than %d files", c->path, MOST_FILES);
    return CLI_EXIT_LIMIT;
  }
  if (c->name_count == *room) {
    *room = *room ? 2 * *room : 256;
    char **larger = realloc(c->names, (size_t)*room * sizeof *larger);
    if (!larger) return no_memory();
    c->names = larger;
  }
  char *copy = strdup(name);
  if (!copy) return no_memory();
  c->names[c->name_count++] = copy;
  return CLI_EXIT_OK;
}

/* Names that end like images or tensors, and folders: others, as labels, are not meant. */
static int list_folder(cli_calib *c) {
  DIR *folder = opendir(c->path);
  if (!folder) {
    cli_error("%s: %s", c->path, strerror(errno));
    return CLI_EXIT_IO;
  }
  int code = CLI_EXIT_OK;
  int64_t room = 0;
  char path[4096];
  for (const struct dirent *entry; code == CLI_EXIT_OK && (entry = readdir(folder));) {
    if (entry->d_name[0] == '.') continue;
    code = join(c->path, entry->d_name, path, sizeof path);
    const bool file = has_suffix(entry->d_name, tensor_suffixes) || has_suffix(entry->d_name, image_suffixes);
    if (code == CLI_EXIT_OK && (file || is_folder(path))) code = add_name(c, entry->d_name, &room);
  }
  closedir(folder);
  if (code != CLI_EXIT_OK) return code;
  if (c->name_count > 0) qsort(c->names, (size_t)c->name_count, sizeof *c->names, by_name);
  c->count = c->name_count;
  return CLI_EXIT_OK;
}

/* ---- one file with all samples ---- */

/* Of one input: an .npz has an array for each by its name; any other file is the only input's. */
static int read_port(cli_calib *c, int p) {
  cli_tool *cli = c->cli;
  const hone_port_info *port = &c->ports[p];
  hone_named_tensor *whole = &c->whole[p];
  int code = CLI_EXIT_OK;
  if (has_suffix(c->path, archive_suffixes)) {
    const hone_status status = hone_tensor_read_npz(cli->context, c->path, port->name, &whole->tensor);
    if (status != HONE_OK) code = cli_fail(cli, status);
  } else {
    code = cli_read_tensor(cli, c->path, &port->type, &whole->tensor);
  }
  if (code != CLI_EXIT_OK) return code;
  ++c->whole_count;
  whole->name = port->name;
  const hone_shape *shape = &whole->tensor.type.shape;
  const int64_t batch = port->type.shape.rank > 0 && port->type.shape.dim[0] > 1 ? port->type.shape.dim[0] : 1;
  if (shape->rank != port->type.shape.rank || shape->rank < 1 || shape->dim[0] % batch != 0)
    return cli_usage_error(cli,
                           "--%s %s: input %s has rank %d and a batch of %lld; the file's first axis must count "
                           "samples",
                           c->option, c->path, port->name, port->type.shape.rank, (long long)batch);
  if (p > 0 && shape->dim[0] / batch != c->count)
    return cli_usage_error(cli, "--%s %s: %lld samples of input %s, but %lld of %s", c->option, c->path,
                           (long long)(shape->dim[0] / batch), port->name, (long long)c->count, c->ports[0].name);
  c->count = shape->dim[0] / batch;
  return CLI_EXIT_OK;
}

static int read_whole(cli_calib *c) {
  if (c->port_count != 1 && !has_suffix(c->path, archive_suffixes))
    return cli_usage_error(c->cli,
                           "--%s %s: one array is for a model of one input; this one has %d: give an .npz or a "
                           "folder",
                           c->option, c->path, c->port_count);
  int code = CLI_EXIT_OK;
  for (int p = 0; p < c->port_count && code == CLI_EXIT_OK; ++p) code = read_port(c, p);
  return code;
}

static hone_status cut_whole(const cli_calib *c, int64_t index, hone_named_tensor *out, int *out_count) {
  for (int i = 0; i < c->whole_count; ++i) {
    out[i] = c->whole[i];
    hone_tensor *tensor = &out[i].tensor;
    const size_t each = tensor->bytes / (size_t)c->count;
    tensor->type.shape.dim[0] /= c->count;
    tensor->bytes = each;
    tensor->data = (char *)tensor->data + (size_t)index * each;
  }
  *out_count = c->whole_count;
  return HONE_OK;
}

/* ---- a folder ---- */

static void drop_held(cli_calib *c) {
  for (int i = 0; i < c->held_count; ++i) hone_tensor_free(c->cli->context, &c->held[i].tensor);
  c->held_count = 0;
}

static int read_file(cli_calib *c, const char *path, const hone_port_info *port) {
  hone_named_tensor *held = &c->held[c->held_count];
  int code;
  held->name = port->name;
  if (has_suffix(path, image_suffixes)) {
    cli_image image;
    const hone_status status = cli_image_read(hone_context_diagnostics(c->cli->context), path, &image);
    if (status != HONE_OK) return cli_fail(c->cli, status);
    code = cli_image_to_tensor(c->cli, &image, port, &held->tensor);
    free(image.pixels);
  } else {
    code = cli_read_tensor(c->cli, path, &port->type, &held->tensor);
  }
  if (code == CLI_EXIT_OK) ++c->held_count;
  return code;
}

/* A folder holds NAME.npy or NAME.pb for each input, or input_0.pb, ... as ONNX's test data sets do. */
static int read_set(cli_calib *c, const char *folder) {
  for (int p = 0; p < c->port_count; ++p) {
    char name[512], path[4096];
    bool found = false;
    int code = CLI_EXIT_OK;
    for (int k = 0; k < 2 && !found && code == CLI_EXIT_OK; ++k) {
      (void)snprintf(name, sizeof name, k == 0 ? "%s.npy" : "%s.pb", c->ports[p].name);
      for (char *s = name; *s; ++s)
        if (*s == '/') *s = '_';
      code = join(folder, name, path, sizeof path);
      struct stat about;
      found = code == CLI_EXIT_OK && stat(path, &about) == 0;
    }
    if (!found && code == CLI_EXIT_OK) {
      (void)snprintf(name, sizeof name, "input_%d.pb", p);
      code = join(folder, name, path, sizeof path);
    }
    if (code == CLI_EXIT_OK) code = read_file(c, path, &c->ports[p]);
    if (code != CLI_EXIT_OK) return code;
  }
  return CLI_EXIT_OK;
}

static int read_sample(cli_calib *c, int64_t index) {
  char path[4096];
  int code = join(c->path, c->names[index], path, sizeof path);
  if (code != CLI_EXIT_OK) return code;
  if (is_folder(path)) return read_set(c, path);
  if (c->port_count != 1)
    return cli_usage_error(c->cli,
                           "%s: which of the model's %d inputs is it? give a folder for each sample, with NAME.npy for "
                           "each input",
                           path, c->port_count);
  return read_file(c, path, &c->ports[0]);
}

hone_status cli_calib_sample(void *calib, int64_t index, hone_named_tensor *out, int room, int *out_count) {
  cli_calib *c = calib;
  drop_held(c);
  *out_count = 0;
  if (index >= c->count || room < c->port_count) return HONE_OK;
  if (!c->is_folder) return cut_whole(c, index, out, out_count);
  hone_named_tensor *kept = c->kept ? &c->kept[index * c->port_count] : NULL;
  *out_count = c->port_count;
  if (kept && kept->tensor.data) { /* read in an earlier pass */
    memcpy(out, kept, (size_t)c->port_count * sizeof *out);
    return HONE_OK;
  }
  c->code = read_sample(c, index);
  if (c->code != CLI_EXIT_OK) return HONE_INVALID;
  memcpy(out, c->held, (size_t)c->port_count * sizeof *out);
  size_t bytes = 0;
  for (int i = 0; i < c->held_count; ++i) bytes += c->held[i].tensor.bytes;
  if (kept && c->kept_bytes + bytes <= MOST_KEPT_BYTES) {
    memcpy(kept, c->held, (size_t)c->port_count * sizeof *kept);
    c->kept_bytes += bytes;
    c->held_count = 0;
  }
  return HONE_OK;
}

int cli_calib_open_option(cli_tool *cli, const hone_graph *graph, const char *option, int64_t wanted, cli_calib *c) {
  *c = (cli_calib){.cli = cli, .option = option, .path = cli_text(cli, option)};
  c->port_count = cli_ports_of_graph(graph, c->ports, CLI_MAX_INPUTS);
  c->is_folder = is_folder(c->path);
  const int code = c->is_folder ? list_folder(c) : read_whole(c);
  if (code != CLI_EXIT_OK) return code;
  if (c->count == 0)
    return cli_usage_error(cli, "--%s %s: there is no sample in it: no image, .npy or .pb file", option, c->path);
  if (!c->is_folder && wanted < c->count) { /* the file's other samples are left */
    for (int i = 0; i < c->whole_count; ++i) {
      hone_tensor *tensor = &c->whole[i].tensor;
      tensor->type.shape.dim[0] = tensor->type.shape.dim[0] / c->count * wanted;
      tensor->bytes = tensor->bytes / (size_t)c->count * (size_t)wanted;
    }
  }
  if (wanted < c->count) c->count = wanted;
  if (c->is_folder) c->kept = calloc((size_t)(c->count * c->port_count), sizeof *c->kept); /* without: read again */
  return CLI_EXIT_OK;
}

int cli_calib_open(cli_tool *cli, const hone_graph *graph, cli_calib *c) {
  return cli_calib_open_option(cli, graph, "calib", cli_int(cli, "calib-count", DEFAULT_COUNT), c);
}

void cli_calib_close(cli_calib *c) {
  if (!c->cli) return;
  drop_held(c);
  for (int i = 0; i < c->whole_count; ++i) hone_tensor_free(c->cli->context, &c->whole[i].tensor);
  for (int64_t i = 0; c->kept && i < c->count * c->port_count; ++i)
    if (c->kept[i].tensor.data) hone_tensor_free(c->cli->context, &c->kept[i].tensor);
  free(c->kept);
  for (int64_t i = 0; i < c->name_count; ++i) free(c->names[i]);
  free(c->names);
  *c = (cli_calib){0};
}

/* ---- quantising by it ---- */

static bool is_ranges(const char *path) {
  static const char *const heads[] = {"hone calibration", "TRT-"};
  char begin[32] = "";
  const char *why;
  FILE *file = cli_open_input(path, &why);
  if (file && fread(begin, 1, sizeof begin - 1, file) == 0) begin[0] = 0;
  if (file) fclose(file);
  for (size_t i = 0; i < CLI_COUNT(heads); ++i)
    if (strncmp(begin, heads[i], strlen(heads[i])) == 0) return true;
  return false;
}

int cli_with_samples(cli_tool *cli, const hone_graph *graph, hone_quantize_options *options, cli_use_samples *use,
                     void *user) {
  static cli_calib calib; /* large for a stack */
  const char *path = cli_text(cli, "calib");
  int code = cli_open_device(cli);
  if (code == CLI_EXIT_OK && path && is_ranges(path)) {
    if (options->cache_path) code = cli_usage_error(cli, "--calib %s holds ranges, and --ranges was given", path);
    options->cache_path = path;
  } else if (code == CLI_EXIT_OK && path) {
    const int64_t most = options->sample_count > 0 ? options->sample_count : DEFAULT_COUNT;
    code = cli_calib_open_option(cli, graph, "calib", cli_int(cli, "calib-count", most), &calib);
    options->sample = cli_calib_sample;
    options->sample_user = &calib;
    options->sample_count = calib.count;
  }
  if (code == CLI_EXIT_OK) {
    const hone_status status = use(cli, graph, options, user);
    cli_progress_end(cli);
    if (status != HONE_OK) code = calib.code != CLI_EXIT_OK ? calib.code : cli_fail(cli, status);
  }
  cli_calib_close(&calib);
  return code;
}

static hone_status use_to_quantize(cli_tool *cli, const hone_graph *graph, const hone_quantize_options *options,
                                   void *user) {
  return hone_graph_quantize(cli->context, graph, &cli->device, 1, options, user);
}

int cli_quantize(cli_tool *cli, const hone_graph *graph, hone_quantize_options *options, hone_graph **out) {
  *out = NULL;
  return cli_with_samples(cli, graph, options, use_to_quantize, out);
}

typedef struct seer {
  void (*see)(void *user, const hone_sensitivity *row);
  void *user;
} seer;

static hone_status use_to_see(cli_tool *cli, const hone_graph *graph, const hone_quantize_options *options,
                              void *user) {
  const seer *s = user;
  return hone_graph_sensitivity(cli->context, graph, &cli->device, 1, options, s->see, s->user);
}

int cli_sensitivity(cli_tool *cli, const hone_graph *graph, hone_quantize_options *options,
                    void (*see)(void *user, const hone_sensitivity *row), void *user) {
  seer s = {see, user};
  return cli_with_samples(cli, graph, options, use_to_see, &s);
}

static void find_rounding(void *user, const char *name, const char *op) {
  (void)name;
  *(bool *)user |= strcmp(op, "quantize_linear") == 0 || strncmp(op, "qlinear_", 8) == 0;
}

static void tell_floats(void *user, const hone_quantize_event *event) {
  if (event->why) cli_note(user, "%s (%s) stays in f32: %s", event->layer, event->op, event->why);
}

/* --int4: no data is needed, nor a device. */
static int round_weights(cli_tool *cli, cli_model *model, hone_quantize_options *options) {
  hone_graph *made = NULL;
  options->weights = HONE_I4;
  const hone_status status = hone_graph_quantize(cli->context, model->graph, NULL, 0, options, &made);
  if (status != HONE_OK) return cli_fail(cli, status);
  hone_graph_destroy(model->graph);
  model->graph = made;
  return CLI_EXIT_OK;
}

int cli_quantize_model(cli_tool *cli, cli_model *model) {
  if (model->final || model->plain || !cli_takes(cli->command, "int8")) return CLI_EXIT_OK;
  const bool int8 = cli_has(cli, "int8"), int4 = cli_has(cli, "int4");
  if (int8 && int4)
    return cli_usage_error(cli, "--int8 rounds weights and activations, --int4 weights alone: give one of them");
  if (!int8 && cli_has(cli, "calib") && !cli_takes(cli->command, "apply"))
    return cli_usage_error(cli, "--calib is for --int8, which was not given");
  if (!int8 && !int4) return CLI_EXIT_OK;
  bool quantised = false;
  hone_graph_each_node(model->graph, find_rounding, &quantised);
  if (quantised) {
    cli_note(cli, "the model is quantised already: --%s changes nothing of it", int8 ? "int8" : "int4");
    return CLI_EXIT_OK;
  }
  if (int8 && !cli_has(cli, "calib"))
    return cli_usage_error(cli, "--int8 needs --calib FOLDER: samples of what the model will see, or ranges");
  hone_quantize_options options = {.struct_size = sizeof options,
                                   .progress = cli_progress_samples,
                                   .progress_user = cli,
                                   .event = tell_floats,
                                   .event_user = cli};
  if (int4) return round_weights(cli, model, &options);
  hone_graph *made;
  const int code = cli_quantize(cli, model->graph, &options, &made);
  if (code != CLI_EXIT_OK) return code;
  hone_graph_destroy(model->graph);
  model->graph = made;
  return CLI_EXIT_OK;
}
