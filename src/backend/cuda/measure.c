/* SPDX-License-Identifier: Apache-2.0 */
/* measure.c - the peaks that times are held against: bytes by a copy within the device's memory, read and write
 * counted; flops by cuBLASLt's products of random-like numbers, when it is there. The best of several. */
#include "backend/cuda/product/gemm.h"
#include <string.h>

enum { ROUNDS = 5, EDGE = 4096 };
static const size_t copy_bytes = (size_t)256 << 20;

static double best_copy(hone_stream *stream, const hone_memory *memory) {
  double best = 0;
  const hone_slice to = {memory, copy_bytes, copy_bytes}, from = {memory, 0, copy_bytes};
  for (int round = 0; round < ROUNDS; ++round) {
    double elapsed_ns = 0;
    if (hn_cuda_mark(stream, 0) != HONE_OK || hn_cuda_copy(stream, to, from) != HONE_OK ||
        hn_cuda_mark(stream, 1) != HONE_OK || hn_cuda_wait(stream) != HONE_OK ||
        hn_cuda_between(stream, 0, 1, &elapsed_ns) != HONE_OK)
      return 0;
    const double rate = 2 * (double)copy_bytes / elapsed_ns * 1e9;
    if (round > 0 && rate > best) best = rate;
  }
  return best;
}

/* A number in [-1, 1) of 32 bits, or two of 16. */
static uint32_t bits_of(hone_dtype dtype, uint32_t random) {
  if (dtype != HONE_F32) /* any sign and fraction, exponents a little below zero */
    return dtype == HONE_F16 ? (random & 0x8fff8fff) | 0x28002800 : (random & 0x83ff83ff) | 0x3c003c00;
  const float number = (float)(random >> 8) / (1 << 23) - 1;
  uint32_t bits;
  memcpy(&bits, &number, sizeof bits);
  return bits;
}

/* Fills with different numbers: zeros need less power and run faster than data. */
static bool fill(hone_stream *stream, const hone_memory *memory, hone_dtype dtype) {
  hone_unit *unit = stream->unit;
  const size_t bytes = (size_t)1 << 20;
  uint32_t *numbers = hn_cuda_new(unit->host, bytes), seed = 1;
  if (!numbers) return false;
  for (size_t i = 0; i < bytes / sizeof *numbers; ++i) {
    seed = seed * 1664525u + 1013904223u;
    numbers[i] = bits_of(dtype, seed ^ seed >> 15);
  }
  const hone_memory host = {.data = numbers, .address = (uintptr_t)numbers, .bytes = bytes};
  bool good = true;
  for (size_t at = 0; at + bytes <= memory->bytes && good; at += bytes)
    good = hn_cuda_copy(stream, (hone_slice){memory, at, bytes}, (hone_slice){&host, 0, bytes}) == HONE_OK;
  good = hn_cuda_wait(stream) == HONE_OK && good;
  hn_cuda_delete(unit->host, numbers, bytes);
  return good;
}

static double best_product(hone_stream *stream, hone_dtype dtype, const hone_memory *memory,
                           const hone_memory *workspace) {
  hone_unit *unit = stream->unit;
  const size_t matrix = (size_t)EDGE * EDGE * (dtype == HONE_F32 ? 4 : 2);
  hn_cuda_product product = {.plan = {.dtype = dtype, .m = EDGE, .n = EDGE, .k = EDGE, .batch = 1, .alpha = 1}};
  double best = 0;
  if (!unit->lt_library || !fill(stream, memory, dtype) || hn_cuda_product_make(unit, &product, NULL) != HONE_OK)
    return 0;
  for (int round = 0; round < ROUNDS; ++round) {
    double elapsed_ns = 0;
    const uint64_t at = memory->address;
    if (hn_cuda_mark(stream, 0) != HONE_OK ||
        hn_cuda_product_launch(&product, stream, (void *)(uintptr_t)at, (void *)(uintptr_t)(at + matrix), NULL, NULL,
                               (void *)(uintptr_t)(at + 2 * matrix),
                               (void *)(uintptr_t)workspace->address) != HONE_OK ||
        hn_cuda_mark(stream, 1) != HONE_OK || hn_cuda_wait(stream) != HONE_OK ||
        hn_cuda_between(stream, 0, 1, &elapsed_ns) != HONE_OK)
      break;
    const double rate = 2.0 * EDGE * EDGE * EDGE / elapsed_ns * 1e9;
    if (round > 0 && rate > best) best = rate;
  }
  hn_cuda_product_drop(&product);
  return best;
}

static hone_status take(hone_unit *unit, size_t bytes, hone_memory *out) {
  CUdeviceptr address = 0;
  if (!hn_cuda_enter(unit) || unit->driver->api.cuMemAlloc(&address, bytes) != CUDA_SUCCESS) return HONE_NO_MEMORY;
  *out = (hone_memory){.address = address, .bytes = bytes};
  return HONE_OK;
}

hone_status hn_cuda_measure(hone_unit *unit) {
  hone_memory memory = {0}, workspace = {0};
  hone_stream *stream = NULL;
  hone_status status = take(unit, 2 * copy_bytes, &memory);
  if (status == HONE_OK) status = take(unit, HN_CUDA_WORKSPACE_BYTES, &workspace);
  if (status == HONE_OK) status = hn_cuda_stream(unit, 2, &stream);
  if (status == HONE_OK && !fill(stream, &memory, HONE_F32)) status = HONE_DEVICE;
  if (status == HONE_OK) {
    unit->facts.roofs[HONE_ROOF_MEMORY] = best_copy(stream, &memory);
    unit->facts.roofs[HONE_ROOF_F32] = best_product(stream, HONE_F32, &memory, &workspace);
    unit->facts.roofs[HONE_ROOF_F16] = best_product(stream, HONE_F16, &memory, &workspace);
    unit->facts.roofs[HONE_ROOF_BF16] = best_product(stream, HONE_BF16, &memory, &workspace);
  }
  if (stream) hn_cuda_drop(stream);
  if (workspace.bytes) (void)unit->driver->api.cuMemFree(workspace.address);
  if (memory.bytes) (void)unit->driver->api.cuMemFree(memory.address);
  return status;
}
