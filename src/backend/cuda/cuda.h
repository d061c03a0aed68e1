/* SPDX-License-Identifier: Apache-2.0 */
/* cuda.h - inside of the CUDA backend: the driver's and the libraries' functions, units, streams, compiled kernels.
 *
 * A shared object of its own: it links none of our libraries and none of CUDA's. The driver is opened when the backend
 * is loaded; NVRTC and cuBLASLt when a device is, each optional: without one, the tactics that need it are not offered.
 * Functions are looked up under the versioned names to which cuda.h maps them. */
#ifndef HN_BACKEND_CUDA_CUDA_H
#define HN_BACKEND_CUDA_CUDA_H

#include "backend/cuda/eltwise/generate.h"
#include "base/diag.h"
#include "kernels/activation.h"
#include <cublasLt.h>
#include <cuda.h>
#include <hone/backend.h>
#include <nvrtc.h>
#include <pthread.h>

#define HN_CUDA_DRIVER_FUNCTIONS(row)                                                                                  \
  row(cuInit) row(cuDriverGetVersion) row(cuDeviceGetCount) row(cuDeviceGet) row(cuDeviceGetName)                      \
      row(cuDeviceGetAttribute) row(cuDevicePrimaryCtxRetain) row(cuDevicePrimaryCtxRelease) row(cuCtxSetCurrent)      \
          row(cuMemAlloc) row(cuMemFree) row(cuMemHostAlloc) row(cuMemFreeHost) row(cuMemcpyHtoDAsync)                 \
              row(cuMemcpyDtoHAsync) row(cuMemcpyDtoDAsync) row(cuStreamCreate) row(cuStreamDestroy)                   \
                  row(cuStreamSynchronize) row(cuEventCreate) row(cuEventDestroy) row(cuEventRecord)                   \
                      row(cuEventElapsedTime) row(cuStreamBeginCapture) row(cuStreamEndCapture)                        \
                          row(cuGraphInstantiate) row(cuGraphLaunch) row(cuGraphExecDestroy) row(cuGraphDestroy)       \
                              row(cuModuleLoadData) row(cuModuleUnload) row(cuModuleGetFunction) row(cuLaunchKernel)   \
                                  row(cuLaunchKernelEx) row(cuFuncGetAttribute) row(cuFuncSetAttribute)                \
                                      row(cuGetErrorString) row(cuTensorMapEncodeIm2col) row(cuTensorMapEncodeTiled)   \
                                          row(cuLaunchHostFunc) row(cuStreamWaitEvent)
#define HN_CUDA_NVRTC_FUNCTIONS(row)                                                                                   \
  row(nvrtcVersion) row(nvrtcCreateProgram) row(nvrtcCompileProgram) row(nvrtcDestroyProgram) row(nvrtcGetCUBINSize)   \
      row(nvrtcGetCUBIN) row(nvrtcGetProgramLogSize) row(nvrtcGetProgramLog) row(nvrtcGetErrorString)
#define HN_CUDA_LT_FUNCTIONS(row)                                                                                      \
  row(cublasLtGetVersion) row(cublasLtCreate) row(cublasLtDestroy) row(cublasLtMatmulDescCreate)                       \
      row(cublasLtMatmulDescDestroy) row(cublasLtMatmulDescSetAttribute) row(cublasLtMatrixLayoutCreate)               \
          row(cublasLtMatrixLayoutDestroy) row(cublasLtMatrixLayoutSetAttribute) row(cublasLtMatmulPreferenceCreate)   \
              row(cublasLtMatmulPreferenceDestroy) row(cublasLtMatmulPreferenceSetAttribute)                           \
                  row(cublasLtMatmulAlgoGetHeuristic) row(cublasLtMatmul)

#define HN_CUDA_POINTER(name) __typeof__(&name) name;
typedef struct hn_cuda_driver_api {
  HN_CUDA_DRIVER_FUNCTIONS(HN_CUDA_POINTER)
} hn_cuda_driver_api;
typedef struct hn_cuda_nvrtc_api {
  HN_CUDA_NVRTC_FUNCTIONS(HN_CUDA_POINTER)
} hn_cuda_nvrtc_api;
typedef struct hn_cuda_lt_api {
  HN_CUDA_LT_FUNCTIONS(HN_CUDA_POINTER)
} hn_cuda_lt_api;
#undef HN_CUDA_POINTER

/* The built-in kernels by number, and the files that they are in. */
typedef enum hn_cuda_builtin {
#define HN_CUDA_KERNEL(file, kernel) HN_CUDA_##kernel,
#include "backend/cuda/builtins.inc"
  HN_CUDA_BUILTIN_COUNT
} hn_cuda_builtin;
typedef enum hn_cuda_file {
#define HN_CUDA_FILE(file) HN_CUDA_FILE_##file,
#include "backend/cuda/builtins.inc"
  HN_CUDA_FILE_COUNT
} hn_cuda_file;

/* Bits of hone_facts.isa: generations up to the unit's own, and the libraries that are there. */
enum {
  HN_CUDA_SM70 = 1 << 0,
  HN_CUDA_SM75 = 1 << 1,
  HN_CUDA_SM80 = 1 << 2,
  HN_CUDA_SM86 = 1 << 3,
  HN_CUDA_SM89 = 1 << 4,
  HN_CUDA_SM90 = 1 << 5,
  HN_CUDA_SM100 = 1 << 6,
  HN_CUDA_SM120 = 1 << 7,
  HN_CUDA_SM90A = 1 << 8, /* 9.0 itself: instructions that later ones do not have */
  HN_CUDA_NVRTC = 1 << 16,
  HN_CUDA_LT = 1 << 17,
  HN_CUDA_DNN = 1 << 18,
};

struct hone_driver {
  const hone_host *host;
  void *library;
  hn_cuda_driver_api api;
  int count, version; /* 13000: 13.0 */
};

/* A kernel that was compiled here; one for each source text. */
typedef struct hn_cuda_compiled {
  hone_unit *unit;
  bool is_begun; /* a thread compiles it; what follows until the module is the thread's */
  pthread_t thread;
  nvrtcProgram program;
  nvrtcResult result;
  CUmodule module;
  CUfunction function;
  size_t source_bytes;
  struct hn_cuda_compiled *next;
  char source[];
} hn_cuda_compiled;

typedef struct hn_cuda_dnn hn_cuda_dnn; /* dnn.c */

struct hone_unit {
  const hone_host *host;
  hone_driver *driver;
  hone_facts facts;
  CUdevice device;
  CUcontext context;
  int sm; /* 90 */
  void *nvrtc_library, *lt_library;
  hn_cuda_nvrtc_api nvrtc;
  hn_cuda_lt_api lt;
  cublasLtHandle_t lt_handle;
  pthread_mutex_t mutex; /* of the list below, and of cuDNN's handle */
  hn_cuda_compiled *compiled;
  hn_cuda_dnn *dnn; /* NULL: cuDNN is not here */
  CUevent epoch;    /* when a stream was opened last */
  CUmodule modules[HN_CUDA_FILE_COUNT];
  CUfunction builtins[HN_CUDA_BUILTIN_COUNT];
};

/* While a stream records: the graph had so many nodes when the step's turn came. */
typedef struct hn_cuda_tag {
  int step;
  size_t nodes;
} hn_cuda_tag;

struct hone_stream {
  hone_unit *unit;
  CUstream stream;                /* of the current lane, while it records */
  CUstream lanes[HONE_MAX_LANES]; /* the first is its own; others are made when they are first recorded in */
  bool adopted;                   /* the first is the caller's: it is not destroyed here */
  bool behind;                    /* what is recorded next waits for another lane, too */
  int mark_count;
  CUevent *marks;
  CUresult failed;               /* of the last call that failed */
  struct hn_cuda_tracer *tracer; /* NULL: it is not traced (tracing.c) */
  bool recording;
  int step; /* of what comes next, while it is traced */
};

struct hone_replay {
  hone_unit *unit;
  CUgraphExec exec;
  int node_count; /* 0: it was not recorded for tracing */
  int *node_steps;
};

/* ---- services (driver.c) ---- */
void *hn_cuda_new(const hone_host *host, size_t bytes); /* zeroed; NULL */
void hn_cuda_delete(const hone_host *host, void *block, size_t bytes);
hone_status hn_cuda_fail(const hone_host *host, hone_diagnostics *diag, hone_status status, const char *format, ...)
    HONE_PRINTF(4, 5);
/* The driver's word for an error; OK stays OK. */
hone_status hn_cuda_check(const hone_unit *unit, hone_diagnostics *diag, CUresult result, const char *what);
/* Opens the first of `names` (ends with NULL) that is found: in the host's library path, then where the loader looks.
 */
void *hn_cuda_open_library(const hone_host *host, const char *const *names);
/* Fills a table of pointers, one name each; the first name that is missing, or NULL. */
const char *hn_cuda_fill(void *library, const char *const *names, int count, void *table);
static inline bool hn_cuda_enter(const hone_unit *unit) {
  return unit->driver->api.cuCtxSetCurrent(unit->context) == CUDA_SUCCESS;
}
const hone_attr *hn_cuda_attr(const hone_attrs *attrs, const char *name); /* NULL when absent */
int64_t hn_cuda_attr_int(const hone_attrs *attrs, const char *name, int64_t otherwise);
double hn_cuda_attr_float(const hone_attrs *attrs, const char *name, double otherwise);
int64_t hn_cuda_elements(const hone_shape *shape);
static inline bool hn_cuda_given(const hone_query *query, int input) {
  return input < query->in_count && query->in[input].type.kind != HONE_ABSENT;
}
static inline int64_t hn_cuda_first_param(const hone_query *query) { /* 0: there is none */
  return query->params && query->params->count ? query->params->items[0].value : 0;
}
/* Variants of a tactic that asks its library for proposals: their numbers, best first. */
static inline int hn_cuda_proposals(hone_params *out, int count) {
  for (int i = 0; i < count; ++i) out[i] = (hone_params){.count = 1, .items[0] = {.name = "proposal", .value = i}};
  return count;
}
static inline bool hn_cuda_plain_f32(const hone_fact *fact) {
  return fact->type.kind == HONE_TENSOR && fact->type.dtype == HONE_F32 && fact->type.format == HONE_PLAIN;
}
bool hn_cuda_same_shape(const hone_shape *a, const hone_shape *b);

/* ---- values held in halves, and images (held.c) ---- */
/* f16 or bf16: what the row multiplies in or, where it only moves, what the fact is held in; NONE: neither. */
hone_dtype hn_cuda_held(const hone_query *query, const hone_fact *fact);
/* The same of images, which f32 holds, too. */
hone_dtype hn_cuda_image_held(const hone_query *query, const hone_fact *fact);
/* An image with its channels last: n x h x w pixels of `pitch` values, a multiple of 16 bytes, c of them channels. One
 * axis is a row. One pixel of 16 n channels is plain and the same. NULL, or the reason why it is none of `held` (F16,
 * BF16, F32, U8, I8). */
typedef struct hn_cuda_image {
  int n, c, h, w, pitch;
} hn_cuda_image;
const char *hn_cuda_image_of(const hone_fact *fact, hone_dtype held, hn_cuda_image *out);
bool hn_cuda_plain_of(const hone_fact *fact, hone_dtype dtype);

/* ---- constants that pack reads (weights.c) ---- */
bool hn_cuda_is_weight(const hone_query *query, int input); /* plain, in f32, f16 or bf16 */
float hn_cuda_weight(const hone_tensor *constant, int64_t i);
uint16_t hn_cuda_half_of(hone_dtype held, float value); /* f16 or bf16, to the nearest, ties to even */
float hn_cuda_tf32_of(float value);                     /* likewise, to ten bits behind the point */

/* ---- backend entries (stream.c) ---- */
hone_status hn_cuda_stream(hone_unit *unit, int mark_count, hone_stream **out);
hone_status hn_cuda_adopt(hone_unit *unit, void *native, int mark_count, hone_stream **out);
void hn_cuda_drop(hone_stream *stream);
hone_status hn_cuda_copy(hone_stream *stream, hone_slice to, hone_slice from);
hone_status hn_cuda_mark(hone_stream *stream, int slot);
hone_status hn_cuda_wait(hone_stream *stream);
hone_status hn_cuda_between(hone_stream *stream, int from, int to, double *out_elapsed_ns);
hone_status hn_cuda_record(hone_stream *stream);
hone_status hn_cuda_keep(hone_stream *stream, hone_replay **out);
hone_status hn_cuda_replay(hone_stream *stream, const hone_replay *replay);
void hn_cuda_forget(hone_replay *replay);
hone_status hn_cuda_measure(hone_unit *unit); /* measure.c */
hone_status hn_cuda_call(hone_stream *stream, void (*function)(void *user), void *user);
hone_status hn_cuda_follow(hone_stream *stream, void *native_event);
hone_status hn_cuda_signal(hone_stream *stream, void *native_event);
hone_status hn_cuda_lane(hone_stream *stream, int lane);
hone_status hn_cuda_after(hone_stream *stream, int slot);
void *hn_cuda_native(hone_stream *stream);
hone_status hn_cuda_enter_unit(hone_unit *unit);
const char *hn_cuda_reason(const hone_stream *stream);

/* ---- what streams did, by CUPTI (tracing.c) ---- */
hone_status hn_cuda_trace(hone_stream *stream, bool on, hone_diagnostics *diag);
hone_status hn_cuda_tag_step(hone_stream *stream, int step);
hone_status hn_cuda_activities(hone_stream *stream, const hone_activity **out, int *out_count);
void hn_cuda_range(const char *name); /* NVTX (range.c) */
/* Of a traced stream: it was given a copy, or a replay. */
void hn_cuda_note_copy(hone_stream *stream);
void hn_cuda_note_replay(hone_stream *stream, const hone_replay *replay);
/* A replay's nodes get the steps of the tags since recording began; false: no memory. */
void hn_cuda_begin_tags(hone_stream *stream);
bool hn_cuda_keep_tags(hone_stream *stream, CUgraph graph, hone_replay *replay);

/* ---- built-in kernels (builtin.c) ---- */
hone_status hn_cuda_load_builtins(hone_unit *unit, hone_diagnostics *diag);
void hn_cuda_unload_builtins(hone_unit *unit);
typedef struct hn_cuda_grid {
  unsigned x, y, z;
} hn_cuda_grid;
/* How a kernel is launched where more than a grid and threads must be said. */
typedef struct hn_cuda_shape {
  hn_cuda_grid grid;
  unsigned threads, shared_bytes, cluster; /* cluster: blocks along x that run together (SM90); 0, 1: none */
  bool dependent; /* the kernel waits itself for the one before it (dependent.cuh), so that it may begin before that
                     ends */
} hn_cuda_shape;
hone_status hn_cuda_launch_shaped(hone_stream *stream, hn_cuda_builtin kernel, const hn_cuda_shape *shape,
                                  void **arguments);
hone_status hn_cuda_launch_function(hone_stream *stream, CUfunction function, const hn_cuda_shape *shape,
                                    void **arguments);
/* All of a multiprocessor's shared memory and clusters of sixteen are allowed; a launch that asks for too much fails.
 */
void hn_cuda_lift_limits(const hone_unit *unit, CUfunction function);
/* Launched as dependent: it may start before the kernel ahead of it ends, so it waits for that one itself before it
 * reads. An empty grid launches nothing. */
hone_status hn_cuda_launch(hone_stream *stream, hn_cuda_builtin kernel, hn_cuda_grid grid, unsigned threads,
                           void **arguments);

/* ---- libraries, each optional (nvrtc.c, product.c, dnn.c) ---- */
void hn_cuda_open_nvrtc(hone_unit *unit);
void hn_cuda_close_nvrtc(hone_unit *unit);
/* The kernel `hn_kernel` of a source, compiled at most once a unit; kept in the host's cache folder when it has one. */
hone_status hn_cuda_compile(hone_unit *unit, const char *source, CUfunction *out, hone_diagnostics *diag);
/* Begins to compile what hn_cuda_compile will be asked for soon, beside what else goes on: as many at a time as there
 * are processors. Whatever is in the way, it is left to be compiled when it is asked for. */
void hn_cuda_compile_soon(hone_unit *unit, const char *source);
void hn_cuda_open_lt(hone_unit *unit);
void hn_cuda_close_lt(hone_unit *unit);
void hn_cuda_open_dnn(hone_unit *unit);
void hn_cuda_close_dnn(hone_unit *unit);
size_t hn_cuda_dnn_version(const hone_unit *unit); /* 0: it is not here */

/* ---- generated kernels (kernel.c) ---- */
/* Elementwise ops, moves, and what follows a product. */
typedef struct hn_cuda_kernel {
  hn_cuda_places places; /* planned, the rest made */
  CUfunction function;
  unsigned blocks;
} hn_cuda_kernel;
hone_status hn_cuda_kernel_make(hone_unit *unit, const char *text, const char *const *types, hn_cuda_kernel *kernel,
                                hone_diagnostics *diag);
hone_status hn_cuda_kernel_launch(const hn_cuda_kernel *kernel, hone_stream *stream, const void *const *in, void *out);

/* What follows a product (activation.c): the attribute act, "" for none, and its expression over an argument. false: it
 * is not known here. */
hn_activation hn_cuda_activation(const hone_query *query);
bool hn_cuda_activation_text(const hone_query *query, const char *argument, char *out, size_t room);

#endif
