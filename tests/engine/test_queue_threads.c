/* SPDX-License-Identifier: Apache-2.0 */
/* test_queue_threads.c - requests of several threads through queues: each gets the rows that a session alone gives it,
 * whatever it was put together with; delays, limits, rates, errors of one request, ends, and no allocation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <hone/hone.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WIDTH = 8, CLASSES = 3, MOST_ROWS = 8, PRODUCERS = 4, ROUNDS = 60 };

/* Rows do not touch: y = tanh((x + table[i]) w). An index out of the table is refused by the run. */
#define NET(dim, n)                                                                                                    \
  "graph \"rows\" opset 17 {" dim " in %x: f32[" n ",8] in %i: i64[" n "]\n"                                           \
  "const %table: f32[5,8] = random 1 const %w: f32[8,3] = random 2\n"                                                  \
  "%r = gather(%table, %i) @\"pick\" %s = add(%x, %r) %m = matmul(%s, %w) @\"last\" %y = tanh(%m)\n out %y as \"y\" }"
static const char net[] = NET("dim n", "n"), net_of_four[] = NET("", "4"), net_of_one[] = NET("", "1");

static int allocations;
static pthread_mutex_t counting_mutex = PTHREAD_MUTEX_INITIALIZER;
static void *counting(void *user, void *old, size_t old_bytes, size_t new_bytes) {
  (void)user;
  pthread_mutex_lock(&counting_mutex);
  ++allocations;
  pthread_mutex_unlock(&counting_mutex);
  void *fresh = NULL;
  if (new_bytes > 0 && posix_memalign(&fresh, 64, new_bytes) != 0) return NULL;
  if (old && fresh) memcpy(fresh, old, old_bytes < new_bytes ? old_bytes : new_bytes);
  free(old);
  return fresh;
}

static int allocations_so_far(void) {
  pthread_mutex_lock(&counting_mutex);
  const int count = allocations;
  pthread_mutex_unlock(&counting_mutex);
  return count;
}

typedef struct bed {
  hone_context *context;
  hone_device *device;
  hone_engine *engine;
  hone_batcher *batcher;
  hone_queue *queue;
  hone_diagnostics *diag;
} bed;

static void open_queue(bed *b, const hone_queue_options *options) {
  assert_int_equal(hone_queue_open(b->batcher, b->engine, options, &b->queue, b->diag), HONE_OK);
}

/* workers 0: the test opens no batcher. */
static void open_bed(bed *b, const char *text, int workers, const hone_queue_options *options) {
  const hone_context_options context = {.struct_size = sizeof context, .resize = counting};
  const hone_device_options one = {.struct_size = sizeof one, .threads = 1};
  const hone_profile_shape shapes[] = {
      {.input = "x", .min = {2, {1, WIDTH}}, .opt = {2, {MOST_ROWS, WIDTH}}, .max = {2, {MOST_ROWS, WIDTH}}},
      {.input = "i", .min = {1, {1}}, .opt = {1, {MOST_ROWS}}, .max = {1, {MOST_ROWS}}}};
  hone_build_options build = {.struct_size = sizeof build, .level = -1};
  hone_graph *graph;
  *b = (bed){0};
  if (text == net) build.shapes = shapes, build.shape_count = 2;
  assert_int_equal(hone_context_create(&context, &b->context), HONE_OK);
  assert_int_equal(hone_diagnostics_create(&b->diag), HONE_OK);
  assert_int_equal(hone_device_open(b->context, "cpu", 0, &one, &b->device), HONE_OK);
  assert_int_equal(hone_graph_parse(b->context, text, strlen(text), &graph), HONE_OK);
  assert_int_equal(hone_engine_build(b->context, graph, &b->device, 1, &build, &b->engine), HONE_OK);
  hone_graph_destroy(graph);
  const hone_batcher_options some = {.struct_size = sizeof some, .workers = workers, .threads = 1};
  assert_int_equal(hone_batcher_create(b->context, &some, &b->batcher), HONE_OK);
  assert_int_equal(hone_batcher_workers(b->batcher), workers);
  open_queue(b, options);
}

static void close_bed(bed *b) {
  hone_queue_close(b->queue);
  hone_batcher_destroy(b->batcher);
  hone_engine_release(b->engine);
  hone_device_close(b->device);
  hone_diagnostics_destroy(b->diag);
  hone_context_destroy(b->context);
}

static const char *message(const bed *b) {
  const int count = hone_diagnostics_count(b->diag);
  return count > 0 ? hone_diagnostics_message(b->diag, count - 1, NULL) : "";
}

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- a request's numbers ---- */

typedef struct item {
  float x[MOST_ROWS * WIDTH], y[MOST_ROWS * CLASSES];
  int64_t i[MOST_ROWS];
  hone_tensor in[2], out[1];
} item;

static hone_call fill(item *t, int64_t rows, int seed) {
  for (int n = 0; n < MOST_ROWS * WIDTH; ++n) t->x[n] = (float)((n * 7 + seed * 13) % 29) / 29 - 0.5f;
  for (int n = 0; n < MOST_ROWS; ++n) t->i[n] = (n + seed) % 5;
  memset(t->y, 0, sizeof t->y);
  t->in[0] = (hone_tensor){
      {HONE_TENSOR, HONE_F32, HONE_PLAIN, {2, {rows, WIDTH}}}, t->x, (size_t)(rows * WIDTH) * sizeof *t->x};
  t->in[1] = (hone_tensor){{HONE_TENSOR, HONE_I64, HONE_PLAIN, {1, {rows}}}, t->i, (size_t)rows * sizeof *t->i};
  t->out[0] = (hone_tensor){.data = t->y, .bytes = sizeof t->y};
  return (hone_call){
      .struct_size = sizeof(hone_call), .inputs = t->in, .input_count = 2, .outputs = t->out, .output_count = 1};
}

/* The rows that a session alone gives. */
static bool is_right(hone_session *session, const item *t, const float *y) {
  const int64_t rows = t->in[1].type.shape.dim[0];
  hone_tensor want;
  if (hone_session_set_shape(session, "x", 2, t->in[0].type.shape.dim) != HONE_OK ||
      hone_session_set_shape(session, "i", 1, t->in[1].type.shape.dim) != HONE_OK ||
      hone_session_copy_in(session, "x", &t->in[0]) != HONE_OK ||
      hone_session_copy_in(session, "i", &t->in[1]) != HONE_OK || hone_session_run(session) != HONE_OK ||
      hone_session_tensor(session, "y", &want) != HONE_OK)
    return false;
  for (int64_t n = 0; n < rows * CLASSES; ++n)
    if (!(fabsf(y[n] - ((const float *)want.data)[n]) < 1e-5f)) return false;
  return true;
}

typedef struct producer {
  const bed *b;
  int number, failures, differences;
} producer;

static void *produce(void *argument) {
  producer *p = argument;
  hone_session *session;
  hone_request *request;
  item t;
  if (hone_session_create(p->b->engine, NULL, &session, NULL) != HONE_OK ||
      hone_request_create(p->b->queue, &request, NULL) != HONE_OK) {
    p->failures = ROUNDS;
    return NULL;
  }
  for (int i = 0; i < ROUNDS; ++i) {
    const hone_call call = fill(&t, 1 + (i + p->number) % 3, i * 10 + p->number);
    if (hone_request_submit(request, &call, NULL) != HONE_OK || hone_request_wait(request) != HONE_OK)
      ++p->failures;
    else if (!is_right(session, &t, t.y) || t.out[0].type.shape.dim[0] != t.in[1].type.shape.dim[0])
      ++p->differences;
  }
  hone_request_destroy(request);
  hone_session_destroy(session);
  return NULL;
}

static void run_producers(const bed *b) {
  pthread_t threads[PRODUCERS];
  producer producers[PRODUCERS];
  for (int t = 0; t < PRODUCERS; ++t) {
    producers[t] = (producer){.b = b, .number = t};
    assert_int_equal(pthread_create(&threads[t], NULL, produce, &producers[t]), 0);
  }
  for (int t = 0; t < PRODUCERS; ++t) {
    pthread_join(threads[t], NULL);
    assert_int_equal(producers[t].failures, 0);
    assert_int_equal(producers[t].differences, 0);
  }
}

static void test_producers(void **state) {
  (void)state;
  bed b;
  const hone_queue_options waits = {.struct_size = sizeof waits, .max_delay_us = 2000},
                           alone = {.struct_size = sizeof alone, .max_batch = 1};
  hone_queue_stats stats = HONE_SIZED(hone_queue_stats);
  open_bed(&b, net, 2, &waits);
  run_producers(&b);
  assert_int_equal(hone_queue_get_stats(b.queue, &stats), HONE_OK);
  assert_int_equal(stats.taken, PRODUCERS * ROUNDS);
  assert_int_equal(stats.failed + stats.refused + stats.waiting, 0);
  assert_int_equal(stats.rows, PRODUCERS * ROUNDS * 2);
  assert_true(stats.runs < stats.taken); /* some were put together */
  assert_int_equal(stats.max_batch, MOST_ROWS);
  assert_int_equal(stats.preferred, MOST_ROWS);
  /* a second queue of the same workers, whose requests run alone */
  hone_queue *first = b.queue;
  open_queue(&b, &alone);
  run_producers(&b);
  assert_int_equal(hone_queue_get_stats(b.queue, &stats), HONE_OK);
  assert_int_equal(stats.runs, stats.taken);
  assert_int_equal(stats.max_batch, 0);
  hone_queue_close(first);
  close_bed(&b);
}

/* Four requests of one row are a run of four; three, with a row twice, too. */
static void test_fixed(void **state) {
  (void)state;
  bed b, one;
  hone_session *session;
  hone_request *requests[4];
  item items[4];
  const hone_queue_options fixed = {.struct_size = sizeof fixed, .fixed_batch = true, .max_delay_us = 20000};
  open_bed(&b, net_of_four, 1, &fixed);
  open_bed(&one, net, 1, NULL);
  assert_int_equal(hone_session_create(one.engine, NULL, &session, NULL), HONE_OK);
  for (int count = 3; count <= 4; ++count) {
    hone_queue_stats stats = HONE_SIZED(hone_queue_stats);
    for (int i = 0; i < count; ++i) {
      const hone_call call = fill(&items[i], 1, i * 3 + count);
      assert_int_equal(hone_request_create(b.queue, &requests[i], b.diag), HONE_OK);
      assert_int_equal(hone_request_submit(requests[i], &call, b.diag), HONE_OK);
    }
    for (int i = 0; i < count; ++i) {
      assert_int_equal(hone_request_wait(requests[i]), HONE_OK);
      assert_true(is_right(session, &items[i], items[i].y));
      hone_request_destroy(requests[i]);
    }
    assert_int_equal(hone_queue_get_stats(b.queue, &stats), HONE_OK);
    assert_int_equal(stats.rows, count == 3 ? 3 : 7);
    assert_int_equal(stats.preferred, 4);
  }
  const hone_call large = fill(&items[0], 5, 1);
  assert_int_equal(hone_request_create(b.queue, &requests[0], b.diag), HONE_OK);
  assert_int_equal(hone_request_submit(requests[0], &large, b.diag), HONE_INVALID);
  assert_non_null(strstr(message(&b), "x has 5 rows"));
  hone_request_destroy(requests[0]);
  hone_queue *refused;
  assert_int_equal(hone_queue_open(one.batcher, one.engine, &fixed, &refused, one.diag), HONE_INVALID);
  assert_non_null(strstr(message(&one), "the first dim of input x is free"));
  assert_null(refused);
  hone_session_destroy(session);
  close_bed(&one);
  close_bed(&b);
}

/* ---- delays and limits ---- */

static void test_delay(void **state) {
  (void)state;
  bed b;
  item items[2];
  hone_request *requests[2];
  const hone_queue_options waits = {.struct_size = sizeof waits, .max_delay_us = 60000};
  open_bed(&b, net, 1, &waits);
  for (int i = 0; i < 2; ++i) assert_int_equal(hone_request_create(b.queue, &requests[i], b.diag), HONE_OK);
  /* a lone one waits for its delay; */
  hone_call call = fill(&items[0], 1, 1);
  hone_request_times times = HONE_SIZED(hone_request_times);
  assert_int_equal(hone_request_submit(requests[0], &call, b.diag), HONE_OK);
  assert_int_equal(hone_request_wait(requests[0]), HONE_OK);
  assert_int_equal(hone_request_get_times(requests[0], &times), HONE_OK);
  assert_true(times.begin_ns - times.submitted_ns >= 60000000);
  assert_int_equal(times.batch_rows, 1);
  assert_true(times.ran_ns >= times.filled_ns && times.filled_ns >= times.begin_ns);
  for (int i = 0; i < 2; ++i) hone_request_destroy(requests[i]);
  /* a full batch does not: else this would take a quarter of an hour */
  hone_queue_close(b.queue);
  const hone_queue_options patient = {.struct_size = sizeof patient, .max_delay_us = 1000000000};
  open_queue(&b, &patient);
  for (int i = 0; i < 2; ++i) {
    call = fill(&items[i], 4, i);
    assert_int_equal(hone_request_create(b.queue, &requests[i], b.diag), HONE_OK);
    assert_int_equal(hone_request_submit(requests[i], &call, b.diag), HONE_OK);
  }
  for (int i = 0; i < 2; ++i) assert_int_equal(hone_request_wait(requests[i]), HONE_OK);
  assert_int_equal(hone_request_get_times(requests[1], &times), HONE_OK);
  assert_int_equal(times.rows, 4);
  assert_int_equal(times.batch_rows, 8);
  for (int i = 0; i < 2; ++i) hone_request_destroy(requests[i]);
  close_bed(&b);
}

static void test_full(void **state) {
  (void)state;
  bed b;
  item t;
  hone_request *requests[3];
  const hone_queue_options two = {
      .struct_size = sizeof two, .max_waiting = 2, .max_delay_us = 100000000, .wait_limit_ms = 100000};
  open_bed(&b, net, 1, &two);
  hone_call call = fill(&t, 1, 1);
  for (int i = 0; i < 3; ++i) assert_int_equal(hone_request_create(b.queue, &requests[i], b.diag), HONE_OK);
  for (int i = 0; i < 2; ++i) assert_int_equal(hone_request_submit(requests[i], &call, b.diag), HONE_OK);
  assert_int_equal(hone_request_submit(requests[2], &call, b.diag), HONE_LIMIT);
  assert_non_null(strstr(message(&b), "2 requests are waiting"));
  assert_int_equal(hone_request_submit(requests[0], &call, b.diag), HONE_INVALID);
  assert_non_null(strstr(message(&b), "under way"));
  assert_int_equal(hone_request_cancel(requests[0]), HONE_OK);
  assert_int_equal(hone_request_wait(requests[0]), HONE_CANCELLED);
  assert_int_equal(hone_request_cancel(requests[0]), HONE_INVALID);
  /* one with a limit of its own ends by it, though no worker looks */
  call.wait_limit_us = 20000;
  assert_int_equal(hone_request_submit(requests[2], &call, b.diag), HONE_OK);
  assert_int_equal(hone_request_wait(requests[2]), HONE_LIMIT);
  assert_non_null(strstr(hone_request_message(requests[2]), "time limit"));
  hone_request_destroy(requests[1]); /* it waits still */
  assert_int_equal(hone_batcher_end(b.batcher, -1), HONE_OK);
  assert_int_equal(hone_request_submit(requests[0], &call, b.diag), HONE_CANCELLED);
  hone_request_destroy(requests[0]);
  hone_request_destroy(requests[2]);
  close_bed(&b);
}

static void test_rate(void **state) {
  (void)state;
  bed b;
  item t;
  hone_request *request;
  int taken = 0, refused = 0;
  const hone_queue_options slow = {.struct_size = sizeof slow, .max_rate = 50};
  open_bed(&b, net, 1, &slow);
  const hone_call call = fill(&t, 1, 1);
  assert_int_equal(hone_request_create(b.queue, &request, b.diag), HONE_OK);
  const int64_t begin_ns = now_ns();
  while (now_ns() - begin_ns < 500000000) {
    const hone_status status = hone_request_submit(request, &call, NULL);
    assert_true(status == HONE_OK || status == HONE_LIMIT);
    taken += status == HONE_OK;
    refused += status == HONE_LIMIT;
    assert_int_equal(hone_request_wait(request), HONE_OK);
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  /* five at once, and fifty a second: 30 of half a second, or of as long as it took */
  const double seconds = (double)(now_ns() - begin_ns) / 1e9;
  assert_true(taken >= 6 && taken <= 6 + 50 * seconds);
  assert_true(refused > 0);
  while (hone_request_submit(request, &call, b.diag) == HONE_OK) assert_int_equal(hone_request_wait(request), HONE_OK);
  assert_non_null(strstr(message(&b), "more than 50 requests a second"));
  hone_request_destroy(request);
  close_bed(&b);
}

/* ---- errors of one request ---- */

static void test_refused(void **state) {
  (void)state;
  bed b;
  item t;
  hone_request *request;
  open_bed(&b, net, 1, NULL);
  assert_int_equal(hone_request_create(b.queue, &request, b.diag), HONE_OK);
  const struct {
    int64_t rows_of_x, rows_of_i, width;
    hone_dtype dtype;
    const char *says;
  } rows[] = {{2, 3, WIDTH, HONE_I64, "i has 3 rows; x has 2"},
              {9, 9, WIDTH, HONE_I64, "9"},
              {2, 2, WIDTH - 1, HONE_I64, "x"},
              {2, 2, WIDTH, HONE_I32, "i is plain i64"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    float room[9 * WIDTH] = {0};
    int64_t numbers[9] = {0};
    hone_call call = fill(&t, 1, 1);
    t.in[0].data = room;
    t.in[0].bytes = (size_t)(rows[i].rows_of_x * rows[i].width) * sizeof *room;
    t.in[0].type.shape = (hone_shape){2, {rows[i].rows_of_x, rows[i].width}};
    t.in[1].data = numbers;
    t.in[1].type.dtype = rows[i].dtype;
    t.in[1].bytes = (size_t)rows[i].rows_of_i * (rows[i].dtype == HONE_I64 ? 8 : 4);
    t.in[1].type.shape = (hone_shape){1, {rows[i].rows_of_i}};
    assert_int_equal(hone_request_submit(request, &call, b.diag), HONE_INVALID);
    if (!strstr(message(&b), rows[i].says)) fail_msg("case %zu says: %s", i, message(&b));
    assert_int_equal(hone_request_wait(request), HONE_OK); /* nothing is under way */
  }
  hone_request_destroy(request);
  close_bed(&b);
}

/* Of a batch one request has an index out of the table, and one too little room: the others get their rows. */
static void test_one_is_wrong(void **state) {
  (void)state;
  bed b;
  item items[4];
  hone_request *requests[4];
  hone_session *session;
  const hone_queue_options waits = {.struct_size = sizeof waits, .max_delay_us = 30000};
  open_bed(&b, net, 1, &waits);
  assert_int_equal(hone_session_create(b.engine, NULL, &session, NULL), HONE_OK);
  for (int round = 0; round < 2; ++round) { /* the worker's session goes on */
    for (int i = 0; i < 4; ++i) {
      const hone_call call = fill(&items[i], 2, i + round);
      if (i == 1) items[i].i[1] = 77;
      if (i == 2) items[i].out[0].bytes = 8;
      assert_int_equal(hone_request_create(b.queue, &requests[i], b.diag), HONE_OK);
      assert_int_equal(hone_request_submit(requests[i], &call, b.diag), HONE_OK);
    }
    for (int i = 0; i < 4; ++i) {
      assert_int_equal(hone_request_wait(requests[i]), i == 1 || i == 2 ? HONE_INVALID : HONE_OK);
      if (i == 0 || i == 3) assert_true(is_right(session, &items[i], items[i].y));
      if (i == 1) assert_non_null(strstr(hone_request_message(requests[i]), "77"));
      if (i == 2) assert_non_null(strstr(hone_request_message(requests[i]), "output y has 24 bytes"));
      hone_request_destroy(requests[i]);
    }
  }
  hone_session_destroy(session);
  close_bed(&b);
}

/* ---- callbacks, ends ---- */

typedef struct chain {
  item t;
  hone_call call;
  atomic_int left, told, wrong, over;
  bool destroys;
} chain;

static void again(void *user, hone_request *request, hone_status status) {
  chain *c = user;
  hone_tensor y = {0};
  ++c->told;
  if (status != HONE_OK || hone_request_output(request, 0, &y) != HONE_OK || y.type.shape.dim[0] != 2 ||
      y.bytes != 2 * CLASSES * sizeof(float) || hone_request_output(request, 1, &y) != HONE_INVALID)
    c->wrong += status != HONE_CANCELLED;
  if (status == HONE_OK && --c->left > 0 && hone_request_submit(request, &c->call, NULL) == HONE_OK) return;
  if (c->destroys) hone_request_destroy(request);
  c->over = 1;
}

static void begin_chain(const bed *b, chain *c, int count, bool destroys, hone_request **out) {
  c->call = fill(&c->t, 2, count);
  c->call.done = again;
  c->call.user = c;
  c->call.outputs = NULL;
  c->call.output_count = 0;
  c->destroys = destroys;
  atomic_init(&c->left, count);
  atomic_init(&c->told, 0);
  atomic_init(&c->wrong, 0);
  atomic_init(&c->over, 0);
  assert_int_equal(hone_request_create(b->queue, out, b->diag), HONE_OK);
  assert_int_equal(hone_request_submit(*out, &c->call, b->diag), HONE_OK);
}

static void wait_for(atomic_int *flag) {
  while (!*flag) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void test_callbacks(void **state) {
  (void)state;
  bed b;
  static chain chains[3];
  hone_request *requests[3];
  open_bed(&b, net, 2, NULL);
  for (int i = 0; i < 3; ++i) begin_chain(&b, &chains[i], 40, i != 0, &requests[i]);
  for (int i = 0; i < 3; ++i) {
    wait_for(&chains[i].over);
    assert_int_equal(chains[i].told, 40);
    assert_int_equal(chains[i].wrong, 0);
  }
  hone_tensor y;
  hone_request_times times = HONE_SIZED(hone_request_times);
  assert_int_equal(hone_request_get_times(requests[0], &times), HONE_OK);
  assert_int_equal(times.rows, 2);
  assert_int_equal(hone_request_wait(requests[0]), HONE_INVALID); /* it has a done() */
  const hone_call plain = fill(&chains[0].t, 1, 1);
  assert_int_equal(hone_request_submit(requests[0], &plain, b.diag), HONE_OK);
  assert_int_equal(hone_request_wait(requests[0]), HONE_OK);
  assert_int_equal(hone_request_output(requests[0], 0, &y), HONE_INVALID); /* not in done() */
  hone_request_destroy(requests[0]);
  close_bed(&b);
}

/* Graceful: what waits for others runs at once. At once: it is ended, and told. Closed queues finish what they have. */
static void test_ends(void **state) {
  (void)state;
  static chain c[3];
  hone_request *requests[3];
  const hone_queue_options waits = {.struct_size = sizeof waits, .max_delay_us = 1000000000};
  for (int way = 0; way < 3; ++way) {
    bed b;
    open_bed(&b, net, 2, &waits);
    for (int i = 0; i < 3; ++i) begin_chain(&b, &c[i], 1, false, &requests[i]);
    if (way == 2) {
      hone_queue_close(b.queue);
      b.queue = NULL;
    }
    assert_int_equal(hone_batcher_end(b.batcher, way == 1 ? 0 : -1), way == 1 ? HONE_LIMIT : HONE_OK);
    for (int i = 0; i < 3; ++i) {
      assert_int_equal(c[i].over, 1);
      assert_int_equal(c[i].left, way == 1 ? 1 : 0);
      assert_int_equal(c[i].wrong, 0);
      if (way == 1) assert_non_null(strstr(hone_request_message(requests[i]), "ended"));
      hone_request_destroy(requests[i]);
    }
    close_bed(&b);
  }
}

/* Behind a request whose done() holds the one worker, the others run by priority, and those without one last. */
typedef struct line {
  atomic_bool held, goes;
  atomic_int count;
  int order[4];
} line;
typedef struct place {
  line *of;
  int number;
} place;

static void hold(void *user, hone_request *request, hone_status status) {
  line *l = user;
  (void)request, (void)status;
  l->held = true;
  while (!l->goes) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void take_place(void *user, hone_request *request, hone_status status) {
  const place *p = user;
  (void)request, (void)status;
  p->of->order[p->of->count] = p->number;
  ++p->of->count;
}

static void test_priorities(void **state) {
  (void)state;
  bed b;
  static line l;
  item t;
  hone_request *requests[5];
  place places[4];
  const int64_t priorities[4] = {0, 3, 1, 2};
  const hone_queue_options alone = {.struct_size = sizeof alone, .max_batch = 1};
  open_bed(&b, net_of_one, 1, &alone);
  hone_call call = fill(&t, 1, 1);
  call.done = hold;
  call.user = &l;
  for (int i = 0; i < 5; ++i) assert_int_equal(hone_request_create(b.queue, &requests[i], b.diag), HONE_OK);
  assert_int_equal(hone_request_submit(requests[4], &call, b.diag), HONE_OK);
  while (!l.held) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  for (int i = 0; i < 4; ++i) {
    places[i] = (place){&l, i};
    call.done = take_place;
    call.user = &places[i];
    call.priority = priorities[i];
    assert_int_equal(hone_request_submit(requests[i], &call, b.diag), HONE_OK);
  }
  l.goes = true;
  while (l.count < 4) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  const int want[4] = {2, 3, 1, 0};
  assert_memory_equal(l.order, want, sizeof want);
  assert_int_equal(hone_batcher_end(b.batcher, -1), HONE_OK);
  for (int i = 0; i < 5; ++i) hone_request_destroy(requests[i]);
  close_bed(&b);
}

/* ---- memory ---- */

/* A full batch of two, then of one, that nobody's delay decides about. */
static void test_no_allocation(void **state) {
  (void)state;
  bed b;
  item t[2];
  hone_request *requests[2];
  const hone_queue_options waits = {.struct_size = sizeof waits, .max_delay_us = 1000000000};
  open_bed(&b, net, 1, &waits);
  for (int i = 0; i < 2; ++i) assert_int_equal(hone_request_create(b.queue, &requests[i], b.diag), HONE_OK);
  int before = 0;
  for (int round = 0; round < 10; ++round) {
    if (round == 2) before = allocations_so_far();
    for (int i = 0; i < 2; ++i) {
      const hone_call call = fill(&t[i], MOST_ROWS / 2, round + i);
      assert_int_equal(hone_request_submit(requests[i], &call, b.diag), HONE_OK);
    }
    for (int i = 0; i < 2; ++i) assert_int_equal(hone_request_wait(requests[i]), HONE_OK);
    const hone_call whole = fill(&t[0], MOST_ROWS, round);
    assert_int_equal(hone_request_submit(requests[0], &whole, b.diag), HONE_OK);
    assert_int_equal(hone_request_wait(requests[0]), HONE_OK);
  }
  assert_int_equal(allocations_so_far(), before);
  for (int i = 0; i < 2; ++i) hone_request_destroy(requests[i]);
  close_bed(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_producers),    cmocka_unit_test(test_fixed),        cmocka_unit_test(test_delay),
      cmocka_unit_test(test_full),         cmocka_unit_test(test_rate),         cmocka_unit_test(test_refused),
      cmocka_unit_test(test_one_is_wrong), cmocka_unit_test(test_callbacks),    cmocka_unit_test(test_ends),
      cmocka_unit_test(test_priorities),   cmocka_unit_test(test_no_allocation)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
