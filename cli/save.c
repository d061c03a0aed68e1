/* SPDX-License-Identifier: Apache-2.0 */
/* save.c - engines as they are written: with or without their weights, with the model that they were built of. */
#include "cli.h"
#include <stdlib.h>
#include <string.h>

typedef struct onnx_bytes {
  char *data;
  size_t count;
} onnx_bytes;

static bool take_bytes(void *user, const char *bytes, size_t count) {
  onnx_bytes *out = user;
  char *larger = realloc(out->data, out->count + count);
  if (!larger) return false;
  memcpy(larger + out->count, bytes, count);
  out->data = larger;
  out->count += count;
  return true;
}

/* The model in one piece: what it keeps beside its file becomes part of it. */
static hone_status read_whole(cli_tool *cli, const char *path, onnx_bytes *out) {
  hone_model *model = NULL;
  cli->subject = CLI_MODEL;
  hone_status status = hone_model_load(cli->context, path, &model);
  if (status == HONE_OK) status = hone_model_write(model, take_bytes, out);
  hone_model_destroy(model);
  return status;
}

static bool wants(const cli_tool *cli, const char *option) {
  return cli_takes(cli->command, option) && cli_has(cli, option);
}

bool cli_keeps_refit(const cli_tool *cli) {
  return wants(cli, "refit") || wants(cli, "stripWeights") || wants(cli, "embed-model");
}

int cli_check_saving(const cli_tool *cli) {
  static const char *const rounding[] = {"int8", "int4"};
  for (size_t i = 0; i < CLI_COUNT(rounding); ++i)
    if (wants(cli, "embed-model") && wants(cli, rounding[i]))
      return cli_usage_error(cli,
                             "--embed-model carries the model as it is, and --%s rounds it first: build what hone "
                             "quantize writes",
                             rounding[i]);
  return CLI_EXIT_OK;
}

hone_status cli_save_engine(cli_tool *cli, const hone_engine *engine, const char *model, bool embed, const char *path) {
  hone_save_options options = {.struct_size = sizeof options, .strip_weights = wants(cli, "stripWeights")};
  onnx_bytes onnx = {0};
  hone_status status = HONE_OK;
  if (embed || (model && wants(cli, "embed-model"))) status = read_whole(cli, model, &onnx);
  options.onnx = onnx.data;
  options.onnx_bytes = onnx.count;
  if (status == HONE_OK) status = hone_engine_save_with(engine, path, &options, hone_context_diagnostics(cli->context));
  free(onnx.data);
  return status;
}
