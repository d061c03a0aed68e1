/* SPDX-License-Identifier: Apache-2.0 */
/* trt_dumps.c - what trtexec prints or writes beside the measurement: layers, profiles, an engine's version, bindings.
 */
#include "bench.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

typedef enum verbosity { VERBOSITY_NONE, VERBOSITY_NAMES, VERBOSITY_DETAILED } verbosity;

static int read_verbosity(cli_tool *cli, verbosity *out) {
  static const char *const words[] = {"none", "layer_names_only", "detailed"};
  const char *text = cli_text(cli, "profilingVerbosity");
  *out = VERBOSITY_DETAILED;
  if (!text || strcmp(text, "verbose") == 0) return CLI_EXIT_OK;
  if (strcmp(text, "default") == 0) text = "layer_names_only";
  for (size_t i = 0; i < CLI_COUNT(words); ++i)
    if (strcmp(text, words[i]) == 0) {
      *out = (verbosity)i;
      return CLI_EXIT_OK;
    }
  return cli_usage_error(cli, "--profilingVerbosity expects none, layer_names_only or detailed, not \"%s\"", text);
}

static hone_status dump_names(cli_tool *cli, const hone_engine *engine) {
  hone_session *session;
  hone_session_options options = {
      .struct_size = sizeof options, .trust_weights = true, .profile = true, .cancel = cli_stop_flag()};
  options.one_schedule = cli_wants_schedule(cli, &options.schedule);
  hone_status status =
      hone_session_create((hone_engine *)(uintptr_t)engine, &options, &session, hone_context_diagnostics(cli->context));
  if (status == HONE_OK) status = hone_session_run(session);
  for (int i = 0; status == HONE_OK && i < hone_session_step_count(session); ++i) {
    hone_step_profile step = HONE_SIZED(hone_step_profile);
    status = hone_session_step(session, i, &step);
    if (status == HONE_OK) printf("%s\n", step.name);
  }
  hone_session_destroy(session);
  return status;
}

static void print_profile_shape(const char *word, const hone_shape *shape) {
  printf("%s", word);
  cli_print_shape(stdout, shape);
}

static int dump_profile(const hone_engine *engine, int schedule) {
  printf("Optimization profile %d:\n", schedule);
  for (int i = 0; i < hone_engine_input_count(engine); ++i) {
    hone_port_info port = HONE_SIZED(hone_port_info);
    if (hone_engine_schedule_input(engine, schedule, i, &port) != HONE_OK) return CLI_EXIT_INTERNAL;
    printf("  %s:", port.name);
    print_profile_shape(" min ", &port.min);
    print_profile_shape(", opt ", &port.opt);
    print_profile_shape(", max ", &port.max);
    printf("\n");
  }
  return CLI_EXIT_OK;
}

int cli_layer_info(cli_tool *cli, const hone_engine *engine) {
  hone_report_options options;
  cli_report_options(cli, &options);
  hone_diagnostics *diag = hone_context_diagnostics(cli->context);
  hone_status status = HONE_OK;
  verbosity detail;
  int code = read_verbosity(cli, &detail);
  for (int k = 0;
       code == CLI_EXIT_OK && cli_has(cli, "dumpOptimizationProfile") && k < hone_engine_schedule_count(engine); ++k)
    code = dump_profile(engine, k);
  if (code != CLI_EXIT_OK || detail == VERBOSITY_NONE) return code;
  if (cli_has(cli, "dumpLayerInfo"))
    status = detail == VERBOSITY_NAMES ? dump_names(cli, engine)
                                       : hone_report_engine(engine, &options, cli_write_file, stdout, diag);
  const char *path = cli_text(cli, "exportLayerInfo");
  if (status != HONE_OK || !path) return status == HONE_OK ? CLI_EXIT_OK : cli_fail(cli, status);
  FILE *file = cli_open_output(path);
  if (!file) return CLI_EXIT_IO;
  options.json = true;
  status = hone_report_engine(engine, &options, cli_write_file, file, diag);
  const int closed = cli_close_output(file, path);
  return status == HONE_OK ? closed : cli_fail(cli, status);
}

/* The beginning of an engine file: docs/ENGINE.md. Also of engines that this version cannot load. */
int bench_print_version(cli_tool *cli) {
  const char *path = cli_text(cli, "model"), *key = "\"built_by\"";
  if (!path) return cli_usage_error(cli, "an engine must be named");
  const cli_file_kind kind = cli_file_kind_of(path);
  if (kind == CLI_FILE_UNREADABLE) return CLI_EXIT_IO;
  if (kind != CLI_FILE_ENGINE) return cli_usage_error(cli, "%s is not an engine", path);
  char begin[4096] = {0};
  const char *why;
  FILE *file = cli_open_input(path, &why);
  const size_t got = file ? fread(begin, 1, sizeof begin - 1, file) : 0;
  if (file) fclose(file);
  uint32_t format = 0;
  memcpy(&format, begin + 8, sizeof format);
  const char *at = NULL;
  for (size_t i = 64; !at && i + strlen(key) < got; ++i)
    if (memcmp(begin + i, key, strlen(key)) == 0) at = strchr(begin + i + strlen(key), '"');
  const char *end = at ? strchr(at + 1, '"') : NULL;
  if (!end) {
    cli_error("%s does not say which version built it: it is damaged", path);
    return CLI_EXIT_ENGINE;
  }
  const int length = (int)(end - at - 1);
  if (cli_has(cli, "json"))
    printf(CLI_JSON_BEGIN "\"built_by\": \"%.*s\", \"format\": %u}\n", length, at + 1, format);
  else
    printf("%.*s, engine format %u\n", length, at + 1, format);
  return CLI_EXIT_OK;
}

int bench_time_open(cli_tool *cli) {
  static cli_model model; /* large for a stack */
  const char *path = cli_text(cli, "model");
  if (!path) return cli_usage_error(cli, "an engine must be named");
  const cli_file_kind kind = cli_file_kind_of(path);
  if (kind == CLI_FILE_UNREADABLE) return CLI_EXIT_IO;
  if (kind != CLI_FILE_ENGINE) return cli_usage_error(cli, "%s is not an engine", path);
  int code = cli_open_device(cli); /* a program opens its device once, however many engines it loads */
  const double begin_ms = cli_now_ms();
  if (code == CLI_EXIT_OK) code = cli_open_model(cli, &model);
  const double loaded_ms = cli_now_ms();
  hone_session *session = NULL;
  const hone_session_options options = {.struct_size = sizeof options};
  if (code == CLI_EXIT_OK) {
    const hone_status status =
        hone_session_create(model.engine, &options, &session, hone_context_diagnostics(cli->context));
    if (status != HONE_OK) code = cli_fail(cli, status);
  }
  const double load_ms = loaded_ms - begin_ms, session_ms = cli_now_ms() - loaded_ms;
  hone_session_destroy(session);
  cli_close_model(cli, &model);
  if (code == CLI_EXIT_OK && cli_has(cli, "json"))
    printf(CLI_JSON_BEGIN "\"load_ms\": %.4f, \"session_ms\": %.4f}\n", load_ms, session_ms);
  else if (code == CLI_EXIT_OK)
    printf("engine deserialized in %.4f s: %.3f ms to open the file, %.3f ms to open a session\n",
           (load_ms + session_ms) / 1e3, load_ms, session_ms);
  return code;
}

static int write_raw(cli_tool *cli, const char *folder, const char *kind, const char *name, hone_session *session) {
  hone_tensor tensor;
  const hone_status status = hone_session_tensor(session, name, &tensor);
  if (status != HONE_OK) return cli_fail_session(cli, session, status);
  if (tensor.type.kind != HONE_TENSOR || tensor.type.dtype == HONE_STRING) {
    cli_note(cli, "%s is not a numeric tensor and is not written", name);
    return CLI_EXIT_OK;
  }
  char path[4096];
  int length = snprintf(path, sizeof path, "%s/%s.%s.", folder, name, kind);
  for (int i = 0; i < tensor.type.shape.rank && length > 0 && (size_t)length < sizeof path; ++i)
    length += snprintf(path + length, sizeof path - (size_t)length, "%lld.", (long long)tensor.type.shape.dim[i]);
  if (length > 0 && (size_t)length < sizeof path)
    length += snprintf(path + length, sizeof path - (size_t)length, "%s.bin", hone_dtype_name(tensor.type.dtype));
  if (length <= 0 || (size_t)length >= sizeof path) {
    cli_error("%s: the path is too long", folder);
    return CLI_EXIT_IO;
  }
  for (char *c = path + strlen(folder) + 1; *c; ++c)
    if (*c == '/') *c = '_';
  FILE *file = cli_open_output(path);
  if (!file) return CLI_EXIT_IO;
  (void)fwrite(tensor.data, 1, tensor.bytes, file);
  return cli_close_output(file, path);
}

int bench_dump_bindings(cli_tool *cli, const hone_engine *engine, hone_session *session) {
  if (!cli_has(cli, "dumpRawBindingsToFile")) return CLI_EXIT_OK;
  const char *folder = cli_text(cli, "dumpRawBindingsToFile");
  if (!folder) folder = ".";
  if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
    cli_error("%s: %s", folder, strerror(errno));
    return CLI_EXIT_IO;
  }
  const int in = hone_engine_input_count(engine), out = hone_engine_output_count(engine);
  int code = CLI_EXIT_OK;
  for (int i = 0; i < in + out && code == CLI_EXIT_OK; ++i) {
    hone_port_info port = HONE_SIZED(hone_port_info);
    const hone_status status = i < in ? hone_engine_input(engine, i, &port) : hone_engine_output(engine, i - in, &port);
    if (status != HONE_OK) return cli_fail(cli, status);
    code = write_raw(cli, folder, i < in ? "input" : "output", port.name, session);
  }
  return code;
}
