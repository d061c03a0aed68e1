/* SPDX-License-Identifier: Apache-2.0 */
/* command_run.c - hone run: one run, its outputs to files, or described. */
#include "debug.h"
#include "recipe.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const cli_option cli_run_options[] = {
    {"output-dir", CLI_TEXT, "DIR", .doc = "write each output there as NAME.npy (made when absent)",
     .writes = CLI_WRITES_FOLDER},
    {"top", CLI_INT, "K",
     .doc = "number of classes to print, without a recipe; default 5 when labels or an image are given", .high = 1000},
    {"draw", CLI_TEXT, "OUT.png", .doc = "draw the recipe's results into the photo: boxes with names, masks, the class",
     .writes = CLI_WRITES_FILE},
    {0},
};

/* Is the last axis one of classes, with only ones before it? */
static bool is_classes(const hone_tensor *tensor) {
  const hone_shape *shape = &tensor->type.shape;
  const bool real = HONE_BIT(tensor->type.dtype) & HONE_TYPES_FLOAT;
  int64_t widest = 1;
  for (int i = 0; i < shape->rank; ++i)
    if (shape->dim[i] > widest) widest = shape->dim[i];
  return real && shape->rank >= 1 && widest >= 2 && widest == hone_tensor_count(tensor);
}

/* How class scores become probabilities: as they are where they lie in [0, 1] and sum to 1, by a softmax where labels
 * say that they are scores of classes. Of anything else there are none. */
typedef enum score_kind { NOT_KNOWN, PROBABILITIES, LOGITS } score_kind;
static score_kind kind_of(const cli_tool *cli, const hone_tensor *tensor) {
  const int64_t count = hone_tensor_count(tensor);
  double low = INFINITY, total = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double x = hone_tensor_real(tensor, i);
    low = fmin(low, x);
    total += x;
  }
  if (low >= 0 && fabs(total - 1) < 1e-3) return PROBABILITIES;
  const int64_t labels = hone_recipe_label_count(cli->recipe);
  return labels > 0 && labels <= count ? LOGITS : NOT_KNOWN;
}

static double probability(const hone_tensor *tensor, score_kind kind, int64_t at) {
  const int64_t count = hone_tensor_count(tensor);
  double top = -INFINITY, sum = 0;
  if (kind == PROBABILITIES) return hone_tensor_real(tensor, at);
  for (int64_t i = 0; i < count; ++i) top = fmax(top, hone_tensor_real(tensor, i));
  for (int64_t i = 0; i < count; ++i) sum += exp(hone_tensor_real(tensor, i) - top);
  return exp(hone_tensor_real(tensor, at) - top) / sum;
}

static void print_class(const cli_tool *cli, const hone_tensor *tensor, score_kind kind, int64_t place, int64_t class) {
  const char *label = hone_recipe_label(cli->recipe, class), *name = label ? label : "";
  const double score = hone_tensor_real(tensor, class);
  if (!cli_has(cli, "json")) {
    printf("  %2lld. %5lld  %-40s %8.4f", (long long)place + 1, (long long)class, name, score);
    if (kind != NOT_KNOWN) printf("   %5.1f %%", 100 * probability(tensor, kind, class));
    printf("\n");
    return;
  }
  printf("%s{\"class\": %lld, \"score\": %.9g", place ? ", " : "", (long long)class, score);
  if (kind != NOT_KNOWN) printf(", \"probability\": %.6g", probability(tensor, kind, class));
  printf(", \"label\": ");
  cli_json_text(stdout, name);
  printf("}");
}

static void print_top(const cli_tool *cli, const hone_tensor *tensor, int64_t top) {
  const int64_t count = hone_tensor_count(tensor);
  const score_kind kind = kind_of(cli, tensor);
  const bool json = cli_has(cli, "json");
  if (json) printf(", \"top\": [");
  double before = INFINITY;
  int64_t before_at = -1;
  for (int64_t k = 0; k < top && k < count; ++k) {
    int64_t best = -1;
    for (int64_t i = 0; i < count; ++i) {
      const double x = hone_tensor_real(tensor, i);
      if (x > before || (x == before && i <= before_at)) continue;
      if (best < 0 || x > hone_tensor_real(tensor, best)) best = i;
    }
    if (best < 0) break;
    before = hone_tensor_real(tensor, best);
    before_at = best;
    print_class(cli, tensor, kind, k, best);
  }
  if (json) printf("]");
}

static void print_moments(const cli_tool *cli, const hone_tensor *tensor) {
  const int64_t count = hone_tensor_count(tensor);
  double low = INFINITY, high = -INFINITY, sum = 0;
  int64_t odd = 0; /* NaN or infinite */
  for (int64_t i = 0; i < count; ++i) {
    const double x = hone_tensor_real(tensor, i);
    if (!isfinite(x)) {
      ++odd;
      continue;
    }
    low = fmin(low, x);
    high = fmax(high, x);
    sum += x;
  }
  const int64_t plain = count - odd;
  if (cli_has(cli, "json")) {
    if (plain > 0) printf(", \"min\": %.9g, \"max\": %.9g, \"mean\": %.9g", low, high, sum / (double)plain);
    printf(", \"not_finite\": %lld", (long long)odd);
  } else {
    if (plain > 0) printf("  min %.6g, max %.6g, mean %.6g", low, high, sum / (double)plain);
    if (odd > 0) printf("  %lld not finite", (long long)odd);
  }
}

/* DIR/NAME.npy, `/` in names as `_`. */
static int write_output(cli_tool *cli, const char *folder, const char *name, const hone_tensor *tensor, char *path,
                        size_t room) {
  const int length = snprintf(path, room, "%s/%s.npy", folder, name);
  if (length < 0 || (size_t)length >= room) {
    cli_error("%s: the path is too long", folder);
    return CLI_EXIT_IO;
  }
  for (char *c = path + strlen(folder) + 1; *c; ++c)
    if (*c == '/') *c = '_';
  const hone_status status = hone_tensor_write_npy(cli->context, path, tensor);
  return status == HONE_OK ? CLI_EXIT_OK : cli_fail(cli, status);
}

static int give_output(cli_tool *cli, const char *name, const hone_tensor *tensor, const char *folder, int64_t top) {
  char path[4096] = "";
  if (folder) {
    const int code = write_output(cli, folder, name, tensor, path, sizeof path);
    if (code != CLI_EXIT_OK) return code;
  }
  const bool json = cli_has(cli, "json");
  if (json) {
    printf("{\"name\": ");
    cli_json_text(stdout, name);
    printf(", \"dtype\": \"%s\", \"shape\": ", hone_dtype_name(tensor->type.dtype));
    cli_print_shape(stdout, &tensor->type.shape);
    if (folder) {
      printf(", \"file\": ");
      cli_json_text(stdout, path);
    }
  } else {
    printf("output %s: %s", name, hone_dtype_name(tensor->type.dtype));
    cli_print_shape(stdout, &tensor->type.shape);
  }
  if (tensor->type.dtype != HONE_STRING) print_moments(cli, tensor);
  if (!json) printf("%s%s\n", folder ? "  -> " : "", path);
  if (top > 0 && is_classes(tensor)) print_top(cli, tensor, top);
  if (json) printf("}");
  return CLI_EXIT_OK;
}

static int give_outputs(cli_tool *cli, const cli_model *model, hone_session *session, int64_t top) {
  const char *folder = cli_text(cli, "output-dir");
  if (folder && mkdir(folder, 0777) != 0 && errno != EEXIST) {
    cli_error("%s: %s", folder, strerror(errno));
    return CLI_EXIT_IO;
  }
  const int count = hone_engine_output_count(model->engine);
  if (cli_has(cli, "json")) printf("\"outputs\": [");
  for (int i = 0; i < count; ++i) {
    hone_port_info port = HONE_SIZED(hone_port_info);
    hone_tensor tensor;
    hone_status status = hone_engine_output(model->engine, i, &port);
    if (status == HONE_OK) status = hone_session_tensor(session, port.name, &tensor);
    if (status != HONE_OK) return cli_fail_session(cli, session, status);
    if (i > 0 && cli_has(cli, "json")) printf(", ");
    const int code = give_output(cli, port.name, &tensor, folder, top);
    if (code != CLI_EXIT_OK) return code;
  }
  if (cli_has(cli, "json")) printf("]");
  return CLI_EXIT_OK;
}

static bool any_image(const cli_tool *cli) {
  const char *texts[CLI_MAX_INPUTS];
  const int count = cli_list(cli, "input", texts, CLI_MAX_INPUTS);
  for (int i = 0; i < count; ++i) {
    const char *equals = strchr(texts[i], '=');
    if (cli_is_image(equals ? equals + 1 : texts[i])) return true;
  }
  return false;
}

/* With the values that --debug-tensor and its kin ask for. */
static int run_looking(cli_tool *cli, const cli_model *model, hone_session **session) {
  static cli_debug debug; /* large for a stack */
  int code = cli_debug_open(cli, model, &debug, session);
  if (code == CLI_EXIT_OK) code = cli_fill_inputs(cli, model, *session);
  if (code != CLI_EXIT_OK) return code;
  debug.json = cli_has(cli, "json");
  if (debug.json) printf(CLI_JSON_BEGIN "\"debug\": [");
  code = cli_debug_run(&debug, *session);
  if (debug.json) printf(code == CLI_EXIT_OK ? ", " : "}\n");
  return code;
}

static int run_once(cli_tool *cli, const cli_model *model, hone_session **session) {
  if (cli_debugs(cli)) return run_looking(cli, model, session);
  hone_status status = cli_open_session(cli, model->engine, session);
  if (status != HONE_OK) return cli_fail(cli, status);
  const int code = cli_fill_inputs(cli, model, *session);
  if (code != CLI_EXIT_OK) return code;
  status = hone_session_run(*session);
  if (status != HONE_OK) return cli_fail_session(cli, *session, status);
  if (cli_has(cli, "json")) printf(CLI_JSON_BEGIN);
  return CLI_EXIT_OK;
}

static int run(cli_tool *cli, const cli_model *model, hone_session **session) {
  int code = run_once(cli, model, session);
  if (code != CLI_EXIT_OK) return code;
  const bool json = cli_has(cli, "json"), tells = cli_recipe_tells(cli);
  const bool classes = !tells && (hone_recipe_label_count(cli->recipe) > 0 || any_image(cli));
  if (json || !tells || cli_has(cli, "output-dir"))
    code = give_outputs(cli, model, *session, cli_int(cli, "top", classes ? 5 : 0));
  if (code == CLI_EXIT_OK && json && tells) printf(", ");
  if (code == CLI_EXIT_OK && tells) code = cli_recipe_give(cli, *session, json);
  if (code != CLI_EXIT_OK) return code;
  if (json && cli_compares(cli)) printf(", \"compare\": [");
  code = cli_compare_outputs(cli, model->engine, *session, stdout, json);
  if (json) printf("%s}\n", cli_compares(cli) ? "]" : "");
  return code;
}

int cli_command_run(cli_tool *cli) {
  static cli_model model;
  hone_session *session = NULL;
  int code = cli_check_comparing(cli);
  if (code == CLI_EXIT_OK) code = cli_open_model(cli, &model);
  if (code == CLI_EXIT_OK) code = cli_recipe_labels(cli);
  if (code == CLI_EXIT_OK) code = run(cli, &model, &session);
  hone_session_destroy(session);
  if (code == CLI_EXIT_OK) cli_next(cli, model.graph ? "hone build %s" : "hone bench %s", cli_text(cli, "model"));
  cli_close_model(cli, &model);
  return code;
}
