/* SPDX-License-Identifier: Apache-2.0 */
/* linear_bytes.c - qlinear_matmul and matmul_integer by a constant matrix on tensor cores: rows of bytes, requantised
 * or as their sums. The weights are packed as a row for each column of the output. */
#include "backend/cuda/bytes/bytes.h"

enum { STEP = 16 }; /* bytes are copied by sixteens */

typedef struct row_kernel {
  hn_cuda_tensor_way way; /* first: tensor.c reads it */
  hn_cuda_byte_ports ports;
} row_kernel;

static const hn_cuda_byte_ports *ports_of(const hone_query *query) {
  return &((const row_kernel *)query->tactic->kernel)->ports;
}

static void read_channel(const hone_query *query, int64_t channel, int64_t depth, int64_t first, int64_t count,
                         int8_t *out) {
  const hone_tensor *w = query->in[ports_of(query)->w].constant;
  const int flip = w->type.dtype == HONE_U8 ? 0x80 : 0;
  const int64_t n = w->type.shape.dim[1];
  (void)depth;
  for (int64_t i = 0; i < count; ++i) out[i] = (int8_t)(((const uint8_t *)w->data)[(first + i) * n + channel] ^ flip);
}

static const char *read_extents(const hone_query *query, int64_t k, int64_t n, hn_cuda_tensor_plan *p) {
  const hone_fact *x = &query->in[0], *y = &query->out[0];
  const int64_t m = hn_cuda_elements(&x->type.shape) / k, most = INT32_MAX / 2;
  hn_cuda_tensor *a = &p->args;
  a->is_wide = !ports_of(query)->y_scale;
  if (!hn_cuda_plain_of(x, x->type.dtype)) return "the input is not plain";
  if (!hn_cuda_plain_of(y, a->is_wide ? HONE_I32 : x->type.dtype)) return "the output is not plain, or of another type";
  if (x->type.shape.dim[x->type.shape.rank - 1] != k) return "the matrices do not fit together";
  if (m < 1) return "it has no elements";
  if (k > 1 << 24 || n > 1 << 24 || m > most / k || m > most / n) return "more elements than 30 bits count";
  if (k % STEP) return "K is not a multiple of 16";
  if (!a->is_wide && n % STEP) return "N is not a multiple of 16";
  a->m = (int)m, a->n = (int)n, a->depth = (int)k;
  a->in_h = a->out_h = 1, a->in_w = a->out_w = (int)m; /* one row of pixels */
  a->in_pitch = (int)k, a->out_pitch = (int)n;
  a->kernel_h = a->kernel_w = a->stride_h = a->stride_w = 1;
  return NULL;
}

static const char *plan(const hone_query *query, void *state, hone_needs *needs) {
  hn_cuda_tensor_plan asked, *p = state ? state : &asked;
  const hn_cuda_byte_ports *at = ports_of(query);
  if (at->w >= query->in_count || query->in[at->w].type.shape.rank != 2 || query->in[0].type.shape.rank < 1)
    return "the weights are not a matrix";
  const int64_t k = query->in[at->w].type.shape.dim[0], n = query->in[at->w].type.shape.dim[1];
  HN_TRY_REASON(hn_cuda_bytes_begin(query, at, n, k, read_channel, p));
  HN_TRY_REASON(read_extents(query, k, n, p));
  needs->state = sizeof *p;
  return hn_cuda_tensor_plan_it(query, p, needs);
}

static hone_status pack(const hone_query *query, void *to) {
  hn_cuda_tensor_plan p;
  hone_needs needs = {0};
  if (plan(query, &p, &needs)) return HONE_INTERNAL;
  const int64_t k = p.args.depth, pitch = (int64_t)p.args.blocks * p.row;
  hn_cuda_bytes_vectors(query, ports_of(query), &p, k, read_channel, to);
  for (int64_t column = 0; column < p.args.n; ++column)
    read_channel(query, column, k, 0, k, (int8_t *)to + hn_cuda_bytes_row(&p, column) * pitch);
  return HONE_OK;
}

#define OF_QLINEAR                                                                                                     \
  { .x_scale = 1, .x_zero = 2, .w = 3, .w_scale = 4, .w_zero = 5, .y_scale = 6, .y_zero = 7, .bias = 8 }
#define OF_INTEGER                                                                                                     \
  { .w = 1, .x_zero = 2, .w_zero = 3 }
#define COMMON                                                                                                         \
  .storages = {{HONE_PLAIN, HONE_PLAIN}}, .version = 3, .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,      \
  .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack, .launch = hn_cuda_tensor_launch
#define QLINEAR .op = "qlinear_matmul", .pack_mask = 1 << 1 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 8, COMMON
#define INTEGER .op = "matmul_integer", .pack_mask = 1 << 1 | 1 << 3, COMMON

const hone_tactic hn_tactics_cuda_linear_bytes[] = {
    {sizeof(hone_tactic), .name = "cuda.qlinear_matmul.bytes.tensor", .isa = HN_CUDA_SM80,
     .kernel = &(const row_kernel){HN_CUDA_TENSOR_STAGES, OF_QLINEAR}, QLINEAR},
    {sizeof(hone_tactic), .name = "cuda.qlinear_matmul.bytes.cluster", .isa = HN_CUDA_SM90,
     .kernel = &(const row_kernel){HN_CUDA_TENSOR_CLUSTER, OF_QLINEAR}, QLINEAR},
    {sizeof(hone_tactic), .name = "cuda.qlinear_matmul.bytes.bulk", .isa = HN_CUDA_SM90A,
     .kernel = &(const row_kernel){HN_CUDA_TENSOR_BULK, OF_QLINEAR}, QLINEAR},
    {sizeof(hone_tactic), .name = "cuda.qlinear_matmul.bytes.lasting", .isa = HN_CUDA_SM90A,
     .kernel = &(const row_kernel){HN_CUDA_TENSOR_LASTING, OF_QLINEAR}, QLINEAR},
    {sizeof(hone_tactic), .name = "cuda.qlinear_matmul.bytes.short", .isa = HN_CUDA_SM90A,
     .kernel = &(const row_kernel){HN_CUDA_TENSOR_SHORT, OF_QLINEAR}, QLINEAR},
    {sizeof(hone_tactic), .name = "cuda.matmul_integer.bytes.tensor", .isa = HN_CUDA_SM80,
     .kernel = &(const row_kernel){HN_CUDA_TENSOR_STAGES, OF_INTEGER}, INTEGER},
    {sizeof(hone_tactic), .name = "cuda.matmul_integer.bytes.cluster", .isa = HN_CUDA_SM90,
     .kernel = &(const row_kernel){HN_CUDA_TENSOR_CLUSTER, OF_INTEGER}, INTEGER},
    {sizeof(hone_tactic), .name = "cuda.matmul_integer.bytes.bulk", .isa = HN_CUDA_SM90A,
     .kernel = &(const row_kernel){HN_CUDA_TENSOR_BULK, OF_INTEGER}, INTEGER},
    {0}};
