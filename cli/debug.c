/* SPDX-License-Identifier: Apache-2.0 */
/* debug.c - looking at values inside an engine (--debug-tensor, trtexec's --markDebug and --saveDebugTensors) and
 * stopping at the first that is not finite (--check-nan). One way underneath: the session's taps. */
#include "debug.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct numbers {
  int64_t nan, infinite, finite, first_bad;
  double low, high, sum;
} numbers;

static void add_up(const hone_tensor *tensor, numbers *out) {
  *out = (numbers){.low = INFINITY, .high = -INFINITY, .first_bad = -1};
  const int64_t count = tensor->type.dtype == HONE_STRING ? 0 : hone_tensor_count(tensor);
  for (int64_t i = 0; i < count; ++i) {
    const double x = hone_tensor_real(tensor, i);
    if (!isfinite(x) && out->first_bad < 0) out->first_bad = i;
    if (isnan(x))
      ++out->nan;
    else if (isinf(x))
      ++out->infinite;
    else {
      ++out->finite;
      out->low = fmin(out->low, x);
      out->high = fmax(out->high, x);
      out->sum += x;
    }
  }
}

/* The asked name that the value answers to; NULL: all were asked for. */
static const cli_debug_name *asked_for(const cli_debug *debug, const hone_tap *tap) {
  for (int i = 0; i < debug->count; ++i) {
    const char *name = debug->names[i].tap;
    if (strcmp(name, tap->name) == 0 || (tap->step && strcmp(name, tap->step) == 0) ||
        (tap->origin_count == 1 && strcmp(name, tap->origins[0]) == 0))
      return &debug->names[i];
  }
  return NULL;
}

static const char *name_of(const cli_debug *debug, const hone_tap *tap) {
  const cli_debug_name *asked = asked_for(debug, tap);
  return asked && asked->value[0] ? asked->value : tap->name;
}

static void print_text(const cli_debug *debug, const hone_tap *tap, const numbers *n, const char *file) {
  fprintf(debug->to, "debug %s: %s", name_of(debug, tap), hone_dtype_name(tap->tensor->type.dtype));
  cli_print_shape(debug->to, &tap->tensor->type.shape);
  if (n->finite) fprintf(debug->to, "  min %.6g, max %.6g, mean %.6g", n->low, n->high, n->sum / (double)n->finite);
  if (tap->tensor->type.dtype != HONE_STRING)
    fprintf(debug->to, "  %lld NaN, %lld Inf", (long long)n->nan, (long long)n->infinite);
  if (tap->step) fprintf(debug->to, "  (step %s: %s)", tap->step, tap->op ? tap->op : "copy");
  fprintf(debug->to, "%s%s\n", file ? "  -> " : "", file ? file : "");
}

static void print_json(const cli_debug *debug, const hone_tap *tap, const numbers *n, const char *file) {
  FILE *to = debug->to;
  fprintf(to, "%s{\"name\": ", debug->shown ? ", " : "");
  cli_json_text(to, name_of(debug, tap));
  fprintf(to, ", \"dtype\": \"%s\", \"shape\": ", hone_dtype_name(tap->tensor->type.dtype));
  cli_print_shape(to, &tap->tensor->type.shape);
  static const char *const keys[] = {"step", "op", "tactic", "file"};
  const char *const texts[] = {tap->step, tap->op, tap->tactic, file};
  for (size_t i = 0; i < CLI_COUNT(keys); ++i) {
    if (!texts[i]) continue;
    fprintf(to, ", \"%s\": ", keys[i]);
    cli_json_text(to, texts[i]);
  }
  if (n->finite)
    fprintf(to, ", \"min\": %.9g, \"max\": %.9g, \"mean\": %.9g", n->low, n->high, n->sum / (double)n->finite);
  fprintf(to, ", \"nan\": %lld, \"inf\": %lld}", (long long)n->nan, (long long)n->infinite);
}

/* Where the value goes: its own file, or one in the folder; a later turn of a loop with its number before the suffix.
 * "": nowhere. */
static void choose_file(const cli_debug *debug, const hone_tap *tap, char *room, size_t bytes) {
  const cli_debug_name *asked = asked_for(debug, tap);
  const char *own = asked && asked->file[0] ? asked->file : NULL;
  room[0] = 0;
  if (!own && !debug->folder) return;
  const char *from = own ? own : tap->name;
  const char *dot = own ? strrchr(own, '.') : NULL;
  if (dot && strchr(dot, '/')) dot = NULL;
  int stem = dot ? (int)(dot - from) : (int)strlen(from);
  char number[32] = ""; /* names of fused layers may be longer than a file's */
  if (!own && stem > 200) (void)snprintf(number, sizeof number, "~%lld", (long long)debug->seen);
  if (!own && stem > 200) stem = 200;
  const size_t folder = own ? 0 : strlen(debug->folder) + 1;
  char turn[32] = "";
  if (tap->turn > 0) (void)snprintf(turn, sizeof turn, ".%lld", (long long)tap->turn);
  (void)snprintf(room, bytes, "%s%s%.*s%s%s%s", own ? "" : debug->folder, own ? "" : "/", stem, from, number, turn,
                 own ? (dot ? dot : "") : ".npy");
  for (char *c = room + folder; !own && *c; ++c)
    if (*c == '/') *c = '_';
}

static bool is_raw(const char *path) {
  const char *dot = strrchr(path, '.');
  return dot && (strcmp(dot, ".bin") == 0 || strcmp(dot, ".raw") == 0 || strcmp(dot, ".dat") == 0);
}

static int write_value(cli_debug *debug, const char *path, const hone_tensor *tensor) {
  cli_tool *cli = debug->cli;
  if (!is_raw(path)) {
    const hone_status status = hone_tensor_write_npy(cli->context, path, tensor);
    return status == HONE_OK ? CLI_EXIT_OK : cli_fail(cli, status);
  }
  FILE *file = fopen(path, "wb");
  const bool written = file && fwrite(tensor->data, 1, tensor->bytes, file) == tensor->bytes;
  const int reason = errno;
  if (file && fclose(file) == 0 && written) return CLI_EXIT_OK;
  cli_error("%s: %s", path, strerror(reason));
  return CLI_EXIT_IO;
}

/* ---- the first value that is not finite ---- */

static void tell_bad(cli_debug *debug, const hone_tap *tap, const numbers *n) {
  FILE *to = debug->json ? debug->to : stderr;
  if (debug->json) {
    fprintf(to, "{\"finite\": false, \"name\": ");
    cli_json_text(to, tap->name);
    if (tap->step) fprintf(to, ", \"step\": ");
    if (tap->step) cli_json_text(to, tap->step);
    if (tap->tactic) fprintf(to, ", \"tactic\": \"%s\"", tap->tactic);
    fprintf(to, ", \"nan\": %lld, \"inf\": %lld, \"elements\": %lld, \"first\": ", (long long)n->nan,
            (long long)n->infinite, (long long)hone_tensor_count(tap->tensor));
  } else if (tap->step) {
    fprintf(to,
            "hone: step %s (%s%s%s) is the first that writes what is not finite: %s has %lld NaN and %lld Inf among "
            "%lld elements, the first at ",
            tap->step, tap->op ? tap->op : "copy", tap->tactic ? ", " : "", tap->tactic ? tap->tactic : "", tap->name,
            (long long)n->nan, (long long)n->infinite, (long long)hone_tensor_count(tap->tensor));
  } else {
    fprintf(to, "hone: the input %s itself is not finite: %lld NaN and %lld Inf among %lld elements, the first at ",
            tap->name, (long long)n->nan, (long long)n->infinite, (long long)hone_tensor_count(tap->tensor));
  }
  cli_print_position(to, &tap->tensor->type.shape, n->first_bad);
  fprintf(to, debug->json ? "}" : "\n");
}

static hone_status on_tap(void *user, const hone_tap *tap) {
  cli_debug *debug = user;
  numbers n;
  add_up(tap->tensor, &n);
  if (asked_for(debug, tap) || (debug->all && tap->step)) {
    char path[4096];
    choose_file(debug, tap, path, sizeof path);
    if (path[0]) debug->code = write_value(debug, path, tap->tensor);
    if (debug->code != CLI_EXIT_OK) return HONE_CANCELLED;
    if (debug->json)
      print_json(debug, tap, &n, path[0] ? path : NULL);
    else
      print_text(debug, tap, &n, path[0] ? path : NULL);
    ++debug->shown;
  }
  ++debug->seen;
  if (!debug->checks || (n.nan == 0 && (n.infinite == 0 || debug->infinities))) return HONE_OK;
  if (debug->json) fprintf(debug->to, "], \"check_nan\": ");
  tell_bad(debug, tap, &n);
  debug->code = CLI_EXIT_CHECK_FAILED;
  return HONE_CANCELLED;
}

/* ---- sessions ---- */

static int open_tapped(cli_debug *debug, hone_session **out) {
  cli_tool *cli = debug->cli;
  const hone_engine *engine = debug->model->engine;
  const char *taps[CLI_MAX_DEBUG + CLI_MAX_INPUTS + 1];
  int count = 0;
  for (int i = 0; i < debug->count; ++i) taps[count++] = debug->names[i].tap;
  if (debug->checks) taps[count++] = "*";
  for (int i = 0; debug->checks && i < hone_engine_input_count(engine) && i < CLI_MAX_INPUTS; ++i) {
    hone_port_info port = HONE_SIZED(hone_port_info);
    if (hone_engine_input(engine, i, &port) == HONE_OK) taps[count++] = port.name;
  }
  hone_session_options options;
  cli_session_options_read(cli, &options);
  options.taps = taps;
  options.tap_count = count;
  options.on_tap = on_tap;
  options.on_tap_user = debug;
  const hone_status status =
      hone_session_create(debug->model->engine, &options, out, hone_context_diagnostics(cli->context));
  if (status == HONE_OK) return CLI_EXIT_OK;
  const int code = cli_fail(cli, status);
  if (status == HONE_INVALID && cli_debug_is_fused(debug))
    cli_note(cli,
             "  to keep more: build with --tactic STEP=parts, or with --disable RULE (hone explain MODEL --node NODE "
             "names the rules that fired)");
  return code;
}

int cli_debug_open(cli_tool *cli, const cli_model *model, cli_debug *debug, hone_session **out_session) {
  *debug = (cli_debug){.cli = cli, .model = model, .to = stdout};
  const int code = cli_debug_read(debug);
  return code == CLI_EXIT_OK ? open_tapped(debug, out_session) : code;
}

int cli_debug_run(cli_debug *debug, hone_session *session) {
  cli_tool *cli = debug->cli;
  const hone_status status = hone_session_run(session);
  if (debug->code != CLI_EXIT_OK) return debug->code;
  if (status != HONE_OK) return cli_fail_session(cli, session, status);
  if (debug->json) fprintf(debug->to, "]");
  if (!debug->checks) return CLI_EXIT_OK;
  if (debug->json)
    fprintf(debug->to, ", \"check_nan\": {\"finite\": true, \"values\": %lld}", (long long)debug->seen);
  else
    fprintf(debug->to, "check-nan: all of %lld values are %s\n", (long long)debug->seen,
            debug->infinities ? "free of NaN" : "finite");
  return CLI_EXIT_OK;
}
