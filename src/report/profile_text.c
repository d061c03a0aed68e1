/* SPDX-License-Identifier: Apache-2.0 */
/* profile_text.c - a profile for people. */
#include "report/advice.h"
#include "report/leftovers.h"
#include "report/grid.h"
#include <string.h>

static void add_rate(hn_grid *grid, double rate) {
  if (rate >= 0.05)
    hn_grid_add(grid, "%.1f", rate);
  else
    hn_grid_add(grid, "%s", "-");
}

/* The share of a roof, and a mark where it has a reason to be above 100. */
static void add_share(hn_grid *grid, const hn_bound *bound) {
  if (bound->kind == HN_BOUND_UNKNOWN)
    hn_grid_add(grid, "%s", "-");
  else
    hn_grid_add(grid, "%.0f%s", 100 * bound->share, bound->reason ? "*" : "");
}

static void write_layers(const hn_profile *p, hn_text *out) {
  static const char *const heads[] = {"#",  "layer",   "type", "time ms", "p99 ms", "%",       "MFLOP",
                                      "MB", "GFLOP/s", "GB/s", "bound",   "roof %", "storage", "tactic"};
  const bool spaces = p->in->plan->host != 0; /* several memories: which device did it? */
  const bool gaps = spaces && p->in->trace->queue.runs > 0;
  hn_grid grid;
  hn_grid_init(&grid, p->arena, p->options,
               gaps     ? "rlllrrrrrrrrrlrll"
               : spaces ? "rlllrrrrrrrlrll"
                        : "rllrrrrrrrlrll",
               gaps     ? "fjkpmlqad"
               : spaces ? "fhinkjoad"
                        : "eghmjinac");
  for (size_t i = 0; i < HN_COUNT(heads); ++i) {
    hn_grid_add(&grid, "%s", heads[i]);
    if (i == 0 && spaces) hn_grid_add(&grid, "%s", "device");
    if (i == 4 && gaps) hn_grid_add(&grid, "%s", "beside ms");
    if (i == 4 && gaps) hn_grid_add(&grid, "%s", "gap ms");
  }
  for (int i = 0; i < p->count; ++i) {
    const hn_profile_row *row = &p->rows[i];
    char bound[24];
    hn_step_bound_text(&row->bound, bound, sizeof bound);
    hn_grid_add(&grid, "%d", i + 1);
    if (spaces) hn_grid_add(&grid, "%s", p->in->plan->device_kinds[row->step->device]);
    hn_grid_add(&grid, "%s", row->step->name);
    hn_grid_add(&grid, "%s", hn_step_type(row->step));
    hn_grid_add(&grid, "%.4f", row->median_ns * 1e-6);
    hn_grid_add(&grid, "%.4f", row->times->p99_ns * 1e-6);
    if (gaps) hn_grid_add(&grid, "%.4f", row->times->beside_ns * 1e-6);
    if (gaps) hn_grid_add(&grid, "%.4f", row->times->gap_ns * 1e-6);
    hn_grid_add(&grid, "%.1f", row->share);
    add_rate(&grid, row->work->cost.flops * 1e-6);
    hn_grid_add(&grid, "%.2f", (row->work->params_bytes + row->work->in_bytes + row->work->out_bytes) * 1e-6);
    add_rate(&grid, row->gflops);
    add_rate(&grid, row->gbytes);
    hn_grid_add(&grid, "%s", bound);
    add_share(&grid, &row->bound);
    hn_grid_add(&grid, "%s", row->storage);
    hn_grid_add(&grid, "%s", row->tactic);
  }
  hn_grid_write(&grid, out);
}

static void write_groups(const hn_profile *p, hn_text *out) {
  static const char *const names[HONE_BY_COUNT] = {"layer", "type", "ONNX node", "module"};
  static const char *const heads[] = {"time ms", "%", "layers", "MFLOP", "GFLOP/s", "GB/s", "roof %"};
  hn_grid grid;
  hn_grid_init(&grid, p->arena, p->options, "lrrrrrrr", "ge");
  hn_grid_add(&grid, "%s", names[p->options->by]);
  for (size_t i = 0; i < HN_COUNT(heads); ++i) hn_grid_add(&grid, "%s", heads[i]);
  for (int i = 0; i < p->group_count; ++i) {
    const hn_profile_group *g = &p->groups[i];
    hn_grid_add(&grid, "%s", g->name);
    hn_grid_add(&grid, "%.4f", g->median_ns * 1e-6);
    hn_grid_add(&grid, "%.1f", hn_percent(g->median_ns, p->sum_ns));
    hn_grid_add(&grid, "%d", g->count);
    add_rate(&grid, g->flops * 1e-6);
    add_rate(&grid, g->median_ns > 0 ? g->flops / g->median_ns : 0);
    add_rate(&grid, g->median_ns > 0 ? g->bytes / g->median_ns : 0);
    if (g->floor_ns > 0)
      hn_grid_add(&grid, "%.0f", hn_percent(g->floor_ns, g->median_ns));
    else
      hn_grid_add(&grid, "%s", "-");
  }
  hn_grid_write(&grid, out);
}

/* Figures above a roof are explained, each reason once. */
static void write_reasons(const hn_profile *p, hn_text *out) {
  for (int i = 0, told = 0; i < p->count; ++i) {
    const char *reason = p->rows[i].bound.reason;
    bool again = !reason;
    for (int k = 0; k < i && !again; ++k)
      again = p->rows[k].bound.reason && strcmp(p->rows[k].bound.reason, reason) == 0;
    if (again) continue;
    hn_text_printf(out, "%s%s", told++ ? "" : "\n", "* ");
    if (p->rows[i].step->tactic && p->rows[i].step->tactic->fewer > 1)
      hn_text_printf(out, "%s: its roof counts %.4g times fewer operations than the layer's definition has\n", reason,
                     p->rows[i].step->tactic->fewer);
    else
      hn_text_printf(out, "above 105 %% of the roof: %s\n", reason);
  }
}

/* What a traced device did in the replayed run: its work and the time between add up to what the run took there. */
static void write_queue(const hn_profile *p, hn_text *out) {
  const hn_trace_queue *q = &p->in->trace->queue;
  if (p->in->trace->untraced)
    hn_text_printf(out, "device      steps were launched one by one, with marks around them: %s\n",
                   p->in->trace->untraced);
  if (!p->traced) return;
  hn_text_printf(
      out,
      "device      %.4f ms of kernels and copies - %.4f ms side by side + %.4f ms of gaps (%.1f %%) = %.4f ms, "
      "in the mean\n",
      q->work_ns * 1e-6, q->beside_ns * 1e-6, q->gap_ns * 1e-6, hn_percent(q->gap_ns, q->span_ns), q->span_ns * 1e-6);
  if (p->options->unprofiled_device_ns > 0)
    hn_text_printf(
        out, "untraced    %.4f ms on the device by marks around copies and replay: %+.1f %% from the above\n",
        p->options->unprofiled_device_ns * 1e-6, hn_percent(p->options->unprofiled_device_ns - q->span_ns, q->span_ns));
  if (q->launch_ns > 0)
    hn_text_printf(out,
                   "launch      %.4f ms to give the device %d %s and to wait, measured by replays of next to nothing\n",
                   q->launch_ns * 1e-6, q->replays, q->replays == 1 ? "replay" : "replays");
  if (p->options->unprofiled_ns > 0)
    hn_text_printf(
        out, "host        %.4f ms more are of a run that is not traced: the host's side of copies, steps and marks\n",
        (p->host_ns > q->launch_ns ? p->host_ns - q->launch_ns : 0) * 1e-6);
  if (q->unknown > 0)
    hn_text_printf(out, "            %lld pieces of work in %lld runs belong to no step that could be told\n",
                   (long long)q->unknown, (long long)q->runs);
}

/* Of a traced run the device's own time, else the run's. */
static double whole_ns(const hn_profile *p) { return p->traced ? p->in->trace->queue.span_ns : p->median_ns; }

static void write_transfers(const hn_profile *p, hn_text *out) {
  if (p->transfers == 0) {
    hn_text_printf(out, "transfers   none: %s\n",
                   p->in->plan->host == 0 ? "every step works in the host's memory"
                                          : "inputs and outputs lie on the device");
    return;
  }
  hn_text_printf(out, "transfers   H2D %.4f ms (%.1f %%), inference %.1f %%, D2H %.4f ms (%.1f %%), %d %s\n",
                 p->to_device_ns * 1e-6, hn_percent(p->to_device_ns, whole_ns(p)),
                 hn_percent(whole_ns(p) - p->to_device_ns - p->to_host_ns, whole_ns(p)), p->to_host_ns * 1e-6,
                 hn_percent(p->to_host_ns, whole_ns(p)), p->transfers, p->transfers == 1 ? "copy" : "copies");
}

/* The operators that are no products, by time. */
static void write_gemm(const hn_profile *p, hn_text *out) {
  hn_text_printf(out, "GEMM share  %.1f %% of the time: convolutions, matrix products, attention, recurrent layers",
                 hn_percent(p->gemm_ns, p->sum_ns));
  int named = 0;
  for (int i = 0; i < p->class_count && named < 4; ++i)
    if (!hn_profile_is_gemm(p->classes[i].name))
      hn_text_printf(out, "%s%s %.1f %%", named++ ? ", " : "; the rest: ", p->classes[i].name,
                     hn_percent(p->classes[i].median_ns, p->sum_ns));
  hn_text_add(out, "\n");
}

/* Of a device of its own: how much of the time is in layers on its units for matrices, and why other products are not.
 */
static void write_units(const hn_profile *p, hn_text *out) {
  if (p->in->plan->host == 0) return; /* every device is the host */
  hn_text_printf(out, "tensor use  %.1f %% of the time is in layers that multiply on tensor cores",
                 hn_percent(p->matrix_ns, p->sum_ns));
  int named = 0;
  for (int i = 0; i < p->count && named < 4; ++i) {
    const hn_profile_row *row = p->candidates[i];
    if (!row->plain_reason) continue;
    hn_text_printf(out, "%s%s %.1f %% (%s)", named++ ? "; " : "; not ", row->step->name, row->share, row->plain_reason);
  }
  hn_text_add(out, "\n");
}

static void write_totals(const hn_profile *p, hn_text *out) {
  const double between_ns = p->mean_ns - p->mean_sum_ns, plain_ns = p->options->unprofiled_ns;
  if (p->traced && plain_ns > 0)
    hn_text_printf(out, "\ntotal       %.4f ms a run, %.1f FPS (median of runs that were not traced", p->run_ns * 1e-6,
                   p->fps);
  else
    hn_text_printf(out, "\ntotal       %.4f ms a run, %.1f FPS (median of %lld runs, p99 %.4f ms", p->median_ns * 1e-6,
                   p->fps, (long long)p->in->trace->runs, p->in->trace->p99_ns * 1e-6);
  if (p->in->batch != 1) hn_text_printf(out, ", batch %lld", (long long)p->in->batch);
  hn_text_add(out, ")\n");
  if (!p->traced)
    hn_text_printf(out,
                   "layers      %.4f ms in sum + %.4f ms between them (%.1f %%) = %.4f ms end to end, in the mean\n",
                   p->mean_sum_ns * 1e-6, between_ns * 1e-6, hn_percent(between_ns, p->mean_ns), p->mean_ns * 1e-6);
  if (p->traced && plain_ns > 0)
    hn_text_printf(
        out, "tracing     a run with it takes %.4f ms, %+.1f %%; it waits for records, kernels do not wait for it\n",
        p->median_ns * 1e-6, 100 * (p->median_ns - plain_ns) / plain_ns);
  else if (plain_ns > 0)
    hn_text_printf(out, "profiling   %+.1f %%: a run without it takes %.4f ms\n",
                   100 * (p->median_ns - plain_ns) / plain_ns, plain_ns * 1e-6);
  write_queue(p, out);
  write_transfers(p, out);
  write_gemm(p, out);
  hn_leftovers_write_text(p, out);
  write_units(p, out);
  if (p->floor_ns > 0)
    hn_text_printf(out, "roofs       %.4f ms: the layers in sum reach %.0f %% of what their roofs allow%s\n",
                   p->floor_ns * 1e-6, hn_percent(p->floor_ns, p->sum_ns),
                   p->options->cold ? ", out of main memory" : "");
  hn_text_printf(out, "reference   %.2f %% of the time ran on the reference", hn_percent(p->reference_ns, p->sum_ns));
  int named = 0;
  for (int i = 0; i < p->count && named < 5; ++i)
    if (hn_step_is_reference(p->candidates[i]->step))
      hn_text_printf(out, "%s%s (%s)", named++ ? ", " : ": ", p->candidates[i]->step->name,
                     hn_step_type(p->candidates[i]->step));
  hn_text_add(out, "\n");
}

/* What the numbers say about one layer, in words. */
static void write_hint(const hn_profile *p, const hn_profile_row *row, hn_text *out) {
  char bound[24];
  hn_step_bound_text(&row->bound, bound, sizeof bound);
  if (hn_step_is_reference(row->step))
    hn_text_add(out, "runs on the reference: no fast tactic takes it (hone explain says why)");
  else if (row->step->kind == HN_STEP_COPY)
    hn_text_printf(out, "a transfer between host and device for %s", row->step->caused_by);
  else if (row->step->caused_by)
    hn_text_printf(out, "changes the layout for %s", row->step->caused_by);
  else if (row->bound.kind == HN_BOUND_LATENCY)
    hn_text_printf(out, "latency: %.1f us, of which its roof explains %.1f", row->median_ns * 1e-3,
                   row->bound.floor_ns * 1e-3);
  else if (row->bound.kind != HN_BOUND_UNKNOWN)
    hn_text_printf(out, "%s, %.0f %% of the roof, %.4f ms above it", bound, 100 * row->bound.share,
                   row->above_ns * 1e-6);
  else if (row->gflops >= 0.05)
    hn_text_printf(out, "%.1f GFLOP/s, %.1f FLOP/byte", row->gflops, row->gbytes > 0 ? row->gflops / row->gbytes : 0);
  else
    hn_text_printf(out, "%.1f GB/s", row->gbytes);
  (void)p;
}

static void write_candidates(const hn_profile *p, hn_text *out) {
  hn_text_printf(out, "\nTop %d optimization candidates, by what lies above their roofs\n", hn_profile_top(p));
  for (int i = 0; i < hn_profile_top(p); ++i) {
    const hn_profile_row *row = p->candidates[i];
    hn_text_printf(out, "  %d. %s (%s): %.4f ms, %.1f %%; ", i + 1, row->step->name, hn_step_type(row->step),
                   row->median_ns * 1e-6, row->share);
    write_hint(p, row, out);
    hn_text_add(out, "\n");
  }
}

static void write_classes(const hn_profile *p, hn_text *out) {
  hn_text_add(out, "\nby class\n");
  for (int i = 0; i < p->class_count; ++i)
    hn_text_printf(out, "  %-16s %5.1f %%  %10.4f ms  %d %s\n", p->classes[i].name,
                   hn_percent(p->classes[i].median_ns, p->sum_ns), p->classes[i].median_ns * 1e-6, p->classes[i].count,
                   p->classes[i].count == 1 ? "layer" : "layers");
}

void hn_profile_write_text(const hn_profile *p, hn_text *out) {
  hn_text_printf(out, "%s on %s, %d %s", p->in->name, p->in->facts->name, p->in->facts->threads,
                 p->in->facts->threads == 1 ? "thread" : "threads");
  if (p->in->schedule_count > 1)
    hn_text_printf(out, "; schedule %d of %d, from 0 on", p->in->trace->schedule, p->in->schedule_count);
  hn_text_printf(out, "%s\n\n", p->options->cold ? ", caches cold" : "");
  if (p->options->by == HONE_BY_LAYER)
    write_layers(p, out);
  else
    write_groups(p, out);
  if (p->options->by == HONE_BY_LAYER) write_reasons(p, out);
  write_totals(p, out);
  write_candidates(p, out);
  write_classes(p, out);
  if (p->advice) hn_advice_write_top(p->advice, HN_ADVICE_TOP, out);
}
