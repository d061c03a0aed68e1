/* SPDX-License-Identifier: Apache-2.0 */
/* command_build.c - hone build: a model tuned for this machine and written as an engine. */
#include "debug.h"
#include "trace.h"
#include <math.h>
#include <string.h>

const cli_option cli_build_command_options[] = {
    {"output", CLI_TEXT, "FILE", .doc = "the engine; default: the model's name with .hone", .writes = CLI_WRITES_FILE},
    {"o", CLI_TEXT, "FILE", .same_as = "output"},
    {"from", CLI_TEXT, "ENGINE",
     .doc = "in the place of a model: build anew, for this machine, of the model that this engine carries; shapes and "
            "types are the engine's; without --output it is replaced"},
    {"trace", CLI_TEXT, "FILE",
     .doc = "write what the build did when, pass by pass and candidate by candidate, for Perfetto or chrome://tracing",
     .writes = CLI_WRITES_FILE},
    {"markDebug", CLI_LIST, "NAME,NAME",
     .doc = "check that hone run can show these values (--debug-tensor); they need no marks in an engine"},
    {"machine", CLI_TEXT, "amx|avx512|avx2|c",
     .doc = "plan for a described machine from estimates alone: nothing is timed, run or written"},
    {0},
};

static void default_output(const char *model, char *out, size_t room) {
  const char *slash = strrchr(model, '/'), *dot = strrchr(model, '.');
  const size_t length = dot && (!slash || dot > slash) ? (size_t)(dot - model) : strlen(model);
  (void)snprintf(out, room, "%.*s.hone", (int)length, model);
}

static void print_work(const hone_engine_summary *s, uint64_t weights_bytes) {
  printf("%d step%s", s->step_count, s->step_count == 1 ? "" : "s");
  if (s->reference_steps > 0) printf(" (%d on the reference)", s->reference_steps);
  printf(", weights %.1f MB, arena %.2f MB, %.4g GFLOP", (double)weights_bytes * 1e-6, (double)s->arena_bytes * 1e-6,
         s->flops * 1e-9);
  if (s->max_error_rel_l2 >= 0) printf(", largest error of a step %.1e", s->max_error_rel_l2);
  if (s->output_error_rel_l2 >= 0) printf(", of the outputs from f32's %.1e", s->output_error_rel_l2);
}

static void print_schedule(const hone_engine *engine, int schedule) {
  enum { NAMED = 4 }; /* inputs */
  hone_engine_summary s = HONE_SIZED(hone_engine_summary);
  hone_port_info port = HONE_SIZED(hone_port_info);
  if (hone_engine_summarize_schedule(engine, schedule, &s) != HONE_OK) return;
  printf("  schedule %d for", schedule);
  int count = 0;
  for (; hone_engine_schedule_input(engine, schedule, count, &port) == HONE_OK; ++count) {
    if (count >= NAMED) continue;
    printf("%s %s ", count ? "," : "", port.name);
    cli_print_shape(stdout, &port.opt);
  }
  if (count > NAMED) printf(" and %d more", count - NAMED);
  printf(": ");
  print_work(&s, s.schedule_weights_bytes);
  printf("\n");
}

static void print_result(const cli_tool *cli, const cli_model *model, const char *path) {
  hone_engine_summary s = HONE_SIZED(hone_engine_summary);
  hone_engine_summarize(model->engine, &s);
  if (cli->machine) s.max_error_rel_l2 = -1; /* not measured */
  if (cli_has(cli, "json")) {
    printf(cli->machine ? CLI_JSON_BEGIN "\"machine\": " : CLI_JSON_BEGIN "\"file\": ");
    cli_json_text(stdout, path);
    printf(", \"steps\": %d, \"reference_steps\": %d, \"weights_bytes\": %llu, \"arena_bytes\": %llu, "
           "\"scratch_bytes\": %llu, \"gflop\": %.6g, \"max_error_rel_l2\": %.6g, \"output_error_rel_l2\": %.6g, "
           "\"schedules\": %d, \"build_seconds\": %.3f}\n",
           s.step_count, s.reference_steps, (unsigned long long)s.weights_bytes, (unsigned long long)s.arena_bytes,
           (unsigned long long)s.scratch_bytes, s.flops * 1e-9, s.max_error_rel_l2, s.output_error_rel_l2,
           s.schedule_count, model->build_ms * 1e-3);
    return;
  }
  if (s.schedule_count > 1) {
    printf("%s: %d schedules, weights %.1f MB in all; built in %.1f s\n", path, s.schedule_count,
           (double)s.weights_bytes * 1e-6, model->build_ms * 1e-3);
    for (int k = 0; k < s.schedule_count; ++k) print_schedule(model->engine, k);
    return;
  }
  printf("%s: ", path);
  print_work(&s, s.weights_bytes);
  printf("; built in %.1f s\n", model->build_ms * 1e-3);
}

/* A step without a kernel may be as slow as all others together, or a thousand times that. */
static void warn_reference(const cli_tool *cli, const cli_model *model, const char *path) {
  hone_engine_summary s = HONE_SIZED(hone_engine_summary);
  const char *device = cli_text(cli, "device");
  if (cli_has(cli, "reference") || (device && strcmp(device, "cpu") != 0)) return; /* it was asked for */
  hone_engine_summarize(model->engine, &s);
  const double all_ns = s.reference_ns + s.other_ns, fast_ns = s.kernel_ns + s.other_ns;
  if (s.reference_ns < 0.1 * all_ns) return;
  cli_note(cli,
           "warning: %d of %d steps (%.0f %% of the FLOPs) have no fast kernel and run on the reference: about %.0f ms "
           "of the %.0f ms that a run takes, %.0f times as long as with kernels (estimates); hone explain %s says why",
           s.reference_steps, s.step_count, ceil(s.flops > 0 ? 100 * s.reference_flops / s.flops : 0),
           s.reference_ns * 1e-6, all_ns * 1e-6, all_ns / fast_ns, path);
}

static int check_marks(cli_tool *cli, const cli_model *model) {
  static cli_debug debug; /* large for a stack */
  hone_session *session = NULL;
  const int code = cli_debug_open(cli, model, &debug, &session);
  hone_session_destroy(session);
  return code;
}

/* --from: an engine to look at, whose model is read. What the engine is, is not said a second time. */
static hone_status open_carried(cli_tool *cli, const char *path, hone_engine **out_engine, hone_graph **out_graph) {
  const void *bytes;
  size_t count;
  cli->subject = CLI_ENGINE;
  hone_status status = hone_engine_load(cli->context, path, NULL, 0, out_engine);
  if (status == HONE_OK)
    status = hone_engine_model(*out_engine, &bytes, &count, hone_context_diagnostics(cli->context));
  if (status != HONE_OK) return status;
  cli->subject = CLI_MODEL;
  return hone_graph_load_onnx_memory(cli->context, bytes, count, NULL, out_graph);
}

static int check_from(cli_tool *cli) {
  static const char *const kept[] = {"shapes",
                                     "profile",
                                     "minShapes",
                                     "optShapes",
                                     "maxShapes",
                                     "bf16",
                                     "fp16",
                                     "tf32",
                                     "best",
                                     "int8",
                                     "int4",
                                     "layerPrecisions",
                                     "layerOutputTypes",
                                     "reference",
                                     "disable",
                                     "device-io",
                                     "scratch-limit",
                                     "keep-subnormals",
                                     "memPoolSize",
                                     "machine"};
  if (cli_text(cli, "model")) return cli_usage_error(cli, "--from stands in the place of a model; both are named");
  for (size_t i = 0; i < CLI_COUNT(kept); ++i)
    if (cli_has(cli, kept[i]))
      return cli_usage_error(cli, "--from keeps what the engine is, and --%s asks for another", kept[i]);
  return CLI_EXIT_OK;
}

/* Carries the model on: the new engine is no poorer than the one that it was built from. */
static hone_status save(cli_tool *cli, const cli_model *model, const char *output) {
  if (!model->from) return cli_save_engine(cli, model->engine, cli_text(cli, "model"), false, output);
  hone_save_options options = {.struct_size = sizeof options, .strip_weights = cli_has(cli, "stripWeights")};
  hone_diagnostics *diag = hone_context_diagnostics(cli->context);
  const hone_status status = hone_engine_model(model->from, &options.onnx, &options.onnx_bytes, diag);
  return status == HONE_OK ? hone_engine_save_with(model->engine, output, &options, diag) : status;
}

static int build(cli_tool *cli, cli_model *model, hone_engine **from) {
  const char *carrier = cli_text(cli, "from"), *path = carrier ? carrier : cli_text(cli, "model");
  if (!path) return cli_usage_error(cli, "a model must be named");
  cli->machine = cli_text(cli, "machine");
  if (cli->machine && cli_has(cli, "output"))
    return cli_usage_error(cli, "--output: for a machine on paper nothing is written");
  char made[4096];
  const char *output = cli_text(cli, "output");
  if (!output) {
    default_output(path, made, sizeof made);
    output = carrier ? carrier : made;
  }
  int code = cli->machine ? CLI_EXIT_OK : cli_check_output("output", output, CLI_WRITES_FILE);
  if (code == CLI_EXIT_OK && carrier) code = check_from(cli);
  if (code == CLI_EXIT_OK) code = cli_open_device(cli);
  if (code != CLI_EXIT_OK) return code;
  const cli_file_kind kind = cli_file_kind_of(path);
  if (kind == CLI_FILE_UNREADABLE) return CLI_EXIT_IO;
  if (kind == CLI_FILE_ENGINE && !carrier) return cli_usage_error(cli, "%s is already an engine", path);
  if (kind != CLI_FILE_ENGINE && carrier) return cli_usage_error(cli, "--from: %s is not an engine", path);
  int64_t begin_ns = cli_trace_now();
  hone_status status =
      carrier ? open_carried(cli, path, from, &model->graph) : cli_load_graph(cli, path, &model->graph);
  if (status != HONE_OK) return cli_fail(cli, status);
  model->from = *from;
  cli_trace_phase(model->trace, "import", begin_ns);
  hone_port_info ports[CLI_MAX_INPUTS];
  const int count = cli_ports_of_graph(model->graph, ports, CLI_MAX_INPUTS);
  code = cli_read_shapes(cli, "shapes", ports, count, model->shapes, &model->shape_count);
  if (code == CLI_EXIT_OK) code = cli_check_types(cli, model);
  if (code == CLI_EXIT_OK) code = cli_read_inputs(cli, ports, count, model);
  begin_ns = cli_trace_now();
  if (code == CLI_EXIT_OK) code = cli_build_engine(cli, model);
  cli_trace_phase(model->trace, "building", begin_ns);
  if (code == CLI_EXIT_OK && cli_has(cli, "markDebug")) code = check_marks(cli, model);
  if (code != CLI_EXIT_OK) return code;
  if (cli->machine) {
    print_result(cli, model, cli->machine);
    return cli_layer_info(cli, model->engine);
  }
  begin_ns = cli_trace_now();
  status = save(cli, model, output);
  if (status != HONE_OK) return cli_fail(cli, status);
  cli_trace_phase(model->trace, "writing", begin_ns);
  if (!cli_has(cli, "json") || !cli_has(cli, "dumpLayerInfo")) print_result(cli, model, output);
  warn_reference(cli, model, output);
  cli_next(cli, "hone profile %s", output);
  return cli_layer_info(cli, model->engine);
}

int cli_command_build(cli_tool *cli) {
  static cli_model model;
  hone_engine *from = NULL; /* outlives the graph of the model that it carries */
  cli_trace trace;
  const int64_t begin_ns = cli_trace_now();
  int code = cli_trace_open(cli, 1, &trace);
  model.trace = cli_trace_group_at(&trace, 0);
  if (code == CLI_EXIT_OK) code = build(cli, &model, &from);
  cli_trace_phase(model.trace, "hone build", begin_ns);
  if (code == CLI_EXIT_OK) code = cli_trace_write(&trace);
  cli_trace_close(&trace);
  cli_close_model(cli, &model);
  hone_engine_release(from);
  return code;
}
