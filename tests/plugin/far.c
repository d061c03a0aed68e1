/* SPDX-License-Identifier: Apache-2.0 */
/* far.c - a device whose memory is not the host's, without any hardware: a plug-in's backend for tests.
 *
 * Its addresses have a bit that no host address has, so that the host that touches one crashes, and a launch that finds
 * a host address fails. Unit 0 does what it is given as late as it may, when the host waits: a host that reads too
 * early, or writes what a copy still reads, gets wrong numbers. Of lanes unit 0 does the last that can go on, unit 1
 * the first, and a lane that nothing joins fails. Unit 1 does everything at once: a copy that arrives in bytes that are
 * still needed destroys them. What both get right has its ordering right. It can record and replay. Unit 0 tells what
 * its queue did when asked, with 40 ns between two jobs; unit 1 declines. A kernel whose first input begins with 12345
 * traps, and its stream does nothing more. It runs linear (with packed weights) and elementwise operators, by the
 * operator's own eval. */
#include <hone/plugin.h>
#include <math.h>
#include <string.h>

#define FAR_BIT ((uint64_t)1 << 62)
enum { MAX_JOBS = 4096, MAX_TENSORS = 12 };

struct hone_driver {
  const hone_host *host;
};

struct hone_unit {
  const hone_host *host;
  bool late, entered;
};

typedef enum job_kind { JOB_LAUNCH, JOB_COPY, JOB_MARK, JOB_REPLAY, JOB_CALL, JOB_AFTER } job_kind;

typedef struct far_state {
  const hone_op *op;
  const hone_attrs *attrs;
  unsigned sum; /* of the first bytes of constants, which are the host's to read when preparing */
  double ns;    /* of a launch, on this device's clock */
} far_state;

typedef struct job {
  job_kind kind;
  const far_state *state;
  hone_tensor tensors[MAX_TENSORS];
  int in_count, out_count;
  float *scratch; /* halves as floats, one tensor behind the other */
  char *to;
  const char *from;
  size_t bytes;
  int slot, step, lane;
  hone_activity_kind activity; /* of a copy, and */
  bool within;                 /* it stays on the device: only such ones are recorded, by unit 0 alone */
  const struct hone_replay *replay;
  void (*function)(void *user);
  void *user;
} job;

struct hone_replay {
  const hone_host *host;
  int count;
  job jobs[]; /* MAX_JOBS while recording */
};

struct hone_stream {
  hone_unit *unit;
  double now_ns;
  struct hone_replay *recording;
  int mark_count, job_count;
  double *marks_ns;
  bool traced, trapped;
  int step, lane, activity_count;
  hone_activity activities[MAX_JOBS];
  job jobs[MAX_JOBS];
};

static void *take(const hone_host *host, size_t bytes) {
  void *block = host->resize(host->self, NULL, 0, bytes);
  if (block) memset(block, 0, bytes);
  return block;
}
static void drop(const hone_host *host, void *block, size_t bytes) { (void)host->resize(host->self, block, bytes, 0); }

/* ---- units and memory ---- */

static hone_status load(const hone_host *host, hone_driver **out, hone_diagnostics *diagnostics) {
  *out = take(host, sizeof **out);
  if (!*out) return host->fail(diagnostics, HONE_NO_MEMORY, "out of memory");
  (*out)->host = host;
  return HONE_OK;
}
static void unload(hone_driver *driver) { drop(driver->host, driver, sizeof *driver); }
static int count(hone_driver *driver) {
  (void)driver;
  return 2;
}
static hone_status open_unit(hone_driver *driver, int index, const hone_device_options *options, hone_unit **out,
                             hone_diagnostics *diagnostics) {
  (void)options;
  *out = take(driver->host, sizeof **out);
  if (!*out) return driver->host->fail(diagnostics, HONE_NO_MEMORY, "out of memory");
  (*out)->host = driver->host;
  (*out)->late = index == 0;
  return HONE_OK;
}
static void close_unit(hone_unit *unit) { drop(unit->host, unit, sizeof *unit); }
static void facts(const hone_unit *unit, hone_facts *out) {
  *out = (hone_facts){.threads = 1, .roofs = {[HONE_ROOF_F32] = 1e15, [HONE_ROOF_MEMORY] = 1e15}};
  strcpy(out->name, unit->late ? "far, late" : "far, at once");
  strcpy(out->version, "1");
}
static hone_status alloc(hone_unit *unit, int kind, size_t bytes, hone_memory *out) {
  void *block = unit->host->resize(unit->host->self, NULL, 0, bytes);
  if (!block) return HONE_NO_MEMORY;
  memset(block, 0xff, bytes); /* every float a NaN */
  const bool staging = kind == HONE_MEMORY_STAGING;
  *out = (hone_memory){.data = staging ? block : NULL,
                       .address = staging ? (uintptr_t)block : (uintptr_t)block | FAR_BIT,
                       .bytes = bytes,
                       .kind = kind};
  return HONE_OK;
}
static void free_memory(hone_unit *unit, hone_memory *memory) {
  drop(unit->host, (void *)(uintptr_t)(memory->address & ~FAR_BIT), memory->bytes);
}

/* ---- streams ---- */

static hone_status new_stream(hone_unit *unit, int mark_count, hone_stream **out) {
  hone_stream *stream = *out = take(unit->host, sizeof *stream);
  if (!stream) return HONE_NO_MEMORY;
  stream->unit = unit;
  stream->mark_count = mark_count;
  stream->marks_ns = take(unit->host, (size_t)mark_count * sizeof(double) + 1);
  if (stream->marks_ns) return HONE_OK;
  drop(unit->host, stream, sizeof *stream);
  *out = NULL;
  return HONE_NO_MEMORY;
}
static void drop_stream(hone_stream *stream) {
  const hone_host *host = stream->unit->host;
  drop(host, stream->marks_ns, (size_t)stream->mark_count * sizeof(double) + 1);
  drop(host, stream, sizeof *stream);
}

/* ---- halves: operators are evaluated on floats (IEEE 754-2019, binary16) ---- */

static float from_half(uint16_t half) {
  const int exponent = half >> 10 & 31, fraction = half & 1023;
  const float value = exponent == 31  ? (fraction ? NAN : INFINITY)
                      : exponent == 0 ? ldexpf((float)fraction, -24)
                                      : ldexpf((float)(fraction + 1024), exponent - 25);
  return half >> 15 ? -value : value;
}
static uint16_t to_half(float value) {
  const uint16_t sign = signbit(value) ? 0x8000 : 0;
  const float size = fabsf(value);
  int exponent;
  if (isnan(value)) return sign | 0x7e00;
  if (size >= 65520) return sign | 0x7c00;
  (void)frexpf(size, &exponent);
  if (exponent < -13) return sign | (uint16_t)rintf(ldexpf(size, 24)); /* subnormal, or the least normal one */
  return (uint16_t)(sign + ((exponent + 13) << 10) + (int)rintf(ldexpf(size, 11 - exponent)));
}

static int64_t count_of(const hone_type *type) {
  int64_t count = 1;
  for (int i = 0; i < type->shape.rank; ++i) count *= type->shape.dim[i];
  return count;
}

static hone_status launch_now(const job *given) {
  job floats = *given;
  const job *j = &floats;
  float *room = j->scratch;
  for (int i = 0; i < j->in_count + j->out_count; ++i) {
    hone_tensor *tensor = &floats.tensors[i];
    if (tensor->type.dtype != HONE_F16) continue;
    const int64_t count = count_of(&tensor->type);
    for (int64_t at = 0; at < count && i < j->in_count; ++at)
      room[at] = from_half(((const uint16_t *)given->tensors[i].data)[at]);
    tensor->type.dtype = HONE_F32;
    tensor->data = room;
    tensor->bytes = (size_t)count * sizeof *room;
    room += count;
  }
  hone_eval eval = {.op = j->state->op,
                    .attrs = j->state->attrs,
                    .in_count = j->in_count,
                    .out_count = j->out_count,
                    .in = j->tensors,
                    .out = (hone_tensor *)(uintptr_t)(j->tensors + j->in_count)};
  const hone_status status = eval.op->eval(&eval, NULL);
  for (int i = j->in_count; i < j->in_count + j->out_count; ++i) {
    if (given->tensors[i].type.dtype != HONE_F16) continue;
    const float *from = floats.tensors[i].data;
    uint16_t *to = given->tensors[i].data;
    for (int64_t at = 0; at < count_of(&given->tensors[i].type); ++at) to[at] = to_half(from[at]);
  }
  return status;
}

/* The job takes so long on the device's clock. */
static void spend(hone_stream *stream, const job *j, double ns) {
  const bool kernel = j->kind == JOB_LAUNCH;
  if (stream->traced) stream->now_ns += 40;
  const double begin_ns = stream->now_ns;
  stream->now_ns += ns;
  if (stream->traced && stream->activity_count < MAX_JOBS)
    stream->activities[stream->activity_count++] =
        (hone_activity){kernel ? HONE_ACTIVITY_KERNEL : j->activity, j->step, kernel ? "far_kernel" : NULL,
                        (int64_t)begin_ns, (int64_t)stream->now_ns};
}

static hone_status do_now(hone_stream *stream, const job *j);

/* Where each lane of a recording has come to. */
typedef struct lanes {
  const struct hone_replay *of;
  int at[HONE_MAX_LANES];
  double now_ns[HONE_MAX_LANES];
  bool passed[4 * MAX_JOBS]; /* marks, by slot */
} lanes;

/* The lane's next job; NULL: it has come to its end. */
static const job *next_in(lanes *l, int lane) {
  while (l->at[lane] < l->of->count && l->of->jobs[l->at[lane]].lane != lane) ++l->at[lane];
  return l->at[lane] < l->of->count ? &l->of->jobs[l->at[lane]] : NULL;
}

/* One job of the lane, unless it waits or has none. */
static hone_status step_lane(hone_stream *stream, lanes *l, int lane, bool *out_moved) {
  const job *j = next_in(l, lane);
  const bool begins = lane > 0 && l->now_ns[lane] < 0;
  *out_moved = false;
  if (!j || (j->kind == JOB_AFTER && !l->passed[j->slot])) return HONE_OK;
  if (begins && j->kind != JOB_AFTER) return HONE_INTERNAL; /* a lane begins with a wait */
  *out_moved = true;
  ++l->at[lane];
  if (j->kind == JOB_AFTER) {
    l->now_ns[lane] = fmax(l->now_ns[lane], stream->marks_ns[j->slot]);
    return HONE_OK;
  }
  stream->now_ns = l->now_ns[lane];
  const hone_status status = do_now(stream, j);
  l->now_ns[lane] = stream->now_ns;
  if (j->kind == JOB_MARK) l->passed[j->slot] = true;
  return status;
}

/* In the worst order that waits allow; the clock is that of lanes side by side. */
static hone_status do_lanes(hone_stream *stream, const struct hone_replay *replay) {
  static const int most = HONE_MAX_LANES;
  lanes *l = take(stream->unit->host, sizeof *l);
  hone_status status = l ? HONE_OK : HONE_NO_MEMORY;
  bool moved = true;
  if (l) l->of = replay;
  for (int lane = 0; l && lane < most; ++lane) l->now_ns[lane] = lane == 0 ? stream->now_ns : -1;
  while (status == HONE_OK && moved) {
    moved = false;
    for (int k = 0; k < most && !moved && status == HONE_OK; ++k)
      status = step_lane(stream, l, stream->unit->late ? most - 1 - k : k, &moved);
  }
  for (int lane = 0; status == HONE_OK && lane < most; ++lane)
    if (next_in(l, lane) || l->now_ns[lane] > l->now_ns[0]) status = HONE_INTERNAL; /* stuck, or not joined */
  if (status == HONE_OK) stream->now_ns = l->now_ns[0];
  if (l) drop(stream->unit->host, l, sizeof *l);
  return status;
}

static hone_status do_now(hone_stream *stream, const job *j) {
  switch (j->kind) {
  case JOB_LAUNCH:
    spend(stream, j, j->state->ns);
    stream->trapped = stream->trapped || (j->tensors[0].type.dtype == HONE_F32 && j->tensors[0].bytes &&
                                          *(const float *)j->tensors[0].data == 12345);
    return stream->trapped ? HONE_DEVICE : launch_now(j);
  case JOB_CALL: j->function(j->user); return HONE_OK;
  case JOB_COPY:
    spend(stream, j, 500);
    memmove(j->to, j->from, j->bytes);
    return HONE_OK;
  case JOB_MARK: stream->marks_ns[j->slot] = stream->now_ns; return HONE_OK;
  case JOB_AFTER: return HONE_INTERNAL; /* outside of a recording */
  default: return do_lanes(stream, j->replay);
  }
}

static hone_status wait(hone_stream *stream) {
  hone_status status = stream->trapped ? HONE_DEVICE : HONE_OK;
  for (int i = 0; i < stream->job_count && status == HONE_OK; ++i) status = do_now(stream, &stream->jobs[i]);
  stream->job_count = 0;
  return status;
}

static hone_status give(hone_stream *stream, job *j) {
  j->step = stream->step;
  if (stream->recording) {
    const bool recorded = j->kind == JOB_LAUNCH || j->kind == JOB_MARK || j->kind == JOB_AFTER ||
                          (j->kind == JOB_COPY && j->within && stream->unit->late);
    if (!recorded || stream->recording->count == MAX_JOBS) return HONE_INTERNAL;
    j->lane = stream->lane;
    stream->recording->jobs[stream->recording->count++] = *j;
    return HONE_OK;
  }
  if (!stream->unit->late) return do_now(stream, j);
  if (stream->job_count == MAX_JOBS) return HONE_LIMIT;
  stream->jobs[stream->job_count++] = *j;
  return HONE_OK;
}

/* NULL when the slice is not what its memory says it is. */
static char *place_of(hone_slice slice) {
  const bool far = slice.memory->address & FAR_BIT;
  if (slice.offset + slice.bytes > slice.memory->bytes || far == (slice.memory->data != NULL)) return NULL;
  return (char *)(uintptr_t)(slice.memory->address & ~FAR_BIT) + slice.offset;
}
static hone_status copy(hone_stream *stream, hone_slice to, hone_slice from) {
  job j = {.kind = JOB_COPY, .to = place_of(to), .from = place_of(from), .bytes = to.bytes};
  j.within = !from.memory->data && !to.memory->data;
  j.activity = from.memory->data ? HONE_ACTIVITY_TO_DEVICE : HONE_ACTIVITY_TO_HOST;
  return j.to && j.from && to.bytes == from.bytes ? give(stream, &j) : HONE_INVALID;
}
static hone_status mark(hone_stream *stream, int slot) {
  job j = {.kind = JOB_MARK, .slot = slot};
  return slot >= 0 && slot < stream->mark_count ? give(stream, &j) : HONE_INVALID;
}
static hone_status between(hone_stream *stream, int from, int to, double *out_elapsed_ns) {
  *out_elapsed_ns = stream->marks_ns[to] - (from < 0 ? 0 : stream->marks_ns[from]);
  return HONE_OK;
}

static hone_status trace(hone_stream *stream, bool on, hone_diagnostics *diagnostics) {
  if (!stream->unit->late)
    return stream->unit->host->fail(diagnostics, HONE_UNSUPPORTED, "unit 1 does not tell what its queue does");
  stream->traced = on;
  stream->activity_count = 0;
  return HONE_OK;
}
static hone_status tag(hone_stream *stream, int step) {
  stream->step = step;
  return HONE_OK;
}
static hone_status activities(hone_stream *stream, const hone_activity **out, int *out_count) {
  *out = stream->activities;
  *out_count = stream->activity_count;
  stream->activity_count = 0;
  return HONE_OK;
}

static hone_status call(hone_stream *stream, void (*function)(void *user), void *user) {
  job j = {.kind = JOB_CALL, .function = function, .user = user};
  return give(stream, &j);
}
static const char *reason(const hone_stream *stream) { return stream->trapped ? "a kernel trapped" : NULL; }

static size_t replay_bytes(int jobs) { return sizeof(struct hone_replay) + (size_t)jobs * sizeof(job); }
static hone_status record(hone_stream *stream) {
  if (stream->recording) return HONE_INVALID;
  stream->lane = 0;
  stream->recording = take(stream->unit->host, replay_bytes(MAX_JOBS));
  if (!stream->recording) return HONE_NO_MEMORY;
  stream->recording->host = stream->unit->host;
  return HONE_OK;
}
static hone_status keep(hone_stream *stream, hone_replay **out) {
  *out = NULL;
  if (!stream->recording) return HONE_INVALID;
  *out = stream->recording;
  stream->recording = NULL;
  return HONE_OK;
}
static hone_status lane(hone_stream *stream, int number) {
  if (!stream->recording || number < 0 || number >= HONE_MAX_LANES) return HONE_INVALID;
  stream->lane = number;
  return HONE_OK;
}
static hone_status after(hone_stream *stream, int slot) {
  job j = {.kind = JOB_AFTER, .slot = slot};
  return stream->recording && slot >= 0 && slot < stream->mark_count ? give(stream, &j) : HONE_INVALID;
}
static hone_status replay(hone_stream *stream, const hone_replay *kept) {
  job j = {.kind = JOB_REPLAY, .replay = kept};
  return give(stream, &j);
}
static void forget(hone_replay *kept) { drop(kept->host, kept, replay_bytes(MAX_JOBS)); }

/* ---- tactics ---- */

typedef struct row_kernel {
  bool halves; /* takes them, too */
  double ns;
} row_kernel;

static bool takes(const hone_query *query, const hone_type *type) {
  const row_kernel *kernel = query->tactic->kernel;
  return type->kind == HONE_TENSOR && type->format == HONE_PLAIN &&
         (type->dtype == HONE_F32 || (kernel->halves && type->dtype == HONE_F16));
}
static size_t halves_bytes(const hone_query *query) {
  size_t bytes = 0;
  for (int i = 0; i < query->in_count; ++i)
    if (query->in[i].type.dtype == HONE_F16) bytes += (size_t)count_of(&query->in[i].type) * sizeof(float);
  return bytes + (query->out[0].type.dtype == HONE_F16 ? (size_t)count_of(&query->out[0].type) * sizeof(float) : 0);
}

static const char *plan(const hone_query *query, void *state, hone_needs *needs) {
  far_state *s = state;
  if (query->in_count + query->out_count > MAX_TENSORS || query->op->eval_scratch) return "too much for this device";
  for (int i = 0; i < query->in_count; ++i)
    if (!takes(query, &query->in[i].type)) return "an input is not plain f32";
  if (!takes(query, &query->out[0].type)) return "the output is not plain f32";
  needs->state = sizeof *s;
  needs->scratch = halves_bytes(query);
  if (!s) return NULL;
  s->ns = ((const row_kernel *)query->tactic->kernel)->ns;
  s->op = query->op;
  s->attrs = query->attrs;
  for (int i = 0; i < query->in_count; ++i)
    if (query->in[i].constant && query->in[i].constant->bytes)
      s->sum += *(const unsigned char *)query->in[i].constant->data;
  return NULL;
}

static const char *plan_linear(const hone_query *query, void *state, hone_needs *needs) {
  for (int i = 0; i < query->attrs->count; ++i) /* something that only the host fuses */
    if (strcmp(query->attrs->items[i].name, "act") == 0 && strcmp(query->attrs->items[i].s, "sigmoid") == 0)
      return "no sigmoid after a product";
  if (!(query->constant_mask & 2)) return "the weights are not constant";
  const char *reason = plan(query, state, needs);
  if (!reason) needs->packed = (size_t)count_of(&query->in[1].type) * sizeof(float);
  return reason;
}
static hone_status pack(const hone_query *query, void *to) {
  memcpy(to, query->in[1].constant->data, (size_t)count_of(&query->in[1].type) * sizeof(float));
  return HONE_OK;
}
/* Weights with ten bits behind the point, what lies beyond cut off. */
static hone_status pack_tf32(const hone_query *query, void *to) {
  const uint32_t *from = query->in[1].constant->data;
  for (int64_t i = 0; i < count_of(&query->in[1].type); ++i) ((uint32_t *)to)[i] = from[i] & ~0x1fffu;
  return HONE_OK;
}
static bool translate(const hone_tensor *from, hone_tensor *to) {
  *to = *from;
  to->data = (void *)((uintptr_t)from->data & ~FAR_BIT);
  return (uintptr_t)from->data & FAR_BIT || from->bytes == 0;
}
static hone_status launch(void *state, hone_stream *stream, const hone_launch *launch) {
  job j = {.kind = JOB_LAUNCH, .state = state, .in_count = launch->in_count, .out_count = launch->out_count};
  j.scratch = (float *)((uintptr_t)launch->scratch & ~FAR_BIT);
  bool far = true;
  for (int i = 0; i < launch->in_count; ++i) {
    hone_tensor in = launch->in[i];
    if (!in.data && launch->packed) in.data = (void *)(uintptr_t)launch->packed;
    far = translate(&in, &j.tensors[i]) && far;
  }
  for (int i = 0; i < launch->out_count; ++i) far = translate(&launch->out[i], &j.tensors[launch->in_count + i]) && far;
  return far && launch->native_stream == stream && stream->unit->entered ? give(stream, &j) : HONE_INTERNAL;
}

/* As tactics of plug-ins find them when they launch. */
static void *native(hone_stream *stream) { return stream; }
static hone_status enter(hone_unit *unit) {
  unit->entered = true;
  return HONE_OK;
}

static const hone_tactic tactics[] = {
    {sizeof(hone_tactic), .name = "far.linear", .version = 1, .op = "linear",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE | HONE_TACTIC_STREAMS, .pack_mask = 2,
     .plan = plan_linear, .pack = pack, .launch = launch, .kernel = &(const row_kernel){false, 5000}},
    {sizeof(hone_tactic), .name = "far.elementwise", .version = 1, .op = "*elementwise",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE | HONE_TACTIC_IN_PLACE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){false, 5000}},
    {sizeof(hone_tactic), .name = "far.linear.f16", .version = 1, .op = "linear",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE | HONE_TACTIC_STREAMS, .pack_mask = 2,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_PLAIN, HONE_F16_PLAIN}, {HONE_F16_PLAIN, HONE_PLAIN}},
     .compute = HONE_F16, .plan = plan_linear, .pack = pack, .launch = launch, .efficiency = 2.4,
     .kernel = &(const row_kernel){true, 300}},
    {sizeof(hone_tactic), .name = "far.linear.tf32", .version = 1, .op = "linear",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE | HONE_TACTIC_STREAMS, .pack_mask = 2,
     .compute = HONE_TF32, .plan = plan_linear, .pack = pack_tf32, .launch = launch, .efficiency = 1.2,
     .kernel = &(const row_kernel){false, 2500}},
    {sizeof(hone_tactic), .name = "far.elementwise.f16", .version = 1, .op = "*elementwise",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}},
     .compute = HONE_F16, .plan = plan, .launch = launch, .efficiency = 2.4, .kernel = &(const row_kernel){true, 300}},
    {sizeof(hone_tactic), .name = "far.convert", .version = 1, .op = "convert",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_PLAIN, HONE_F16_PLAIN}, {HONE_F16_PLAIN, HONE_PLAIN}}, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){true, 300}},
    {0}};
static const hone_tactic *const families[] = {tactics, NULL};

/* For the cpu: a plug-in may bring tactics for devices that are there. It accepts nothing. */
static const char *plan_never(const hone_query *query, void *state, hone_needs *needs) {
  (void)query, (void)state, (void)needs;
  return "a tactic of a plug-in that takes nothing";
}
static const hone_tactic never = {sizeof(hone_tactic), .name = "far.never", .version = 1,
                                  .op = "softmax",     .plan = plan_never,  .launch = launch};

static const hone_backend backend = {.struct_size = sizeof(hone_backend),
                                     .api = HONE_BACKEND_API,
                                     .name = "far",
                                     .load = load,
                                     .unload = unload,
                                     .count = count,
                                     .open = open_unit,
                                     .close = close_unit,
                                     .facts = facts,
                                     .alloc = alloc,
                                     .free = free_memory,
                                     .stream = new_stream,
                                     .drop = drop_stream,
                                     .copy = copy,
                                     .mark = mark,
                                     .wait = wait,
                                     .between = between,
                                     .record = record,
                                     .keep = keep,
                                     .replay = replay,
                                     .forget = forget,
                                     .trace = trace,
                                     .tag = tag,
                                     .activities = activities,
                                     .call = call,
                                     .reason = reason,
                                     .lane = lane,
                                     .after = after,
                                     .native = native,
                                     .enter = enter,
                                     .families = families};
static const hone_backend *const backends[] = {&backend, NULL};
static const hone_plugin_tactic host_tactics[] = {{"cpu", &never}, {NULL, NULL}};
static const hone_plugin_table table = {.struct_size = sizeof(hone_plugin_table),
                                        .name = "far",
                                        .version = "1",
                                        .tactics = host_tactics,
                                        .backends = backends};

HONE_API const hone_plugin_table *hone_plugin(const hone_host *host);
const hone_plugin_table *hone_plugin(const hone_host *host) {
  (void)host;
  return &table;
}
