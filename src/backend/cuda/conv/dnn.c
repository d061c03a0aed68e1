/* SPDX-License-Identifier: Apache-2.0 */
/* dnn.c - cuDNN opened, and one convolution on it by its descriptors: FMA arithmetic, so that nothing is rounded to
 * TF32 unless the plan says so, and algorithms that give the same bits every time. */
#include "backend/cuda/conv/dnn.h"
#include <dlfcn.h>

#if __has_include(<cudnn.h>)
#include <cudnn.h>

#define DNN_FUNCTIONS(row)                                                                                             \
  row(cudnnGetVersion) row(cudnnCreate) row(cudnnDestroy) row(cudnnSetStream) row(cudnnCreateTensorDescriptor)         \
      row(cudnnDestroyTensorDescriptor) row(cudnnSetTensor4dDescriptor) row(cudnnCreateFilterDescriptor)               \
          row(cudnnDestroyFilterDescriptor) row(cudnnSetFilter4dDescriptor) row(cudnnCreateConvolutionDescriptor)      \
              row(cudnnDestroyConvolutionDescriptor) row(cudnnSetConvolution2dDescriptor)                              \
                  row(cudnnSetConvolutionGroupCount) row(cudnnSetConvolutionMathType)                                  \
                      row(cudnnGetConvolutionForwardAlgorithm_v7) row(cudnnGetConvolutionBackwardDataAlgorithm_v7)     \
                          row(cudnnConvolutionForward) row(cudnnConvolutionBackwardData)

#define POINTER(name) __typeof__(&name) name;
#define NAME(name) #name,
typedef struct api {
  DNN_FUNCTIONS(POINTER)
} api;
static const char *const names[] = {DNN_FUNCTIONS(NAME)};

struct hn_cuda_dnn {
  void *library;
  api api;
  cudnnHandle_t handle; /* made at first need; used under the unit's mutex */
};

void hn_cuda_open_dnn(hone_unit *unit) {
  static const char *const libraries[] = {"libcudnn.so.9", NULL};
  void *library = hn_cuda_open_library(unit->host, libraries);
  if (!library) return;
  hn_cuda_dnn *dnn = hn_cuda_new(unit->host, sizeof *dnn);
  if (!dnn || hn_cuda_fill(library, names, (int)(sizeof names / sizeof *names), &dnn->api)) {
    hn_cuda_delete(unit->host, dnn, sizeof *dnn);
    dlclose(library);
    return;
  }
  dnn->library = library;
  unit->dnn = dnn;
  unit->facts.isa |= HN_CUDA_DNN;
}

void hn_cuda_close_dnn(hone_unit *unit) {
  hn_cuda_dnn *dnn = unit->dnn;
  if (!dnn) return;
  if (dnn->handle) (void)dnn->api.cudnnDestroy(dnn->handle);
  dlclose(dnn->library);
  hn_cuda_delete(unit->host, dnn, sizeof *dnn);
}

size_t hn_cuda_dnn_version(const hone_unit *unit) { return unit->dnn ? unit->dnn->api.cudnnGetVersion() : 0; }

static bool good(cudnnStatus_t status) { return status == CUDNN_STATUS_SUCCESS; }

static bool ready(hone_unit *unit) {
  pthread_mutex_lock(&unit->mutex);
  const bool made = unit->dnn->handle || good(unit->dnn->api.cudnnCreate(&unit->dnn->handle));
  pthread_mutex_unlock(&unit->mutex);
  return made;
}

static bool describe(const api *a, hn_cuda_conv *c) {
  const hn_cuda_conv_plan *p = &c->plan;
  const hn_cuda_window *w = &p->window;
  const int outer = p->transposed ? p->from : p->to, inner = p->transposed ? p->to : p->from;
  cudnnTensorDescriptor_t tensors[2];
  cudnnFilterDescriptor_t filter;
  cudnnConvolutionDescriptor_t desc;
  if (!good(a->cudnnCreateTensorDescriptor(&tensors[0]))) return false;
  c->inner = tensors[0];
  if (!good(a->cudnnCreateTensorDescriptor(&tensors[1]))) return false;
  c->outer = tensors[1];
  if (!good(a->cudnnCreateFilterDescriptor(&filter))) return false;
  c->filter = filter;
  if (!good(a->cudnnCreateConvolutionDescriptor(&desc))) return false;
  c->desc = desc;
  return good(a->cudnnSetTensor4dDescriptor(c->inner, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, p->batch, inner, w->in_h,
                                            w->in_w)) &&
         good(a->cudnnSetTensor4dDescriptor(c->outer, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, p->batch, outer, w->out_h,
                                            w->out_w)) &&
         good(a->cudnnSetFilter4dDescriptor(c->filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, outer, inner / p->groups,
                                            w->kernel_h, w->kernel_w)) &&
         good(a->cudnnSetConvolution2dDescriptor(c->desc, w->pad_h, w->pad_w, w->stride_h, w->stride_w, w->dilation_h,
                                                 w->dilation_w, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT)) &&
         good(a->cudnnSetConvolutionGroupCount(c->desc, p->groups)) &&
         good(a->cudnnSetConvolutionMathType(c->desc, p->in_tf32 ? CUDNN_TENSOR_OP_MATH : CUDNN_FMA_MATH));
}

static bool fits(const hn_cuda_conv_plan *plan, cudnnStatus_t status, size_t memory, cudnnDeterminism_t determinism,
                 cudnnMathType_t math) {
  return good(status) && memory <= HN_CUDA_DNN_WORKSPACE_BYTES && determinism == CUDNN_DETERMINISTIC &&
         (plan->in_tf32 ? math != CUDNN_FMA_MATH : math == CUDNN_FMA_MATH || math == CUDNN_DEFAULT_MATH);
}

static bool choose(const hn_cuda_dnn *dnn, hn_cuda_conv *c) {
  const hn_cuda_conv_plan *p = &c->plan;
  const api *a = &dnn->api;
  int count = 0, taken = 0;
  if (p->transposed) {
    cudnnConvolutionBwdDataAlgoPerf_t list[CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT];
    if (!good(a->cudnnGetConvolutionBackwardDataAlgorithm_v7(dnn->handle, c->filter, c->outer, c->desc, c->inner,
                                                             CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT, &count, list)))
      return false;
    for (int i = 0; i < count; ++i)
      if (fits(p, list[i].status, list[i].memory, list[i].determinism, list[i].mathType) && taken++ <= p->algorithm)
        c->algorithm = (int)list[i].algo;
  } else {
    cudnnConvolutionFwdAlgoPerf_t list[CUDNN_CONVOLUTION_FWD_ALGO_COUNT];
    if (!good(a->cudnnGetConvolutionForwardAlgorithm_v7(dnn->handle, c->inner, c->filter, c->desc, c->outer,
                                                        CUDNN_CONVOLUTION_FWD_ALGO_COUNT, &count, list)))
      return false;
    for (int i = 0; i < count; ++i)
      if (fits(p, list[i].status, list[i].memory, list[i].determinism, list[i].mathType) && taken++ <= p->algorithm)
        c->algorithm = (int)list[i].algo;
  }
  return taken > 0;
}

hone_status hn_cuda_conv_make(hone_unit *unit, hn_cuda_conv *c, hone_diagnostics *diag) {
  c->unit = unit;
  if (!unit->dnn) return unit->host->fail(diag, HONE_DEVICE, "cuDNN (libcudnn.so.9) was not found");
  if (hn_cuda_enter(unit) && ready(unit) && describe(&unit->dnn->api, c) && choose(unit->dnn, c)) return HONE_OK;
  hn_cuda_conv_drop(c);
  return unit->host->fail(diag, HONE_UNSUPPORTED, "cuDNN has no such convolution");
}

void hn_cuda_conv_drop(hn_cuda_conv *c) {
  if (!c->unit || !c->unit->dnn) return;
  const api *a = &c->unit->dnn->api;
  if (c->inner) (void)a->cudnnDestroyTensorDescriptor(c->inner);
  if (c->outer) (void)a->cudnnDestroyTensorDescriptor(c->outer);
  if (c->filter) (void)a->cudnnDestroyFilterDescriptor(c->filter);
  if (c->desc) (void)a->cudnnDestroyConvolutionDescriptor(c->desc);
  *c = (hn_cuda_conv){0};
}

hone_status hn_cuda_conv_launch(const hn_cuda_conv *c, hone_stream *stream, const void *x, const void *w, void *y,
                                void *workspace) {
  const float one = 1, zero = 0;
  hone_unit *unit = c->unit;
  const hn_cuda_dnn *dnn = unit->dnn;
  if (!hn_cuda_enter(unit)) return HONE_DEVICE;
  pthread_mutex_lock(&unit->mutex);
  cudnnStatus_t status = dnn->api.cudnnSetStream(dnn->handle, (cudaStream_t)stream->stream);
  if (good(status) && c->plan.transposed)
    status = dnn->api.cudnnConvolutionBackwardData(dnn->handle, &one, c->filter, w, c->outer, x, c->desc,
                                                   (cudnnConvolutionBwdDataAlgo_t)c->algorithm, workspace,
                                                   HN_CUDA_DNN_WORKSPACE_BYTES, &zero, c->inner, y);
  else if (good(status))
    status = dnn->api.cudnnConvolutionForward(dnn->handle, &one, c->inner, x, c->filter, w, c->desc,
                                              (cudnnConvolutionFwdAlgo_t)c->algorithm, workspace,
                                              HN_CUDA_DNN_WORKSPACE_BYTES, &zero, c->outer, y);
  pthread_mutex_unlock(&unit->mutex);
  return good(status) ? HONE_OK : HONE_DEVICE;
}

#else

void hn_cuda_open_dnn(hone_unit *unit) { (void)unit; }
void hn_cuda_close_dnn(hone_unit *unit) { (void)unit; }
size_t hn_cuda_dnn_version(const hone_unit *unit) {
  (void)unit;
  return 0;
}
hone_status hn_cuda_conv_make(hone_unit *unit, hn_cuda_conv *conv, hone_diagnostics *diag) {
  (void)conv;
  return unit->host->fail(diag, HONE_UNSUPPORTED, "this module was built without cuDNN's header");
}
void hn_cuda_conv_drop(hn_cuda_conv *conv) { (void)conv; }
hone_status hn_cuda_conv_launch(const hn_cuda_conv *conv, hone_stream *stream, const void *x, const void *w, void *y,
                                void *workspace) {
  (void)conv, (void)stream, (void)x, (void)w, (void)y, (void)workspace;
  return HONE_UNSUPPORTED;
}

#endif
