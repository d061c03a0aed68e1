/* SPDX-License-Identifier: Apache-2.0 */
/* builtin.c - the built-in kernels loaded, and launched. */
#include "backend/cuda/cuda.h"

#define HN_CUDA_FILE(file) extern const char hn_cuda_##file##_begin[];
#include "backend/cuda/builtins.inc"

static const char *const images[] = {
#define HN_CUDA_FILE(file) hn_cuda_##file##_begin,
#include "backend/cuda/builtins.inc"
};

static const struct {
  hn_cuda_file file;
  const char *name;
} kernels[HN_CUDA_BUILTIN_COUNT] = {
#define HN_CUDA_KERNEL(file, kernel) {HN_CUDA_FILE_##file, "hn_" #kernel},
#include "backend/cuda/builtins.inc"
};

hone_status hn_cuda_load_builtins(hone_unit *unit, hone_diagnostics *diag) {
  const hn_cuda_driver_api *api = &unit->driver->api;
  hone_status status = HONE_OK;
  for (int f = 0; status == HONE_OK && f < HN_CUDA_FILE_COUNT; ++f)
    status =
        hn_cuda_check(unit, diag, api->cuModuleLoadData(&unit->modules[f], images[f]), "loading the built-in kernels");
  for (int k = 0; status == HONE_OK && k < HN_CUDA_BUILTIN_COUNT; ++k)
    status = hn_cuda_check(
        unit, diag, api->cuModuleGetFunction(&unit->builtins[k], unit->modules[kernels[k].file], kernels[k].name),
        kernels[k].name);
  return status;
}

void hn_cuda_unload_builtins(hone_unit *unit) {
  for (int f = 0; f < HN_CUDA_FILE_COUNT; ++f)
    if (unit->modules[f]) (void)unit->driver->api.cuModuleUnload(unit->modules[f]);
}

hone_status hn_cuda_launch(hone_stream *stream, hn_cuda_builtin kernel, hn_cuda_grid grid, unsigned threads,
                           void **arguments) {
  const hone_unit *unit = stream->unit;
  if (!grid.x || !grid.y || !grid.z) return HONE_OK;
  if (!hn_cuda_enter(unit)) return HONE_DEVICE;
  const CUresult result = unit->driver->api.cuLaunchKernel(unit->builtins[kernel], grid.x, grid.y, grid.z, threads, 1,
                                                           1, 0, stream->stream, arguments, NULL);
  return result == CUDA_SUCCESS ? HONE_OK : HONE_DEVICE;
}
