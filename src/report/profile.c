/* SPDX-License-Identifier: Apache-2.0 */
/* profile.c - the layer profile: layer, type, time, share; the total and what it is made of; candidates; classes.
 *
 * Times are means over the profiled runs, so that the layers' sum and what lies between them add up to the end-to-end
 * mean. A rate is the work that the operator needs by definition over the time that the layer took. */
#include "base/json.h"
#include "report/grid.h"
#include "report/report.h"
#include <stdlib.h>
#include <string.h>

typedef struct profile_row {
  const hn_plan_step *step;
  const hn_trace_step *times;
  double mean_ns, share; /* of the layers' sum */
  double gflops, gbytes; /* per second; 0: not known */
  const char *tactic;    /* with its parameters */
} profile_row;

typedef struct class_row {
  const char *name;
  double mean_ns;
  int count;
} class_row;

enum { MAX_CLASSES = 32 };
typedef struct profile {
  const hn_profile_input *in;
  const hone_report_options *options;
  hn_arena *arena;
  int count, class_count;
  profile_row *rows;    /* in the order of execution */
  profile_row **sorted; /* by time, the longest first */
  class_row classes[MAX_CLASSES];
  double sum_ns, reference_ns, mean_ns; /* layers; those on the reference; one run, end to end */
  double to_device_ns, to_host_ns;      /* of the layers' sum: transfers between memory spaces */
  int transfers;
  double fps;
} profile;

static int by_time(const void *a, const void *b) {
  const profile_row *x = *(profile_row *const *)a, *y = *(profile_row *const *)b;
  if (x->mean_ns != y->mean_ns) return x->mean_ns < y->mean_ns ? 1 : -1;
  return x < y ? -1 : x > y;
}

static int by_class_time(const void *a, const void *b) {
  const class_row *x = a, *y = b;
  return x->mean_ns < y->mean_ns ? 1 : x->mean_ns > y->mean_ns ? -1 : strcmp(x->name, y->name);
}

static void add_to_class(profile *p, const profile_row *row) {
  const char *name = row->step->op ? hn_report_class(row->step->op) : hn_step_type(row->step);
  int at = 0;
  while (at < p->class_count && strcmp(p->classes[at].name, name) != 0) ++at;
  if (at == MAX_CLASSES) at = MAX_CLASSES - 1;
  if (at == p->class_count) p->classes[p->class_count++].name = name;
  p->classes[at].mean_ns += row->mean_ns;
  ++p->classes[at].count;
}

/* Transfers are steps of the plan, timed like any other; what lies in the host's memory needs none. */
static void add_transfer(profile *p, const profile_row *row) {
  const hn_plan *plan = p->in->plan;
  if (row->step->kind != HN_STEP_COPY) return;
  ++p->transfers;
  if (plan->tensors[row->step->out[0]].device == plan->host)
    p->to_host_ns += row->mean_ns;
  else
    p->to_device_ns += row->mean_ns;
}

static bool make_row(profile *p, const hn_trace_step *times) {
  const hn_plan_step *step = &p->in->plan->steps[times->step];
  const hone_cost *cost = &p->in->costs[times->step];
  profile_row *row = &p->rows[p->count++];
  *row = (profile_row){.step = step, .times = times, .mean_ns = times->total_ns / (double)times->runs};
  if (row->mean_ns > 0) {
    row->gflops = cost->flops / row->mean_ns;
    row->gbytes = (cost->bytes_read + cost->bytes_written) / row->mean_ns;
  }
  hn_text text;
  hn_text_init(&text, p->arena->allocator);
  hn_text_add(&text, step->tactic ? step->tactic->name : step->provider ? step->provider : "");
  hn_text_params(&text, &step->params);
  row->tactic = hn_arena_text(p->arena, hn_text_string(&text));
  const bool made = row->tactic && !text.failed;
  hn_text_deinit(&text);
  p->sum_ns += row->mean_ns;
  if (hn_step_is_reference(step)) p->reference_ns += row->mean_ns;
  add_to_class(p, row);
  add_transfer(p, row);
  return made;
}

static hone_status collect(profile *p) {
  const hn_trace *trace = p->in->trace;
  p->rows = HN_NEW(p->arena, profile_row, trace->step_count + 1);
  p->sorted = HN_NEW(p->arena, profile_row *, trace->step_count + 1);
  if (!p->rows || !p->sorted) return HONE_NO_MEMORY;
  for (int s = 0; s < trace->step_count; ++s) {
    const hn_trace_step *times = &trace->steps[s];
    if (times->runs > 0 && hn_step_runs(&p->in->plan->steps[times->step]) && !make_row(p, times)) return HONE_NO_MEMORY;
  }
  for (int i = 0; i < p->count; ++i) {
    p->rows[i].share = p->sum_ns > 0 ? 100 * p->rows[i].mean_ns / p->sum_ns : 0;
    p->sorted[i] = &p->rows[i];
  }
  qsort(p->sorted, (size_t)p->count, sizeof(*p->sorted), by_time);
  qsort(p->classes, (size_t)p->class_count, sizeof p->classes[0], by_class_time);
  p->mean_ns = trace->total_ns / (double)trace->runs;
  p->fps = p->mean_ns > 0 ? 1e9 * (double)p->in->batch / p->mean_ns : 0;
  return HONE_OK;
}

static void add_rate(hn_grid *grid, double rate) {
  if (rate >= 0.05)
    hn_grid_add(grid, "%.1f", rate);
  else
    hn_grid_add(grid, "%s", "-");
}

static void write_layers(const profile *p, hn_text *out) {
  const bool spaces = p->in->plan->host != 0; /* several memories: which device did it? */
  hn_grid grid;
  hn_grid_init(&grid, p->arena, p->options, spaces ? "rlllrrrrl" : "rllrrrrl", spaces ? "hgi" : "gfh");
  static const char *const heads[] = {"#", "layer", "type", "time ms", "%", "GFLOP/s", "GB/s", "tactic"};
  for (size_t i = 0; i < HN_COUNT(heads); ++i) {
    hn_grid_add(&grid, "%s", heads[i]);
    if (i == 0 && spaces) hn_grid_add(&grid, "%s", "device");
  }
  for (int i = 0; i < p->count; ++i) {
    const profile_row *row = &p->rows[i];
    hn_grid_add(&grid, "%d", i + 1);
    if (spaces) hn_grid_add(&grid, "%s", p->in->plan->device_kinds[row->step->device]);
    hn_grid_add(&grid, "%s", row->step->name);
    hn_grid_add(&grid, "%s", hn_step_type(row->step));
    hn_grid_add(&grid, "%.4f", row->mean_ns * 1e-6);
    hn_grid_add(&grid, "%.1f", row->share);
    add_rate(&grid, row->gflops);
    add_rate(&grid, row->gbytes);
    hn_grid_add(&grid, "%s", row->tactic);
  }
  hn_grid_write(&grid, out);
}

static double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

static void write_totals(const profile *p, hn_text *out) {
  const double between_ns = p->mean_ns - p->sum_ns;
  hn_text_printf(out, "\ntotal       %.4f ms a run, %.1f FPS (median %.4f ms, %lld runs", p->mean_ns * 1e-6, p->fps,
                 p->in->trace->median_ns * 1e-6, (long long)p->in->trace->runs);
  if (p->in->batch != 1) hn_text_printf(out, ", batch %lld", (long long)p->in->batch);
  hn_text_printf(out, ")\nlayers      %.4f ms in sum + %.4f ms between them (%.1f %%) = end to end\n", p->sum_ns * 1e-6,
                 between_ns * 1e-6, percent(between_ns, p->mean_ns));
  if (p->transfers > 0)
    hn_text_printf(out, "transfers   H2D %.4f ms (%.1f %%), inference %.1f %%, D2H %.4f ms (%.1f %%), %d %s\n",
                   p->to_device_ns * 1e-6, percent(p->to_device_ns, p->mean_ns),
                   percent(p->mean_ns - p->to_device_ns - p->to_host_ns, p->mean_ns), p->to_host_ns * 1e-6,
                   percent(p->to_host_ns, p->mean_ns), p->transfers, p->transfers == 1 ? "copy" : "copies");
  else
    hn_text_add(out, "transfers   none: every step works in the host's memory\n");
  hn_text_printf(out, "reference   %.2f %% of the time ran on the reference", percent(p->reference_ns, p->sum_ns));
  int named = 0;
  for (int i = 0; i < p->count && named < 5; ++i)
    if (hn_step_is_reference(p->sorted[i]->step))
      hn_text_printf(out, "%s%s (%s)", named++ ? ", " : ": ", p->sorted[i]->step->name,
                     hn_step_type(p->sorted[i]->step));
  hn_text_add(out, "\n");
}

/* What the numbers say about one layer, in words. */
static void write_hint(const profile *p, const profile_row *row, hn_text *out) {
  const hone_facts *facts = p->in->facts;
  if (hn_step_is_reference(row->step))
    hn_text_add(out, "runs on the reference: no fast tactic takes it (hone explain says why)");
  else if (row->step->kind == HN_STEP_COPY)
    hn_text_printf(out, "a transfer between host and device for %s", row->step->caused_by);
  else if (row->step->caused_by)
    hn_text_printf(out, "changes the layout for %s", row->step->caused_by);
  else if (facts->roofs[HONE_ROOF_F32] > 0 && facts->roofs[HONE_ROOF_MEMORY] > 0) {
    const double compute = row->gflops * 1e9 / facts->roofs[HONE_ROOF_F32],
                 memory = row->gbytes * 1e9 / facts->roofs[HONE_ROOF_MEMORY];
    hn_text_printf(out, "%.0f %% of the %s roof", 100 * (compute > memory ? compute : memory),
                   compute > memory ? "compute" : "memory");
  } else if (row->gflops >= 0.05)
    hn_text_printf(out, "%.1f GFLOP/s, %.1f FLOP/byte", row->gflops, row->gbytes > 0 ? row->gflops / row->gbytes : 0);
  else
    hn_text_printf(out, "%.1f GB/s", row->gbytes);
}

static int top_count(const profile *p) {
  const int wanted = p->options->top > 0 ? p->options->top : 5;
  return wanted < p->count ? wanted : p->count;
}

static void write_candidates(const profile *p, hn_text *out) {
  hn_text_printf(out, "\nTop %d optimization candidates\n", top_count(p));
  for (int i = 0; i < top_count(p); ++i) {
    const profile_row *row = p->sorted[i];
    hn_text_printf(out, "  %d. %s (%s): %.4f ms, %.1f %%; ", i + 1, row->step->name, hn_step_type(row->step),
                   row->mean_ns * 1e-6, row->share);
    write_hint(p, row, out);
    hn_text_add(out, "\n");
  }
}

static void write_classes(const profile *p, hn_text *out) {
  hn_text_add(out, "\nby class\n");
  for (int i = 0; i < p->class_count; ++i)
    hn_text_printf(out, "  %-16s %5.1f %%  %10.4f ms  %d %s\n", p->classes[i].name,
                   percent(p->classes[i].mean_ns, p->sum_ns), p->classes[i].mean_ns * 1e-6, p->classes[i].count,
                   p->classes[i].count == 1 ? "layer" : "layers");
}

static void write_text(const profile *p, hn_text *out) {
  hn_text_printf(out, "%s on %s, %d %s", p->in->name, p->in->facts->name, p->in->facts->threads,
                 p->in->facts->threads == 1 ? "thread" : "threads");
  if (p->in->schedule_count > 1)
    hn_text_printf(out, "; schedule %d of %d, from 0 on", p->in->trace->schedule, p->in->schedule_count);
  hn_text_add(out, "\n\n");
  write_layers(p, out);
  write_totals(p, out);
  write_candidates(p, out);
  write_classes(p, out);
}

static void put_layer(hn_json_writer *w, const profile_row *row) {
  const double scale = 1e-6;
  hn_json_open_flat(w, NULL, '{');
  hn_json_put_text(w, "name", row->step->name);
  hn_json_put_text(w, "type", hn_step_type(row->step));
  hn_json_put_text(w, "class", row->step->op ? hn_report_class(row->step->op) : hn_step_type(row->step));
  hn_json_put_text(w, "provider", row->step->provider);
  hn_json_put_text(w, "tactic", row->tactic);
  hn_json_put_real(w, "mean_ms", row->mean_ns * scale);
  hn_json_put_real(w, "median_ms", row->times->median_ns * scale);
  hn_json_put_real(w, "min_ms", row->times->min_ns * scale);
  hn_json_put_real(w, "max_ms", row->times->max_ns * scale);
  hn_json_put_real(w, "percent", row->share);
  hn_json_put_real(w, "gflop_per_second", row->gflops);
  hn_json_put_real(w, "gbyte_per_second", row->gbytes);
  hn_json_put_bool(w, "reference", hn_step_is_reference(row->step));
  if (row->step->caused_by) hn_json_put_text(w, "caused_by", row->step->caused_by);
  hn_json_open_flat(w, "from", '[');
  for (int i = 0; i < row->step->origin_count; ++i) hn_json_put_text(w, NULL, row->step->origins[i]);
  hn_json_close(w, ']');
  hn_json_close(w, '}');
}

static void put_lists(hn_json_writer *w, const profile *p) {
  hn_json_open(w, "layers", '[');
  for (int i = 0; i < p->count; ++i) put_layer(w, &p->rows[i]);
  hn_json_close(w, ']');
  hn_json_open_flat(w, "candidates", '[');
  for (int i = 0; i < top_count(p); ++i) hn_json_put_text(w, NULL, p->sorted[i]->step->name);
  hn_json_close(w, ']');
  hn_json_open(w, "classes", '[');
  for (int i = 0; i < p->class_count; ++i) {
    hn_json_open_flat(w, NULL, '{');
    hn_json_put_text(w, "class", p->classes[i].name);
    hn_json_put_real(w, "mean_ms", p->classes[i].mean_ns * 1e-6);
    hn_json_put_real(w, "percent", percent(p->classes[i].mean_ns, p->sum_ns));
    hn_json_put_int(w, "layers", p->classes[i].count);
    hn_json_close(w, '}');
  }
  hn_json_close(w, ']');
}

static void write_json(const profile *p, hn_text *out) {
  hn_json_writer writer, *w = &writer;
  hn_json_begin(w, out);
  hn_json_open(w, NULL, '{');
  hn_json_put_text(w, "model", p->in->name);
  hn_json_put_int(w, "schedule", p->in->trace->schedule);
  hn_json_put_int(w, "schedules", p->in->schedule_count);
  hn_json_put_text(w, "device", p->in->facts->name);
  hn_json_put_int(w, "threads", p->in->facts->threads);
  hn_json_put_int(w, "runs", p->in->trace->runs);
  hn_json_put_int(w, "batch", p->in->batch);
  hn_json_put_real(w, "mean_ms", p->mean_ns * 1e-6);
  hn_json_put_real(w, "median_ms", p->in->trace->median_ns * 1e-6);
  hn_json_put_real(w, "fps", p->fps);
  hn_json_put_real(w, "layer_sum_ms", p->sum_ns * 1e-6);
  hn_json_put_real(w, "between_layers_ms", (p->mean_ns - p->sum_ns) * 1e-6);
  hn_json_put_real(w, "h2d_ms", p->to_device_ns * 1e-6);
  hn_json_put_real(w, "d2h_ms", p->to_host_ns * 1e-6);
  hn_json_put_int(w, "transfers", p->transfers);
  hn_json_put_real(w, "reference_percent", percent(p->reference_ns, p->sum_ns));
  put_lists(w, p);
  hn_json_close(w, '}');
  hn_text_add(out, "\n");
}

hone_status hn_report_profile(const hn_profile_input *input, const hone_report_options *options, hn_arena *arena,
                              hn_text *out) {
  profile *p = HN_NEW(arena, profile, 1);
  if (!p) return HONE_NO_MEMORY;
  *p = (profile){.in = input, .options = options, .arena = arena};
  HN_TRY(collect(p));
  if (options->json)
    write_json(p, out);
  else
    write_text(p, out);
  return out->failed ? HONE_NO_MEMORY : HONE_OK;
}
