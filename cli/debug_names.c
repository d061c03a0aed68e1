/* SPDX-License-Identifier: Apache-2.0 */
/* debug_names.c - which values inside an engine are meant by --debug-tensor and its kin. The library knows an engine's
 * values and steps; with the model at hand, a node means its outputs, and a value that is gone its node. */
#include "debug.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

const cli_option cli_debug_options[] = {
    {"debug-tensor", CLI_LIST, "NAME[=FILE]",
     .doc = "print an intermediate value (by the model's name of a value, an output or a node), or write it (.npy; "
            ".bin: raw); all: every value there is. The engine is not changed",
     .writes = CLI_WRITES_PAIRS},
    {"debug-dir", CLI_TEXT, "DIR", .doc = "write every debug tensor there as NAME.npy (made when absent)",
     .writes = CLI_WRITES_FOLDER},
    {"check-nan", CLI_OPTIONAL_TEXT, "nan",
     .doc = "check every value, and stop with exit code 1 at the first step that writes a NaN or an infinity; =nan: "
            "allow infinities"},
    {"markDebug", CLI_LIST, "NAME,NAME", .doc = "the same as --debug-tensor, trtexec's way"},
    {"saveDebugTensors", CLI_LIST, "NAME:FILE", .doc = "the same with files; separated by commas",
     .writes = CLI_WRITES_PAIRS},
    {"saveAllDebugTensors", CLI_TEXT, "FORMAT,...",
     .doc = "every value there is: summary prints them, numpy writes NAME.npy into --debug-dir, or here",
     .writes = CLI_WRITES_NOTHING},
    {"markUnfusedTensorsAsDebugTensors", CLI_FLAG, .doc = "the same as --debug-tensor all"},
    {0},
};

/* ---- names ---- */

typedef struct known {
  const char *name; /* in: wanted */
  bool is_tap;      /* a step writes a value of this name, or it is an input */
  bool is_origin;   /* a step stands for a node of this name */
} known;

static void see_tap(void *user, const hone_tap *tap) {
  known *k = user;
  k->is_tap = k->is_tap || strcmp(tap->name, k->name) == 0;
  k->is_origin = k->is_origin || (tap->step && strcmp(tap->step, k->name) == 0);
  for (int i = 0; i < tap->origin_count; ++i) k->is_origin = k->is_origin || strcmp(tap->origins[i], k->name) == 0;
}

static known look_up(const cli_debug *debug, const char *name) {
  known k = {.name = name};
  if (hone_engine_each_tap(debug->model->engine, see_tap, &k, hone_context_diagnostics(debug->cli->context)) != HONE_OK)
    return (known){.name = name};
  return k;
}

static int add_name(cli_debug *debug, const char *tap, const char *file, const char *value) {
  if (debug->count == CLI_MAX_DEBUG)
    return cli_usage_error(debug->cli, "more than %d debug tensors; all stands for every one", CLI_MAX_DEBUG);
  cli_debug_name *name = &debug->names[debug->count++];
  debug->all = debug->all || strcmp(tap, "*") == 0;
  const int a = snprintf(name->tap, sizeof name->tap, "%s", tap);
  const int b = snprintf(name->file, sizeof name->file, "%s", file ? file : "");
  (void)snprintf(name->value, sizeof name->value, "%s", value ? value : "");
  if (a < (int)sizeof name->tap && b < (int)sizeof name->file) return CLI_EXIT_OK;
  return cli_usage_error(debug->cli, "%s: the name is too long", tap);
}

bool cli_debug_is_fused(const cli_debug *debug) {
  for (int i = 0; i < debug->count; ++i) {
    const known k = look_up(debug, debug->names[i].tap);
    if (!k.is_tap && k.is_origin) return true;
  }
  return false;
}

/* In a model that was just built: a node's outputs, or the node that writes a value. */
typedef struct node_search {
  const char *name;
  cli_debug *debug;
  const char *file;
  bool found; /* outputs of the node, added */
  int code;
  char writer[512], op[64]; /* of the value */
} node_search;

static void see_node(void *user, const hone_node_info *node) {
  node_search *search = user;
  for (int i = 0; i < node->out_count; ++i) {
    if (!node->out[i]) continue;
    const char *value = hone_value_name(node->out[i]);
    if (strcmp(value, search->name) == 0) {
      (void)snprintf(search->writer, sizeof search->writer, "%s", node->name);
      (void)snprintf(search->op, sizeof search->op, "%s", node->op);
    }
    if (strcmp(node->name, search->name) != 0 || !look_up(search->debug, value).is_tap) continue;
    search->found = true;
    if (search->code == CLI_EXIT_OK) search->code = add_name(search->debug, value, search->file, NULL);
  }
}

static int resolve(cli_debug *debug, const char *name, const char *file) {
  if (strcmp(name, "all") == 0 && !look_up(debug, name).is_tap) return add_name(debug, "*", NULL, NULL);
  if (!look_up(debug, name).is_tap && debug->model->graph) {
    node_search search = {.name = name, .debug = debug, .file = file};
    hone_graph_visit_nodes(debug->model->graph, see_node, &search);
    if (search.found) return search.code;
    if (search.writer[0] && !look_up(debug, search.writer).is_origin) {
      cli_error("%s: node %s (%s), which writes it, was computed when building, or changed nothing, and is gone", name,
                search.writer, search.op);
      return CLI_EXIT_USAGE;
    }
    if (search.writer[0]) {
      if (strcmp(search.writer, name) != 0)
        cli_note(debug->cli, "%s is what node %s (%s) writes", name, search.writer, search.op);
      return add_name(debug, search.writer, file, name);
    }
  }
  return add_name(debug, name, file, NULL);
}

/* NAME, or NAME and FILE with the sign between: names may hold it, so that the first prefix that is one counts. */
static int add_pair(cli_debug *debug, const char *text, size_t length, char sign, bool needs_file) {
  char name[sizeof debug->names[0].tap + sizeof debug->names[0].file];
  if (length >= sizeof name) return cli_usage_error(debug->cli, "a debug tensor's name is too long");
  memcpy(name, text, length);
  name[length] = 0;
  char *first = sign ? strchr(name, sign) : NULL, *part = NULL;
  for (char *at = first; at && !part; at = strchr(at + 1, sign)) {
    *at = 0;
    const known k = look_up(debug, name);
    if (k.is_tap || k.is_origin) part = at;
    *at = sign;
  }
  if (!part && first && !look_up(debug, name).is_tap) part = first;
  if (!part && needs_file)
    return cli_usage_error(debug->cli, "--saveDebugTensors expects NAME%cFILE, not %s", sign, name);
  if (!part) return resolve(debug, name, NULL);
  *part = 0;
  return resolve(debug, name, part + 1);
}

static int add_list(cli_debug *debug, const char *option, char sign, bool needs_file) {
  const char *texts[CLI_MAX_DEBUG];
  const int given = cli_takes(debug->cli->command, option) ? cli_list(debug->cli, option, texts, CLI_MAX_DEBUG) : 0;
  int code = CLI_EXIT_OK;
  for (int i = 0; i < given && code == CLI_EXIT_OK; ++i)
    for (const char *at = texts[i]; at && code == CLI_EXIT_OK;) {
      const size_t length = sign == '=' ? strlen(at) : strcspn(at, ",");
      code = length ? add_pair(debug, at, length, sign, needs_file)
                    : cli_usage_error(debug->cli, "--%s has an empty name", option);
      at = at[length] ? at + length + 1 : NULL;
    }
  return code;
}

/* trtexec's formats: summary, numpy, string, raw. */
static int add_all(cli_debug *debug) {
  const char *text = cli_text(debug->cli, "saveAllDebugTensors");
  if (!text) return CLI_EXIT_OK;
  for (const char *at = text; at;) {
    const size_t length = strcspn(at, ",");
    const bool numpy = length == 5 && strncmp(at, "numpy", length) == 0;
    if (!numpy && !(length == 7 && strncmp(at, "summary", length) == 0)) {
      cli_error("--saveAllDebugTensors=%.*s is not supported: the formats are summary and numpy", (int)length, at);
      return CLI_EXIT_UNSUPPORTED;
    }
    if (numpy) debug->folder = ".";
    at = at[length] ? at + length + 1 : NULL;
  }
  return add_name(debug, "*", NULL, NULL);
}

bool cli_debugs(const cli_tool *cli) {
  for (const cli_option *row = cli_debug_options; row->name; ++row)
    if (cli_has(cli, row->name)) return true;
  return false;
}

int cli_debug_read(cli_debug *debug) {
  cli_tool *cli = debug->cli;
  int code = add_list(debug, "debug-tensor", '=', false);
  if (code == CLI_EXIT_OK) code = add_list(debug, "markDebug", 0, false);
  if (code == CLI_EXIT_OK) code = add_list(debug, "saveDebugTensors", ':', true);
  if (code != CLI_EXIT_OK || !cli_takes(cli->command, "check-nan")) return code;
  if (cli_has(cli, "markUnfusedTensorsAsDebugTensors")) code = add_name(debug, "*", NULL, NULL);
  if (code == CLI_EXIT_OK) code = add_all(debug);
  if (code != CLI_EXIT_OK) return code;
  const char *mode = cli_text(cli, "check-nan");
  if (mode && strcmp(mode, "nan") != 0) return cli_usage_error(cli, "--check-nan takes =nan or nothing, not %s", mode);
  debug->checks = cli_has(cli, "check-nan");
  debug->infinities = mode != NULL;
  if (cli_has(cli, "debug-dir")) debug->folder = cli_text(cli, "debug-dir");
  if (debug->folder && debug->count == 0) return cli_usage_error(cli, "--debug-dir requires --debug-tensor");
  if (debug->folder && mkdir(debug->folder, 0777) != 0 && errno != EEXIST) {
    cli_error("%s: %s", debug->folder, strerror(errno));
    return CLI_EXIT_IO;
  }
  return code;
}
