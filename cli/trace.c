/* SPDX-License-Identifier: Apache-2.0 */
/* trace.c - spans kept for --trace: of each session those of its latest runs, of a build all. */
#include "trace.h"
#include "trace_file.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DEFAULT_RUNS = 10, SHARES = 1 << 14 };

const cli_option cli_trace_options[] = {
    {"trace", CLI_TEXT, "FILE", .doc = "write what ran when, steps and threads, for Perfetto or chrome://tracing",
     .writes = CLI_WRITES_FILE},
    {"trace-runs", CLI_INT, "N", .doc = "so many of the latest runs are in the trace; default 10", .low = 1,
     .high = 10000},
    {0},
};

int64_t cli_trace_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int out_of_memory(void) {
  cli_error("out of memory for the trace");
  return CLI_EXIT_NO_MEMORY;
}

int cli_trace_open(cli_tool *cli, int groups, cli_trace *trace) {
  *trace = (cli_trace){.cli = cli};
  const bool for_html = cli_takes(cli->command, "html") && cli_has(cli, "html");
  if (!cli_has(cli, "trace") && !for_html) return CLI_EXIT_OK;
  trace->groups = calloc((size_t)groups, sizeof *trace->groups);
  if (!trace->groups) return out_of_memory();
  trace->count = groups;
  const bool builds = !cli_takes(cli->command, "trace-runs");
  for (int i = 0; i < groups; ++i) {
    cli_trace_group *group = &trace->groups[i];
    group->room = builds ? 1 : (int)cli_int(cli, "trace-runs", DEFAULT_RUNS);
    group->builds = builds;
    group->on = true;
    group->runs = calloc((size_t)group->room, sizeof *group->runs);
    if (!group->runs) return out_of_memory();
  }
  return CLI_EXIT_OK;
}

cli_trace_group *cli_trace_group_at(const cli_trace *trace, int number) {
  return number < trace->count ? &trace->groups[number] : NULL;
}

void cli_trace_close(cli_trace *trace) {
  for (int g = 0; g < trace->count; ++g) {
    cli_trace_group *group = &trace->groups[g];
    for (int r = 0; group->runs && r < group->room; ++r) {
      cli_trace_run *run = &group->runs[r];
      for (int64_t i = 0; group->builds && i < run->count; ++i) free((char *)(uintptr_t)run->spans[i].name);
      free(run->spans);
    }
    free(group->runs);
  }
  free(trace->groups);
  *trace = (cli_trace){0};
}

static bool grow(cli_trace_run *run) {
  if (run->count < run->capacity) return true;
  const int64_t capacity = run->capacity ? 2 * run->capacity : 256;
  hone_span *spans = realloc(run->spans, (size_t)capacity * sizeof *spans);
  if (!spans) return false;
  run->spans = spans;
  run->capacity = capacity;
  return true;
}

void cli_trace_span(void *user, const hone_span *span) {
  cli_trace_group *group = user;
  if (!group->on || group->failed) return;
  if (span->kind == HONE_SPAN_RUN) group->runs[group->seen++ % group->room].count = 0;
  cli_trace_run *run = &group->runs[group->builds ? 0 : (group->seen - 1) % group->room];
  if (!grow(run)) {
    group->failed = true;
    return;
  }
  run->spans[run->count] = *span;
  if (group->builds && !(run->spans[run->count].name = strdup(span->name))) {
    group->failed = true;
    return;
  }
  ++run->count;
}

void cli_trace_phase(cli_trace_group *group, const char *name, int64_t begin_ns) {
  if (!group) return;
  const hone_span span = {.kind = HONE_SPAN_PHASE,
                          .name = name,
                          .begin_ns = begin_ns,
                          .end_ns = cli_trace_now(),
                          .schedule = -1,
                          .step = -1,
                          .device = -1};
  cli_trace_span(group, &span);
}

hone_status cli_open_traced_session(cli_tool *cli, hone_engine *engine, cli_trace_group *group, hone_session **out) {
  hone_session_options options;
  hone_facts facts = HONE_SIZED(hone_facts);
  cli_session_options_read(cli, &options);
  hone_device_facts(cli->device, &facts);
  options.parts = !facts.host_memory && cli_takes(cli->command, "warmUp");
  /* Of several sessions only one could be traced. */
  options.marks_only =
      strcmp(cli->command->name, "diff") == 0 || (cli_takes(cli->command, "streams") && cli_int(cli, "streams", 1) > 1);
  if (group) {
    options.on_span = cli_trace_span;
    options.on_span_user = group;
    options.trace_shares = SHARES;
  }
  const hone_status status = hone_session_create(engine, &options, out, hone_context_diagnostics(cli->context));
  if (group && status == HONE_OK) group->session = *out;
  return status;
}

void cli_trace_turn(cli_trace_group *group, bool on) {
  if (group) group->on = on;
}

int cli_trace_runs(cli_tool *cli, cli_trace_group *group) {
  if (!group) return CLI_EXIT_OK;
  int code = CLI_EXIT_OK;
  group->on = true;
  hone_session_set_profile(group->session, true);
  for (int i = 0; i < group->room && code == CLI_EXIT_OK; ++i) {
    const hone_status status = hone_session_run(group->session);
    if (status != HONE_OK) code = cli_fail_session(cli, group->session, status);
    if (code == CLI_EXIT_OK && cli_stop_code() != CLI_EXIT_OK) code = cli_stopped();
  }
  hone_session_set_profile(group->session, false);
  group->on = false;
  return code;
}

int cli_trace_write(const cli_trace *trace) {
  int64_t dropped = 0;
  if (trace->count == 0 || !cli_has(trace->cli, "trace")) return CLI_EXIT_OK;
  for (int g = 0; g < trace->count; ++g) {
    const cli_trace_group *group = &trace->groups[g];
    if (group->failed) return out_of_memory();
    for (int r = 0; r < group->room; ++r)
      for (int64_t i = 0; i < group->runs[r].count; ++i) dropped += group->runs[r].spans[i].dropped;
  }
  if (dropped > 0)
    cli_note(trace->cli, "the trace lacks %lld shares of loops: a thread's list holds %d in a run", (long long)dropped,
             SHARES);
  return cli_trace_write_file(trace, cli_text(trace->cli, "trace"));
}
