/* SPDX-License-Identifier: Apache-2.0 */
/* command_advise.c - hone advise: what to do about a model's time; with --apply each remedy that the tool can do is
 * built, measured in turns with the best so far, and kept where it is surely faster and within the accuracy budget. */
#include "advise.h"
#include "calib.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const cli_option cli_advise_options[] = {
    {"apply", CLI_FLAG,
     .doc = "build and measure each remedy that hone can do, keep those that help, and show the steps"},
    {"output", CLI_TEXT, "FILE", .doc = "with --apply: the best engine", .writes = CLI_WRITES_FILE},
    {"o", CLI_TEXT, "FILE", .same_as = "output"},
    {"plain-start", CLI_FLAG,
     .doc = "begin without fusions, as a plain runtime would run the model: the staircase shows what they bring"},
    {"throughput", CLI_FLAG,
     .doc = "with --apply: larger batches and requests side by side, too; times are those of an item"},
    {"streams", CLI_INT, "N",
     .doc = "with --throughput: so many requests are under way at a time, each in a thread of its own; default 1",
     .low = 1, .high = ADVISE_MOST_STREAMS},
    {"least-saving", CLI_REAL, "PERCENT",
     .doc = "with --apply: leave out what is predicted to save less of a run, which two builds of the same differ by; "
            "default 2",
     .high = 100},
    {"tries", CLI_INT, "N", .doc = "with --apply: at most so many remedies; default 8", .low = 1, .high = 32},
    {"duration", CLI_REAL, "S", .doc = "seconds of each profile, and of each comparison twice; default 1", .low = 0.01,
     .high = 1e6},
    {"warmUp", CLI_REAL, "MS", .doc = "warm-up time of each engine before measuring; default 200", .high = 1e6},
    {0},
};

static const double default_max_error =
    0.05; /* of the outputs, relative L2: what bf16 costs trained networks at most */

typedef struct climb {
  cli_model model;
  contender first, best;
  tries tried, looked;      /* built; of the next one's rivals, those whose layers were timed */
  hone_advice *advice;      /* of the first engine: the report's */
  hone_device *other;       /* a GPU that the model was not built for; NULL: there is none */
  hone_graph *bytes;        /* the model in 8 bits; NULL: it was not tried, or was given so */
  bool given_bytes;         /* --int8 stood among the options */
  double max_error, change; /* change: of the best, its time over the first's */
} climb;

/* Before all others, where estimates chose the kernels, times: without them nothing says what another remedy does.
 * Then what takes back an option. */
static int rank_of(const hone_advice_info *info) {
  if (strcmp(info->name, "level") == 0) return 2;
  return strncmp(info->flags, advise_without, strlen(advise_without)) == 0;
}

/* The number of the remedy that saves the most and was not tried, among those that come first. What comes before
 * others is looked at however little the profile makes of it. -1: none. */
static int choose(const cli_tool *cli, const climb *c, const hone_advice *advice, hone_advice_info *out) {
  const double least_ns = cli_real(cli, "least-saving", 2) / 100 * c->best.run_ns * (double)c->best.items;
  hone_advice_info info = HONE_SIZED(hone_advice_info);
  int best = -1, index = -1;
  for (int i = 0; i < hone_advice_count(advice); ++i) {
    if (hone_advice_item(advice, i, &info) != HONE_OK || !advise_can_build(cli, &info) ||
        tries_has(&c->tried, info.flags))
      continue;
    const int rank = rank_of(&info);
    const bool open = (rank > 0 || info.unsure) && advise_can_expect(cli, &info) && !tries_has(&c->looked, info.flags);
    if (rank <= best || (!open && info.saving_ns < least_ns)) continue;
    best = rank;
    index = i;
    *out = info;
  }
  return index;
}

/* The next remedy to build, once the layers that it changes were timed: those of the others are when their turn comes.
 */
static int settle(cli_tool *cli, climb *c, hone_advice *advice, hone_advice_info *out, bool *out_any) {
  c->looked.count = 0;
  for (;;) {
    const int index = choose(cli, c, advice, out);
    *out_any = index >= 0;
    if (index < 0 || !advise_can_expect(cli, out) || tries_has(&c->looked, out->flags) ||
        c->looked.count == ADVISE_TRIES)
      return CLI_EXIT_OK;
    (void)tries_add(&c->looked, out->flags);
    const int code = advise_expect(cli, &c->model, &c->best, advice, index, out->flags);
    if (code != CLI_EXIT_OK) return code;
  }
}

static void remember_given(const cli_tool *cli, contender *c) {
  memcpy(c->given, cli->given, sizeof c->given);
  c->given_count = cli->given_count;
}

static int give(cli_tool *cli, climb *c, const char *flags) {
  return advise_give(cli, &c->model, flags, tries_add(&c->tried, flags));
}

/* The graph that the options ask for now: in 8 bits it is made once. */
static int choose_graph(cli_tool *cli, climb *c, cli_model *made) {
  made->final = true;
  if (!cli_has(cli, "int8") || c->given_bytes) return CLI_EXIT_OK;
  if (!c->bytes) {
    const hone_status status = cli_load_graph(cli, cli_text(cli, "model"), &made->graph);
    if (status != HONE_OK) return cli_fail(cli, status);
    made->final = false;
    const int code = cli_quantize_model(cli, made);
    c->bytes = made->graph;
    made->final = true;
    if (code != CLI_EXIT_OK) return code;
  }
  made->graph = c->bytes;
  return CLI_EXIT_OK;
}

/* An engine of the model by the options that are given now, on a device of its own. */
static int build(cli_tool *cli, climb *c, contender *out) {
  static cli_model made; /* large for a stack */
  hone_device *before = cli->device;
  made = c->model;
  cli->device = NULL;
  int code = cli_open_device(cli);
  if (code == CLI_EXIT_OK) code = cli_measure_device(cli);
  made.engine = NULL;
  if (code == CLI_EXIT_OK) code = choose_graph(cli, c, &made);
  if (code == CLI_EXIT_OK) code = cli_build_engine(cli, &made);
  c->model.engine = made.engine;
  *out = (contender){.engine = made.engine, .device = cli->device, .run_ns = 1, .graph = made.graph};
  remember_given(cli, out);
  cli->device = before;
  return code == CLI_EXIT_OK ? contender_open(cli, &c->model, out) : code;
}

static int add_step(cli_tool *cli, const climb *c, const hone_advice_step *step) {
  const hone_status status = hone_advice_add_step(c->advice, step, hone_context_diagnostics(cli->context));
  return status == HONE_OK ? CLI_EXIT_OK : cli_fail(cli, status);
}

/* Measures the next engine beside the best, and takes its place where it is faster. predicted: the share of the best's
 * time that was said before. */
static int judge(cli_tool *cli, climb *c, const hone_advice_info *info, double predicted, contender *next) {
  hone_times_difference d = HONE_SIZED(hone_times_difference);
  hone_engine_summary built = HONE_SIZED(hone_engine_summary);
  const double run_ns = c->best.run_ns * (double)c->best.items; /* that the prediction is about */
  char why[160];
  double error;
  int code = contenders_compare(cli, &c->best, next, &d);
  if (code == CLI_EXIT_OK) code = contenders_error(cli, &c->first, next, &error);
  hone_engine_summarize(next->engine, &built);
  if (code != CLI_EXIT_OK) return code;
  const double change = c->change * d.b_ns / d.a_ns;                /* step by step: a machine's drift is no step's */
  const bool faster = d.high_ns < 0, exact = error <= c->max_error; /* -1: other inputs */
  if (!exact)
    (void)snprintf(why, sizeof why, "the error is over %.0e", c->max_error);
  else
    (void)snprintf(why, sizeof why, "%s", faster ? "faster" : d.low_ns > 0 ? "slower" : "may be chance");
  const hone_advice_step step = {.struct_size = sizeof step,
                                 .name = info->name,
                                 .kind = info->kind,
                                 .flags = info->flags,
                                 .why = why,
                                 .predicted_ns = d.a_ns * predicted, /* beside what it is compared with */
                                 .measured_ns = d.b_ns,
                                 .low_ns = d.low_ns,
                                 .high_ns = d.high_ns,
                                 .change_percent = 100 * (change - 1),
                                 .error = error,
                                 .kept = faster && exact,
                                 .before_ns = d.a_ns,
                                 .predicted_low_ns = d.a_ns * (1 - info->saving_high_ns / run_ns),
                                 .predicted_high_ns = d.a_ns * (1 - info->saving_low_ns / run_ns),
                                 .timed_nodes = built.timed_nodes,
                                 .known_nodes = built.known_nodes,
                                 .timed_share = info->timed_share};
  cli_note(cli, "%s: measured %.4f ms beside %.4f ms: %s", info->name, d.b_ns * 1e-6, d.a_ns * 1e-6,
           step.kept ? "kept" : why);
  code = add_step(cli, c, &step);
  if (code != CLI_EXIT_OK || !step.kept) return code;
  c->change = change;
  if (c->best.engine != c->first.engine) contender_close(&c->best);
  c->best = *next;
  *next = (contender){0};
  return CLI_EXIT_OK;
}

/* A remedy that cannot be built is a step that is not kept: its message was said. */
static int tell_failed(cli_tool *cli, const climb *c, const hone_advice_info *info, double predicted, int code) {
  if (code == CLI_EXIT_INTERRUPTED || code == CLI_EXIT_NO_MEMORY || code == CLI_EXIT_LIMIT || code == CLI_EXIT_IO)
    return code;
  hone_context_clear_messages(cli->context);
  cli_note(cli, "%s: not built, and left out", info->name);
  const hone_advice_step step = {.struct_size = sizeof step,
                                 .name = info->name,
                                 .kind = info->kind,
                                 .flags = info->flags,
                                 .why = "could not be built",
                                 .predicted_ns = c->best.run_ns * predicted,
                                 .change_percent = 100 * (c->change - 1),
                                 .error = -1};
  return add_step(cli, c, &step);
}

/* One remedy; *out_more: there was one. The prediction is said before anything is built. */
static int try_next(cli_tool *cli, climb *c, bool *out_more) {
  const bool first = c->tried.count == 0; /* the report's advice is about this engine */
  hone_advice *advice = first ? c->advice : NULL;
  hone_advice_info info = HONE_SIZED(hone_advice_info);
  contender next = {0};
  *out_more = false;
  int code = first ? CLI_EXIT_OK : contender_advise(cli, &c->model, NULL, c->other, &c->best, &advice);
  if (code == CLI_EXIT_OK) code = settle(cli, c, advice, &info, out_more);
  if (code == CLI_EXIT_OK && *out_more) {
    const double now_ms = c->best.run_ns * 1e-6, items = 1e6 * (double)c->best.items;
    const double predicted_ms = now_ms - info.saving_ns / items;
    cli_note(cli, "%s: %s; predicted %.4f ms (%.4f to %.4f) instead of %.4f ms", info.name, info.flags, predicted_ms,
             now_ms - info.saving_high_ns / items, now_ms - info.saving_low_ns / items, now_ms);
    code = give(cli, c, info.flags);
    if (code == CLI_EXIT_OK) code = build(cli, c, &next);
    code = code == CLI_EXIT_OK ? judge(cli, c, &info, predicted_ms / now_ms, &next)
                               : tell_failed(cli, c, &info, predicted_ms / now_ms, code);
    const int back = advise_give_back(cli, &c->model, &c->best); /* without the flags, unless it is the best now */
    if (code == CLI_EXIT_OK) code = back;
    contender_close(&next);
  }
  if (!first) hone_advice_destroy(advice);
  return code;
}

static int apply(cli_tool *cli, climb *c) {
  const hone_advice_step step = {
      .struct_size = sizeof step, .name = "as given", .measured_ns = c->first.run_ns, .error = -1, .kept = true};
  int code = add_step(cli, c, &step);
  const int64_t most = cli_int(cli, "tries", 8);
  bool more = true;
  while (code == CLI_EXIT_OK && more && c->tried.count < most) code = try_next(cli, c, &more);
  const char *output = cli_text(cli, "output");
  if (code != CLI_EXIT_OK || !output) return code;
  const hone_status status = hone_engine_save(c->best.engine, output, hone_context_diagnostics(cli->context));
  return status == HONE_OK ? CLI_EXIT_OK : cli_fail(cli, status);
}

static void name_next(cli_tool *cli, const climb *c) {
  const char *model = cli_text(cli, "model"), *output = cli_text(cli, "output");
  if (cli_has(cli, "apply"))
    cli_next(cli, output ? "hone bench %s" : "hone advise %s --apply -o best.hone", output ? output : model);
  else
    cli_next(cli, c->model.graph ? "hone advise %s --apply" : "hone explain %s", model);
}

/* A GPU, where there is one and the model was not put anywhere. That there is none is no error. */
static void open_other(cli_tool *cli, climb *c) {
  hone_diagnostics *diag = hone_context_diagnostics(cli->context);
  if (cli_has(cli, "device") || strcmp(hone_device_kind(cli->device), "cpu") != 0) return;
  if (hone_device_open(cli->context, "gpu", 0, NULL, &c->other) == HONE_OK &&
      hone_device_measure(c->other, diag) != HONE_OK) {
    hone_device_close(c->other);
    c->other = NULL;
  }
  hone_context_clear_messages(cli->context);
}

static int advise(cli_tool *cli, climb *c) {
  char ledger[4400];
  hone_report_options options;
  c->first = (contender){.engine = c->model.engine, .device = cli->device};
  remember_given(cli, &c->first);
  open_other(cli, c);
  int code = cli_measure_device(cli);
  cli->device = NULL; /* the contender's, which closes it */
  if (code == CLI_EXIT_OK) code = contender_open(cli, &c->model, &c->first);
  c->best = c->first;
  if (code == CLI_EXIT_OK)
    code = contender_advise(cli, &c->model,
                            c->model.graph ? NULL : cli_ledger_of(cli_text(cli, "model"), ledger, sizeof ledger),
                            c->other, &c->best, &c->advice);
  if (code == CLI_EXIT_OK && c->model.graph && !cli_has(cli, "apply"))
    code = advise_expect_all(cli, &c->model, &c->best, c->advice);
  c->first.run_ns = c->best.run_ns;
  if (code == CLI_EXIT_OK && cli_has(cli, "apply")) code = apply(cli, c);
  if (code != CLI_EXIT_OK) return code;
  cli_report_options(cli, &options);
  const hone_status status =
      hone_report_advice(c->advice, &options, cli_write_file, stdout, hone_context_diagnostics(cli->context));
  name_next(cli, c);
  return status == HONE_OK ? CLI_EXIT_OK : cli_fail(cli, status);
}

static int check_options(cli_tool *cli, const climb *c) {
  if (!cli_has(cli, "apply") && cli_has(cli, "output")) return cli_usage_error(cli, "--output is for --apply");
  if (cli_has(cli, "streams") && !cli_has(cli, "throughput"))
    return cli_usage_error(cli, "--streams is for --throughput");
  if (cli_has(cli, "apply") && !c->model.graph)
    return cli_usage_error(cli, "--apply builds engines: it needs a model, and %s is an engine",
                           cli_text(cli, "model"));
  return CLI_EXIT_OK;
}

/* Times are subtracted from one another here: more samples of each than choosing needs. */
static int ask_for_samples(cli_tool *cli) {
  char *const words[] = {"--timing-runs", "15"};
  return cli_has(cli, "timing-runs") ? CLI_EXIT_OK : cli_parse(cli, 2, words);
}

/* Builds and samples share what they measure: a remedy's build times what is new alone, and says so. */
static char cache_folder[512], cache_path[600];

static int open_cache(cli_tool *cli) {
  const char *folder = getenv("TMPDIR");
  const char *model = cli_text(cli, "model");
  if (!model || cli_file_kind_of(model) == CLI_FILE_ENGINE || cli_has(cli, "timing-cache")) return CLI_EXIT_OK;
  if ((size_t)snprintf(cache_folder, sizeof cache_folder, "%s/hone-advise-XXXXXX", folder ? folder : "/tmp") >=
          sizeof cache_folder ||
      !mkdtemp(cache_folder)) {
    *cache_folder = 0;
    return CLI_EXIT_OK; /* builds measure everything anew */
  }
  (void)snprintf(cache_path, sizeof cache_path, "%s/times", cache_folder);
  char *const words[] = {"--timing-cache", cache_path};
  return cli_parse(cli, 2, words);
}

static void close_cache(void) {
  if (!*cache_folder) return;
  (void)unlink(cache_path);
  (void)rmdir(cache_folder);
  *cache_folder = 0;
}

int cli_command_advise(cli_tool *cli) {
  static climb c; /* large for a stack */
  static const char *const fusions[] = {"fuse_conv", "fuse_linear", "regions",   "group_elementwise",
                                        "gates",     "conv_inputs", "transposes"};
  for (size_t i = 0; cli_has(cli, "plain-start") && i < CLI_COUNT(fusions); ++i) {
    char *const words[] = {"--disable", (char *)fusions[i]};
    const int code = cli_parse(cli, 2, words);
    if (code != CLI_EXIT_OK) return code;
  }
  c.change = 1;
  c.given_bytes = cli_has(cli, "int8");
  c.max_error = cli_real(cli, "max-error", default_max_error);
  int code = open_cache(cli);
  if (code == CLI_EXIT_OK && cli_has(cli, "timing-cache")) code = ask_for_samples(cli);
  if (code == CLI_EXIT_OK) code = cli_open_model(cli, &c.model);
  if (code == CLI_EXIT_OK) code = check_options(cli, &c);
  const bool owned = code == CLI_EXIT_OK;
  if (owned) code = advise(cli, &c);
  hone_advice_destroy(c.advice);
  if (c.best.engine != c.first.engine) contender_close(&c.best);
  contender_close(&c.first);
  hone_device_close(c.other);
  hone_graph_destroy(c.bytes);
  if (owned) c.model.engine = NULL; /* a contender's */
  cli_close_model(cli, &c.model);
  close_cache();
  return code;
}
