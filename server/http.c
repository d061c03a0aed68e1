/* SPDX-License-Identifier: Apache-2.0 */
/* http.c - requests and replies by libmicrohttpd. A body is collected so that the first binary tensor lies aligned;
 * while a worker has the request, its connection is suspended. Refused bodies are read to their end where that is
 * short, so that the client sees the reply and may keep its connection. */
#include "server.h"
#include <microhttpd.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
  CONNECTION_MEMORY = 128 << 10, /* of headers, and what is received at one time */
  SHORT_REST = 1 << 20           /* of a refused body, that is read to its end */
};

typedef struct exchange {
  srv_call call;
  srv_request request;
  struct MHD_Connection *connection;
  const srv_route *route; /* NULL: refused */
  char *base;             /* of the body's memory, 64-aligned */
  size_t pad, capacity, discarded;
  bool served, suspended;
} exchange;

/* ---- headers ---- */

typedef struct framing {
  const char *length, *encoding, *json, *coding;
  int lengths, encodings, jsons;
} framing;

static enum MHD_Result see_header(void *user, enum MHD_ValueKind kind, const char *key, const char *value) {
  framing *f = user;
  (void)kind;
  if (strcasecmp(key, "Content-Length") == 0) {
    f->length = value;
    ++f->lengths;
  } else if (strcasecmp(key, "Transfer-Encoding") == 0) {
    f->encoding = value;
    ++f->encodings;
  } else if (strcasecmp(key, "Inference-Header-Content-Length") == 0) {
    f->json = value;
    ++f->jsons;
  } else if (strcasecmp(key, "Content-Encoding") == 0) {
    f->coding = value;
  }
  return MHD_YES;
}

/* Digits alone; -1: not that, or too large. */
static int64_t read_length(const char *text) {
  int64_t value = 0;
  if (!text || !*text) return -1;
  for (; *text; ++text) {
    if (*text < '0' || *text > '9' || value > INT64_MAX / 10 - 1) return -1;
    value = value * 10 + (*text - '0');
  }
  return value;
}

/* Two lengths, or one and a transfer encoding, are how requests are smuggled past a proxy. */
static bool check_framing(exchange *x, const framing *f) {
  srv_reply *reply = &x->call.reply;
  const int64_t length = f->length ? read_length(f->length) : 0;
  x->call.json_length = f->json ? read_length(f->json) : -1;
  if (f->lengths > 1 || (f->lengths && f->encodings) || f->encodings > 1 || length < 0)
    srv_reply_error(reply, 400, "the request's length is ambiguous");
  else if (f->encoding && strcasecmp(f->encoding, "chunked") != 0)
    srv_reply_error(reply, 501, "Transfer-Encoding %.40s is not supported", f->encoding);
  else if (f->jsons > 1 || (f->json && x->call.json_length < 0))
    srv_reply_error(reply, 400, "Inference-Header-Content-Length is no number of bytes");
  else if (f->coding && strcasecmp(f->coding, "identity") != 0)
    srv_reply_error(reply, 415, "Content-Encoding %.40s is not supported", f->coding);
  else if (length > x->call.server->options.max_body)
    srv_reply_error(reply, 413, "a body of %lld bytes; at most %lld are taken (--max-body)", (long long)length,
                    (long long)x->call.server->options.max_body);
  else
    return true;
  reply->close = f->lengths + f->encodings > 0;
  return false;
}

/* ---- the body ---- */

/* Once there is a reply, what still comes is not kept. */
static bool reserve(exchange *x, size_t need) {
  srv_pool *pool = &x->call.server->pool;
  if (need <= x->capacity) return true;
  size_t capacity = x->capacity ? x->capacity * 2 : 4096;
  if (capacity < need) capacity = need;
  const int64_t more = (int64_t)(capacity - x->capacity);
  if (atomic_fetch_add(&pool->held_bytes, more) + more > pool->options->max_held) {
    atomic_fetch_sub(&pool->held_bytes, more);
    srv_reply_error(&x->call.reply, 429, "too many bytes are held for other requests (--max-held)");
    return false;
  }
  char *base = aligned_alloc(64, (x->pad + capacity + 63) & ~(size_t)63);
  if (!base) {
    atomic_fetch_sub(&pool->held_bytes, more);
    srv_reply_error(&x->call.reply, 503, "out of memory");
    return false;
  }
  if (x->call.length > 0) memcpy(base + x->pad, x->call.body, x->call.length);
  free(x->base);
  x->base = base;
  x->call.body = base + x->pad;
  x->capacity = capacity;
  return true;
}

static void drop_body(exchange *x) {
  atomic_fetch_sub(&x->call.server->pool.held_bytes, (long long)x->capacity);
  free(x->base);
  x->base = x->call.body = NULL;
  x->capacity = x->call.length = 0;
}

/* False: the connection ends. */
static bool receive(exchange *x, const char *data, size_t size) {
  const srv_options *o = &x->call.server->options;
  if (hn_clock_ns() - x->request.begin_ns > o->receive_timeout_s * INT64_C(1000000000)) return false;
  if (x->call.reply.code == 0 && x->call.length + size > (size_t)o->max_body)
    srv_reply_error(&x->call.reply, 413, "a body of more than %lld bytes (--max-body)", (long long)o->max_body);
  if (x->call.reply.code == 0 && reserve(x, x->call.length + size)) {
    memcpy(x->call.body + x->call.length, data, size);
    x->call.length += size;
    return true;
  }
  drop_body(x);
  x->discarded += size;
  x->call.reply.close = x->discarded > SHORT_REST;
  return x->discarded <= (size_t)o->max_body;
}

/* ---- one request ---- */

static exchange *begin(srv_server *server, struct MHD_Connection *connection, const char *method, const char *url) {
  framing f = {0};
  exchange *x = calloc(1, sizeof *x);
  if (!x) return NULL;
  atomic_fetch_add(&server->pool.in_flight, 1);
  x->connection = connection;
  x->call.server = server;
  x->call.request = &x->request;
  x->request.begin_ns = hn_clock_ns();
  hn_arena_init(&x->request.arena, hn_allocator_default());
  MHD_get_connection_values(connection, MHD_HEADER_KIND, see_header, &f);
  if (!check_framing(x, &f)) return x;
  x->route = srv_route_find(method, url, &x->call);
  if (!x->route) return x;
  if (x->call.json_length > 0) x->pad = (size_t)(-x->call.json_length & 63);
  if (f.length && read_length(f.length) > 0) (void)reserve(x, (size_t)read_length(f.length));
  return x;
}

/* By a worker or the timer: the reply is sent by an HTTP thread, which calls answer() again. */
static void on_done(srv_request *request) {
  exchange *x = request->owner;
  MHD_resume_connection(x->connection);
}

static enum MHD_Result send_reply(exchange *x, const char *method, const char *url) {
  srv_server *server = x->call.server;
  srv_reply *reply = x->suspended ? &x->request.reply : &x->call.reply;
  char number[32];
  struct MHD_Response *response =
      reply->bytes ? MHD_create_response_from_buffer(reply->length, reply->bytes, MHD_RESPMEM_MUST_FREE)
                   : MHD_create_response_from_buffer(0, (void *)(uintptr_t) "", MHD_RESPMEM_PERSISTENT);
  if (!response) return MHD_NO;
  reply->bytes = NULL; /* the response's now */
  if (reply->length > 0) MHD_add_response_header(response, "Content-Type", reply->type);
  if (reply->json_length > 0) {
    (void)snprintf(number, sizeof number, "%zu", reply->json_length);
    MHD_add_response_header(response, "Inference-Header-Content-Length", number);
  }
  if (reply->retry_s > 0) {
    (void)snprintf(number, sizeof number, "%d", reply->retry_s);
    MHD_add_response_header(response, "Retry-After", number);
  }
  if (reply->allow_get || reply->allow_post)
    MHD_add_response_header(response, "Allow", reply->allow_post ? "POST" : "GET, HEAD");
  if (reply->close || atomic_load(&server->pool.state) > SRV_SERVING)
    MHD_add_response_header(response, "Connection", "close");
  if (server->options.verbose)
    srv_say(&server->options, "%d %.20s %.200s, %zu bytes, %.3f ms", reply->code, method, url, reply->length,
            (double)(hn_clock_ns() - x->request.begin_ns) / 1e6);
  const enum MHD_Result result = MHD_queue_response(x->connection, (unsigned)reply->code, response);
  MHD_destroy_response(response);
  return result;
}

/* False: it was handed over. */
static bool serve(exchange *x) {
  x->served = true;
  if (x->call.reply.code != 0) return true;
  x->route->serve(&x->call);
  if (x->call.reply.code != 0) return true;
  x->request.owner = x;
  x->request.done = on_done;
  x->suspended = true;
  MHD_suspend_connection(x->connection); /* first: the reply may come before submit returns */
  if (!x->call.submit(&x->call)) MHD_resume_connection(x->connection);
  return false;
}

static enum MHD_Result answer(void *user, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *data, size_t *size, void **state) {
  exchange *x = *state;
  (void)version;
  if (!x) {
    *state = x = begin(user, connection, method, url);
    if (!x) return MHD_NO;
    return x->call.reply.code != 0 && x->call.reply.close ? send_reply(x, method, url) : MHD_YES;
  }
  if (*size > 0) {
    const bool goes_on = receive(x, data, *size);
    *size = 0;
    return goes_on ? MHD_YES : MHD_NO;
  }
  if (!x->served && !serve(x)) return MHD_YES;
  return send_reply(x, method, url);
}

static void completed(void *user, struct MHD_Connection *connection, void **state,
                      enum MHD_RequestTerminationCode code) {
  exchange *x = *state;
  (void)user, (void)connection, (void)code;
  if (!x) return;
  drop_body(x);
  srv_request_clear(&x->request);
  free(x->call.reply.bytes);
  atomic_fetch_sub(&x->call.server->pool.in_flight, 1);
  free(x);
  *state = NULL;
}

static void connected(void *user, struct MHD_Connection *connection, void **state,
                      enum MHD_ConnectionNotificationCode code) {
  srv_server *server = user;
  (void)connection, (void)state;
  atomic_fetch_add(&server->pool.connections, code == MHD_CONNECTION_NOTIFY_STARTED ? 1 : -1);
}

static void log_line(void *user, const char *format, va_list list) {
  const srv_server *server = user;
  char line[512];
  if (!server->options.verbose) return;
  (void)vsnprintf(line, sizeof line, format, list);
  line[strcspn(line, "\n")] = 0;
  srv_say(&server->options, "http: %s", line);
}

/* ---- the daemon ---- */

static struct addrinfo *resolve(const srv_options *o) {
  char port[16];
  struct addrinfo *found = NULL;
  const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_PASSIVE, .ai_socktype = SOCK_STREAM};
  (void)snprintf(port, sizeof port, "%lld", (long long)o->port);
  const int failed = getaddrinfo(o->address, port, &hints, &found);
  if (!failed) return found;
  fprintf(stderr, "hone-server: --address %s: %s\n", o->address, gai_strerror(failed));
  return NULL;
}

bool srv_http_open(srv_server *server) {
  const srv_options *o = &server->options;
  struct addrinfo *at = resolve(o);
  if (!at) return false;
  const struct MHD_OptionItem pool[] = {{MHD_OPTION_THREAD_POOL_SIZE, o->http_threads, NULL},
                                        {MHD_OPTION_END, 0, NULL}};
  const unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG |
                         (at->ai_family == AF_INET6 ? MHD_USE_IPv6 : 0u);
  server->daemon = MHD_start_daemon(
      flags, (uint16_t)o->port, NULL, NULL, answer, server, MHD_OPTION_EXTERNAL_LOGGER, log_line, server,
      MHD_OPTION_SOCK_ADDR, at->ai_addr, MHD_OPTION_NOTIFY_COMPLETED, completed, server, MHD_OPTION_NOTIFY_CONNECTION,
      connected, server, MHD_OPTION_CONNECTION_LIMIT, (unsigned)o->max_connections, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
      (size_t)CONNECTION_MEMORY, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)o->idle_timeout_s,
      MHD_OPTION_LISTEN_BACKLOG_SIZE, 1024u, MHD_OPTION_ARRAY, o->http_threads > 1 ? pool : pool + 1, MHD_OPTION_END);
  const int reason = errno;
  freeaddrinfo(at);
  if (!server->daemon) {
    fprintf(stderr, "hone-server: cannot listen on %s, port %lld: %s\n", o->address, (long long)o->port,
            strerror(reason));
    return false;
  }
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT);
  server->port = info ? info->port : (int)o->port;
  return true;
}

void srv_http_quiesce(srv_server *server) {
  const MHD_socket listening = MHD_quiesce_daemon(server->daemon);
  if (listening == MHD_INVALID_SOCKET) return;
  struct sockaddr_storage address;
  for (;;) { /* who has connected already is served */
    socklen_t length = sizeof address;
    const int client = accept4(listening, (struct sockaddr *)&address, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (client < 0) break;
    (void)MHD_add_connection(server->daemon, client, (struct sockaddr *)&address, length);
  }
  close(listening);
}

void srv_http_close(srv_server *server) {
  if (server->daemon) MHD_stop_daemon(server->daemon);
  server->daemon = NULL;
}
