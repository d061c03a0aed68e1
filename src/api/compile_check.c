/* SPDX-License-Identifier: Apache-2.0 */
/* compile_check.c - a model's coverage before a build, as text or JSON: what is supported, and what share of the work
 * would have no kernel. The question is the build's own: the model is imported, and built on paper for a machine like
 * this one, where nothing is timed, run or written. */
#include "api/compile.h"
#include "api/engine.h"
#include "base/arguments.h"
#include "base/json.h"
#include "device/isa.h"
#include "import/check.h"
#include "ir/branch.h"
#include "report/grid.h"
#include "report/report.h"
#include <math.h>
#include <string.h>

typedef struct coverage {
  hone_context *context;
  const hone_report_options *options;
  const char *path;
  hn_check check;
  bool built;          /* on paper */
  const char *refused; /* why no shapes are known to work, where free dims were given none; NULL: there are some */
  int chosen_count;
  hn_plan_port *chosen; /* inputs whose free dims were given none; after a build, with shapes */
  hone_engine_summary summary;
  int failure_count, failure_capacity; /* branches that the shapes refuse */
  const char **failures;
} coverage;

/* ---- the build on paper ---- */

hone_status hn_open_paper(hone_context *context, hone_device **out) {
  hone_device *here;
  HN_TRY(hone_device_open(context, "cpu", 0, NULL, &here));
  const hone_facts facts = here->facts;
  hone_device_close(here);
  const hone_device_options options = {.struct_size = sizeof options,
                                       .threads = facts.threads,
                                       .machine = facts.isa & HONE_ISA_AVX512 ? "avx512"
                                                  : facts.isa & HONE_ISA_AVX2 ? "avx2"
                                                                              : "c"};
  return hone_device_open(context, "cpu", 0, &options, out);
}

/* Which of the model's nodes the reference runs, and what they take there: of a step's each the same. */
static void mark_slow(coverage *c, const hone_engine *engine) {
  const hn_plan *plan = engine->schedules->plans[0];
  for (int s = 0; s < plan->step_count; ++s) {
    const hn_plan_step *step = &plan->steps[s];
    for (int i = 0; hn_step_is_reference(step) && i < step->origin_count; ++i)
      hn_check_slow(&c->check, step->origins[i], hn_report_reference_ns(&step->cost) / step->origin_count);
  }
}

static hone_status add_failure(coverage *c, const char *message) {
  hn_arena *arena = &c->check.arena;
  if (!hn_arena_grow(arena, (void **)&c->failures, &c->failure_capacity, c->failure_count + 1, sizeof *c->failures) ||
      !(c->failures[c->failure_count] = hn_arena_text(arena, message)))
    return HN_FAIL_MEMORY(&c->context->diag);
  ++c->failure_count;
  return HONE_OK;
}

/* The branches that a run would fail in, for the shapes that were asked about. */
static hone_status find_failures(coverage *c, const hone_engine *engine) {
  const hn_plan *plan = engine->schedules->plans[0];
  for (int s = 0; s < plan->step_count; ++s) {
    const hn_plan_step *step = &plan->steps[s];
    const bool fails = step->op && (step->op->traits & HONE_FAILS);
    const hone_attr *message = fails ? hn_attr_find(&step->attrs, "message") : NULL;
    if (fails) HN_TRY(add_failure(c, message ? message->s : step->name));
  }
  return HONE_OK;
}

/* Where nothing could be built: those that importing found. */
static hone_status find_refused(coverage *c, const hn_block *block) {
  const char *message = hn_block_failure(block);
  if (message) HN_TRY(add_failure(c, message));
  for (const hn_node *node = block->first; node; node = node->next)
    for (int b = 0; b < node->block_count; ++b) HN_TRY(find_refused(c, node->blocks[b]));
  return HONE_OK;
}

/* ---- free dims ---- */

static bool is_given(const coverage *c, const char *input) {
  for (int i = 0; i < c->options->shape_count; ++i)
    if (hn_name_equal(c->options->shapes[i].input, input)) return true;
  return false;
}

static hone_status find_free(coverage *c) {
  const hn_block *main = c->check.graph->main;
  c->chosen = HN_NEW(&c->check.arena, hn_plan_port, main->param_count + 1);
  if (!c->chosen) return HN_FAIL_MEMORY(&c->context->diag);
  for (int i = 0; i < main->param_count; ++i) {
    const hone_shape *shape = &main->params[i]->fact.type.shape;
    bool is_free = false;
    for (int d = 0; d < shape->rank; ++d) is_free = is_free || HONE_SYMBOLIC(shape->dim[d]);
    if (is_free && !is_given(c, main->params[i]->name))
      c->chosen[c->chosen_count++] = (hn_plan_port){.name = main->params[i]->name, .opt = *shape};
  }
  return HONE_OK;
}

static void take_chosen(coverage *c, const hone_engine *engine) {
  const hn_plan *plan = engine->schedules->plans[0];
  for (int k = 0; k < c->chosen_count; ++k)
    for (int i = 0; i < plan->input_count; ++i)
      if (hn_name_equal(plan->inputs[i].name, c->chosen[k].name)) c->chosen[k].opt = plan->inputs[i].opt;
}

/* What shapes would have been refused for is no defect of the model: they are the caller's to give. */
static hone_status forgive_shapes(coverage *c, int from, hone_status status) {
  hone_diagnostics *diag = &c->context->diag;
  if (c->chosen_count == 0 || (status != HONE_INVALID && status != HONE_MALFORMED)) return status;
  const char *why = from < diag->count ? diag->entries[from].text : "";
  c->refused = hn_arena_printf(&c->check.arena, "%.*s", (int)strcspn(why, "\n"), why);
  if (!c->refused) return HN_FAIL_MEMORY(diag);
  hn_diag_cut(diag, from);
  return HONE_OK;
}

static hone_status build_on_paper(coverage *c) {
  hone_device *device;
  hone_engine *engine;
  HN_TRY(find_free(c));
  HN_TRY(hn_open_paper(c->context, &device));
  const hn_build_watch watch = {.sizes = true};
  const hone_build_options options = {
      .struct_size = sizeof options, .level = -1, .shapes = c->options->shapes, .shape_count = c->options->shape_count};
  const int from = c->context->diag.count;
  hone_status status = hn_engine_build_watched(c->context, c->check.graph, &device, 1, &options, &watch, &engine);
  if (status == HONE_OK) {
    c->summary = HONE_SIZED(hone_engine_summary);
    status = hone_engine_summarize_schedule(engine, 0, &c->summary);
    c->built = status == HONE_OK;
    mark_slow(c, engine);
    take_chosen(c, engine);
    if (c->built) status = find_failures(c, engine);
    hone_engine_release(engine);
  } else if (status == HONE_UNSUPPORTED) {
    hn_check_blame(&c->check, c->context, from);
    if (c->context->diag.count == from) status = HONE_OK; /* the rows say it all */
  }
  hone_device_close(device);
  status = forgive_shapes(c, from, status);
  if (status == HONE_OK && !c->built) status = find_refused(c, c->check.graph->main);
  return status;
}

/* ---- text and JSON ---- */

/* The reference takes a share of the time that is worth a word. */
static bool is_slow(const coverage *c) {
  return c->built && c->summary.reference_ns > 0.1 * (c->summary.other_ns + c->summary.reference_ns);
}

/* Two digits: they are estimates. */
static void add_time(hn_text *text, double ns) {
  const char *unit = ns >= 950e6 ? "s" : "ms";
  const double value = ns * (ns >= 950e6 ? 1e-9 : 1e-6);
  if (value >= 9.5)
    hn_text_printf(text, "%.0f %s", value < 95 ? value : 10 * round(value / 10), unit);
  else
    hn_text_printf(text, "%.2g %s", value, unit);
}

static const char *plural(int64_t count) { return count == 1 ? "" : "s"; }

/* What takes most of it, by operators. */
static void add_slowest(const coverage *c, hn_text *out) {
  const hn_check_row *worst = NULL;
  for (int i = 0; i < c->check.row_count; ++i)
    if (!worst || c->check.rows[i].slow_ns > worst->slow_ns) worst = &c->check.rows[i];
  if (!worst || worst->slow_ns <= 0) return;
  hn_text_printf(out, "          most of it in %s (%lld node%s, about ", worst->op, (long long)worst->slow_count,
                 plural(worst->slow_count));
  add_time(out, worst->slow_ns);
  hn_text_add(out, ")\n");
}

static void add_shape(hn_text *text, const hone_shape *shape) {
  for (int d = 0; d < shape->rank; ++d)
    if (HONE_SYMBOLIC(shape->dim[d]))
      hn_text_add(text, d ? "x?" : "?");
    else
      hn_text_printf(text, d ? "x%lld" : "%lld", (long long)shape->dim[d]);
}

/* As --shapes takes them. */
static void write_chosen(const coverage *c, hn_text *out) {
  enum { MOST = 8 };
  if (c->chosen_count == 0 || !(c->built || c->refused)) return;
  hn_text_add(out, "shapes    ");
  for (int i = 0; i < c->chosen_count && i < MOST; ++i) {
    hn_text_printf(out, "%s%s:", i ? "," : "", c->chosen[i].name);
    add_shape(out, &c->chosen[i].opt);
  }
  if (c->chosen_count > MOST) hn_text_printf(out, ",... (%d inputs)", c->chosen_count);
  if (c->built)
    hn_text_add(out, "\n          taken for the model's free dims, since none were given (--shapes)\n");
  else
    hn_text_printf(out,
                   "\n          no sizes of the model's free dims are known to work, so that kernels were not asked;"
                   "\n          give them by --shapes. With 1: %s\n",
                   c->refused);
}

static void write_slow(const coverage *c, hn_text *out) {
  const hone_engine_summary *s = &c->summary;
  if (!c->built) return;
  if (s->reference_steps == 0) {
    hn_text_add(out, "kernels   for all of them\n");
    return;
  }
  hn_text_printf(out, "kernels   for all but %d nodes (%d of %d steps once optimised)", s->reference_nodes,
                 s->reference_steps, s->step_count);
  if (is_slow(c)) {
    hn_text_printf(out,
                   "\nslow      %.0f %% of the FLOPs have no fast kernel here and run on the reference:\n"
                   "          a run takes about ",
                   ceil(s->flops > 0 ? 100 * s->reference_flops / s->flops : 0));
    add_time(out, s->reference_ns + s->other_ns);
    hn_text_add(out, "; with kernels it would take about ");
    add_time(out, s->kernel_ns + s->other_ns);
    hn_text_add(out, " (estimates)\n");
    add_slowest(c, out);
  } else {
    hn_text_add(out, ", which take little time\n");
  }
}

static void write_failures(const coverage *c, hn_text *out) {
  if (c->failure_count == 0) return;
  hn_text_printf(out, "fails     %d branch%s, if a run takes %s:\n", c->failure_count,
                 c->failure_count == 1 ? "" : "es", c->failure_count == 1 ? "it" : "one");
  for (int i = 0; i < c->failure_count; ++i) hn_text_printf(out, "          %s\n", c->failures[i]);
}

static void write_text(coverage *c, hn_text *out) {
  hn_check *check = &c->check;
  const char *path = c->path;
  hn_text_printf(out, "model     %s%s%s\n", path, check->producer[0] ? ", by " : "", check->producer);
  hn_text_printf(out, "opset     %lld (IR version %lld)\n", (long long)check->opset, (long long)check->ir_version);
  hn_text_printf(out, "nodes     %lld, %lld initializer%s, %lld input%s, %lld output%s, %lld function%s\n",
                 (long long)check->node_count, (long long)check->initializer_count, plural(check->initializer_count),
                 (long long)check->input_count, plural(check->input_count), (long long)check->output_count,
                 plural(check->output_count), (long long)check->function_count, plural(check->function_count));
  hn_text_printf(out, "coverage  %lld of %lld nodes supported\n",
                 (long long)(check->node_count - check->unsupported_nodes), (long long)check->node_count);
  write_chosen(c, out);
  write_slow(c, out);
  write_failures(c, out);
  hn_text_add(out, "\n");
  hn_grid grid;
  hn_grid_init(&grid, &check->arena, c->options, "llrrlrrll", "bgc");
  static const char *const heads[] = {"operator",  "domain", "opset", "nodes", "supported",
                                      "reference", "ms",     "first", "reason"};
  for (size_t i = 0; i < HN_COUNT(heads); ++i) hn_grid_add(&grid, "%s", heads[i]);
  for (int i = 0; i < check->row_count; ++i) {
    const hn_check_row *row = &check->rows[i];
    hn_grid_add(&grid, "%s", row->op);
    hn_grid_add(&grid, "%s", row->domain);
    hn_grid_add(&grid, "%lld", (long long)row->opset);
    hn_grid_add(&grid, "%lld", (long long)row->count);
    hn_grid_add(&grid, "%s", row->supported ? "yes" : "NO");
    if (row->slow_count > 0) {
      hn_grid_add(&grid, "%lld", (long long)row->slow_count);
      hn_grid_add(&grid, "%.2g", row->slow_ns * 1e-6);
    } else {
      hn_grid_add(&grid, "%s", "");
      hn_grid_add(&grid, "%s", "");
    }
    hn_grid_add(&grid, "%s", row->example);
    hn_grid_add(&grid, "%s", row->reason);
  }
  hn_grid_write(&grid, out);
}

/* Where nothing was built, nothing is known. */
static void put_slow(hn_json_writer *w, const coverage *c) {
  const hone_engine_summary *s = &c->summary;
  if (!c->built) {
    hn_json_put_text(w, "reference", NULL);
    return;
  }
  hn_json_open_flat(w, "reference", '{');
  hn_json_put_int(w, "nodes", s->reference_nodes);
  hn_json_put_int(w, "steps", s->reference_steps);
  hn_json_put_int(w, "of_steps", s->step_count);
  hn_json_put_real(w, "flops_percent", s->flops > 0 ? 100 * s->reference_flops / s->flops : 0);
  hn_json_put_real(w, "estimated_ms", (s->reference_ns + s->other_ns) * 1e-6);
  hn_json_put_real(w, "estimated_ms_with_kernels", (s->kernel_ns + s->other_ns) * 1e-6);
  hn_json_close(w, '}');
}

/* Dims for which no sizes are known to work are null. */
static void put_chosen(hn_json_writer *w, const coverage *c) {
  hn_json_open(w, "shapes_taken", '{');
  for (int i = 0; i < c->chosen_count; ++i) {
    const hone_shape *shape = &c->chosen[i].opt;
    hn_json_open_flat(w, c->chosen[i].name, '[');
    for (int d = 0; d < shape->rank; ++d)
      if (HONE_SYMBOLIC(shape->dim[d]))
        hn_json_put_text(w, NULL, NULL);
      else
        hn_json_put_int(w, NULL, shape->dim[d]);
    hn_json_close(w, ']');
  }
  hn_json_close(w, '}');
}

static void write_json(const coverage *c, hn_text *out) {
  const hn_check *check = &c->check;
  const char *path = c->path;
  hn_json_writer writer, *w = &writer;
  hn_json_begin(w, out);
  hn_json_open(w, NULL, '{');
  hn_json_put_int(w, "schema", HONE_JSON_SCHEMA);
  hn_json_put_text(w, "model", path);
  hn_json_put_text(w, "producer", check->producer);
  hn_json_put_text(w, "graph", check->graph_name);
  hn_json_put_int(w, "ir_version", check->ir_version);
  hn_json_put_int(w, "opset", check->opset);
  hn_json_put_int(w, "nodes", check->node_count);
  hn_json_put_int(w, "unsupported_nodes", check->unsupported_nodes);
  hn_json_put_int(w, "inputs", check->input_count);
  put_chosen(w, c);
  put_slow(w, c);
  hn_json_open(w, "failing_branches", '[');
  for (int i = 0; i < c->failure_count; ++i) hn_json_put_text(w, NULL, c->failures[i]);
  hn_json_close(w, ']');
  hn_json_open(w, "operators", '[');
  for (int i = 0; i < check->row_count; ++i) {
    const hn_check_row *row = &check->rows[i];
    hn_json_open_flat(w, NULL, '{');
    hn_json_put_text(w, "op", row->op);
    hn_json_put_text(w, "domain", row->domain);
    hn_json_put_int(w, "opset", row->opset);
    hn_json_put_int(w, "nodes", row->count);
    hn_json_put_bool(w, "supported", row->supported);
    hn_json_put_int(w, "reference", row->slow_count);
    hn_json_put_real(w, "reference_ms", row->slow_ns * 1e-6);
    hn_json_put_text(w, "first", row->example);
    hn_json_put_text(w, "reason", row->reason);
    hn_json_close(w, '}');
  }
  hn_json_close(w, ']');
  hn_json_close(w, '}');
  hn_text_add(out, "\n");
}

/* The report is written in either case; then what is missing is the call's error, each in a message. */
static hone_status missing(hone_context *context, const hn_check *check) {
  hone_status status = HONE_OK;
  for (int i = 0; i < check->row_count; ++i) {
    const hn_check_row *row = &check->rows[i];
    if (!row->supported)
      status = HN_FAIL(&context->diag, HONE_UNSUPPORTED, "%s (%s, opset %lld), first in %s: %s", row->op, row->domain,
                       (long long)row->opset, row->example, row->reason);
  }
  return status;
}

static hone_status report(coverage *c, hone_write_fn write, void *user) {
  hone_context *context = c->context;
  hone_status status = c->check.status;
  if (status == HONE_OK && c->check.graph) status = build_on_paper(c);
  hn_check_sort(&c->check);
  hn_text text;
  hn_text_init(&text, context->allocator);
  if (c->options->json)
    write_json(c, &text);
  else
    write_text(c, &text);
  if (text.failed)
    status = HN_FAIL_MEMORY(&context->diag);
  else if (!write(user, hn_text_string(&text), text.length))
    status = HN_FAIL(&context->diag, HONE_IO, "the report could not be written");
  hn_text_deinit(&text);
  const hone_status lacks = missing(context, &c->check);
  return status == HONE_OK ? lacks : status;
}

hone_status hone_report_check(hone_context *context, const char *onnx_path, const hone_report_options *given,
                              hone_write_fn write, void *user) {
  HN_GIVEN(NULL, context);
  HN_GIVEN(&context->diag, onnx_path);
  HN_GIVEN(&context->diag, write);
  hone_report_options options;
  HN_TRY(hn_report_options_take(&context->diag, given, &options));
  coverage c = {.context = context, .options = &options, .path = onnx_path};
  hn_call_begin(context);
  HN_TRY(hn_check_onnx(context, onnx_path, &c.check));
  const hone_status status = report(&c, write, user);
  hn_check_deinit(&c.check);
  return status;
}
