/* SPDX-License-Identifier: Apache-2.0 */
/* measure.c - the peaks that times are held against: bytes of memory by reads of much of it and by a copy within it,
 * read and write counted; bytes of the L2 cache by reads of what it holds; operations by loops over registers and
 * shared memory, and by cuBLASLt's products, when it is there, both of random-like numbers. The best of several. */
#include "backend/cuda/product/gemm.h"
#include "kernels/cuda/args.h"
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 6, THREADS = 256, PASSES = 64 };
static const size_t copy_bytes = (size_t)256 << 20;

/* What is measured on. */
typedef struct bed {
  hone_unit *unit;
  hone_stream *stream;
  hone_memory memory, workspace;
} bed;

/* The fastest round's rate, and what the median round was slower. */
typedef struct rounds {
  int count;
  double rates[ROUNDS];
} rounds;

static int descending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x < y) - (x > y);
}

static void keep(const bed *b, hone_roof roof, rounds *r) {
  if (r->count == 0) return;
  qsort(r->rates, (size_t)r->count, sizeof r->rates[0], descending);
  if (r->rates[0] <= b->unit->facts.roofs[roof]) return;
  b->unit->facts.roofs[roof] = r->rates[0];
  b->unit->facts.spreads[roof] = 1 - r->rates[r->count / 2] / r->rates[0];
}

/* Times rounds of work() between two marks; the first one warms up. Of several ways to a roof the fastest is kept.
 * amount: of operations or bytes. */
static void measure(const bed *b, hone_roof roof, double amount, bool (*work)(const bed *b, const void *of),
                    const void *of) {
  rounds r = {0};
  for (int round = 0; round <= ROUNDS; ++round) {
    double elapsed_ns = 0;
    if (hn_cuda_mark(b->stream, 0) != HONE_OK || !work(b, of) || hn_cuda_mark(b->stream, 1) != HONE_OK ||
        hn_cuda_wait(b->stream) != HONE_OK || hn_cuda_between(b->stream, 0, 1, &elapsed_ns) != HONE_OK)
      break;
    if (round > 0 && elapsed_ns > 0) r.rates[r.count++] = amount / elapsed_ns * 1e9;
  }
  keep(b, roof, &r);
}

/* ---- bytes ---- */

static bool copy(const bed *b, const void *of) {
  (void)of;
  return hn_cuda_copy(b->stream, (hone_slice){&b->memory, copy_bytes, copy_bytes},
                      (hone_slice){&b->memory, 0, copy_bytes}) == HONE_OK;
}

/* A quarter of the cache, which is as much as both of its halves hold at once where it has two. */
static size_t resident_bytes(const hone_unit *unit) {
  const size_t bytes = unit->facts.l2_bytes / 4 / 4096 * 4096;
  return bytes < copy_bytes ? bytes : copy_bytes;
}

/* of: the bytes to read; all of them once, what the cache holds again and again. */
static bool read_again(const bed *b, const void *of) {
  const size_t bytes = *(const size_t *)of;
  uint64_t from = b->memory.address, sink = b->workspace.address;
  unsigned count = (unsigned)(bytes / 16), passes = bytes < copy_bytes ? PASSES : 1;
  void *arguments[] = {&from, &count, &passes, &sink};
  const hn_cuda_shape shape = {.grid = {8 * (unsigned)b->unit->facts.threads, 1, 1}, .threads = THREADS};
  return hn_cuda_launch_shaped(b->stream, HN_CUDA_read_again, &shape, arguments) == HONE_OK;
}

/* ---- operations ---- */

/* A type's product, a transposed: what integers and fp8 want, and the others take; and a loop of ours. */
typedef struct product_row {
  hone_roof roof;
  bool (*loop)(const bed *b, const void *row); /* NULL: none */
  double loop_operations;                      /* of a multiprocessor */
  int loop_sm;                                 /* the one architecture that has it; 0: all */
  hn_cuda_builtin kernel;
  int least_sm, edge, in_bytes;
  cudaDataType_t in, out, scale;
  cublasComputeType_t compute;
  uint32_t mask, fixed; /* of 32 random bits: numbers of this type near one, of any sign and fraction */
} product_row;

enum { ADD_ROUNDS = 4000, UNIT_ROUNDS = 2000 };

/* Fused multiplications and additions of registers (roof.cu). */
static bool add_again(const bed *b, const void *of) {
  const product_row *row = of;
  uint64_t sink = b->workspace.address;
  unsigned turns = ADD_ROUNDS;
  void *arguments[] = {&turns, &sink};
  const hn_cuda_shape shape = {.grid = {(unsigned)b->unit->facts.threads, 1, 1}, .threads = HN_ROOF_ADD_THREADS};
  return hn_cuda_launch_shaped(b->stream, row->kernel, &shape, arguments) == HONE_OK;
}

/* Products on the units for matrices, of what lies in shared memory (units.cu). */
static bool multiply_again(const bed *b, const void *of) {
  const product_row *row = of;
  uint64_t bits = b->memory.address, sink = b->workspace.address;
  unsigned turns = UNIT_ROUNDS;
  void *arguments[] = {&bits, &turns, &sink};
  const hn_cuda_shape shape = {.grid = {(unsigned)b->unit->facts.threads, 1, 1},
                               .threads = HN_ROOF_GROUPS * 128,
                               .shared_bytes = (HN_ROOF_GROUPS * 64 + HN_ROOF_COLUMNS) * HN_ROOF_ROW_BYTES};
  return hn_cuda_launch_shaped(b->stream, row->kernel, &shape, arguments) == HONE_OK;
}

#define ADD_LOOP .loop = add_again, .loop_operations = 2.0 * HN_ROOF_ADDS * HN_ROOF_ADD_THREADS * ADD_ROUNDS
#define UNIT_LOOP(bytes)                                                                                               \
  .loop = multiply_again, .loop_sm = 90,                                                                               \
  .loop_operations = 2.0 * HN_ROOF_GROUPS * HN_ROOF_PRODUCTS * 64 * HN_ROOF_COLUMNS * (32.0 / (bytes)) * UNIT_ROUNDS
#define PRODUCT(sm, extent, bytes, a, y, by, how, bits, with)                                                          \
  .least_sm = sm, .edge = extent, .in_bytes = bytes, .in = a, .out = y, .scale = by, .compute = how, .mask = bits,     \
  .fixed = with

static const product_row product_rows[] = {
    {HONE_ROOF_F64,
     PRODUCT(70, 4096, 8, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, 0x800fffff, 0x3fe00000)},
    {HONE_ROOF_F32, ADD_LOOP, .kernel = HN_CUDA_add_again_f32,
     PRODUCT(70, 4096, 4, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 0x807fffff, 0x3f000000)},
    {HONE_ROOF_TF32, UNIT_LOOP(4), .kernel = HN_CUDA_multiply_again_tf32,
     PRODUCT(80, 4096, 4, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, 0x807fffff, 0x3f000000)},
    {HONE_ROOF_F16, UNIT_LOOP(2), .kernel = HN_CUDA_multiply_again_f16,
     PRODUCT(70, 8192, 2, CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 0x8fff8fff, 0x28002800)},
    {HONE_ROOF_BF16, UNIT_LOOP(2), .kernel = HN_CUDA_multiply_again_bf16,
     PRODUCT(80, 8192, 2, CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, 0x83ff83ff, 0x3c003c00)},
    {HONE_ROOF_FP8, UNIT_LOOP(1), .kernel = HN_CUDA_multiply_again_e4m3,
     PRODUCT(89, 8192, 1, CUDA_R_8F_E4M3, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, 0x8f8f8f8f, 0x30303030)},
    {HONE_ROOF_INT8, UNIT_LOOP(1), .kernel = HN_CUDA_multiply_again_i8,
     PRODUCT(75, 8192, 1, CUDA_R_8I, CUDA_R_32I, CUDA_R_32I, CUBLAS_COMPUTE_32I, 0xffffffff, 0)},
};

/* Fills with different numbers: zeros need less power and run faster than data. What the host made is doubled. */
static bool fill(const bed *b, uint32_t mask, uint32_t fixed) {
  const size_t bytes = (size_t)1 << 20; /* memory's are a power of two times that */
  const hone_host *host = b->unit->host;
  uint32_t *numbers = hn_cuda_new(host, bytes), seed = 1;
  if (!numbers) return false;
  for (size_t i = 0; i < bytes / sizeof *numbers; ++i) {
    seed = seed * 1664525u + 1013904223u;
    numbers[i] = ((seed ^ seed >> 15) & mask) | fixed;
  }
  const hone_memory from = {.data = numbers, .address = (uintptr_t)numbers, .bytes = bytes};
  bool good = hn_cuda_copy(b->stream, (hone_slice){&b->memory, 0, bytes}, (hone_slice){&from, 0, bytes}) == HONE_OK;
  for (size_t at = bytes; at < b->memory.bytes && good; at *= 2)
    good = hn_cuda_copy(b->stream, (hone_slice){&b->memory, at, at}, (hone_slice){&b->memory, 0, at}) == HONE_OK;
  good = hn_cuda_wait(b->stream) == HONE_OK && good;
  hn_cuda_delete(host, numbers, bytes);
  return good;
}

typedef struct product {
  const product_row *row;
  cublasLtMatmulDesc_t desc;
  cublasLtMatrixLayout_t in, out;
  cublasLtMatmulAlgo_t algorithm;
} product;

static bool choose(const bed *b, product *p) {
  const hn_cuda_lt_api *lt = &b->unit->lt;
  const uint64_t workspace = HN_CUDA_WORKSPACE_BYTES;
  cublasLtMatmulPreference_t preference = NULL;
  cublasLtMatmulHeuristicResult_t proposal;
  int count = 0;
  if (lt->cublasLtMatmulPreferenceCreate(&preference) != CUBLAS_STATUS_SUCCESS) return false;
  const bool asked = lt->cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                              &workspace, sizeof workspace) == CUBLAS_STATUS_SUCCESS &&
                     lt->cublasLtMatmulAlgoGetHeuristic(b->unit->lt_handle, p->desc, p->in, p->in, p->out, p->out,
                                                        preference, 1, &proposal, &count) == CUBLAS_STATUS_SUCCESS;
  (void)lt->cublasLtMatmulPreferenceDestroy(preference);
  if (!asked || count < 1) return false;
  p->algorithm = proposal.algo;
  return true;
}

static bool make_product(const bed *b, product *p) {
  const hn_cuda_lt_api *lt = &b->unit->lt;
  const product_row *row = p->row;
  const cublasOperation_t transposed = CUBLAS_OP_T;
  const uint64_t edge = (uint64_t)row->edge;
  return lt->cublasLtMatmulDescCreate(&p->desc, row->compute, row->scale) == CUBLAS_STATUS_SUCCESS &&
         lt->cublasLtMatmulDescSetAttribute(p->desc, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed) ==
             CUBLAS_STATUS_SUCCESS &&
         lt->cublasLtMatrixLayoutCreate(&p->in, row->in, edge, edge, row->edge) == CUBLAS_STATUS_SUCCESS &&
         lt->cublasLtMatrixLayoutCreate(&p->out, row->out, edge, edge, row->edge) == CUBLAS_STATUS_SUCCESS &&
         choose(b, p);
}

static void drop_product(const bed *b, product *p) {
  const hn_cuda_lt_api *lt = &b->unit->lt;
  if (p->desc) (void)lt->cublasLtMatmulDescDestroy(p->desc);
  if (p->in) (void)lt->cublasLtMatrixLayoutDestroy(p->in);
  if (p->out) (void)lt->cublasLtMatrixLayoutDestroy(p->out);
}

static bool multiply(const bed *b, const void *of) {
  const product *p = of;
  const double one_f64 = 1, zero_f64 = 0;
  const float one_f32 = 1, zero_f32 = 0;
  const int32_t one_i32 = 1, zero_i32 = 0;
  const cudaDataType_t scale = p->row->scale;
  const void *one = scale == CUDA_R_64F   ? (const void *)&one_f64
                    : scale == CUDA_R_32I ? (const void *)&one_i32
                                          : &one_f32;
  const void *zero = scale == CUDA_R_64F   ? (const void *)&zero_f64
                     : scale == CUDA_R_32I ? (const void *)&zero_i32
                                           : &zero_f32;
  const size_t matrix = (size_t)p->row->edge * (size_t)p->row->edge * (size_t)p->row->in_bytes;
  char *at = (char *)(uintptr_t)b->memory.address;
  return hn_cuda_enter(b->unit) &&
         b->unit->lt.cublasLtMatmul(b->unit->lt_handle, p->desc, one, at, p->in, at + matrix, p->in, zero,
                                    at + 2 * matrix, p->out, at + 2 * matrix, p->out, &p->algorithm,
                                    (void *)(uintptr_t)b->workspace.address, HN_CUDA_WORKSPACE_BYTES,
                                    (cudaStream_t)b->stream->stream) == CUBLAS_STATUS_SUCCESS;
}

static void measure_operations(const bed *b) {
  for (size_t i = 0; i < sizeof product_rows / sizeof *product_rows; ++i) {
    const product_row *row = &product_rows[i];
    product p = {.row = row};
    const double edge = row->edge;
    if (b->unit->sm < row->least_sm || !fill(b, row->mask, row->fixed)) continue;
    if (row->loop && (row->loop_sm == 0 || row->loop_sm == b->unit->sm))
      measure(b, row->roof, row->loop_operations * b->unit->facts.threads, row->loop, row);
    if (!b->unit->lt_library) continue;
    if (make_product(b, &p)) measure(b, row->roof, 2 * edge * edge * edge, multiply, &p);
    drop_product(b, &p);
  }
}

/* ---- all of it ---- */

static hone_status take(hone_unit *unit, size_t bytes, hone_memory *out) {
  CUdeviceptr address = 0;
  if (!hn_cuda_enter(unit) || unit->driver->api.cuMemAlloc(&address, bytes) != CUDA_SUCCESS) return HONE_NO_MEMORY;
  *out = (hone_memory){.address = address, .bytes = bytes};
  return HONE_OK;
}

hone_status hn_cuda_measure(hone_unit *unit) {
  bed b = {.unit = unit};
  hone_status status = take(unit, 2 * copy_bytes, &b.memory);
  if (status == HONE_OK) status = take(unit, HN_CUDA_WORKSPACE_BYTES, &b.workspace);
  if (status == HONE_OK) status = hn_cuda_stream(unit, 2, &b.stream);
  if (status == HONE_OK && !fill(&b, 0x807fffff, 0x3f000000)) status = HONE_DEVICE;
  if (status == HONE_OK) {
    const size_t held = resident_bytes(unit), all = b.memory.bytes;
    memset(unit->facts.roofs, 0, sizeof unit->facts.roofs);
    measure(&b, HONE_ROOF_MEMORY, 2 * (double)copy_bytes, copy, NULL);
    measure(&b, HONE_ROOF_MEMORY, (double)all, read_again, &all);
    if (held) measure(&b, HONE_ROOF_L2, PASSES * (double)held, read_again, &held);
    measure_operations(&b);
  }
  if (b.stream) hn_cuda_drop(b.stream);
  if (b.workspace.bytes) (void)unit->driver->api.cuMemFree(b.workspace.address);
  if (b.memory.bytes) (void)unit->driver->api.cuMemFree(b.memory.address);
  return status;
}
