/* SPDX-License-Identifier: Apache-2.0 */
/* compile_expect.c - what an engine under some options would take, by the layers that a run is made of. */
#include "api/compile.h"
#include "api/engine.h"
#include "base/arguments.h"
#include "base/hash.h"
#include "report/explain.h"
#include "run/engine.h"
#include <string.h>

/* Of a run: the rest is many short layers, whose estimates move a sum by less than noise. */
static const double enough = 0.95;

/* The ledger of the engine as it is: what its layers take by the tuner's times, and what runs as its parts. */
static hone_status read_like(const hone_engine *like, hn_arena *arena, hn_sampling *sampling, double *out_ns,
                             hone_diagnostics *diag) {
  const hn_json *ledger;
  if (!like->ledger) return HN_FAIL(diag, HONE_INVALID, "like: the engine was not built in this process");
  HN_TRY(hn_ledger_read("the ledger", like->ledger, strlen(like->ledger), 0, 0, arena, &ledger, diag));
  const hn_json *splits = hn_json_get(ledger, "splits");
  const int count = (int)hn_ledger_count(splits);
  sampling->parts = HN_NEW(arena, const char *, count + 1);
  if (!sampling->parts) return HN_FAIL_MEMORY(diag);
  for (int i = 0; i < count; ++i) sampling->parts[i] = hn_ledger_text(&splits->items[i], "node");
  sampling->part_count = count;
  if (like->timed_nodes > 0) *out_ns = hn_ledger_real(ledger, "expected_ns", 0);
  return HONE_OK;
}

/* ---- what layers take now ---- */

/* The engine as it is, by the nodes of the model that its steps stand for: a step by its first one. */
typedef struct present {
  const hn_plan *plan;
  hn_table steps; /* [the node's name]: an hn_plan_step with a time */
  hone_expectation *made;
} present;

static hone_status read_steps(const hone_engine *like, hn_arena *arena, present *out, hone_diagnostics *diag) {
  out->plan = like->schedules->plans[0];
  hn_table_init(&out->steps, arena);
  for (int i = 0; i < out->plan->step_count; ++i) {
    hn_plan_step *step = &out->plan->steps[i];
    if (step->origin_count == 0 || step->caused_by || !(step->time_ns > 0)) continue;
    if (!hn_table_put(&out->steps, step->origins[0], step)) return HN_FAIL_MEMORY(diag);
  }
  return HONE_OK;
}

static const hn_plan_step *step_of(const present *p, const hn_node *node, int origin) {
  return hn_table_get(&p->steps, node->origins.names[origin]);
}

static double now_ns(void *user, const hn_node *node) {
  double sum = 0;
  for (int i = 0; i < node->origins.count; ++i) {
    const hn_plan_step *step = step_of(user, node, i);
    if (step) sum += step->time_ns;
  }
  return sum;
}

/* Layers proper: what the others beside them only work on elements of. */
static bool is_layer(const hn_plan_step *step) { return !(step->op->traits & HONE_ELEMENTWISE); }

static bool is_taken_in(const hn_plan_step *step) { return !is_layer(step) || (step->op->traits & HONE_PER_CHANNEL); }

static int layers_of(const present *p, const hn_node *node, double *out_ns, const hn_plan_step **out_one) {
  int count = 0;
  *out_ns = 0;
  for (int i = 0; i < node->origins.count; ++i) {
    const hn_plan_step *step = step_of(p, node, i);
    if (!step || is_taken_in(step)) continue;
    *out_one = step;
    *out_ns += step->time_ns;
    ++count;
  }
  return count;
}

/* A layer that only takes in what stood behind it is the same work by the same kernel. */
static double same_ns(void *user, const hn_node *node, double flops) {
  const hn_plan_step *step = NULL;
  double ns;
  if (layers_of(user, node, &ns, &step) != 1 || node->origins.count <= step->origin_count) return 0;
  if (flops > 1.3 * step->cost.flops || flops < step->cost.flops) return 0;
  return ns;
}

/* What a node stands for, each step once: passes name a step behind several nodes that it went into. */
static void add_joined(const present *p, const hn_node *node, bool *counted) {
  for (int i = 0; i < node->origins.count; ++i) {
    const hn_plan_step *step = step_of(p, node, i);
    if (!step || counted[step - p->plan->steps]) continue;
    counted[step - p->plan->steps] = true;
    p->made->joined_now_ns += step->time_ns;
    p->made->joined_taken_ns += is_taken_in(step) ? step->time_ns : 0;
  }
}

/* The sum, and apart what computes several layers of now at once. */
static hone_status see(void *user, hn_choices *choices) {
  present *p = user;
  p->made->run_ns = choices->total_ns;
  if (!p->plan) return HONE_OK;
  bool *counted = HN_NEW(&choices->arena, bool, p->plan->step_count + 1);
  if (!counted) return HN_FAIL_MEMORY(&choices->context->diag);
  for (int i = 0; i < p->plan->step_count; ++i) {
    const hn_plan_step *step = &p->plan->steps[i];
    if (step->origin_count > 0 && !step->caused_by && is_taken_in(step)) p->made->taken_ns += step->time_ns;
  }
  for (int i = 0; i < choices->count; ++i) {
    const hn_choice *choice = &choices->items[i];
    const hn_plan_step *one = NULL;
    double ns;
    if (!hn_choice_runs(choice) || layers_of(p, choice->node, &ns, &one) < 2) continue;
    add_joined(p, choice->node, counted);
    p->made->joined_ns += choice->taken_ns;
  }
  return HONE_OK;
}

static bool runs_alike(const hone_engine *like, const hone_device *device) {
  return device->backend == like->devices[0]->backend && device->facts.threads == like->devices[0]->facts.threads;
}

/* Do the same kernels run: as many threads, and no narrower types than before? */
static bool has_same_kernels(const hone_engine *like, hone_device *const *devices, const hone_build_options *options) {
  const hn_plan *plan = like->schedules->plans[0];
  uint32_t held = 0;
  for (int t = 0; t < plan->tensor_count; ++t) held |= HONE_BIT(plan->tensors[t].dtype);
  return devices[0]->facts.threads == like->devices[0]->facts.threads && !(options->precisions & ~held);
}

hone_status hone_engine_expect(hone_context *context, const hone_graph *graph, hone_device *const *devices,
                               int device_count, const hone_build_options *given, const hone_engine *like,
                               hone_expectation *out) {
  HN_GIVEN(NULL, context);
  hone_diagnostics *diag = &context->diag;
  HN_RESULT(diag, out, hone_expectation, joined_now_ns);
  HN_GIVEN(diag, graph);
  hone_build_options options;
  HN_OPTIONS(diag, "build", given, hone_build_options, progress_user, &options);
  options.max_error = 0;
  options.lock_path = NULL;
  options.refittable = options.strict_device = false;
  options.progress = NULL;
  options.on_span = NULL;
  hone_expectation made = {0};
  hn_sampling sampling = {.enough = enough};
  present now = {.made = &made};
  const hn_build_watch watch = {.see = see, .user = &now, .unjudged = true, .sampling = &sampling};
  hone_engine *none;
  hn_arena arena;
  hn_arena_init(&arena, context->allocator);
  hone_status status = hn_argument_pointers(diag, "devices", devices, device_count, HN_MAX_DEVICES);
  if (status == HONE_OK && like) status = read_like(like, &arena, &sampling, &made.like_ns, diag);
  if (status == HONE_OK && made.like_ns > 0) {
    status = read_steps(like, &arena, &now, diag);
    sampling.now_ns = now_ns;
    if (device_count > 0 && has_same_kernels(like, devices, &options)) sampling.same_ns = same_ns;
    sampling.user = &now;
  }
  if (device_count > 0 && like && runs_alike(like, devices[0])) sampling.plan = like->schedules->plans[0];
  if (status == HONE_OK)
    status = hn_engine_build_watched(context, graph, devices, device_count, &options, &watch, &none);
  hn_arena_deinit(&arena);
  HN_TRY(status);
  made.unknown_layers = sampling.unknown_count;
  made.timed_layers = sampling.timed_count;
  made.timed_ns = sampling.timed_ns;
  made.likeliest_ns = sampling.likeliest_ns;
  made.known_share = sampling.known_share;
  if (sampling.plan_ns > 0) {
    made.like_ns = sampling.plan_ns;
    made.run_ns = sampling.plan_ns - sampling.gain_ns;
  }
  hn_result_give(&made, out);
  return HONE_OK;
}
