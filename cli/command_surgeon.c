/* SPDX-License-Identifier: Apache-2.0 */
/* command_surgeon.c - hone surgeon: edits of an ONNX model, in the order in which they are given: each option is a line
 * of a script (include/hone/edit.h), and --script reads a file of them. */
#include "cli.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

const cli_option cli_surgeon_options[] = {
    {"o", CLI_TEXT, "FILE", .doc = "where the model goes; default: beside it, with _edited in its name",
     .writes = CLI_WRITES_FILE},
    {"extract", CLI_LIST, "'A, B -> C'",
     .doc =
         "keep what lies between these values; '-> C': all that C needs. A type that is not known is stated by --type "
         "before"},
    {"insert", CLI_LIST, "'OP(A, B, n=1) -> C'",
     .doc = "a node; with 'for V' behind it, the readers of V read C instead"},
    {"remove", CLI_LIST, "NODE,NODE", .doc = "the node's readers read its first input"},
    {"rename", CLI_LIST, "'A -> B'", .doc = "a node or a value, wherever it is read"},
    {"type", CLI_LIST, "'A f32[1,3,N,?]'",
     .doc = "element type and shape of a value; N: a free dim, ?: an unknown one"},
    {"output", CLI_LIST, "A,B", .doc = "make values outputs, too"},
    {"drop", CLI_LIST, "A,B", .doc = "outputs that are not wanted"},
    {"constant", CLI_LIST, "'A f32[2] 1 2'", .doc = "a constant, as an operand of what is inserted"},
    {"replace", CLI_LIST, "'OP(OP(x, y), z) -> OP(x, y, z)'",
     .doc = "operators wherever they stand so: x, y and z are any values; DOMAIN::OP is of another domain"},
    {"fold", CLI_FLAG, .doc = "compute what constants alone reach"},
    {"script", CLI_LIST, "FILE", .doc = "edits from a file, a line each: the same words, without --"},
    {"split", CLI_TEXT, "A,B", .doc = "at the end, two models: in front of these values, and behind them (.0 and .1)"},
    {0},
};

/* All of a script; malloc'ed. NULL after a message. */
static char *read_script(const char *path) {
  enum { MOST = 1 << 20 };
  const char *why = "is longer than 1 MiB";
  FILE *file = cli_open_input(path, &why);
  char *text = file ? calloc(1, MOST) : NULL;
  size_t got = 0;
  if (text) got = fread(text, 1, MOST, file);
  if (file) fclose(file);
  if (text && got < MOST) return text;
  free(text);
  cli_error("%s: %s", path, why);
  return NULL;
}

static int run_script(cli_tool *cli, hone_model *model, const char *path) {
  char *text = read_script(path);
  if (!text) return CLI_EXIT_IO;
  const hone_status status = hone_model_edit(model, text);
  free(text);
  if (status == HONE_OK) return CLI_EXIT_OK;
  cli_error("in %s:", path);
  return cli_fail(cli, status);
}

static int run_edit(cli_tool *cli, hone_model *model, const char *name, const char *text) {
  char line[8192];
  if ((size_t)snprintf(line, sizeof line, "%s %s", name, text ? text : "") >= sizeof line)
    return cli_usage_error(cli, "--%s is too long; put it into a --script", name);
  const hone_status status = hone_model_edit(model, line);
  return status == HONE_OK ? CLI_EXIT_OK : cli_fail(cli, status);
}

static bool is_edit(const cli_option *option) {
  for (const cli_option *row = cli_surgeon_options; row->name; ++row)
    if (row == option) return row->kind == CLI_FLAG || (row->kind == CLI_LIST && strcmp(row->name, "script") != 0);
  return false;
}

/* The model with all edits, and last one more. Exit code; written to path, where that is given. */
static int edit(cli_tool *cli, const char *model_path, const char *last, const char *path) {
  hone_model *model;
  hone_status status = hone_model_load(cli->context, model_path, &model);
  if (status != HONE_OK) return cli_fail(cli, status);
  const int before = hone_model_node_count(model);
  int code = CLI_EXIT_OK;
  for (int i = 0; i < cli->given_count && code == CLI_EXIT_OK; ++i) {
    const cli_given *given = &cli->given[i];
    if (is_edit(given->option)) code = run_edit(cli, model, given->option->name, given->text);
    if (strcmp(given->option->name, "script") == 0) code = run_script(cli, model, given->text);
  }
  if (code == CLI_EXIT_OK && last) code = run_edit(cli, model, last, cli_text(cli, "split"));
  if (code == CLI_EXIT_OK && (status = hone_model_save(model, path)) != HONE_OK) code = cli_fail(cli, status);
  if (code == CLI_EXIT_OK && cli_has(cli, "json")) {
    printf(CLI_JSON_BEGIN "\"file\": ");
    cli_json_text(stdout, path);
    printf(", \"nodes\": %d, \"nodes_before\": %d}", hone_model_node_count(model), before);
  } else if (code == CLI_EXIT_OK) {
    printf("%s: %d nodes, %d before\n", path, hone_model_node_count(model), before);
  }
  hone_model_destroy(model);
  return code;
}

static int edit_both(cli_tool *cli, const char *model, const char *path) {
  char out[4096];
  const bool json = cli_has(cli, "json");
  const size_t length = strlen(path),
               stem = length > 5 && strcmp(path + length - 5, ".onnx") == 0 ? length - 5 : length;
  int code = CLI_EXIT_OK;
  if (json) printf("[");
  for (int i = 0; i < 2 && code == CLI_EXIT_OK; ++i) {
    if ((size_t)snprintf(out, sizeof out, "%.*s.%d.onnx", (int)stem, path, i) >= sizeof out)
      return cli_usage_error(cli, "the path is too long");
    if (json && i) printf(", ");
    code = edit(cli, model, i == 0 ? "before" : "behind", out);
  }
  if (json) printf("]");
  return code;
}

int cli_command_surgeon(cli_tool *cli) {
  char beside[4096];
  const char *model = cli_text(cli, "model"), *path = cli_text(cli, "o");
  if (!model) return cli_usage_error(cli, "a model must be named");
  const cli_file_kind kind = cli_file_kind_of(model);
  if (kind == CLI_FILE_UNREADABLE) return CLI_EXIT_IO;
  if (kind != CLI_FILE_MODEL)
    return cli_usage_error(cli, "%s is %s; surgeon edits ONNX models", model,
                           kind == CLI_FILE_ENGINE ? "an engine" : "graph text");
  if (!path) {
    cli_name_beside(model, "_edited.onnx", beside, sizeof beside);
    path = beside;
  }
  const int writable = cli_check_output("o", path, CLI_WRITES_FILE);
  if (writable != CLI_EXIT_OK) return writable;
  const int code = cli_has(cli, "split") ? edit_both(cli, model, path) : edit(cli, model, NULL, path);
  if (code == CLI_EXIT_OK && cli_has(cli, "json")) printf("\n");
  if (code == CLI_EXIT_OK && !cli_has(cli, "split")) cli_next(cli, "hone check %s", path);
  return code;
}
