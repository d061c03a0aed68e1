/* SPDX-License-Identifier: Apache-2.0 */
/* command_verify.c - hone verify: every step of an engine against the reference, measured again on this machine. A
 * model is built first, and its outputs are compared with those of its own graph, run without any optimisation by the
 * reference alone. */
#include "cli.h"

const cli_option cli_verify_options[] = {
    {"full", CLI_FLAG, .doc = "compare every element of every step, not 4,096 of each"},
    {0},
};

static int verify_steps(cli_tool *cli, const cli_model *model, bool *out_within) {
  hone_verify_options options = {.struct_size = sizeof options,
                                 .full = cli_has(cli, "full"),
                                 .json = cli_has(cli, "json"),
                                 .width = cli->width,
                                 .cancel = cli_stop_flag(),
                                 .seed = (uint64_t)cli_int(cli, "seed", 0)};
  options.one_schedule = cli_wants_schedule(cli, &options.schedule);
  const hone_status status =
      hone_verify(model->engine, &options, cli_write_file, stdout, out_within, hone_context_diagnostics(cli->context));
  return status == HONE_OK ? CLI_EXIT_OK : cli_fail(cli, status);
}

static int run_once(cli_tool *cli, const cli_model *model, hone_session **out_session) {
  hone_status status = cli_open_session(cli, model->engine, out_session);
  if (status != HONE_OK) return cli_fail(cli, status);
  const int code = cli_fill_inputs(cli, model, *out_session);
  if (code != CLI_EXIT_OK) return code;
  status = hone_session_run(*out_session);
  return status == HONE_OK ? CLI_EXIT_OK : cli_fail_session(cli, *out_session, status);
}

static int compare_output(cli_tool *cli, const char *name, hone_session *tuned, hone_session *plain, bool *within) {
  hone_tensor got, want;
  hone_status status = hone_session_tensor(tuned, name, &got);
  if (status != HONE_OK) return cli_fail_session(cli, tuned, status);
  status = hone_session_tensor(plain, name, &want);
  if (status != HONE_OK) return cli_fail_session(cli, plain, status);
  if (got.type.kind != HONE_TENSOR || got.type.dtype == HONE_STRING) {
    cli_note(cli, "output %s is not a numeric tensor and is not compared", name);
    return CLI_EXIT_OK;
  }
  const bool real = HONE_BIT(want.type.dtype) & HONE_TYPES_FLOAT;
  const double bound = cli_real(cli, "max-error", 1e-4);
  cli_comparison c;
  cli_compare_tensors(&got, &want, real ? bound : 0, real ? bound : 0, &c);
  const bool good = c.same_shape && (real ? c.rel_l2 <= bound : c.differing == 0);
  *within = *within && good;
  cli_print_comparison(stdout, cli_has(cli, "json"), name, &got, &want, &c);
  if (!good && !cli_has(cli, "json")) printf("  OVER ITS BOUND: %s\n", real ? "relative L2" : "integers differ");
  return CLI_EXIT_OK;
}

/* One run of both at the same shapes and inputs. *printed: outputs so far, for the commas of JSON. */
static int verify_run(cli_tool *cli, const cli_model *model, const cli_model *plain, bool *within, int *printed) {
  hone_session *tuned_session = NULL, *plain_session = NULL;
  const bool quiet = cli->quiet;
  int code = run_once(cli, model, &tuned_session);
  cli->quiet = true; /* the same inputs again */
  if (code == CLI_EXIT_OK) code = run_once(cli, plain, &plain_session);
  cli->quiet = quiet;
  for (int i = 0; i < hone_engine_output_count(model->engine) && code == CLI_EXIT_OK; ++i) {
    hone_port_info port = HONE_SIZED(hone_port_info);
    if (hone_engine_output(model->engine, i, &port) != HONE_OK) code = CLI_EXIT_INTERNAL;
    if (cli_has(cli, "json") && (*printed)++ > 0) printf(", ");
    if (code == CLI_EXIT_OK) code = compare_output(cli, port.name, tuned_session, plain_session, within);
  }
  hone_session_destroy(tuned_session);
  hone_session_destroy(plain_session);
  return code;
}

/* Each schedule at its own opt shapes, as if --schedule had named one after the other. */
static int verify_each(cli_tool *cli, cli_model *model, cli_model *plain, bool *within, int *printed) {
  int code = CLI_EXIT_OK;
  const int count = hone_engine_schedule_count(model->engine);
  if (cli->given_count == CLI_MAX_GIVEN) return cli_usage_error(cli, "more than %d options", CLI_MAX_GIVEN);
  for (int k = 0; k < count && code == CLI_EXIT_OK; ++k) {
    char number[16];
    (void)snprintf(number, sizeof number, "%d", k);
    cli->given[cli->given_count++] = (cli_given){cli_schedule_options, number};
    model->run_profile = plain->run_profile = k;
    if (!cli_has(cli, "json")) printf("schedule %d\n", k);
    code = verify_run(cli, model, plain, within, printed);
    --cli->given_count;
  }
  return code;
}

/* The graph as it was imported, by the reference, on the same inputs. */
static int verify_outputs(cli_tool *cli, cli_model *model, bool *within) {
  static cli_model plain; /* large for a stack */
  plain = *model;         /* its graph, inputs and shapes */
  plain.engine = NULL;
  plain.plain = true;
  int code = cli_build_engine(cli, &plain), printed = 0;
  const bool json = cli_has(cli, "json");
  if (code != CLI_EXIT_OK) return code; /* there is no engine then */
  printf("%s", json ? ", \"outputs\": [" : "\nthe whole graph against the reference, not optimised:\n");
  const bool each = model->engine && hone_engine_schedule_count(model->engine) > 1 && !cli_has(cli, "schedule") &&
                    !model->input_count;
  code = each ? verify_each(cli, model, &plain, within, &printed) : verify_run(cli, model, &plain, within, &printed);
  if (json) printf("]");
  hone_engine_release(plain.engine);
  return code;
}

static int verify(cli_tool *cli, cli_model *model) {
  bool steps = false, outputs = true;
  const bool json = cli_has(cli, "json") && model->graph;
  if (json) printf(CLI_JSON_BEGIN "\"steps\": ");
  int code = verify_steps(cli, model, &steps);
  if (code == CLI_EXIT_OK && model->graph) code = verify_outputs(cli, model, &outputs);
  if (json) printf(", \"within\": %s}\n", code == CLI_EXIT_OK && steps && outputs ? "true" : "false");
  if (code != CLI_EXIT_OK) return code;
  return steps && outputs ? CLI_EXIT_OK : CLI_EXIT_CHECK_FAILED;
}

/* What says how a model is built, run or held against its graph says nothing of an engine's steps. */
static int check_options(cli_tool *cli, const cli_model *model) {
  static const char *const only_models[] = {"input", "loadInputs", "shapes", "max-error"};
  for (size_t i = 0; !model->graph && i < CLI_COUNT(only_models); ++i)
    if (cli_has(cli, only_models[i]))
      return cli_usage_error(cli,
                             "--%s is for models: an engine does not hold the graph that its outputs would be compared "
                             "with",
                             only_models[i]);
  return CLI_EXIT_OK;
}

int cli_command_verify(cli_tool *cli) {
  static cli_model model;
  int code = cli_open_model(cli, &model);
  if (code == CLI_EXIT_OK) code = check_options(cli, &model);
  if (code == CLI_EXIT_OK) code = verify(cli, &model);
  if (code == CLI_EXIT_OK) cli_next(cli, model.graph ? "hone build %s" : "hone bench %s", cli_text(cli, "model"));
  cli_close_model(cli, &model);
  return code;
}
