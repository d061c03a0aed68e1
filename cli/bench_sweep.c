/* SPDX-License-Identifier: Apache-2.0 */
/* bench_sweep.c - hone bench --sweep: each batch size with each number of streams, measured by a `hone bench` of its
 * own, so that neither memory nor threads of one point are left for the next. A model is tuned anew for each point, for
 * its batch and its threads; they share a timing cache. */
#include "child.h"
#include "sweep.h"
#include <stdlib.h>
#include <string.h>

const cli_option cli_sweep_options[] = {
    {"sweep", CLI_FLAG,
     .doc = "throughput against latency: each of --batches with each of --stream-counts; of a model, each is tuned"},
    {"batches", CLI_TEXT, "1,2,4", .doc = "default: powers of two, to 16 or what the engine takes"},
    {"stream-counts", CLI_TEXT, "1,2", .doc = "default: powers of two up to the cores, which are divided among them"},
    {"max-latency", CLI_REAL, "MS",
     .doc = "the best point is that of most throughput within it (the first of --percentile, default 99)", .low = 1e-6,
     .high = 1e9},
    {"csv", CLI_FLAG, .doc = "the points as comma-separated values"},
    {"svg", CLI_TEXT, "FILE", .doc = "also draw them", .writes = CLI_WRITES_IN_PLACE},
    {0},
};

enum { MOST_NUMBERS = 16, DEFAULT_MOST_BATCH = 16 };

/* What is swept over, and how a point's inputs are named. */
typedef struct plan {
  hone_graph *graph; /* of a model; else */
  hone_engine *engine;
  hone_port_info ports[CLI_MAX_INPUTS];
  int port_count;
  cli_shape given[CLI_MAX_SHAPES]; /* by --shapes */
  int given_count;
  int64_t batches[MOST_NUMBERS], streams[MOST_NUMBERS];
  int batch_count, stream_count;
  char folder[3072], log[3584], cache[3584];
} plan;

static int read_numbers(cli_tool *cli, const char *option, int64_t most, int64_t *out, int *out_count) {
  const char *text = cli_text(cli, option);
  *out_count = 0;
  for (const char *at = text; at && *at;) {
    char *end;
    const long long value = strtoll(at, &end, 10);
    if (end == at || (*end && *end != ',') || value < 1 || value > most || *out_count == MOST_NUMBERS)
      return cli_usage_error(cli, "--%s expects up to %d numbers from 1 to %lld separated by commas, not \"%s\"",
                             option, MOST_NUMBERS, (long long)most, text);
    out[(*out_count)++] = value;
    at = *end ? end + 1 : end;
  }
  return text && *out_count == 0 ? cli_usage_error(cli, "--%s names no number", option) : CLI_EXIT_OK;
}

static void add_powers(int64_t low, int64_t high, int64_t *out, int *count) {
  for (int64_t value = 1; value <= high && *count < MOST_NUMBERS; value *= 2)
    if (value >= low) out[(*count)++] = value;
}

/* ---- inputs ---- */

static bool is_swept(const hone_port_info *port) { return port->type.shape.rank > 0 && port->type.shape.dim[0] < 0; }

static const hone_shape *given_shape(const plan *p, const char *input) {
  for (int i = 0; i < p->given_count; ++i)
    if (strcmp(p->given[i].input, input) == 0) return &p->given[i].shape;
  return NULL;
}

/* The batch that all inputs have when none is free; of the first input with an axis. */
static int64_t fixed_batch(const plan *p) {
  for (int i = 0; i < p->port_count; ++i)
    if (p->ports[i].type.shape.rank > 0) return p->ports[i].type.shape.dim[0];
  return 1;
}

/* "x:8x3x224x224" of each input with free dims. An axis that nobody gave is the engine's tuned one, and 1 of a model.
 */
static void put_shapes(const plan *p, int64_t batch, cli_arguments *a) {
  for (int i = 0; i < p->port_count; ++i) {
    const hone_port_info *port = &p->ports[i];
    const hone_shape *given = given_shape(p, port->name), *opt = p->engine ? &port->opt : &port->type.shape;
    char text[1024];
    bool free_dims = false;
    size_t used = (size_t)snprintf(text, sizeof text, "%s:", port->name);
    for (int d = 0; d < port->type.shape.rank && used < sizeof text; ++d) {
      int64_t dim = given ? given->dim[d] : opt->dim[d] > 0 ? opt->dim[d] : 1;
      if (d == 0 && is_swept(port)) dim = batch;
      free_dims = free_dims || port->type.shape.dim[d] < 0;
      used += (size_t)snprintf(text + used, sizeof text - used, "%s%lld", d ? "x" : "", (long long)dim);
    }
    if (free_dims) cli_arguments_pair(a, "--", "shapes", text);
  }
}

static int read_ports(cli_tool *cli, const char *path, plan *p) {
  const cli_file_kind kind = cli_file_kind_of(path);
  hone_status status;
  if (kind == CLI_FILE_UNREADABLE) return CLI_EXIT_IO;
  if (kind == CLI_FILE_ENGINE) {
    cli->subject = CLI_ENGINE;
    status = hone_engine_load(cli->context, path, NULL, 0, &p->engine);
    for (int i = 0; status == HONE_OK && i < hone_engine_input_count(p->engine) && i < CLI_MAX_INPUTS; ++i) {
      p->ports[i] = HONE_SIZED(hone_port_info);
      status = cli_engine_input(cli, p->engine, i, &p->ports[i]);
      p->port_count = i + 1;
    }
  } else {
    status = cli_load_graph(cli, path, &p->graph);
    if (status == HONE_OK) p->port_count = cli_ports_of_graph(p->graph, p->ports, CLI_MAX_INPUTS);
  }
  if (status != HONE_OK) return cli_fail(cli, status);
  return cli_read_shapes(cli, "shapes", p->ports, p->port_count, p->given, &p->given_count);
}

static int choose_batches(cli_tool *cli, plan *p) {
  int64_t low = 1, high = p->engine ? INT64_MAX : DEFAULT_MOST_BATCH;
  bool any = false;
  const int code = read_numbers(cli, "batches", INT32_MAX, p->batches, &p->batch_count);
  if (code != CLI_EXIT_OK) return code;
  for (int i = 0; i < p->port_count; ++i) {
    if (!is_swept(&p->ports[i])) continue;
    any = true;
    if (!p->engine) continue;
    if (p->ports[i].min.dim[0] > low) low = p->ports[i].min.dim[0];
    if (p->ports[i].max.dim[0] < high) high = p->ports[i].max.dim[0];
  }
  if (!any) {
    const int64_t fixed = fixed_batch(p);
    if (p->batch_count > 1 || (p->batch_count == 1 && p->batches[0] != fixed))
      return cli_usage_error(cli, "--batches: the inputs' first dims are fixed: %lld", (long long)fixed);
    p->batches[0] = fixed;
    p->batch_count = 1;
    return CLI_EXIT_OK;
  }
  for (int i = 0; i < p->batch_count; ++i)
    if (p->engine && (p->batches[i] < low || p->batches[i] > high))
      return cli_usage_error(cli, "--batches: the engine takes batches of %lld to %lld, not %lld", (long long)low,
                             (long long)high, (long long)p->batches[i]);
  if (p->batch_count == 0) add_powers(low, high, p->batches, &p->batch_count);
  if (p->batch_count == 0) p->batches[p->batch_count++] = low;
  return CLI_EXIT_OK;
}

/* ---- one point ---- */

/* What was given on the command line goes on to the measurements, but for what the sweep decides. */
static void put_given(const cli_tool *cli, cli_arguments *a) {
  static const char *const own[] = {"sweep", "batches", "stream-counts", "max-latency", "csv",   "svg",
                                    "json",  "shapes",  "percentile",    "output",      "quiet", "verbose"};
  for (int i = 0; i < cli->given_count; ++i) {
    const cli_given *given = &cli->given[i];
    bool skip = false;
    for (size_t k = 0; k < CLI_COUNT(own); ++k) skip = skip || strcmp(given->option->name, own[k]) == 0;
    if (skip) continue;
    if (given->text)
      cli_arguments_pair(a, "--", given->option->name, given->text);
    else
      cli_arguments_flag(a, given->option->name);
  }
}

/* The number behind a key, in the JSON that this tool wrote; where it ends, NULL: the key is not there. */
static const char *find_number(const char *json, const char *key, double *out) {
  const char *at = json ? strstr(json, key) : NULL;
  char *end;
  if (!at) return NULL;
  *out = strtod(at + strlen(key), &end);
  return end;
}

/* {..., "throughput_qps": N, ..., "latency": {..., "median_ms": N, "percentiles": {"99": N}}, ...} */
static bool read_result(const char *path, sweep_point *point) {
  static char text[65536];
  const char *why;
  double qps;
  FILE *file = cli_open_input(path, &why);
  if (!file) return false;
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  fclose(file);
  const char *latency = strstr(text, "\"latency\": ");
  const char *percentile = latency ? strstr(latency, "\"percentiles\": {\"") : NULL;
  if (percentile) percentile += strlen("\"percentiles\": {\"");
  if (!find_number(text, "\"throughput_qps\": ", &qps) || !find_number(latency, "\"median_ms\": ", &point->median_ms) ||
      !find_number(percentile, "\": ", &point->latency_ms))
    return false;
  point->samples = qps * (double)point->batch;
  return true;
}

/* The last line that a measurement said: why it failed. */
static void tell_failure(const cli_tool *cli, const plan *p, const sweep_point *point) {
  char line[1024], last[1024] = "";
  const char *why;
  FILE *file = cli_open_input(p->log, &why);
  while (file && fgets(line, sizeof line, file))
    if (strspn(line, " \n") < strlen(line)) memcpy(last, line, sizeof last);
  if (file) fclose(file);
  last[strcspn(last, "\n")] = 0;
  cli_note(cli, "batch %lld, %d streams: exit %d: %s", (long long)point->batch, point->streams, point->code, last);
}

static int measure(sweep *s, const plan *p, sweep_point *point) {
  static cli_arguments a; /* large for a stack */
  char own[4096], number[32], percentile[32];
  cli_arguments_add(&a, cli_own_path(own, sizeof own));
  cli_arguments_add(&a, "bench");
  put_given(s->cli, &a);
  put_shapes(p, point->batch, &a);
  (void)snprintf(number, sizeof number, "%d", point->streams);
  cli_arguments_pair(&a, "--", "streams", number);
  (void)snprintf(percentile, sizeof percentile, "%g", s->percentile);
  cli_arguments_pair(&a, "--", "percentile", percentile);
  if (!cli_has(s->cli, "duration")) cli_arguments_add(&a, "--duration=1");
  if (p->graph && !cli_has(s->cli, "timing-cache")) cli_arguments_pair(&a, "--", "timing-cache", p->cache);
  cli_arguments_add(&a, "--json");
  cli_arguments_add(&a, "--quiet");
  a.items[a.count] = NULL;
  const int code = cli_child_run(a.items, p->log, 0, &point->code);
  cli_arguments_drop(&a);
  if (code != CLI_EXIT_OK) return code;
  if (cli_stop_code() != CLI_EXIT_OK) return cli_stopped();
  if (point->code == CLI_EXIT_OK && !read_result(p->log, point)) point->code = CLI_EXIT_INTERNAL;
  if (point->code != CLI_EXIT_OK) tell_failure(s->cli, p, point);
  return CLI_EXIT_OK;
}

/* ---- all of them ---- */

static int measure_all(sweep *s, const plan *p) {
  const int total = p->batch_count * p->stream_count;
  for (int b = 0; b < p->batch_count; ++b)
    for (int k = 0; k < p->stream_count; ++k) {
      sweep_point *point = &s->points[s->count];
      char what[64];
      *point = (sweep_point){.batch = p->batches[b], .streams = (int)p->streams[k]};
      (void)snprintf(what, sizeof what, "batch %lld, %d streams", (long long)point->batch, point->streams);
      cli_progress_samples(s->cli, what, s->count, total);
      const int code = measure(s, p, point);
      if (code != CLI_EXIT_OK) return code;
      ++s->count;
    }
  cli_progress_end(s->cli);
  return CLI_EXIT_OK;
}

static int read_options(sweep *s, plan *p) {
  cli_tool *cli = s->cli;
  static const char *const others[] = {"rate", "hint", "threads", "streams", "output", "skipInference"};
  for (size_t i = 0; i < CLI_COUNT(others); ++i)
    if (cli_has(cli, others[i])) return cli_usage_error(cli, "--sweep and --%s exclude each other", others[i]);
  const char *percentile = cli_text(cli, "percentile");
  s->percentile = percentile ? strtod(percentile, NULL) : 99;
  s->max_latency_ms = cli_real(cli, "max-latency", 0);
  int code = read_ports(cli, s->model, p);
  if (code == CLI_EXIT_OK) code = choose_batches(cli, p);
  if (code == CLI_EXIT_OK) code = read_numbers(cli, "stream-counts", 256, p->streams, &p->stream_count);
  cli_cpus cpus;
  if (code == CLI_EXIT_OK) code = cli_read_cpus(cli, &cpus);
  if (code == CLI_EXIT_OK && p->stream_count == 0)
    add_powers(1, cpus.count ? cpus.count : cli_usable_cpus(), p->streams, &p->stream_count);
  if (code == CLI_EXIT_OK) code = cli_temporary_make(p->folder, sizeof p->folder);
  (void)snprintf(p->log, sizeof p->log, "%s/log", p->folder);
  (void)snprintf(p->cache, sizeof p->cache, "%s/times", p->folder);
  return code;
}

static int report(sweep *s) {
  int worst = CLI_EXIT_OK;
  bool any = false;
  for (int i = 0; i < s->count; ++i) {
    any = any || s->points[i].code == CLI_EXIT_OK;
    if (s->points[i].code != CLI_EXIT_OK) worst = s->points[i].code;
  }
  if (!any) {
    cli_error("no point could be measured");
    return worst;
  }
  sweep_judge(s);
  sweep_print(s);
  const char *svg = cli_text(s->cli, "svg");
  FILE *file = svg ? cli_open_output(svg) : NULL;
  if (svg && !file) return CLI_EXIT_IO;
  if (file) {
    sweep_draw(s, file);
    const int code = cli_close_output(file, svg);
    if (code != CLI_EXIT_OK) return code;
  }
  if (s->best >= 0) return CLI_EXIT_OK;
  cli_error("no point has a latency within %g ms (p%g)", s->max_latency_ms, s->percentile);
  return CLI_EXIT_CHECK_FAILED;
}

int bench_sweep(cli_tool *cli) {
  static sweep s; /* large for a stack, as the next */
  static plan p;
  s = (sweep){.cli = cli, .model = cli_text(cli, "model")};
  if (!s.model) return cli_usage_error(cli, "a model or an engine must be named");
  int code = read_options(&s, &p);
  if (code == CLI_EXIT_OK) code = measure_all(&s, &p);
  cli_temporary_drop(p.folder);
  hone_engine_release(p.engine);
  hone_graph_destroy(p.graph);
  return code == CLI_EXIT_OK ? report(&s) : code;
}
