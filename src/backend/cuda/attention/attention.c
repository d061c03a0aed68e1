/* SPDX-License-Identifier: Apache-2.0 */
/* attention.c - attention and qkv_attention: how they are read, and in plain f32 by the kernel of
 * kernels/cuda/attention. */
#include "backend/cuda/attention/attention.h"
#include <math.h>
#include <string.h>

enum { Q, K, V, MASK, ATTENTION_INPUTS = 7, QKV_MASK = 1, WARPS = 4, THREADS = 128 };

typedef hn_cuda_attention_call call;

typedef struct state {
  call call; /* args.vectors: whether strides allow it; pointers are asked at each launch */
  hn_cuda_builtin kernel;
  int rows; /* of a warp */
} state;

/* Kernels by the width of a head, 32 * parts at most, and by rows a warp. */
static const struct {
  int parts, rows;
  hn_cuda_builtin kernel;
} kernels[] = {{1, 4, HN_CUDA_attention_1_4}, {1, 2, HN_CUDA_attention_1_2}, {1, 8, HN_CUDA_attention_1_8},
               {2, 4, HN_CUDA_attention_2_4}, {2, 2, HN_CUDA_attention_2_2}, {2, 8, HN_CUDA_attention_2_8},
               {4, 4, HN_CUDA_attention_4_4}, {4, 2, HN_CUDA_attention_4_2}};

/* What activations are held in. */
static hone_dtype held_by(const hone_query *query) {
  return query->tactic->compute == HONE_NONE ? HONE_F32 : query->tactic->compute;
}

static const char *read_mask(const hone_query *query, int port, int64_t batch, call *s) {
  const hn_cuda_attention *a = &s->args;
  s->mask_port = -1;
  if (!hn_cuda_given(query, port)) return NULL;
  if (!hn_cuda_plain_of(&query->in[port], held_by(query))) return "the mask is not plain, or of another type";
  const hone_shape *shape = &query->in[port].type.shape;
  const int64_t want[4] = {batch, a->heads, a->q_len, a->kv_len};
  int64_t step[4] = {0}, inner = 1;
  if (shape->rank < 1 || shape->rank > 4) return "the mask's rank is not 1 to 4";
  for (int i = shape->rank - 1, to = 3; i >= 0; --i, --to) {
    if (shape->dim[i] != want[to] && (shape->dim[i] != 1 || to == 3)) return "the mask has another shape";
    step[to] = shape->dim[i] == 1 ? 0 : inner;
    inner *= shape->dim[i];
  }
  s->args.mask_batch = step[0], s->args.mask_head = step[1], s->args.mask_row = step[2];
  s->mask_port = port;
  return NULL;
}

/* Steps of a tensor's batches, heads and rows. */
static void steps_of(const hone_shape *shape, int64_t heads, int64_t size, long long *batch, long long *head,
                     long long *row) {
  const bool packed = shape->rank == 3;
  *batch = packed ? shape->dim[1] * heads * size : shape->dim[1] * shape->dim[2] * size;
  *head = packed ? size : shape->dim[2] * size;
  *row = packed ? heads * size : size;
}

static const char *fit(const hone_query *query, int64_t batch, int64_t heads, int64_t kv_heads, int64_t q_len,
                       int64_t kv_len, int64_t size, int64_t v_size, call *s) {
  const int64_t most = INT32_MAX / 4;
  hn_cuda_attention *a = &s->args;
  if (heads < 1 || kv_heads < 1 || heads % kv_heads) return "the heads do not fit together";
  if (batch < 1 || q_len < 1 || kv_len < 1 || size < 1 || v_size < 1) return "an extent is 0";
  if (size > 128 || v_size > 128) return "a head has more than 128 columns";
  if (batch > 65535 || heads > 65535 || q_len > most || kv_len > most) return "an extent is too large";
  const hone_attr *scale = hn_cuda_attr(query->attrs, "scale");
  a->heads = (int)heads, a->group = (int)(heads / kv_heads);
  a->q_len = (int)q_len, a->kv_len = (int)kv_len, a->size = (int)size, a->v_size = (int)v_size;
  a->scale = (float)(scale && scale->kind == HONE_ATTR_FLOAT ? scale->f : 1 / sqrt((double)size));
  a->is_causal = hn_cuda_attr_int(query->attrs, "is_causal", 0) != 0;
  s->grid = (hn_cuda_grid){1, (unsigned)heads, (unsigned)batch};
  return NULL;
}

long long hn_cuda_attention_steps(const call *s) {
  const hn_cuda_attention *a = &s->args;
  return a->q_batch | a->q_head | a->q_row | a->k_batch | a->k_head | a->k_row | a->v_batch | a->v_head | a->v_row |
         a->size | a->v_size | (s->k_at < 0 ? 0 : s->k_at | s->v_at);
}

static const char *check_rest(const hone_query *query) {
  for (int i = MASK + 1; i < ATTENTION_INPUTS; ++i)
    if (hn_cuda_given(query, i)) return "it has a cache of keys or lengths";
  for (int i = 1; i < query->out_count; ++i)
    if (query->out[i].type.kind != HONE_ABSENT) return "more than its first output is requested";
  if (hn_cuda_attr_float(query->attrs, "softcap", 0) != 0) return "it has a soft cap";
  if (hn_cuda_attr_int(query->attrs, "left_window_size", -1) >= 0 ||
      hn_cuda_attr_int(query->attrs, "right_window_size", -1) >= 0)
    return "it has a window";
  return NULL;
}

const char *hn_cuda_attention_read(const hone_query *query, call *s) {
  const hone_dtype held = held_by(query);
  *s = (call){.mask_port = -1, .k_at = -1, .v_at = -1};
  HN_TRY_REASON(query->in_count < 3 || query->out_count < 1 ? "an input is missing" : check_rest(query));
  for (int i = Q; i <= V; ++i)
    if (!hn_cuda_plain_of(&query->in[i], held)) return "an input is not plain, or of another type";
  if (!hn_cuda_plain_of(&query->out[0], held)) return "the output is not plain, or of another type";
  const hone_shape *q = &query->in[Q].type.shape, *k = &query->in[K].type.shape, *v = &query->in[V].type.shape;
  const hone_shape *y = &query->out[0].type.shape;
  if (q->rank < 3 || q->rank > 4 || k->rank != q->rank || v->rank != q->rank || y->rank != q->rank)
    return "the ranks do not fit together";
  const bool packed = q->rank == 3;
  const int length = packed ? 1 : 2;
  const int64_t heads = packed ? hn_cuda_attr_int(query->attrs, "q_num_heads", 0) : q->dim[1];
  const int64_t kv_heads = packed ? hn_cuda_attr_int(query->attrs, "kv_num_heads", 0) : k->dim[1];
  if (heads < 1 || kv_heads < 1) return "the heads do not fit together";
  const int64_t size = packed ? q->dim[2] / heads : q->dim[3], v_size = packed ? v->dim[2] / kv_heads : v->dim[3];
  if (packed ? size * heads != q->dim[2] || size * kv_heads != k->dim[2] || v_size * kv_heads != v->dim[2]
             : v->dim[1] != kv_heads || k->dim[3] != size)
    return "the extents do not fit together";
  if (k->dim[length] != v->dim[length] || k->dim[0] != q->dim[0] || v->dim[0] != q->dim[0] || y->dim[0] != q->dim[0] ||
      y->dim[length] != q->dim[length] || hn_cuda_elements(y) != q->dim[0] * heads * q->dim[length] * v_size)
    return "the extents do not fit together";
  HN_TRY_REASON(fit(query, q->dim[0], heads, kv_heads, q->dim[length], k->dim[length], size, v_size, s));
  hn_cuda_attention *a = &s->args;
  steps_of(q, heads, size, &a->q_batch, &a->q_head, &a->q_row);
  steps_of(k, kv_heads, size, &a->k_batch, &a->k_head, &a->k_row);
  steps_of(v, kv_heads, v_size, &a->v_batch, &a->v_head, &a->v_row);
  steps_of(y, heads, v_size, &a->y_batch, &a->y_head, &a->y_row);
  return read_mask(query, MASK, q->dim[0], s);
}

const char *hn_cuda_attention_read_qkv(const hone_query *query, call *s) {
  const hone_dtype held = held_by(query);
  *s = (call){.mask_port = -1};
  if (query->in_count < 1 || query->out_count < 1) return "an input is missing";
  if (!hn_cuda_plain_of(&query->in[0], held) || !hn_cuda_plain_of(&query->out[0], held))
    return "it is not plain, or of another type";
  const hone_shape *x = &query->in[0].type.shape, *y = &query->out[0].type.shape;
  const int64_t heads = hn_cuda_attr_int(query->attrs, "q_num_heads", 0);
  const int64_t kv_heads = hn_cuda_attr_int(query->attrs, "kv_num_heads", 0);
  if (x->rank != 3 || y->rank != 3) return "the ranks do not fit together";
  if (heads < 1 || kv_heads < 1) return "the heads do not fit together";
  const int64_t width = x->dim[2], size = width / (heads + 2 * kv_heads);
  if (size * (heads + 2 * kv_heads) != width || y->dim[0] != x->dim[0] || y->dim[1] != x->dim[1] ||
      y->dim[2] != heads * size)
    return "the extents do not fit together";
  HN_TRY_REASON(fit(query, x->dim[0], heads, kv_heads, x->dim[1], x->dim[1], size, size, s));
  hn_cuda_attention *a = &s->args;
  a->q_batch = a->k_batch = a->v_batch = x->dim[1] * width;
  a->q_head = a->k_head = a->v_head = size;
  a->q_row = a->k_row = a->v_row = width;
  steps_of(y, heads, size, &a->y_batch, &a->y_head, &a->y_row);
  s->k_at = heads * size;
  s->v_at = (heads + kv_heads) * size;
  return read_mask(query, QKV_MASK, x->dim[0], s);
}

/* ---- rows ---- */

static int parts_of(const call *s) {
  const int width = s->args.size > s->args.v_size ? s->args.size : s->args.v_size;
  return width <= 32 ? 1 : width <= 64 ? 2 : 4;
}

static int variants(const hone_query *query, hone_params *out, int room) {
  call s;
  int count = 0;
  if (((const hn_cuda_attention_row *)query->tactic->kernel)->read(query, &s)) return 0;
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels && count < room; ++i) {
    if (kernels[i].parts != parts_of(&s)) continue;
    out[count] = (hone_params){.count = 1};
    strcpy(out[count].items[0].name, "rows");
    out[count++].items[0].value = kernels[i].rows;
  }
  return count;
}

static const char *plan(const hone_query *query, void *state_memory, hone_needs *needs) {
  state asked, *s = state_memory ? state_memory : &asked;
  HN_TRY_REASON(((const hn_cuda_attention_row *)query->tactic->kernel)->read(query, &s->call));
  needs->state = sizeof *s;
  s->call.args.vectors = hn_cuda_attention_steps(&s->call) % 4 == 0; /* float4 reads */
  const int64_t rows = hn_cuda_first_param(query);
  for (size_t i = sizeof kernels / sizeof *kernels; i-- > 0;) /* the first one when none was named */
    if (kernels[i].parts == parts_of(&s->call) && (kernels[i].rows == rows || s->rows == 0 || rows == 0)) {
      s->rows = kernels[i].rows;
      s->kernel = kernels[i].kernel;
      if (s->rows == rows) break;
    }
  s->call.grid.x = (unsigned)((s->call.args.q_len + s->rows * WARPS - 1) / (s->rows * WARPS));
  return NULL;
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const call *s = &((const state *)state_memory)->call;
  hn_cuda_attention a = s->args;
  const float *q = launch->in[0].data;
  const float *k = s->k_at < 0 ? launch->in[K].data : q + s->k_at;
  const float *v = s->v_at < 0 ? launch->in[V].data : q + s->v_at;
  const float *mask = s->mask_port < 0 ? NULL : launch->in[s->mask_port].data;
  if (((uintptr_t)q | (uintptr_t)k | (uintptr_t)v) % 16) a.vectors = 0;
  void *arguments[] = {&launch->out[0].data, (void *)&q, (void *)&k, (void *)&v, (void *)&mask, &a};
  return hn_cuda_launch(stream, ((const state *)state_memory)->kernel, s->grid, THREADS, arguments);
}

const hone_tactic hn_tactics_cuda_attention[] = {
    {sizeof(hone_tactic), .name = "cuda.attention.f32", .version = 1, .op = "attention",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .variants = variants, .plan = plan, .launch = launch,
     .kernel = &(const hn_cuda_attention_row){hn_cuda_attention_read}},
    {sizeof(hone_tactic), .name = "cuda.qkv_attention.f32", .version = 1, .op = "qkv_attention",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .variants = variants, .plan = plan, .launch = launch,
     .kernel = &(const hn_cuda_attention_row){hn_cuda_attention_read_qkv}},
    {0}};
