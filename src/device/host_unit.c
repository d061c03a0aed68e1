/* SPDX-License-Identifier: Apache-2.0 */
/* host_unit.c - the host as a unit, and the tactic that runs an op's eval on it. */
#include "device/host_unit.h"
#include "base/clock.h"
#include "base/quota.h"
#include "tensor/element.h"
#include "tensor/evaluate.h"
#include "tensor/shape.h"
#include <sched.h>
#include <stdio.h>
#include <string.h>

static void *resize_by_host(void *self, void *old, size_t old_bytes, size_t new_bytes) {
  const hone_host *host = self;
  return host->resize(host->self, old, old_bytes, new_bytes);
}

static void *host_new(const hone_host *host, size_t bytes) {
  void *block = host->resize(host->self, NULL, 0, bytes);
  if (block) memset(block, 0, bytes);
  return block;
}

hone_status hn_host_load(const hone_host *host, hone_driver **out, hone_diagnostics *diagnostics) {
  *out = NULL;
  hone_driver *driver = host_new(host, sizeof *driver);
  if (!driver) return HN_FAIL_MEMORY(diagnostics);
  driver->host = host;
  *out = driver;
  return HONE_OK;
}

void hn_host_unload(hone_driver *driver) {
  const hone_host *host = driver->host;
  host->resize(host->self, driver, sizeof *driver, 0);
}

int hn_host_count(hone_driver *driver) {
  (void)driver;
  return 1;
}

/* Cores that this process may use, by its affinity and its quota of their time. */
static int usable_cores(void) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  const int count = CPU_COUNT(&set), quota = hn_quota_cores();
  const int usable = quota > 0 && quota < count ? quota : count;
  return usable < 1 ? 1 : usable;
}

/* "0-3,6": the CPUs of a set, as long as there is room. */
static void cpus_text(const cpu_set_t *set, char *out, size_t room) {
  size_t length = 0;
  out[0] = 0;
  for (int first = 0; first < CPU_SETSIZE; ++first) {
    if (!CPU_ISSET((size_t)first, set)) continue;
    int last = first;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET((size_t)last + 1, set)) ++last;
    char part[32];
    const int count = last > first ? snprintf(part, sizeof part, "%s%d-%d", length ? "," : "", first, last)
                                   : snprintf(part, sizeof part, "%s%d", length ? "," : "", first);
    if (length + (size_t)count >= room) return;
    memcpy(out + length, part, (size_t)count + 1);
    length += (size_t)count;
    first = last;
  }
}

static hone_status check_cpus(const hone_device_options *options, hone_diagnostics *diagnostics) {
  if (!options->cpus) return HONE_OK;
  if (options->cpu_count < 1) return HN_FAIL(diagnostics, HONE_INVALID, "cpus is given, and cpu_count is 0");
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return HONE_OK; /* starting the threads then tells */
  for (int i = 0; i < options->cpu_count; ++i) {
    const int cpu = options->cpus[i];
    if (cpu >= 0 && cpu < CPU_SETSIZE && CPU_ISSET((size_t)cpu, &set)) continue;
    char allowed[256];
    cpus_text(&set, allowed, sizeof allowed);
    return HN_FAIL(diagnostics, HONE_INVALID, "CPU %d is not one that this process may use; allowed: %s", cpu, allowed);
  }
  return HONE_OK;
}

static int default_threads(const hone_device_options *options) {
  const int count = options->cpus ? options->cpu_count : usable_cores();
  return count < HONE_MAX_THREADS ? count : HONE_MAX_THREADS;
}

hone_status hn_host_open(hone_driver *driver, int index, const hone_device_options *options, hone_unit **out,
                         hone_diagnostics *diagnostics) {
  (void)index;
  *out = NULL;
  if (options->threads < 0 || options->threads > HONE_MAX_THREADS)
    return HN_FAIL(diagnostics, HONE_INVALID, "threads is %d; allowed: 0 (every core) to %d", options->threads,
                   HONE_MAX_THREADS);
  HN_TRY(check_cpus(options, diagnostics));
  hone_unit *unit = host_new(driver->host, sizeof *unit);
  if (!unit) return HN_FAIL_MEMORY(diagnostics);
  unit->host = driver->host;
  unit->allocator = (hn_allocator){.resize = resize_by_host, .self = (void *)(uintptr_t)driver->host};
  unit->fake_clock = driver->fake_clock;
  const int all = default_threads(options), hinted = options->hint == HONE_HINT_THROUGHPUT ? 1 : all;
  const int threads = options->threads ? options->threads : hinted;
  unit->facts.threads = threads;
  unit->facts.host_memory = true;
  unit->facts.process_threads = all;
  const hone_status status =
      options->parallel
          ? hn_pool_over(diagnostics, unit->allocator, threads, options->parallel, options->parallel_user, &unit->pool)
          : hn_pool_create(diagnostics, unit->allocator, threads, options->cpus, options->cpu_count,
                           options->spin_microseconds, &unit->pool);
  if (status != HONE_OK) {
    hn_host_close(unit);
    return status;
  }
  *out = unit;
  return HONE_OK;
}

void hn_host_close(hone_unit *unit) {
  const hone_host *host = unit->host;
  hn_pool_destroy(unit->pool);
  host->resize(host->self, unit, sizeof *unit, 0);
}

void hn_host_facts(const hone_unit *unit, hone_facts *out) { *out = unit->facts; }

hone_status hn_host_alloc(hone_unit *unit, int kind, size_t bytes, hone_memory *out) {
  *out = (hone_memory){0};
  void *data = unit->host->resize(unit->host->self, NULL, 0, bytes);
  if (!data) return HONE_NO_MEMORY;
  *out = (hone_memory){.data = data, .address = (uintptr_t)data, .bytes = bytes, .kind = kind};
  return HONE_OK;
}

void hn_host_free(hone_unit *unit, hone_memory *memory) {
  unit->host->resize(unit->host->self, memory->data, memory->bytes, 0);
}

static size_t stream_bytes(int mark_count) { return sizeof(hone_stream) + (size_t)mark_count * sizeof(double); }

hone_status hn_host_stream(hone_unit *unit, int mark_count, hone_stream **out) {
  *out = NULL;
  hone_stream *stream = host_new(unit->host, stream_bytes(mark_count));
  if (!stream) return HONE_NO_MEMORY;
  stream->unit = unit;
  stream->pool = *unit->pool;
  stream->mark_count = mark_count;
  *out = stream;
  return HONE_OK;
}

void hn_host_drop(hone_stream *stream) {
  const hone_host *host = stream->unit->host;
  host->resize(host->self, stream, stream_bytes(stream->mark_count), 0);
}

hone_status hn_host_copy(hone_stream *stream, hone_slice to, hone_slice from) {
  (void)stream;
  if (to.bytes != from.bytes || to.offset + to.bytes > to.memory->bytes ||
      from.offset + from.bytes > from.memory->bytes)
    return HONE_INVALID;
  memmove((char *)to.memory->data + to.offset, (const char *)from.memory->data + from.offset, to.bytes);
  return HONE_OK;
}

hone_status hn_host_mark(hone_stream *stream, int slot) {
  if (slot < 0 || slot >= stream->mark_count) return HONE_INVALID;
  stream->marks_ns[slot] = stream->unit->fake_clock ? stream->fake_now_ns : (double)hn_clock_ns();
  return HONE_OK;
}

hone_status hn_host_wait(hone_stream *stream) {
  (void)stream; /* everything queued on a host stream has run already */
  return HONE_OK;
}

hone_status hn_host_between(hone_stream *stream, int from, int to, double *out_elapsed_ns) {
  if (from < 0 || from >= stream->mark_count || to < 0 || to >= stream->mark_count) return HONE_INVALID;
  *out_elapsed_ns = stream->marks_ns[to] - stream->marks_ns[from];
  return HONE_OK;
}

const char *hn_eval_plan(const hone_query *query, void *state, hone_needs *needs) {
  const hone_op *op = query->op;
  bool known = true; /* else the session finds scratch for each launch */
  if (!op->eval) return "the operator has no reference evaluation";
  for (int i = 0; i < query->in_count + query->out_count; ++i) {
    const hone_type *type = i < query->in_count ? &query->in[i].type : &query->out[i - query->in_count].type;
    if (type->format != HONE_PLAIN) return "the reference works on plain tensors";
    known = known && (type->kind != HONE_TENSOR || hn_shape_known(&type->shape));
  }
  needs->state = sizeof(hn_eval_state);
  if (op->eval_scratch && known)
    needs->scratch = op->eval_scratch(query->attrs, query->in, query->in_count, query->out, query->out_count);
  if (state) *(hn_eval_state *)state = (hn_eval_state){.op = op, .attrs = query->attrs};
  return NULL;
}

hone_status hn_eval_prepare(hone_unit *unit, const hone_query *query, void *state, hone_diagnostics *diagnostics) {
  hn_eval_state *s = state;
  (void)diagnostics;
  if (!unit->fake_clock || !query->op->cost)
    return HONE_OK; /* a made-up machine: 100 GFLOP/s, 10 GB/s, 1 us a launch */
  const hone_cost cost = query->op->cost(query->attrs, query->in, query->in_count, query->out, query->out_count);
  s->fake_ns = 1000 + cost.flops / 100 + (cost.bytes_read + cost.bytes_written) / 10;
  return HONE_OK;
}

/* eval's resize hands over to the session's and reads back what it made. */
static hone_status resize_output(hone_eval *eval, int output, int rank, const int64_t *dims) {
  const hone_launch *launch = eval->host;
  if (!launch->resize)
    return HN_FAIL(eval->diagnostics, HONE_INTERNAL, "%s asks for extents that were to be known", eval->op->name);
  HN_TRY(launch->resize(launch->host, output, rank, dims));
  eval->out[output] = launch->out[output];
  return HONE_OK;
}

static void *keep(hone_eval *eval, size_t bytes) {
  const hone_launch *launch = eval->host;
  return launch->keep ? launch->keep(launch->host, bytes) : NULL;
}

hone_status hn_eval_launch(void *state, hone_stream *stream, const hone_launch *launch) {
  const hn_eval_state *s = state;
  hone_eval eval = {.op = s->op,
                    .attrs = s->attrs,
                    .in_count = launch->in_count,
                    .out_count = launch->out_count,
                    .in = launch->in,
                    .out = launch->out,
                    .scratch = launch->scratch,
                    .resize = resize_output,
                    .host = (void *)(uintptr_t)launch,
                    .diagnostics = launch->diagnostics,
                    .keep = keep};
  stream->fake_now_ns += s->fake_ns;
  HN_TRY(hn_evaluate(&eval, NULL, stream->pool.stop));
  for (int i = 0; i < launch->out_count; ++i)
    if (launch->out[i].type.kind == HONE_TENSOR) hn_clear_tail(&launch->out[i]);
  return HONE_OK;
}
