/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.c - linear, gemm and matmul by cuBLASLt. Bias, residual and relu are done by the product; another activation, by
 * a generated kernel after it (the library's own gelu is the tanh approximation, which is another function). In halves,
 * sums are f32, and a linear layer's weights and bias are packed as they lie, rounded. */
#include "backend/cuda/product/gemm.h"
#include "backend/cuda/product/tensor.h"

enum { VARIANTS = 8 };

typedef struct state {
  hn_cuda_product product;
  int bias_input, addend_input; /* -1: none */
  size_t packed_bias;           /* where it is behind packed weights; 0: nothing is packed */
  char after_text[512];         /* an activation that the product cannot do, as an expression; "": none */
  hn_cuda_kernel after;         /* in place on y */
} state;

/* Two rows for linear: the one with a kernel after the product needs NVRTC too. What a row accepts may depend on the
 * facts by its isa alone, since an engine's file is checked before any device is known. */
typedef struct row_kernel {
  bool has_after;
} row_kernel;

/* What the matrices hold. */
static hone_dtype dtype_of(const hone_query *query) {
  const hone_dtype compute = query->tactic->compute;
  return compute == HONE_NONE || compute == HONE_TF32 ? HONE_F32 : compute;
}

static bool is_packed(const hone_query *query, int input) { return query->tactic->pack_mask >> input & 1; }

static const char *check_types(const hone_query *query) {
  const hone_dtype dtype = dtype_of(query);
  for (int i = 0; i < query->in_count; ++i) {
    if (!hn_cuda_given(query, i)) continue;
    if (is_packed(query, i)) {
      if (!hn_cuda_is_weight(query, i)) return "a weight is not constant in f32, f16 or bf16";
    } else if (!hn_cuda_plain_of(&query->in[i], dtype)) {
      return "an input is not plain, or of another type";
    }
    if (hn_cuda_elements(&query->in[i].type.shape) == 0) return "an input has no elements";
  }
  return hn_cuda_plain_of(&query->out[0], dtype) ? NULL : "the output is not plain, or of another type";
}

/* What the product cannot do by itself comes after it. */
static const char *read_activation(const hone_query *query, state *s) {
  const hn_activation activation = hn_cuda_activation(query);
  s->product.plan.relu = activation == HN_ACTIVATION_RELU;
  if (s->product.plan.relu || activation == HN_ACTIVATION_NONE) return NULL;
  return hn_cuda_activation_text(query, "x0", s->after_text, sizeof s->after_text)
             ? NULL
             : "an activation that is not known here";
}

static const char *finish(const hone_query *query, state *s, hone_needs *needs) {
  const int64_t most = INT32_MAX / 2;
  hn_cuda_product_plan *p = &s->product.plan;
  if (p->m > most || p->n > most || p->k > most || p->batch > most) return "an extent is too large for cuBLASLt";
  p->in_tf32 = query->tactic->compute == HONE_TF32;
  p->has_bias = s->bias_input >= 0;
  p->has_addend = s->addend_input >= 0;
  p->algorithm = (int)hn_cuda_first_param(query);
  needs->state = sizeof *s;
  needs->scratch = HN_CUDA_WORKSPACE_BYTES;
  return NULL;
}

/* Of packed constants: behind the weights, where cuBLASLt reads whole vectors. */
static size_t bias_at(const hone_query *query) {
  return ((size_t)hn_cuda_elements(&query->in[1].type.shape) * 2 + 255) / 256 * 256;
}

static hone_status pack_linear(const hone_query *query, void *to) {
  uint16_t *const parts[2] = {to, (uint16_t *)((char *)to + bias_at(query))};
  for (int i = 1; i <= 2 && hn_cuda_given(query, i); ++i)
    for (int64_t k = 0; k < hn_cuda_elements(&query->in[i].type.shape); ++k)
      parts[i - 1][k] = hn_cuda_half_of(query->tactic->compute, hn_cuda_weight(query->in[i].constant, k));
  return HONE_OK;
}

static const char *plan_linear(const hone_query *query, void *state_memory, hone_needs *needs) {
  static const int64_t strides[1][HONE_MAX_RANK] = {{1}};
  state asked, *s = state_memory ? state_memory : &asked;
  const bool has_after = ((const row_kernel *)query->tactic->kernel)->has_after;
  *s = (state){.bias_input = hn_cuda_given(query, 2) ? 2 : -1, .addend_input = hn_cuda_given(query, 3) ? 3 : -1};
  HN_TRY_REASON(check_types(query));
  const hone_shape *x = &query->in[0].type.shape, *w = &query->in[1].type.shape;
  const bool transposed = hn_cuda_attr_int(query->attrs, "transpose_w", 0) != 0;
  const int64_t k = x->dim[x->rank - 1];
  s->product.plan = (hn_cuda_product_plan){.dtype = dtype_of(query),
                                           .m = hn_cuda_elements(x) / k,
                                           .k = k,
                                           .n = w->dim[!transposed],
                                           .batch = 1,
                                           .transpose_b = transposed,
                                           .alpha = 1,
                                           .beta = 1};
  HN_TRY_REASON(read_activation(query, s));
  HN_TRY_REASON(finish(query, s, needs));
  if (is_packed(query, 1)) {
    s->packed_bias = bias_at(query);
    needs->packed = s->packed_bias + (size_t)s->product.plan.n * 2;
  }
  if (!has_after) return s->after_text[0] ? "its activation is not the product's own" : NULL;
  if (!s->after_text[0]) return "it has no activation, or one that is the product's own";
  const hone_shape flat = {.rank = 1, .dim = {hn_cuda_elements(&query->out[0].type.shape)}};
  return hn_cuda_place(&flat, 1, strides, &s->after.places) ? NULL : "more elements than 30 bits count";
}

static const char *plan_gemm(const hone_query *query, void *state_memory, hone_needs *needs) {
  state asked, *s = state_memory ? state_memory : &asked;
  *s = (state){.bias_input = -1, .addend_input = -1};
  HN_TRY_REASON(check_types(query));
  const hone_shape *a = &query->in[0].type.shape, *b = &query->in[1].type.shape;
  const bool ta = hn_cuda_attr_int(query->attrs, "transA", 0) != 0;
  const bool tb = hn_cuda_attr_int(query->attrs, "transB", 0) != 0;
  hn_cuda_product_plan *p = &s->product.plan;
  *p = (hn_cuda_product_plan){.dtype = dtype_of(query),
                              .m = a->dim[ta],
                              .k = a->dim[!ta],
                              .n = b->dim[!tb],
                              .batch = 1,
                              .transpose_a = ta,
                              .transpose_b = tb,
                              .alpha = (float)hn_cuda_attr_float(query->attrs, "alpha", 1),
                              .beta = (float)hn_cuda_attr_float(query->attrs, "beta", 1)};
  if (hn_cuda_given(query, 2)) {
    const hone_shape *c = &query->in[2].type.shape;
    const bool vector = hn_cuda_elements(c) == p->n && c->rank > 0 && c->dim[c->rank - 1] == p->n;
    if (hn_cuda_same_shape(c, &query->out[0].type.shape))
      s->addend_input = 2;
    else if (vector && p->beta == 1)
      s->bias_input = 2;
    else
      return "its addend is neither a row nor of the result's shape";
  }
  return finish(query, s, needs);
}

static int64_t batch_of(const hone_shape *shape) {
  int64_t batch = 1;
  for (int d = 0; d + 2 < shape->rank; ++d) batch *= shape->dim[d];
  return batch;
}

static const char *plan_matmul(const hone_query *query, void *state_memory, hone_needs *needs) {
  state asked, *s = state_memory ? state_memory : &asked;
  *s = (state){.bias_input = -1, .addend_input = -1};
  HN_TRY_REASON(check_types(query));
  const hone_shape *a = &query->in[0].type.shape, *b = &query->in[1].type.shape;
  if (a->rank < 2 || b->rank < 2) return "a vector";
  const int64_t a_batch = batch_of(a), b_batch = batch_of(b), batch = batch_of(&query->out[0].type.shape);
  if ((a_batch != batch && a_batch != 1) || (b_batch != batch && b_batch != 1))
    return "batches that are broadcast in part";
  hn_cuda_product_plan *p = &s->product.plan;
  *p = (hn_cuda_product_plan){.dtype = dtype_of(query),
                              .m = a->dim[a->rank - 2],
                              .k = a->dim[a->rank - 1],
                              .n = b->dim[b->rank - 1],
                              .batch = batch,
                              .alpha = 1};
  if (b_batch == 1) { /* one product of all rows */
    p->m *= batch;
    p->batch = 1;
    if (a_batch != batch) return "batches that are broadcast in part";
  }
  p->a_stride = a_batch == 1 ? 0 : p->m * p->k;
  p->b_stride = b_batch == 1 ? 0 : p->n * p->k;
  return finish(query, s, needs);
}

static int variants(const hone_query *query, hone_params *out, int room) {
  (void)query;
  return hn_cuda_proposals(out, room < VARIANTS ? room : VARIANTS);
}

static hone_status prepare(hone_unit *unit, const hone_query *query, void *state_memory, hone_diagnostics *diag) {
  static const char *const types[2] = {"float", "float"};
  state *s = state_memory;
  (void)query;
  hone_status status = hn_cuda_product_make(unit, &s->product, diag);
  if (status == HONE_OK && s->after_text[0]) status = hn_cuda_kernel_make(unit, s->after_text, types, &s->after, diag);
  if (status != HONE_OK) hn_cuda_product_drop(&s->product);
  return status;
}

static void release(void *s) { hn_cuda_product_drop(&((state *)s)->product); }

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  state *s = state_memory;
  void *y = launch->out[0].data;
  const void *b = s->packed_bias ? launch->packed : launch->in[1].data;
  const void *bias = s->bias_input < 0 ? NULL
                     : s->packed_bias  ? (const char *)launch->packed + s->packed_bias
                                       : launch->in[s->bias_input].data;
  const hone_status status =
      hn_cuda_product_launch(&s->product, stream, launch->in[0].data, b, bias,
                             s->addend_input >= 0 ? launch->in[s->addend_input].data : NULL, y, launch->scratch);
  if (status != HONE_OK || !s->after_text[0]) return status;
  const void *in[1] = {y};
  return hn_cuda_kernel_launch(&s->after, stream, in, y);
}

const hone_tactic hn_tactics_cuda_gemm[] = {
    {sizeof(hone_tactic), .name = "cuda.linear.f32.cublaslt", .version = 1, .op = "linear", .isa = HN_CUDA_LT,
     .plan = plan_linear, .kernel = &(const row_kernel){.has_after = false},
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .variants = variants, .prepare = prepare,
     .release = release, .launch = launch, .library = "CUBLAS_LT"},
    {sizeof(hone_tactic), .name = "cuda.linear.f32.cublaslt.act", .version = 1, .op = "linear",
     .isa = HN_CUDA_LT | HN_CUDA_NVRTC, .plan = plan_linear, .kernel = &(const row_kernel){.has_after = true},
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .variants = variants, .prepare = prepare,
     .release = release, .launch = launch, .library = "CUBLAS_LT"},
    {sizeof(hone_tactic), .name = "cuda.gemm.f32.cublaslt", .version = 1, .op = "gemm", .isa = HN_CUDA_LT,
     .plan = plan_gemm, .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .variants = variants,
     .prepare = prepare, .release = release, .launch = launch, .library = "CUBLAS_LT"},
    {sizeof(hone_tactic), .name = "cuda.matmul.f32.cublaslt", .version = 1, .op = "matmul", .isa = HN_CUDA_LT,
     .plan = plan_matmul, .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .variants = variants,
     .prepare = prepare, .release = release, .launch = launch, .library = "CUBLAS_LT"},
    {sizeof(hone_tactic), .name = "cuda.linear.tf32.cublaslt", .version = 1, .op = "linear",
     .isa = HN_CUDA_LT | HN_CUDA_SM80, .compute = HONE_TF32, .plan = plan_linear,
     .kernel = &(const row_kernel){.has_after = false}, .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .variants = variants, .prepare = prepare, .release = release, .launch = launch, .library = "CUBLAS_LT"},
    {sizeof(hone_tactic), .name = "cuda.linear.tf32.cublaslt.act", .version = 1, .op = "linear",
     .isa = HN_CUDA_LT | HN_CUDA_NVRTC | HN_CUDA_SM80, .compute = HONE_TF32, .plan = plan_linear,
     .kernel = &(const row_kernel){.has_after = true}, .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .variants = variants, .prepare = prepare, .release = release, .launch = launch, .library = "CUBLAS_LT"},
    {sizeof(hone_tactic), .name = "cuda.gemm.tf32.cublaslt", .version = 1, .op = "gemm",
     .isa = HN_CUDA_LT | HN_CUDA_SM80, .compute = HONE_TF32, .plan = plan_gemm,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .variants = variants, .prepare = prepare,
     .release = release, .launch = launch, .library = "CUBLAS_LT"},
    {sizeof(hone_tactic), .name = "cuda.matmul.tf32.cublaslt", .version = 1, .op = "matmul",
     .isa = HN_CUDA_LT | HN_CUDA_SM80, .compute = HONE_TF32, .plan = plan_matmul,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .variants = variants, .prepare = prepare,
     .release = release, .launch = launch, .library = "CUBLAS_LT"},
    {sizeof(hone_tactic), .name = "cuda.linear.f16.cublaslt", .version = 1, .op = "linear",
     .isa = HN_CUDA_LT | HN_CUDA_SM80, .compute = HONE_F16, .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}},
     .pack_mask = 1 << 1 | 1 << 2, .pack = pack_linear, .plan = plan_linear,
     .kernel = &(const row_kernel){.has_after = false}, .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .variants = variants, .prepare = prepare, .release = release, .launch = launch, .library = "CUBLAS_LT"},
    {sizeof(hone_tactic), .name = "cuda.gemm.f16.cublaslt", .version = 1, .op = "gemm",
     .isa = HN_CUDA_LT | HN_CUDA_SM80, .compute = HONE_F16, .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}},
     .plan = plan_gemm, .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .variants = variants,
     .prepare = prepare, .release = release, .launch = launch, .library = "CUBLAS_LT"},
    {sizeof(hone_tactic), .name = "cuda.matmul.f16.cublaslt", .version = 1, .op = "matmul",
     .isa = HN_CUDA_LT | HN_CUDA_SM80, .compute = HONE_F16, .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}},
     .plan = plan_matmul, .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .variants = variants,
     .prepare = prepare, .release = release, .launch = launch, .library = "CUBLAS_LT"},
    {sizeof(hone_tactic), .name = "cuda.linear.bf16.cublaslt", .version = 1, .op = "linear",
     .isa = HN_CUDA_LT | HN_CUDA_SM80, .compute = HONE_BF16, .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}},
     .pack_mask = 1 << 1 | 1 << 2, .pack = pack_linear, .plan = plan_linear,
     .kernel = &(const row_kernel){.has_after = false}, .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .variants = variants, .prepare = prepare, .release = release, .launch = launch, .library = "CUBLAS_LT"},
    {sizeof(hone_tactic), .name = "cuda.gemm.bf16.cublaslt", .version = 1, .op = "gemm",
     .isa = HN_CUDA_LT | HN_CUDA_SM80, .compute = HONE_BF16, .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}},
     .plan = plan_gemm, .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .variants = variants,
     .prepare = prepare, .release = release, .launch = launch, .library = "CUBLAS_LT"},
    {sizeof(hone_tactic), .name = "cuda.matmul.bf16.cublaslt", .version = 1, .op = "matmul",
     .isa = HN_CUDA_LT | HN_CUDA_SM80, .compute = HONE_BF16, .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}},
     .plan = plan_matmul, .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .variants = variants,
     .prepare = prepare, .release = release, .launch = launch, .library = "CUBLAS_LT"},
    {0}};
