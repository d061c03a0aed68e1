/* SPDX-License-Identifier: Apache-2.0 */
/* weights.c - the weights in the memory of devices that have their own: gathered from the steps and tensors of all
 * schedules, joined to runs, uploaded once an engine. */
#include "run/engine.h"
#include "tensor/shape.h"
#include <stdlib.h>

enum { ALIGNMENT = 256 };

static hone_status add_run(hone_engine *engine, hn_device_weights *weights, uint64_t begin, uint64_t bytes,
                           hone_diagnostics *diag) {
  if (bytes == 0) return HONE_OK;
  if (!hn_arena_grow(&engine->weights_arena, (void **)&weights->runs, &weights->run_capacity, weights->run_count + 1,
                     sizeof *weights->runs))
    return HN_FAIL_MEMORY(diag);
  weights->runs[weights->run_count++] = (hn_weight_run){.begin = begin, .end = begin + bytes};
  return HONE_OK;
}

static int by_begin(const void *a, const void *b) {
  const hn_weight_run *x = a, *y = b;
  return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Sorts, joins what overlaps or touches, and gives each run its place. Returns the bytes of all. */
static uint64_t join_runs(hn_device_weights *weights) {
  int kept = 0;
  uint64_t total = 0;
  if (weights->run_count) qsort(weights->runs, (size_t)weights->run_count, sizeof *weights->runs, by_begin);
  for (int i = 0; i < weights->run_count; ++i) {
    hn_weight_run *last = kept ? &weights->runs[kept - 1] : NULL;
    if (last && weights->runs[i].begin <= last->end) {
      if (weights->runs[i].end > last->end) last->end = weights->runs[i].end;
    } else {
      weights->runs[kept++] = weights->runs[i];
    }
  }
  weights->run_count = kept;
  for (int i = 0; i < kept; ++i) { /* a run keeps its distance to a multiple of the alignment */
    weights->runs[i].at = (total + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + weights->runs[i].begin % ALIGNMENT;
    total = weights->runs[i].at + (weights->runs[i].end - weights->runs[i].begin);
  }
  return total;
}

static hone_status gather(hone_engine *engine, const hn_plan *plan, int d, hone_diagnostics *diag) {
  hn_device_weights *weights = &engine->device_weights[d];
  for (int t = 0; t < plan->tensor_count; ++t) {
    const hn_plan_tensor *tensor = &plan->tensors[t];
    size_t bytes;
    if (tensor->place == HN_PLACE_CONSTANT && tensor->device == d && tensor->alias_of < 0 &&
        hn_type_bytes(&tensor->type, &bytes))
      HN_TRY(add_run(engine, weights, tensor->offset, bytes, diag));
  }
  for (int s = 0; s < plan->step_count; ++s)
    if (plan->spaces[plan->steps[s].device] == d && plan->steps[s].kind == HN_STEP_CALL)
      HN_TRY(add_run(engine, weights, plan->steps[s].packed_offset, plan->steps[s].packed_bytes, diag));
  return HONE_OK;
}

static hone_status upload(hone_engine *engine, int d, hone_diagnostics *diag) {
  hone_device *device = engine->devices[d];
  hn_device_weights *weights = &engine->device_weights[d];
  for (int k = 0; k < engine->schedules->count; ++k) HN_TRY(gather(engine, engine->schedules->plans[k], d, diag));
  const uint64_t total = join_runs(weights);
  if (total == 0) return HONE_OK;
  HN_TRY(hn_memory_alloc(device, (size_t)total, &weights->memory, diag));
  hone_stream *stream;
  HN_TRY(hn_stream_open(device, 0, &stream, diag));
  hone_status status = HONE_OK;
  for (int i = 0; i < weights->run_count && status == HONE_OK; ++i) {
    const hn_weight_run *run = &weights->runs[i];
    const hn_place_at to = {(void *)(uintptr_t)(weights->memory.address + run->at), false};
    const hn_place_at from = {(void *)(uintptr_t)(engine->schedules->weights + run->begin), true};
    status = hn_stream_move(device, stream, to, from, (size_t)(run->end - run->begin));
    if (status != HONE_OK) (void)HN_FAIL(diag, status, "device %s does not take the weights", device->backend->name);
  }
  if (status == HONE_OK) status = hn_stream_wait(device, stream, diag);
  hn_stream_close(device, stream);
  return status;
}

hone_status hn_engine_upload(hone_engine *engine, hone_diagnostics *diag) {
  hone_status status = HONE_OK;
  if (!engine->staging) return HONE_OK;
  pthread_mutex_lock(&engine->weights_mutex);
  for (int d = 0; d < engine->device_count && !engine->uploaded && status == HONE_OK; ++d)
    if (hn_engine_common(engine)->spaces[d] == d && d != hn_engine_common(engine)->host)
      status = upload(engine, d, diag);
  if (status == HONE_OK)
    engine->uploaded = true;
  else
    hn_engine_drop_weights(engine);
  pthread_mutex_unlock(&engine->weights_mutex);
  return status;
}

void hn_engine_drop_weights(hone_engine *engine) {
  for (int d = 0; engine->device_weights && d < engine->device_count; ++d) {
    if (engine->devices[d]) hn_memory_free(engine->devices[d], &engine->device_weights[d].memory);
    engine->device_weights[d] = (hn_device_weights){0};
  }
}

const void *hn_engine_weight(const hone_engine *engine, int device, uint64_t offset) {
  const hn_plan *plan = hn_engine_common(engine);
  if (plan->spaces[device] == plan->host) return plan->weights + offset;
  const hn_device_weights *weights = &engine->device_weights[device];
  for (int low = 0, high = weights->run_count; low < high;) {
    const int middle = (low + high) / 2;
    const hn_weight_run *run = &weights->runs[middle];
    if (offset >= run->begin && offset < run->end)
      return (const void *)(uintptr_t)(weights->memory.address + run->at + (offset - run->begin));
    if (offset < run->begin)
      high = middle;
    else
      low = middle + 1;
  }
  return NULL; /* a blob without bytes */
}
