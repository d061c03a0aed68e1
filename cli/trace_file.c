/* SPDX-License-Identifier: Apache-2.0 */
/* trace_file.c - the Trace Event Format (Google's document of that name): a process for each session or build, a track
 * for its runs with their steps, one for each queue of a device, one for each thread of the pool. Times are written in
 * microseconds with three digits, which keeps every nanosecond: what nests stays nested. */
#include "trace_file.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Tracks of a process, in the order in which they are shown. */
enum { TRACK_RUN = 1, TRACK_QUEUES = 2, TRACK_THREADS = 100, TRACKS = TRACK_THREADS + HONE_MAX_THREADS };

typedef struct writer {
  FILE *file;
  const cli_trace *trace;
  int64_t origin_ns; /* the first span of all */
  bool comma;
} writer;

static const char *kind_name(hone_span_kind kind) {
  static const char *const names[HONE_SPAN_KIND_COUNT] = {"run",  "step", "share",     "phase",
                                                          "pass", "node", "candidate", "sample"};
  return names[kind];
}

static int track_of(const hone_span *span) {
  if (span->kind == HONE_SPAN_SHARE) return TRACK_THREADS + span->thread;
  return span->queued ? TRACK_QUEUES + span->device : TRACK_RUN;
}

static void begin_event(writer *w) {
  fputs(w->comma ? ",\n" : "\n", w->file);
  w->comma = true;
}

static void put_name(writer *w, int process, int track, const char *what, const char *name) {
  begin_event(w);
  fprintf(w->file, "{\"ph\": \"M\", \"pid\": %d, \"tid\": %d, \"name\": \"%s\", \"args\": {\"name\": ", process, track,
          what);
  cli_json_text(w->file, name);
  fputs("}}", w->file);
}

static void put_track(writer *w, int process, int track, const char *name) {
  put_name(w, process, track, "thread_name", name);
  begin_event(w);
  fprintf(w->file,
          "{\"ph\": \"M\", \"pid\": %d, \"tid\": %d, \"name\": \"thread_sort_index\", \"args\": {\"sort_index\": %d}}",
          process, track, track);
}

/* "1x3x224x224 f32 nchw16c" of each port. */
static void put_ports(writer *w, const hone_session *session, int step, int first, int count) {
  fputc('[', w->file);
  for (int i = 0; i < count; ++i) {
    hone_type type;
    if (hone_session_step_type(session, step, first + i, &type) != HONE_OK) break;
    fputs(i ? ", \"" : "\"", w->file);
    if (type.kind == HONE_TENSOR) {
      cli_print_shape(w->file, &type.shape);
      fprintf(w->file, " %s %s", hone_dtype_name(type.dtype), hone_format_name(type.format));
    }
    fputc('"', w->file);
  }
  fputc(']', w->file);
}

static void put_text(writer *w, const char *key, const char *text) {
  if (!text) return;
  fprintf(w->file, ", \"%s\": ", key);
  cli_json_text(w->file, text);
}

static void put_step_args(writer *w, const hone_session *session, const hone_span *span) {
  hone_step_profile step = HONE_SIZED(hone_step_profile);
  if (!session || hone_session_step(session, span->step, &step) != HONE_OK) return;
  put_text(w, "op", step.op);
  put_text(w, "provider", step.provider);
  put_text(w, "tactic", step.tactic);
  fprintf(w->file, ", \"flops\": %.17g, \"bytes_read\": %.17g, \"bytes_written\": %.17g, \"in\": ", step.cost.flops,
          step.cost.bytes_read, step.cost.bytes_written);
  put_ports(w, session, span->step, 0, step.in_count);
  fputs(", \"out\": ", w->file);
  put_ports(w, session, span->step, step.in_count, step.out_count);
  fputs(", \"origins\": [", w->file);
  for (int i = 0; i < step.origin_count; ++i) {
    if (i) fputs(", ", w->file);
    cli_json_text(w->file, step.origins[i]);
  }
  fputc(']', w->file);
}

static void put_span(writer *w, int process, const cli_trace_group *group, const hone_span *span) {
  const int64_t begin_ns = span->begin_ns - w->origin_ns, dur_ns = span->end_ns - span->begin_ns;
  begin_event(w);
  fprintf(w->file,
          "{\"ph\": \"X\", \"pid\": %d, \"tid\": %d, \"ts\": %" PRId64 ".%03d, \"dur\": %" PRId64
          ".%03d, \"cat\": \"%s\", \"name\": ",
          process, track_of(span), begin_ns / 1000, (int)(begin_ns % 1000), dur_ns / 1000, (int)(dur_ns % 1000),
          kind_name(span->kind));
  cli_json_text(w->file, span->name ? span->name : "");
  fprintf(w->file, ", \"args\": {\"schedule\": %d", span->schedule);
  if (span->run > 0) fprintf(w->file, ", \"run\": %" PRId64, span->run);
  if (span->step >= 0) fprintf(w->file, ", \"step\": %d", span->step);
  if (span->kind == HONE_SPAN_RUN) fprintf(w->file, ", \"dropped_shares\": %" PRId64, span->dropped);
  if (span->kind == HONE_SPAN_SHARE) fprintf(w->file, ", \"parts\": %" PRId64, span->parts);
  if (span->kind == HONE_SPAN_SAMPLE) fprintf(w->file, ", \"launches\": %" PRId64, span->parts);
  if (span->kind == HONE_SPAN_PASS) fprintf(w->file, ", \"changes\": %" PRId64, span->parts);
  if (span->kind == HONE_SPAN_STEP) put_step_args(w, group->session, span);
  fputs("}}", w->file);
}

/* Tracks apart, then by begin, the longer first: what holds others comes before them. */
static int compare_spans(const void *a, const void *b) {
  const hone_span *x = a, *y = b;
  if (track_of(x) != track_of(y)) return track_of(x) - track_of(y);
  if (x->begin_ns != y->begin_ns) return x->begin_ns < y->begin_ns ? -1 : 1;
  if (x->end_ns != y->end_ns) return x->end_ns > y->end_ns ? -1 : 1;
  return (x->kind > y->kind) - (x->kind < y->kind);
}

static void put_tracks(writer *w, int process, const cli_trace_group *group) {
  bool used[TRACKS] = {false};
  for (int r = 0; r < group->room; ++r)
    for (int64_t i = 0; i < group->runs[r].count; ++i) used[track_of(&group->runs[r].spans[i])] = true;
  for (int t = 0; t < TRACKS; ++t) {
    char name[64];
    if (!used[t]) continue;
    if (t == TRACK_RUN)
      (void)snprintf(name, sizeof name, group->builds ? "build" : "runs and steps");
    else if (t < TRACK_THREADS)
      (void)snprintf(name, sizeof name, "queue of device %d", t - TRACK_QUEUES);
    else
      (void)snprintf(name, sizeof name, "thread %d", t - TRACK_THREADS);
    put_track(w, process, t, name);
  }
}

static void put_group(writer *w, int number) {
  const cli_trace_group *group = &w->trace->groups[number];
  const cli_tool *cli = w->trace->cli;
  char name[4608];
  if (w->trace->count > 1)
    (void)snprintf(name, sizeof name, "hone %s %s, stream %d", cli->command->name, cli_text(cli, "model"), number);
  else
    (void)snprintf(name, sizeof name, "hone %s %s", cli->command->name, cli_text(cli, "model"));
  put_name(w, number + 1, 0, "process_name", name);
  put_tracks(w, number + 1, group);
  const int64_t oldest = group->builds || group->seen <= group->room ? 0 : group->seen % group->room;
  for (int r = 0; r < group->room; ++r) {
    cli_trace_run *run = &group->runs[(oldest + r) % group->room];
    if (run->count > 0) qsort(run->spans, (size_t)run->count, sizeof *run->spans, compare_spans);
    for (int64_t i = 0; i < run->count; ++i) put_span(w, number + 1, group, &run->spans[i]);
  }
}

static int64_t first_ns(const cli_trace *trace) {
  int64_t first = INT64_MAX;
  for (int g = 0; g < trace->count; ++g)
    for (int r = 0; r < trace->groups[g].room; ++r)
      for (int64_t i = 0; i < trace->groups[g].runs[r].count; ++i)
        if (trace->groups[g].runs[r].spans[i].begin_ns < first) first = trace->groups[g].runs[r].spans[i].begin_ns;
  return first == INT64_MAX ? 0 : first;
}

int cli_trace_write_file(const cli_trace *trace, const char *path) {
  char temporary[4608];
  (void)snprintf(temporary, sizeof temporary, "%s.%ld.tmp", path, (long)getpid());
  FILE *file = fopen(temporary, "wx");
  if (!file) {
    cli_error("%s: %s", temporary, strerror(errno));
    return CLI_EXIT_IO;
  }
  writer w = {.file = file, .trace = trace, .origin_ns = first_ns(trace)};
  fprintf(file, "{\"displayTimeUnit\": \"ns\", \"otherData\": {\"version\": \"%s\", \"origin_ns\": \"%" PRId64 "\"},\n",
          hone_version(), w.origin_ns);
  fputs("\"traceEvents\": [", file);
  for (int g = 0; g < trace->count; ++g) put_group(&w, g);
  fputs("\n]}\n", file);
  int code = cli_close_output(file, temporary);
  if (code == CLI_EXIT_OK && rename(temporary, path) != 0) {
    cli_error("%s: %s", path, strerror(errno));
    code = CLI_EXIT_IO;
  }
  if (code != CLI_EXIT_OK) (void)unlink(temporary);
  return code;
}
