/* SPDX-License-Identifier: Apache-2.0 */
/* schedules.c - the life of what an engine holds, and what its schedules must have in common. */
#include "plan/schedules.h"
#include "base/hash.h"
#include "tensor/shape.h"
#include <string.h>

hone_status hn_schedules_create(hn_allocator allocator, hn_schedules **out, hone_diagnostics *diag) {
  *out = NULL;
  hn_schedules *schedules = hn_alloc_zero(&allocator, sizeof *schedules);
  if (!schedules) return HN_FAIL_MEMORY(diag);
  schedules->allocator = allocator;
  hn_arena_init(&schedules->arena, allocator);
  *out = schedules;
  return HONE_OK;
}

void hn_schedules_destroy(hn_schedules *schedules) {
  if (!schedules) return;
  const hn_allocator allocator = schedules->allocator;
  for (int k = 0; k < schedules->count; ++k) hn_plan_destroy(schedules->plans[k]);
  hn_free(&allocator, schedules->owned_weights, schedules->owned_bytes);
  hn_blob_close(&schedules->file);
  hn_arena_deinit(&schedules->arena);
  hn_free(&allocator, schedules, sizeof *schedules);
}

/* One input or output of two schedules: the same to whoever runs the engine, but for its extents. */
static hone_status check_port(const hn_plan *a, const hn_plan_port *first, const hn_plan *b, const hn_plan_port *port,
                              bool input, hone_diagnostics *diag) {
  const hone_type *x = &a->tensors[first->tensor].type, *y = &b->tensors[port->tensor].type;
  if (strcmp(first->name, port->name) != 0)
    return HN_FAIL(diag, HONE_MALFORMED, "it is called %s here and %s in the first schedule", port->name, first->name);
  if (x->kind != y->kind || x->dtype != y->dtype)
    return HN_FAIL(diag, HONE_MALFORMED, "it is %s here and %s in the first schedule", hone_dtype_name(y->dtype),
                   hone_dtype_name(x->dtype));
  const bool rank_known = input || (x->shape.rank >= 0 && y->shape.rank >= 0);
  if (rank_known && x->shape.rank != y->shape.rank)
    return HN_FAIL(diag, HONE_MALFORMED, "it has rank %d here and %d in the first schedule", y->shape.rank,
                   x->shape.rank);
  return HONE_OK;
}

static hone_status check_ports(const hn_plan *a, const hn_plan *b, bool input, hone_diagnostics *diag) {
  const int count = input ? a->input_count : a->output_count, own = input ? b->input_count : b->output_count;
  const char *what = input ? "input" : "output";
  if (count != own)
    return HN_FAIL(diag, HONE_MALFORMED, "there are %d %ss, and %d in the first schedule", own, what, count);
  for (int i = 0; i < count; ++i)
    HN_TRY_NOTE(
        diag,
        check_port(a, input ? &a->inputs[i] : &a->outputs[i], b, input ? &b->inputs[i] : &b->outputs[i], input, diag),
        "in %s %d", what, i);
  return HONE_OK;
}

static hone_status check_devices(const hn_plan *a, const hn_plan *b, hone_diagnostics *diag) {
  bool same = a->device_count == b->device_count && a->host == b->host;
  for (int d = 0; same && d < a->device_count; ++d)
    same = strcmp(a->device_kinds[d], b->device_kinds[d]) == 0 && a->spaces[d] == b->spaces[d];
  return same ? HONE_OK : HN_FAIL(diag, HONE_MALFORMED, "its devices are not those of the first schedule");
}

static hone_status check_fits(const hn_schedules *schedules, const hn_plan *plan, hone_diagnostics *diag) {
  if (schedules->count == HONE_MAX_SCHEDULES)
    return HN_FAIL(diag, HONE_LIMIT, "an engine has at most %d schedules", HONE_MAX_SCHEDULES);
  if (schedules->count == 0) return HONE_OK;
  HN_TRY(check_devices(schedules->plans[0], plan, diag));
  HN_TRY(check_ports(schedules->plans[0], plan, true, diag));
  return check_ports(schedules->plans[0], plan, false, diag);
}

hone_status hn_schedules_add(hn_schedules *schedules, hn_plan *take_plan, hone_diagnostics *diag) {
  const hone_status status = check_fits(schedules, take_plan, diag);
  if (status != HONE_OK) {
    hn_plan_destroy(take_plan);
    return status;
  }
  schedules->plans[schedules->count++] = take_plan;
  take_plan->weights = schedules->weights;
  take_plan->weights_bytes = schedules->weights_bytes;
  return HONE_OK;
}

const char *hn_schedules_plugin(const hn_schedules *schedules, const char *row) {
  for (int i = 0; i + 1 < schedules->plugin_name_count; i += 2)
    if (strcmp(schedules->plugin_names[i], row) == 0) return schedules->plugin_names[i + 1];
  return NULL;
}

hn_engine_parts hn_schedules_parts(const hn_schedules *schedules) {
  return (hn_engine_parts){
      .stripped = schedules->stripped, .onnx = schedules->onnx, .onnx_bytes = schedules->onnx_bytes};
}

hone_status hn_schedules_check_onnx(const hn_schedules *schedules, hone_diagnostics *diag) {
  if (!schedules->onnx)
    return HN_FAIL(diag, HONE_INVALID, "the engine does not carry its model (hone build --embed-model)");
  if (hn_hash(schedules->onnx, (size_t)schedules->onnx_bytes) == schedules->onnx_hash) return HONE_OK;
  return HN_FAIL(diag, HONE_MALFORMED, "the engine's model is damaged (its hash is wrong)");
}
