/* SPDX-License-Identifier: Apache-2.0 */
/* backend.h - the backend row: a kind of device as a table of functions. */
#ifndef HONE_BACKEND_H
#define HONE_BACKEND_H

#include <hone/tactic.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HONE_BACKEND_API 6
#define HONE_MAX_THREADS 256 /* of a device's pool */
#define HONE_MAX_LANES 8     /* of a recording */

/* Services that the library gives to backends and tactics; all thread-safe. A backend in a shared object of its own
 * links none of our libraries and has nothing but these. Texts live as long as the device. */
typedef struct hone_host {
  uint32_t struct_size;
  void *self;
  /* Like realloc with the old size told; 64-aligned. resize(self, p, n, 0) frees. NULL when there is no memory. */
  void *(*resize)(void *self, void *old, size_t old_bytes, size_t new_bytes);
  /* Adds a message and returns the status; diagnostics may be NULL. */
  hone_status (*fail)(hone_diagnostics *diagnostics, hone_status status, const char *text);
  /* The expression of an elementwise op under these attributes, verified, as text over x0, x1, ... (tensor/expr.h says
   * how it reads: "t0=exp(x0);div(t0,add(t0,1))"). false: it has none, or room is too small. */
  bool (*expression)(void *self, const hone_op *op, const hone_attrs *attrs, int in_count, char *out, size_t room);
  const char *library_path; /* folders, ':' between, where optional libraries are looked for first; NULL: none */
  const char *cache_dir;    /* for what was compiled; NULL: none */
} hone_host;

typedef struct hone_driver hone_driver;
typedef struct hone_replay hone_replay;

/* What threads and sessions are for, where their numbers are not given. */
typedef enum hone_hint {
  HONE_HINT_NONE,       /* as for latency */
  HONE_HINT_LATENCY,    /* one run at a time, done as soon as can be: all threads work on it */
  HONE_HINT_THROUGHPUT, /* as many runs a second as can be: side by side, each by one thread */
  HONE_HINT_COUNT
} hone_hint;

/* The program's own threads, for loops: calls part(arg, 0) ... part(arg, count - 1), each once, in any of its threads,
 * side by side or one after another, and returns when all have returned. It is called by threads that run sessions, for
 * each device one at a time: who finds it taken works alone. Parts do not wait for parts that have not begun. Threads
 * need stacks of 1 MiB. */
typedef void (*hone_parallel_fn)(void *user, int count, void (*part)(void *arg, int index), void *arg);

typedef struct hone_device_options {
  uint32_t struct_size;
  /* 0: one for each of cpus, or for each core this process may use, by its affinity and by its control group's quota of
   * CPU time, rounded up; at most HONE_MAX_THREADS. */
  int threads;
  /* Pin thread i to cpus[i % cpu_count]; NULL: no pinning. Each must be one that this process may use. Thread 0 is
   * whoever runs a session: the device never pins it. */
  const int *cpus;
  int cpu_count;
  /* How long an idle pool thread spins before it sleeps: up to 10^8; 0: the default, -1: none. */
  int spin_microseconds;
  /* A described machine in place of this one ("avx512", "avx2", "c"; backends that know none refuse): builds for it
   * choose by estimates alone, measure no errors and are the same anywhere. Their engines tell about themselves, but
   * are not saved and not run. */
  const char *machine;
  hone_hint hint; /* threads where `threads` is 0: with THROUGHPUT one, else as it says there */
  /* Loops run in the program's threads, `threads` parts at a time, and the device starts none of its own. cpus must be
   * NULL then: the program's threads are pinned by the program. NULL: the device's own threads. */
  hone_parallel_fn parallel;
  void *parallel_user;
} hone_device_options;

/* Kinds of memory that a unit gives. STAGING is the host's memory, which this device copies from and to fast: data is
 * set. Backends whose memory is the host's take both for the same. */
enum { HONE_MEMORY_DEVICE = 0, HONE_MEMORY_STAGING = 1 };

typedef struct hone_memory {
  void *data; /* host address; NULL: only the device reads and writes it */
  uint64_t address;
  size_t bytes;
  int kind;
} hone_memory;

typedef struct hone_slice {
  const hone_memory *memory;
  size_t offset, bytes;
} hone_slice;

/* A piece of work that a queue did, as the device's tracing tells. */
typedef enum hone_activity_kind {
  HONE_ACTIVITY_KERNEL,
  HONE_ACTIVITY_TO_DEVICE, /* a copy out of the host's memory, */
  HONE_ACTIVITY_TO_HOST,   /* into it, */
  HONE_ACTIVITY_ON_DEVICE, /* within the device's, or bytes that were set */
  HONE_ACTIVITY_KIND_COUNT
} hone_activity_kind;
typedef struct hone_activity {
  hone_activity_kind kind;
  int step;                 /* that the work was tagged with; -1: it cannot be told */
  const char *name;         /* of a kernel, for as long as the process runs; else NULL */
  int64_t begin_ns, end_ns; /* on CLOCK_MONOTONIC, as near as the device's clock can be told from it */
} hone_activity;

/* Every function may be called from any thread; a stream is used by one thread at a time. `out` pointers are NULL
 * after a failure. Optional entries are NULL: record..forget all or none.
 * A stream does what it is given in that order, perhaps later: copy and launch may return before anything happened, and
 * the host's side of a copy must stay as it is until wait. Between record and keep nothing runs; what is launched, or
 * copied within the unit's memory, is kept, with the addresses it was given, and replayed as one. record..forget may
 * allocate, replay does not. */
typedef struct hone_backend {
  uint32_t struct_size, api;
  const char *name; /* "cpu", "cuda", "ref", "null" */

  hone_status (*load)(const hone_host *host, hone_driver **out, hone_diagnostics *diagnostics);
  void (*unload)(hone_driver *driver);
  int (*count)(hone_driver *driver);
  hone_status (*open)(hone_driver *driver, int index, const hone_device_options *options, hone_unit **out,
                      hone_diagnostics *diagnostics);
  void (*close)(hone_unit *unit);
  void (*facts)(const hone_unit *unit, hone_facts *out);

  hone_status (*alloc)(hone_unit *unit, int kind, size_t bytes, hone_memory *out);
  void (*free)(hone_unit *unit, hone_memory *memory);

  hone_status (*stream)(hone_unit *unit, int mark_count, hone_stream **out);
  void (*drop)(hone_stream *stream);
  hone_status (*copy)(hone_stream *stream, hone_slice to, hone_slice from);
  hone_status (*mark)(hone_stream *stream, int slot);
  hone_status (*wait)(hone_stream *stream);
  /* from -1: a point that all streams of the unit share, when one of them was opened last. */
  hone_status (*between)(hone_stream *stream, int from, int to, double *out_elapsed_ns);

  hone_status (*record)(hone_stream *stream);
  hone_status (*keep)(hone_stream *stream, hone_replay **out);
  hone_status (*replay)(hone_stream *stream, const hone_replay *replay);
  void (*forget)(hone_replay *replay);

  const hone_tactic *const *families; /* tables of tactics, each ends with a row without a name; ends with NULL */

  hone_status (*measure)(hone_unit *unit); /* optional: fills the roofs of the unit's facts */
  /* Optional: a stream over one of the caller's, as the driver knows it; drop leaves that alone. */
  hone_status (*adopt)(hone_unit *unit, void *native, int mark_count, hone_stream **out);

  /* Optional, the three together: each kernel and copy of a stream, also inside a replay, by the vendor's tracing.
   * trace turns it on (it may allocate) and off; where it cannot be had, because a library is not there or someone else
   * traces, it adds a message and returns UNSUPPORTED. What was recorded before should be recorded again, so that it is
   * traced. tag: what the stream is given from now on belongs to that step; replays keep the tags they were recorded
   * with. activities: after wait, what the stream did since the last call, by begin; borrowed until the next one. */
  hone_status (*trace)(hone_stream *stream, bool on, hone_diagnostics *diagnostics);
  hone_status (*tag)(hone_stream *stream, int step);
  hone_status (*activities)(hone_stream *stream, const hone_activity **out, int *out_count);

  /* Optional: once all that the stream was given is done, the function is called, by a thread of the driver's, and must
   * not call the driver; what comes next waits for it. */
  hone_status (*call)(hone_stream *stream, void (*function)(void *user), void *user);
  /* Optional, both or none: events of the caller's, as the driver knows them. follow: what comes next waits for the
   * event; signal: the event is reached once all that the stream was given is done. */
  hone_status (*follow)(hone_stream *stream, void *native_event);
  hone_status (*signal)(hone_stream *stream, void *native_event);
  /* Optional: what the caller's thread gives to queues until the matching call with NULL belongs to something of this
   * name, for the vendor's profilers; next to nothing where none listens. */
  void (*range)(const char *name);
  /* Optional: why the stream's last failed call failed, in the driver's words, which live as long as it; NULL: it did
   * not fail. */
  const char *(*reason)(const hone_stream *stream);
  /* Optional, both or none; between record and keep alone: what was recorded in different lanes may run side by side.
   * lane: what follows is recorded in that lane, 0 to HONE_MAX_LANES - 1; a recording begins in lane 0. after: what
   * follows in the current lane waits for all that stood in front of the mark where it was put, in its own lane. A
   * lane but the first begins with such a wait, and at the end lane 0 waits for the others' last marks. */
  hone_status (*lane)(hone_stream *stream, int lane);
  hone_status (*after)(hone_stream *stream, int slot);
  /* Optional, both or none, for tactics of plug-ins that call the vendor's driver themselves: native is the stream as
   * the driver knows it (hone_launch.native_stream), and enter makes the unit the calling thread's current one. */
  void *(*native)(hone_stream *stream);
  hone_status (*enter)(hone_unit *unit);
} hone_backend;

#ifdef __cplusplus
}
#endif
#endif
