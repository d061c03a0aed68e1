/* SPDX-License-Identifier: Apache-2.0 */
/* attention_half.c - attention and qkv_attention in f16 and bf16 on tensor cores (kernels/cuda/attention). */
#include "backend/cuda/attention/attention.h"

enum { THREADS = 128, PITCH_MORE = 8, HALF_BYTES = 2 };

/* Kernels by the width of a head at most, the query rows of a block, and the keys of a tile, of which two are in shared
 * memory. */
typedef struct tile {
  int width, rows, keys;
  hn_cuda_builtin f16, bf16;
} tile;
static const tile tiles[] = {
    {32, 16, 128, HN_CUDA_attention_f16_32_16_128, HN_CUDA_attention_bf16_32_16_128},
    {32, 32, 64, HN_CUDA_attention_f16_32_32_64, HN_CUDA_attention_bf16_32_32_64},
    {32, 64, 64, HN_CUDA_attention_f16_32_64_64, HN_CUDA_attention_bf16_32_64_64},
    {32, 128, 64, HN_CUDA_attention_f16_32_128_64, HN_CUDA_attention_bf16_32_128_64},
    {64, 16, 128, HN_CUDA_attention_f16_64_16_128, HN_CUDA_attention_bf16_64_16_128},
    {64, 16, 256, HN_CUDA_attention_f16_64_16_256, HN_CUDA_attention_bf16_64_16_256},
    {64, 32, 64, HN_CUDA_attention_f16_64_32_64, HN_CUDA_attention_bf16_64_32_64},
    {64, 64, 32, HN_CUDA_attention_f16_64_64_32, HN_CUDA_attention_bf16_64_64_32},
    {64, 64, 64, HN_CUDA_attention_f16_64_64_64, HN_CUDA_attention_bf16_64_64_64},
    {64, 128, 64, HN_CUDA_attention_f16_64_128_64, HN_CUDA_attention_bf16_64_128_64},
    {128, 16, 64, HN_CUDA_attention_f16_128_16_64, HN_CUDA_attention_bf16_128_16_64},
    {128, 64, 64, HN_CUDA_attention_f16_128_64_64, HN_CUDA_attention_bf16_128_64_64},
    {128, 128, 32, HN_CUDA_attention_f16_128_128_32, HN_CUDA_attention_bf16_128_128_32},
};
enum { TILES = sizeof tiles / sizeof *tiles, FEW_BLOCKS = 264 /* two for each multiprocessor */ };

typedef struct state {
  hn_cuda_attention_call call;
  hn_cuda_builtin kernel;
  unsigned shared_bytes;
} state;

const char *hn_cuda_attention_read_halves(const hone_query *query, hn_cuda_attention_call *call) {
  HN_TRY_REASON(((const hn_cuda_attention_row *)query->tactic->kernel)->read(query, call));
  hn_cuda_attention *a = &call->args;
  if (!(a->scale > 0)) return "its scale is not positive";
  a->vectors = a->mask_row == 0 && (a->kv_len | a->mask_batch | a->mask_head) % 8 == 0;
  return hn_cuda_attention_steps(call) % 8 || (a->y_row | a->y_head) % 8 ? "a head's columns are no multiple of eight"
                                                                         : NULL;
}

hn_cuda_attention_operands hn_cuda_attention_of_halves(const hn_cuda_attention_call *call, const hone_launch *launch) {
  hn_cuda_attention_operands o = {.q = launch->in[0].data};
  o.k = call->k_at < 0 ? launch->in[1].data : o.q + call->k_at;
  o.v = call->v_at < 0 ? launch->in[2].data : o.q + call->v_at;
  o.mask = call->mask_port < 0 ? NULL : launch->in[call->mask_port].data;
  return o;
}

static int width_of(const hn_cuda_attention *a) {
  const int width = a->size > a->v_size ? a->size : a->v_size;
  return width <= 32 ? 32 : width <= 64 ? 64 : 128;
}

static int64_t blocks_of(const hn_cuda_attention_call *call, const tile *t) {
  return (int64_t)((call->args.q_len + t->rows - 1) / t->rows) * call->grid.y * call->grid.z;
}

/* As many rows as still fill the card; of few rows, tiles of as many keys as there are. */
static const tile *estimate(const hn_cuda_attention_call *call) {
  const tile *best = NULL;
  for (int i = 0; i < TILES; ++i) {
    if (tiles[i].width != width_of(&call->args)) continue;
    const bool fills = blocks_of(call, &tiles[i]) >= FEW_BLOCKS;
    const bool deeper = best && tiles[i].rows == best->rows && call->args.kv_len > best->keys;
    if (!best || fills || deeper) best = &tiles[i];
  }
  return best;
}

static int variants(const hone_query *query, hone_params *out, int room) {
  hn_cuda_attention_call call;
  int count = 0;
  if (hn_cuda_attention_read_halves(query, &call)) return 0;
  const tile *best = estimate(&call);
  for (int pass = 0; pass < 2; ++pass)
    for (int i = 0; i < TILES && count < room; ++i)
      if (tiles[i].width == best->width && (&tiles[i] == best) == (pass == 0))
        out[count++] = (hone_params){
            .count = 2, .items = {{.name = "rows", .value = tiles[i].rows}, {.name = "keys", .value = tiles[i].keys}}};
  return count;
}

static const tile *find(const hone_query *query, const hn_cuda_attention_call *call) {
  if (hn_cuda_first_param(query) == 0) return estimate(call);
  const hone_param *asked = query->params->items;
  for (int i = 0; i < TILES; ++i)
    if (tiles[i].width == width_of(&call->args) && tiles[i].rows == asked[0].value && query->params->count > 1 &&
        tiles[i].keys == asked[1].value)
      return &tiles[i];
  return NULL;
}

static const char *plan(const hone_query *query, void *state_memory, hone_needs *needs) {
  state asked, *s = state_memory ? state_memory : &asked;
  HN_TRY_REASON(hn_cuda_attention_read_halves(query, &s->call));
  const tile *t = find(query, &s->call);
  if (!t) return "there is no such tile";
  hn_cuda_attention *a = &s->call.args;
  const int stages = a->kv_len > t->keys ? 2 : 1, pitch = t->width + PITCH_MORE;
  needs->state = sizeof *s;
  s->kernel = query->tactic->compute == HONE_BF16 ? t->bf16 : t->f16;
  s->shared_bytes = (unsigned)((t->rows * pitch + stages * (2 * pitch + 1) * t->keys) * HALF_BYTES);
  s->call.grid.x = (unsigned)((a->q_len + t->rows - 1) / t->rows);
  return NULL;
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  state *s = state_memory;
  const hn_cuda_attention_call *call = &s->call;
  const hn_cuda_attention_operands o = hn_cuda_attention_of_halves(call, launch);
  void *arguments[] = {&launch->out[0].data,    (void *)(uintptr_t)&o.q,    (void *)(uintptr_t)&o.k,
                       (void *)(uintptr_t)&o.v, (void *)(uintptr_t)&o.mask, &s->call.args};
  return hn_cuda_launch_shaped(
      stream, s->kernel,
      &(hn_cuda_shape){.grid = call->grid, .threads = THREADS, .shared_bytes = s->shared_bytes, .dependent = true},
      arguments);
}

const hone_tactic hn_tactics_cuda_attention_half[] = {
    {sizeof(hone_tactic), .name = "cuda.attention.f16.tensor", .version = 1, .op = "attention", .isa = HN_CUDA_SM80,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}},
     .compute = HONE_F16, .variants = variants, .plan = plan, .launch = launch,
     .kernel = &(const hn_cuda_attention_row){hn_cuda_attention_read}},
    {sizeof(hone_tactic), .name = "cuda.attention.bf16.tensor", .version = 1, .op = "attention", .isa = HN_CUDA_SM80,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}},
     .compute = HONE_BF16, .variants = variants, .plan = plan, .launch = launch,
     .kernel = &(const hn_cuda_attention_row){hn_cuda_attention_read}},
    {sizeof(hone_tactic), .name = "cuda.qkv_attention.f16.tensor", .version = 1, .op = "qkv_attention",
     .isa = HN_CUDA_SM80, .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}}, .compute = HONE_F16, .variants = variants, .plan = plan,
     .launch = launch, .kernel = &(const hn_cuda_attention_row){hn_cuda_attention_read_qkv}},
    {sizeof(hone_tactic), .name = "cuda.qkv_attention.bf16.tensor", .version = 1, .op = "qkv_attention",
     .isa = HN_CUDA_SM80, .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}}, .compute = HONE_BF16, .variants = variants, .plan = plan,
     .launch = launch, .kernel = &(const hn_cuda_attention_row){hn_cuda_attention_read_qkv}},
    {0}};
