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

void hn_cuda_lift_limits(const hone_unit *unit, CUfunction function) {
  const hn_cuda_driver_api *api = &unit->driver->api;
  int most = 0, fixed = 0;
  if (api->cuDeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, unit->device) ==
          CUDA_SUCCESS &&
      api->cuFuncGetAttribute(&fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function) == CUDA_SUCCESS)
    (void)api->cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most - fixed);
  if (unit->sm >= 90) (void)api->cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
}

hone_status hn_cuda_load_builtins(hone_unit *unit, hone_diagnostics *diag) {
  const hn_cuda_driver_api *api = &unit->driver->api;
  hone_status status = HONE_OK;
  for (int f = 0; status == HONE_OK && f < HN_CUDA_FILE_COUNT; ++f)
    status =
        hn_cuda_check(unit, diag, api->cuModuleLoadData(&unit->modules[f], images[f]), "loading the built-in kernels");
  for (int k = 0; status == HONE_OK && k < HN_CUDA_BUILTIN_COUNT; ++k) {
    status = hn_cuda_check(
        unit, diag, api->cuModuleGetFunction(&unit->builtins[k], unit->modules[kernels[k].file], kernels[k].name),
        kernels[k].name);
    if (status == HONE_OK) hn_cuda_lift_limits(unit, unit->builtins[k]);
  }
  return status;
}

void hn_cuda_unload_builtins(hone_unit *unit) {
  for (int f = 0; f < HN_CUDA_FILE_COUNT; ++f)
    if (unit->modules[f]) (void)unit->driver->api.cuModuleUnload(unit->modules[f]);
}

hone_status hn_cuda_launch_function(hone_stream *stream, CUfunction function, const hn_cuda_shape *shape,
                                    void **arguments) {
  const hone_unit *unit = stream->unit;
  const hn_cuda_grid grid = shape->grid;
  CUlaunchAttribute attributes[2];
  unsigned count = 0;
  if (!grid.x || !grid.y || !grid.z) return HONE_OK;
  if (!hn_cuda_enter(unit)) return HONE_DEVICE;
  if (shape->cluster > 1)
    attributes[count++] = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                              .value.clusterDim = {.x = shape->cluster, .y = 1, .z = 1}};
  if (shape->dependent && !stream->behind && unit->sm >= 90)
    attributes[count++] = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                                              .value.programmaticStreamSerializationAllowed = 1};
  const CUlaunchConfig config = {.gridDimX = grid.x,
                                 .gridDimY = grid.y,
                                 .gridDimZ = grid.z,
                                 .blockDimX = shape->threads,
                                 .blockDimY = 1,
                                 .blockDimZ = 1,
                                 .sharedMemBytes = shape->shared_bytes,
                                 .hStream = stream->stream,
                                 .attrs = attributes,
                                 .numAttrs = count};
  stream->behind = false;
  const CUresult result = unit->driver->api.cuLaunchKernelEx(&config, function, arguments, NULL);
  return result == CUDA_SUCCESS ? HONE_OK : HONE_DEVICE;
}

hone_status hn_cuda_launch_shaped(hone_stream *stream, hn_cuda_builtin kernel, const hn_cuda_shape *shape,
                                  void **arguments) {
  return hn_cuda_launch_function(stream, stream->unit->builtins[kernel], shape, arguments);
}

hone_status hn_cuda_launch(hone_stream *stream, hn_cuda_builtin kernel, hn_cuda_grid grid, unsigned threads,
                           void **arguments) {
  const hn_cuda_shape shape = {.grid = grid, .threads = threads, .dependent = true};
  return hn_cuda_launch_shaped(stream, kernel, &shape, arguments);
}
