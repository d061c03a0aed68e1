/* SPDX-License-Identifier: Apache-2.0 */
/* host_unit.h - the host as a unit, shared by the cpu, ref and null backends: memory is the host's, a stream runs its
 * work at once in the calling thread, parallel loops use the unit's pool, marks read the clock. */
#ifndef HN_DEVICE_HOST_UNIT_H
#define HN_DEVICE_HOST_UNIT_H

#include "base/pool.h"
#include <hone/backend.h>

struct hone_driver {
  const hone_host *host;
  bool fake_clock; /* time moves only as tactics say: exact tests without hardware */
};

struct hone_unit {
  const hone_host *host;
  hn_allocator allocator;
  hn_pool *pool;
  hn_stop *stop; /* of the measurement of peaks that runs now; NULL: none */
  hone_facts facts;
  bool fake_clock;
};

struct hone_stream {
  hone_unit *unit;
  hn_pool pool;       /* the unit's threads, and what ends this stream's launches early */
  double fake_now_ns; /* moved by launches when the unit's clock is fake */
  int mark_count;
  double marks_ns[]; /* mark_count of them */
};

static inline hn_pool *hn_stream_pool(hone_stream *stream) { return &stream->pool; }

/* Entries of the backend table. */
hone_status hn_host_load(const hone_host *host, hone_driver **out, hone_diagnostics *diagnostics);
void hn_host_unload(hone_driver *driver);
int hn_host_count(hone_driver *driver); /* 1 */
/* Opens with a pool of options->threads; the backend fills facts afterwards. */
hone_status hn_host_open(hone_driver *driver, int index, const hone_device_options *options, hone_unit **out,
                         hone_diagnostics *diagnostics);
void hn_host_close(hone_unit *unit);
void hn_host_facts(const hone_unit *unit, hone_facts *out);
hone_status hn_host_alloc(hone_unit *unit, int kind, size_t bytes, hone_memory *out);
void hn_host_free(hone_unit *unit, hone_memory *memory);
hone_status hn_host_stream(hone_unit *unit, int mark_count, hone_stream **out);
void hn_host_drop(hone_stream *stream);
hone_status hn_host_copy(hone_stream *stream, hone_slice to, hone_slice from);
hone_status hn_host_mark(hone_stream *stream, int slot);
hone_status hn_host_wait(hone_stream *stream);
hone_status hn_host_between(hone_stream *stream, int from, int to, double *out_elapsed_ns);
#define HN_HOST_ENTRIES                                                                                                \
  .struct_size = sizeof(hone_backend), .api = HONE_BACKEND_API, .unload = hn_host_unload, .count = hn_host_count,      \
  .close = hn_host_close, .facts = hn_host_facts, .alloc = hn_host_alloc, .free = hn_host_free,                        \
  .stream = hn_host_stream, .drop = hn_host_drop, .copy = hn_host_copy, .mark = hn_host_mark, .wait = hn_host_wait,    \
  .between = hn_host_between

/* A tactic that calls the op's own eval: ref's only one, and null's. State: hn_eval_state. */
typedef struct hn_eval_state {
  const hone_op *op;
  const hone_attrs *attrs; /* the query's: they outlive the state */
  double fake_ns;          /* what a launch takes on a fake clock: filled by prepare */
} hn_eval_state;
const char *hn_eval_plan(const hone_query *query, void *state, hone_needs *needs);
hone_status hn_eval_prepare(hone_unit *unit, const hone_query *query, void *state, hone_diagnostics *diagnostics);
hone_status hn_eval_launch(void *state, hone_stream *stream, const hone_launch *launch);

#endif
