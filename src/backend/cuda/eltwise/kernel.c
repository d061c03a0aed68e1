/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.c - a generated kernel made ready, and its launch. */
#include "backend/cuda/cuda.h"

hone_status hn_cuda_kernel_make(hone_unit *unit, const char *text, const char *const *types, hn_cuda_kernel *kernel,
                                hone_diagnostics *diag) {
  int per_thread;
  char *source = hn_cuda_new(unit->host, HN_CUDA_SOURCE_BYTES);
  if (!source) return unit->host->fail(diag, HONE_NO_MEMORY, "out of memory");
  hone_status status = hn_cuda_generate(text, &kernel->places, types, source, HN_CUDA_SOURCE_BYTES, &per_thread)
                           ? hn_cuda_compile(unit, source, &kernel->function, diag)
                           : unit->host->fail(diag, HONE_LIMIT, "an expression is too long for one kernel");
  hn_cuda_delete(unit->host, source, HN_CUDA_SOURCE_BYTES);
  const unsigned threads = kernel->places.count / (unsigned)(status == HONE_OK ? per_thread : 1);
  kernel->blocks = (threads + HN_CUDA_THREADS - 1) / HN_CUDA_THREADS;
  return status;
}

hone_status hn_cuda_kernel_launch(const hn_cuda_kernel *kernel, hone_stream *stream, const void *const *in, void *out) {
  const hn_cuda_places *places = &kernel->places;
  int values[HN_CUDA_PLACE_NUMBERS];
  void *arguments[HN_CUDA_INPUTS + 3];
  int count = 0;
  if (kernel->blocks == 0) return HONE_OK;
  if (!hn_cuda_enter(stream->unit)) return HONE_DEVICE;
  arguments[count++] = &out;
  for (int k = 0; k < places->in_count; ++k) arguments[count++] = (void *)(uintptr_t)&in[k];
  arguments[count++] = (void *)(uintptr_t)&places->count;
  if (hn_cuda_place_numbers(places, values)) arguments[count++] = values;
  CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                                 .value.programmaticStreamSerializationAllowed = 1};
  const CUlaunchConfig config = {.gridDimX = kernel->blocks,
                                 .gridDimY = 1,
                                 .gridDimZ = 1,
                                 .blockDimX = HN_CUDA_THREADS,
                                 .blockDimY = 1,
                                 .blockDimZ = 1,
                                 .hStream = stream->stream,
                                 .attrs = &attribute,
                                 .numAttrs = !stream->behind && stream->unit->sm >= 90};
  stream->behind = false;
  const CUresult result = stream->unit->driver->api.cuLaunchKernelEx(&config, kernel->function, arguments, NULL);
  return result == CUDA_SUCCESS ? HONE_OK : HONE_DEVICE;
}
