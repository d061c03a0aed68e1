/* SPDX-License-Identifier: Apache-2.0 */
/* engine.c - what an engine holds: ports, steps with tactics and formats, measured errors, memory. */
#include "base/json.h"
#include "plan/plan.h"
#include "report/grid.h"
#include "report/report.h"
#include "tensor/shape.h"

typedef struct description {
  const hn_schedules *schedules;
  const hone_report_options *options;
  const hn_plan *plan;                  /* the schedule that is described now */
  uint64_t weights_bytes, shared_bytes; /* of its weights */
  bool color;
  hn_arena *arena;
  hn_text *out, scratch;
} description;

static const char *type_text(description *d, int tensor) {
  hn_text_clear(&d->scratch);
  if (tensor >= 0) hn_text_type(&d->scratch, &d->plan->tensors[tensor].type, &d->plan->dims);
  return hn_text_string(&d->scratch);
}

static const char *shape_text(description *d, const hone_shape *shape) {
  hn_text_clear(&d->scratch);
  hn_text_shape(&d->scratch, shape, NULL);
  return hn_text_string(&d->scratch);
}

static int reference_steps(const hn_plan *plan) {
  int count = 0;
  for (int i = 0; i < plan->step_count; ++i) count += hn_step_is_reference(&plan->steps[i]);
  return count;
}

static void write_ports(description *d) {
  const hn_plan *plan = d->plan;
  for (int i = 0; i < plan->input_count; ++i) {
    const hn_plan_port *port = &plan->inputs[i];
    hn_text_printf(d->out, "input     %s: %s", port->name, type_text(d, port->tensor));
    if (!hn_shape_equal(&port->min, &port->max)) {
      hn_text_printf(d->out, "  profile %s", shape_text(d, &port->min));
      hn_text_printf(d->out, " .. %s", shape_text(d, &port->opt));
      hn_text_printf(d->out, " .. %s", shape_text(d, &port->max));
    }
    hn_text_add(d->out, "\n");
  }
  for (int i = 0; i < plan->output_count; ++i) {
    const hn_plan_port *port = &plan->outputs[i];
    hn_text_printf(d->out, "output    %s: %s", port->name, type_text(d, port->tensor));
    if (port->error_rel_l2 >= 0) hn_text_printf(d->out, ", %.2e relative L2 from f32's", port->error_rel_l2);
    hn_text_add(d->out, "\n");
  }
}

static const char *tactic_text(description *d, const hn_plan_step *step) {
  hn_text_clear(&d->scratch);
  if (step->tactic)
    hn_text_add(&d->scratch, step->tactic->name);
  else
    hn_text_add(&d->scratch, hn_step_kind_name(step->kind));
  hn_text_params(&d->scratch, &step->params);
  if (step->tactic && !step->tactic->launch) hn_text_add(&d->scratch, " (not here)");
  return hn_text_string(&d->scratch);
}

static bool has_copies(const hn_plan *plan) { return plan->host != 0; }

/* What an engine over several memories makes the host do, and what crosses the border. */
static void write_spaces(description *d) {
  const hn_plan *plan = d->plan;
  int copies = 0, host = 0;
  double bytes = 0;
  for (int s = 0; s < plan->step_count; ++s) {
    const hn_plan_step *step = &plan->steps[s];
    copies += step->kind == HN_STEP_COPY;
    if (step->kind == HN_STEP_COPY) bytes += step->cost.bytes_read;
    host += step->kind != HN_STEP_COPY && hn_step_runs(step) && plan->spaces[step->device] == plan->host;
  }
  for (int h = 0; h < plan->device_count; ++h)
    if (plan->spaces[h] == h)
      hn_text_printf(d->out, "arena     %.3f MB in the memory of %s\n", (double)plan->space_arena_bytes[h] * 1e-6,
                     plan->device_kinds[h]);
  hn_text_printf(d->out, "copies    %d, %.3f MB a run\nhost      %d steps%s", copies, bytes * 1e-6, host,
                 host ? ":" : "");
  for (int s = 0; s < plan->step_count; ++s) {
    const hn_plan_step *step = &plan->steps[s];
    if (step->kind != HN_STEP_COPY && hn_step_runs(step) && plan->spaces[step->device] == plan->host)
      hn_text_printf(d->out, " %s (%s)", step->name, hn_step_type(step));
  }
  hn_text_add(d->out, "\n");
}

static void write_step(description *d, hn_grid *grid, int at) {
  const hn_plan_step *step = &d->plan->steps[at];
  hn_grid_add(grid, "%d", at + 1);
  if (has_copies(d->plan)) hn_grid_add(grid, "%s", d->plan->device_kinds[step->device]);
  hn_grid_add(grid, "%s", step->name);
  hn_grid_add(grid, "%s", hn_step_type(step));
  hn_grid_add(grid, "%s", tactic_text(d, step));
  hn_grid_add(grid, "%s", step->out_count > 0 ? type_text(d, step->out[0]) : "");
  if (step->error_rel_l2 >= 0 && step->kind == HN_STEP_CALL)
    hn_grid_add(grid, "%.1e of %.0e", step->error_rel_l2, step->error_bound);
  else
    hn_grid_add(grid, "%s", "-");
}

static void write_schedule(description *d, int number) {
  const hn_plan *plan = d->plan;
  if (d->schedules->count > 1) hn_text_printf(d->out, "\nschedule  %d\n", number);
  write_ports(d);
  hn_text_printf(d->out, "memory    weights %.2f MB, arena %.3f MB, scratch %.3f MB%s%s\n",
                 (double)d->weights_bytes * 1e-6, (double)plan->arena_bytes * 1e-6, (double)plan->scratch_bytes * 1e-6,
                 plan->dynamic ? " (at the opt shapes)" : "",
                 plan->after_run ? "; some shapes are data-dependent: a run may allocate" : "");
  if (d->schedules->count > 1)
    hn_text_printf(d->out, "shared    %.2f MB of the weights are read by other schedules, too\n",
                   (double)d->shared_bytes * 1e-6);
  if (has_copies(plan)) write_spaces(d);
  hn_text_printf(d->out, "steps     %d, of them %d on the reference\n", plan->step_count, reference_steps(plan));
  if (plan->max_error_rel_l2 >= 0)
    hn_text_printf(d->out, "error     %.2e relative L2 at most, of a step against the reference\n",
                   plan->max_error_rel_l2);
  hn_text_add(d->out, "\n");
  hn_grid grid;
  hn_grid_init(&grid, d->arena, d->options, has_copies(plan) ? "rlllllr" : "rllllr", has_copies(plan) ? "gf" : "fe");
  static const char *const heads[] = {"#", "step", "type", "tactic", "output", "error"};
  for (size_t i = 0; i < HN_COUNT(heads); ++i) {
    hn_grid_add(&grid, "%s", heads[i]);
    if (i == 0 && has_copies(plan)) hn_grid_add(&grid, "%s", "device");
  }
  for (int i = 0; i < plan->step_count; ++i) write_step(d, &grid, i);
  hn_grid_write(&grid, d->out);
}

static hone_status begin_schedule(description *d, int number) {
  d->plan = d->schedules->plans[number];
  return hn_report_weights(d->schedules, number, d->arena, &d->weights_bytes, &d->shared_bytes);
}

static hone_status write_text(description *d) {
  const hn_schedules *all = d->schedules;
  hn_text_printf(d->out, "engine    %s, by %s\ndevice    %s\n", all->name, all->built_by, all->device_name);
  if (all->stripped) hn_text_add(d->out, "weights   not in the file: hone refit gives it some\n");
  if (all->onnx) hn_text_printf(d->out, "model     in the file, %.2f MB of ONNX\n", (double)all->onnx_bytes * 1e-6);
  if (all->count > 1)
    hn_text_printf(d->out, "schedules %d, over %.2f MB of weights\n", all->count, (double)all->weights_bytes * 1e-6);
  for (int k = 0; k < all->count; ++k) {
    if (!hn_report_wants(d->options, k)) continue;
    HN_TRY(begin_schedule(d, k));
    write_schedule(d, k);
  }
  return HONE_OK;
}

static void put_shape(hn_json_writer *w, const char *key, const hone_shape *shape) {
  hn_json_open_flat(w, key, '[');
  for (int i = 0; i < shape->rank; ++i) hn_json_put_int(w, NULL, shape->dim[i] < 0 ? -1 : shape->dim[i]);
  hn_json_close(w, ']');
}

static void put_ports(description *d, hn_json_writer *w, const char *key, const hn_plan_port *ports, int count,
                      bool inputs) {
  hn_json_open(w, key, '[');
  for (int i = 0; i < count; ++i) {
    hn_json_open_flat(w, NULL, '{');
    hn_json_put_text(w, "name", ports[i].name);
    hn_json_put_text(w, "dtype", hone_dtype_name(d->plan->tensors[ports[i].tensor].type.dtype));
    put_shape(w, "shape", &d->plan->tensors[ports[i].tensor].type.shape);
    hn_json_put_text(w, "type", type_text(d, ports[i].tensor));
    if (inputs) {
      put_shape(w, "min", &ports[i].min);
      put_shape(w, "opt", &ports[i].opt);
      put_shape(w, "max", &ports[i].max);
    } else if (ports[i].error_rel_l2 >= 0)
      hn_json_put_real(w, "error_rel_l2", ports[i].error_rel_l2);
    hn_json_close(w, '}');
  }
  hn_json_close(w, ']');
}

static void put_tensors(description *d, hn_json_writer *w, const char *key, int count, const int *tensors) {
  hn_json_open_flat(w, key, '[');
  for (int i = 0; i < count; ++i) {
    if (tensors[i] < 0) {
      hn_json_put_text(w, NULL, NULL);
      continue;
    }
    const hn_plan_tensor *tensor = &d->plan->tensors[tensors[i]];
    hn_json_open_flat(w, NULL, '{');
    hn_json_put_text(w, "name", tensor->name);
    hn_json_put_text(w, "type", type_text(d, tensors[i]));
    hn_json_put_text(w, "place", hn_place_name(tensor->place));
    hn_json_close(w, '}');
  }
  hn_json_close(w, ']');
}

static void put_step(description *d, hn_json_writer *w, const hn_plan_step *step) {
  hn_json_open(w, NULL, '{');
  hn_json_put_text(w, "name", step->name);
  hn_json_put_text(w, "kind", hn_step_kind_name(step->kind));
  hn_json_put_text(w, "type", hn_step_type(step));
  hn_json_put_text(w, "provider", step->provider);
  hn_json_put_text(w, "device", d->plan->device_kinds[step->device]);
  hn_json_put_text(w, "tactic", step->tactic ? tactic_text(d, step) : NULL);
  if (step->tactic && !step->tactic->launch) hn_json_put_bool(w, "here", false);
  hn_json_put_bool(w, "reference", hn_step_is_reference(step));
  put_tensors(d, w, "inputs", step->in_count, step->in);
  put_tensors(d, w, "outputs", step->out_count, step->out);
  hn_json_put_int(w, "packed_bytes", (int64_t)step->packed_bytes);
  hn_json_put_int(w, "scratch_bytes", (int64_t)step->scratch_bytes);
  hn_json_put_real(w, "flops", step->cost.flops);
  if (step->time_ns > 0) hn_json_put_real(w, "time_ms", step->time_ns * 1e-6);
  if (step->error_rel_l2 >= 0) {
    hn_json_put_real(w, "error_rel_l2", step->error_rel_l2);
    hn_json_put_real(w, "error_bound", step->error_bound);
  }
  if (step->caused_by) hn_json_put_text(w, "caused_by", step->caused_by);
  hn_json_open_flat(w, "from", '[');
  for (int i = 0; i < step->origin_count; ++i) hn_json_put_text(w, NULL, step->origins[i]);
  hn_json_close(w, ']');
  hn_json_close(w, '}');
}

static void put_schedule(description *d, hn_json_writer *w, int number) {
  const hn_plan *plan = d->plan;
  hn_json_open(w, NULL, '{');
  hn_json_put_int(w, "schedule", number);
  put_ports(d, w, "inputs", plan->inputs, plan->input_count, true);
  put_ports(d, w, "outputs", plan->outputs, plan->output_count, false);
  hn_json_put_int(w, "weights_bytes", (int64_t)d->weights_bytes);
  hn_json_put_int(w, "shared_weights_bytes", (int64_t)d->shared_bytes);
  hn_json_put_int(w, "arena_bytes", (int64_t)plan->arena_bytes);
  hn_json_put_int(w, "scratch_bytes", (int64_t)plan->scratch_bytes);
  hn_json_put_bool(w, "dynamic", plan->dynamic);
  hn_json_put_bool(w, "after_run", plan->after_run);
  hn_json_put_real(w, "max_error_rel_l2", plan->max_error_rel_l2);
  hn_json_put_int(w, "reference_steps", reference_steps(plan));
  hn_json_open(w, "steps", '[');
  for (int i = 0; i < plan->step_count; ++i) put_step(d, w, &plan->steps[i]);
  hn_json_close(w, ']');
  hn_json_close(w, '}');
}

static hone_status write_json(description *d) {
  hn_json_writer writer, *w = &writer;
  const hn_schedules *all = d->schedules;
  hn_json_begin(w, d->out);
  hn_json_open(w, NULL, '{');
  hn_json_put_int(w, "schema", HONE_JSON_SCHEMA);
  hn_json_put_text(w, "name", all->name);
  hn_json_put_text(w, "built_by", all->built_by);
  hn_json_put_text(w, "device", all->device_name);
  hn_json_put_int(w, "weights_bytes", (int64_t)all->weights_bytes);
  hn_json_put_bool(w, "stripped", all->stripped);
  hn_json_put_bool(w, "refittable", all->refit);
  hn_json_put_int(w, "onnx_bytes", (int64_t)all->onnx_bytes);
  hn_json_open(w, "schedules", '[');
  for (int k = 0; k < all->count; ++k) {
    if (!hn_report_wants(d->options, k)) continue;
    HN_TRY(begin_schedule(d, k));
    put_schedule(d, w, k);
  }
  hn_json_close(w, ']');
  hn_json_close(w, '}');
  hn_text_add(d->out, "\n");
  return HONE_OK;
}

hone_status hn_report_engine(const hn_schedules *schedules, const hone_report_options *options, hn_arena *arena,
                             hn_text *out) {
  description d = {.schedules = schedules, .options = options, .color = options->color, .arena = arena, .out = out};
  hn_text_init(&d.scratch, arena->allocator);
  const hone_status status = options->json ? write_json(&d) : write_text(&d);
  const bool failed = d.scratch.failed || out->failed || status != HONE_OK;
  hn_text_deinit(&d.scratch);
  return failed ? HONE_NO_MEMORY : HONE_OK;
}
