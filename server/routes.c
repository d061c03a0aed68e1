/* SPDX-License-Identifier: Apache-2.0 */
/* routes.c - what the server answers, one row a route; infer is read in infer.c and answered by a worker.
 * Source: Open Inference Protocol, version 2 (REST), and Triton's extensions for repositories and statistics. */
#include "server.h"
#include <string.h>

static const char json_type[] = "application/json";

static void reply_json(srv_call *call, hn_text *text) {
  hn_text_add(text, "\n");
  srv_reply_text(&call->reply, 200, json_type, text);
}

static void reply_empty(srv_call *call, bool yes, const char *no) {
  hn_text text;
  hn_text_init(&text, hn_allocator_default());
  if (yes)
    srv_reply_text(&call->reply, 200, json_type, &text);
  else
    srv_reply_error(&call->reply, 503, "%s", no);
}

/* Held; NULL after a reply. */
static srv_model *want_model(srv_call *call) {
  char near[SRV_NAME_ROOM];
  srv_pool *pool = &call->server->pool;
  srv_model *m = srv_pool_find(pool, call->model, call->version);
  if (m) return m;
  srv_model *other = *call->version ? srv_pool_find(pool, call->model, "") : NULL;
  if (other) {
    srv_reply_error(&call->reply, 404, "model \"%s\" has version %s, not %s", call->model, other->version,
                    call->version);
    srv_model_release(other);
    return NULL;
  }
  const char *found = srv_pool_nearest(pool, call->model, near, sizeof near);
  srv_reply_error(&call->reply, 404, "there is no model \"%s\"%s%s%s", call->model, found ? "; did you mean \"" : "",
                  found ? found : "", found ? "\"?" : "");
  return NULL;
}

/* ---- the server ---- */

static void serve_live(srv_call *call) { reply_empty(call, true, ""); }

static bool is_ready(srv_call *call) {
  return atomic_load(&call->server->pool.state) == SRV_SERVING && atomic_load(&call->server->repository.ready);
}

static void serve_ready(srv_call *call) {
  reply_empty(call, is_ready(call),
              atomic_load(&call->server->pool.state) > SRV_SERVING ? "the server is leaving"
                                                                   : "models are being loaded");
}

static void serve_metadata(srv_call *call) {
  static const char *const extensions[] = {"binary_tensor_data", "model_repository", "model_configuration",
                                           "schedule_policy",    "statistics",       "parameters"};
  hn_text text;
  hn_json_writer w;
  hn_text_init(&text, hn_allocator_default());
  hn_json_begin(&w, &text);
  hn_json_open(&w, NULL, '{');
  hn_json_put_text(&w, "name", "hone-server");
  hn_json_put_text(&w, "version", hone_version());
  hn_json_open_flat(&w, "extensions", '[');
  for (size_t i = 0; i < HN_COUNT(extensions); ++i) hn_json_put_text(&w, NULL, extensions[i]);
  hn_json_close(&w, ']');
  hn_json_close(&w, '}');
  reply_json(call, &text);
}

static void serve_metrics(srv_call *call) {
  hn_text text;
  hn_text_init(&text, hn_allocator_default());
  srv_metrics_write(&call->server->pool, &text);
  srv_reply_text(&call->reply, 200, "text/plain; version=0.0.4", &text);
}

/* ---- a model ---- */

static void put_ports(hn_json_writer *w, const char *key, const srv_port *ports, int count, bool config, bool batched) {
  char type[16];
  hn_json_open(w, key, '[');
  for (int i = 0; i < count; ++i) {
    const srv_port *p = &ports[i];
    (void)snprintf(type, sizeof type, "TYPE_%s", p->type->name);
    hn_json_open_flat(w, NULL, '{');
    hn_json_put_text(w, "name", p->name);
    hn_json_put_text(w, config ? "data_type" : "datatype", config ? type : p->type->name);
    hn_json_open_flat(w, config ? "dims" : "shape", '[');
    for (int d = config && batched ? 1 : 0; d < p->shape.rank; ++d)
      hn_json_put_int(w, NULL, p->shape.dim[d] < 0 ? -1 : p->shape.dim[d]);
    hn_json_close(w, ']');
    hn_json_close(w, '}');
  }
  hn_json_close(w, ']');
}

static void serve_model(srv_call *call) {
  hn_text text;
  hn_json_writer w;
  srv_model *m = want_model(call);
  if (!m) return;
  hn_text_init(&text, hn_allocator_default());
  hn_json_begin(&w, &text);
  hn_json_open(&w, NULL, '{');
  hn_json_put_text(&w, "name", m->name);
  hn_json_open_flat(&w, "versions", '[');
  hn_json_put_text(&w, NULL, m->version);
  hn_json_close(&w, ']');
  hn_json_put_text(&w, "platform", "hone_engine");
  put_ports(&w, "inputs", m->ports.in, m->ports.in_count, false, false);
  put_ports(&w, "outputs", m->ports.out, m->ports.out_count, false, false);
  hn_json_close(&w, '}');
  srv_model_release(m);
  reply_json(call, &text);
}

static void serve_config(srv_call *call) {
  hn_text text;
  hn_json_writer w;
  srv_model *m = want_model(call);
  if (!m) return;
  hn_text_init(&text, hn_allocator_default());
  hn_json_begin(&w, &text);
  hn_json_open(&w, NULL, '{');
  hn_json_put_text(&w, "name", m->name);
  hn_json_put_text(&w, "platform", "hone_engine");
  hn_json_put_text(&w, "backend", "hone");
  hn_json_put_int(&w, "max_batch_size", m->ports.max_batch);
  put_ports(&w, "input", m->ports.in, m->ports.in_count, true, m->ports.max_batch > 0);
  put_ports(&w, "output", m->ports.out, m->ports.out_count, true, m->ports.max_batch > 0);
  if (m->ports.max_batch > 0) {
    hn_json_open_flat(&w, "dynamic_batching", '{');
    hn_json_open_flat(&w, "preferred_batch_size", '[');
    hn_json_put_int(&w, NULL, m->ports.preferred);
    hn_json_close(&w, ']');
    hn_json_put_int(&w, "max_queue_delay_microseconds", m->settings.max_delay_us);
    hn_json_close(&w, '}');
  }
  hn_json_open(&w, "instance_group", '[');
  hn_json_open_flat(&w, NULL, '{');
  hn_json_put_text(&w, "kind", "KIND_CPU");
  hn_json_put_int(&w, "count", hone_batcher_workers(call->server->pool.batcher));
  hn_json_close(&w, '}');
  hn_json_close(&w, ']');
  hn_json_close(&w, '}');
  srv_model_release(m);
  reply_json(call, &text);
}

static void serve_model_ready(srv_call *call) {
  srv_model *m = want_model(call);
  if (!m) return;
  srv_model_release(m);
  reply_empty(call, atomic_load(&call->server->pool.state) <= SRV_SERVING, "the server is leaving");
}

static void serve_stats(srv_call *call) {
  hn_text text;
  srv_model *m = *call->model ? want_model(call) : NULL;
  if (*call->model && !m) return;
  hn_text_init(&text, hn_allocator_default());
  srv_stats_write(&call->server->pool, m ? m->name : NULL, &text);
  srv_model_release(m);
  reply_json(call, &text);
}

/* ---- inference ---- */

static void fail_request(srv_call *call, hone_status status, hone_diagnostics *diag) {
  const char *text = diag->count > 0 ? diag->entries[0].text : hone_status_name(status);
  srv_reply_error(&call->reply, srv_code_of(status), "%s", text);
}

static bool submit_infer(srv_call *call) { return srv_pool_submit(&call->server->pool, call->request); }

static void serve_infer(srv_call *call) {
  call->submit = submit_infer;
  srv_server *server = call->server;
  hn_diag_entry entry;
  hone_diagnostics diag;
  srv_request *r = call->request;
  r->model = want_model(call);
  if (!r->model) return;
  const bool raw = call->json_length == 0;
  if (call->json_length > (int64_t)call->length) {
    srv_reply_error(&call->reply, 400, "Inference-Header-Content-Length is %lld; the body has %zu bytes",
                    (long long)call->json_length, call->length);
  } else {
    hn_diag_init(&diag, &entry, 1);
    const size_t json_length = call->json_length < 0 ? call->length : (size_t)call->json_length;
    const hone_status status = srv_request_read(r, &server->options, call->body, call->length, json_length, raw, &diag);
    if (status == HONE_OK) return;
    fail_request(call, status, &diag);
  }
  srv_count_failure(&server->pool, r->model->stats, SRV_OTHER, hn_clock_ns() - r->begin_ns);
}

/* ---- the repository ---- */

static bool read_object(srv_call *call, hn_arena *arena, hn_json **out) {
  hn_diag_entry entry;
  hone_diagnostics diag;
  *out = NULL;
  if (call->length == 0) return true;
  hn_diag_init(&diag, &entry, 1);
  if (call->length > 1 << 20) {
    srv_reply_error(&call->reply, 413, "%zu bytes, where 1 MiB is allowed", call->length);
    return false;
  }
  const hone_status status = hn_json_read(arena, &diag, "the request", call->body, call->length, out);
  if (status != HONE_OK) fail_request(call, status, &diag);
  return status == HONE_OK;
}

static void serve_index(srv_call *call) {
  hn_arena arena;
  hn_json *root;
  hn_text text;
  hn_arena_init(&arena, hn_allocator_default());
  if (read_object(call, &arena, &root)) {
    const hn_json *ready = hn_json_get(root, "ready");
    hn_text_init(&text, hn_allocator_default());
    srv_repository_index(&call->server->repository, ready && ready->i != 0, &text);
    reply_json(call, &text);
  }
  hn_arena_deinit(&arena);
}

static bool submit_load(srv_call *call) {
  return srv_repository_submit(&call->server->repository, call->request, call->model, true);
}

static bool submit_unload(srv_call *call) {
  return srv_repository_submit(&call->server->repository, call->request, call->model, false);
}

static void control(srv_call *call, bool (*submit)(srv_call *)) {
  call->submit = submit;
  if (!call->server->options.control) srv_reply_error(&call->reply, 403, "this server was started without --control");
}

static void serve_load(srv_call *call) { control(call, submit_load); }
static void serve_unload(srv_call *call) { control(call, submit_unload); }

const srv_route srv_routes[] = {
    {SRV_GET, "/v2", serve_metadata, "name, version, extensions"},
    {SRV_GET, "/v2/health/live", serve_live, "200: the process answers"},
    {SRV_GET, "/v2/health/ready", serve_ready, "200: models are loaded and it is not leaving; else 503"},
    {SRV_GET, "/v2/models/stats", serve_stats, "statistics of all models"},
    {SRV_GET, "/v2/models/*", serve_model, "inputs and outputs"},
    {SRV_GET, "/v2/models/*/versions/*", serve_model, NULL},
    {SRV_GET, "/v2/models/*/ready", serve_model_ready, "200: the model can be asked"},
    {SRV_GET, "/v2/models/*/versions/*/ready", serve_model_ready, NULL},
    {SRV_GET, "/v2/models/*/config", serve_config, "its configuration, in Triton's words"},
    {SRV_GET, "/v2/models/*/versions/*/config", serve_config, NULL},
    {SRV_GET, "/v2/models/*/stats", serve_stats, "its statistics"},
    {SRV_GET, "/v2/models/*/versions/*/stats", serve_stats, NULL},
    {SRV_POST, "/v2/models/*/infer", serve_infer, "inference; with /versions/V before it as well"},
    {SRV_POST, "/v2/models/*/versions/*/infer", serve_infer, NULL},
    {SRV_POST, "/v2/repository/index", serve_index, "what the folders hold, and its state"},
    {SRV_POST, "/v2/repository/models/*/load", serve_load, "load it, or load it anew (--control)"},
    {SRV_POST, "/v2/repository/models/*/unload", serve_unload, "serve it no longer (--control)"},
    {SRV_GET, "/metrics", serve_metrics, "Prometheus"},
    {0},
};

/* ---- finding a route ---- */

static bool match(const char *pattern, const char *url, srv_call *call) {
  char *const places[] = {call->model, call->version};
  const size_t rooms[] = {sizeof call->model, sizeof call->version};
  int place = 0;
  *call->model = *call->version = 0;
  while (*pattern) {
    if (*pattern == '*') {
      const size_t length = strcspn(url, "/");
      if (length == 0 || length >= rooms[place]) return false;
      memcpy(places[place], url, length);
      places[place++][length] = 0;
      url += length;
      ++pattern;
    } else if (*pattern++ != *url++) {
      return false;
    }
  }
  return *url == 0 || strcmp(url, "/") == 0;
}

const srv_route *srv_route_find(const char *method, const char *url, srv_call *call) {
  const bool get = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0, post = strcmp(method, "POST") == 0;
  bool allow_get = false, allow_post = false;
  for (const srv_route *route = srv_routes; route->pattern; ++route) {
    if (!match(route->pattern, url, call)) continue;
    if ((route->method == SRV_GET && get) || (route->method == SRV_POST && post)) return route;
    allow_get = allow_get || route->method == SRV_GET;
    allow_post = allow_post || route->method == SRV_POST;
  }
  if (allow_get || allow_post)
    srv_reply_error(&call->reply, 405, "%.20s is not for %.200s", method, url);
  else
    srv_reply_error(&call->reply, 404, "there is no %.200s here; /v2 and /v2/models/MODEL are", url);
  call->reply.allow_get = allow_get;
  call->reply.allow_post = allow_post;
  return NULL;
}
