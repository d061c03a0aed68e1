/* SPDX-License-Identifier: Apache-2.0 */
/* session.h - inside of run/: sessions and their shape instances. */
#ifndef HN_RUN_SESSION_H
#define HN_RUN_SESSION_H

#include "base/float_mode.h"
#include "base/memory.h"
#include "base/pool.h"
#include "run/engine.h"
#include "run/tap.h"

enum { HN_SESSION_MESSAGES = 8, HN_PROFILE_SAMPLES = 512 };

/* The session's memory for what is known only after running (heap.c): two sides, so that a loop's turn can overwrite
 * what the turn before the last one left while it reads the last one's, and the slices that loops stack. */
typedef struct hn_heap {
  hn_arena sides[2];
  hn_arena slices;
  hn_arena kept;      /* what strings and sequences point to: whole until the next run, whatever loops overwrite */
  int side;           /* that steps take from now */
  size_t limit_bytes; /* over all four */
  size_t most_bytes;  /* of this run, at one time */
} hn_heap;

void hn_heap_init(hn_heap *heap, hn_allocator allocator, size_t limit_bytes);
void hn_heap_deinit(hn_heap *heap);
/* Before a run: all is free, its memory is kept. */
void hn_heap_reset(hn_heap *heap);

/* Does the limit leave so many bytes? */
bool hn_heap_leaves(const hn_heap *heap, size_t bytes);
/* 64-aligned, not zeroed; NULL beyond the limit or without memory. */
void *hn_heap_alloc(hn_heap *heap, size_t bytes);
void *hn_heap_slice(hn_heap *heap, size_t bytes);
void *hn_heap_keep(hn_heap *heap, size_t bytes);

/* One tensor port of a step, in the launch's arrays. */
typedef struct hn_step_state {
  hn_prepared prepared;
  hone_launch launch;
  bool data_dependent; /* touches extents known only after running: resolved when its turn comes */
  bool nested;         /* inside a branch or loop */
  bool fixed;   /* data-dependent, but of extents known before: only its tensors' memory is found when its turn comes */
  bool checked; /* fixed and nested: its operator was asked about these extents */
  int replay_end;      /* the first step after those that the replay stands for */
  hone_replay *replay; /* of this step and those that follow on its device; NULL: none begins here */
} hn_step_state;

/* Everything that depends on the input shapes. Made once, cached, used by one session. */
typedef struct hn_instance {
  int schedule; /* the engine's schedule that runs these shapes, */
  const hn_plan *plan;
  hn_arena arena;     /* of the arrays below */
  hone_shape *shapes; /* the key: one an input */
  int64_t *symbols;   /* values; -1: not known before running */
  int64_t *symbols_at_start;
  hone_tensor *tensors; /* resolved types; data as bound now */
  hn_step_state *steps;
  hone_memory *device_arena, *device_scratch; /* one a device */
  hone_memory *inputs, *outputs;              /* the session's own buffers, where the ports lie */
  hone_memory *staged_in, *staged_out;        /* of ports on a device: the same bytes in the host's memory, and */
  hone_memory *plain_out;                     /* an output as the model has it */
  bool replays;                               /* some steps have a replay */
  hn_taps taps;
  uint64_t state_bytes, used_at;
} hn_instance;

/* Samples of one step: totals over all runs, and the latest few for the median. */
typedef struct hn_step_samples {
  int64_t runs;
  double total_ns, min_ns, max_ns;
  float latest_ns[HN_PROFILE_SAMPLES];
  /* On a traced device, in sum: the step's work from begin to end, how much of it lay beside work in front of it (the
   * samples above are the rest), and how long nothing ran before; pieces of work, in one run, and the longest kernel's
   * time and name. */
  double busy_ns, beside_ns, gap_ns, kernel_ns;
  int pieces;
  const char *kernel;
  int64_t begin_ns, end_ns; /* of the latest run, as its pieces lay, and */
  double run_ns;            /* the sum of their times, but for what lay beside others */
} hn_step_samples;

/* Of a traced device's queue, in sum over its runs: work + gaps - what ran beside other work is what copies and replays
 * took. apart: between those, which the host launches one by one, and later than it does without tracing. */
typedef struct hn_queue_samples {
  int64_t runs, unknown; /* pieces of work whose step could not be told */
  double work_ns, gap_ns, beside_ns, apart_ns;
  double to_device_ns, to_host_ns;
  int replays; /* in a run */
} hn_queue_samples;

/* An input and the output that continues it, in one buffer. */
typedef struct hn_state {
  int in, out;  /* port numbers */
  bool appends; /* the output is the input and new rows; one memory has room for the input's */
  hone_memory memory;
  hone_shape shape; /* that the memory is for */
} hn_state;

struct hone_session {
  hone_engine *engine;
  hn_allocator allocator;
  hone_session_options options;
  hn_stop stop; /* of the running call */
  hone_diagnostics diag;
  hn_diag_entry entries[HN_SESSION_MESSAGES];
  atomic_flag busy;
  hn_arena arena;                    /* of the arrays below, for the session's life */
  hone_stream **streams;             /* one a device */
  hone_shape *shapes;                /* wanted for the next run */
  int64_t *symbols;                  /* room for choosing a schedule */
  hone_tensor *bound_in, *bound_out; /* data NULL: the session's own buffer */
  hone_tensor *lists;                /* one an input: the session's copy of a sequence or optional */
  hn_state *states;
  int state_count;
  int64_t state_length; /* rows of those that are appended to */
  bool shapes_changed, bindings_changed;
  hn_instance **instances;
  int instance_count, instance_capacity;
  hn_instance *current;
  int schedule;   /* of the instance that was current last */
  hn_heap heap;   /* of the latest run; extents known only after running */
  hn_arena facts; /* of the latest step of such extents */
  int64_t runs;
  hn_float_mode caller_mode; /* of the thread that runs, outside the run */
  struct hn_parts *parts;    /* NULL: they are not asked for */
  struct hn_async *async;    /* NULL until a run beside the caller was asked for */
  bool failed;               /* a device did: nothing more can be done with the session */
  char failure[HN_DIAG_TEXT_BYTES];
  bool profiling;
  int traced;                /* the device whose queue tells what it does, while profiling; -1: none */
  double launch_ns;          /* of its replays, each (run/launch.c) */
  char untraced[160];        /* why none is; "": one is, or no device has memory of its own */
  hn_pool_log *pool_log;     /* of shares of loops; NULL: none are recorded */
  hn_step_samples **samples; /* [schedule][step], then one for whole runs; NULL until profiling was on */
  hn_queue_samples *queues;  /* [schedule] */
};

/* schedule: the one that takes the shapes. */
hone_status hn_instance_create(hone_session *session, int schedule, const hone_shape *shapes, hn_instance **out);
void hn_instance_destroy(hone_session *session, hn_instance *instance);
/* Points tensors and launches at the buffers bound now. Allocates only where a port on a device got another address,
 * since what was recorded with the old one is recorded again, and where a state has no buffer of these shapes. */
hone_status hn_instance_rebind(hone_session *session, hn_instance *instance);
/* States (run/states.c): the option's pairs, held against all plans; their buffers for an instance, made where there is
 * none of its shapes; that of an input or output (-1: of none), or NULL. */
hone_status hn_states_make(hone_session *session);
hone_status hn_states_fit(hone_session *session, hn_instance *instance);
const hn_state *hn_state_of(const hone_session *session, int input, int output);
void hn_states_drop(hone_session *session);
int hn_port_find(const hn_plan_port *ports, int count, const char *name); /* -1: there is none */
/* Is the port's tensor in a device's memory? */
static inline bool hn_port_on_device(const hn_plan *plan, const hn_plan_port *port) {
  return plan->tensors[port->tensor].device != plan->host;
}
/* A port's tensor to a device, or back (run/port_copies.c). tensor: in the host's memory, checked by the caller. */
hone_status hn_port_put(hone_session *session, hn_instance *instance, int input, const hone_tensor *tensor);
hone_status hn_port_get(hone_session *session, hn_instance *instance, int output, hone_tensor *out);
hone_status hn_port_buffers(hone_session *session, hn_instance *instance);
void hn_port_free_buffers(const hone_session *session, hn_instance *instance);
/* Memory on the host: where copies go to and from a device, that device gives it (run/instance.c). */
hone_status hn_session_host_alloc(hone_session *session, size_t bytes, hone_memory *out);
void hn_session_host_free(const hone_session *session, hone_memory *memory);
/* Records the straight runs of steps on devices that can, once their launches are filled (run/record.c). */
hone_status hn_instance_record(hone_session *session, hn_instance *instance);
void hn_instance_forget(hone_session *session, hn_instance *instance);

/* Gives a heap tensor its extents and memory; what its extents say of symbols is learned (run/data_dependent.c). */
hone_status hn_heap_place(hone_session *session, hn_instance *instance, int t, const hone_shape *shape);
/* LIMIT, or NO_MEMORY below the limit: there was no room for so many bytes of something. */
hone_status hn_heap_full(hone_session *session, const char *what, size_t bytes);
hone_status hn_learn_symbols(hn_instance *instance, int t);
hone_status hn_run_data_dependent(hone_session *session, hn_instance *instance, const hn_plan_step *step,
                                  hn_step_state *state);
hone_status hn_view_data_dependent(hone_session *session, hn_instance *instance, const hn_plan_step *step);
/* An input that is a sequence or an optional (run/lists.c). */
hone_status hn_session_put_list(hone_session *session, int input, const hone_tensor *list);
void hn_session_drop_lists(hone_session *session);
/* If and Loop (run/control.c). */
hone_status hn_run_branch(hone_session *session, hn_instance *instance, const hn_plan_step *step);
hone_status hn_run_loop(hone_session *session, hn_instance *instance, const hn_plan_step *step);

/* One entry at a time: a second is refused (INVALID), as any is after a device's failure. */
hone_status hn_session_enter(hone_session *session);
hone_status hn_session_leave(hone_session *session, hone_status status);
/* Runs, waits and leaves. */
hone_status hn_session_run_entered(hone_session *session);
/* Runs beside the caller (run/async.c): waits for the one under way and its callback, whose status it is; and drops
 * their thread after that. */
hone_status hn_async_wait(hone_session *session);
void hn_async_end(hone_session *session);

/* Runs one block of steps (run/interpret.c). */
hone_status hn_interpret(hone_session *session, hn_instance *instance, int block);

/* What a run's queue was given, by kind, with a mark at each border (run/parts.c). */
hone_status hn_parts_make(hone_session *session, int first_mark);
void hn_parts_begin(hone_session *session);
hone_status hn_parts_step(hone_session *session, const hn_plan *plan, const hn_plan_step *step);
hone_status hn_parts_end(hone_session *session);
hone_status hn_parts_read(hone_session *session, hone_run_part *out, int *out_count);
enum { HN_PARTS_MARKS = 2 * HONE_MOST_PARTS };

hone_status hn_profile_start(hone_session *session);
void hn_profile_stop(hone_session *session);
/* A run begins: what its marks are told from. */
hone_status hn_profile_begin(hone_session *session);
/* What a traced device did in the run that just ended: samples of its steps, begins and ends of those in replays
 * (run/activities.c). */
hone_status hn_profile_activities(hone_session *session, int64_t begin_ns);
/* How long it takes to give a device a replay and to wait for it, but for its work (run/launch.c). 0: its
 * backend records launches alone. Not while it is traced. */
hone_status hn_profile_launch(hone_session *session, int device, double *out_ns);
/* Turns the tracing of the first device with memory of its own on or off, and records instances anew. */
hone_status hn_profile_trace(hone_session *session, bool on);
/* Reads the marks of the run that just ended, and tells its spans. */
hone_status hn_profile_collect(hone_session *session, int64_t begin_ns, int64_t end_ns);

#endif
