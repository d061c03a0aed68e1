/* SPDX-License-Identifier: Apache-2.0 */
/* bench_report.c - the numbers of hone bench: averages, the closing block, exported times and outputs. */
#include "bench.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

int bench_read_percentiles(cli_tool *cli, bench_times *times) {
  const char *text = cli_text(cli, "percentile");
  if (!text) text = "90,95,99";
  for (const char *at = text; *at;) {
    char *end;
    const double value = strtod(at, &end);
    if (end == at || (*end && *end != ',') || !(value >= 0 && value <= 100))
      return cli_usage_error(cli, "--percentile expects numbers from 0 to 100 separated by commas, not \"%s\"", text);
    if (times->percentile_count == BENCH_PERCENTILES)
      return cli_usage_error(cli, "--percentile takes up to %d numbers", BENCH_PERCENTILES);
    times->percentiles[times->percentile_count++] = value;
    at = *end ? end + 1 : end;
  }
  return CLI_EXIT_OK;
}

typedef struct moments {
  double min, max, mean, median, deviation, sum;
  double percentile[BENCH_PERCENTILES];
} moments;

/* A percentile is the largest of that share of the times (trtexec's way: no interpolation). */
static double percentile_of(const double *sorted, int64_t count, double percent) {
  const int64_t at = (int64_t)ceil(percent / 100 * (double)count) - 1;
  return sorted[at < 0 ? 0 : at >= count ? count - 1 : at];
}

typedef double (*part_fn)(const bench_run *run);
static double compute_of(const bench_run *run) { return run->compute_ms; }
static double in_of(const bench_run *run) { return run->in_ms; }
static double out_of(const bench_run *run) { return run->out_ms; }
static double waited_of(const bench_run *run) { return run->waited_ms; }

static bool moments_of(const bench_times *times, const bench_times *percentiles, part_fn part, moments *out) {
  *out = (moments){0};
  const int64_t count = times->count;
  double *sorted = malloc((size_t)count * sizeof *sorted);
  if (!sorted) return false;
  for (int64_t i = 0; i < count; ++i) sorted[i] = part(&times->runs[i]);
  qsort(sorted, (size_t)count, sizeof *sorted, cli_compare_doubles);
  for (int64_t i = 0; i < count; ++i) out->sum += sorted[i];
  out->mean = out->sum / (double)count;
  double squares = 0;
  for (int64_t i = 0; i < count; ++i) squares += (sorted[i] - out->mean) * (sorted[i] - out->mean);
  out->deviation = sqrt(squares / (double)count);
  out->min = sorted[0];
  out->max = sorted[count - 1];
  out->median = count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
  for (int p = 0; p < percentiles->percentile_count; ++p)
    out->percentile[p] = percentile_of(sorted, count, percentiles->percentiles[p]);
  free(sorted);
  return true;
}

void bench_print_averages(cli_tool *cli, const bench_times *times) {
  const int64_t size = cli_int(cli, "avgRuns", 10);
  const int64_t groups = times->count / size;
  printf("=== Trace details ===\nTrace averages of %lld runs:\n", (long long)size);
  for (int64_t g = 0; g < groups; ++g) {
    double sum = 0;
    for (int64_t i = 0; i < size; ++i) sum += bench_latency_ms(&times->runs[g * size + i]);
    printf("Average on %lld runs - Latency: %g ms\n", (long long)size, sum / (double)size);
  }
  printf("\n");
}

static void print_line(const char *name, const bench_times *times, const moments *m) {
  printf("%s: min = %g ms, max = %g ms, mean = %g ms, median = %g ms", name, m->min, m->max, m->mean, m->median);
  for (int p = 0; p < times->percentile_count; ++p)
    printf(", percentile(%g%%) = %g ms", times->percentiles[p], m->percentile[p]);
  printf("\n");
}

static void print_moments_json(const char *name, const bench_times *times, const moments *m) {
  printf(", \"%s\": {\"min_ms\": %.9g, \"max_ms\": %.9g, \"mean_ms\": %.9g, \"median_ms\": %.9g, \"percentiles\": {",
         name, m->min, m->max, m->mean, m->median);
  for (int p = 0; p < times->percentile_count; ++p)
    printf("%s\"%g\": %.9g", p ? ", " : "", times->percentiles[p], m->percentile[p]);
  printf("}}");
}

static double qps_of(const bench_times *times) { return 1e3 * (double)times->count / times->wall_ms; }

/* What the sums hide: a stream that gets less than the others. */
static void print_streams(const bench *b, int threads, const char *cpus, bool json) {
  if (json)
    printf(", \"streams\": %d, \"threads_of_a_stream\": %d, \"cpus\": \"%s\", \"by_stream\": [", b->stream_count,
           threads, cpus);
  for (int i = 0; i < b->stream_count; ++i) {
    const bench_times *times = &b->streams[i].times;
    moments m;
    if (!moments_of(times, &b->all, bench_latency_ms, &m)) break;
    if (json)
      printf("%s{\"runs\": %lld, \"throughput_qps\": %.9g, \"median_ms\": %.9g}", i ? ", " : "",
             (long long)times->count, qps_of(times), m.median);
    else if (b->stream_count > 1)
      printf("Stream %d: %g qps, Latency: min = %g ms, median = %g ms, max = %g ms\n", i, qps_of(times), m.min,
             m.median, m.max);
  }
  if (json) printf("]");
}

/* Of all copies, how much lay beside another request's computing. */
static double hidden_percent(const bench_times *times) {
  double copies_ms = 0, hidden_ms = 0;
  for (int64_t i = 0; i < times->count; ++i) {
    copies_ms += times->runs[i].in_ms + times->runs[i].out_ms;
    hidden_ms += times->runs[i].hidden_ms;
  }
  return copies_ms > 0 ? 100 * hidden_ms / copies_ms : 0;
}

static bool has_copies(const bench *b) { return b->streams[0].host || b->streams[0].queued; }

static void print_transfers(const bench *b) {
  moments m;
  if (!has_copies(b)) {
    printf("Enqueue Time, H2D Latency, D2H Latency: none; every step works in the host's memory\n");
    return;
  }
  if (moments_of(&b->all, &b->all, in_of, &m)) print_line("H2D Latency", &b->all, &m);
  if (moments_of(&b->all, &b->all, out_of, &m)) print_line("D2H Latency", &b->all, &m);
  if (b->streams[0].turns)
    printf("Requests in flight: %d; %.1f %% of the copies' time lies beside another request's computing\n",
           b->streams[0].in_flight, hidden_percent(&b->all));
}

/* What came, what was left, and how long it waited. */
static void print_rate(const bench *b, bool json) {
  moments m;
  const int64_t left = bench_offered(b) - b->all.count;
  if (b->rate <= 0 || !moments_of(&b->all, &b->all, waited_of, &m)) return;
  if (json) {
    printf(", \"offered_qps\": %.9g, \"left\": %lld", b->rate, (long long)left);
    print_moments_json("waiting", &b->all, &m);
    return;
  }
  printf("Offered: %g qps, %lld requests", b->rate, (long long)bench_offered(b));
  printf(left > 0 ? ", %lld of them left unserved: the engine does not keep up\n" : ", all served\n", (long long)left);
  print_line("Waiting", &b->all, &m);
}

static void print_json(const bench *b, int threads, const char *cpus, const moments *latency, const moments *compute) {
  const bench_times *times = &b->all;
  moments m;
  printf(CLI_JSON_BEGIN "\"runs\": %lld, \"throughput_qps\": %.9g, \"coefficient_of_variation_percent\": %.4g",
         (long long)times->count, qps_of(times), 100 * latency->deviation / latency->mean);
  print_moments_json("latency", times, latency);
  print_moments_json("compute", times, compute);
  if (has_copies(b) && moments_of(times, times, in_of, &m)) print_moments_json("h2d", times, &m);
  if (has_copies(b) && moments_of(times, times, out_of, &m)) print_moments_json("d2h", times, &m);
  print_rate(b, true);
  if (b->streams[0].turns)
    printf(", \"in_flight\": %d, \"copies_hidden_percent\": %.4g", b->streams[0].in_flight, hidden_percent(times));
  print_streams(b, threads, cpus, true);
  printf(", \"wall_seconds\": %.9g, \"compute_seconds\": %.9g}\n", times->wall_ms * 1e-3, compute->sum * 1e-3);
}

void bench_print_block(const bench *b, cli_load *load) {
  cli_tool *cli = b->cli;
  const bench_times *times = &b->all;
  moments latency, compute;
  if (!moments_of(times, times, bench_latency_ms, &latency) || !moments_of(times, times, compute_of, &compute)) {
    cli_error("out of memory for the report");
    return;
  }
  hone_facts facts = HONE_SIZED(hone_facts);
  hone_device_facts(cli->device, &facts);
  char cpus[256];
  cli_cpus_text(b->cpus.cpus, b->cpus.count, cpus, sizeof cpus);
  if (cli_has(cli, "json")) {
    print_json(b, facts.threads, cpus, &latency, &compute);
  } else {
    printf("=== Performance summary ===\nThroughput: %g qps\n", qps_of(times));
    print_line("Latency", times, &latency);
    print_rate(b, false);
    print_line(b->streams[0].queued ? "GPU Compute Time" : "Compute Time", times, &compute);
    print_transfers(b);
    print_streams(b, facts.threads, cpus, false);
    printf("Streams: %d, threads of each: %d, %s CPUs %s\n", b->stream_count, facts.threads,
           b->cpus.count ? "pinned to" : "on", cpus);
    printf("Total Host Walltime: %g s\nTotal Compute Time: %g s\n", times->wall_ms * 1e-3, compute.sum * 1e-3);
  }
  const double variation = 100 * latency.deviation / latency.mean;
  fflush(stdout);
  if (variation > 2.5 && b->rate <= 0)
    cli_note(cli, "warning: the time is not stable, coefficient of variation = %.4g %%; run longer (--duration)",
             variation);
  cli_load_end(cli, load, 0);
}

int bench_export_times(cli_tool *cli, const bench_times *times) {
  const char *path = cli_text(cli, "exportTimes");
  if (!path) return CLI_EXIT_OK;
  FILE *file = cli_open_output(path);
  if (!file) return CLI_EXIT_IO;
  fprintf(file, "[");
  for (int64_t i = 0; i < times->count; ++i) {
    const bench_run *run = &times->runs[i];
    const double start = run->start_ms, begin = start + run->in_ms, end = begin + run->compute_ms;
    fprintf(file,
            "%s\n  {\"startInMs\": %.6f, \"endInMs\": %.6f, \"startComputeMs\": %.6f, \"endComputeMs\": %.6f, "
            "\"startOutMs\": %.6f, \"endOutMs\": %.6f, \"inMs\": %.6f, \"computeMs\": %.6f, \"outMs\": %.6f, "
            "\"latencyMs\": %.6f}",
            i ? "," : "", start, begin, begin, end, end, end + run->out_ms, run->in_ms, run->compute_ms, run->out_ms,
            bench_latency_ms(run));
  }
  fprintf(file, "\n]\n");
  return cli_close_output(file, path);
}

static void write_elements(FILE *to, const hone_tensor *tensor, const char *between) {
  const int64_t count = hone_tensor_count(tensor);
  for (int64_t i = 0; i < count; ++i) {
    if (i > 0) fputs(between, to);
    if (tensor->type.dtype == HONE_STRING) {
      cli_json_text(to, ((const hone_string *)tensor->data)[i].data);
      continue;
    }
    const double value = hone_tensor_real(tensor, i);
    if (isfinite(value))
      fprintf(to, "%.9g", value);
    else
      fprintf(to, "\"%s\"", isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
  }
}

int bench_outputs(cli_tool *cli, const cli_model *model, hone_session *session) {
  const char *path = cli_text(cli, "exportOutput");
  const bool dump = cli_has(cli, "dumpOutput");
  if (!dump && !path) return CLI_EXIT_OK;
  FILE *file = path ? cli_open_output(path) : NULL, *dump_to = cli_has(cli, "json") ? stderr : stdout;
  if (path && !file) return CLI_EXIT_IO;
  if (file) fprintf(file, "[");
  for (int i = 0; i < hone_engine_output_count(model->engine); ++i) {
    hone_port_info port = HONE_SIZED(hone_port_info);
    hone_tensor tensor;
    hone_status status = hone_engine_output(model->engine, i, &port);
    if (status == HONE_OK) status = hone_session_tensor(session, port.name, &tensor);
    if (status != HONE_OK) {
      if (file) (void)cli_close_output(file, path);
      return cli_fail_session(cli, session, status);
    }
    if (dump) {
      fprintf(dump_to, "Output Tensors:\n%s: ", port.name);
      cli_print_shape(dump_to, &tensor.type.shape);
      fputc('\n', dump_to);
      write_elements(dump_to, &tensor, " ");
      fputc('\n', dump_to);
    }
    if (file) {
      fprintf(file, "%s\n  {\"name\": ", i ? "," : "");
      cli_json_text(file, port.name);
      fprintf(file, ", \"dtype\": \"%s\", \"dimensions\": ", hone_dtype_name(tensor.type.dtype));
      cli_print_shape(file, &tensor.type.shape);
      fprintf(file, ", \"values\": [");
      write_elements(file, &tensor, ", ");
      fprintf(file, "]}");
    }
  }
  if (!file) return CLI_EXIT_OK;
  fprintf(file, "\n]\n");
  return cli_close_output(file, path);
}
