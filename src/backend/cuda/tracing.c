/* SPDX-License-Identifier: Apache-2.0 */
/* tracing.c - what a stream did, kernel by kernel, as CUPTI tells: also inside a graph, whose nodes are launched
 * without the host.
 *
 * CUPTI's records do not say which step they are of. A traced stream keeps a list of what it was given, copies and
 * replays, and each replay the steps of its nodes in the order of their recording. A stream does one thing after
 * another, so that records sorted by their begin meet the list in order; nodes of one launch are numbered in the order
 * of their recording, which is that of their begins where no lanes run side by side.
 *
 * CUPTI belongs to the process: its callbacks carry no pointer of ours, and buffers that it asked for stay with it. So
 * what it reaches is static here, one stream is traced at a time, and this library is never unloaded once it was. */
#include "backend/cuda/cuda.h"
#if __has_include(<cupti_activity.h>)
#include <cupti_activity.h>
#include <cupti_result.h>
#include <cupti_version.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROOM = 1 << 16, MOST_GIVEN = 1 << 12, BUFFERS = 8, BUFFER_BYTES = 1 << 20 };

#define CUPTI_FUNCTIONS(row)                                                                                           \
  row(cuptiActivityRegisterCallbacks) row(cuptiActivityRegisterTimestampCallback) row(cuptiActivityEnable)             \
      row(cuptiActivityDisable) row(cuptiActivityFlushAll) row(cuptiActivityGetNextRecord) row(cuptiGetResultString)   \
          row(cuptiGetStreamIdEx)
#define POINTER(name) __typeof__(&name) name;
typedef struct cupti_api {
  CUPTI_FUNCTIONS(POINTER)
} cupti_api;
#undef POINTER
#define TEXT_OF(name) #name,
static const char *const names[] = {CUPTI_FUNCTIONS(TEXT_OF)};

/* One record; node 0: it was not launched by a graph. */
typedef struct record {
  hone_activity activity;
  uint64_t node;
  uint32_t correlation, stream;
} record;

/* What the stream was given: a replay, or (NULL) a copy. */
typedef struct given {
  const hone_replay *replay;
  int step;
} given;

typedef struct hn_cuda_tracer {
  hone_stream *stream;
  uint32_t stream_id;
  CUresult (*capture_info)(CUstream, CUstreamCaptureStatus *, cuuint64_t *, CUgraph *, const CUgraphNode **, size_t *);
  CUresult (*graph_nodes)(CUgraph, CUgraphNode *, size_t *);
  int record_count, given_count, tag_count, tag_room;
  hn_cuda_tag *tags;
  record records[ROOM];
  given given[MOST_GIVEN];
  hone_activity activities[ROOM];
} hn_cuda_tracer;

/* What CUPTI reaches. */
static struct {
  pthread_mutex_t mutex;
  void *library; /* stays open */
  cupti_api api;
  hn_cuda_tracer *active;
  bool in_use[BUFFERS];
  _Alignas(64) uint8_t buffers[BUFFERS][BUFFER_BYTES];
} cupti = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                           CUPTI_ACTIVITY_KIND_MEMSET};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- called by CUPTI, perhaps from a thread of its own ---- */

static void CUPTIAPI request_buffer(uint8_t **out, size_t *out_bytes, size_t *out_most_records) {
  *out = NULL; /* without one CUPTI drops records, which their count tells */
  *out_bytes = *out_most_records = 0;
  pthread_mutex_lock(&cupti.mutex);
  for (int i = 0; i < BUFFERS && !*out; ++i) {
    if (cupti.in_use[i]) continue;
    cupti.in_use[i] = true;
    *out = cupti.buffers[i];
    *out_bytes = BUFFER_BYTES;
  }
  pthread_mutex_unlock(&cupti.mutex);
}

/* Later versions of a record's struct begin as earlier ones do. */
static void add_record(hn_cuda_tracer *tracer, const CUpti_Activity *activity) {
  if (tracer->record_count == ROOM) return;
  record *r = &tracer->records[tracer->record_count];
  switch (activity->kind) {
  case CUPTI_ACTIVITY_KIND_KERNEL:
  case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
    const CUpti_ActivityKernel10 *k = (const void *)activity;
    *r = (record){{HONE_ACTIVITY_KERNEL, -1, k->name, (int64_t)k->start, (int64_t)k->end},
                  k->graphNodeId,
                  k->correlationId,
                  k->streamId};
    break;
  }
  case CUPTI_ACTIVITY_KIND_MEMCPY: {
    const CUpti_ActivityMemcpy6 *m = (const void *)activity;
    const hone_activity_kind kind = m->copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD   ? HONE_ACTIVITY_TO_DEVICE
                                    : m->copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH ? HONE_ACTIVITY_TO_HOST
                                                                                     : HONE_ACTIVITY_ON_DEVICE;
    *r = (record){{kind, -1, NULL, (int64_t)m->start, (int64_t)m->end}, m->graphNodeId, m->correlationId, m->streamId};
    break;
  }
  case CUPTI_ACTIVITY_KIND_MEMSET: {
    const CUpti_ActivityMemset4 *m = (const void *)activity;
    *r = (record){{HONE_ACTIVITY_ON_DEVICE, -1, NULL, (int64_t)m->start, (int64_t)m->end},
                  m->graphNodeId,
                  m->correlationId,
                  m->streamId};
    break;
  }
  default: return;
  }
  ++tracer->record_count;
}

static void CUPTIAPI complete_buffer(CUcontext context, uint32_t stream_id, uint8_t *buffer, size_t bytes,
                                     size_t valid_bytes) {
  (void)context, (void)stream_id, (void)bytes;
  CUpti_Activity *activity = NULL;
  pthread_mutex_lock(&cupti.mutex);
  while (cupti.active && valid_bytes > 0 &&
         cupti.api.cuptiActivityGetNextRecord(buffer, valid_bytes, &activity) == CUPTI_SUCCESS)
    add_record(cupti.active, activity);
  for (int i = 0; i < BUFFERS; ++i)
    if (buffer == cupti.buffers[i]) cupti.in_use[i] = false;
  pthread_mutex_unlock(&cupti.mutex);
}

static uint64_t CUPTIAPI now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- on and off ---- */

static hone_status decline(const hone_stream *stream, hone_diagnostics *diag, const char *what, CUptiResult result) {
  const char *words = NULL;
  if (result != CUPTI_SUCCESS) (void)cupti.api.cuptiGetResultString(result, &words);
  return hn_cuda_fail(stream->unit->host, diag, HONE_UNSUPPORTED, "%s%s%s", what, words ? ": " : "",
                      words ? words : "");
}

/* With the mutex held. */
static hone_status open_library(const hone_stream *stream, hone_diagnostics *diag) {
  static const char *const libraries[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so", NULL};
  Dl_info own;
  if (cupti.library) return HONE_OK;
  void *library = hn_cuda_open_library(stream->unit->host, libraries);
  if (!library) return decline(stream, diag, "libcupti is not here (it comes with CUDA's toolkit)", CUPTI_SUCCESS);
  if (hn_cuda_fill(library, names, (int)(sizeof names / sizeof *names), &cupti.api) ||
      !dladdr((const void *)kinds, &own) || !dlopen(own.dli_fname, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
    dlclose(library);
    return decline(stream, diag, "libcupti is too old", CUPTI_SUCCESS);
  }
  cupti.library = library;
  return HONE_OK;
}

/* Without the mutex: CUPTI may call back. */
static hone_status enable(hone_stream *stream, hone_diagnostics *diag) {
  CUptiResult result = cupti.api.cuptiActivityRegisterTimestampCallback(now_ns);
  if (result == CUPTI_SUCCESS) result = cupti.api.cuptiActivityRegisterCallbacks(request_buffer, complete_buffer);
  for (int i = 0; i < KINDS && result == CUPTI_SUCCESS; ++i) result = cupti.api.cuptiActivityEnable(kinds[i]);
  if (result == CUPTI_SUCCESS)
    result = cupti.api.cuptiGetStreamIdEx(stream->unit->context, stream->stream, 0, &stream->tracer->stream_id);
  return result == CUPTI_SUCCESS ? HONE_OK : decline(stream, diag, "CUPTI does not trace", result);
}

static void stop(hone_stream *stream) {
  hn_cuda_tracer *tracer = stream->tracer;
  for (int i = 0; i < KINDS; ++i) (void)cupti.api.cuptiActivityDisable(kinds[i]);
  (void)cupti.api.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  pthread_mutex_lock(&cupti.mutex);
  cupti.active = NULL;
  pthread_mutex_unlock(&cupti.mutex);
  stream->tracer = NULL;
  hn_cuda_delete(stream->unit->host, tracer->tags, (size_t)tracer->tag_room * sizeof *tracer->tags);
  hn_cuda_delete(stream->unit->host, tracer, sizeof *tracer);
}

/* The symbols' types are those of the struct's members; ISO C has no such cast. */
static bool find(const hone_stream *stream, const char *name, void *out) {
  void *symbol = dlsym(stream->unit->driver->library, name);
  memcpy(out, &symbol, sizeof symbol);
  return symbol != NULL;
}

static hone_status start(hone_stream *stream, hone_diagnostics *diag) {
  const hone_host *host = stream->unit->host;
  hn_cuda_tracer *tracer = hn_cuda_new(host, sizeof *tracer);
  if (!tracer) return hn_cuda_fail(host, diag, HONE_NO_MEMORY, "out of memory");
  tracer->stream = stream;
  pthread_mutex_lock(&cupti.mutex);
  hone_status status = cupti.active ? decline(stream, diag, "another session of this process is traced", CUPTI_SUCCESS)
                                    : open_library(stream, diag);
  if (status == HONE_OK && (!find(stream, "cuStreamGetCaptureInfo_v2", &tracer->capture_info) ||
                            !find(stream, "cuGraphGetNodes", &tracer->graph_nodes)))
    status = decline(stream, diag, "the GPU's driver is too old to be traced", CUPTI_SUCCESS);
  if (status == HONE_OK) cupti.active = tracer;
  pthread_mutex_unlock(&cupti.mutex);
  if (status != HONE_OK) {
    hn_cuda_delete(host, tracer, sizeof *tracer);
    return status;
  }
  stream->tracer = tracer;
  status = enable(stream, diag);
  if (status != HONE_OK) stop(stream);
  return status;
}

hone_status hn_cuda_trace(hone_stream *stream, bool on, hone_diagnostics *diag) {
  if (!hn_cuda_enter(stream->unit)) return HONE_DEVICE;
  if (on == (stream->tracer != NULL)) return HONE_OK;
  if (on) return start(stream, diag);
  stop(stream);
  return HONE_OK;
}

/* ---- tags ---- */

void hn_cuda_begin_tags(hone_stream *stream) {
  stream->recording = true;
  if (stream->tracer) stream->tracer->tag_count = 0;
}

static bool add_tag(hone_stream *stream, int step, size_t nodes) {
  hn_cuda_tracer *tracer = stream->tracer;
  const hone_host *host = stream->unit->host;
  if (tracer->tag_count == tracer->tag_room) {
    const int room = tracer->tag_room ? 2 * tracer->tag_room : 256;
    hn_cuda_tag *tags =
        host->resize(host->self, tracer->tags, (size_t)tracer->tag_room * sizeof *tags, (size_t)room * sizeof *tags);
    if (!tags) return false;
    tracer->tags = tags;
    tracer->tag_room = room;
  }
  tracer->tags[tracer->tag_count++] = (hn_cuda_tag){step, nodes};
  return true;
}

hone_status hn_cuda_tag_step(hone_stream *stream, int step) {
  hn_cuda_tracer *tracer = stream->tracer;
  stream->step = step;
  if (!tracer || !stream->recording) return HONE_OK;
  CUstreamCaptureStatus state;
  CUgraph graph = NULL;
  size_t nodes = 0;
  if (tracer->capture_info(stream->stream, &state, NULL, &graph, NULL, NULL) != CUDA_SUCCESS ||
      state != CU_STREAM_CAPTURE_STATUS_ACTIVE || tracer->graph_nodes(graph, NULL, &nodes) != CUDA_SUCCESS)
    return HONE_DEVICE;
  return add_tag(stream, step, nodes) ? HONE_OK : HONE_NO_MEMORY;
}

bool hn_cuda_keep_tags(hone_stream *stream, CUgraph graph, hone_replay *replay) {
  hn_cuda_tracer *tracer = stream->tracer;
  size_t nodes = 0;
  if (!tracer || tracer->tag_count == 0 || tracer->graph_nodes(graph, NULL, &nodes) != CUDA_SUCCESS || nodes == 0 ||
      nodes > ROOM)
    return true;
  replay->node_steps = hn_cuda_new(stream->unit->host, nodes * sizeof(int));
  if (!replay->node_steps) return false;
  replay->node_count = (int)nodes;
  for (size_t n = 0; n < nodes; ++n) {
    replay->node_steps[n] = -1;
    for (int t = 0; t < tracer->tag_count && tracer->tags[t].nodes <= n; ++t)
      replay->node_steps[n] = tracer->tags[t].step;
  }
  return true;
}

/* ---- what was done ---- */

static void note(hone_stream *stream, const hone_replay *replay) {
  hn_cuda_tracer *tracer = stream->tracer;
  if (tracer->given_count < MOST_GIVEN) tracer->given[tracer->given_count++] = (given){replay, stream->step};
}
void hn_cuda_note_copy(hone_stream *stream) { note(stream, NULL); }
void hn_cuda_note_replay(hone_stream *stream, const hone_replay *replay) { note(stream, replay); }

static int by_begin(const void *a, const void *b) {
  const record *x = a, *y = b;
  if (x->activity.begin_ns != y->activity.begin_ns) return x->activity.begin_ns < y->activity.begin_ns ? -1 : 1;
  return (x->node > y->node) - (x->node < y->node);
}

static int by_node(const void *a, const void *b) {
  const record *x = a, *y = b;
  return (x->node > y->node) - (x->node < y->node);
}

/* The records of one launch of a graph get the steps of its nodes; their number. */
static int tell_replay(hn_cuda_tracer *tracer, int first, const hone_replay *replay) {
  int count = 1;
  while (first + count < tracer->record_count && tracer->records[first + count].node &&
         tracer->records[first + count].correlation == tracer->records[first].correlation)
    ++count;
  qsort(tracer->records + first, (size_t)count, sizeof *tracer->records, by_node);
  if (replay && replay->node_count == count)
    for (int i = 0; i < count; ++i) tracer->records[first + i].activity.step = replay->node_steps[i];
  return count;
}

static void tell_steps(hn_cuda_tracer *tracer) {
  int copies = 0, replays = 0; /* how far the lists are used up */
  for (int i = 0; i < tracer->record_count;) {
    record *r = &tracer->records[i];
    if (r->node) {
      while (replays < tracer->given_count && !tracer->given[replays].replay) ++replays;
      i += tell_replay(tracer, i, replays < tracer->given_count ? tracer->given[replays].replay : NULL);
      ++replays;
      continue;
    }
    if (r->activity.kind != HONE_ACTIVITY_KERNEL) {
      while (copies < tracer->given_count && tracer->given[copies].replay) ++copies;
      if (copies < tracer->given_count) r->activity.step = tracer->given[copies++].step;
    }
    ++i;
  }
}

hone_status hn_cuda_activities(hone_stream *stream, const hone_activity **out, int *out_count) {
  hn_cuda_tracer *tracer = stream->tracer;
  *out = NULL;
  *out_count = 0;
  if (!tracer) return HONE_OK;
  if (cupti.api.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != CUPTI_SUCCESS) return HONE_DEVICE;
  pthread_mutex_lock(&cupti.mutex);
  int count = 0;
  for (int i = 0; i < tracer->record_count; ++i) /* other streams of the process are traced, too */
    if (tracer->records[i].node || tracer->records[i].stream == tracer->stream_id)
      tracer->records[count++] = tracer->records[i];
  tracer->record_count = count;
  qsort(tracer->records, (size_t)count, sizeof *tracer->records, by_begin);
  tell_steps(tracer);
  qsort(tracer->records, (size_t)count, sizeof *tracer->records, by_begin);
  for (int i = 0; i < count; ++i) tracer->activities[i] = tracer->records[i].activity;
  tracer->record_count = tracer->given_count = 0;
  pthread_mutex_unlock(&cupti.mutex);
  *out = tracer->activities;
  *out_count = count;
  return HONE_OK;
}

#else /* a toolkit without CUPTI's headers */

hone_status hn_cuda_trace(hone_stream *stream, bool on, hone_diagnostics *diag) {
  if (!on) return HONE_OK;
  return hn_cuda_fail(stream->unit->host, diag, HONE_UNSUPPORTED, "the CUDA backend was built without CUPTI's headers");
}
hone_status hn_cuda_tag_step(hone_stream *stream, int step) {
  stream->step = step;
  return HONE_OK;
}
void hn_cuda_begin_tags(hone_stream *stream) { stream->recording = true; }
bool hn_cuda_keep_tags(hone_stream *stream, CUgraph graph, hone_replay *replay) {
  (void)stream, (void)graph, (void)replay;
  return true;
}
void hn_cuda_note_copy(hone_stream *stream) { (void)stream; }
void hn_cuda_note_replay(hone_stream *stream, const hone_replay *replay) { (void)stream, (void)replay; }
hone_status hn_cuda_activities(hone_stream *stream, const hone_activity **out, int *out_count) {
  (void)stream;
  *out = NULL;
  *out_count = 0;
  return HONE_OK;
}
#endif
