/* SPDX-License-Identifier: Apache-2.0 */
/* check_model.c - one trained model: built for the CPU, run on its test data, compared with the outputs beside it.
 * The bound is 1e-4 of relative L2, or --bound; --f16 holds the build to nine tenths of it, as some models need. Prints
 * one line: name, verdict, relative L2 error, top-1, milliseconds, share of the time in the reference. Exit code 0 when
 * every output is within the bound, 1 when not, 2 when it cannot be run. usage: check_model MODEL_FOLDER DATA_FOLDER
 * [--threads N] [--level N] [--runs N] [--bound E] [--device cpu|gpu] [--f16] */
#include "support/model_case.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double share_of_bound = 0.9; /* the rest is f32's own distance from what is stored */

typedef struct options {
  const char *folder, *data, *device;
  int threads, level, runs;
  bool f16;     /* may be held and computed in */
  double bound; /* relative L2 */
} options;

typedef struct outcome {
  double rel_l2, total_ns, reference_ns;
  int host_steps;       /* of an engine for a GPU: run by tactics of the CPU */
  bool same_top, exact; /* exact: outputs that are no reals are equal */
  const char *slowest_reference;
  double slowest_ns;
} outcome;

static bool is_real(hone_dtype dtype) { return (HONE_TYPES_FLOAT & HONE_BIT(dtype)) != 0; }

static int fail(const options *o, const char *stage, hone_status status, const char *message) {
  printf("%-28s %s: %s: %s\n", o->folder, stage, hone_status_name(status), message ? message : "no message");
  return 2;
}

static int fail_context(const options *o, const char *stage, hone_status status, const hone_context *context) {
  for (int i = 0; i < hone_context_message_count(context); ++i) {
    hone_status one;
    const char *text = hone_context_message(context, i, &one);
    if (one == status) return fail(o, stage, status, text);
  }
  return fail(o, stage, status, NULL);
}

static int fail_session(const options *o, hone_status status, const hone_session *session) {
  return fail(o, "run", status, hone_session_message_count(session) ? hone_session_message(session, 0, NULL) : NULL);
}

static bool compare(const model_case *c, hone_session *session, outcome *out) {
  for (int j = 0; j < c->want_count; ++j) {
    model_case_error error;
    model_case_compare(c, session, j, 0, 0, &error);
    if (!error.comparable) {
      printf("  %s\n", error.why);
      return false;
    }
    out->same_top &= error.same_top;
    if (!is_real(c->want[j].type.dtype))
      out->exact &= error.comparison.mismatches == 0;
    else if (!(error.comparison.rel_l2 <= out->rel_l2))
      out->rel_l2 = error.comparison.rel_l2;
  }
  return c->want_count > 0;
}

static void share_out(const hone_session *session, bool on_gpu, outcome *out) {
  for (int s = 0; s < hone_session_step_count(session); ++s) {
    hone_step_profile step = HONE_SIZED(hone_step_profile);
    if (hone_session_step(session, s, &step) != HONE_OK) continue;
    out->total_ns += step.median_ns;
    out->host_steps += on_gpu && step.tactic && strncmp(step.tactic, "cuda.", 5) != 0;
    if (!step.reference) continue;
    out->reference_ns += step.median_ns;
    if (step.median_ns <= out->slowest_ns) continue;
    out->slowest_ns = step.median_ns;
    out->slowest_reference = step.name;
  }
}

static int run(const options *o, const model_case *c, hone_session *session) {
  hone_status status = model_case_feed(c, session);
  for (int i = 0; i < o->runs && status == HONE_OK; ++i) status = hone_session_run(session);
  if (status != HONE_OK) return fail_session(o, status, session);
  outcome out = {.same_top = true, .exact = true};
  if (!compare(c, session, &out)) return fail(o, "outputs", HONE_INVALID, "they cannot be compared");
  const bool on_gpu = strcmp(o->device, "gpu") == 0;
  share_out(session, on_gpu, &out);
  const bool good = out.rel_l2 <= o->bound && out.exact;
  const double share = out.total_ns > 0 ? 100 * out.reference_ns / out.total_ns : 0;
  printf("%-28s %-4s  rel L2 %-9.2e  top-1 %-9s  %9.3f ms  reference %5.1f %%%s%s\n", o->folder, good ? "pass" : "FAIL",
         out.rel_l2, out.same_top ? "same" : "different", out.total_ns / 1e6, share,
         out.slowest_reference ? "  most in " : "", out.slowest_reference ? out.slowest_reference : "");
  if (on_gpu) printf("%-28s %d steps on the host\n", "", out.host_steps);
  return good ? 0 : 1;
}

static int build_and_run(const options *o, const model_case *c, hone_device *device) {
  const hone_build_options build = {.struct_size = sizeof build,
                                    .level = o->level,
                                    .precisions = o->f16 ? HONE_BIT(HONE_F16) : 0,
                                    .max_error = o->f16 ? share_of_bound * o->bound : 0};
  hone_engine *engine;
  hone_status status = model_case_build(c, device, &build, &engine);
  if (status != HONE_OK) return fail_context(o, "build", status, c->context);
  const hone_session_options profiled = {.struct_size = sizeof profiled, .profile = true};
  hone_session *session;
  status = hone_session_create(engine, &profiled, &session, hone_context_diagnostics(c->context));
  hone_engine_release(engine);
  if (status != HONE_OK) return fail_context(o, "session", status, c->context);
  const int code = run(o, c, session);
  hone_session_destroy(session);
  return code;
}

static int check(const options *o, hone_context *context) {
  const hone_device_options device_options = {.struct_size = sizeof device_options, .threads = o->threads};
  hone_device *device;
  hone_status status = hone_device_open(context, o->device, 0, &device_options, &device);
  if (status != HONE_OK) return fail_context(o, "device", status, context);
  char model[4096], prefix[4096];
  snprintf(model, sizeof model, "%s/model.onnx", o->folder);
  snprintf(prefix, sizeof prefix, "%s/test_data_set_0/", o->data);
  model_case c;
  status = model_case_open(context, model, prefix, false, &c);
  const int code = status == HONE_OK ? build_and_run(o, &c, device) : fail_context(o, "import", status, context);
  if (status == HONE_OK) model_case_close(&c);
  hone_device_close(device);
  return code;
}

int main(int argc, char **argv) {
  options o = {.device = "cpu", .runs = 5, .bound = 1e-4};
  for (int i = 1; i < argc; ++i) {
    int *number = strcmp(argv[i], "--threads") == 0 ? &o.threads
                  : strcmp(argv[i], "--level") == 0 ? &o.level
                  : strcmp(argv[i], "--runs") == 0  ? &o.runs
                                                    : NULL;
    if (strcmp(argv[i], "--bound") == 0 && i + 1 < argc)
      o.bound = strtod(argv[++i], NULL);
    else if (strcmp(argv[i], "--device") == 0 && i + 1 < argc)
      o.device = argv[++i];
    else if (strcmp(argv[i], "--f16") == 0)
      o.f16 = true;
    else if (number && i + 1 < argc)
      *number = atoi(argv[++i]);
    else if (!o.folder)
      o.folder = argv[i];
    else
      o.data = argv[i];
  }
  hone_context *context;
  if (!o.data || o.runs < 1 || hone_context_create(NULL, &context) != HONE_OK) {
    fprintf(stderr, "usage: check_model MODEL_FOLDER DATA_FOLDER [--threads N] [--level N] [--runs N] [--bound E]\n"
                    "                   [--device cpu|gpu] [--f16]\n");
    return 2;
  }
  const int code = check(&o, context);
  hone_context_destroy(context);
  return code;
}
