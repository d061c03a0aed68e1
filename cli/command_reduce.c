/* SPDX-License-Identifier: Apache-2.0 */
/* command_reduce.c - hone reduce: the smallest model that fails as the whole one does. Nodes are left out by delta
 * debugging (search.h); what lost its node becomes an input, fed with what the reference computed there in the whole
 * model, so that a failure that hangs on numbers stays. Each check runs in a process of its own: it may crash. */
#include "child.h"
#include "search.h"
#include "values.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const cli_option cli_reduce_options[] = {
    {"o", CLI_TEXT, "FILE",
     .doc = "where the smallest model so far goes; default: beside it, with _reduced in its name",
     .writes = CLI_WRITES_FILE},
    {"check", CLI_TEXT, "COMMAND",
     .doc = "a model fails when this ends with the exit code that it has for the whole one, which is not 0; {} is the "
            "model's path (else it comes last), {inputs} the folder with its inputs as NAME.npy. Default: hone compare "
            "--outputs with the options given here: a build that fails or crashes, outputs other than the reference's"},
    {"message", CLI_TEXT, "TEXT", .doc = "and when what it says has this text"},
    {"tolerance", CLI_REAL, "X", .doc = "of the check without --check: the relative L2 of outputs; default 1e-4",
     .high = 1e6},
    {"checks", CLI_INT, "N", .doc = "the most models that are checked; default: any number", .low = 1, .high = 1e9},
    {"check-seconds", CLI_INT, "S", .doc = "a check that takes longer is ended, as if by a signal; default 600",
     .low = 1, .high = 1e6},
    {0},
};

enum { MOST_CONSTANTS = 256, SMALL_ELEMENTS = 64 };

typedef struct reducing {
  cli_tool *cli;
  hone_model *model;
  const char *path, *out;
  char folder[3072]; /* temporary: the candidate, what checks say, the values of the reference */
  char values[3584], candidate[3584], log[3584];
  hone_named_tensor constants[MOST_CONSTANTS]; /* values that shapes hang on, where their nodes are gone */
  int constant_count;
  int code; /* of the whole model's check */
  bool written;
} reducing;

/* ---- one check ---- */

static bool is_in(const cli_option *table, const cli_option *option) {
  for (; table->name; ++table)
    if (table == option) return true;
  return false;
}

/* The options about builds and devices, as they were given; shapes and inputs are those of the values. */
static void put_options(const reducing *r, cli_arguments *a, bool whole) {
  for (int i = 0; i < r->cli->given_count; ++i) {
    const cli_given *given = &r->cli->given[i];
    const char *name = given->option->name;
    const bool about_inputs = is_in(cli_input_options, given->option) || strcmp(name, "shapes") == 0 ||
                              is_in(cli_load_inputs_options, given->option);
    const bool wanted = is_in(cli_build_options, given->option) || is_in(cli_device_options, given->option) ||
                        is_in(cli_precision_options, given->option) || strcmp(name, "plugins") == 0 ||
                        strcmp(name, "memory-limit") == 0 || strcmp(name, "tolerance") == 0;
    if (!wanted && !about_inputs) continue;
    if (about_inputs && !whole) continue;
    if (given->text)
      cli_arguments_pair(a, "--", name, given->text);
    else
      cli_arguments_flag(a, name);
  }
}

/* The inputs that the reference's values are known of. */
static int put_inputs(const reducing *r, const char *path, cli_arguments *a) {
  hone_model *model;
  const hone_status status = hone_model_load(r->cli->context, path, &model);
  if (status != HONE_OK) return cli_fail(r->cli, status);
  for (int i = 0; i < hone_model_input_count(model); ++i) {
    char file[4096];
    const char *name = hone_model_input_name(model, i);
    cli_value_path(r->values, name, file, sizeof file);
    if (access(file, R_OK) != 0) continue;
    cli_arguments_pair(a, "--input=", name, file);
  }
  hone_model_destroy(model);
  return CLI_EXIT_OK;
}

/* COMMAND with {} and {inputs} filled in. malloc'ed; NULL: no memory. */
static char *fill_command(const reducing *r, const char *path) {
  const char *command = cli_text(r->cli, "check");
  char model[4096], inputs[4096];
  cli_quote(path, model, sizeof model);
  cli_quote(r->values, inputs, sizeof inputs);
  size_t room = strlen(command) + 2 * sizeof model, used = 0;
  for (const char *c = command; *c; ++c) room += *c == '{' ? sizeof model : 0;
  char *text = calloc(1, room);
  bool filled = false;
  for (const char *c = command; text && *c;) {
    const bool is_model = strncmp(c, "{}", 2) == 0, is_inputs = strncmp(c, "{inputs}", 8) == 0;
    if (is_model || is_inputs)
      used += (size_t)snprintf(text + used, room - used, "%s", is_model ? model : inputs);
    else
      text[used++] = *c;
    filled = filled || is_model;
    c += is_model ? 2 : is_inputs ? 8 : 1;
  }
  if (text && !filled) (void)snprintf(text + used, room - used, " %s", model);
  return text;
}

static bool log_says(const reducing *r, const char *wanted) {
  const char *why;
  char line[4096];
  bool found = false;
  FILE *file = cli_open_input(r->log, &why);
  while (file && !found && fgets(line, sizeof line, file)) found = strstr(line, wanted) != NULL;
  if (file) fclose(file);
  return found;
}

/* *out_code: the check's exit code; 0 also where it lacks --message. Exit code. */
static int check(const reducing *r, const char *path, int *out_code) {
  cli_tool *cli = r->cli;
  char own[4096];
  static cli_arguments a; /* large for a stack */
  char *command = NULL;
  int code = CLI_EXIT_OK;
  if (cli_has(cli, "check")) {
    command = fill_command(r, path);
    cli_arguments_add(&a, "sh");
    cli_arguments_add(&a, "-c");
    cli_arguments_add(&a, command ? command : "exit 1");
  } else {
    cli_arguments_add(&a, cli_own_path(own, sizeof own));
    cli_arguments_add(&a, "compare");
    cli_arguments_add(&a, path);
    cli_arguments_add(&a, "--outputs");
    cli_arguments_add(&a, "--quiet");
    put_options(r, &a, strcmp(path, r->path) == 0);
    code = put_inputs(r, path, &a);
  }
  a.items[a.count] = NULL;
  if (code == CLI_EXIT_OK) code = cli_child_run(a.items, r->log, cli_int(cli, "check-seconds", 600) * 1000, out_code);
  free(command);
  cli_arguments_drop(&a);
  const char *message = cli_text(cli, "message");
  if (code == CLI_EXIT_OK && message && !log_says(r, message)) *out_code = 0;
  return code;
}

/* What the reference computes in the whole model; without it (it cannot be read, or fails there) inputs are seeded. */
static int record(const reducing *r) {
  char own[4096], empty[4096];
  static cli_arguments a;
  int result;
  (void)snprintf(empty, sizeof empty, "%s/none", r->folder);
  if (mkdir(r->values, 0777) != 0 || mkdir(empty, 0777) != 0) {
    cli_error("%s: %s", r->folder, strerror(errno));
    return CLI_EXIT_IO;
  }
  cli_arguments_add(&a, cli_own_path(own, sizeof own));
  cli_arguments_add(&a, "compare");
  cli_arguments_add(&a, empty); /* nothing is compared: B is run and saved */
  cli_arguments_add(&a, r->path);
  cli_arguments_add(&a, "--quiet");
  cli_arguments_pair(&a, "--", "save", r->values);
  put_options(r, &a, true);
  a.items[a.count] = NULL;
  const int code = cli_child_run(a.items, r->log, cli_int(r->cli, "check-seconds", 600) * 1000, &result);
  cli_arguments_drop(&a);
  return code;
}

/* ---- candidates ---- */

static bool is_own_input(const reducing *r, const char *name) {
  for (int i = 0; i < hone_model_input_count(r->model); ++i)
    if (strcmp(hone_model_input_name(r->model, i), name) == 0) return true;
  return false;
}

/* Small integers that became inputs were shapes, axes or indices: as constants they leave the rest as it was. */
static bool find_constants(reducing *r) {
  hone_model *part;
  const int before = r->constant_count;
  if (hone_model_load(r->cli->context, r->candidate, &part) != HONE_OK) return false;
  for (int i = 0; i < hone_model_input_count(part) && r->constant_count < MOST_CONSTANTS; ++i) {
    char path[4096];
    hone_tensor tensor;
    const char *name = hone_model_input_name(part, i);
    cli_value_path(r->values, name, path, sizeof path);
    if (is_own_input(r, name) || access(path, R_OK) != 0) continue;
    if (hone_tensor_read(r->cli->context, path, &tensor) != HONE_OK) continue;
    const bool shapes = HONE_BIT(tensor.type.dtype) & (HONE_TYPES_INT | HONE_BIT(HONE_BOOL));
    char *copy = shapes && hone_tensor_count(&tensor) <= SMALL_ELEMENTS ? strdup(name) : NULL;
    if (copy)
      r->constants[r->constant_count++] = (hone_named_tensor){.name = copy, .tensor = tensor};
    else
      hone_tensor_free(r->cli->context, &tensor);
  }
  hone_model_destroy(part);
  return r->constant_count > before;
}

static hone_status save_part(reducing *r, const bool *keep) {
  hone_status status = HONE_OK;
  for (int round = 0; round < 2 && status == HONE_OK; ++round) {
    status = hone_model_save_part(r->model, keep, r->constants, r->constant_count, r->candidate);
    if (status != HONE_OK || !find_constants(r)) break;
  }
  return status;
}

static int ask(void *user, const bool *in, int count) {
  reducing *r = user;
  (void)count;
  const hone_status status = save_part(r, in);
  hone_context_clear_messages(r->cli->context);
  if (status == HONE_INVALID || status == HONE_UNSUPPORTED) return CLI_SEARCH_FAILS; /* no model can be made of it */
  if (status != HONE_OK) return cli_fail(r->cli, status);
  int result;
  const int code = check(r, r->candidate, &result);
  if (code != CLI_EXIT_OK) return code;
  if (cli_is_interrupted() || result != r->code) return CLI_SEARCH_FAILS;
  hone_model *best; /* through the model: under another name first, then renamed, also on another disk */
  hone_status saved = hone_model_load(r->cli->context, r->candidate, &best);
  if (saved == HONE_OK) saved = hone_model_save(best, r->out);
  hone_model_destroy(best);
  if (saved != HONE_OK) return cli_fail(r->cli, saved);
  r->written = true;
  return CLI_SEARCH_HOLDS;
}

/* ---- the result ---- */

/* The inputs that it fails with, beside the model: OUT.inputs/NAME.npy. */
static int write_inputs(const reducing *r, char *folder, size_t room) {
  hone_model *model;
  hone_status status = hone_model_load(r->cli->context, r->out, &model);
  if (status != HONE_OK) return cli_fail(r->cli, status);
  cli_name_beside(r->out, ".inputs", folder, room);
  int written = 0;
  for (int i = 0; i < hone_model_input_count(model) && status == HONE_OK; ++i) {
    char from[4096], to[4096];
    hone_tensor tensor;
    cli_value_path(r->values, hone_model_input_name(model, i), from, sizeof from);
    cli_value_path(folder, hone_model_input_name(model, i), to, sizeof to);
    if (access(from, R_OK) != 0) continue;
    if (written++ == 0) (void)mkdir(folder, 0777); /* what goes wrong is said when the file is written */
    status = hone_tensor_read(r->cli->context, from, &tensor);
    if (status == HONE_OK) status = hone_tensor_write_npy(r->cli->context, to, &tensor);
    hone_tensor_free(r->cli->context, &tensor);
  }
  hone_model_destroy(model);
  if (written == 0) folder[0] = 0;
  return status == HONE_OK ? CLI_EXIT_OK : cli_fail(r->cli, status);
}

static void print_json(const reducing *r, const cli_search *search, const hone_model *left, const char *inputs) {
  printf(CLI_JSON_BEGIN "\"file\": ");
  cli_json_text(stdout, r->out);
  printf(", \"inputs\": ");
  if (*inputs)
    cli_json_text(stdout, inputs);
  else
    printf("null");
  printf(", \"exit_code\": %d, \"checks\": %d, \"nodes_before\": %d, \"nodes\": [", r->code, search->asked,
         hone_model_node_count(r->model));
  for (int i = 0; i < hone_model_node_count(left); ++i) {
    printf("%s{\"name\": ", i ? ", " : "");
    cli_json_text(stdout, hone_model_node_name(left, i));
    printf(", \"op\": ");
    cli_json_text(stdout, hone_model_node_op(left, i));
    printf("}");
  }
  printf("]}\n");
}

static int tell(const reducing *r, const cli_search *search) {
  char folder[4096];
  hone_model *left;
  int code = write_inputs(r, folder, sizeof folder);
  if (code != CLI_EXIT_OK) return code;
  const hone_status status = hone_model_load(r->cli->context, r->out, &left);
  if (status != HONE_OK) return cli_fail(r->cli, status);
  if (cli_has(r->cli, "json")) {
    print_json(r, search, left, folder);
  } else {
    printf("%d of %d nodes fail as the whole model does (exit code %d), after %d checks%s:\n",
           hone_model_node_count(left), hone_model_node_count(r->model), r->code, search->asked,
           cli_is_interrupted() ? ", interrupted" : "");
    for (int i = 0; i < hone_model_node_count(left) && i < 20; ++i)
      printf("  %s (%s)\n", hone_model_node_name(left, i), hone_model_node_op(left, i));
    printf("%s%s%s\n", r->out, *folder ? ", its inputs in " : "", folder);
  }
  hone_model_destroy(left);
  if (!cli_has(r->cli, "check")) cli_next(r->cli, "hone bisect %s", r->out);
  return CLI_EXIT_OK;
}

static int reduce(reducing *r) {
  const int count = hone_model_node_count(r->model);
  int code = record(r);
  if (code == CLI_EXIT_OK) code = check(r, r->path, &r->code);
  if (code != CLI_EXIT_OK) return code;
  if (cli_is_interrupted()) {
    cli_error("interrupted before the whole model was checked");
    return CLI_EXIT_INTERRUPTED;
  }
  if (r->code == CLI_EXIT_OK || r->code == 127 || (r->code == CLI_EXIT_USAGE && !cli_has(r->cli, "check"))) {
    cli_error("%s: %s", r->path,
              r->code == CLI_EXIT_OK ? "the check passes on the whole model: there is nothing to reduce"
                                     : "the check cannot be run:");
    const char *why;
    char line[1024];
    FILE *log = r->code != CLI_EXIT_OK ? cli_open_input(r->log, &why) : NULL;
    if (log && fgets(line, sizeof line, log)) fprintf(stderr, "  %s", line);
    if (log) fclose(log);
    return CLI_EXIT_USAGE;
  }
  bool *in = malloc((size_t)count + 1);
  if (!in) return CLI_EXIT_NO_MEMORY;
  memset(in, true, (size_t)count);
  cli_search search = {
      .cli = r->cli, .ask = ask, .user = r, .unit = "nodes", .most = (int)cli_int(r->cli, "checks", 0)};
  code = cli_search_least(&search, in, count);
  free(in);
  if (code == CLI_EXIT_OK && !r->written) { /* not a node could be left out: the model itself is the best */
    const hone_status status = hone_model_save(r->model, r->out);
    if (status != HONE_OK) code = cli_fail(r->cli, status);
  }
  return code == CLI_EXIT_OK ? tell(r, &search) : code;
}

int cli_command_reduce(cli_tool *cli) {
  static reducing r; /* large for a stack */
  char beside[4096];
  r.cli = cli;
  r.path = cli_text(cli, "model");
  r.out = cli_text(cli, "o");
  if (!r.path) return cli_usage_error(cli, "a model must be named");
  const cli_file_kind kind = cli_file_kind_of(r.path);
  if (kind == CLI_FILE_UNREADABLE) return CLI_EXIT_IO;
  if (kind != CLI_FILE_MODEL)
    return cli_usage_error(cli, "%s is %s; reduce takes ONNX models", r.path,
                           kind == CLI_FILE_ENGINE ? "an engine" : "graph text");
  if (!r.out) {
    cli_name_beside(r.path, "_reduced.onnx", beside, sizeof beside);
    r.out = beside;
  }
  int code = cli_check_output("o", r.out, CLI_WRITES_FILE);
  if (code == CLI_EXIT_OK) code = cli_temporary_make(r.folder, sizeof r.folder);
  if (code != CLI_EXIT_OK) return code;
  (void)snprintf(r.values, sizeof r.values, "%s/values", r.folder);
  (void)snprintf(r.candidate, sizeof r.candidate, "%s/candidate.onnx", r.folder);
  (void)snprintf(r.log, sizeof r.log, "%s/log", r.folder);
  const hone_status status = hone_model_load(cli->context, r.path, &r.model);
  code = status == HONE_OK ? reduce(&r) : cli_fail(cli, status);
  hone_model_destroy(r.model);
  for (int i = 0; i < r.constant_count; ++i) {
    hone_tensor_free(cli->context, &r.constants[i].tensor);
    free((void *)(uintptr_t)r.constants[i].name);
  }
  cli_temporary_drop(r.folder);
  return code;
}
