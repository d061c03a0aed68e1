/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - parallel loops with a dispatch of about a microsecond.
 *
 * One word, the gate, tells everything: a loop's number, whether it is open, and how many threads are inside.
 *   caller   writes the loop's fields, opens the gate, works, closes the gate, waits until nobody is inside
 *   worker   adds itself; inside an open gate it claims ranges; subtracts itself
 * The fields are written only while the gate is closed and empty, and read only by who came in while it was open.
 * A thread that wakes too late finds the gate closed and has cost the caller nothing: nobody waits for sleepers. */
#include "base/pool.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/float_mode.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#define GATE_INSIDE UINT64_C(0x7fff) /* the count of threads inside */
#define GATE_OPEN UINT64_C(0x8000)
#define GATE_LOOP UINT64_C(0x10000) /* one in the loop's number, which is all bits above */

enum {
  THREAD_LIMIT = 1024,
  RANGES_PER_THREAD = 4, /* few enough to be cheap, enough that a slow core delays by a quarter of its share */
  SPIN_DEFAULT_US = 100,
  PAUSES_PER_CLOCK = 32,
  LINE_BYTES = 64,
  FETCH_LINES = 2,             /* at a time, of each half: who comes to a loop late holds up the others */
  FETCH_MOST_BYTES = 64 << 10, /* of each half: some microseconds of one core's bandwidth, an eighth of its cache */
  WORKER_STACK_BYTES = 8 << 20,
  PAUSES_BEFORE_YIELD = 4096, /* some 50 us: then another process probably has the worker's core */
};

typedef struct hn_crew hn_crew;

typedef struct worker {
  hn_crew *crew;
  pthread_t thread;
  int number; /* 1 and up; the caller is 0 */
} worker;

/* The indices that one thread does first. The same thread gets the same part of every loop over as much, so that what
 * it wrote is still in its cache; who is done early takes from the others' sections. */
typedef struct section {
  _Alignas(64) atomic_int_fast64_t next_range;
  int64_t range_count, begin, end;
} section;

struct hn_crew {
  hn_pool self; /* what hn_pool_create gives */
  hn_allocator allocator;
  worker *workers;           /* threads - 1 of them */
  section *sections;         /* one a thread */
  hn_pool_parallel parallel; /* another's threads; NULL: the workers */
  void *parallel_user;
  int threads, started;
  int64_t spin_ns;
  pthread_mutex_t mutex; /* only around sleeping */
  pthread_cond_t wake;
  atomic_int sleepers;
  atomic_bool stop;
  atomic_bool busy; /* a loop is running */

  /* Of the running loop. */
  hn_pool_body body;
  void *arg;
  int64_t range_items;
  hn_float_mode float_mode; /* the caller's, which all threads work in */
  hn_stop *stop_loop;       /* NULL: nothing ends it early */
  hn_pool_log *log;         /* NULL: nobody wants to know who did what */

  _Alignas(64) atomic_uint_fast64_t gate;

  /* hn_pool_fetch's; not told together, which does not matter: what is fetched in vain is no fault. */
  _Alignas(64) _Atomic(const char *) fetched;
  atomic_size_t fetched_bytes;
};

/* How much of that a thread has asked for. */
typedef struct fetching {
  const char *of;
  size_t done;
} fetching;

static void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

hn_pool_log *hn_pool_log_create(hn_arena *arena, int threads, int64_t room) {
  hn_pool_log *log = HN_NEW(arena, hn_pool_log, 1);
  hn_pool_shares *of = HN_NEW(arena, hn_pool_shares, threads);
  for (int t = 0; of && t < threads; ++t)
    if (!(of[t].items = HN_NEW(arena, hn_pool_share, room))) return NULL;
  if (!log || !of) return NULL;
  *log = (hn_pool_log){.of = of, .threads = threads, .room = room};
  return log;
}

void hn_pool_log_clear(hn_pool_log *log) {
  for (int t = 0; t < log->threads; ++t) log->of[t].count = log->of[t].dropped = 0;
}

static void log_share(hn_pool_log *log, int number, int64_t begin_ns, int64_t ranges) {
  hn_pool_shares *own = &log->of[number];
  if (own->count == log->room) {
    ++own->dropped;
    return;
  }
  own->items[own->count++] =
      (hn_pool_share){.begin_ns = begin_ns, .end_ns = hn_clock_ns(), .ranges = ranges, .tag = log->tag};
}

/* How many. */
static int64_t claim_ranges(hn_crew *crew, int number) {
  int64_t claimed = 0;
  for (int i = 0; i < crew->threads; ++i) {
    section *from = &crew->sections[(number + i) % crew->threads];
    while (atomic_load_explicit(&from->next_range, memory_order_relaxed) < from->range_count) {
      if (hn_stop_now(crew->stop_loop)) return claimed;
      const int64_t range = atomic_fetch_add_explicit(&from->next_range, 1, memory_order_relaxed);
      if (range >= from->range_count) break;
      const int64_t begin = from->begin + range * crew->range_items, left = from->end - begin;
      crew->body(crew->arg, number, begin, begin + (left < crew->range_items ? left : crew->range_items));
      ++claimed;
    }
  }
  return claimed;
}

/* A thread's share of the loop that runs. */
static void take_share(hn_crew *crew, int number) {
  hn_pool_log *log = crew->log;
  const int64_t begin_ns = log ? hn_clock_ns() : 0, claimed = claim_ranges(crew, number);
  if (log && claimed > 0) log_share(log, number, begin_ns, claimed);
}

/* The same in one of another's threads, which gets back its own way with subnormal numbers. */
static void take_part(void *arg, int number) {
  hn_crew *crew = arg;
  const hn_float_mode mode = hn_float_mode_get();
  hn_float_mode_set(crew->float_mode);
  take_share(crew, number);
  hn_float_mode_set(mode);
}

static bool is_news(uint64_t gate, uint64_t loop_done) { return (gate & GATE_OPEN) && gate / GATE_LOOP != loop_done; }

/* Sleeps until somebody opens the gate. The sleeper is counted before it looks at the gate and the caller opens the
 * gate before it looks at the count, both in one total order: one of the two sees the other. */
static void sleep_once(hn_crew *crew, uint64_t loop_done) {
  pthread_mutex_lock(&crew->mutex);
  atomic_fetch_add(&crew->sleepers, 1);
  if (!is_news(atomic_load(&crew->gate), loop_done) && !atomic_load(&crew->stop))
    pthread_cond_wait(&crew->wake, &crew->mutex); /* one wake-up is enough: the caller of this goes back to spinning */
  atomic_fetch_sub(&crew->sleepers, 1);
  pthread_mutex_unlock(&crew->mutex);
}

/* The next lines of both halves of this thread's part; false: there are no more. */
static bool fetch_some(hn_crew *crew, int number, fetching *f) {
  const char *of = atomic_load_explicit(&crew->fetched, memory_order_relaxed);
  if (f->of != of) *f = (fetching){.of = of};
  if (!of) return false;
  const size_t half = atomic_load_explicit(&crew->fetched_bytes, memory_order_relaxed) / (size_t)crew->threads / 2;
  if (f->done >= (half < FETCH_MOST_BYTES ? half : FETCH_MOST_BYTES)) return false;
  uintptr_t at = (uintptr_t)of + 2 * half * (size_t)number + f->done; /* as a number: nothing may lie there */
  for (int line = 0; line < FETCH_LINES; ++line, at += LINE_BYTES) {
    __builtin_prefetch((const void *)at, 0, 2);
    __builtin_prefetch((const void *)(at + half), 0, 2);
  }
  f->done += FETCH_LINES * LINE_BYTES;
  return true;
}

/* True when an open gate was seen before the spin time ran out. */
static bool spin(hn_crew *crew, uint64_t loop_done, int number, fetching *f) {
  const int64_t end_ns = crew->spin_ns > 0 ? hn_clock_ns() + crew->spin_ns : 0;
  do {
    for (int i = 0; i < PAUSES_PER_CLOCK; ++i) {
      if (is_news(atomic_load_explicit(&crew->gate, memory_order_relaxed), loop_done)) return true;
      if (crew->spin_ns > 0 && !fetch_some(crew, number, f)) pause_briefly();
    }
    if (atomic_load_explicit(&crew->stop, memory_order_relaxed)) return false;
  } while (end_ns != 0 && hn_clock_ns() < end_ns);
  return false;
}

static void *worker_main(void *arg) {
  const worker *self = arg;
  hn_crew *crew = self->crew;
  uint64_t loop_done = 0;
  fetching f = {0};
  while (!atomic_load(&crew->stop)) {
    if (!spin(crew, loop_done, self->number, &f)) {
      sleep_once(crew, loop_done);
      continue;
    }
    const uint64_t gate = atomic_fetch_add_explicit(&crew->gate, 1, memory_order_acquire);
    if (gate & GATE_OPEN) {
      loop_done = gate / GATE_LOOP;
      hn_float_mode_set(crew->float_mode);
      take_share(crew, self->number);
    }
    atomic_fetch_sub_explicit(&crew->gate, 1, memory_order_release);
  }
  return NULL;
}

/* Creates a worker's thread, pinned to a CPU when cpu >= 0. It inherits the CPUs of its creator, which takes them on
 * for that long: not every libc can put them into a thread's attributes. The stack is what glibc gives; musl gives 128
 * KiB. */
static int create_thread(worker *self, int cpu) {
  pthread_attr_t attributes;
  int error = pthread_attr_init(&attributes);
  if (error != 0) return error;
  error = pthread_attr_setstacksize(&attributes, WORKER_STACK_BYTES);
  cpu_set_t mine, its;
  CPU_ZERO(&its);
  if (cpu >= 0) CPU_SET((size_t)cpu, &its);
  const bool pins = error == 0 && cpu >= 0;
  if (pins) error = pthread_getaffinity_np(pthread_self(), sizeof mine, &mine);
  if (pins && error == 0) error = pthread_setaffinity_np(pthread_self(), sizeof its, &its);
  if (error == 0) {
    error = pthread_create(&self->thread, &attributes, worker_main, self);
    if (pins) pthread_setaffinity_np(pthread_self(), sizeof mine, &mine);
  }
  pthread_attr_destroy(&attributes);
  return error;
}

/* Workers take no signals: the program's handlers run in the program's own threads. */
static int start_worker(worker *self, const int *cpus, int cpu_count) {
  sigset_t all, before;
  sigfillset(&all);
  int error = pthread_sigmask(SIG_SETMASK, &all, &before);
  if (error != 0) return error;
  /* cpus[0] is left to the caller, which is worker 0 */
  error = create_thread(self, cpus && cpu_count > 0 ? cpus[self->number % cpu_count] : -1);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return error;
}

void hn_pool_destroy(hn_pool *pool) {
  if (!pool) return;
  hn_crew *crew = pool->crew;
  const hn_allocator allocator = crew->allocator;
  pthread_mutex_lock(&crew->mutex);
  atomic_store(&crew->stop, true);
  pthread_cond_broadcast(&crew->wake);
  pthread_mutex_unlock(&crew->mutex);
  for (int i = 0; i < crew->started; ++i) pthread_join(crew->workers[i].thread, NULL);
  pthread_cond_destroy(&crew->wake);
  pthread_mutex_destroy(&crew->mutex);
  hn_free(&allocator, crew->sections, (size_t)crew->threads * sizeof(section));
  hn_free(&allocator, crew->workers, (size_t)(crew->threads - 1) * sizeof(worker));
  hn_free(&allocator, crew, sizeof *crew);
}

static hone_status check_arguments(hone_diagnostics *diag, int threads, const int *cpus, int cpu_count) {
  if (threads < 1 || threads > THREAD_LIMIT)
    return HN_FAIL(diag, HONE_INVALID, "%d threads; 1 to %d are possible", threads, THREAD_LIMIT);
  for (int i = 0; cpus && i < cpu_count; ++i) {
    if (cpus[i] < 0 || cpus[i] >= CPU_SETSIZE)
      return HN_FAIL(diag, HONE_INVALID, "CPU %d to pin a thread to; 0 to %d are possible", cpus[i], CPU_SETSIZE - 1);
  }
  return HONE_OK;
}

/* A crew without its workers. */
static hone_status create_crew(hone_diagnostics *diag, hn_allocator allocator, int threads, hn_crew **out) {
  hn_crew *crew = *out = hn_alloc_zero(&allocator, sizeof *crew);
  if (!crew) return HN_FAIL_MEMORY(diag);
  crew->self.crew = crew;
  crew->allocator = allocator;
  crew->threads = threads;
  pthread_mutex_init(&crew->mutex, NULL);
  pthread_cond_init(&crew->wake, NULL);
  crew->sections = hn_alloc_zero(&allocator, (size_t)threads * sizeof(section));
  if (crew->sections) return HONE_OK;
  hn_pool_destroy(&crew->self);
  return HN_FAIL_MEMORY(diag);
}

hone_status hn_pool_over(hone_diagnostics *diag, hn_allocator allocator, int threads, hn_pool_parallel parallel,
                         void *user, hn_pool **out) {
  *out = NULL;
  hn_crew *crew;
  HN_TRY(check_arguments(diag, threads, NULL, 0));
  HN_TRY(create_crew(diag, allocator, threads, &crew));
  crew->parallel = parallel;
  crew->parallel_user = user;
  *out = &crew->self;
  return HONE_OK;
}

hone_status hn_pool_create(hone_diagnostics *diag, hn_allocator allocator, int threads, const int *cpus, int cpu_count,
                           int spin_microseconds, hn_pool **out) {
  *out = NULL;
  hn_crew *crew;
  HN_TRY(check_arguments(diag, threads, cpus, cpu_count));
  HN_TRY(create_crew(diag, allocator, threads, &crew));
  crew->spin_ns = spin_microseconds < 0 ? 0 : 1000 * (int64_t)(spin_microseconds ? spin_microseconds : SPIN_DEFAULT_US);
  crew->workers = hn_alloc_zero(&allocator, (size_t)(threads - 1) * sizeof(worker));
  if (!crew->workers) {
    hn_pool_destroy(&crew->self);
    return HN_FAIL_MEMORY(diag);
  }
  for (int i = 0; i < threads - 1; ++i) {
    crew->workers[i] = (worker){.crew = crew, .number = i + 1};
    const int error = start_worker(&crew->workers[i], cpus, cpu_count);
    if (error != 0) {
      hn_pool_destroy(&crew->self);
      return HN_FAIL(diag, HONE_DEVICE, "cannot start thread %d of %d: %s", i + 2, threads, strerror(error));
    }
    crew->started = i + 1;
  }
  *out = &crew->self;
  return HONE_OK;
}

void hn_pool_fetch(hn_pool *pool, const void *at, size_t bytes) {
  if (!pool) return;
  atomic_store_explicit(&pool->crew->fetched_bytes, bytes, memory_order_relaxed);
  atomic_store_explicit(&pool->crew->fetched, at, memory_order_relaxed);
}

int hn_pool_threads(const hn_pool *pool) { return pool ? pool->crew->threads : 1; }

static void run_open(hn_crew *crew) {
  atomic_fetch_add(&crew->gate, GATE_LOOP | GATE_OPEN); /* a new number, and the open bit, which was clear */
  if (atomic_load(&crew->sleepers) > 0) {
    pthread_mutex_lock(&crew->mutex);
    pthread_cond_broadcast(&crew->wake);
    pthread_mutex_unlock(&crew->mutex);
  }
  take_share(crew, 0);
  uint64_t gate = atomic_fetch_and_explicit(&crew->gate, ~GATE_OPEN, memory_order_acq_rel);
  for (int pauses = 0; gate & GATE_INSIDE; gate = atomic_load_explicit(&crew->gate, memory_order_acquire)) {
    if (pauses < PAUSES_BEFORE_YIELD) {
      ++pauses;
      pause_briefly();
    } else {
      sched_yield();
    }
  }
}

/* In this thread alone, in parts between which the stop is asked. */
static void run_alone(hn_pool *pool, int64_t count, int64_t grain, hn_pool_body body, void *arg) {
  const int64_t grains = (count - 1) / grain + 1, parts = pool && hn_stop_armed(pool->stop) ? pool->at_least : 0;
  const int64_t part = parts > 1 && grains > 1 ? ((grains - 1) / parts + 1) * grain : count;
  for (int64_t begin = 0, end; begin < count && !(pool && hn_stop_now(pool->stop)); begin = end) {
    end = count - begin <= part ? count : begin + part;
    body(arg, 0, begin, end);
  }
}

/* As a share of thread 0; where there were loops inside it, those tell more: who took part. */
static void run_alone_logged(hn_pool *pool, int64_t count, int64_t grain, hn_pool_body body, void *arg) {
  const hn_pool_shares *own = &pool->log->of[0];
  const int64_t before = own->count + own->dropped, begin_ns = hn_clock_ns();
  run_alone(pool, count, grain, body, arg);
  if (own->count + own->dropped == before) log_share(pool->log, 0, begin_ns, 1);
}

void hn_pool_run(hn_pool *pool, int64_t count, int64_t grain, hn_pool_body body, void *arg) {
  if (count <= 0) return;
  if (grain < 1) grain = 1;
  const int64_t grains = (count - 1) / grain + 1;
  hn_crew *crew = pool ? pool->crew : NULL;
  if (!crew || crew->threads == 1 || grains == 1 || atomic_exchange_explicit(&crew->busy, true, memory_order_acquire)) {
    if (pool && pool->log && !pool->log->inside)
      run_alone_logged(pool, count, grain, body, arg);
    else
      run_alone(pool, count, grain, body, arg);
    return;
  }
  const int threads = crew->threads;
  int64_t ranges = (int64_t)threads * RANGES_PER_THREAD;
  if (pool->at_least > ranges) ranges = pool->at_least;
  crew->body = body;
  crew->arg = arg;
  crew->float_mode = hn_float_mode_get();
  crew->stop_loop = hn_stop_armed(pool->stop) ? pool->stop : NULL;
  crew->log = pool->log;
  if (crew->log) crew->log->inside = true;
  crew->range_items = ((grains - 1) / ranges + 1) * grain;
  if (crew->range_items > count) crew->range_items = count;
  int64_t done = 0; /* grains * threads may be more than an int64_t holds */
  for (int t = 0; t < threads; ++t) {
    section *part = &crew->sections[t];
    part->begin = done == grains ? count : done * grain;
    done += grains / threads + (t < grains % threads);
    part->end = done == grains ? count : done * grain;
    part->range_count = part->end > part->begin ? (part->end - part->begin - 1) / crew->range_items + 1 : 0;
    atomic_store_explicit(&part->next_range, 0, memory_order_relaxed);
  }
  if (crew->parallel)
    crew->parallel(crew->parallel_user, threads, take_part, crew);
  else
    run_open(crew);
  if (crew->log) crew->log->inside = false;
  atomic_store_explicit(&crew->busy, false, memory_order_release);
}
