/* SPDX-License-Identifier: Apache-2.0 */
/* compile_support.c - what of a model runs here, node by node: the model is read and built on paper as hone check does;
 * what is refused is told by the messages, what the reference runs by the plan. */
#include "api/compile.h"
#include "api/engine.h"
#include "base/arguments.h"
#include "import/check.h"
#include "import/import.h"
#include "report/report.h"
#include <hone/support.h>
#include <stdio.h>

typedef struct asker {
  hone_context *context;
  hone_support_fn see;
  void *user;
} asker;

/* Nodes that the messages from number `from` on name. */
static void tell_refused(const asker *a, int from) {
  const hone_diagnostics *diag = &a->context->diag;
  for (int i = from; i < diag->count; ++i) {
    char name[HN_DIAG_TEXT_BYTES], why[HN_DIAG_TEXT_BYTES];
    int length = 0;
    const char *reason = hn_check_node_of(diag->entries[i].text, name, sizeof name, &length);
    if (!reason) continue;
    (void)snprintf(why, sizeof why, "%.*s", length, reason);
    a->see(a->user, name, HONE_SUPPORT_NONE, why);
  }
}

static void tell_reference(const asker *a, const hone_engine *engine) {
  const hn_plan *plan = engine->schedules->plans[0];
  for (int s = 0; s < plan->step_count; ++s) {
    const hn_plan_step *step = &plan->steps[s];
    for (int i = 0; hn_step_is_reference(step) && i < step->origin_count; ++i)
      a->see(a->user, step->origins[i], HONE_SUPPORT_REFERENCE, "");
  }
}

static hone_status ask_build(const asker *a, const hone_graph *graph, const hone_profile_shape *shapes,
                             int shape_count) {
  hone_context *context = a->context;
  hone_device *device;
  hone_engine *engine;
  HN_TRY(hn_open_paper(context, &device));
  const hone_build_options options = {
      .struct_size = sizeof options, .level = -1, .shapes = shapes, .shape_count = shape_count};
  const int from = context->diag.count;
  const hone_status status = hone_engine_build(context, graph, &device, 1, &options, &engine);
  hone_device_close(device);
  if (status == HONE_OK) {
    tell_reference(a, engine);
    hone_engine_release(engine);
  } else if (status == HONE_UNSUPPORTED || status == HONE_MALFORMED) {
    tell_refused(a, from);
  }
  return status;
}

hone_status hone_onnx_support(hone_context *context, const hone_onnx_source *source, const hone_profile_shape *shapes,
                              int shape_count, hone_support_fn see, void *user) {
  HN_GIVEN(NULL, context);
  HN_GIVEN(&context->diag, see);
  HN_TRY(hn_argument_list(&context->diag, "shapes", shapes, shape_count, INT32_MAX));
  hn_call_begin(context);
  hone_onnx_source taken;
  HN_TRY(hn_onnx_source_take(context, source, &taken));
  const asker a = {.context = context, .see = see, .user = user};
  const int from = context->diag.count;
  hone_graph *graph;
  hone_status status = hn_import_onnx_source(context, &taken, &graph);
  if (status != HONE_OK) {
    if (status == HONE_UNSUPPORTED || status == HONE_MALFORMED) tell_refused(&a, from);
    return status;
  }
  status = ask_build(&a, graph, shapes, shape_count);
  hone_graph_destroy(graph);
  return status;
}
