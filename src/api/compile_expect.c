/* SPDX-License-Identifier: Apache-2.0 */
/* compile_expect.c - what an engine under some options would take, from a sample of its layers. */
#include "api/compile.h"
#include "base/arguments.h"
#include "report/explain.h"
#include "run/engine.h"
#include <string.h>

static const double layer_share = 1 / 3.0, time_share = 0.4;

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

static hone_status keep_total(void *user, hn_choices *choices) {
  *(double *)user = choices->total_ns;
  return HONE_OK;
}

hone_status hone_engine_expect(hone_context *context, const hone_graph *graph, hone_device *const *devices,
                               int device_count, const hone_build_options *given, const hone_engine *like,
                               hone_expectation *out) {
  HN_GIVEN(NULL, context);
  hone_diagnostics *diag = &context->diag;
  HN_RESULT(diag, out, hone_expectation, likeliest_ns);
  HN_GIVEN(diag, graph);
  hone_build_options options;
  HN_OPTIONS(diag, "build", given, hone_build_options, progress_user, &options);
  options.max_error = 0;
  options.lock_path = NULL;
  options.refittable = options.strict_device = false;
  options.progress = NULL;
  options.on_span = NULL;
  hone_expectation made = {0};
  hn_sampling sampling = {.layer_share = layer_share, .time_share = time_share};
  const hn_build_watch watch = {.see = keep_total, .user = &made.run_ns, .unjudged = true, .sampling = &sampling};
  hone_engine *none;
  hn_arena arena;
  hn_arena_init(&arena, context->allocator);
  hone_status status = like ? read_like(like, &arena, &sampling, &made.like_ns, diag) : HONE_OK;
  if (status == HONE_OK)
    status = hn_engine_build_watched(context, graph, devices, device_count, &options, &watch, &none);
  hn_arena_deinit(&arena);
  HN_TRY(status);
  made.unknown_layers = sampling.unknown_count;
  made.timed_layers = sampling.timed_count;
  made.timed_ns = sampling.timed_ns;
  made.likeliest_ns = sampling.likeliest_ns;
  hn_result_give(&made, out);
  return HONE_OK;
}
