/* SPDX-License-Identifier: Apache-2.0 */
/* batcher.h - inside of api/: workers, queues and requests.
 *
 *   submit (runtime_request.c) -> queue (runtime_queue.c) -> batch on a worker (runtime_batch.c) -> done
 *
 * The batcher's mutex guards queues, requests' states and all counters; nothing runs, opens or ends under it. */
#ifndef HN_API_BATCHER_H
#define HN_API_BATCHER_H

#include "base/clock.h"
#include "base/cond.h"
#include "base/context.h"
#include "run/engine.h"
#include <hone/queue.h>

typedef enum hn_request_state { HN_REQUEST_OVER, HN_REQUEST_WAITS, HN_REQUEST_RUNS } hn_request_state;

struct hone_request {
  hone_queue *queue;  /* held */
  hone_request *next; /* in a queue or a batch */
  hn_request_state state;
  hone_tensor *in;     /* one an input */
  hone_tensor *lent;   /* where outputs lie, for done() */
  hone_tensor *out;    /* the caller's; NULL: none are copied */
  hone_shape *shapes;  /* room for asking schedules, as is */
  int64_t *symbols;    /* this */
  int64_t rank;        /* the lowest runs first */
  int64_t deadline_ns; /* 0: none */
  hone_request_times times;
  void (*done)(void *user, hone_request *request, hone_status status);
  void *user;
  pthread_cond_t over;
  bool in_done; /* with OK: outputs can be read */
  hone_status status;
  char message[HN_DIAG_TEXT_BYTES];
};

struct hone_queue {
  hone_batcher *batcher; /* held */
  hone_queue *next;      /* with requests waiting */
  int holds;             /* the opener's, requests', sessions' */
  bool closed;
  hone_engine *engine;
  hone_engine **of_worker; /* the same on each worker's device */
  hone_queue_options options;
  int in_count, out_count, symbol_count;
  int most, preferred; /* rows; most 0: requests run alone */
  int64_t fixed;       /* rows of every run; 0: as many as there are */
  bool takes[HONE_MAX_BATCH + 1];
  hone_request *first; /* by rank, then as they came */
  hone_queue_stats stats;
  double tokens; /* of the rate: a request takes one */
  int64_t tokens_ns;
};

typedef struct hn_batch_session {
  hone_queue *queue; /* held; NULL: free */
  hone_session *session;
  int64_t used;
} hn_batch_session;

typedef struct hn_batch_worker {
  hone_batcher *batcher;
  int number;
  pthread_t thread;
  bool started;
  hone_device *device;
  hn_batch_session *sessions; /* batcher->session_count */
  int64_t uses;
  hone_diagnostics diag;
  hn_diag_entry entry;
} hn_batch_worker;

struct hone_batcher {
  hn_allocator allocator;
  atomic_int holds; /* the creator's, queues' */
  pthread_mutex_t mutex;
  pthread_cond_t work, timers, idle;
  hn_batch_worker *workers;
  int worker_count, session_count;
  hone_queue *waiting; /* queues with requests */
  int64_t next_deadline_ns;
  int under_way; /* requests that were taken and are not over */
  pthread_t timer;
  bool timer_started, ending, ended;
  atomic_bool cancel; /* ends what runs */
};

void hn_batcher_release(hone_batcher *batcher);
void *hn_batch_worker_main(void *worker);
void *hn_batch_timer_main(void *batcher);

/* ---- with the mutex held ---- */
/* A batch that is due, unlinked and in its order; NULL: none, and *out_ns is when to look again (0: when told). */
hone_request *hn_queue_take(hone_batcher *batcher, int64_t now_ns, int64_t *out_ns);
/* Unlinks what waits beyond its time, or all, or one request alone. */
hone_request *hn_queue_unlink(hone_batcher *batcher, int64_t now_ns, bool all, const hone_request *only);
void hn_queue_put(hone_queue *queue, hone_request *request);
/* Takes one of the rate's tokens; false: there is none. */
bool hn_queue_spend(hone_queue *queue, int64_t now_ns);

/* Without it: frees the queue with its last hold. */
void hn_queue_release(hone_queue *queue);
/* What became of a request; message NULL: OK. It may be gone when this returns. */
void hn_request_finish(hone_request *request, hone_status status, const char *message);
/* Requests of a list, one after the other. */
void hn_requests_refuse(hone_request *list, hone_status status, const char *message);
/* Runs a batch in one of the worker's sessions and ends its requests. */
void hn_batch_run(hn_batch_worker *worker, hone_request *batch);
void hn_batch_session_drop(hn_batch_session *session);

#endif
