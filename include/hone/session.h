/* SPDX-License-Identifier: Apache-2.0 */
/* session.h - running an engine. A session is used by one thread at a time (a second entry is refused with INVALID). */
#ifndef HONE_SESSION_H
#define HONE_SESSION_H

#include <hone/engine.h>
#include <hone/span.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_session hone_session;

/* A value inside the engine, right after the step that writes it. All is borrowed. */
typedef struct hone_tap {
  const char *name;           /* of the value in the model; of the output where it is one */
  const char *step, *op;      /* what writes it; NULL: an input */
  const char *tactic;         /* NULL: inputs, and steps that only change a shape or choose what runs */
  int origin_count;           /* nodes of the model that the step stands for */
  const char *const *origins; /* their names */
  int64_t turn;               /* how often it was written before in this run: loops */
  const hone_tensor *tensor;  /* plain, all dims known, in the host's memory; NULL when only listed */
} hone_tap;

/* A state: what an output continues of an input, as present keys continue past ones. The session keeps one buffer for
 * both, so that a run adds to what the runs before left there, and copies nothing. */
typedef struct hone_session_state {
  const char *input, *output;
} hone_session_state;

typedef struct hone_session_options {
  uint32_t struct_size;
  bool trust_weights;        /* skip the hash check of the engine's weights */
  bool profile;              /* measure every step from the start; see hone_session_set_profile */
  int instance_cache;        /* prepared shapes kept, at most 65536; 0: 4 */
  uint64_t heap_limit_bytes; /* for extents known only after running; 0: 1 GiB */
  /* Called after every run while profiling, by the thread that ran: the run, its steps in their order, then what each
   * thread's shares of loops were (trace_shares), thread after thread. Must not call back into the session. */
  hone_span_fn on_span;
  void *on_span_user;
  bool no_replay; /* launch every step anew, also on devices that can replay what was recorded */
  /* An engine with several schedules runs shapes by the one that takes them and was tuned nearest to them: the least
   * sum of |log(dim/opt)|. one_schedule: only schedule number `schedule`, and shapes outside its range are refused. */
  bool one_schedule;
  int schedule;
  /* Debug taps: values to look at, by the names of values, outputs, inputs or nodes; "*": all that steps write.
   * Creating the session fails with INVALID when one is not there, and says which step it went into; engine and choices
   * stay as they are. on_tap is called in hone_session_run(), by its thread, in the order of the steps, again at each
   * turn of a loop's body. The tensor is valid during the call and must not be changed; the callback must not call back
   * into the session. What it returns but OK ends the run with that status. */
  const char *const *taps; /* copied; each must be there in every schedule that runs */
  int tap_count;
  hone_status (*on_tap)(void *user, const hone_tap *tap);
  void *on_tap_user;
  int64_t deadline_ms; /* a call taking longer ends with LIMIT, counted from its beginning; 0: none */
  const void *cancel;  /* const atomic_bool *: set by any thread to end the running call with CANCELLED. Borrowed. */
  /* While profiling, room for so many shares of loops in each thread of a CPU's pool, at most 2^20: 32 bytes each, made
   * when profiling is turned on and used again in each run. What finds no room is counted. 0: none are recorded. */
  int trace_shares;
  /* A stream of the first device with memory of its own, as its driver knows it (CUstream, cudaStream_t): runs go into
   * it, after what the caller put there. Borrowed. NULL: the session's own. */
  void *native_stream;
  /* Marks in the queue of the first device with memory of its own, where a run's copies end and its computing begins:
   * for hone_session_parts(), at some microseconds a run. Engines that run in the host's memory alone have none. */
  bool parts;
  /* Profile by marks around steps that are launched one by one, also where the device can tell of each kernel of a
   * replayed run: one session of a process at a time can have that, and what is compared must be measured alike. */
  bool marks_only;
  /* Inputs and outputs that are one buffer of the session's, zeros in the beginning. It stays as it is when other
   * inputs' shapes change; another shape of the input itself makes a new one. Each pair is the input and output of one
   * step whose tactic lets them be one memory (hone_tactic.states: GroupQueryAttention's past and present), in the
   * host's memory, and of the same shape in every run; else hone_session_create() or the run fails with INVALID and
   * says why. Of ONNX's Attention, whose present keys are the past ones and the new ones, the buffer has the input's
   * extents, too: see hone_session_set_state_length(). Such ports cannot be bound; hone_session_copy_in() to the input
   * and hone_session_tensor() of either reach the buffer. The list is copied. */
  const hone_session_state *states;
  int state_count;
} hone_session_options;

/* Allocates everything a run needs at the opt shapes of the first schedule (or the one asked for). Errors: NO_MEMORY,
 * MALFORMED (weights are damaged). */
HONE_API HONE_CHECKED hone_status hone_session_create(hone_engine *engine, const hone_session_options *options,
                                                      hone_session **out_session, hone_diagnostics *diag);
HONE_API void hone_session_destroy(hone_session *session);
/* Calls see() with all that can be tapped, schedule after schedule, inputs first, then in the order of the steps.
 * Errors: NO_MEMORY. */
HONE_API HONE_CHECKED hone_status hone_engine_each_tap(const hone_engine *engine,
                                                       void (*see)(void *user, const hone_tap *tap), void *user,
                                                       hone_diagnostics *diag);

/* The shape of an input for the next runs. Takes effect at the next bind, copy or run, which then may allocate.
 * INVALID names the input, dim, value and what each schedule allows; where several inputs' shapes are each taken by
 * some schedule, but by none together, the bind, copy or run says so. */
HONE_API HONE_CHECKED hone_status hone_session_set_shape(hone_session *session, const char *input, int rank,
                                                         const int64_t *dims);
/* Uses the caller's memory for an input or output from the next run on (borrowed; 64-aligned is fastest; for outputs it
 * must hold the output's bytes). tensor->type must equal the port's. data NULL: back to the session's own buffer.
 * A port on a device takes an address of that device, 64-aligned, in its held type and format; another address than
 * before makes the next run record its launches again (milliseconds), so that few addresses in turns are best kept in
 * as many sessions. */
HONE_API HONE_CHECKED hone_status hone_session_bind(hone_session *session, const char *name, const hone_tensor *tensor);
/* Copies into an input's buffer; sets the input's shape from the tensor when it differs. For an input on a device the
 * tensor is plain in the host's memory, of the model's type or the held one; it is converted here and has arrived when
 * the call returns. */
HONE_API HONE_CHECKED hone_status hone_session_copy_in(hone_session *session, const char *input,
                                                       const hone_tensor *tensor);
/* Of states whose output is the input and new rows behind it (ONNX's Attention: past_key, present_key): how many rows
 * they hold, 0 in the beginning. The next runs write theirs behind these, and see no others; the rest of the input's
 * extent is room. A mask has a column for each row that there is room for and each new one, in this order: what it says
 * of rows that are not there does not count. The output is the buffer, of the input's shape. It stays until it is
 * called again: a run does not add to it. INVALID: negative, or the session has no states; a run for which the buffer
 * has no room. */
HONE_API HONE_CHECKED hone_status hone_session_set_state_length(hone_session *session, int64_t length);
/* Runs. No allocation, except what the engine's description says of extents known only after running. After LIMIT or
 * CANCELLED the outputs hold nothing of use, and the session can run again. */
HONE_API HONE_CHECKED hone_status hone_session_run(hone_session *session);
/* The same without waiting: what devices of their own were given may still run. Until hone_session_wait() no other
 * function but this and the three below may be called on the session, and what is bound must stay: runs that are
 * enqueued one behind another use the same buffers. Engines with steps on the host wait for these. */
HONE_API HONE_CHECKED hone_status hone_session_enqueue(hone_session *session);
/* DEVICE: something that was enqueued failed, and the message has the driver's words. The session is of no use then,
 * since neither its outputs nor the device's memory can be trusted: what is called on it later is refused with DEVICE
 * and that message, and it can only be destroyed. */
HONE_API HONE_CHECKED hone_status hone_session_wait(hone_session *session);
/* A whole run beside the caller, on any device: returns at once, runs in a thread that the session makes at the first
 * such call, and calls done(user, status) in that thread when the run is over (NULL: calls nothing).
 * Until then nothing else may be called on the session: it is refused with INVALID, but for hone_session_wait(), which
 * waits for the run and its done and returns the run's status. What is bound must stay, as in any run. done() may read
 * the outputs, and begin the next run with this very function; hone_session_wait() then waits for that one, too.
 *   hone_session_bind(s, "x", &x); hone_session_run_async(s, told, request);      ... the caller goes on ...
 *   void told(void *request, hone_status status) { ...hone_session_tensor(), hand out the answer... }
 * Several at a time: several sessions. A run whose cancel is set ends with CANCELLED, and done is told.
 * hone_session_destroy() waits; done() itself may destroy the session instead of beginning the next run.
 * Errors: INVALID (in use), NO_MEMORY (no thread); done is not called then. */
HONE_API HONE_CHECKED hone_status hone_session_run_async(hone_session *session,
                                                         void (*done)(void *user, hone_status status), void *user);
/* Calls done(user) once all that the session was given so far is done: by a thread of the driver's, or here, where no
 * device has memory of its own. It must not call the driver or the session, and be quick: the queue waits for it. After
 * a failure of the device it may not be called; hone_session_wait() tells. UNSUPPORTED: the device has no such calls.
 */
HONE_API HONE_CHECKED hone_status hone_session_on_done(hone_session *session, void (*done)(void *user), void *user);
/* Events of the caller's, of the first device with memory of its own, as its driver knows them (CUevent, cudaEvent_t):
 * what is enqueued next waits for the event; the event is recorded behind all that was enqueued so far. UNSUPPORTED:
 * there is no such device, or it knows no events. */
HONE_API HONE_CHECKED hone_status hone_session_wait_event(hone_session *session, void *native_event);
HONE_API HONE_CHECKED hone_status hone_session_record_event(hone_session *session, void *native_event);
/* What a device of its own did of the latest run, in the order of its queue. Times are the device's, in nanoseconds
 * from a point that all sessions on it share (the last time one was created there), so that runs side by side can be
 * told. */
typedef enum hone_part_kind {
  HONE_PART_TO_DEVICE,
  HONE_PART_COMPUTE,
  HONE_PART_TO_HOST,
  HONE_PART_COUNT
} hone_part_kind;
typedef struct hone_run_part {
  hone_part_kind kind;
  double begin_ns, end_ns;
} hone_run_part;
#define HONE_MOST_PARTS 32 /* of a run; what is beyond is counted to the last one */
/* After a run that was waited for, of a session with option `parts`. out: room for HONE_MOST_PARTS. *out_count is 0
 * where no device has memory of its own. INVALID: the option was not set, or nothing ran. */
HONE_API HONE_CHECKED hone_status hone_session_parts(hone_session *session, hone_run_part *out, int *out_count);
/* A view of an output (or input) after a run; valid until the next run or shape change. Of an output on a device it is
 * a copy in the host's memory, plain, as the model has it; inputs there have none (INVALID). */
HONE_API HONE_CHECKED hone_status hone_session_tensor(hone_session *session, const char *name, hone_tensor *out_tensor);
/* An input or output that lies on a device, as it lies there: data is the device's address. INVALID for others. */
HONE_API HONE_CHECKED hone_status hone_session_device_tensor(hone_session *session, const char *name,
                                                             hone_tensor *out_tensor);

/* The session's message list: of the last failing call. Borrowed. */
HONE_API hone_diagnostics *hone_session_diagnostics(hone_session *session);
/* Short for hone_diagnostics_message(hone_session_diagnostics(session), ...). */
HONE_API int hone_session_message_count(const hone_session *session);
HONE_API const char *hone_session_message(const hone_session *session, int index, hone_status *out_status);

HONE_API void hone_session_set_profile(hone_session *session, bool on);
/* Bytes the session holds, by kind. */
typedef struct hone_session_stats {
  uint32_t struct_size;
  uint64_t arena_bytes, scratch_bytes, io_bytes, state_bytes, heap_bytes, weights_bytes;
  int64_t runs, instances;
  int64_t replays, replayed_steps; /* recorded runs of device steps over all instances, and the steps in them */
  int schedule;                    /* of the engine, that ran or was prepared last */
} hone_session_stats;
HONE_API hone_status hone_session_get_stats(const hone_session *session, hone_session_stats *out_stats);

#ifdef __cplusplus
}
#endif
#endif
