/* SPDX-License-Identifier: Apache-2.0 */
/* server.h - hone-server: models of a folder behind the Open Inference Protocol (version 2) over HTTP.
 *
 * request (http.c, routes.c, infer.c) -> queue of its model, and a batch on a worker (hone/queue.h) -> reply
 * (pool.c, reply.c)
 *
 * Threads: libmicrohttpd's read and write; the library's workers run batches and make replies; one loads models
 * (repository.c). The pool's lock guards the table of models and all counters; nothing runs or loads under it. Sees
 * <hone/...>, its own files and src/base. */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include "base/clock.h"
#include "base/diag.h"
#include "base/json.h"
#include "server/ports.h"
#include <hone/hone.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { SRV_MAX_WORKERS = HONE_MAX_THREADS, SRV_NAME_ROOM = 128, SRV_MAX_PATHS = 64 };

/* ---- options (options.c) ---- */
typedef struct srv_options {
  const char *paths[SRV_MAX_PATHS]; /* engines, models, or folders of them */
  int path_count;
  const char *address, *cache_dir, *timing_cache;
  int64_t port, http_threads, workers, threads, sessions, level, max_batch, max_delay_us, max_queue, max_connections,
      queue_timeout_ms, run_timeout_ms, idle_timeout_s, receive_timeout_s, poll_ms, lame_duck_ms, drain_ms, max_body,
      max_held, max_json;
  double max_rate;
  int64_t control, verbose, quiet; /* flags */
} srv_options;
/* *out_done: the program has said what it was asked (--help). The result is an exit code. */
int srv_options_read(int count, char *const *arguments, srv_options *out, bool *out_done);
/* What an option allows; true: also what is no whole number. */
bool srv_option_range(const char *name, double *out_low, double *out_high);
int srv_exit_code(hone_status status);
/* A line on standard error, with the time of day. */
void srv_say(const srv_options *options, const char *format, ...) HONE_PRINTF(2, 3);

/* ---- what a model may have of its own (settings.c) ---- */
typedef struct srv_settings {
  int64_t max_delay_us, max_queue;
  double max_rate; /* requests a second; 0: no cap */
} srv_settings;
/* The options', and over them those of the file; path "": none. Errors: MALFORMED, IO, NO_MEMORY. */
hone_status srv_settings_read(const srv_options *options, const char *path, srv_settings *out, hone_diagnostics *diag);

/* ---- numbers in JSON (numbers.c) ---- */
/* One number of JSON as an element. False: it is not one, or out of range. */
bool srv_type_store(const srv_type *type, void *to, const hn_json *number);
void srv_type_print(const srv_type *type, const void *from, hn_text *out);

/* ---- what is counted, by the names of models (metrics.c) ---- */
typedef enum srv_failure { SRV_REJECTED, SRV_CANCELED, SRV_BACKEND, SRV_OTHER, SRV_FAILURES } srv_failure;
enum { SRV_DURATION_BUCKETS = 12, SRV_BATCH_BUCKETS = 9 };
typedef struct srv_stats {
  struct srv_stats *next;
  struct srv_pool *pool;
  char name[SRV_NAME_ROOM], version[24];
  int64_t success, failure[SRV_FAILURES], inferences, executions, last_ms; /* since 1970 */
  int64_t request_ns, failed_ns, queue_ns, input_ns, infer_ns, output_ns;
  int64_t duration[SRV_DURATION_BUCKETS + 1], batch[SRV_BATCH_BUCKETS + 1];
  int64_t runs_of[SRV_MAX_BATCH + 1], run_input_ns[SRV_MAX_BATCH + 1], run_infer_ns[SRV_MAX_BATCH + 1],
      run_output_ns[SRV_MAX_BATCH + 1];
} srv_stats;

/* ---- models (model.c) ---- */
typedef struct srv_model {
  atomic_int holds; /* the table's, requests' */
  char name[SRV_NAME_ROOM], version[24];
  hone_engine *engine;
  hone_queue *queue;
  srv_ports ports;
  srv_settings settings;
  srv_stats *stats; /* of the name; never freed before the pool */
} srv_model;

struct srv_pool;
struct srv_file;
/* Takes over the engine, also on failure. Errors: UNSUPPORTED (ports that the protocol has no words for), NO_MEMORY,
 * and what a session's creation says. */
hone_status srv_model_create(struct srv_pool *pool, const struct srv_file *file, hone_engine *engine,
                             hone_diagnostics *diag, srv_model **out);
void srv_model_hold(srv_model *model);
void srv_model_release(srv_model *model); /* NULL is fine */

/* ---- replies (reply.c) ---- */
typedef struct srv_reply {
  int code;
  char *bytes;                /* malloc */
  size_t length, json_length; /* json_length: of the JSON in front of tensors; 0: all is of type */
  const char *type;
  int retry_s; /* of Retry-After; 0: there is none */
  bool close, allow_get, allow_post;
} srv_reply;
/* {"error": "..."}; a reply that is there already goes. */
void srv_reply_error(srv_reply *reply, int code, const char *format, ...) HONE_PRINTF(3, 4);
void srv_reply_text(srv_reply *reply, int code, const char *type, hn_text *text); /* takes the text's bytes */
int srv_code_of(hone_status status);

/* ---- inference requests (infer.c) ---- */
typedef struct srv_wanted {
  int output;
  bool binary;
} srv_wanted;
typedef struct srv_request {
  srv_model *model;
  hone_request *queued; /* NULL: not yet */
  hn_arena arena;       /* of all that follows */
  const char *id;
  hone_tensor *in; /* in_count; data in the body or the arena */
  srv_wanted *wanted;
  int wanted_count;
  int64_t rows; /* the first dim of all inputs, where the model takes batches; else 1 */
  int64_t priority;
  int64_t begin_ns, deadline_ns; /* monotonic; deadline 0: none */
  srv_reply reply;
  void (*done)(struct srv_request *request); /* any thread; the request may be gone when it returns */
  void *owner;
} srv_request;
/* Reads a request for the model from a body: json_length bytes of JSON, then binary data; json_length 0 with binary:
 * the single input as it is. Errors: INVALID and MALFORMED (the client's), LIMIT (larger than allowed), NO_MEMORY. */
hone_status srv_request_read(srv_request *request, const srv_options *options, char *body, size_t length,
                             size_t json_length, bool raw, hone_diagnostics *diag);
void srv_request_clear(srv_request *request);
/* The reply with the outputs of what was queued, in its done(). */
hone_status srv_request_reply(srv_request *request, hone_request *queued, hone_diagnostics *diag);

/* ---- the pool: models and their requests (pool.c) ---- */
typedef enum srv_state { SRV_STARTING, SRV_SERVING, SRV_LEAVING, SRV_DRAINING } srv_state;
typedef struct srv_entry srv_entry;
typedef struct srv_pool {
  const srv_options *options;
  hone_batcher *batcher; /* workers, and the queues of all models */
  pthread_mutex_t lock;
  srv_model **models; /* the table: what is served */
  int model_count, model_room;
  srv_stats *stats;
  atomic_int state;        /* srv_state */
  atomic_int in_flight;    /* HTTP requests whose reply is not sent yet */
  atomic_llong held_bytes; /* of bodies */
  atomic_int connections;
} srv_pool;
hone_status srv_pool_open(srv_pool *pool, const srv_options *options, hone_context *context);
void srv_pool_close(srv_pool *pool); /* what waits gets 503, what runs is ended, no thread is left */
void srv_pool_free(srv_pool *pool);  /* after that */
hone_status srv_pool_open_queue(srv_pool *pool, srv_model *model, hone_diagnostics *diag);
/* Queues; false: the reply says why not (429, 503). */
bool srv_pool_submit(srv_pool *pool, srv_request *request);
/* Held for the caller; NULL: no such model. version "": any. */
srv_model *srv_pool_find(srv_pool *pool, const char *name, const char *version);
/* Puts the model into the table in place of one of its name, which is let go; NULL: only lets go. */
bool srv_pool_place(srv_pool *pool, const char *name, srv_model *model);
const char *srv_pool_nearest(srv_pool *pool, const char *name, char *room, size_t bytes); /* NULL: none is near */

/* What became of a request, and of a run, for the counters. */
void srv_count_failure(srv_pool *pool, srv_stats *stats, srv_failure why, int64_t ns);
void srv_count_run(srv_pool *pool, srv_stats *stats, const hone_batch_run *run);
void srv_count_success(srv_pool *pool, const srv_request *request, const hone_request_times *times, int64_t output_ns);
srv_stats *srv_stats_of(srv_pool *pool, const char *name, const char *version); /* made when new; NULL: no memory */
void srv_metrics_write(srv_pool *pool, hn_text *out);
void srv_stats_write(srv_pool *pool, const char *name, hn_text *out); /* name NULL: of all */

/* ---- the folders of models (repository.c) ---- */
typedef struct srv_task srv_task;
typedef struct srv_repository {
  srv_pool *pool;
  hone_context *context; /* of the loading thread, as is the device */
  hone_device *device;
  srv_entry *entries; /* changed by the thread alone, under the lock */
  int entry_count, entry_room;
  srv_task *tasks; /* what clients asked for */
  pthread_mutex_t lock;
  pthread_cond_t wake;
  pthread_t thread;
  bool started, closing, scan;
  atomic_bool cancel; /* ends a build */
  atomic_bool ready;  /* all that was there at the start was tried */
} srv_repository;
hone_status srv_repository_open(srv_repository *repository, srv_pool *pool);
void srv_repository_close(srv_repository *repository); /* what clients asked for gets its reply; again: nothing */
void srv_repository_scan(srv_repository *repository);  /* soon, by its thread */
/* Loads or unloads a model by a client's wish; the request gets its reply from the thread. False: the reply says why
 * not. */
bool srv_repository_submit(srv_repository *repository, srv_request *request, const char *name, bool load);
void srv_repository_index(srv_repository *repository, bool ready_only, hn_text *out);

/* ---- models' files (load.c) ---- */
typedef struct srv_file {
  char name[SRV_NAME_ROOM], version[24], path[4096];
  int64_t size, modified_ns, number; /* as it was seen last */
  char settings[4096];               /* the file of its own configuration; "": none */
  int64_t settings_size, settings_modified_ns;
} srv_file;
/* Calls see() with what a path holds: one file of each model, its highest version, and its configuration's. False: it
 * cannot be read. */
bool srv_files_find(const char *path, void (*see)(void *user, const srv_file *file), void *user);
/* An engine from a file: as it is, or built from a model and kept in the cache's folder. Its bytes are copied, so that
 * the file may be written over. */
hone_status srv_load_engine(srv_repository *repository, const srv_file *file, hone_engine **out);

/* ---- HTTP (http.c, routes.c) ---- */
typedef struct srv_server {
  srv_options options;
  srv_pool pool;
  srv_repository repository;
  struct MHD_Daemon *daemon;
  int port;
} srv_server;
/* A request as a route sees it. */
typedef struct srv_call {
  srv_server *server;
  char model[SRV_NAME_ROOM], version[24];
  char *body;
  size_t length;
  int64_t json_length; /* of Inference-Header-Content-Length; -1: no such header */
  srv_request *request;
  /* Without a reply after serve(): the request is handed over, and its own reply counts, which may come from any
   * thread. False: it was not handed over, and has its reply. */
  bool (*submit)(struct srv_call *call);
  srv_reply reply;
} srv_call;
typedef enum srv_method { SRV_GET, SRV_POST } srv_method;
typedef struct srv_route {
  srv_method method;
  const char *pattern; /* "*" stands for the model, then for the version */
  void (*serve)(srv_call *call);
  const char *doc;
} srv_route;
extern const srv_route srv_routes[]; /* ends with pattern NULL */
/* NULL: call->reply says 404 or 405. */
const srv_route *srv_route_find(const char *method, const char *url, srv_call *call);
bool srv_http_open(srv_server *server);
/* Takes what was still waiting to be accepted, and no more. */
void srv_http_quiesce(srv_server *server);
void srv_http_close(srv_server *server);

#endif
