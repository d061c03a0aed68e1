/* SPDX-License-Identifier: Apache-2.0 */
/* product.c - cuBLASLt opened, and one product on it. cuBLASLt is column-major: a row-major product is its transpose,
 * y' = op(b)' . op(a)', so that b comes first and the bias runs along the rows of y'. */
#include "backend/cuda/product/gemm.h"
#include <dlfcn.h>

enum { PROPOSALS = 8 };

#define TEXT_OF(name) #name
#define NAME_OF(name) TEXT_OF(name),
static const char *const names[] = {HN_CUDA_LT_FUNCTIONS(NAME_OF)};

void hn_cuda_open_lt(hone_unit *unit) {
  static const char *const libraries[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so", NULL};
  unit->lt_library = hn_cuda_open_library(unit->host, libraries);
  if (!unit->lt_library) return;
  if (hn_cuda_fill(unit->lt_library, names, (int)(sizeof names / sizeof *names), &unit->lt) ||
      unit->lt.cublasLtCreate(&unit->lt_handle) != CUBLAS_STATUS_SUCCESS) {
    dlclose(unit->lt_library);
    unit->lt_library = NULL;
    unit->lt_handle = NULL;
    return;
  }
  unit->facts.isa |= HN_CUDA_LT;
}

void hn_cuda_close_lt(hone_unit *unit) {
  if (unit->lt_handle) (void)unit->lt.cublasLtDestroy(unit->lt_handle);
  if (unit->lt_library) dlclose(unit->lt_library);
}

void hn_cuda_product_drop(hn_cuda_product *p) {
  if (!p->unit) return;
  const hn_cuda_lt_api *lt = &p->unit->lt;
  if (p->desc) (void)lt->cublasLtMatmulDescDestroy(p->desc);
  if (p->a) (void)lt->cublasLtMatrixLayoutDestroy(p->a);
  if (p->b) (void)lt->cublasLtMatrixLayoutDestroy(p->b);
  if (p->y) (void)lt->cublasLtMatrixLayoutDestroy(p->y);
  *p = (hn_cuda_product){0};
}

static cudaDataType_t type_of(const hn_cuda_product *p) {
  return p->plan.dtype == HONE_F16 ? CUDA_R_16F : p->plan.dtype == HONE_BF16 ? CUDA_R_16BF : CUDA_R_32F;
}

/* A row-major matrix of rows x columns is a column-major one of columns x rows. */
static bool layout(const hn_cuda_product *p, int64_t rows, int64_t columns, int64_t stride,
                   cublasLtMatrixLayout_t *out) {
  const hn_cuda_lt_api *lt = &p->unit->lt;
  if (lt->cublasLtMatrixLayoutCreate(out, type_of(p), (uint64_t)columns, (uint64_t)rows, columns) !=
      CUBLAS_STATUS_SUCCESS)
    return false;
  const int32_t batch = (int32_t)p->plan.batch;
  if (batch == 1) return true;
  return lt->cublasLtMatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch) ==
             CUBLAS_STATUS_SUCCESS &&
         lt->cublasLtMatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                                              sizeof stride) == CUBLAS_STATUS_SUCCESS;
}

static bool set(const hn_cuda_product *p, cublasLtMatmulDescAttributes_t what, const void *value, size_t bytes) {
  return p->unit->lt.cublasLtMatmulDescSetAttribute(p->desc, what, value, bytes) == CUBLAS_STATUS_SUCCESS;
}

static bool describe(hn_cuda_product *p) {
  const hn_cuda_product_plan *plan = &p->plan;
  const cudaDataType_t type = type_of(p);
  /* COMPUTE_32F: sums in f32, and products too, where TF32 was not allowed. */
  const cublasComputeType_t compute = plan->in_tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  if (p->unit->lt.cublasLtMatmulDescCreate(&p->desc, compute, CUDA_R_32F) != CUBLAS_STATUS_SUCCESS) return false;
  const cublasOperation_t of_b = plan->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t of_a = plan->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasLtEpilogue_t epilogue = plan->has_bias ? plan->relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS
                                      : plan->relu   ? CUBLASLT_EPILOGUE_RELU
                                                     : CUBLASLT_EPILOGUE_DEFAULT;
  return set(p, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &type, sizeof type) &&
         set(p, CUBLASLT_MATMUL_DESC_TRANSA, &of_b, sizeof of_b) &&
         set(p, CUBLASLT_MATMUL_DESC_TRANSB, &of_a, sizeof of_a) &&
         set(p, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue) &&
         layout(p, plan->transpose_b ? plan->n : plan->k, plan->transpose_b ? plan->k : plan->n, plan->b_stride,
                &p->b) &&
         layout(p, plan->transpose_a ? plan->k : plan->m, plan->transpose_a ? plan->m : plan->k, plan->a_stride,
                &p->a) &&
         layout(p, plan->m, plan->n, plan->m * plan->n, &p->y);
}

/* The library proposes, best first; which of them is taken is the tactic's parameter. */
static bool choose(hn_cuda_product *p) {
  const hn_cuda_lt_api *lt = &p->unit->lt;
  cublasLtMatmulPreference_t preference = NULL;
  cublasLtMatmulHeuristicResult_t proposals[PROPOSALS];
  static const cublasLtMatmulPreferenceAttributes_t alignments[] = {
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
  const uint64_t workspace = HN_CUDA_WORKSPACE_BYTES;
  const uint32_t alignment = 64; /* of tensors, and of what is laid inside others */
  int count = 0;
  if (lt->cublasLtMatmulPreferenceCreate(&preference) != CUBLAS_STATUS_SUCCESS) return false;
  bool aligned = true;
  for (int i = 0; i < 4; ++i)
    aligned = aligned && lt->cublasLtMatmulPreferenceSetAttribute(preference, alignments[i], &alignment,
                                                                  sizeof alignment) == CUBLAS_STATUS_SUCCESS;
  const bool asked = aligned &&
                     lt->cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                              &workspace, sizeof workspace) == CUBLAS_STATUS_SUCCESS &&
                     lt->cublasLtMatmulAlgoGetHeuristic(p->unit->lt_handle, p->desc, p->b, p->a, p->y, p->y, preference,
                                                        PROPOSALS, proposals, &count) == CUBLAS_STATUS_SUCCESS;
  (void)lt->cublasLtMatmulPreferenceDestroy(preference);
  if (!asked || count < 1) return false;
  p->algorithm = proposals[p->plan.algorithm < count ? p->plan.algorithm : count - 1].algo;
  return true;
}

hone_status hn_cuda_product_make(hone_unit *unit, hn_cuda_product *p, hone_diagnostics *diag) {
  const hn_cuda_product_plan plan = p->plan;
  p->unit = unit;
  if (!unit->lt_library) return unit->host->fail(diag, HONE_DEVICE, "cuBLASLt (libcublasLt.so) was not found");
  if (hn_cuda_enter(unit) && describe(p) && choose(p)) return HONE_OK;
  hn_cuda_product_drop(p);
  return hn_cuda_fail(unit->host, diag, HONE_UNSUPPORTED, "cuBLASLt has no product of %lld x %lld x %lld, batch %lld",
                      (long long)plan.m, (long long)plan.n, (long long)plan.k, (long long)plan.batch);
}

hone_status hn_cuda_product_launch(hn_cuda_product *p, hone_stream *stream, const void *a, const void *b,
                                   const void *bias, const void *addend, void *y, void *workspace) {
  const float beta = addend ? p->plan.beta : 0;
  if (!hn_cuda_enter(p->unit)) return HONE_DEVICE;
  if (bias && !set(p, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias)) return HONE_DEVICE;
  const cublasStatus_t status = p->unit->lt.cublasLtMatmul(
      p->unit->lt_handle, p->desc, &p->plan.alpha, b, p->b, a, p->a, &beta, addend ? addend : y, p->y, y, p->y,
      &p->algorithm, workspace, HN_CUDA_WORKSPACE_BYTES, (cudaStream_t)stream->stream);
  return status == CUBLAS_STATUS_SUCCESS ? HONE_OK : HONE_DEVICE;
}
