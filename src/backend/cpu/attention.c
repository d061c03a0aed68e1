/* SPDX-License-Identifier: Apache-2.0 */
/* attention.c - attention and qkv_attention in plain f32: a unit is a chunk of one head's query rows. */
#include "kernels/cpu/attention/attention.h"
#include "backend/cpu/cpu.h"
#include <math.h>

enum { Q, K, V, MASK, ATTENTION_INPUTS = 7, QKV_MASK = 1 };
enum { MOST_ROWS = 512, LEAST_ROWS = 56 }; /* of a unit: each packs its head's keys and values */
static const double flops_per_ns = 80;

typedef struct state {
  hn_attention_f32 args; /* no pointers */
  hn_attention_f32_fn *kernel;
  int64_t units, grain, worker_floats, workers;
  int mask_port;      /* -1: none */
  int64_t k_at, v_at; /* qkv_attention: floats from a row's queries to its keys and values; else -1 */
} state;

/* Sets the mask's steps; what broadcasts has step 0. */
static const char *read_mask(const hone_query *query, int port, state *s) {
  s->mask_port = -1;
  if (!hn_cpu_given(query, port)) return NULL;
  const hn_attention_f32 *a = &s->args;
  const hone_shape *shape = &query->in[port].type.shape;
  if (!hn_cpu_is(&query->in[port], HONE_F32, HONE_PLAIN)) return "the mask is not plain f32";
  const int64_t want[4] = {a->batch, a->heads, a->q_len, a->kv_len};
  int64_t step[4] = {0}, inner = 1;
  if (shape->rank < 1 || shape->rank > 4) return "the mask's rank is not 1 to 4";
  for (int i = shape->rank - 1, to = 3; i >= 0; --i, --to) {
    if (shape->dim[i] != want[to] && (shape->dim[i] != 1 || to == 3)) return "the mask has another shape";
    step[to] = shape->dim[i] == 1 ? 0 : inner;
    inner *= shape->dim[i];
  }
  s->args.mask_step = (hn_attention_steps){step[0], step[1], step[2]};
  s->mask_port = port;
  return NULL;
}

static hn_attention_steps steps_of(const hone_shape *shape, int64_t heads, int64_t size) {
  if (shape->rank == 4) return (hn_attention_steps){shape->dim[1] * shape->dim[2] * size, shape->dim[2] * size, size};
  return (hn_attention_steps){shape->dim[1] * heads * size, size, heads * size};
}

static const char *check_rest(const hone_query *query) {
  for (int i = MASK + 1; i < ATTENTION_INPUTS; ++i)
    if (hn_cpu_given(query, i)) return "it has a cache of keys or lengths";
  for (int i = 1; i < query->out_count; ++i)
    if (query->out[i].type.kind != HONE_ABSENT) return "more than its first output is wanted";
  if (hn_attr_float(query->attrs, "softcap") != 0) return "it has a soft cap";
  if (hn_attr_int(query->attrs, "left_window_size") >= 0 || hn_attr_int(query->attrs, "right_window_size") >= 0)
    return "it has a window";
  return NULL;
}

static const char *check_extents(const hn_attention_f32 *a) {
  const double most = 1e15;
  if (a->batch < 1 || a->heads < 1 || a->group < 1 || a->q_len < 1 || a->kv_len < 1 || a->size < 1 || a->v_size < 1)
    return "an extent is 0";
  if ((double)a->batch * (double)a->heads * (double)(a->q_len + a->kv_len) * (double)(a->size + a->v_size) > most ||
      (double)(a->q_len + a->kv_len) * (double)(a->size + a->v_size) > 1e12)
    return "the matrices are too large";
  return NULL;
}

static void read_scale(const hone_query *query, hn_attention_f32 *a) {
  a->scale = hn_attr_has(query->attrs, "scale") ? (float)hn_attr_float(query->attrs, "scale")
                                                : (float)(1 / sqrt((double)a->size));
  a->is_causal = hn_attr_int(query->attrs, "is_causal") != 0;
}

static const char *read_attention(const hone_query *query, state *s) {
  const char *reason = hn_cpu_check(query, 3, ATTENTION_INPUTS, 4);
  if (!reason) reason = check_rest(query);
  if (reason) return reason;
  for (int i = Q; i <= V; ++i)
    if (!hn_cpu_is(&query->in[i], HONE_F32, HONE_PLAIN)) return "it is not plain f32";
  if (!hn_cpu_is(&query->out[0], HONE_F32, HONE_PLAIN)) return "it is not plain f32";
  const hone_shape *q = &query->in[Q].type.shape, *k = &query->in[K].type.shape, *v = &query->in[V].type.shape;
  const hone_shape *y = &query->out[0].type.shape;
  if (q->rank < 3 || q->rank > 4 || k->rank != q->rank || v->rank != q->rank || y->rank != q->rank)
    return "the ranks do not fit together";
  const bool packed = q->rank == 3;
  const int length = packed ? 1 : 2;
  const int64_t heads = packed ? hn_attr_int(query->attrs, "q_num_heads") : q->dim[1];
  const int64_t kv_heads = packed ? hn_attr_int(query->attrs, "kv_num_heads") : k->dim[1];
  if (heads < 1 || kv_heads < 1 || heads % kv_heads) return "the heads do not fit together";
  const int64_t size = packed ? q->dim[2] / heads : q->dim[3], v_size = packed ? v->dim[2] / kv_heads : v->dim[3];
  if (packed && (size * heads != q->dim[2] || size * kv_heads != k->dim[2] || v_size * kv_heads != v->dim[2]))
    return "the extents do not fit together";
  if (k->dim[length] != v->dim[length] || k->dim[0] != q->dim[0] || v->dim[0] != q->dim[0] || y->dim[0] != q->dim[0] ||
      y->dim[length] != q->dim[length] || hn_elems(y) != q->dim[0] * heads * q->dim[length] * v_size)
    return "the extents do not fit together";
  if (!packed && (v->dim[1] != kv_heads || k->dim[3] != size)) return "the extents do not fit together";
  s->args = (hn_attention_f32){.batch = q->dim[0],
                               .heads = heads,
                               .group = heads / kv_heads,
                               .q_len = q->dim[length],
                               .kv_len = k->dim[length],
                               .size = size,
                               .v_size = v_size,
                               .q_step = steps_of(q, heads, size),
                               .k_step = steps_of(k, kv_heads, size),
                               .v_step = steps_of(v, kv_heads, v_size),
                               .y_step = steps_of(y, heads, v_size)};
  s->k_at = s->v_at = -1;
  read_scale(query, &s->args);
  reason = check_extents(&s->args);
  return reason ? reason : read_mask(query, MASK, s);
}

static const char *read_qkv_attention(const hone_query *query, state *s) {
  const char *reason = hn_cpu_check(query, 1, 2, 1);
  if (reason) return reason;
  if (!hn_cpu_is(&query->in[0], HONE_F32, HONE_PLAIN) || !hn_cpu_is(&query->out[0], HONE_F32, HONE_PLAIN))
    return "it is not plain f32";
  const hone_shape *x = &query->in[0].type.shape, *y = &query->out[0].type.shape;
  const int64_t heads = hn_attr_int(query->attrs, "q_num_heads"), kv_heads = hn_attr_int(query->attrs, "kv_num_heads");
  if (x->rank != 3 || y->rank != 3) return "the ranks do not fit together";
  if (heads < 1 || kv_heads < 1 || heads % kv_heads) return "the heads do not fit together";
  const int64_t width = x->dim[2], size = width / (heads + 2 * kv_heads);
  if (size * (heads + 2 * kv_heads) != width || y->dim[0] != x->dim[0] || y->dim[1] != x->dim[1] ||
      y->dim[2] != heads * size)
    return "the extents do not fit together";
  const hn_attention_steps in = {x->dim[1] * width, size, width};
  s->args = (hn_attention_f32){.batch = x->dim[0],
                               .heads = heads,
                               .group = heads / kv_heads,
                               .q_len = x->dim[1],
                               .kv_len = x->dim[1],
                               .size = size,
                               .v_size = size,
                               .q_step = in,
                               .k_step = in,
                               .v_step = in,
                               .y_step = steps_of(y, heads, size)};
  s->k_at = heads * size;
  s->v_at = (heads + kv_heads) * size;
  read_scale(query, &s->args);
  reason = check_extents(&s->args);
  return reason ? reason : read_mask(query, QKV_MASK, s);
}

/* Whole heads where there are enough of them for all threads, else chunks of their rows. */
static void plan(const hone_query *query, state *s) {
  hn_attention_f32 *a = &s->args;
  const int64_t heads = a->batch * a->heads, threads = hn_cpu_threads(query->facts);
  int64_t chunks = hn_ceil_div(a->q_len, MOST_ROWS);
  if (threads > 1 && heads * chunks < threads * HN_CPU_UNITS_PER_THREAD)
    chunks = hn_cpu_greater(
        chunks, hn_cpu_lesser(hn_ceil_div(threads * HN_CPU_UNITS_PER_THREAD, heads), a->q_len / LEAST_ROWS));
  a->row_chunk = hn_ceil_div(a->q_len, hn_cpu_greater(chunks, 1));
  const double flops = 2.0 * (double)heads * (double)a->q_len * (double)a->kv_len * (double)(a->size + a->v_size + 10);
  s->units = hn_attention_f32_units(a);
  s->grain = hn_cpu_grain(s->units, flops / flops_per_ns);
  s->workers = threads;
  s->worker_floats = hn_cpu_whole_lines(hn_attention_f32_scratch_floats(a));
}

typedef const char *reader(const hone_query *query, state *s);

static size_t scratch_of(const hone_query *query, reader *read) {
  state s;
  if (read(query, &s)) return 0;
  plan(query, &s);
  return (size_t)(s.workers * s.worker_floats) * sizeof(float);
}

static hone_status prepare(const hone_query *query, state *s, reader *read, hn_attention_f32_fn *kernel) {
  if (read(query, s)) return HONE_INTERNAL;
  plan(query, s);
  s->kernel = kernel;
  return HONE_OK;
}

static size_t state_bytes(const hone_query *query) {
  (void)query;
  return sizeof(state);
}

typedef struct job {
  state s; /* with pointers */
  float *scratch;
} job;

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  const job *j = arg;
  j->s.kernel(&j->s.args, begin, end, j->scratch + worker * j->s.worker_floats);
}

static hone_status launch(void *planned, hone_stream *stream, const hone_launch *launch) {
  job j = {.s = *(const state *)planned, .scratch = launch->scratch};
  hn_attention_f32 *a = &j.s.args;
  a->q = launch->in[0].data;
  a->k = j.s.k_at < 0 ? launch->in[K].data : a->q + j.s.k_at;
  a->v = j.s.v_at < 0 ? launch->in[V].data : a->q + j.s.v_at;
  a->mask = j.s.mask_port < 0 ? NULL : launch->in[j.s.mask_port].data;
  a->y = launch->out[0].data;
  hn_pool_run(hn_stream_pool(stream), j.s.units, j.s.grain, body, &j);
  return HONE_OK;
}

#define OPS(X) X(attention) X(qkv_attention)
#define FUNCTIONS(op_name)                                                                                             \
  static const char *reject_##op_name(const hone_query *query) {                                                       \
    state s;                                                                                                           \
    return read_##op_name(query, &s);                                                                                  \
  }                                                                                                                    \
  static size_t scratch_##op_name(const hone_query *query) { return scratch_of(query, read_##op_name); }
OPS(FUNCTIONS)

#define ROW_OF(op_name, suffix, ISA)                                                                                   \
  HN_CPU_ROW(op_name, f32, suffix, ISA, prepare(query, s, read_##op_name, hn_attention_f32_##suffix),                  \
             .flags = HONE_TACTIC_REPEATABLE, .reject = reject_##op_name, .scratch = scratch_##op_name,                \
             .state_bytes = state_bytes, .launch = launch)
#define ROW(suffix, ISA) ROW_OF(attention, suffix, ISA) ROW_OF(qkv_attention, suffix, ISA)
HN_EACH_ISA(ROW)
