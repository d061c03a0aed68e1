/* SPDX-License-Identifier: Apache-2.0 */
/* queue.h - requests of any threads, put together into batches and run by workers.
 *
 *   hone_batcher_create(context, NULL, &batcher);                        workers, for any number of engines
 *   hone_queue_open(batcher, engine, &options, &queue, diag);            how its requests are put together
 *   hone_request_create(queue, &request, diag);                          used again and again
 *   hone_request_submit(request, &call, diag); hone_request_wait(request);        or with a callback
 *
 * A batch runs when it is as large as a schedule was tuned for, or when its oldest request has waited for max_delay_us.
 * Submitting, batching and running allocate nothing, but for a session's first run of each engine and of each batch's
 * size and shape, of which a session keeps HONE_QUEUE_SHAPES prepared. */
#ifndef HONE_QUEUE_H
#define HONE_QUEUE_H

#include <hone/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HONE_MAX_BATCH = 1024, HONE_QUEUE_SHAPES = 16 };

typedef struct hone_batcher hone_batcher;
typedef struct hone_queue hone_queue;     /* of the requests for one engine */
typedef struct hone_request hone_request; /* to one queue, one run at a time */

/* ---- workers ---- */
typedef struct hone_batcher_options {
  uint32_t struct_size;
  int workers;  /* batches that run at one time; 0: as many as have processors (hone_facts.process_threads) */
  int threads;  /* of each worker, on a CPU device of its own, not pinned; 0: 1 */
  int sessions; /* that a worker keeps over all queues; the one that was not used for longest makes room. 0: 16; at most
                   4096 */
} hone_batcher_options;

/* Starts the workers, and a thread that ends what waits for too long.
 *
 * context  is used for the time of the call alone; workers use its allocator after it is gone
 * Threads  a batcher is used by any threads at the same time
 * Errors   INVALID, NO_MEMORY, those of hone_device_open, DEVICE (no thread can be made) */
HONE_API HONE_CHECKED hone_status hone_batcher_create(hone_context *context, const hone_batcher_options *options,
                                                      hone_batcher **out_batcher);
/* Takes no further requests, and waits until those that were taken are done: for wait_ms at most, -1: for as long as it
 * takes. Delays do not count any more. Then what still waits or runs is ended with CANCELLED, and no thread is left
 * when it returns. Must not be called by done(). LIMIT: some were ended so. */
HONE_API hone_status hone_batcher_end(hone_batcher *batcher, int64_t wait_ms);
/* After hone_batcher_end(batcher, 0), where that was not called. Queues and requests may be closed and destroyed later.
 * NULL is fine. */
HONE_API void hone_batcher_destroy(hone_batcher *batcher);
HONE_API int hone_batcher_workers(const hone_batcher *batcher); /* how many there are */

/* ---- batches ---- */
/* Rows of several requests can be put together where the first dim of all inputs and outputs is one free dim. */
typedef struct hone_batches {
  uint32_t struct_size;
  int most;      /* rows of the largest batch that some schedule takes; 0: they cannot be put together */
  int preferred; /* rows of the largest one that was tuned for */
} hone_batches;
/* most_rows: batches of no more, 1 to HONE_MAX_BATCH. */
HONE_API hone_status hone_engine_batches(const hone_engine *engine, int most_rows, hone_batches *out_batches);
/* Does some schedule take so many rows? Batches between two schedules belong to none. */
HONE_API bool hone_engine_takes_rows(const hone_engine *engine, int64_t rows);

/* What a worker did of a batch. Times are nanoseconds of CLOCK_MONOTONIC. */
typedef struct hone_batch_run {
  uint32_t struct_size;
  int requests;
  int64_t rows;
  int64_t begin_ns, filled_ns, ran_ns; /* a worker took it; inputs were there; the run was over */
  hone_status status;
} hone_batch_run;

typedef struct hone_queue_options {
  uint32_t struct_size;
  int max_batch;   /* rows; 0: as many as the engine takes, up to HONE_MAX_BATCH; 1: each request runs alone */
  int max_waiting; /* requests; one more is refused with LIMIT. 0: 256; at most 10^6 */
  /* How long the oldest request waits for others, at most 10^9; 0: what waits already is put together. */
  int64_t max_delay_us;
  /* Requests a second; what comes faster is refused with LIMIT, but for a tenth of a second's at once. 0: no cap; at
   * most 10^9. */
  double max_rate;
  int64_t wait_limit_ms; /* a request that no worker took in this time ends with LIMIT, at most 10^12; 0: none does */
  int64_t run_limit_ms;  /* a run that takes longer ends with LIMIT; 0: none does */
  /* All first dims are one number above 1, and mean rows of requests: a batch runs with that many, rows that nobody
   * asked for being copies of the last one. INVALID where they are not. */
  bool fixed_batch;
  /* Called by a worker behind each run, before its requests are told. Must not call back. */
  void (*on_run)(void *user, const hone_batch_run *run);
  void *on_run_user;
} hone_queue_options;

/* The weights are checked here.
 *
 * Ownership  the queue holds the engine
 * Errors     UNSUPPORTED (an input or output is a string, a sequence or an optional, or lies on a device), INVALID,
 *            those of hone_engine_share and hone_session_create */
HONE_API HONE_CHECKED hone_status hone_queue_open(hone_batcher *batcher, hone_engine *engine,
                                                  const hone_queue_options *options, hone_queue **out_queue,
                                                  hone_diagnostics *diag);
/* Returns at once: what was taken is still run, nothing more is, and workers drop their sessions. NULL is fine. */
HONE_API void hone_queue_close(hone_queue *queue);

typedef struct hone_queue_stats {
  uint32_t struct_size;
  int waiting;              /* now */
  int64_t taken;            /* requests, so far; */
  int64_t refused;          /* of others, for want of room or by the rate; */
  int64_t failed;           /* of those taken, ended without outputs */
  int64_t runs, rows;       /* without an error, and their rows: rows / runs is the mean batch */
  double wait_ns, run_ns;   /* waits of those that ran, in sum; runs, in sum */
  int max_batch, preferred; /* rows: at most, and as many as are waited for; max_batch 0: each request runs alone */
} hone_queue_stats;
HONE_API hone_status hone_queue_get_stats(hone_queue *queue, hone_queue_stats *out_stats);

/* ---- requests ---- */
typedef struct hone_call {
  uint32_t struct_size;
  /* One an input of the engine, in its order: plain, in the host's memory. The list is copied, the data must stay. Of
   * an engine that takes batches the first dim is the request's rows, the same of all inputs. */
  const hone_tensor *inputs;
  int input_count;
  /* NULL, or one an output, in its order: data and bytes are room that the output is copied to, data NULL: it is not
   * wanted; the type is filled in. The list and what it points to must stay. Too little room ends the request with
   * INVALID, for it alone. */
  hone_tensor *outputs;
  int output_count;
  int64_t priority;      /* 1 runs before 2, and so on, at most 2^31 - 1; 0: behind all others */
  int64_t wait_limit_us; /* as the queue's wait_limit_ms, whichever is less, at most 10^15; 0: the queue's */
  /* Called once when the request is over, by a worker or whoever ends it; NULL: hone_request_wait() tells. It may read
   * the outputs where they lie (hone_request_output), submit the request again, or destroy it. It should be quick: the
   * worker waits for it. */
  void (*done)(void *user, hone_request *request, hone_status status);
  void *user;
} hone_call;

/* Errors: INVALID, NO_MEMORY. */
HONE_API HONE_CHECKED hone_status hone_request_create(hone_queue *queue, hone_request **out_request,
                                                      hone_diagnostics *diag);
/* Hands the request over; done() may come before it returns.
 * Errors: INVALID (it is under way, an input does not fit, the queue is closed), LIMIT (the queue is full, or max_rate
 * is used up: try again later), CANCELLED (the batcher ended). done() is not called then. */
HONE_API HONE_CHECKED hone_status hone_request_submit(hone_request *request, const hone_call *call,
                                                      hone_diagnostics *diag);
/* Waits until the request is over, and returns what became of it; hone_request_message() has the words. OK where it was
 * never submitted. INVALID: it has a done(). */
HONE_API HONE_CHECKED hone_status hone_request_wait(hone_request *request);
/* Ends a request that no worker has taken yet with CANCELLED. INVALID: a worker has it, or it is over. */
HONE_API hone_status hone_request_cancel(hone_request *request);
/* In done() with OK: the request's rows of an output where they lie, valid until done() returns. INVALID: elsewhere,
 * or there is no such output. */
HONE_API HONE_CHECKED hone_status hone_request_output(hone_request *request, int index, hone_tensor *out_tensor);
/* Why it failed, "" for OK; borrowed until it is submitted again. In done() or when it is over. */
HONE_API const char *hone_request_message(const hone_request *request);
typedef struct hone_request_times {
  uint32_t struct_size;
  int64_t rows, batch_rows; /* its own, and those of the batch that it ran in */
  /* CLOCK_MONOTONIC, in nanoseconds: it was submitted; a worker took it (0: none did); its batch's inputs were there;
   * its batch had run */
  int64_t submitted_ns, begin_ns, filled_ns, ran_ns;
} hone_request_times;
/* In done() or when it is over. */
HONE_API hone_status hone_request_get_times(const hone_request *request, hone_request_times *out_times);
/* One that waits is ended, one that runs is waited for, both without a call of done(), which must not use the request
 * any more in another thread. done() itself may destroy its own. NULL is fine. */
HONE_API void hone_request_destroy(hone_request *request);

#ifdef __cplusplus
}
#endif
#endif
