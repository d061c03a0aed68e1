/* SPDX-License-Identifier: Apache-2.0 */
/* values_runtime.c - ONNX Runtime's values of a model, by a child Python that has onnxruntime and numpy. All values of
 * the model are made outputs first, and its own optimisations are off, so that each layer is what the model says. */
#include "child.h"
#include "values.h"
#include <sys/stat.h>

const cli_option cli_python_options[] = {
    {"python", CLI_TEXT, "FILE", .doc = "the Python that has ONNX Runtime; default python3"},
    {"ort-optimise", CLI_FLAG, .doc = "with ONNX Runtime's own optimisations: fewer of the values are comparable"},
    {0},
};

enum { NO_MODULE = 90 }; /* an exit code of the script below */
static const char script[] =
    "import sys\n"
    "try:\n"
    "    import numpy, onnxruntime\n"
    "except ImportError as error:\n"
    "    print(error, file=sys.stderr)\n"
    "    sys.exit(90)\n"
    "model, inputs, outputs, optimise = sys.argv[1:5]\n"
    "def path(folder, name):\n"
    "    return folder + '/' + name.replace('/', '_') + '.npy'\n"
    "options = onnxruntime.SessionOptions()\n"
    "options.log_severity_level = 3\n"
    "if optimise != '1':\n"
    "    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL\n"
    "session = onnxruntime.InferenceSession(model, options, providers=['CPUExecutionProvider'])\n"
    "feed = {i.name: numpy.load(path(inputs, i.name)) for i in session.get_inputs()}\n"
    "for port, value in zip(session.get_outputs(), session.run(None, feed)):\n"
    "    if isinstance(value, numpy.ndarray) and value.dtype.kind in 'fiub':\n"
    "        numpy.save(path(outputs, port.name), numpy.ascontiguousarray(value).reshape(value.shape))\n";

static int write_inputs(cli_tool *cli, const cli_values *inputs, const char *folder) {
  char path[4096];
  for (int i = 0; i < inputs->count; ++i) {
    cli_value_path(folder, inputs->items[i].name, path, sizeof path);
    const hone_status status = hone_tensor_write_npy(cli->context, path, &inputs->items[i].tensor);
    if (status != HONE_OK) return cli_fail(cli, status);
  }
  return CLI_EXIT_OK;
}

static int write_model(cli_tool *cli, const char *model_path, const char *path) {
  hone_model *model;
  hone_status status = hone_model_load(cli->context, model_path, &model);
  if (status != HONE_OK) return cli_fail(cli, status);
  status = hone_model_edit(model, "output *");
  if (status == HONE_OK) status = hone_model_save(model, path);
  hone_model_destroy(model);
  return status == HONE_OK ? CLI_EXIT_OK : cli_fail(cli, status);
}

/* What a Python that failed said last. */
static void tell_log(const char *path) {
  const char *why;
  char line[1024], last[1024] = "";
  FILE *file = cli_open_input(path, &why);
  while (file && fgets(line, sizeof line, file))
    if (line[0] != '\n') (void)snprintf(last, sizeof last, "%s", line);
  if (file) fclose(file);
  if (last[0]) fprintf(stderr, "  %s", last);
}

int cli_values_of_runtime(cli_tool *cli, const char *model, const cli_values *inputs, const char *folder) {
  char changed[4096], feed[4096], log[4096];
  const char *python = cli_text(cli, "python") ? cli_text(cli, "python") : "python3";
  (void)snprintf(changed, sizeof changed, "%s/.model.onnx", folder);
  (void)snprintf(feed, sizeof feed, "%s/.inputs", folder);
  (void)snprintf(log, sizeof log, "%s/.log", folder);
  int code = mkdir(feed, 0777) == 0 ? CLI_EXIT_OK : CLI_EXIT_IO;
  if (code == CLI_EXIT_OK) code = write_inputs(cli, inputs, feed);
  if (code == CLI_EXIT_OK) code = write_model(cli, model, changed);
  const char *const arguments[] = {
      python, "-c", script, changed, feed, folder, cli_has(cli, "ort-optimise") ? "1" : "0", NULL};
  int result = 0;
  if (code == CLI_EXIT_OK) code = cli_child_run(arguments, log, 0, &result);
  if (code != CLI_EXIT_OK || result == 0) return code;
  if (result == 127)
    cli_error("ONNX Runtime runs by a Python, and there is no %s; name one by --python FILE", python);
  else if (result == NO_MODULE)
    cli_error("%s has no ONNX Runtime: install it there (pip install onnxruntime), or name another by --python FILE",
              python);
  else
    cli_error("ONNX Runtime does not run %s (%s ended with %d):", model, python, result);
  tell_log(log);
  return result == 127 || result == NO_MODULE ? CLI_EXIT_UNSUPPORTED : CLI_EXIT_MODEL;
}
