/* SPDX-License-Identifier: Apache-2.0 */
/* group_query_attention.c - group_query_attention of plain f32. First the new keys and values go where the cache ends,
 * turned on the way, and the queries are turned into scratch memory; then attention reads the cache as it lies. Where a
 * session keeps past and present in one place, nothing else is copied. */
#include "backend/cpu/attention/rows.h"
#include "kernels/cpu/attention/attention.h"
#include <math.h>
#include <string.h>

enum { Q, K, V, PAST_KEY, PAST_VALUE, SEQLENS, TOTAL, COS, SIN, POSITIONS, INPUTS };
enum { Y, PRESENT_KEY, PRESENT_VALUE, OUTPUTS };
static const double flops_per_ns = 80, bytes_per_ns = 15;

typedef struct row_kernel {
  hn_attention_f32_fn *attend;
  hn_rotary_f32_fn *turn;
} row_kernel;

typedef struct state {
  const row_kernel *row;
  hn_attention_f32 args; /* no pointers; kv_len is the rows of present */
  int64_t past, half, angle_rows, units, grain, worker_floats;
  int64_t length_floats, query_floats; /* scratch: lengths, turned queries, then the workers' */
  bool interleaved, positions, packed;
} state;

static bool is_cache(const hone_fact *fact, const hn_attention_f32 *a, int64_t rows) {
  const hone_shape *s = &fact->type.shape;
  return hn_cpu_is(fact, HONE_F32, HONE_PLAIN) && s->rank == 4 && s->dim[0] == a->batch &&
         s->dim[1] == a->heads / a->group && s->dim[2] == rows && s->dim[3] == a->size;
}

static const char *read_tokens(const hone_query *query, state *s) {
  hn_attention_f32 *a = &s->args;
  const hone_shape *q = &query->in[Q].type.shape, *y = &query->out[Y].type.shape;
  const int64_t heads = hn_attr_int(query->attrs, "num_heads"), kv_heads = hn_attr_int(query->attrs, "kv_num_heads");
  s->packed = !hn_cpu_given(query, K);
  if (s->packed == hn_cpu_given(query, V)) return "half of the new keys and values is absent";
  for (int i = Q; i <= (s->packed ? Q : V); ++i)
    if (!hn_cpu_is(&query->in[i], HONE_F32, HONE_PLAIN)) return "it is not plain f32";
  if (!hn_cpu_is(&query->out[Y], HONE_F32, HONE_PLAIN)) return "it is not plain f32";
  if (q->rank != 3 || y->rank != 3 || heads < 1 || kv_heads < 1 || heads % kv_heads)
    return "the heads do not fit together";
  const int64_t parts = s->packed ? heads + 2 * kv_heads : heads, size = q->dim[2] / parts;
  if (q->dim[0] < 1 || q->dim[1] < 1 || size < 1) return "an extent is 0";
  if (size * parts != q->dim[2] || y->dim[0] != q->dim[0] || y->dim[1] != q->dim[1] || y->dim[2] != heads * size)
    return "the extents do not fit together";
  for (int i = K; i <= V && !s->packed; ++i) {
    const hone_shape *x = &query->in[i].type.shape;
    if (x->rank != 3 || x->dim[0] != q->dim[0] || x->dim[1] != q->dim[1] || x->dim[2] != kv_heads * size)
      return "the extents do not fit together";
  }
  const int64_t fresh = s->packed ? q->dim[2] : kv_heads * size;
  *a = (hn_attention_f32){.batch = q->dim[0],
                          .heads = heads,
                          .group = heads / kv_heads,
                          .q_len = q->dim[1],
                          .size = size,
                          .v_size = size,
                          .q_step = {q->dim[1] * q->dim[2], size, q->dim[2]},
                          .k_step = {q->dim[1] * fresh, size, fresh},
                          .y_step = {q->dim[1] * heads * size, size, heads * size},
                          .is_causal = 1,
                          .ends_at_length = 1};
  return NULL;
}

static const char *read_cache(const hone_query *query, state *s) {
  hn_attention_f32 *a = &s->args;
  const bool has_past = hn_cpu_given(query, PAST_KEY);
  if (has_past != hn_cpu_given(query, PAST_VALUE)) return "half of its cache is absent";
  if (query->out_count < OUTPUTS || query->out[PRESENT_KEY].type.kind != HONE_TENSOR ||
      query->out[PRESENT_VALUE].type.kind != HONE_TENSOR)
    return "it writes no cache";
  s->past = has_past && query->in[PAST_KEY].type.shape.rank == 4 ? query->in[PAST_KEY].type.shape.dim[2] : 0;
  if (has_past && (!is_cache(&query->in[PAST_KEY], a, s->past) || !is_cache(&query->in[PAST_VALUE], a, s->past)))
    return "the cache does not fit the new keys and values";
  const hone_shape *present = &query->out[PRESENT_KEY].type.shape;
  a->kv_len = present->rank == 4 ? present->dim[2] : 0;
  if (a->kv_len < a->q_len || a->kv_len < s->past || a->kv_len > INT32_MAX ||
      !is_cache(&query->out[PRESENT_KEY], a, a->kv_len) || !is_cache(&query->out[PRESENT_VALUE], a, a->kv_len))
    return "the cache that it writes has another shape";
  const hone_fact *lengths = &query->in[SEQLENS];
  if (!hn_cpu_is(lengths, HONE_I32, HONE_PLAIN) || hn_elems(&lengths->type.shape) != a->batch)
    return "the lengths are not one i32 for each batch";
  const double size = (double)a->batch * (double)a->heads * (double)(a->q_len + a->kv_len) * (double)a->size;
  return size > 1e12 ? "the matrices are too large" : NULL;
}

static const char *read_angles(const hone_query *query, state *s) {
  const hn_attention_f32 *a = &s->args;
  if (hn_attr_int(query->attrs, "do_rotary") == 0) return NULL;
  if (!hn_cpu_given(query, COS) || !hn_cpu_given(query, SIN)) return "its angles are absent";
  const hone_shape *cos = &query->in[COS].type.shape;
  if (!hn_cpu_is(&query->in[COS], HONE_F32, HONE_PLAIN) || !hn_cpu_is(&query->in[SIN], HONE_F32, HONE_PLAIN) ||
      cos->rank != 2 || !hn_shape_equal(cos, &query->in[SIN].type.shape))
    return "the angles are not plain f32, or do not fit together";
  s->half = cos->dim[1];
  s->angle_rows = cos->dim[0];
  s->interleaved = hn_attr_int(query->attrs, "rotary_interleaved") != 0;
  s->positions = hn_cpu_given(query, POSITIONS);
  if (s->half < 1 || s->half * 2 > a->size) return "the turned features do not fit";
  if (s->positions && (!hn_cpu_is(&query->in[POSITIONS], HONE_I64, HONE_PLAIN) ||
                       hn_elems(&query->in[POSITIONS].type.shape) != a->batch * a->q_len))
    return "the positions do not fit together";
  return NULL;
}

/* Few rows: a key head's query heads stay together unless threads would have nothing to do. Else whole heads where
 * there are enough of them, or chunks of their rows. */
static void cut(const hone_query *query, state *s) {
  hn_attention_f32 *a = &s->args;
  const int64_t key_heads = a->batch * (a->heads / a->group), heads = a->batch * a->heads,
                threads = hn_cpu_threads(query->facts);
  if (a->q_len <= HN_ATTENTION_FEW_ROWS) {
    a->head_chunk = hn_ceil_div(a->group, hn_cpu_lesser(a->group, hn_ceil_div(threads, key_heads)));
    const double bytes = 8.0 * (double)key_heads * (double)a->kv_len * (double)a->size;
    s->units = hn_attention_f32_units(a);
    s->grain = hn_cpu_grain(s->units, bytes * (double)hn_ceil_div(a->group * a->q_len, 4) / bytes_per_ns);
    return;
  }
  a->row_chunk = hn_attention_row_chunk(heads, a->q_len, threads);
  s->units = hn_attention_f32_units(a);
  s->grain = hn_cpu_grain(s->units,
                          4.0 * (double)heads * (double)a->q_len * (double)a->kv_len * (double)a->size / flops_per_ns);
}

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  state asked = {0}, *s = memory ? memory : &asked;
  HN_TRY_REASON(hn_cpu_check(query, SEQLENS + 2, INPUTS, OUTPUTS));
  HN_TRY_REASON(read_tokens(query, s));
  HN_TRY_REASON(read_cache(query, s));
  HN_TRY_REASON(read_angles(query, s));
  hn_attention_f32 *a = &s->args;
  const float scale = (float)hn_attr_float(query->attrs, "scale");
  const int64_t window = hn_attr_int(query->attrs, "local_window_size");
  a->scale = scale != 0 ? scale : (float)(1 / sqrt((double)a->size));
  a->softcap = (float)hn_attr_float(query->attrs, "softcap");
  a->left_seen = window > 0 ? hn_cpu_lesser(window, INT32_MAX) : 0;
  s->row = query->tactic->kernel;
  cut(query, s);
  s->length_floats = hn_cpu_whole_lines(2 * a->batch); /* of i64 */
  s->query_floats = s->half ? hn_cpu_whole_lines(a->batch * a->q_len * a->heads * a->size) : 0;
  s->worker_floats = hn_cpu_whole_lines(hn_attention_f32_scratch_floats(a));
  needs->state = sizeof *s;
  needs->scratch =
      (size_t)(s->length_floats + s->query_floats + hn_cpu_threads(query->facts) * s->worker_floats) * sizeof(float);
  return NULL;
}

typedef struct job {
  state s; /* with pointers */
  const float *q, *k, *v, *cos, *sin, *past_k, *past_v;
  float *present_k, *present_v;
  hn_attention_steps q_step, k_step; /* of the new ones; attention reads turned queries and the caches */
  int64_t rows;                      /* of present, of a head */
  const int64_t *positions;
  float *turned, *scratch;
  bool prepares; /* a unit is a key head: it prepares it itself, in whose caches it then lies */
} job;

/* Row i of one head, at its angle: from the new ones to where it is read. */
static void move_row(const job *j, const float *from, int64_t row, int64_t place, float *to) {
  const state *s = &j->s;
  if (!s->half) {
    memcpy(to, from, (size_t)s->args.size * sizeof *to);
    return;
  }
  const int64_t at = j->positions ? j->positions[row] : place;
  const hn_rotary_args args = {.x = from,
                               .y = to,
                               .cos = j->cos,
                               .sin = j->sin,
                               .places = &at,
                               .size = s->args.size,
                               .half = s->half,
                               .outer = 1,
                               .inner = 1,
                               .across = 1,
                               .is_interleaved = s->interleaved};
  s->row->turn(&args, 0, 1);
}

/* The new rows of batch x key head `at`, behind the old ones, which are there or come from past. */
static void append(const job *j, int64_t at) {
  const hn_attention_f32 *a = &j->s.args;
  const float *past_k = j->past_k, *past_v = j->past_v;
  float *present_k = j->present_k, *present_v = j->present_v;
  const int64_t heads = a->heads / a->group, b = at / heads, h = at % heads, old = a->lengths[b] - a->q_len;
  const int64_t here = at * j->rows * a->size, rest = (j->rows - j->s.past) * a->size;
  const size_t past_bytes = (size_t)(j->s.past * a->size) * sizeof(float);
  if (past_k != present_k) {
    if (past_bytes) memcpy(present_k + here, past_k + at * j->s.past * a->size, past_bytes);
    memset(present_k + here + j->s.past * a->size, 0, (size_t)rest * sizeof(float));
  }
  if (past_v != present_v) {
    if (past_bytes) memcpy(present_v + here, past_v + at * j->s.past * a->size, past_bytes);
    memset(present_v + here + j->s.past * a->size, 0, (size_t)rest * sizeof(float));
  }
  for (int64_t i = 0; i < a->q_len; ++i) {
    const int64_t from = b * j->k_step.batch + h * j->k_step.head + i * j->k_step.row, to = here + (old + i) * a->size;
    move_row(j, j->k + from, b * a->q_len + i, old + i, present_k + to);
    memcpy(present_v + to, j->v + from, (size_t)a->size * sizeof(float));
  }
}

/* Heads [begin, end) of a batch's queries, at their angles. */
static void turn_heads(const job *j, int64_t b, int64_t begin, int64_t end) {
  const hn_attention_f32 *a = &j->s.args;
  for (int64_t i = 0; i < a->q_len; ++i)
    for (int64_t h = begin, row = b * a->q_len + i; h < end; ++h)
      move_row(j, j->q + b * j->q_step.batch + h * j->q_step.head + i * j->q_step.row, row,
               a->lengths[b] - a->q_len + i, j->turned + (row * a->heads + h) * a->size);
}

/* What attention over batch x key head `at` waits for: its new rows in the cache, its queries at their angles. */
static void prepare(const job *j, int64_t at) {
  const hn_attention_f32 *a = &j->s.args;
  const int64_t key_heads = a->heads / a->group, head = at % key_heads * a->group;
  append(j, at);
  if (j->s.half) turn_heads(j, at / key_heads, head, head + a->group);
}

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  const job *j = arg;
  for (int64_t at = begin; at < end && j->prepares; ++at) prepare(j, at);
  j->s.row->attend(&j->s.args, begin, end, j->scratch + worker * j->s.worker_floats);
}

/* How many keys each batch has when the new ones are there. */
static hone_status read_lengths(const state *s, const hone_launch *l, int64_t *lengths, int64_t *out_most) {
  const int32_t *last = l->in[SEQLENS].data;
  const hn_attention_f32 *a = &s->args;
  *out_most = 0;
  for (int64_t b = 0; b < a->batch; ++b) {
    const int64_t old = (int64_t)last[b] + 1 > a->q_len ? (int64_t)last[b] + 1 - a->q_len : 0;
    if (last[b] < 0 || old > s->past || old + a->q_len > a->kv_len)
      return HN_FAIL(l->diagnostics, HONE_MALFORMED,
                     "seqlens_k[%lld] is %d: with %lld new tokens behind a cache of %lld, allowed are 0 to %lld",
                     (long long)b, (int)last[b], (long long)a->q_len, (long long)s->past,
                     (long long)hn_cpu_lesser(s->past + a->q_len, a->kv_len) - 1);
    lengths[b] = old + a->q_len;
    if (lengths[b] > *out_most) *out_most = lengths[b];
    for (int64_t i = 0; i < a->q_len && s->half; ++i) {
      const int64_t place = s->positions ? ((const int64_t *)l->in[POSITIONS].data)[b * a->q_len + i] : old + i;
      if (place < 0 || place >= s->angle_rows)
        return HN_FAIL(l->diagnostics, HONE_MALFORMED, "position %lld is outside the caches of %lld rows",
                       (long long)place, (long long)s->angle_rows);
    }
  }
  return HONE_OK;
}

static hone_status launch(void *planned, hone_stream *stream, const hone_launch *l) {
  const state *s = planned;
  job j = {.s = *s, .q = l->in[Q].data, .turned = (float *)l->scratch + s->length_floats};
  hn_attention_f32 *a = &j.s.args;
  int64_t *lengths = l->scratch, most;
  j.scratch = j.turned + s->query_floats;
  HN_TRY(read_lengths(s, l, lengths, &most));
  a->lengths = lengths;
  j.k = s->packed ? j.q + a->heads * a->size : l->in[K].data;
  j.v = s->packed ? j.k + a->heads / a->group * a->size : l->in[V].data;
  if (s->half) j.cos = l->in[COS].data, j.sin = l->in[SIN].data;
  if (s->positions) j.positions = l->in[POSITIONS].data;
  j.past_k = s->past ? l->in[PAST_KEY].data : NULL, j.past_v = s->past ? l->in[PAST_VALUE].data : NULL;
  j.present_k = l->out[PRESENT_KEY].data, j.present_v = l->out[PRESENT_VALUE].data;
  j.q_step = a->q_step, j.k_step = a->k_step, j.rows = a->kv_len;
  a->q = s->half ? j.turned : j.q;
  if (s->half) a->q_step = a->y_step;
  const hn_attention_steps cache = {a->heads / a->group * a->kv_len * a->size, a->kv_len * a->size, a->size};
  a->k = j.present_k, a->v = j.present_v;
  a->k_step = a->v_step = cache;
  a->y = l->out[Y].data;
  a->kv_len = most; /* what lies behind is nobody's */
  j.prepares = a->head_chunk == a->group;
  for (int64_t at = 0; at < a->batch * (a->heads / a->group) && !j.prepares; ++at) prepare(&j, at);
  hn_pool_run(hn_stream_pool(stream), s->units, s->grain, body, &j);
  return HONE_OK;
}

#define STATES .states = {{PAST_KEY, PRESENT_KEY}, {PAST_VALUE, PRESENT_VALUE}}, .state_count = 2
const hone_tactic hn_tactics_cpu_group_query_attention[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.group_query_attention.f32.avx512", .version = 1, .op = "group_query_attention",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch, STATES,
     .kernel = &(const row_kernel){hn_attention_f32_avx512, hn_rotary_f32_avx512}},
    {sizeof(hone_tactic), .name = "cpu.group_query_attention.f32.avx2", .version = 1, .op = "group_query_attention",
     .isa = HONE_ISA_AVX2, .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch, STATES,
     .kernel = &(const row_kernel){hn_attention_f32_avx2, hn_rotary_f32_avx2}},
#endif
    {sizeof(hone_tactic), .name = "cpu.group_query_attention.f32.c", .version = 1, .op = "group_query_attention",
     .isa = HONE_ISA_C, .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch, STATES,
     .kernel = &(const row_kernel){hn_attention_f32_c, hn_rotary_f32_c}},
    {0}};
