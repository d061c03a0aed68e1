/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.c - linear, gemm and matmul by cuBLASLt. Bias, residual and relu are done by the product; another activation, by
 * a generated kernel after it (the library's own gelu is the tanh approximation, which is another function). */
#include "backend/cuda/product/gemm.h"

enum { VARIANTS = 8 };

typedef struct state {
  hn_cuda_product product;
  hn_cuda_kernel after; /* in place on y */
  bool has_after;
  int bias_input, addend_input; /* -1: none */
} state;

typedef struct planned {
  hn_cuda_product_plan product;
  char after[512]; /* the activation as an expression; "": none */
  int bias_input, addend_input;
} planned;

/* What the product cannot do by itself comes after it. */
static const char *plan_activation(const hone_query *query, planned *p) {
  p->product.relu = hn_cuda_activation(query) == HN_ACTIVATION_RELU;
  if (p->product.relu || hn_cuda_activation(query) == HN_ACTIVATION_NONE) return NULL;
  return hn_cuda_activation_text(query, "x0", p->after, sizeof p->after) ? NULL
                                                                         : "an activation that is not known here";
}

static const char *check_types(const hone_query *query) {
  for (int i = 0; i < query->in_count; ++i) {
    if (!hn_cuda_given(query, i)) continue;
    if (query->in[i].type.dtype != HONE_F32 || query->in[i].type.format != HONE_PLAIN)
      return "an input is not plain f32";
    if (hn_cuda_elements(&query->in[i].type.shape) == 0) return "an input has no elements";
  }
  return query->out[0].type.dtype == HONE_F32 && query->out[0].type.format == HONE_PLAIN
             ? NULL
             : "the output is not plain f32";
}

static const char *check_size(const hn_cuda_product_plan *p) {
  const int64_t most = INT32_MAX / 2;
  return p->m > most || p->n > most || p->k > most || p->batch > most ? "an extent is too large for cuBLASLt" : NULL;
}

static const char *plan_any_linear(const hone_query *query, planned *p) {
  const hone_shape *x = &query->in[0].type.shape, *w = &query->in[1].type.shape;
  *p = (planned){.bias_input = hn_cuda_given(query, 2) ? 2 : -1, .addend_input = hn_cuda_given(query, 3) ? 3 : -1};
  const char *reason = check_types(query);
  if (reason) return reason;
  const bool transposed = hn_cuda_attr_int(query->attrs, "transpose_w", 0) != 0;
  p->product = (hn_cuda_product_plan){.k = x->dim[x->rank - 1],
                                      .n = w->dim[!transposed],
                                      .batch = 1,
                                      .transpose_b = transposed,
                                      .has_bias = p->bias_input >= 0,
                                      .has_addend = p->addend_input >= 0,
                                      .alpha = 1,
                                      .beta = 1};
  p->product.m = hn_cuda_elements(x) / p->product.k;
  reason = plan_activation(query, p);
  return reason ? reason : check_size(&p->product);
}

/* Two rows: the second needs NVRTC too. What a row accepts may depend on the facts by its isa alone, since an engine's
 * file is checked before any device is known. */
static const char *plan_linear(const hone_query *query, planned *p) {
  const char *reason = plan_any_linear(query, p);
  return reason ? reason : p->after[0] ? "its activation is not the product's own" : NULL;
}
static const char *plan_linear_act(const hone_query *query, planned *p) {
  const char *reason = plan_any_linear(query, p);
  return reason ? reason : p->after[0] ? NULL : "it has no activation, or one that is the product's own";
}

static const char *plan_gemm(const hone_query *query, planned *p) {
  *p = (planned){.bias_input = -1, .addend_input = -1};
  const char *reason = check_types(query);
  if (reason) return reason;
  const hone_shape *a = &query->in[0].type.shape, *b = &query->in[1].type.shape;
  const bool ta = hn_cuda_attr_int(query->attrs, "transA", 0) != 0;
  const bool tb = hn_cuda_attr_int(query->attrs, "transB", 0) != 0;
  p->product = (hn_cuda_product_plan){.m = a->dim[ta],
                                      .k = a->dim[!ta],
                                      .n = b->dim[!tb],
                                      .batch = 1,
                                      .transpose_a = ta,
                                      .transpose_b = tb,
                                      .alpha = (float)hn_cuda_attr_float(query->attrs, "alpha", 1),
                                      .beta = (float)hn_cuda_attr_float(query->attrs, "beta", 1)};
  if (hn_cuda_given(query, 2)) {
    const hone_shape *c = &query->in[2].type.shape;
    const bool vector = hn_cuda_elements(c) == p->product.n && c->rank > 0 && c->dim[c->rank - 1] == p->product.n;
    if (hn_cuda_same_shape(c, &query->out[0].type.shape))
      p->addend_input = 2;
    else if (vector && p->product.beta == 1)
      p->bias_input = 2;
    else
      return "its addend is neither a row nor of the result's shape";
  }
  p->product.has_bias = p->bias_input >= 0;
  p->product.has_addend = p->addend_input >= 0;
  return check_size(&p->product);
}

static int64_t batch_of(const hone_shape *shape) {
  int64_t batch = 1;
  for (int d = 0; d + 2 < shape->rank; ++d) batch *= shape->dim[d];
  return batch;
}

static const char *plan_matmul(const hone_query *query, planned *p) {
  *p = (planned){.bias_input = -1, .addend_input = -1};
  const char *reason = check_types(query);
  if (reason) return reason;
  const hone_shape *a = &query->in[0].type.shape, *b = &query->in[1].type.shape;
  if (a->rank < 2 || b->rank < 2) return "a vector";
  const int64_t a_batch = batch_of(a), b_batch = batch_of(b), batch = batch_of(&query->out[0].type.shape);
  if ((a_batch != batch && a_batch != 1) || (b_batch != batch && b_batch != 1))
    return "batches that are broadcast in part";
  p->product = (hn_cuda_product_plan){
      .m = a->dim[a->rank - 2], .k = a->dim[a->rank - 1], .n = b->dim[b->rank - 1], .batch = batch, .alpha = 1};
  if (b_batch == 1) { /* one product of all rows */
    p->product.m *= batch;
    p->product.batch = 1;
    if (a_batch != batch) return "batches that are broadcast in part";
  }
  p->product.a_stride = a_batch == 1 ? 0 : p->product.m * p->product.k;
  p->product.b_stride = b_batch == 1 ? 0 : p->product.n * p->product.k;
  return check_size(&p->product);
}

/* ---- the rows ---- */

static int variants(const hone_query *query, hone_params *out, int room) {
  (void)query;
  return hn_cuda_proposals(out, room < VARIANTS ? room : VARIANTS);
}

static size_t scratch(const hone_query *query) {
  (void)query;
  return HN_CUDA_WORKSPACE_BYTES;
}

static size_t state_bytes(const hone_query *query) {
  (void)query;
  return sizeof(state);
}

static hone_status make_after(hone_unit *unit, const hone_query *query, const planned *p, state *s,
                              hone_diagnostics *diag) {
  static const char *const types[2] = {"float", "float"};
  const hone_shape flat = {.rank = 1, .dim = {hn_cuda_elements(&query->out[0].type.shape)}};
  const int64_t strides[1][HONE_MAX_RANK] = {{1}};
  hn_cuda_places places;
  if (!hn_cuda_place(&flat, 1, strides, &places))
    return unit->host->fail(diag, HONE_UNSUPPORTED, "more elements than 30 bits count");
  s->has_after = true;
  return hn_cuda_kernel_make(unit, p->after, &places, types, &s->after, diag);
}

static hone_status prepare(hone_unit *unit, const hone_query *query, planned *p, const char *reason, state *s,
                           hone_diagnostics *diag) {
  if (reason) return unit->host->fail(diag, HONE_UNSUPPORTED, reason);
  p->product.algorithm = query->params && query->params->count ? (int)query->params->items[0].value : 0;
  s->bias_input = p->bias_input;
  s->addend_input = p->addend_input;
  hone_status status = hn_cuda_product_make(unit, &p->product, &s->product, diag);
  if (status == HONE_OK && p->after[0]) status = make_after(unit, query, p, s, diag);
  if (status != HONE_OK) hn_cuda_product_drop(&s->product);
  return status;
}

static void release(void *s) { hn_cuda_product_drop(&((state *)s)->product); }

static hone_status launch(void *made, hone_stream *stream, const hone_launch *launch) {
  state *s = made;
  void *y = launch->out[0].data;
  const hone_status status =
      hn_cuda_product_launch(&s->product, stream, launch->in[0].data, launch->in[1].data,
                             s->bias_input >= 0 ? launch->in[s->bias_input].data : NULL,
                             s->addend_input >= 0 ? launch->in[s->addend_input].data : NULL, y, launch->scratch);
  if (status != HONE_OK || !s->has_after) return status;
  const void *in[1] = {y};
  return hn_cuda_kernel_launch(&s->after, stream, in, y);
}

#define PRODUCT(row, row_name, row_op, needs)                                                                          \
  static const char *reject_##row(const hone_query *query) {                                                           \
    planned p;                                                                                                         \
    return plan_##row(query, &p);                                                                                      \
  }                                                                                                                    \
  static hone_status prepare_##row(hone_unit *unit, const hone_query *query, void *s, hone_diagnostics *diag) {        \
    planned p;                                                                                                         \
    const char *reason = plan_##row(query, &p);                                                                        \
    return prepare(unit, query, &p, reason, s, diag);                                                                  \
  }                                                                                                                    \
  const hone_tactic hn_tactic_cuda_##row = {                                                                           \
      .struct_size = sizeof(hone_tactic),                                                                              \
      .name = row_name,                                                                                                \
      .version = 1,                                                                                                    \
      .op = row_op,                                                                                                    \
      .isa = (needs),                                                                                                  \
      .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,                                                        \
      .reject = reject_##row,                                                                                          \
      .variants = variants,                                                                                            \
      .scratch = scratch,                                                                                              \
      .state_bytes = state_bytes,                                                                                      \
      .prepare = prepare_##row,                                                                                        \
      .release = release,                                                                                              \
      .launch = launch,                                                                                                \
      .library = "CUBLAS_LT",                                                                                          \
  }
PRODUCT(linear, "cuda.linear.f32.cublaslt", "linear", HN_CUDA_LT);
PRODUCT(linear_act, "cuda.linear.f32.cublaslt.act", "linear", HN_CUDA_LT | HN_CUDA_NVRTC);
PRODUCT(gemm, "cuda.gemm.f32.cublaslt", "gemm", HN_CUDA_LT);
PRODUCT(matmul, "cuda.matmul.f32.cublaslt", "matmul", HN_CUDA_LT);
