/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.c - counters: Prometheus text (exposition format 0.0.4) under Triton's names, so that its dashboards work,
 * with histograms of our own; and statistics as JSON, as Triton's statistics extension has them. */
#include "server.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const double duration_ms[SRV_DURATION_BUCKETS] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000};
static const int batch_rows[SRV_BATCH_BUCKETS] = {1, 2, 4, 8, 16, 32, 64, 128, 256};
static const char *const failure_names[SRV_FAILURES] = {
    [SRV_REJECTED] = "REJECTED", [SRV_CANCELED] = "CANCELED", [SRV_BACKEND] = "BACKEND", [SRV_OTHER] = "OTHER"};

/* ---- counting ---- */

srv_stats *srv_stats_of(srv_pool *pool, const char *name, const char *version) {
  pthread_mutex_lock(&pool->lock);
  srv_stats **at = &pool->stats;
  while (*at && (strcmp((*at)->name, name) != 0 || strcmp((*at)->version, version) != 0)) at = &(*at)->next;
  if (!*at && (*at = calloc(1, sizeof **at)) != NULL) {
    (*at)->pool = pool;
    hn_copy_text((*at)->name, sizeof(*at)->name, name);
    hn_copy_text((*at)->version, sizeof(*at)->version, version);
  }
  srv_stats *stats = *at;
  pthread_mutex_unlock(&pool->lock);
  return stats;
}

void srv_count_failure(srv_pool *pool, srv_stats *stats, srv_failure why, int64_t ns) {
  pthread_mutex_lock(&pool->lock);
  ++stats->failure[why];
  stats->failed_ns += ns;
  pthread_mutex_unlock(&pool->lock);
}

void srv_count_run(srv_pool *pool, srv_stats *s, const hone_batch_run *run) {
  int bucket = 0;
  while (bucket < SRV_BATCH_BUCKETS && run->rows > batch_rows[bucket]) ++bucket;
  pthread_mutex_lock(&pool->lock);
  ++s->executions;
  s->inferences += run->rows;
  ++s->batch[bucket];
  if (run->rows <= SRV_MAX_BATCH) {
    ++s->runs_of[run->rows];
    s->run_input_ns[run->rows] += run->filled_ns - run->begin_ns;
    s->run_infer_ns[run->rows] += run->ran_ns - run->filled_ns;
  }
  pthread_mutex_unlock(&pool->lock);
}

void srv_count_success(srv_pool *pool, const srv_request *r, const hone_request_times *t, int64_t output_ns) {
  struct timespec now;
  srv_stats *s = r->model->stats;
  const int64_t ns = hn_clock_ns() - r->begin_ns;
  int bucket = 0;
  while (bucket < SRV_DURATION_BUCKETS && (double)ns > duration_ms[bucket] * 1e6) ++bucket;
  clock_gettime(CLOCK_REALTIME, &now);
  pthread_mutex_lock(&pool->lock);
  ++s->success;
  ++s->duration[bucket];
  s->last_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
  s->request_ns += ns;
  s->queue_ns += t->begin_ns - t->submitted_ns;
  s->input_ns += t->filled_ns - t->begin_ns;
  s->infer_ns += t->ran_ns - t->filled_ns;
  s->output_ns += output_ns;
  if (t->batch_rows <= SRV_MAX_BATCH) s->run_output_ns[t->batch_rows] += output_ns;
  pthread_mutex_unlock(&pool->lock);
}

/* ---- Prometheus ---- */

static int64_t pending_of(const srv_pool *pool, const srv_stats *s) {
  int64_t pending = 0;
  for (int i = 0; i < pool->model_count; ++i) {
    hone_queue_stats stats = HONE_SIZED(hone_queue_stats);
    if (pool->models[i]->stats == s && hone_queue_get_stats(pool->models[i]->queue, &stats) == HONE_OK)
      pending += stats.waiting;
  }
  return pending;
}

static void add_labels(const srv_stats *s, const char *more, hn_text *out) {
  hn_text_add(out, "{model=");
  hn_text_quoted(out, s->name, strlen(s->name));
  hn_text_printf(out, ",version=\"%s\"%s}", s->version, more);
}

typedef struct metric {
  const char *name, *type, *help;
  size_t at;     /* in srv_stats */
  int64_t scale; /* of what is counted in one unit of the metric */
} metric;
static const metric metrics[] = {
    {"nv_inference_request_success", "counter", "Inference requests that got their outputs",
     offsetof(srv_stats, success), 1},
    {"nv_inference_count", "counter", "Rows that were inferred", offsetof(srv_stats, inferences), 1},
    {"nv_inference_exec_count", "counter", "Batches that were run", offsetof(srv_stats, executions), 1},
    {"nv_inference_request_duration_us", "counter", "Time of successful requests, from their first byte on",
     offsetof(srv_stats, request_ns), 1000},
    {"nv_inference_queue_duration_us", "counter", "Time in queues", offsetof(srv_stats, queue_ns), 1000},
    {"nv_inference_compute_input_duration_us", "counter", "Time of making inputs", offsetof(srv_stats, input_ns), 1000},
    {"nv_inference_compute_infer_duration_us", "counter", "Time of running", offsetof(srv_stats, infer_ns), 1000},
    {"nv_inference_compute_output_duration_us", "counter", "Time of making replies", offsetof(srv_stats, output_ns),
     1000},
};

static void add_head(const char *name, const char *type, const char *help, hn_text *out) {
  hn_text_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void add_failures(const srv_pool *pool, hn_text *out) {
  add_head("nv_inference_request_failure", "counter", "Inference requests that failed", out);
  for (const srv_stats *s = pool->stats; s; s = s->next)
    for (int f = 0; f < SRV_FAILURES; ++f) {
      char reason[48];
      (void)snprintf(reason, sizeof reason, ",reason=\"%s\"", failure_names[f]);
      hn_text_add(out, "nv_inference_request_failure");
      add_labels(s, reason, out);
      hn_text_printf(out, " %" PRId64 "\n", s->failure[f]);
    }
}

static void add_histogram(const srv_stats *s, const char *name, const int64_t *counts, int buckets,
                          const double *bounds, double unit, double sum, hn_text *out) {
  int64_t all = 0;
  char more[64];
  for (int b = 0; b <= buckets; ++b) {
    all += counts[b];
    if (b < buckets)
      (void)snprintf(more, sizeof more, ",le=\"%g\"", bounds[b] * unit);
    else
      (void)snprintf(more, sizeof more, ",le=\"+Inf\"");
    hn_text_printf(out, "%s_bucket", name);
    add_labels(s, more, out);
    hn_text_printf(out, " %" PRId64 "\n", all);
  }
  hn_text_printf(out, "%s_sum", name);
  add_labels(s, "", out);
  hn_text_printf(out, " %.9g\n%s_count", sum, name);
  add_labels(s, "", out);
  hn_text_printf(out, " %" PRId64 "\n", all);
}

static void add_histograms(const srv_pool *pool, hn_text *out) {
  double rows[SRV_BATCH_BUCKETS];
  for (int b = 0; b < SRV_BATCH_BUCKETS; ++b) rows[b] = batch_rows[b];
  add_head("hone_request_duration_seconds", "histogram", "Time of successful requests, from their first byte on", out);
  for (const srv_stats *s = pool->stats; s; s = s->next)
    add_histogram(s, "hone_request_duration_seconds", s->duration, SRV_DURATION_BUCKETS, duration_ms, 1e-3,
                  (double)s->request_ns / 1e9, out);
  add_head("hone_batch_rows", "histogram", "Rows of a batch", out);
  for (const srv_stats *s = pool->stats; s; s = s->next)
    add_histogram(s, "hone_batch_rows", s->batch, SRV_BATCH_BUCKETS, rows, 1, (double)s->inferences, out);
}

void srv_metrics_write(srv_pool *pool, hn_text *out) {
  pthread_mutex_lock(&pool->lock);
  for (size_t m = 0; m < HN_COUNT(metrics); ++m) {
    add_head(metrics[m].name, metrics[m].type, metrics[m].help, out);
    for (const srv_stats *s = pool->stats; s; s = s->next) {
      hn_text_add(out, metrics[m].name);
      add_labels(s, "", out);
      hn_text_printf(out, " %" PRId64 "\n", *(const int64_t *)((const char *)s + metrics[m].at) / metrics[m].scale);
    }
  }
  add_failures(pool, out);
  add_head("nv_inference_pending_request_count", "gauge", "Requests that wait", out);
  for (const srv_stats *s = pool->stats; s; s = s->next) {
    hn_text_add(out, "nv_inference_pending_request_count");
    add_labels(s, "", out);
    hn_text_printf(out, " %" PRId64 "\n", pending_of(pool, s));
  }
  add_histograms(pool, out);
  const struct {
    const char *name, *help;
    int64_t value;
  } gauges[] = {{"hone_connections", "Open connections", atomic_load(&pool->connections)},
                {"hone_requests_in_flight", "Requests whose reply is not sent yet", atomic_load(&pool->in_flight)},
                {"hone_held_bytes", "Bytes of bodies that are held", atomic_load(&pool->held_bytes)},
                {"hone_models", "Models that are served", pool->model_count},
                {"hone_workers", "Batches that can run at one time", hone_batcher_workers(pool->batcher)}};
  for (size_t g = 0; g < HN_COUNT(gauges); ++g) {
    add_head(gauges[g].name, "gauge", gauges[g].help, out);
    hn_text_printf(out, "%s %" PRId64 "\n", gauges[g].name, gauges[g].value);
  }
  pthread_mutex_unlock(&pool->lock);
}

/* ---- JSON ---- */

static void add_duration(hn_json_writer *w, const char *name, int64_t count, int64_t ns) {
  hn_json_open_flat(w, name, '{');
  hn_json_put_int(w, "count", count);
  hn_json_put_int(w, "ns", ns);
  hn_json_close(w, '}');
}

static void add_model_stats(hn_json_writer *w, const srv_stats *s) {
  int64_t failures = 0;
  for (int f = 0; f < SRV_FAILURES; ++f) failures += s->failure[f];
  hn_json_open(w, NULL, '{');
  hn_json_put_text(w, "name", s->name);
  hn_json_put_text(w, "version", s->version);
  hn_json_put_int(w, "last_inference", s->last_ms);
  hn_json_put_int(w, "inference_count", s->inferences);
  hn_json_put_int(w, "execution_count", s->executions);
  hn_json_open(w, "inference_stats", '{');
  add_duration(w, "success", s->success, s->request_ns);
  add_duration(w, "fail", failures, s->failed_ns);
  add_duration(w, "queue", s->success, s->queue_ns);
  add_duration(w, "compute_input", s->success, s->input_ns);
  add_duration(w, "compute_infer", s->success, s->infer_ns);
  add_duration(w, "compute_output", s->success, s->output_ns);
  hn_json_close(w, '}');
  hn_json_open(w, "batch_stats", '[');
  for (int b = 1; b <= SRV_MAX_BATCH; ++b) {
    if (s->runs_of[b] == 0) continue;
    hn_json_open(w, NULL, '{');
    hn_json_put_int(w, "batch_size", b);
    add_duration(w, "compute_input", s->runs_of[b], s->run_input_ns[b]);
    add_duration(w, "compute_infer", s->runs_of[b], s->run_infer_ns[b]);
    add_duration(w, "compute_output", s->runs_of[b], s->run_output_ns[b]);
    hn_json_close(w, '}');
  }
  hn_json_close(w, ']');
  hn_json_close(w, '}');
}

void srv_stats_write(srv_pool *pool, const char *name, hn_text *out) {
  hn_json_writer w;
  hn_json_begin(&w, out);
  hn_json_open(&w, NULL, '{');
  hn_json_open(&w, "model_stats", '[');
  pthread_mutex_lock(&pool->lock);
  for (const srv_stats *s = pool->stats; s; s = s->next)
    if (!name || strcmp(s->name, name) == 0) add_model_stats(&w, s);
  pthread_mutex_unlock(&pool->lock);
  hn_json_close(&w, ']');
  hn_json_close(&w, '}');
}
