/* SPDX-License-Identifier: Apache-2.0 */
/* profile_data.c - a profile for programs: JSON, and rows of CSV (RFC 4180). */
#include "base/json.h"
#include "report/advice.h"
#include "report/leftovers.h"
#include <string.h>

static void put_bound(hn_json_writer *w, const hn_profile_row *row) {
  static const char *const kinds[] = {NULL, "compute", "memory", "latency"};
  const hn_bound *bound = &row->bound;
  if (bound->kind == HN_BOUND_UNKNOWN) return;
  hn_json_put_text(w, "bound", kinds[bound->kind]);
  hn_json_put_text(w, "unit", hone_roof_name(bound->unit));
  hn_json_put_text(w, "level", hone_roof_name(bound->level));
  hn_json_put_real(w, "compute_floor_ms", bound->compute_ns * 1e-6);
  hn_json_put_real(w, "memory_floor_ms", bound->memory_ns * 1e-6);
  hn_json_put_real(w, "roof_percent", 100 * bound->share);
  hn_json_put_real(w, "above_roof_ms", row->above_ns * 1e-6);
  if (bound->reason) hn_json_put_text(w, "roof_reason", bound->reason);
}

static void put_layer(hn_json_writer *w, const hn_profile *p, const hn_profile_row *row) {
  const double scale = 1e-6;
  const hn_work *work = row->work;
  hn_json_open_flat(w, NULL, '{');
  hn_json_put_text(w, "name", row->step->name);
  hn_json_put_text(w, "type", hn_step_type(row->step));
  hn_json_put_text(w, "class", hn_profile_class(row));
  hn_json_put_text(w, "provider", row->step->provider);
  hn_json_put_text(w, "tactic", row->tactic);
  hn_json_put_text(w, "storage", row->storage);
  hn_json_put_real(w, "mean_ms", row->mean_ns * scale);
  hn_json_put_real(w, "median_ms", row->median_ns * scale);
  hn_json_put_real(w, "p99_ms", row->times->p99_ns * scale);
  hn_json_put_real(w, "min_ms", row->times->min_ns * scale);
  hn_json_put_real(w, "max_ms", row->times->max_ns * scale);
  hn_json_put_real(w, "percent", row->share);
  hn_json_put_real(w, "flops", work->cost.flops);
  hn_json_put_real(w, "compulsory_bytes", work->cost.bytes_read + work->cost.bytes_written);
  hn_json_put_real(w, "parameter_bytes", work->params_bytes);
  hn_json_put_real(w, "input_bytes", work->in_bytes);
  hn_json_put_real(w, "output_bytes", work->out_bytes);
  hn_json_put_real(w, "gflop_per_second", row->gflops);
  hn_json_put_real(w, "gbyte_per_second", row->gbytes);
  put_bound(w, row);
  if (row->times->pieces > 0) {
    hn_json_put_int(w, "kernels", row->times->pieces);
    hn_json_put_real(w, "busy_ms", row->times->busy_ns * scale);
    hn_json_put_real(w, "beside_ms", row->times->beside_ns * scale);
    hn_json_put_real(w, "gap_ms", row->times->gap_ns * scale);
    if (row->times->kernel) hn_json_put_text(w, "kernel", row->times->kernel);
  }
  if (p->in->plan->host != 0) hn_json_put_bool(w, "tensor_cores", row->matrix_units);
  if (p->in->plan->host != 0 && row->plain_reason) hn_json_put_text(w, "no_tensor_cores", row->plain_reason);
  hn_json_put_bool(w, "reference", hn_step_is_reference(row->step));
  if (row->step->caused_by) hn_json_put_text(w, "caused_by", row->step->caused_by);
  hn_json_open_flat(w, "from", '[');
  for (int i = 0; i < row->step->origin_count; ++i) hn_json_put_text(w, NULL, row->step->origins[i]);
  hn_json_close(w, ']');
  hn_json_close(w, '}');
}

static void put_groups(hn_json_writer *w, const hn_profile *p, const char *list, const char *key, int count,
                       const hn_profile_group *groups) {
  hn_json_open(w, list, '[');
  for (int i = 0; i < count; ++i) {
    hn_json_open_flat(w, NULL, '{');
    hn_json_put_text(w, key, groups[i].name);
    hn_json_put_real(w, "median_ms", groups[i].median_ns * 1e-6);
    hn_json_put_real(w, "percent", hn_percent(groups[i].median_ns, p->sum_ns));
    hn_json_put_real(w, "flops", groups[i].flops);
    hn_json_put_real(w, "compulsory_bytes", groups[i].bytes);
    if (groups[i].floor_ns > 0)
      hn_json_put_real(w, "roof_percent", hn_percent(groups[i].floor_ns, groups[i].median_ns));
    hn_json_put_int(w, "layers", groups[i].count);
    hn_json_close(w, '}');
  }
  hn_json_close(w, ']');
}

static void put_lists(hn_json_writer *w, const hn_profile *p) {
  static const char *const keys[HONE_BY_COUNT] = {"layer", "type", "onnx_node", "module"};
  hn_json_open(w, "layers", '[');
  for (int i = 0; i < p->count; ++i) put_layer(w, p, &p->rows[i]);
  hn_json_close(w, ']');
  hn_json_open_flat(w, "candidates", '[');
  for (int i = 0; i < hn_profile_top(p); ++i) hn_json_put_text(w, NULL, p->candidates[i]->step->name);
  hn_json_close(w, ']');
  put_groups(w, p, "classes", "class", p->class_count, p->classes);
  if (p->options->by != HONE_BY_LAYER) put_groups(w, p, "groups", keys[p->options->by], p->group_count, p->groups);
}

static void put_roofs(hn_json_writer *w, const hone_facts *facts) {
  hn_json_open_flat(w, "roofs", '{');
  for (int r = 0; r < HONE_ROOF_COUNT; ++r)
    if (facts->roofs[r] > 0) hn_json_put_real(w, hone_roof_name((hone_roof)r), facts->roofs[r]);
  hn_json_close(w, '}');
}

static void put_queue(hn_json_writer *w, const hn_profile *p) {
  const hn_trace *trace = p->in->trace;
  const hn_trace_queue *q = &trace->queue;
  if (trace->untraced) hn_json_put_text(w, "untraced", trace->untraced);
  if (q->runs == 0) return;
  hn_json_open_flat(w, "queue", '{');
  hn_json_put_real(w, "work_ms", q->work_ns * 1e-6);
  hn_json_put_real(w, "gap_ms", q->gap_ns * 1e-6);
  hn_json_put_real(w, "beside_ms", q->beside_ns * 1e-6);
  hn_json_put_real(w, "span_ms", q->span_ns * 1e-6);
  if (q->launch_ns > 0) hn_json_put_real(w, "launch_ms", q->launch_ns * 1e-6);
  hn_json_put_int(w, "replays", q->replays);
  hn_json_put_real(w, "apart_ms", q->apart_ns * 1e-6);
  hn_json_put_real(w, "h2d_ms", q->to_device_ns * 1e-6);
  hn_json_put_real(w, "d2h_ms", q->to_host_ns * 1e-6);
  if (p->options->unprofiled_ns > 0) hn_json_put_real(w, "host_ms", p->host_ns * 1e-6);
  if (p->options->unprofiled_device_ns > 0) hn_json_put_real(w, "untraced_ms", p->options->unprofiled_device_ns * 1e-6);
  hn_json_put_int(w, "unknown", q->unknown);
  hn_json_close(w, '}');
}

void hn_profile_write_json(const hn_profile *p, hn_text *out) {
  hn_json_writer writer, *w = &writer;
  hn_json_begin(w, out);
  hn_json_open(w, NULL, '{');
  hn_json_put_int(w, "schema", HONE_JSON_SCHEMA);
  hn_json_put_text(w, "model", p->in->name);
  hn_json_put_int(w, "schedule", p->in->trace->schedule);
  hn_json_put_int(w, "schedules", p->in->schedule_count);
  hn_json_put_text(w, "device", p->in->facts->name);
  hn_json_put_int(w, "threads", p->in->facts->threads);
  hn_json_put_bool(w, "cold", p->options->cold);
  hn_json_put_int(w, "runs", p->in->trace->runs);
  hn_json_put_int(w, "batch", p->in->batch);
  hn_json_put_real(w, "mean_ms", p->mean_ns * 1e-6);
  hn_json_put_real(w, "median_ms", p->median_ns * 1e-6);
  hn_json_put_real(w, "p99_ms", p->in->trace->p99_ns * 1e-6);
  hn_json_put_real(w, "fps", p->fps);
  hn_json_put_real(w, "layer_sum_ms", p->mean_sum_ns * 1e-6);
  hn_json_put_real(w, "layer_median_sum_ms", p->sum_ns * 1e-6);
  hn_json_put_real(w, "between_layers_ms", (p->mean_ns - p->mean_sum_ns) * 1e-6);
  if (p->options->unprofiled_ns > 0) hn_json_put_real(w, "unprofiled_ms", p->options->unprofiled_ns * 1e-6);
  hn_json_put_real(w, "h2d_ms", p->to_device_ns * 1e-6);
  hn_json_put_real(w, "d2h_ms", p->to_host_ns * 1e-6);
  hn_json_put_int(w, "transfers", p->transfers);
  hn_json_put_real(w, "gemm_percent", hn_percent(p->gemm_ns, p->sum_ns));
  if (p->in->plan->host != 0) hn_json_put_real(w, "tensor_core_percent", hn_percent(p->matrix_ns, p->sum_ns));
  hn_json_put_real(w, "roof_ms", p->floor_ns * 1e-6);
  hn_json_put_real(w, "reference_percent", hn_percent(p->reference_ns, p->sum_ns));
  hn_leftovers_put(w, p);
  put_queue(w, p);
  put_roofs(w, p->in->facts);
  put_lists(w, p);
  if (p->advice) hn_advice_put(w, p->advice, HN_ADVICE_TOP);
  hn_json_close(w, '}');
  hn_text_add(out, "\n");
}

/* ---- CSV ---- */

static void add_field(hn_text *out, const char *text) {
  if (!strpbrk(text, ",\"\r\n")) {
    hn_text_add(out, text);
    return;
  }
  hn_text_add(out, "\"");
  for (const char *c = text; *c; ++c) hn_text_printf(out, *c == '"' ? "\"\"" : "%c", *c);
  hn_text_add(out, "\"");
}

void hn_profile_write_csv(const hn_profile *p, hn_text *out) {
  if (p->options->by != HONE_BY_LAYER) {
    hn_text_add(out, "name,median_ms,percent,layers,flops,compulsory_bytes,roof_percent\r\n");
    for (int i = 0; i < p->group_count; ++i) {
      const hn_profile_group *g = &p->groups[i];
      add_field(out, g->name);
      hn_text_printf(out, ",%.6f,%.3f,%d,%.0f,%.0f,%.2f\r\n", g->median_ns * 1e-6, hn_percent(g->median_ns, p->sum_ns),
                     g->count, g->flops, g->bytes, hn_percent(g->floor_ns, g->median_ns));
    }
    return;
  }
  hn_text_add(out, "number,layer,type,class,tactic,storage,median_ms,p99_ms,percent,flops,compulsory_bytes,"
                   "parameter_bytes,input_bytes,output_bytes,bound,roof_percent,above_roof_ms\r\n");
  for (int i = 0; i < p->count; ++i) {
    const hn_profile_row *row = &p->rows[i];
    const hn_work *work = row->work;
    char bound[24];
    hn_step_bound_text(&row->bound, bound, sizeof bound);
    hn_text_printf(out, "%d,", i + 1);
    const char *const texts[] = {row->step->name, hn_step_type(row->step), hn_profile_class(row), row->tactic,
                                 row->storage};
    for (size_t k = 0; k < HN_COUNT(texts); ++k) {
      add_field(out, texts[k]);
      hn_text_add(out, ",");
    }
    hn_text_printf(out, "%.6f,%.6f,%.3f,%.0f,%.0f,%.0f,%.0f,%.0f,%s,%.2f,%.6f\r\n", row->median_ns * 1e-6,
                   row->times->p99_ns * 1e-6, row->share, work->cost.flops,
                   work->cost.bytes_read + work->cost.bytes_written, work->params_bytes, work->in_bytes,
                   work->out_bytes, bound, 100 * row->bound.share, row->above_ns * 1e-6);
  }
}
