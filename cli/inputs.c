/* SPDX-License-Identifier: Apache-2.0 */
/* inputs.c - tensors for a model's inputs: from files by their content, seeded numbers for the rest. */
#include "cli.h"
#include <stdlib.h>
#include <string.h>

static bool has_suffix(const char *text, const char *suffix) {
  const size_t length = strlen(text), tail = strlen(suffix);
  return length >= tail && strcmp(text + length - tail, suffix) == 0;
}

static const cli_shape *find_shape(const cli_model *model, const char *input) {
  for (int i = model->shape_count - 1; i >= 0; --i)
    if (strcmp(model->shapes[i].input, input) == 0 &&
        (model->run_profile < 0 || model->run_profile == model->shapes[i].profile))
      return &model->shapes[i];
  return NULL;
}

/* The port's type with dims that are all known: as --shapes says, else the profile's, else 1. */
static hone_type known_type(const cli_model *model, const hone_port_info *port) {
  hone_type type = port->type;
  const cli_shape *given = find_shape(model, port->name);
  if (given && given->shape.rank == type.shape.rank) type.shape = given->shape;
  for (int i = 0; i < type.shape.rank; ++i)
    if (type.shape.dim[i] < 0)
      type.shape.dim[i] = port->opt.rank == type.shape.rank && port->opt.dim[i] >= 0 ? port->opt.dim[i] : 1;
  return type;
}

/* The elements one after the other, nothing else. */
static hone_status read_raw(cli_tool *cli, const char *path, const hone_type *type, hone_tensor *out) {
  hone_diagnostics *diag = hone_context_diagnostics(cli->context);
  const char *why;
  FILE *file = cli_open_input(path, &why);
  if (!file) return hone_fail(diag, HONE_IO, "%s: %s", path, why);
  hone_status status = hone_tensor_alloc(cli->context, type, out);
  if (status == HONE_OK) {
    const size_t got = fread(out->data, 1, out->bytes, file);
    if (got != out->bytes || fgetc(file) != EOF)
      status = hone_fail(diag, HONE_MALFORMED, "%s: the input needs %zu bytes; the file has %s", path, out->bytes,
                         got == out->bytes ? "more" : "fewer");
    if (status != HONE_OK) hone_tensor_free(cli->context, out);
  }
  fclose(file);
  return status;
}

static int read_image(cli_tool *cli, const char *path, const hone_port_info *port, hone_tensor *out) {
  cli_image image;
  const hone_status status = cli_image_read(hone_context_diagnostics(cli->context), path, &image);
  if (status != HONE_OK) {
    cli->subject = CLI_MODEL; /* a damaged image is no damaged engine */
    return cli_fail(cli, status);
  }
  const int code = cli_image_to_tensor(cli, &image, port, out);
  free(image.pixels);
  return code;
}

int cli_read_tensor(cli_tool *cli, const char *path, const hone_type *type, hone_tensor *out) {
  const cli_subject before = cli->subject;
  cli->subject = CLI_MODEL; /* a damaged tensor file is no damaged engine */
  const bool raw = has_suffix(path, ".bin") || has_suffix(path, ".raw") || has_suffix(path, ".dat");
  const hone_status status = raw ? read_raw(cli, path, type, out) : hone_tensor_read(cli->context, path, out);
  if (status != HONE_OK) return cli_fail(cli, status);
  cli->subject = before;
  return CLI_EXIT_OK;
}

static int read_one(cli_tool *cli, const char *path, const hone_port_info *port, cli_model *model) {
  cli_input *input = &model->inputs[model->input_count];
  (void)snprintf(input->name, sizeof input->name, "%s", port->name);
  const hone_type type = known_type(model, port);
  const int code = cli_is_image(path) ? read_image(cli, path, port, &input->tensor)
                                      : cli_read_tensor(cli, path, &type, &input->tensor);
  if (code != CLI_EXIT_OK) return code;
  ++model->input_count;
  if (input->tensor.type.dtype == port->type.dtype) return CLI_EXIT_OK;
  return cli_usage_error(cli, "%s holds %s, but the input %s is %s", path, hone_dtype_name(input->tensor.type.dtype),
                         port->name, hone_dtype_name(port->type.dtype));
}

int cli_part_pair(cli_tool *cli, const char *what, const char *text, size_t length, char sign,
                  const hone_port_info *ports, int port_count, char *room, size_t room_bytes,
                  const hone_port_info **out_port, const char **out_path) {
  if (length >= room_bytes) return cli_usage_error(cli, "an %s's file name is too long", what);
  memcpy(room, text, length);
  room[length] = 0;
  for (int p = 0; p < port_count; ++p) {
    const size_t name_length = strlen(ports[p].name);
    if (strncmp(room, ports[p].name, name_length) != 0 || room[name_length] != sign) continue;
    *out_port = &ports[p];
    *out_path = room + name_length + 1;
    return CLI_EXIT_OK;
  }
  char *parted = strchr(room, sign);
  *out_port = &ports[0];
  *out_path = room;
  if (!parted && port_count == 1) return CLI_EXIT_OK;
  if (!parted) return cli_usage_error(cli, "%s: which %s? write NAME%c%s", room, what, sign, room);
  *parted = 0;
  const char *near = NULL;
  for (int p = 0; p < port_count; ++p) near = hone_nearest_name(room, near, ports[p].name);
  if (!near && port_count == 1) near = ports[0].name;
  return cli_usage_error(cli, "the model has no %s %s%s%s", what, room, near ? "; did you mean " : "",
                         near ? near : "");
}

static int read_pair(cli_tool *cli, const char *text, size_t length, char sign, const hone_port_info *ports,
                     int port_count, cli_model *model) {
  char pair[4096];
  const hone_port_info *port;
  const char *path;
  if (model->input_count == CLI_MAX_INPUTS) return cli_usage_error(cli, "more than %d inputs", CLI_MAX_INPUTS);
  const int code = cli_part_pair(cli, "input", text, length, sign, ports, port_count, pair, sizeof pair, &port, &path);
  return code == CLI_EXIT_OK ? read_one(cli, path, port, model) : code;
}

int cli_read_inputs(cli_tool *cli, const hone_port_info *ports, int port_count, cli_model *model) {
  const char *texts[CLI_MAX_INPUTS];
  int code = CLI_EXIT_OK;
  const int given = cli_list(cli, "input", texts, CLI_MAX_INPUTS);
  for (int i = 0; i < given && code == CLI_EXIT_OK; ++i)
    code = read_pair(cli, texts[i], strlen(texts[i]), '=', ports, port_count, model);
  const int trt_given = cli_list(cli, "loadInputs", texts, CLI_MAX_INPUTS);
  for (int i = 0; i < trt_given && code == CLI_EXIT_OK; ++i)
    for (const char *at = texts[i]; at && code == CLI_EXIT_OK;) {
      const size_t length = strcspn(at, ",");
      code = read_pair(cli, at, length, ':', ports, port_count, model);
      at = at[length] ? at + length + 1 : NULL;
    }
  return code;
}

/* Real numbers in [-1, 1), integers and bools 0 or 1: small enough for any index or mask. False: the tool must end. */
static bool fill_random(hone_tensor *tensor, uint64_t seed) {
  const int64_t count = hone_tensor_count(tensor);
  const bool real = HONE_BIT(tensor->type.dtype) & (HONE_TYPES_FLOAT | HONE_TYPES_F8 | HONE_BIT(HONE_F4E2M1));
  uint64_t state = seed;
  for (int64_t i = 0; i < count; ++i) {
    if (i % 65536 == 0 && cli_stop_code() != CLI_EXIT_OK) return false;
    const uint64_t bits = cli_random(&state);
    const double value = real ? (double)(bits >> 11) * 0x1p-52 - 1 : (double)(bits >> 63);
    if (tensor->type.dtype == HONE_F32)
      ((float *)tensor->data)[i] = (float)value;
    else
      hone_tensor_set_real(tensor, i, value);
  }
  return true;
}

static const hone_tensor *find_input(const cli_model *model, const char *name) {
  for (int i = model->input_count - 1; i >= 0; --i)
    if (strcmp(model->inputs[i].name, name) == 0) return &model->inputs[i].tensor;
  return NULL;
}

static int fill_one(cli_tool *cli, const cli_model *model, const hone_port_info *port, hone_session *session,
                    uint64_t seed) {
  const hone_tensor *given = find_input(model, port->name);
  if (given) {
    const hone_status status = hone_session_copy_in(session, port->name, given);
    return status == HONE_OK ? CLI_EXIT_OK : cli_fail_session(cli, session, status);
  }
  const hone_type type = known_type(model, port);
  if (type.dtype == HONE_STRING) {
    cli_error("input %s holds strings, which need a file: --input %s=FILE", port->name, port->name);
    return CLI_EXIT_USAGE;
  }
  hone_tensor tensor;
  hone_status status = hone_tensor_alloc(cli->context, &type, &tensor);
  if (status != HONE_OK) return cli_fail(cli, status);
  int code = CLI_EXIT_OK;
  if (!fill_random(&tensor, seed))
    code = cli_stopped();
  else if ((status = hone_session_copy_in(session, port->name, &tensor)) != HONE_OK)
    code = cli_fail_session(cli, session, status);
  hone_tensor_free(cli->context, &tensor);
  return code;
}

/* Which inputs hold random numbers: once, and not each of many. */
static void tell_inputs(cli_tool *cli, const cli_model *model, hone_session *session, uint64_t seed) {
  enum { NAMED = 3 };
  const int count = hone_engine_input_count(model->engine), schedules = hone_engine_schedule_count(model->engine);
  hone_port_info port = HONE_SIZED(hone_port_info);
  int filled = 0;
  if (cli->inputs_told) return;
  cli->inputs_told = true;
  for (int i = 0; i < count; ++i) {
    if (cli_engine_input(cli, model->engine, i, &port) != HONE_OK || find_input(model, port.name)) continue;
    if (filled++ < NAMED)
      cli_note(cli, "input %s: random numbers, seed %llu", port.name, (unsigned long long)(seed + (uint64_t)i));
  }
  if (filled > NAMED) cli_note(cli, "and %d more inputs: random numbers, seeds likewise", filled - NAMED);
  hone_session_stats stats = HONE_SIZED(hone_session_stats);
  hone_session_get_stats(session, &stats);
  if (schedules > 1) cli_note(cli, "these shapes run by schedule %d of %d, from 0 on", stats.schedule, schedules);
}

int cli_fill_inputs(cli_tool *cli, const cli_model *model, hone_session *session) {
  const int count = hone_engine_input_count(model->engine);
  const uint64_t seed = (uint64_t)cli_int(cli, "seed", 0);
  /* All shapes first: inputs that share a free dim must agree before anything is copied. */
  hone_port_info port = HONE_SIZED(hone_port_info);
  for (int i = 0; i < count; ++i) {
    if (cli_engine_input(cli, model->engine, i, &port) != HONE_OK) return CLI_EXIT_INTERNAL;
    const hone_tensor *given = find_input(model, port.name);
    const hone_type type = given ? given->type : known_type(model, &port);
    const hone_status status = hone_session_set_shape(session, port.name, type.shape.rank, type.shape.dim);
    if (status != HONE_OK) return cli_fail_session(cli, session, status);
  }
  for (int i = 0; i < count; ++i) {
    if (cli_engine_input(cli, model->engine, i, &port) != HONE_OK) return CLI_EXIT_INTERNAL;
    const int code = fill_one(cli, model, &port, session, seed + (uint64_t)i);
    if (code != CLI_EXIT_OK) return code;
  }
  tell_inputs(cli, model, session, seed);
  return CLI_EXIT_OK;
}
