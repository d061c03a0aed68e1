/* SPDX-License-Identifier: Apache-2.0 */
/* profile.c - the layer profile: layer, type, time, share, what bounds it; the total and what it is made of;
 * candidates; classes.
 *
 * Times are medians over the latest profiled runs, which one disturbed run does not move. Means alone add up: the
 * layers' means and what lies between them are the end-to-end mean. A rate is the work that the operator needs by
 * definition over the time that the layer took. */
#include "report/profile.h"
#include "report/advice.h"
#include "report/leftovers.h"
#include "tensor/storage.h"
#include <stdlib.h>
#include <string.h>

double hn_percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

int hn_profile_top(const hn_profile *p) {
  const int wanted = p->options->top > 0 ? p->options->top : 5;
  return wanted < p->count ? wanted : p->count;
}

static int by_saving(const void *a, const void *b) {
  const hn_profile_row *x = *(hn_profile_row *const *)a, *y = *(hn_profile_row *const *)b;
  if (x->above_ns != y->above_ns) return x->above_ns < y->above_ns ? 1 : -1;
  return x < y ? -1 : x > y;
}

/* Transfers are steps of the plan, timed like any other; what lies in the host's memory needs none. */
static void add_transfer(hn_profile *p, const hn_profile_row *row) {
  const hn_plan *plan = p->in->plan;
  if (row->step->kind != HN_STEP_COPY) return;
  ++p->transfers;
  if (plan->tensors[row->step->out[0]].device == plan->host)
    p->to_host_ns += row->median_ns;
  else
    p->to_device_ns += row->median_ns;
}

/* The first activation's: what is a constant stands elsewhere. */
static bool make_row(hn_profile *p, const hn_trace_step *times) {
  const hn_plan_step *step = &p->in->plan->steps[times->step];
  const hn_work *work = &p->in->work[times->step];
  hn_profile_row *row = &p->rows[p->count++];
  *row = (hn_profile_row){.step = step,
                          .times = times,
                          .work = work,
                          .mean_ns = times->total_ns / (double)times->runs,
                          .median_ns = times->median_ns};
  if (row->median_ns > 0) {
    row->gflops = work->cost.flops / row->median_ns;
    row->gbytes = (work->cost.bytes_read + work->cost.bytes_written) / row->median_ns;
  }
  row->bound = hn_step_bound(p->in->plan, step, work, p->in->facts, p->options->cold, row->median_ns);
  /* What only changes how values lie could be gone altogether; what runs on the reference has kernels' roofs, too. */
  const double least_ns = step->caused_by ? 0 : row->bound.floor_ns;
  row->above_ns = row->median_ns > least_ns ? row->median_ns - least_ns : 0;
  row->tactic = hn_step_tactic(p->arena, step);
  row->storage = hn_step_storage(p->arena, p->in->plan, step);
  p->sum_ns += row->median_ns;
  p->mean_sum_ns += row->mean_ns;
  p->floor_ns += row->bound.floor_ns;
  if (hn_step_is_reference(step)) p->reference_ns += row->median_ns;
  if (hn_profile_is_gemm(hn_profile_class(row))) p->gemm_ns += row->median_ns;
  row->matrix_units = hn_step_on_matrix_units(p->in->plan, step, &row->plain_reason);
  if (row->matrix_units) p->matrix_ns += row->median_ns;
  add_transfer(p, row);
  return row->tactic && row->storage;
}

static hone_status collect(hn_profile *p) {
  const hn_trace *trace = p->in->trace;
  p->rows = HN_NEW(p->arena, hn_profile_row, trace->step_count + 1);
  p->candidates = HN_NEW(p->arena, hn_profile_row *, trace->step_count + 1);
  if (!p->rows || !p->candidates) return HONE_NO_MEMORY;
  for (int s = 0; s < trace->step_count; ++s) {
    const hn_trace_step *times = &trace->steps[s];
    if (times->runs > 0 && hn_step_runs(&p->in->plan->steps[times->step]) && !make_row(p, times)) return HONE_NO_MEMORY;
  }
  for (int i = 0; i < p->count; ++i) {
    p->rows[i].share = hn_percent(p->rows[i].median_ns, p->sum_ns);
    p->candidates[i] = &p->rows[i];
  }
  qsort(p->candidates, (size_t)p->count, sizeof(*p->candidates), by_saving);
  p->mean_ns = trace->total_ns / (double)trace->runs;
  p->median_ns = trace->median_ns;
  p->traced = trace->queue.runs > 0;
  /* Tracing lengthens a run, not its kernels: a run without it is the one to tell of. */
  p->run_ns = p->traced && p->options->unprofiled_ns > 0 ? p->options->unprofiled_ns : p->median_ns;
  if (p->traced) {
    if (p->options->unprofiled_ns > 0) p->host_ns = p->run_ns - trace->queue.span_ns;
    p->to_device_ns = trace->queue.to_device_ns;
    p->to_host_ns = trace->queue.to_host_ns;
  }
  p->fps = p->run_ns > 0 ? 1e9 * (double)p->in->batch / p->run_ns : 0;
  HN_TRY(hn_profile_classes(p));
  HN_TRY(hn_leftovers_find(p, &p->leftovers));
  return hn_profile_group_by(p);
}

hone_status hn_profile_gather(const hn_profile_input *input, const hone_report_options *options, hn_arena *arena,
                              hn_profile **out) {
  *out = HN_NEW(arena, hn_profile, 1);
  if (!*out) return HONE_NO_MEMORY;
  **out = (hn_profile){.in = input, .options = options, .arena = arena};
  return collect(*out);
}

hone_status hn_report_profile(const hn_profile_input *input, const hone_report_options *options, hn_arena *arena,
                              hn_text *out) {
  hn_profile *p;
  hn_advising *advice;
  HN_TRY(hn_profile_gather(input, options, arena, &p));
  const hn_advice_facts facts = {.ledger = input->ledger};
  HN_TRY(hn_advise(p, &facts, arena, &advice));
  p->advice = advice;
  if (options->json)
    hn_profile_write_json(p, out);
  else if (options->csv)
    hn_profile_write_csv(p, out);
  else
    hn_profile_write_text(p, out);
  return out->failed ? HONE_NO_MEMORY : HONE_OK;
}
