/* SPDX-License-Identifier: Apache-2.0 */
/* command_profile.c - hone profile: where the time of a run goes, layer by layer. */
#include "trace.h"
#include <stdlib.h>
#include <string.h>

const cli_option cli_profile_options[] = {
    {"runs", CLI_INT, "N", .doc = "minimum number of profiled runs; default 10", .low = 1, .high = 1e7},
    {"duration", CLI_REAL, "S", .doc = "minimum duration of profiling in seconds; default 1", .high = 1e6},
    {"warmUp", CLI_REAL, "MS", .doc = "warm-up time before measuring; default 200", .high = 1e6},
    {"by", CLI_TEXT, "WHAT", .doc = "rows: layer (the default), type, onnx-node or module"},
    {"cold", CLI_FLAG, .doc = "empty the caches before each run, as after a pause; main memory is the roof then"},
    {"warm", CLI_FLAG, .doc = "run after run, the default"},
    {"csv", CLI_FLAG, .doc = "the rows alone, as CSV"},
    {"nsys", CLI_FLAG,
     .doc = "print the command line that records this engine with Nsight Systems, layers by their names"},
    {"ncu", CLI_FLAG,
     .doc = "print the one that has Nsight Compute measure its kernels, the tensor cores' counters among them"},
    {"top", CLI_INT, "K", .doc = "rows of the list of candidates; default 5", .low = 1, .high = 1000},
    {0},
};

/* Runs for at least so many milliseconds and so many times. */
int cli_run_for(cli_tool *cli, hone_session *session, double least_ms, int64_t least_runs, cli_load *load) {
  const double begin_ms = cli_now_ms();
  double now_ms = begin_ms;
  for (int64_t runs = 0; runs < least_runs || now_ms - begin_ms < least_ms; ++runs) {
    const double start_ms = now_ms;
    const hone_status status = hone_session_run(session);
    if (status != HONE_OK) return cli_fail_session(cli, session, status);
    now_ms = cli_now_ms();
    if (load) cli_load_add(load, now_ms - start_ms);
    if (cli_stop_code() != CLI_EXIT_OK) return cli_stopped();
  }
  return CLI_EXIT_OK;
}

/* The slowest layer is the one to ask about; a convert's story is that of the layer that wanted it. */
static void name_next(cli_tool *cli, const cli_model *model, const hone_session *session) {
  char command[512], name[256] = "";
  double most_ns = -1;
  hone_step_profile step = HONE_SIZED(hone_step_profile);
  for (int i = 0; hone_session_step(session, i, &step) == HONE_OK; ++i) {
    if (step.median_ns <= most_ns) continue;
    most_ns = step.median_ns;
    (void)snprintf(name, sizeof name, "%s", step.name);
  }
  if (strstr(name, "/convert_")) *strstr(name, "/convert_") = 0;
  if (model->graph || !*name || strpbrk(name, " '\"$`\\%"))
    cli_next(cli, model->graph ? "hone advise %s" : "hone explain %s", cli_text(cli, "model"));
  else {
    (void)snprintf(command, sizeof command, "hone explain %%s --node %s", name);
    cli_next(cli, command, cli_text(cli, "model"));
  }
}

enum { PLAIN_RUNS = 1024 };

/* What a profile is measured with. */
typedef struct profiler {
  hone_session *session;
  cli_trace trace;
  unsigned char *evicted; /* read and written between runs when they are to be cold; NULL: warm */
  size_t evicted_bytes;
  cli_load load;
  double plain_ms[PLAIN_RUNS];  /* the latest runs without profiling, */
  double device_ns[PLAIN_RUNS]; /* and what a device's queue had of them */
  int64_t plain_count, burst_count;
  bool queued; /* a device has a queue of its own, which is traced where it can be */
} profiler;

/* Twice the last cache; where that is shared by a whole server, as much as one should take. */
static int open_cold(cli_tool *cli, profiler *p) {
  enum { LEAST_MIB = 64, MOST_MIB = 1024 };
  hone_facts facts = HONE_SIZED(hone_facts);
  hone_device_facts(cli->device, &facts);
  size_t bytes = 2 * facts.l3_bytes;
  if (bytes < (size_t)LEAST_MIB << 20) bytes = (size_t)LEAST_MIB << 20;
  if (bytes > (size_t)MOST_MIB << 20) bytes = (size_t)MOST_MIB << 20;
  p->evicted = malloc(bytes);
  p->evicted_bytes = bytes;
  return p->evicted ? CLI_EXIT_OK : cli_fail(cli, HONE_NO_MEMORY);
}

static void evict(const profiler *p) {
  enum { LINE = 64 };
  volatile unsigned char *bytes = p->evicted;
  for (size_t at = 0; bytes && at < p->evicted_bytes; at += LINE) bytes[at] = (unsigned char)(bytes[at] + 1);
}

/* The device's part of a run without profiling: of the last of several that are queued one behind another, so that the
 * queue never waits for the host's launches. */
static int add_bursts(cli_tool *cli, profiler *p) {
  enum { BURSTS = 24, RUNS = 6 };
  for (int b = 0; p->queued && b < BURSTS; ++b) {
    hone_run_part parts[HONE_MOST_PARTS];
    int count = 0;
    hone_status status = HONE_OK;
    for (int run = 0; run < RUNS && status == HONE_OK; ++run) status = hone_session_enqueue(p->session);
    if (status == HONE_OK) status = hone_session_wait(p->session);
    if (status == HONE_OK) status = hone_session_parts(p->session, parts, &count);
    if (status != HONE_OK) return cli_fail_session(cli, p->session, status);
    double device_ns = 0;
    for (int i = 0; i < count; ++i) device_ns += parts[i].end_ns - parts[i].begin_ns;
    p->device_ns[p->burst_count++ % PLAIN_RUNS] = device_ns;
    if (cli_stop_code() != CLI_EXIT_OK) return cli_stopped();
  }
  return CLI_EXIT_OK;
}

/* Runs for at least so long and so many times; profiled: the session records its steps. */
static int run_for(cli_tool *cli, profiler *p, double least_ms, int64_t least_runs, bool profiled) {
  double spent_ms = 0;
  for (int64_t runs = 0; runs < least_runs || spent_ms < least_ms; ++runs) {
    evict(p);
    const double start_ms = cli_now_ms();
    const hone_status status = hone_session_run(p->session);
    if (status != HONE_OK) return cli_fail_session(cli, p->session, status);
    const double run_ms = cli_now_ms() - start_ms;
    spent_ms += run_ms;
    if (profiled == !p->queued) cli_load_add(&p->load, run_ms); /* records of a queue are waited for as they come */
    if (!profiled) p->plain_ms[p->plain_count++ % PLAIN_RUNS] = run_ms;
    if (cli_stop_code() != CLI_EXIT_OK) return cli_stopped();
  }
  return CLI_EXIT_OK;
}

/* Half of the runs without profiling come before the profiled ones and half after, so that a drift of the machine's
 * clock is not taken for the profiler's cost. */
static int measure(cli_tool *cli, profiler *p) {
  const double most_ms = 1e3 * cli_real(cli, "duration", 1);
  const int64_t runs = cli_int(cli, "runs", 10);
  if (p->queued) cli_load_begin(&p->load);
  int code = run_for(cli, p, most_ms / 4, (runs + 1) / 2, false);
  if (code == CLI_EXIT_OK) code = add_bursts(cli, p);
  if (code != CLI_EXIT_OK) return code;
  hone_session_set_profile(p->session, true);
  if (!p->queued) cli_load_begin(&p->load);
  code = run_for(cli, p, most_ms, runs, true);
  if (code != CLI_EXIT_OK) return code;
  hone_session_set_profile(p->session, false);
  code = run_for(cli, p, most_ms / 4, (runs + 1) / 2, false);
  return code == CLI_EXIT_OK ? add_bursts(cli, p) : code;
}

static double median(double *values, int64_t added) {
  const size_t count = (size_t)(added < PLAIN_RUNS ? added : PLAIN_RUNS);
  qsort(values, count, sizeof *values, cli_compare_doubles);
  return count ? values[count / 2] : 0;
}

static int read_by(const cli_tool *cli, hone_profile_by *out) {
  static const char *const names[HONE_BY_COUNT] = {"layer", "type", "onnx-node", "module"};
  const char *given = cli_text(cli, "by");
  *out = HONE_BY_LAYER;
  for (int i = 0; given && i < HONE_BY_COUNT; ++i)
    if (strcmp(given, names[i]) == 0) {
      *out = (hone_profile_by)i;
      return CLI_EXIT_OK;
    }
  return given ? cli_usage_error(cli, "--by is %s; it may be layer, type, onnx-node or module", given) : CLI_EXIT_OK;
}

/* A ledger of another build beside the engine tells nothing of this one: the report is made without it; a page, which
 * is to show it, is not. */
static hone_status report(cli_tool *cli, const cli_model *model, const profiler *p, hone_report_options *options) {
  static char ledger[4608];
  hone_diagnostics *diag = hone_context_diagnostics(cli->context);
  if (!model->graph) options->ledger_path = cli_ledger_of(cli_text(cli, "model"), ledger, sizeof ledger);
  hone_status status = hone_report_profile(p->session, options, cli_write_file, stdout, diag);
  const bool unfit = status == HONE_INVALID || status == HONE_MALFORMED;
  if (!options->ledger_path || !unfit || cli_has(cli, "html")) return status;
  hone_context_clear_messages(cli->context);
  cli_note(cli, "%s is of another build, or damaged: left out", ledger);
  options->ledger_path = NULL;
  return hone_report_profile(p->session, options, cli_write_file, stdout, diag);
}

static int profile(cli_tool *cli, const cli_model *model, profiler *p) {
  hone_report_options options;
  cli_report_options(cli, &options);
  int code = read_by(cli, &options.by);
  if (code != CLI_EXIT_OK) return code;
  code = cli_trace_open(cli, 1, &p->trace);
  if (code != CLI_EXIT_OK) return code;
  hone_status status = cli_open_traced_session(cli, model->engine, cli_trace_group_at(&p->trace, 0), &p->session);
  if (status != HONE_OK) return cli_fail(cli, status);
  hone_facts device = HONE_SIZED(hone_facts);
  hone_device_facts(cli->device, &device);
  p->queued = !device.host_memory;
  code = cli_measure_device(cli); /* the roofs that layers are held against */
  if (code == CLI_EXIT_OK) code = cli_fill_inputs(cli, model, p->session);
  if (code == CLI_EXIT_OK) code = cli_run_for(cli, p->session, cli_real(cli, "warmUp", 200), 1, NULL);
  if (code == CLI_EXIT_OK && cli_has(cli, "cold")) code = open_cold(cli, p);
  if (code == CLI_EXIT_OK) code = measure(cli, p);
  if (code != CLI_EXIT_OK) return code;
  options.top = (int)cli_int(cli, "top", 5);
  options.csv = cli_has(cli, "csv");
  options.cold = cli_has(cli, "cold");
  options.unprofiled_ns = 1e6 * median(p->plain_ms, p->plain_count);
  options.unprofiled_device_ns = median(p->device_ns, p->burst_count);
  status = report(cli, model, p, &options);
  fflush(stdout);
  cli_load_end(cli, &p->load, 0);
  if (status != HONE_OK) return cli_fail(cli, status);
  const cli_html_facts facts = {.ledger_path = options.ledger_path,
                                .graph = model->graph,
                                .cold = options.cold,
                                .unprofiled_ns = options.unprofiled_ns,
                                .unprofiled_device_ns = options.unprofiled_device_ns};
  code = cli_html_write(cli, p->session, cli_trace_group_at(&p->trace, 0), &facts);
  if (code != CLI_EXIT_OK) return code;
  name_next(cli, model, p->session);
  return cli_trace_write(&p->trace);
}

/* The vendor's profilers run the tool themselves. Steps are launched one by one there, each in a range of its name: a
 * replayed graph has none. Nsight Compute leaves clocks alone and measures one run. */
static int print_command(const cli_tool *cli) {
  static const char nsys[] = "nsys profile --trace=cuda,nvtx --cuda-graph-trace=node --force-overwrite=true -o %s.nsys";
  static const char ncu[] =
      "ncu --nvtx --print-nvtx-rename kernel --clock-control none --graph-profiling node --force-overwrite -o %s.ncu"
      " --metrics gpu__time_duration.sum,sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active,"
      "sm__inst_executed_pipe_tensor_op_hmma.sum,sm__inst_executed_pipe_tensor_op_gmma.sum,"
      "sm__inst_executed_pipe_tensor_op_imma.sum,dram__bytes.sum,lts__t_sector_op_read_hit_rate.pct";
  const char *path = cli_text(cli, "model"), *name = strrchr(path, '/');
  const char *device = cli_text(cli, "device");
  char word[4352], base[256], output[1100];
  (void)snprintf(base, sizeof base, "%.200s", name ? name + 1 : path);
  if (strrchr(base, '.') > base) *strrchr(base, '.') = 0;
  cli_quote(base, output, sizeof output);
  cli_quote(path, word, sizeof word);
  printf(cli_has(cli, "nsys") ? nsys : ncu, output);
  printf(" hone %s %s --device %s --no-replay", cli_has(cli, "nsys") ? "profile" : "run", word,
         device ? device : "gpu");
  printf("%s", cli_has(cli, "nsys") ? " --runs 20 --duration 0 --warmUp 50\n" : "\n");
  return CLI_EXIT_OK;
}

int cli_command_profile(cli_tool *cli) {
  static cli_model model;
  static profiler p; /* large for a stack */
  if (cli_has(cli, "cold") && cli_has(cli, "warm")) return cli_usage_error(cli, "--cold and --warm: only one can be");
  if (cli_has(cli, "csv") && cli_has(cli, "json")) return cli_usage_error(cli, "--csv and --json: only one can be");
  if (cli_has(cli, "nsys") && cli_has(cli, "ncu")) return cli_usage_error(cli, "--nsys and --ncu: only one can be");
  if (cli_has(cli, "nsys") || cli_has(cli, "ncu")) {
    if (!cli_text(cli, "model")) return cli_usage_error(cli, "--nsys and --ncu need the model or engine");
    return print_command(cli);
  }
  int code = cli_html_check(cli);
  if (code == CLI_EXIT_OK) code = cli_open_model(cli, &model);
  if (code == CLI_EXIT_OK) code = profile(cli, &model, &p);
  free(p.evicted);
  cli_trace_close(&p.trace);
  hone_session_destroy(p.session);
  cli_close_model(cli, &model);
  return code;
}
