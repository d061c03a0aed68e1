/* SPDX-License-Identifier: Apache-2.0 */
/* stream.c - streams, copies, marks, and recorded runs as CUDA graphs. */
#include "backend/cuda/cuda.h"

static hone_status word(CUresult result) { return result == CUDA_SUCCESS ? HONE_OK : HONE_DEVICE; }

/* The same, kept for hn_cuda_reason(). */
static hone_status keep_word(hone_stream *stream, CUresult result) {
  if (result != CUDA_SUCCESS) stream->failed = result;
  return result == CUDA_ERROR_OUT_OF_MEMORY ? HONE_NO_MEMORY : word(result);
}

static hone_status open_stream(hone_unit *unit, CUstream adopted, int mark_count, hone_stream **out) {
  const hn_cuda_driver_api *api = &unit->driver->api;
  *out = NULL;
  if (!hn_cuda_enter(unit)) return HONE_DEVICE;
  hone_stream *stream = hn_cuda_new(unit->host, sizeof *stream);
  if (!stream) return HONE_NO_MEMORY;
  stream->unit = unit;
  stream->mark_count = mark_count;
  stream->marks = hn_cuda_new(unit->host, ((size_t)mark_count + 1) * sizeof *stream->marks);
  CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
  stream->adopted = adopted != NULL;
  stream->stream = adopted;
  if (stream->marks) result = adopted ? CUDA_SUCCESS : api->cuStreamCreate(&stream->stream, CU_STREAM_NON_BLOCKING);
  stream->lanes[0] = stream->stream;
  for (int i = 0; i < mark_count && result == CUDA_SUCCESS; ++i)
    result = api->cuEventCreate(&stream->marks[i], CU_EVENT_DEFAULT);
  if (result == CUDA_SUCCESS && !adopted) result = api->cuEventRecord(unit->epoch, stream->stream);
  if (result != CUDA_SUCCESS) {
    hn_cuda_drop(stream);
    return word(result);
  }
  *out = stream;
  return HONE_OK;
}

hone_status hn_cuda_stream(hone_unit *unit, int mark_count, hone_stream **out) {
  return open_stream(unit, NULL, mark_count, out);
}

hone_status hn_cuda_adopt(hone_unit *unit, void *native, int mark_count, hone_stream **out) {
  return open_stream(unit, (CUstream)native, mark_count, out);
}

void hn_cuda_drop(hone_stream *stream) {
  hone_unit *unit = stream->unit;
  const hn_cuda_driver_api *api = &unit->driver->api;
  if (stream->tracer) (void)hn_cuda_trace(stream, false, NULL);
  if (hn_cuda_enter(unit)) {
    for (int i = 0; stream->marks && i < stream->mark_count; ++i)
      if (stream->marks[i]) (void)api->cuEventDestroy(stream->marks[i]);
    for (int lane = stream->adopted; lane < HONE_MAX_LANES; ++lane)
      if (stream->lanes[lane]) (void)api->cuStreamDestroy(stream->lanes[lane]);
  }
  hn_cuda_delete(unit->host, stream->marks, ((size_t)stream->mark_count + 1) * sizeof *stream->marks);
  hn_cuda_delete(unit->host, stream, sizeof *stream);
}

hone_status hn_cuda_copy(hone_stream *stream, hone_slice to, hone_slice from) {
  const hn_cuda_driver_api *api = &stream->unit->driver->api;
  if (to.bytes != from.bytes || to.offset + to.bytes > to.memory->bytes ||
      from.offset + from.bytes > from.memory->bytes)
    return HONE_INVALID;
  if (to.bytes == 0) return HONE_OK;
  if (!hn_cuda_enter(stream->unit)) return HONE_DEVICE;
  if (stream->tracer) hn_cuda_note_copy(stream);
  const uint64_t to_address = to.memory->address + to.offset, from_address = from.memory->address + from.offset;
  if (!to.memory->data && !from.memory->data)
    return keep_word(stream, api->cuMemcpyDtoDAsync(to_address, from_address, to.bytes, stream->stream));
  if (!to.memory->data)
    return keep_word(stream, api->cuMemcpyHtoDAsync(to_address, (const char *)from.memory->data + from.offset, to.bytes,
                                                    stream->stream));
  if (!from.memory->data)
    return keep_word(
        stream, api->cuMemcpyDtoHAsync((char *)to.memory->data + to.offset, from_address, to.bytes, stream->stream));
  return HONE_INVALID; /* within the host's memory the host copies */
}

hone_status hn_cuda_mark(hone_stream *stream, int slot) {
  if (slot < 0 || slot >= stream->mark_count) return HONE_INVALID;
  if (!hn_cuda_enter(stream->unit)) return HONE_DEVICE;
  return keep_word(stream, stream->unit->driver->api.cuEventRecord(stream->marks[slot], stream->stream));
}

hone_status hn_cuda_wait(hone_stream *stream) {
  if (!hn_cuda_enter(stream->unit)) return HONE_DEVICE;
  return keep_word(stream, stream->unit->driver->api.cuStreamSynchronize(stream->stream));
}

hone_status hn_cuda_between(hone_stream *stream, int from, int to, double *out_elapsed_ns) {
  if (from < -1 || from >= stream->mark_count || to < 0 || to >= stream->mark_count) return HONE_INVALID;
  if (!hn_cuda_enter(stream->unit)) return HONE_DEVICE;
  float elapsed_ms = 0;
  const CUevent begin = from < 0 ? stream->unit->epoch : stream->marks[from];
  const CUresult result = stream->unit->driver->api.cuEventElapsedTime(&elapsed_ms, begin, stream->marks[to]);
  *out_elapsed_ns = (double)elapsed_ms * 1e6;
  return word(result);
}

/* Relaxed: libraries may load a kernel at its first launch, also while that is recorded. */
hone_status hn_cuda_record(hone_stream *stream) {
  if (!hn_cuda_enter(stream->unit)) return HONE_DEVICE;
  hn_cuda_begin_tags(stream);
  return word(stream->unit->driver->api.cuStreamBeginCapture(stream->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
}

hone_status hn_cuda_keep(hone_stream *stream, hone_replay **out) {
  hone_unit *unit = stream->unit;
  const hn_cuda_driver_api *api = &unit->driver->api;
  CUgraph graph = NULL;
  *out = NULL;
  stream->stream = stream->lanes[0];
  stream->behind = false;
  if (!hn_cuda_enter(unit)) return HONE_DEVICE;
  CUresult result = api->cuStreamEndCapture(stream->stream, &graph);
  hone_replay *replay = hn_cuda_new(unit->host, sizeof *replay);
  if (result == CUDA_SUCCESS && replay) {
    replay->unit = unit;
    result = hn_cuda_keep_tags(stream, graph, replay) ? api->cuGraphInstantiate(&replay->exec, graph, 0)
                                                      : CUDA_ERROR_OUT_OF_MEMORY;
  }
  stream->recording = false;
  if (graph) (void)api->cuGraphDestroy(graph);
  if (result == CUDA_SUCCESS && replay) {
    *out = replay;
    return HONE_OK;
  }
  const bool no_memory = !replay;
  if (replay) hn_cuda_delete(unit->host, replay->node_steps, (size_t)replay->node_count * sizeof(int));
  hn_cuda_delete(unit->host, replay, sizeof *replay);
  return no_memory ? HONE_NO_MEMORY : word(result);
}

/* Another stream becomes part of the recording by its first wait for an event of it. */
hone_status hn_cuda_lane(hone_stream *stream, int lane) {
  if (!stream->recording || lane < 0 || lane >= HONE_MAX_LANES) return HONE_INVALID;
  if (!hn_cuda_enter(stream->unit)) return HONE_DEVICE;
  if (!stream->lanes[lane]) {
    const CUresult result = stream->unit->driver->api.cuStreamCreate(&stream->lanes[lane], CU_STREAM_NON_BLOCKING);
    if (result != CUDA_SUCCESS) return keep_word(stream, result);
  }
  stream->stream = stream->lanes[lane];
  stream->behind = false;
  return HONE_OK;
}

hone_status hn_cuda_after(hone_stream *stream, int slot) {
  if (!stream->recording || slot < 0 || slot >= stream->mark_count) return HONE_INVALID;
  if (!hn_cuda_enter(stream->unit)) return HONE_DEVICE;
  stream->behind = true;
  return keep_word(stream, stream->unit->driver->api.cuStreamWaitEvent(stream->stream, stream->marks[slot], 0));
}

void *hn_cuda_native(hone_stream *stream) { return stream->stream; }

hone_status hn_cuda_enter_unit(hone_unit *unit) { return hn_cuda_enter(unit) ? HONE_OK : HONE_DEVICE; }

hone_status hn_cuda_replay(hone_stream *stream, const hone_replay *replay) {
  if (!hn_cuda_enter(stream->unit)) return HONE_DEVICE;
  if (stream->tracer) hn_cuda_note_replay(stream, replay);
  return keep_word(stream, stream->unit->driver->api.cuGraphLaunch(replay->exec, stream->stream));
}

void hn_cuda_forget(hone_replay *replay) {
  hone_unit *unit = replay->unit;
  if (hn_cuda_enter(unit)) (void)unit->driver->api.cuGraphExecDestroy(replay->exec);
  hn_cuda_delete(unit->host, replay->node_steps, (size_t)replay->node_count * sizeof(int));
  hn_cuda_delete(unit->host, replay, sizeof *replay);
}

hone_status hn_cuda_call(hone_stream *stream, void (*function)(void *user), void *user) {
  if (!hn_cuda_enter(stream->unit)) return HONE_DEVICE;
  return keep_word(stream, stream->unit->driver->api.cuLaunchHostFunc(stream->stream, function, user));
}

hone_status hn_cuda_follow(hone_stream *stream, void *native_event) {
  if (!hn_cuda_enter(stream->unit)) return HONE_DEVICE;
  return keep_word(stream, stream->unit->driver->api.cuStreamWaitEvent(stream->stream, native_event, 0));
}

hone_status hn_cuda_signal(hone_stream *stream, void *native_event) {
  if (!hn_cuda_enter(stream->unit)) return HONE_DEVICE;
  return keep_word(stream, stream->unit->driver->api.cuEventRecord(native_event, stream->stream));
}

const char *hn_cuda_reason(const hone_stream *stream) {
  const char *words = NULL;
  if (stream->failed != CUDA_SUCCESS) (void)stream->unit->driver->api.cuGetErrorString(stream->failed, &words);
  return words;
}
