/* SPDX-License-Identifier: Apache-2.0 */
/* values.c - values that are kept in memory or lie in files, and runs that hand them out. */
#include "values.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void cli_values_free(cli_values *values) {
  for (int i = 0; i < values->count; ++i) {
    hone_tensor_free(values->cli->context, &values->items[i].tensor);
    free(values->items[i].name);
  }
  free(values->items);
  *values = (cli_values){.cli = values->cli};
}

hone_status cli_values_add(cli_values *values, const char *name, int64_t turn, const hone_tensor *tensor) {
  hone_diagnostics *diag = hone_context_diagnostics(values->cli->context);
  if (tensor->type.kind != HONE_TENSOR || tensor->type.dtype == HONE_STRING) return HONE_OK;
  if (values->count == values->capacity) {
    const int capacity = values->capacity ? values->capacity * 2 : 64;
    cli_value *larger = realloc(values->items, (size_t)capacity * sizeof *larger);
    if (!larger) return hone_fail(diag, HONE_NO_MEMORY, "out of memory for the values of layers");
    values->items = larger;
    values->capacity = capacity;
  }
  cli_value value = {.name = strdup(name), .turn = turn};
  const hone_status status = value.name ? hone_tensor_alloc(values->cli->context, &tensor->type, &value.tensor)
                                        : hone_fail(diag, HONE_NO_MEMORY, "out of memory for the values of layers");
  if (status != HONE_OK) {
    free(value.name);
    return status;
  }
  memcpy(value.tensor.data, tensor->data, tensor->bytes);
  values->items[values->count++] = value;
  return HONE_OK;
}

void cli_value_path(const char *folder, const char *name, char *out, size_t room) {
  const size_t used = (size_t)snprintf(out, room, "%s/", folder);
  if (used < room) (void)snprintf(out + used, room - used, "%s.npy", name);
  for (char *c = out + (used < room ? used : room - 1); *c; ++c)
    if (*c == '/') *c = '_';
}

/* There may be none: what is saved need not be all. */
static int read_file(const cli_values *values, const char *name, hone_tensor *out, bool *out_found) {
  cli_tool *cli = values->cli;
  char path[4096];
  hone_status status;
  if (values->npz) {
    status = hone_tensor_read_npz(cli->context, values->npz, name, out);
    if (status == HONE_INVALID) hone_context_clear_messages(cli->context);
    *out_found = status == HONE_OK;
    return status == HONE_OK || status == HONE_INVALID ? CLI_EXIT_OK : cli_fail(cli, status);
  }
  cli_value_path(values->folder, name, path, sizeof path);
  if (access(path, F_OK) != 0) return CLI_EXIT_OK;
  status = hone_tensor_read(cli->context, path, out);
  *out_found = status == HONE_OK;
  return status == HONE_OK ? CLI_EXIT_OK : cli_fail(cli, status);
}

int cli_values_get(const cli_values *values, const char *name, int64_t turn, hone_tensor *out, bool *out_found) {
  *out_found = false;
  if (values->folder || values->npz) return turn == 0 ? read_file(values, name, out, out_found) : CLI_EXIT_OK;
  for (int i = 0; i < values->count && !*out_found; ++i)
    if (values->items[i].turn == turn && strcmp(values->items[i].name, name) == 0) {
      *out = values->items[i].tensor;
      *out_found = true;
    }
  return CLI_EXIT_OK;
}

void cli_values_drop(const cli_values *values, hone_tensor *tensor) {
  if (values->folder || values->npz) hone_tensor_free(values->cli->context, tensor);
}

/* ---- runs ---- */

static int copy_inputs(cli_tool *cli, const cli_model *model, const cli_values *inputs, hone_session *session) {
  for (int i = 0; i < hone_engine_input_count(model->engine); ++i) {
    hone_port_info port = HONE_SIZED(hone_port_info);
    hone_tensor tensor;
    bool found;
    if (hone_engine_input(model->engine, i, &port) != HONE_OK) return CLI_EXIT_INTERNAL;
    const int code = cli_values_get(inputs, port.name, 0, &tensor, &found);
    if (code != CLI_EXIT_OK) return code;
    if (!found) return cli_usage_error(cli, "the other side has no input %s, which this one wants", port.name);
    const hone_status status = hone_session_copy_in(session, port.name, &tensor);
    cli_values_drop(inputs, &tensor);
    if (status != HONE_OK) return cli_fail_session(cli, session, status);
  }
  return CLI_EXIT_OK;
}

int cli_run_tapped(cli_tool *cli, const cli_model *model, const cli_values *inputs,
                   hone_status (*on_tap)(void *user, const hone_tap *tap), void *user) {
  static const char *const all[] = {"*"};
  hone_session *session = NULL;
  hone_session_options options;
  cli_session_options_read(cli, &options);
  options.taps = on_tap ? all : NULL;
  options.tap_count = on_tap ? 1 : 0;
  options.on_tap = on_tap;
  options.on_tap_user = user;
  hone_status status = hone_session_create(model->engine, &options, &session, hone_context_diagnostics(cli->context));
  if (status != HONE_OK) return cli_fail(cli, status);
  int code = inputs ? copy_inputs(cli, model, inputs, session) : cli_fill_inputs(cli, model, session);
  if (code == CLI_EXIT_OK && on_tap && (status = hone_session_run(session)) != HONE_OK)
    code = cli_fail_session(cli, session, status);
  hone_session_destroy(session);
  return code;
}

hone_status cli_values_keep_tap(void *values, const hone_tap *tap) {
  return cli_values_add(values, tap->name, tap->turn, tap->tensor);
}

int cli_values_of_inputs(cli_tool *cli, const cli_model *model, cli_values *out) {
  hone_session *session = NULL;
  hone_status status = cli_open_session(cli, model->engine, &session);
  if (status != HONE_OK) return cli_fail(cli, status);
  int code = cli_fill_inputs(cli, model, session);
  for (int i = 0; i < hone_engine_input_count(model->engine) && code == CLI_EXIT_OK; ++i) {
    hone_port_info port = HONE_SIZED(hone_port_info);
    hone_tensor tensor;
    if (hone_engine_input(model->engine, i, &port) != HONE_OK) code = CLI_EXIT_INTERNAL;
    if (code == CLI_EXIT_OK && (status = hone_session_tensor(session, port.name, &tensor)) != HONE_OK)
      code = cli_fail_session(cli, session, status);
    if (code == CLI_EXIT_OK && (status = cli_values_add(out, port.name, 0, &tensor)) != HONE_OK)
      code = cli_fail(cli, status);
  }
  hone_session_destroy(session);
  return code;
}
