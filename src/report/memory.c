/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - the memory plan as people see it: what is live at each step, where the peak is, and each tensor's place
 * and life. Sizes are those of the opt shapes; what is known only after running is left out and said so. */
#include "base/json.h"
#include "plan/plan.h"
#include "report/grid.h"
#include "report/report.h"
#include "tensor/shape.h"
#include <string.h>

enum { WIDTH = 40, HEIGHT = 8 };

typedef struct memory {
  const hn_schedules *schedules;
  const hn_plan *plan; /* the schedule that is shown now */
  hn_arena *arena;
  hn_text *out, scratch;
  size_t *bytes;  /* of each tensor; 0: not known */
  hn_life *lives; /* of each tensor's place, in steps of the main block */
  size_t *live;   /* bytes of the arena that are needed at each step */
  int steps, peak_step;
  bool has_unknown;
} memory;

static hone_status measure(memory *m, hone_diagnostics *diag) {
  const hn_plan *plan = m->plan;
  hone_shape *opt = HN_NEW(m->arena, hone_shape, plan->input_count + 1);
  int64_t *symbols = HN_NEW(m->arena, int64_t, plan->dims.symbol_count + 1);
  m->steps = plan->block_count > 0 ? plan->blocks[0].step_count : 0;
  m->peak_step = 0;
  m->has_unknown = false;
  m->bytes = HN_NEW(m->arena, size_t, plan->tensor_count + 1);
  m->lives = HN_NEW(m->arena, hn_life, plan->tensor_count + 1);
  m->live = HN_NEW(m->arena, size_t, m->steps + 1);
  if (!opt || !symbols || !m->bytes || !m->lives || !m->live) return HN_FAIL_MEMORY(diag);
  for (int i = 0; i < plan->input_count; ++i) opt[i] = plan->inputs[i].opt;
  HN_TRY(hn_plan_bind_symbols(plan, opt, symbols, diag));
  hn_plan_lives(plan, m->lives);
  for (int t = 0; t < plan->tensor_count; ++t) {
    hone_type type = plan->tensors[t].type;
    const bool known =
        type.kind == HONE_TENSOR &&
        hn_shape_eval(&plan->dims, &plan->tensors[t].type.shape, symbols, plan->dims.symbol_count, &type.shape) &&
        hn_type_bytes(&type, &m->bytes[t]);
    if (!known || plan->tensors[t].place == HN_PLACE_HEAP) m->bytes[t] = 0, m->has_unknown = true;
    if (plan->tensors[t].place != HN_PLACE_ARENA || hn_plan_top(plan, t) != t) continue;
    for (int s = m->lives[t].first; s <= m->lives[t].last && s < m->steps; ++s) m->live[s] += m->bytes[t];
  }
  for (int s = 0; s < m->steps; ++s)
    if (m->live[s] > m->live[m->peak_step]) m->peak_step = s;
  return HONE_OK;
}

/* Sums of what is not the arena. */
static size_t bytes_at(const memory *m, hn_place place) {
  size_t sum = 0;
  for (int t = 0; t < m->plan->tensor_count; ++t)
    if (m->plan->tensors[t].place == place && m->plan->tensors[t].alias_of < 0) sum += m->bytes[t];
  return sum;
}

static size_t peak_of(const memory *m) { return m->steps > 0 ? m->live[m->peak_step] : 0; }

static int column_of(const memory *m, int step) { return m->steps > 0 ? (int)((int64_t)step * WIDTH / m->steps) : 0; }

/* Live bytes over the steps: each column is the largest of its steps. */
static void write_chart(memory *m) {
  size_t column[WIDTH] = {0};
  for (int s = 0; s < m->steps; ++s)
    if (m->live[s] > column[column_of(m, s)]) column[column_of(m, s)] = m->live[s];
  for (int c = 1; m->steps < WIDTH && c < WIDTH; ++c) /* fewer steps than columns */
    if (column[c] == 0) column[c] = column[c - 1];
  for (int row = HEIGHT; row > 0; --row) {
    const double level = (double)peak_of(m) * row / HEIGHT;
    hn_text_printf(m->out, "%10.3f MB |", level * 1e-6);
    for (int c = 0; c < WIDTH; ++c)
      hn_text_add(m->out, (double)column[c] > level - (double)peak_of(m) / HEIGHT ? "#" : " ");
    hn_text_add(m->out, "\n");
  }
  hn_text_printf(m->out, "%13s +", "");
  for (int c = 0; c < WIDTH; ++c) hn_text_add(m->out, "-");
  hn_text_printf(m->out, "\n%13s  step 1%*s%d\n\n", "", WIDTH - 6, "", m->steps);
}

/* Tops by their first step, each followed by those that lie in it. */
static int *in_order(const memory *m) {
  const hn_plan *plan = m->plan;
  int *order = HN_NEW(m->arena, int, plan->tensor_count + 1), count = 0;
  if (!order) return NULL;
  for (int s = 0; s < m->steps; ++s)
    for (int top = 0; top < plan->tensor_count; ++top) {
      if (plan->tensors[top].place != HN_PLACE_ARENA || hn_plan_top(plan, top) != top || m->lives[top].first != s ||
          m->lives[top].first > m->lives[top].last)
        continue;
      order[count++] = top;
      for (int t = 0; t < plan->tensor_count; ++t)
        if (t != top && plan->tensors[t].place == HN_PLACE_ARENA && hn_plan_top(plan, t) == top) order[count++] = t;
    }
  order[count] = -1;
  return order;
}

static const char *type_text(memory *m, int t) {
  hn_text_clear(&m->scratch);
  hn_text_type(&m->scratch, &m->plan->tensors[t].type, &m->plan->dims);
  return hn_text_string(&m->scratch);
}

static void write_life(memory *m, hn_grid *grid, hn_life life) {
  char bar[WIDTH + 1];
  memset(bar, '.', WIDTH);
  bar[WIDTH] = 0;
  for (int c = column_of(m, life.first); c <= column_of(m, life.last); ++c) bar[c] = '#';
  hn_grid_add(grid, "%s", bar);
}

static void write_tensors(memory *m, const int *order, const hone_report_options *options) {
  static const char *const heads[] = {"tensor", "type", "KB", "offset KB", "steps", "life"};
  hn_grid grid;
  hn_grid_init(&grid, m->arena, options, "llrrrr", "dbf");
  for (size_t i = 0; i < HN_COUNT(heads); ++i) hn_grid_add(&grid, "%s", heads[i]);
  for (int k = 0; order[k] >= 0; ++k) {
    const int t = order[k];
    const hn_plan_tensor *tensor = &m->plan->tensors[t];
    const bool own = hn_plan_top(m->plan, t) == t;
    hn_grid_add(&grid, "%s%s", own ? "" : tensor->part_of >= 0 ? "  in it: " : "  same: ", tensor->name);
    hn_grid_add(&grid, "%s", type_text(m, t));
    hn_grid_add(&grid, "%.1f", (double)m->bytes[t] * 1e-3);
    if (m->plan->dynamic)
      hn_grid_add(&grid, "%s", "-");
    else
      hn_grid_add(&grid, "%.1f", (double)tensor->offset * 1e-3);
    hn_grid_add(&grid, "%d-%d", m->lives[t].first + 1, m->lives[t].last + 1);
    if (own)
      write_life(m, &grid, m->lives[t]);
    else
      hn_grid_add(&grid, "%s", "");
  }
  hn_grid_write(&grid, m->out);
}

static void write_text(memory *m, const int *order, const hone_report_options *options) {
  const hn_plan *plan = m->plan;
  const size_t peak = peak_of(m);
  size_t tensors = 0;
  for (int t = 0; t < plan->tensor_count; ++t)
    if (plan->tensors[t].place == HN_PLACE_ARENA && plan->tensors[t].alias_of < 0) tensors += m->bytes[t];
  hn_text_printf(m->out, "weights   %10.3f MB, mapped from the file and shared between processes%s\n",
                 (double)m->schedules->weights_bytes * 1e-6, m->schedules->count > 1 ? "; those of all schedules" : "");
  hn_text_printf(m->out, "inputs    %10.3f MB\noutputs   %10.3f MB\nscratch   %10.3f MB, the largest of any step\n",
                 (double)bytes_at(m, HN_PLACE_INPUT) * 1e-6, (double)bytes_at(m, HN_PLACE_OUTPUT) * 1e-6,
                 (double)plan->scratch_bytes * 1e-6);
  hn_text_printf(m->out, "arena     %10.3f MB for %.3f MB of tensors%s\n", (double)plan->arena_bytes * 1e-6,
                 (double)tensors * 1e-6, plan->dynamic ? ", at the opt shapes" : "");
  if (m->has_unknown)
    hn_text_add(m->out, "heap      tensors of data-dependent shape are left out here and grow during a run\n");
  if (peak == 0) return;
  hn_text_printf(m->out, "peak      %10.3f MB needed at once, at step %d (%s)", (double)peak * 1e-6, m->peak_step + 1,
                 plan->steps[m->peak_step].name);
  hn_text_printf(m->out, "; the arena is %.1f %% larger\n\n", 100 * ((double)plan->arena_bytes / (double)peak - 1));
  write_chart(m);
  write_tensors(m, order, options);
}

/* Memory spaces that tensors lie in: offsets count from the begin of their own. */
static int arenas(const hn_plan *plan) {
  int count = 0;
  for (int d = 0; d < plan->device_count; ++d) count += plan->space_arena_bytes[d] > 0;
  return count;
}

static void put_arenas(const hn_plan *plan, hn_json_writer *w) {
  if (arenas(plan) < 2) return;
  hn_json_open(w, "arenas", '[');
  for (int d = 0; d < plan->device_count; ++d) {
    if (plan->space_arena_bytes[d] == 0) continue;
    hn_json_open_flat(w, NULL, '{');
    hn_json_put_int(w, "space", d);
    hn_json_put_text(w, "device", plan->device_kinds[d]);
    hn_json_put_int(w, "bytes", (int64_t)plan->space_arena_bytes[d]);
    hn_json_close(w, '}');
  }
  hn_json_close(w, ']');
}

static void put_schedule(memory *m, hn_json_writer *w, int number, const int *order) {
  const hn_plan *plan = m->plan;
  hn_json_open(w, NULL, '{');
  hn_json_put_int(w, "schedule", number);
  hn_json_put_int(w, "input_bytes", (int64_t)bytes_at(m, HN_PLACE_INPUT));
  hn_json_put_int(w, "output_bytes", (int64_t)bytes_at(m, HN_PLACE_OUTPUT));
  hn_json_put_int(w, "scratch_bytes", (int64_t)plan->scratch_bytes);
  hn_json_put_int(w, "arena_bytes", (int64_t)plan->arena_bytes);
  put_arenas(plan, w);
  hn_json_put_bool(w, "dynamic", plan->dynamic);
  hn_json_put_bool(w, "has_unknown", m->has_unknown);
  hn_json_put_int(w, "peak_bytes", (int64_t)peak_of(m));
  hn_json_put_text(w, "peak_step", m->steps > 0 ? plan->steps[m->peak_step].name : NULL);
  hn_json_open(w, "steps", '[');
  for (int s = 0; s < m->steps; ++s) {
    hn_json_open_flat(w, NULL, '{');
    hn_json_put_text(w, "name", plan->steps[s].name);
    hn_json_put_int(w, "live_bytes", (int64_t)m->live[s]);
    hn_json_close(w, '}');
  }
  hn_json_close(w, ']');
  hn_json_open(w, "tensors", '[');
  for (int k = 0; order[k] >= 0; ++k) {
    const hn_plan_tensor *tensor = &plan->tensors[order[k]];
    hn_json_open_flat(w, NULL, '{');
    hn_json_put_text(w, "name", tensor->name);
    hn_json_put_text(w, "type", type_text(m, order[k]));
    hn_json_put_int(w, "bytes", (int64_t)m->bytes[order[k]]);
    if (!plan->dynamic) hn_json_put_int(w, "offset", (int64_t)tensor->offset);
    if (arenas(plan) > 1) hn_json_put_int(w, "space", tensor->device);
    hn_json_put_int(w, "first_step", m->lives[order[k]].first);
    hn_json_put_int(w, "last_step", m->lives[order[k]].last);
    if (tensor->alias_of >= 0) hn_json_put_text(w, "same_place_as", plan->tensors[tensor->alias_of].name);
    if (tensor->part_of >= 0) hn_json_put_text(w, "lies_in", plan->tensors[tensor->part_of].name);
    hn_json_close(w, '}');
  }
  hn_json_close(w, ']');
  hn_json_close(w, '}');
}

static hone_status write_schedules(memory *m, const hone_report_options *options, hn_json_writer *w,
                                   hone_diagnostics *diag) {
  for (int k = 0; k < m->schedules->count; ++k) {
    if (!hn_report_wants(options, k)) continue;
    m->plan = m->schedules->plans[k];
    HN_TRY(measure(m, diag));
    const int *order = in_order(m);
    if (!order) return HONE_NO_MEMORY;
    if (options->json) {
      put_schedule(m, w, k, order);
      continue;
    }
    if (m->schedules->count > 1) hn_text_printf(m->out, "%sschedule  %d\n", k ? "\n" : "", k);
    write_text(m, order, options);
  }
  return HONE_OK;
}

hone_status hn_report_memory(const hn_schedules *schedules, const hone_report_options *options, hn_arena *arena,
                             hn_text *out, hone_diagnostics *diag) {
  memory m = {.schedules = schedules, .arena = arena, .out = out};
  hn_json_writer writer, *w = &writer;
  hn_text_init(&m.scratch, arena->allocator);
  hn_json_begin(w, out);
  if (options->json) {
    hn_json_open(w, NULL, '{');
    hn_json_put_int(w, "schema", HONE_JSON_SCHEMA);
    hn_json_put_int(w, "weights_bytes", (int64_t)schedules->weights_bytes);
    hn_json_open(w, "schedules", '[');
  }
  hone_status status = write_schedules(&m, options, w, diag);
  if (options->json) {
    hn_json_close(w, ']');
    hn_json_close(w, '}');
    hn_text_add(out, "\n");
  }
  if (status == HONE_OK && (m.scratch.failed || out->failed)) status = HONE_NO_MEMORY;
  hn_text_deinit(&m.scratch);
  return status;
}
