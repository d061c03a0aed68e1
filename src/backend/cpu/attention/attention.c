/* SPDX-License-Identifier: Apache-2.0 */
/* attention.c - attention and qkv_attention, plain, in f32 or on tiles of bf16: a unit is a chunk of one head's query
 * rows, or all rows of a key head where there are few of them. */
#include "kernels/cpu/attention/attention.h"
#include "backend/cpu/attention/rows.h"
#include "backend/cpu/gemm/product_half.h"
#include <math.h>

enum { Q, K, V, MASK, PAST_KEY, PAST_VALUE, LENGTHS, ATTENTION_INPUTS, QKV_MASK = 1 };
enum { Y, PRESENT_KEY, PRESENT_VALUE, SCORES, ATTENTION_OUTPUTS };
static const double flops_per_ns = 80, bytes_per_ns = 15;

typedef struct state {
  hn_attention_f32 args; /* no pointers */
  hn_attention_f32_fn *kernel;
  int64_t units, grain, worker_floats, workers;
  int mask_port;      /* -1: none */
  int64_t k_at, v_at; /* qkv_attention: floats from a row's queries to its keys and values */
} state;

typedef struct row_kernel {
  const char *(*read)(const hone_query *query, state *s);
  hn_attention_f32_fn *run;
} row_kernel;

/* Sets the mask's steps; what broadcasts has step 0. Keys behind its last column are not seen. */
static const char *read_mask(const hone_query *query, int port, state *s) {
  s->mask_port = -1;
  if (!hn_cpu_given(query, port)) return NULL;
  hn_attention_f32 *a = &s->args;
  const hone_shape *shape = &query->in[port].type.shape;
  a->mask_is_bool = hn_cpu_is(&query->in[port], HONE_BOOL, HONE_PLAIN);
  if (!a->mask_is_bool && !hn_cpu_is(&query->in[port], HONE_F32, HONE_PLAIN))
    return "the mask is not plain f32 or bool";
  const int64_t want[4] = {a->batch, a->heads, a->q_len, a->kv_len};
  int64_t step[4] = {0}, inner = 1;
  if (shape->rank < 1 || shape->rank > 4) return "the mask's rank is not 1 to 4";
  for (int i = shape->rank - 1, to = 3; i >= 0; --i, --to) {
    const bool fits =
        to == 3 ? shape->dim[i] >= 1 && shape->dim[i] <= want[to] : shape->dim[i] == want[to] || shape->dim[i] == 1;
    if (!fits) return "the mask has another shape";
    step[to] = shape->dim[i] == 1 ? 0 : inner;
    inner *= shape->dim[i];
  }
  a->mask_step = (hn_attention_steps){step[0], step[1], step[2]};
  a->mask_columns = shape->dim[shape->rank - 1];
  s->mask_port = port;
  return NULL;
}

static hn_attention_steps steps_of(const hone_shape *shape, int64_t heads, int64_t size) {
  if (shape->rank == 4) return (hn_attention_steps){shape->dim[1] * shape->dim[2] * size, shape->dim[2] * size, size};
  return (hn_attention_steps){shape->dim[1] * heads * size, size, heads * size};
}

static bool wants(const hone_query *query, int output) {
  return output < query->out_count && query->out[output].type.kind != HONE_ABSENT;
}

static bool is_cache(const hone_fact *fact, int64_t batch, int64_t heads, int64_t length, int64_t size) {
  const hone_shape *s = &fact->type.shape;
  return hn_cpu_is(fact, HONE_F32, HONE_PLAIN) && s->rank == 4 && s->dim[0] == batch && s->dim[1] == heads &&
         s->dim[2] == length && s->dim[3] == size;
}

/* Old keys and values, where all of them go, and how many of them each batch sees. */
static const char *read_cache(const hone_query *query, hn_attention_f32 *a) {
  const int64_t kv_heads = a->heads / a->group;
  if (hn_cpu_given(query, PAST_KEY) != hn_cpu_given(query, PAST_VALUE)) return "half of its cache is absent";
  if (wants(query, SCORES)) return "its scores are requested";
  if (hn_cpu_given(query, PAST_KEY)) {
    const hone_shape *past = &query->in[PAST_KEY].type.shape;
    a->past_len = a->past_place = a->past_rows = past->rank == 4 ? past->dim[2] : 0;
    if (!is_cache(&query->in[PAST_KEY], a->batch, kv_heads, a->past_len, a->size) ||
        !is_cache(&query->in[PAST_VALUE], a->batch, kv_heads, a->past_len, a->v_size))
      return "the cache does not fit the new keys and values";
  }
  if (a->past_len > INT32_MAX) return "the cache is too long";
  a->kv_len += a->past_len;
  if ((wants(query, PRESENT_KEY) && !is_cache(&query->out[PRESENT_KEY], a->batch, kv_heads, a->kv_len, a->size)) ||
      (wants(query, PRESENT_VALUE) && !is_cache(&query->out[PRESENT_VALUE], a->batch, kv_heads, a->kv_len, a->v_size)))
    return "the cache that it writes has another shape";
  if (!hn_cpu_given(query, LENGTHS)) return NULL;
  a->ends_at_length = !hn_cpu_given(query, PAST_KEY);
  return hn_cpu_is(&query->in[LENGTHS], HONE_I64, HONE_PLAIN) && hn_elems(&query->in[LENGTHS].type.shape) == a->batch
             ? NULL
             : "the lengths are not one i64 for each batch";
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

static void read_limits(const hone_query *query, hn_attention_f32 *a) {
  const int64_t most = INT32_MAX, left = hn_attr_int(query->attrs, "left_window_size"),
                right = hn_attr_int(query->attrs, "right_window_size");
  a->left_seen = left < 0 ? 0 : hn_cpu_lesser(left, most) + 1;
  a->right_seen = right < 0 ? 0 : hn_cpu_lesser(right, most) + 1;
  a->softcap = (float)hn_attr_float(query->attrs, "softcap");
}

static const char *read_attention(const hone_query *query, state *s) {
  HN_TRY_REASON(hn_cpu_check(query, 3, ATTENTION_INPUTS, ATTENTION_OUTPUTS));
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
  read_scale(query, &s->args);
  read_limits(query, &s->args);
  HN_TRY_REASON(read_cache(query, &s->args));
  HN_TRY_REASON(check_extents(&s->args));
  return read_mask(query, MASK, s);
}

static const char *read_qkv_attention(const hone_query *query, state *s) {
  HN_TRY_REASON(hn_cpu_check(query, 1, 2, 1));
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
  HN_TRY_REASON(check_extents(&s->args));
  return read_mask(query, QKV_MASK, s);
}

/* Units of few rows: a key head's query heads stay together unless threads would have nothing to do. */
static void cut_few(const hone_query *query, state *s) {
  hn_attention_f32 *a = &s->args;
  const int64_t key_heads = a->batch * (a->heads / a->group), threads = hn_cpu_threads(query->facts);
  const int64_t parts = hn_cpu_lesser(a->group, hn_ceil_div(threads, key_heads));
  a->head_chunk = hn_ceil_div(a->group, parts);
  const double bytes = 4.0 * (double)key_heads * (double)a->kv_len * (double)(a->size + a->v_size);
  s->units = hn_attention_f32_units(a);
  s->grain = hn_cpu_grain(s->units, bytes * (double)hn_ceil_div(a->group * a->q_len, 4) / bytes_per_ns);
}

/* Whole heads where there are enough of them for all threads, else chunks of their rows. */
static void cut(const hone_query *query, state *s) {
  hn_attention_f32 *a = &s->args;
  const int64_t heads = a->batch * a->heads, threads = hn_cpu_threads(query->facts);
  s->workers = threads;
  if (a->q_len <= HN_ATTENTION_FEW_ROWS) {
    cut_few(query, s);
    return;
  }
  a->row_chunk = hn_attention_row_chunk(heads, a->q_len, threads);
  const double flops = 2.0 * (double)heads * (double)a->q_len * (double)a->kv_len * (double)(a->size + a->v_size + 10);
  s->units = hn_attention_f32_units(a);
  s->grain = hn_cpu_grain(s->units, flops / flops_per_ns);
}

/* Reads a query in which the first `inputs` inputs and the first output may be held in bf16. */
static const char *read_bf16(const hone_query *query, int inputs, state *s) {
  const row_kernel *kernel = query->tactic->kernel;
  hone_fact in[ATTENTION_INPUTS], out[ATTENTION_OUTPUTS];
  HN_TRY_REASON(hn_cpu_check(query, inputs, ATTENTION_INPUTS, ATTENTION_OUTPUTS));
  for (int i = 0; i < query->in_count; ++i)
    if (query->in[i].type.kind == HONE_TENSOR && i > 0 && i < inputs &&
        query->in[i].type.dtype != query->in[0].type.dtype)
      return "queries, keys and values are of different types";
    else if (i >= inputs && query->in[i].type.kind == HONE_TENSOR && query->in[i].type.dtype == HONE_BF16)
      return "its mask or cache is held in bf16";
  for (int i = 1; i < query->out_count; ++i)
    if (query->out[i].type.kind == HONE_TENSOR && query->out[i].type.dtype == HONE_BF16)
      return "the cache that it writes is held in bf16";
  const bool x_is_bf16 = query->in[0].type.dtype == HONE_BF16, y_is_bf16 = query->out[0].type.dtype == HONE_BF16;
  if (x_is_bf16 && query->out_count > 1 && (wants(query, PRESENT_KEY) || wants(query, PRESENT_VALUE)))
    return "it writes a cache of what is held in bf16";
  const hone_query q = hn_cpu_as_f32(query, HONE_BF16, in, out);
  HN_TRY_REASON(kernel->read(&q, s));
  if (s->args.q_len <= HN_ATTENTION_FEW_ROWS) return "for so few rows, packing keys costs more than it saves";
  s->args.x_is_bf16 = x_is_bf16;
  s->args.y_is_bf16 = y_is_bf16;
  return NULL;
}

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  const row_kernel *kernel = query->tactic->kernel;
  const bool is_bf16 = query->tactic->compute == HONE_BF16;
  state asked = {0}, *s = memory ? memory : &asked;
  HN_TRY_REASON(is_bf16 ? read_bf16(query, kernel->read == read_attention ? 3 : 1, s) : kernel->read(query, s));
  cut(query, s);
  s->kernel = kernel->run;
  if (is_bf16) {
    s->worker_floats = hn_cpu_whole_lines(hn_attention_bf16_scratch_floats(&s->args));
    needs->efficiency = 0.1; /* softmax is most of it */
    needs->state = sizeof *s;
    needs->scratch = (size_t)(s->workers * s->worker_floats) * sizeof(float);
    return NULL;
  }
  s->worker_floats = hn_cpu_whole_lines(hn_attention_f32_scratch_floats(&s->args));
  needs->state = sizeof *s;
  needs->scratch = (size_t)(s->workers * s->worker_floats) * sizeof(float);
  return NULL;
}

typedef struct job {
  state s; /* with pointers */
  float *scratch;
} job;

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  const job *j = arg;
  j->s.kernel(&j->s.args, begin, end, j->scratch + worker * j->s.worker_floats);
}

static void present_body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  hn_attention_present_c(&((const job *)arg)->s.args, begin, end);
}

static void *pointer(const hone_tensor *tensors, int count, int at) { return at < count ? tensors[at].data : NULL; }

/* Old keys and values lie in a cache of a session's, `past_rows` rows of which `length` are there; the new ones go
 * behind these. The mask has a column for each of its rows, then the new ones'. */
static hone_status continue_cache(hn_attention_f32 *a, const hone_launch *l) {
  const int64_t fresh = a->kv_len - a->past_len, length = l->state_length ? *l->state_length : 0;
  if (a->present_k != a->past_k || a->present_v != a->past_v)
    return HN_FAIL(l->diagnostics, HONE_INVALID, "keys and values are states of a session together, or not at all");
  if (length > a->past_rows - fresh)
    return HN_FAIL(l->diagnostics, HONE_INVALID,
                   "%lld new tokens behind %lld: the cache has room for %lld (hone_session_set_state_length)",
                   (long long)fresh, (long long)length, (long long)a->past_rows);
  if (a->mask && a->mask_columns != a->kv_len)
    return HN_FAIL(
        l->diagnostics, HONE_INVALID,
        "the mask has %lld columns; with a cache that is kept in place it has %lld, its rows and the new ones",
        (long long)a->mask_columns, (long long)a->kv_len);
  a->mask_columns = 0;
  a->mask_gap = a->past_rows - length;
  a->past_len = a->past_place = length;
  a->kv_len = length + fresh;
  return HONE_OK;
}

static hone_status launch_attention(void *planned, hone_stream *stream, const hone_launch *l) {
  job j = {.s = *(const state *)planned, .scratch = l->scratch};
  hn_attention_f32 *a = &j.s.args;
  a->q = l->in[Q].data;
  a->k = l->in[K].data;
  a->v = l->in[V].data;
  a->mask = pointer(l->in, l->in_count, MASK);
  a->past_k = pointer(l->in, l->in_count, PAST_KEY);
  a->past_v = pointer(l->in, l->in_count, PAST_VALUE);
  a->lengths = pointer(l->in, l->in_count, LENGTHS);
  a->y = l->out[Y].data;
  a->present_k = pointer(l->out, l->out_count, PRESENT_KEY);
  a->present_v = pointer(l->out, l->out_count, PRESENT_VALUE);
  if (a->past_k && (a->present_k == a->past_k || a->present_v == a->past_v)) HN_TRY(continue_cache(a, l));
  hn_pool_run(hn_stream_pool(stream), j.s.units, j.s.grain, body, &j);
  if (a->head_chunk == 0 && (a->present_k || a->present_v)) {
    const int64_t heads = a->batch * (a->heads / a->group);
    const double bytes = 8.0 * (double)(heads * a->kv_len) * (double)(a->size + a->v_size);
    hn_pool_run(hn_stream_pool(stream), heads, hn_cpu_grain(heads, bytes * HN_CPU_NS_PER_BYTE), present_body, &j);
  }
  return HONE_OK;
}

static hone_status launch_qkv_attention(void *planned, hone_stream *stream, const hone_launch *l) {
  job j = {.s = *(const state *)planned, .scratch = l->scratch};
  hn_attention_f32 *a = &j.s.args;
  const int64_t element = a->x_is_bf16 ? (int64_t)sizeof(uint16_t) : (int64_t)sizeof(float);
  const char *x = l->in[Q].data;
  a->q = l->in[Q].data;
  a->k = (const void *)(x + j.s.k_at * element);
  a->v = (const void *)(x + j.s.v_at * element);
  a->mask = j.s.mask_port < 0 ? NULL : l->in[j.s.mask_port].data;
  a->y = l->out[Y].data;
  hn_pool_run(hn_stream_pool(stream), j.s.units, j.s.grain, body, &j);
  return HONE_OK;
}

#define STATES .states = {{PAST_KEY, PRESENT_KEY}, {PAST_VALUE, PRESENT_VALUE}}, .state_count = 2
const hone_tactic hn_tactics_cpu_attention[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.attention.f32.avx512", .version = 1, .op = "attention", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_APPENDS, .plan = plan, .launch = launch_attention, STATES,
     .kernel = &(const row_kernel){read_attention, hn_attention_f32_avx512}},
    {sizeof(hone_tactic), .name = "cpu.qkv_attention.f32.avx512", .version = 1, .op = "qkv_attention",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch_qkv_attention,
     .kernel = &(const row_kernel){read_qkv_attention, hn_attention_f32_avx512}},
    {sizeof(hone_tactic), .name = "cpu.attention.f32.avx2", .version = 1, .op = "attention", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_APPENDS, .plan = plan, .launch = launch_attention, STATES,
     .kernel = &(const row_kernel){read_attention, hn_attention_f32_avx2}},
    {sizeof(hone_tactic), .name = "cpu.qkv_attention.f32.avx2", .version = 1, .op = "qkv_attention",
     .isa = HONE_ISA_AVX2, .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch_qkv_attention,
     .kernel = &(const row_kernel){read_qkv_attention, hn_attention_f32_avx2}},
    {sizeof(hone_tactic), .name = "cpu.attention.bf16.amx_bf16", .version = 2, .op = "attention",
     .isa = HONE_ISA_AMX_BF16, .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_APPENDS, .compute = HONE_BF16,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}}, .plan = plan,
     .launch = launch_attention, STATES, .kernel = &(const row_kernel){read_attention, hn_attention_bf16_amx_bf16}},
    {sizeof(hone_tactic), .name = "cpu.qkv_attention.bf16.amx_bf16", .version = 2, .op = "qkv_attention",
     .isa = HONE_ISA_AMX_BF16, .flags = HONE_TACTIC_REPEATABLE, .compute = HONE_BF16,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_PLAIN, HONE_BF16_PLAIN}},
     .plan = plan, .launch = launch_qkv_attention,
     .kernel = &(const row_kernel){read_qkv_attention, hn_attention_bf16_amx_bf16}},
#endif
    {sizeof(hone_tactic), .name = "cpu.attention.f32.c", .version = 1, .op = "attention", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_APPENDS, .plan = plan, .launch = launch_attention, STATES,
     .kernel = &(const row_kernel){read_attention, hn_attention_f32_c}},
    {sizeof(hone_tactic), .name = "cpu.qkv_attention.f32.c", .version = 1, .op = "qkv_attention", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch_qkv_attention,
     .kernel = &(const row_kernel){read_qkv_attention, hn_attention_f32_c}},
    {sizeof(hone_tactic), .name = "cpu.attention.bf16.c", .version = 2, .op = "attention", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_APPENDS, .compute = HONE_BF16,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}}, .plan = plan,
     .launch = launch_attention, STATES, .kernel = &(const row_kernel){read_attention, hn_attention_bf16_c}},
    {sizeof(hone_tactic), .name = "cpu.qkv_attention.bf16.c", .version = 2, .op = "qkv_attention", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .compute = HONE_BF16,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_PLAIN, HONE_BF16_PLAIN}},
     .plan = plan, .launch = launch_qkv_attention,
     .kernel = &(const row_kernel){read_qkv_attention, hn_attention_bf16_c}},
    {0}};
