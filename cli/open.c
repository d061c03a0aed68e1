/* SPDX-License-Identifier: Apache-2.0 */
/* open.c - devices, models and engines from the command line. */
#include "recipe.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

FILE *cli_open_input(const char *path, const char **why) {
  static const struct {
    mode_t kind;
    const char *why;
  } others[] = {{S_IFDIR, "is a folder"},
                {S_IFIFO, "is a pipe, not a regular file"},
                {S_IFSOCK, "is a socket, not a regular file"},
                {S_IFCHR, "is a device, not a regular file"},
                {S_IFBLK, "is a device, not a regular file"}};
  struct stat about = {0};
  const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (fd < 0 || fstat(fd, &about) != 0) {
    *why = errno == ENXIO ? "is not a regular file" : strerror(errno); /* a socket cannot be opened */
    if (fd >= 0) close(fd);
    return NULL;
  }
  *why = "is not a regular file";
  for (size_t i = 0; i < CLI_COUNT(others); ++i)
    if ((about.st_mode & S_IFMT) == others[i].kind) *why = others[i].why;
  FILE *file = S_ISREG(about.st_mode) ? fdopen(fd, "rb") : NULL;
  if (!file) close(fd);
  return file;
}

cli_file_kind cli_file_kind_of(const char *path) {
  char begin[16] = {0};
  const char *why;
  struct stat about;
  if (stat(path, &about) == 0 && S_ISDIR(about.st_mode)) return CLI_FILE_MODEL; /* the library says best what it is */
  FILE *file = cli_open_input(path, &why);
  const bool failed = file && fread(begin, 1, sizeof begin - 1, file) == 0 && ferror(file);
  if (failed) why = strerror(errno);
  if (file) fclose(file);
  if (!file || failed) {
    cli_error("%s: %s", path, why);
    return CLI_FILE_UNREADABLE;
  }
  if (strncmp(begin, "HONEENG\n", 8) == 0) return CLI_FILE_ENGINE;
  return strncmp(begin, "graph ", 6) == 0 ? CLI_FILE_GRAPH_TEXT : CLI_FILE_MODEL;
}

/* "cpu", "gpu", "gpu:1", and trtexec's "1", which is "gpu:1". */
static int read_device(cli_tool *cli, char *kind, size_t room, int *index) {
  const char *text = cli_text(cli, "device");
  if (!text) text = "cpu";
  const char *colon = strchr(text, ':');
  const char *number = colon ? colon + 1 : *text >= '0' && *text <= '9' ? text : "0";
  char *end;
  *index = (int)strtol(number, &end, 10);
  if (*end || end == number || *index < 0)
    return cli_usage_error(cli, "--device expects KIND or KIND:NUMBER, not %s", text);
  (void)snprintf(kind, room, "%.*s", number == text ? 3 : (int)strcspn(text, ":"), number == text ? "gpu" : text);
  return CLI_EXIT_OK;
}

int cli_try_device(cli_tool *cli, hone_status *out_status) {
  *out_status = HONE_OK;
  if (cli->device) return CLI_EXIT_OK;
  char kind[64];
  int index;
  int code = read_device(cli, kind, sizeof kind, &index);
  if (code != CLI_EXIT_OK) return code;
  cli_cpus cpus;
  cli_stream_options stream;
  code = cli_read_cpus(cli, &cpus);
  if (code != CLI_EXIT_OK) return code;
  cli_device_options_of(&cpus, 0, &stream);
  stream.options.machine = cli->machine;
  *out_status = hone_device_open(cli->context, kind, index, &stream.options, &cli->device);
  if (*out_status != HONE_OK) return CLI_EXIT_OK;
  return cpus.streams > 1 ? CLI_EXIT_OK : cli_pin_thread(&stream); /* several streams have threads of their own */
}

int cli_open_device(cli_tool *cli) {
  hone_status status;
  const int code = cli_try_device(cli, &status);
  return status == HONE_OK ? code : cli_fail(cli, status);
}

int cli_measure_device(cli_tool *cli) {
  const hone_status status = hone_device_measure(cli->device, hone_context_diagnostics(cli->context));
  if (status == HONE_OK) return CLI_EXIT_OK;
  if (status != HONE_UNSUPPORTED) return cli_fail(cli, status);
  hone_context_clear_messages(cli->context);
  return CLI_EXIT_OK;
}

static hone_status load_text(cli_tool *cli, const char *path, hone_graph **out_graph) {
  hone_diagnostics *diag = hone_context_diagnostics(cli->context);
  const char *why;
  FILE *file = cli_open_input(path, &why);
  if (!file) return hone_fail(diag, HONE_IO, "%s: %s", path, why);
  char *text = NULL;
  size_t length = 0, room = 0;
  for (;;) {
    if (length == room) {
      room = room ? room * 2 : 65536;
      char *larger = realloc(text, room);
      if (!larger) {
        free(text);
        fclose(file);
        return hone_fail(diag, HONE_NO_MEMORY, "%s: out of memory", path);
      }
      text = larger;
    }
    const size_t got = fread(text + length, 1, room - length, file);
    if (got == 0) break;
    length += got;
  }
  hone_status status = ferror(file) ? hone_fail(diag, HONE_IO, "%s: cannot be read", path) : HONE_OK;
  fclose(file);
  if (status == HONE_OK) status = hone_graph_parse(cli->context, text, length, out_graph);
  free(text);
  return status;
}

hone_status cli_load_graph(cli_tool *cli, const char *path, hone_graph **out_graph) {
  *out_graph = NULL;
  cli->subject = CLI_MODEL;
  const cli_file_kind kind = cli_file_kind_of(path);
  if (kind == CLI_FILE_UNREADABLE) return HONE_IO;
  hone_status status = kind == CLI_FILE_GRAPH_TEXT ? load_text(cli, path, out_graph)
                                                   : hone_graph_load_onnx(cli->context, path, out_graph);
  if (status == HONE_OK) status = cli_recipe_attach(cli, out_graph);
  if (status != HONE_OK) {
    hone_graph_destroy(*out_graph);
    *out_graph = NULL;
  }
  return status;
}

int cli_ports_of_graph(const hone_graph *graph, hone_port_info *out, int room) {
  const int count = hone_graph_input_count(graph) < room ? hone_graph_input_count(graph) : room;
  for (int i = 0; i < count; ++i) {
    const hone_value *value = hone_graph_input(graph, i);
    out[i] = (hone_port_info){.struct_size = sizeof out[i], .name = hone_value_name(value)};
    hone_value_type(value, &out[i].type);
    out[i].opt = out[i].type.shape;
  }
  return count;
}

static int ports_of_engine(const cli_tool *cli, const hone_engine *engine, hone_port_info *out, int room) {
  const int count = hone_engine_input_count(engine) < room ? hone_engine_input_count(engine) : room;
  for (int i = 0; i < count; ++i)
    if (cli_engine_input(cli, engine, i, &out[i]) != HONE_OK) return i;
  return count;
}

static void shape_text(const hone_shape *shape, char *out, size_t room) {
  size_t used = (size_t)snprintf(out, room, "%s", shape->rank == 0 ? "scalar" : "");
  for (int i = 0; i < shape->rank && used < room; ++i) {
    char dim[24] = "?";
    if (shape->dim[i] >= 0) (void)snprintf(dim, sizeof dim, "%lld", (long long)shape->dim[i]);
    used += (size_t)snprintf(out + used, room - used, "%s%s", i ? "x" : "", dim);
  }
}

/* A shape for this input: of its rank, and the only one in its profile. */
static int check_shape(const cli_tool *cli, const char *option, const cli_shape *shapes, int s,
                       const hone_port_info *port) {
  const cli_shape *given = &shapes[s];
  const hone_shape *wanted = &port->type.shape;
  for (int k = 0; k < s; ++k)
    if (shapes[k].profile == given->profile && strcmp(shapes[k].input, given->input) == 0)
      return cli_usage_error(cli, "--%s: input %s is given two shapes", option, given->input);
  if (wanted->rank < 0 || wanted->rank == given->shape.rank) return CLI_EXIT_OK;
  char got[256], want[256];
  shape_text(&given->shape, got, sizeof got);
  shape_text(wanted, want, sizeof want);
  return cli_usage_error(cli, "--%s: %s has rank %d, and input %s has rank %d: %s", option, got, given->shape.rank,
                         given->input, wanted->rank, want);
}

/* Gives names to shapes that were given without one, and checks that every name is an input that takes the shape. */
static int check_shapes(cli_tool *cli, const char *option, cli_shape *shapes, int count, const hone_port_info *ports,
                        int port_count) {
  for (int s = 0; s < count; ++s) {
    if (!shapes[s].input[0] && port_count == 1)
      (void)snprintf(shapes[s].input, sizeof shapes[s].input, "%s", ports[0].name);
    const hone_port_info *found = NULL;
    const char *near = NULL;
    for (int p = 0; p < port_count; ++p) {
      if (strcmp(ports[p].name, shapes[s].input) == 0) found = &ports[p];
      near = hone_nearest_name(shapes[s].input, near, ports[p].name);
    }
    if (!found && !shapes[s].input[0])
      return cli_usage_error(cli, "--%s: a name is needed; the model has %d inputs", option, port_count);
    if (!found)
      return cli_usage_error(cli, "--%s: the model has no input %s%s%s", option, shapes[s].input,
                             near ? "; did you mean " : "", near ? near : "");
    const int code = check_shape(cli, option, shapes, s, found);
    if (code != CLI_EXIT_OK) return code;
  }
  return CLI_EXIT_OK;
}

int cli_read_shapes(cli_tool *cli, const char *option, const hone_port_info *ports, int port_count, cli_shape *out,
                    int *count) {
  int profile = 0;
  *count = 0;
  for (int i = 0; i < cli->given_count; ++i) {
    const cli_given *given = &cli->given[i];
    if (strcmp(given->option->name, "profile") == 0) profile = (int)strtol(given->text, NULL, 10);
    if (strcmp(given->option->name, option) != 0) continue;
    const int first = *count;
    if (!cli_parse_shapes(option, given->text, out, count)) return CLI_EXIT_USAGE;
    for (int s = first; s < *count; ++s) out[s].profile = profile;
  }
  return check_shapes(cli, option, out, *count, ports, port_count);
}

/* An engine is built already: what was said about building is told to be without effect. */
static void tell_idle_options(const cli_tool *cli, const char *path) {
  static const char *const trt_names[] = {"precisionConstraints", "layerPrecisions", "layerOutputTypes"};
  for (int i = 0; i < cli->given_count; ++i) {
    const cli_option *option = cli->given[i].option;
    bool idle = false;
    for (const cli_option *row = cli_build_options; row->name; ++row)
      idle = idle || (row == option && strcmp(row->name, "shapes") != 0 && strcmp(row->name, "seed") != 0);
    idle = idle || strcmp(option->name, "recipe") == 0;
    for (size_t k = 0; k < CLI_COUNT(trt_names); ++k) idle = idle || strcmp(option->name, trt_names[k]) == 0;
    if (idle) cli_note(cli, "warning: --%s is about building, and %s is already an engine", option->name, path);
  }
}

/* An engine for a GPU opens one by itself, where no device was asked for. */
static hone_status load_engine(cli_tool *cli, const char *path, cli_model *model) {
  const hone_status status = hone_engine_load(cli->context, path, &cli->device, 1, &model->engine);
  hone_device *gpu;
  if (status != HONE_DEVICE || cli_has(cli, "device") ||
      hone_device_open(cli->context, "gpu", 0, NULL, &gpu) != HONE_OK)
    return status;
  hone_context_clear_messages(cli->context);
  cli_note(cli, "%s runs on a GPU: as with --device gpu", path);
  hone_device_close(cli->device);
  cli->device = gpu;
  return hone_engine_load(cli->context, path, &cli->device, 1, &model->engine);
}

int cli_open_named_model(cli_tool *cli, const char *path, cli_model *model) {
  *model = (cli_model){0};
  const cli_file_kind kind = cli_file_kind_of(path);
  if (kind == CLI_FILE_UNREADABLE) return CLI_EXIT_IO;
  int code = cli_open_device(cli);
  if (code != CLI_EXIT_OK) return code;
  hone_status status;
  if (kind == CLI_FILE_ENGINE) {
    cli->subject = CLI_ENGINE;
    tell_idle_options(cli, path);
    status = load_engine(cli, path, model);
    if (status == HONE_OK) status = cli_recipe_of_engine(cli, model->engine);
  } else {
    status = cli_load_graph(cli, path, &model->graph);
  }
  if (status != HONE_OK) return cli_fail(cli, status);
  hone_port_info ports[CLI_MAX_INPUTS];
  const int port_count = model->engine ? ports_of_engine(cli, model->engine, ports, CLI_MAX_INPUTS)
                                       : cli_ports_of_graph(model->graph, ports, CLI_MAX_INPUTS);
  if (model->engine || !cli_wants_schedule(cli, &model->run_profile)) model->run_profile = -1;
  code = cli_read_shapes(cli, "shapes", ports, port_count, model->shapes, &model->shape_count);
  if (code == CLI_EXIT_OK) code = cli_check_types(cli, model);
  if (code == CLI_EXIT_OK) code = cli_read_inputs(cli, ports, port_count, model);
  if (code == CLI_EXIT_OK && !model->engine) code = cli_build_engine(cli, model);
  return code;
}

int cli_open_model(cli_tool *cli, cli_model *model) {
  *model = (cli_model){0};
  const char *path = cli_text(cli, "model");
  if (!path) return cli_usage_error(cli, "a model or an engine must be named");
  return cli_open_named_model(cli, path, model);
}

void cli_close_model(cli_tool *cli, cli_model *model) {
  for (int i = 0; i < model->input_count; ++i) hone_tensor_free(cli->context, &model->inputs[i].tensor);
  hone_engine_release(model->engine);
  hone_graph_destroy(model->graph);
  *model = (cli_model){0};
}
