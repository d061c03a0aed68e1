/* SPDX-License-Identifier: Apache-2.0 */
/* attention_bulk.c - attention and qkv_attention in f16 and bf16 by warpgroups (kernels/cuda/attention): heads of up to
 * 64 columns, masks that are the same for all rows. */
#include "backend/cuda/attention/attention.h"
#include "backend/cuda/product/boxes.h"
#include "kernels/cuda/tensor/maps.h"

enum { COLUMNS = 64, ROWS = 128, ROW_BYTES = 128, THREADS = 256, FRONT = 1024 };

/* By the keys of a stage. */
typedef struct stage_kernel {
  int keys;
  hn_cuda_builtin f16, bf16;
} stage_kernel;
static const stage_kernel kernels[] = {{128, HN_CUDA_attention_bulk_f16_128, HN_CUDA_attention_bulk_bf16_128},
                                       {112, HN_CUDA_attention_bulk_f16_112, HN_CUDA_attention_bulk_bf16_112}};
enum { KERNELS = sizeof kernels / sizeof *kernels };

typedef struct state {
  hn_cuda_attention_call call;
  hn_cuda_builtin kernel;
  hn_cuda_tensor_type type;
  int keys;
  unsigned shared_bytes;
} state;

static const char *read(const hone_query *query, hn_cuda_attention_call *call) {
  HN_TRY_REASON(hn_cuda_attention_read_halves(query, call));
  if (call->args.size > COLUMNS || call->args.v_size > COLUMNS) return "a head has more than 64 columns";
  return call->mask_port >= 0 && !call->args.vectors ? "its mask is not the same for all rows" : NULL;
}

/* Keys that are reckoned: whole stages. */
static int reckoned(const hn_cuda_attention_call *call, const stage_kernel *k) {
  return (call->args.kv_len + k->keys - 1) / k->keys * k->keys;
}

static int variants(const hone_query *query, hone_params *out, int room) {
  hn_cuda_attention_call call;
  if (read(query, &call) || room < KERNELS) return 0;
  const int first = reckoned(&call, &kernels[1]) < reckoned(&call, &kernels[0]);
  for (int i = 0; i < KERNELS; ++i)
    out[i] = (hone_params){.count = 1, .items = {{.name = "keys", .value = kernels[i ^ first].keys}}};
  return KERNELS;
}

static const stage_kernel *find(const hone_query *query, const hn_cuda_attention_call *call) {
  const int64_t asked = hn_cuda_first_param(query);
  if (asked == 0) return &kernels[reckoned(call, &kernels[1]) < reckoned(call, &kernels[0])];
  for (int i = 0; i < KERNELS; ++i)
    if (kernels[i].keys == asked) return &kernels[i];
  return NULL;
}

static const char *plan(const hone_query *query, void *state_memory, hone_needs *needs) {
  state asked, *s = state_memory ? state_memory : &asked;
  HN_TRY_REASON(read(query, &s->call));
  const stage_kernel *k = find(query, &s->call);
  if (!k) return "there is no such number of keys";
  const bool is_bf16 = query->tactic->compute == HONE_BF16;
  needs->state = sizeof *s;
  s->type = is_bf16 ? HN_CUDA_TENSOR_BF16 : HN_CUDA_TENSOR_F16;
  s->kernel = is_bf16 ? k->bf16 : k->f16;
  s->keys = k->keys;
  s->shared_bytes = (unsigned)(FRONT + (ROWS + (s->call.args.kv_len > k->keys ? 4 : 2) * k->keys) * ROW_BYTES);
  s->call.grid.x = (unsigned)((s->call.args.q_len + ROWS - 1) / ROWS);
  return NULL;
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  state *s = state_memory;
  const hn_cuda_attention *a = &s->call.args;
  const hn_cuda_driver_api *api = &stream->unit->driver->api;
  const hn_cuda_attention_operands o = hn_cuda_attention_of_halves(&s->call, launch);
  const int batches = (int)s->call.grid.z;
  hn_cuda_head_boxes q = {.type = s->type, .columns = a->size, .rows = a->q_len, .heads = a->heads, .batches = batches};
  q.row_step = a->q_row, q.head_step = a->q_head, q.batch_step = a->q_batch, q.box_rows = ROWS;
  hn_cuda_head_boxes k = q, v = q;
  k.rows = v.rows = a->kv_len, k.heads = v.heads = a->heads / a->group, k.box_rows = v.box_rows = s->keys;
  k.row_step = a->k_row, k.head_step = a->k_head, k.batch_step = a->k_batch;
  v.row_step = a->v_row, v.head_step = a->v_head, v.batch_step = a->v_batch, v.columns = a->v_size;
  hn_cuda_attention_maps maps;
  if (!hn_cuda_map_heads(api, &q, o.q, &maps.q) || !hn_cuda_map_heads(api, &k, o.k, &maps.k) ||
      !hn_cuda_map_heads(api, &v, o.v, &maps.v))
    return HONE_DEVICE;
  void *arguments[] = {&maps, &launch->out[0].data, (void *)(uintptr_t)&o.mask, &s->call.args};
  return hn_cuda_launch_shaped(
      stream, s->kernel,
      &(hn_cuda_shape){.grid = s->call.grid, .threads = THREADS, .shared_bytes = s->shared_bytes, .dependent = true},
      arguments);
}

const hone_tactic hn_tactics_cuda_attention_bulk[] = {
    {sizeof(hone_tactic), .name = "cuda.attention.f16.bulk", .version = 1, .op = "attention", .isa = HN_CUDA_SM90A,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}},
     .compute = HONE_F16, .variants = variants, .plan = plan, .launch = launch,
     .kernel = &(const hn_cuda_attention_row){hn_cuda_attention_read}},
    {sizeof(hone_tactic), .name = "cuda.attention.bf16.bulk", .version = 1, .op = "attention", .isa = HN_CUDA_SM90A,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}},
     .compute = HONE_BF16, .variants = variants, .plan = plan, .launch = launch,
     .kernel = &(const hn_cuda_attention_row){hn_cuda_attention_read}},
    {sizeof(hone_tactic), .name = "cuda.qkv_attention.f16.bulk", .version = 1, .op = "qkv_attention",
     .isa = HN_CUDA_SM90A, .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}}, .compute = HONE_F16, .variants = variants, .plan = plan,
     .launch = launch, .kernel = &(const hn_cuda_attention_row){hn_cuda_attention_read_qkv}},
    {sizeof(hone_tactic), .name = "cuda.qkv_attention.bf16.bulk", .version = 1, .op = "qkv_attention",
     .isa = HN_CUDA_SM90A, .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}}, .compute = HONE_BF16, .variants = variants, .plan = plan,
     .launch = launch, .kernel = &(const hn_cuda_attention_row){hn_cuda_attention_read_qkv}},
    {0}};
