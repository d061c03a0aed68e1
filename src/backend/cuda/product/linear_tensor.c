/* SPDX-License-Identifier: Apache-2.0 */
/* linear_tensor.c - linear layers on tensor cores, in f16, bf16 or tf32 with f32 sums. The output of halves may be f32:
 * the last layer of a network needs no convert then. The weights are packed as a row for each column of the output. */
#include "backend/cuda/product/tensor.h"

enum { X, W, BIAS, RESIDUAL };

static bool is_transposed(const hone_query *query) { return hn_cuda_attr_int(query->attrs, "transpose_w", 0) != 0; }

static const char *read(const hone_query *query, hn_cuda_tensor_plan *p) {
  const bool of_floats = query->tactic->compute == HONE_TF32;
  const hone_dtype held = of_floats ? HONE_F32 : query->tactic->compute;
  const int lanes = of_floats ? 4 : 8; /* of sixteen bytes */
  const hone_fact *x = &query->in[X], *y = &query->out[0];
  HN_TRY_REASON(hn_cuda_tensor_begin(query, p));
  if (!hn_cuda_plain_of(x, held)) return "the input is not plain, or of another type";
  const int64_t k = x->type.shape.dim[x->type.shape.rank - 1], n = query->in[W].type.shape.dim[!is_transposed(query)];
  const int64_t m = k ? hn_cuda_elements(&x->type.shape) / k : 0, most = INT32_MAX / 2;
  if (m < 1 || n < 1) return "it has no elements";
  if (k > 1 << 24 || n > 1 << 24 || m > most / k || m > most / n) return "more elements than 30 bits count";
  const bool is_wide = of_floats ? n % lanes != 0 : hn_cuda_plain_f32(y);
  if (!is_wide && !hn_cuda_plain_of(y, held)) return "the output is not plain, or of another type";
  if (k % lanes || (n % lanes && (!is_wide || p->residual))) return "an extent is no multiple of sixteen bytes";
  if (p->residual && !hn_cuda_plain_of(&query->in[RESIDUAL], held)) return "the residual is of another type";
  p->args.m = (int)m, p->args.n = (int)n, p->args.depth = (int)k, p->args.is_wide = is_wide;
  p->args.in_h = p->args.out_h = 1, p->args.in_w = p->args.out_w = (int)m; /* one row of pixels */
  p->args.in_pitch = (int)k, p->args.out_pitch = (int)n;
  p->args.kernel_h = p->args.kernel_w = p->args.stride_h = p->args.stride_w = 1;
  return NULL;
}

static const char *plan(const hone_query *query, void *state, hone_needs *needs) {
  hn_cuda_tensor_plan asked, *p = state ? state : &asked;
  HN_TRY_REASON(read(query, p));
  needs->state = sizeof *p;
  return hn_cuda_tensor_plan_it(query, p, needs);
}

static hone_status pack(const hone_query *query, void *to) {
  hn_cuda_tensor_plan p;
  hone_needs needs = {0};
  if (plan(query, &p, &needs)) return HONE_INTERNAL;
  const hone_tensor *w = query->in[W].constant;
  const hn_cuda_tensor_rows packed = hn_cuda_tensor_packed(query, &p, to);
  const int64_t n = p.args.n, depth = p.args.depth;
  const int64_t row_step = is_transposed(query) ? depth : 1, k_step = is_transposed(query) ? 1 : n;
  for (int64_t row = 0; row < n; ++row)
    for (int64_t k = 0; k < depth; ++k)
      hn_cuda_tensor_put(&p, &packed, row * packed.pitch + k, hn_cuda_weight(w, row * row_step + k * k_step));
  return HONE_OK;
}

const hone_tactic hn_tactics_cuda_linear_tensor[] = {
    {sizeof(hone_tactic), .name = "cuda.linear.f16.tensor", .isa = HN_CUDA_SM80, .compute = HONE_F16,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_F16_PLAIN, HONE_PLAIN}},
     .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_STAGES}, .version = 1, .op = "linear",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .pack_mask = 1 << W | 1 << BIAS,
     .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack, .launch = hn_cuda_tensor_launch},
    {sizeof(hone_tactic), .name = "cuda.linear.f16.cluster", .isa = HN_CUDA_SM90, .compute = HONE_F16,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_F16_PLAIN, HONE_PLAIN}},
     .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_CLUSTER}, .version = 1, .op = "linear",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .pack_mask = 1 << W | 1 << BIAS,
     .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack, .launch = hn_cuda_tensor_launch},
    {sizeof(hone_tactic), .name = "cuda.linear.f16.bulk", .isa = HN_CUDA_SM90A, .compute = HONE_F16,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_F16_PLAIN, HONE_PLAIN}},
     .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_BULK}, .version = 1, .op = "linear",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .pack_mask = 1 << W | 1 << BIAS,
     .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack, .launch = hn_cuda_tensor_launch},
    {sizeof(hone_tactic), .name = "cuda.linear.f16.lasting", .isa = HN_CUDA_SM90A, .compute = HONE_F16,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}}, .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_LASTING},
     .version = 1, .op = "linear", .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .pack_mask = 1 << W | 1 << BIAS, .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack,
     .launch = hn_cuda_tensor_launch},
    {sizeof(hone_tactic), .name = "cuda.linear.bf16.tensor", .isa = HN_CUDA_SM80, .compute = HONE_BF16,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_BF16_PLAIN, HONE_PLAIN}},
     .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_STAGES}, .version = 1, .op = "linear",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .pack_mask = 1 << W | 1 << BIAS,
     .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack, .launch = hn_cuda_tensor_launch},
    {sizeof(hone_tactic), .name = "cuda.linear.bf16.cluster", .isa = HN_CUDA_SM90, .compute = HONE_BF16,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_BF16_PLAIN, HONE_PLAIN}},
     .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_CLUSTER}, .version = 1, .op = "linear",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .pack_mask = 1 << W | 1 << BIAS,
     .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack, .launch = hn_cuda_tensor_launch},
    {sizeof(hone_tactic), .name = "cuda.linear.bf16.bulk", .isa = HN_CUDA_SM90A, .compute = HONE_BF16,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_BF16_PLAIN, HONE_PLAIN}},
     .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_BULK}, .version = 1, .op = "linear",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .pack_mask = 1 << W | 1 << BIAS,
     .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack, .launch = hn_cuda_tensor_launch},
    {sizeof(hone_tactic), .name = "cuda.linear.bf16.lasting", .isa = HN_CUDA_SM90A, .compute = HONE_BF16,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}}, .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_LASTING},
     .version = 1, .op = "linear", .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .pack_mask = 1 << W | 1 << BIAS, .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack,
     .launch = hn_cuda_tensor_launch},
    {sizeof(hone_tactic), .name = "cuda.linear.tf32.tensor", .isa = HN_CUDA_SM80, .compute = HONE_TF32,
     .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_STAGES}, .version = 1, .op = "linear",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .pack_mask = 1 << W | 1 << BIAS,
     .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack, .launch = hn_cuda_tensor_launch},
    {sizeof(hone_tactic), .name = "cuda.linear.tf32.cluster", .isa = HN_CUDA_SM90, .compute = HONE_TF32,
     .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_CLUSTER}, .version = 1, .op = "linear",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .pack_mask = 1 << W | 1 << BIAS,
     .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack, .launch = hn_cuda_tensor_launch},
    {sizeof(hone_tactic), .name = "cuda.linear.tf32.bulk", .isa = HN_CUDA_SM90A, .compute = HONE_TF32,
     .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_BULK}, .version = 1, .op = "linear",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .pack_mask = 1 << W | 1 << BIAS,
     .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack, .launch = hn_cuda_tensor_launch},
    {sizeof(hone_tactic), .name = "cuda.linear.tf32.lasting", .isa = HN_CUDA_SM90A, .compute = HONE_TF32,
     .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_LASTING}, .version = 1, .op = "linear",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .pack_mask = 1 << W | 1 << BIAS,
     .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack, .launch = hn_cuda_tensor_launch},
    {0}};
