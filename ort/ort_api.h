/* SPDX-License-Identifier: Apache-2.0 */
/* ort_api.h - what the provider knows of ONNX Runtime's C API, declared here, since the wheels bring no headers: opaque
 * types, the tables that a provider fills, and the functions that it calls (ort_calls.inc), found by their places.
 * Tables begin with the version that both sides speak and grow at their end only. Source: the C API of ONNX
 * Runtime 1.23 and later (onnxruntime_c_api.h, onnxruntime_ep_c_api.h). */
#ifndef HONE_ORT_API_H
#define HONE_ORT_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The versions of the API that are asked for: the newest whose tables are known here, and the oldest that has them. */
enum { ORT_VERSION_NEWEST = 24, ORT_VERSION_OLDEST = 23 };

typedef struct OrtStatus OrtStatus;
typedef struct OrtValue OrtValue;
typedef struct OrtTypeInfo OrtTypeInfo;
typedef struct OrtTensorTypeAndShapeInfo OrtTensorTypeAndShapeInfo;
typedef struct OrtKernelContext OrtKernelContext;
typedef struct OrtSessionOptions OrtSessionOptions;
typedef struct OrtLogger OrtLogger;
typedef struct OrtOpAttr OrtOpAttr;
typedef struct OrtValueInfo OrtValueInfo;
typedef struct OrtNode OrtNode;
typedef struct OrtGraph OrtGraph;
typedef struct OrtModelEditorApi OrtModelEditorApi;
typedef struct OrtKeyValuePairs OrtKeyValuePairs;
typedef struct OrtHardwareDevice OrtHardwareDevice;
typedef struct OrtEpDevice OrtEpDevice;
typedef struct OrtEpApi OrtEpApi;
typedef struct OrtApi OrtApi;
typedef struct OrtEpGraphSupportInfo OrtEpGraphSupportInfo;
typedef struct OrtNodeComputeContext OrtNodeComputeContext;

typedef struct ort_api_base {
  const OrtApi *(*GetApi)(uint32_t version); /* NULL: not that version */
  const char *(*GetVersionString)(void);
} ort_api_base;

/* OrtErrorCode. Python's InferenceSession answers EP_FAIL by running on the CPU provider without a word, so it is not
 * used here. */
enum {
  ORT_ERROR_FAIL = 1,
  ORT_ERROR_INVALID_ARGUMENT = 2,
  ORT_ERROR_NO_SUCHFILE = 3,
  ORT_ERROR_NOT_IMPLEMENTED = 9,
  ORT_ERROR_INVALID_GRAPH = 10
};
enum { ORT_LOG_VERBOSE = 0, ORT_LOG_INFO = 1, ORT_LOG_WARNING = 2, ORT_LOG_ERROR = 3 };
enum { ORT_TYPE_TENSOR = 1 };  /* ONNXType */
enum { ORT_HARDWARE_CPU = 0 }; /* OrtHardwareDeviceType */
enum {                         /* OrtOpAttrType */
       ORT_ATTR_INT = 1,
       ORT_ATTR_INTS = 2,
       ORT_ATTR_FLOAT = 3,
       ORT_ATTR_FLOATS = 4,
       ORT_ATTR_STRING = 5,
       ORT_ATTR_STRINGS = 6,
       ORT_ATTR_GRAPH = 7,
       ORT_ATTR_TENSOR = 8
};
enum { /* OrtCompiledModelCompatibility */
       ORT_COMPILED_NOT_APPLICABLE = 0,
       ORT_COMPILED_OPTIMAL = 1,
       ORT_COMPILED_UNSUPPORTED = 3
};

typedef struct ort_fusion_options {
  uint32_t ort_version_supported;
  bool drop_constant_initializers; /* the runtime may free them after Compile, and does not pass them to Compute */
} ort_fusion_options;

typedef struct ort_node_compute_info ort_node_compute_info;
struct ort_node_compute_info {
  uint32_t ort_version_supported;
  OrtStatus *(*CreateState)(ort_node_compute_info *info, OrtNodeComputeContext *context, void **out_state);
  OrtStatus *(*Compute)(ort_node_compute_info *info, void *state, OrtKernelContext *context);
  void (*ReleaseState)(ort_node_compute_info *info, void *state);
};

/* OrtEp as version 23 has it; entries that are NULL are optional. */
typedef struct ort_ep ort_ep;
struct ort_ep {
  uint32_t ort_version_supported;
  const char *(*GetName)(const ort_ep *ep);
  OrtStatus *(*GetCapability)(ort_ep *ep, const OrtGraph *graph, OrtEpGraphSupportInfo *info);
  OrtStatus *(*Compile)(ort_ep *ep, const OrtGraph **graphs, const OrtNode **fused_nodes, size_t count,
                        ort_node_compute_info **out_infos, OrtNode **out_context_nodes);
  void (*ReleaseNodeComputeInfos)(ort_ep *ep, ort_node_compute_info **infos, size_t count);
  void (*GetPreferredDataLayout)(void);
  void (*ShouldConvertDataLayoutForOp)(void);
  void (*SetDynamicOptions)(void);
  void (*OnRunStart)(void);
  void (*OnRunEnd)(void);
  void (*CreateAllocator)(void);
  void (*CreateSyncStreamForDevice)(void);
  const char *(*GetCompiledModelCompatibilityInfo)(ort_ep *ep, const OrtGraph *graph);
  void (*GetKernelRegistry)(void);        /* 24 */
  void (*IsConcurrentRunSupported)(void); /* 24; NULL: it is */
};

/* OrtEpFactory as version 23 has it. */
typedef struct ort_ep_factory ort_ep_factory;
struct ort_ep_factory {
  uint32_t ort_version_supported;
  const char *(*GetName)(const ort_ep_factory *factory);
  const char *(*GetVendor)(const ort_ep_factory *factory);
  OrtStatus *(*GetSupportedDevices)(ort_ep_factory *factory, const OrtHardwareDevice *const *devices, size_t count,
                                    OrtEpDevice **out, size_t room, size_t *out_count);
  OrtStatus *(*CreateEp)(ort_ep_factory *factory, const OrtHardwareDevice *const *devices,
                         const OrtKeyValuePairs *const *metadata, size_t count, const OrtSessionOptions *options,
                         const OrtLogger *logger, ort_ep **out);
  void (*ReleaseEp)(ort_ep_factory *factory, ort_ep *ep);
  uint32_t (*GetVendorId)(const ort_ep_factory *factory);
  const char *(*GetVersion)(const ort_ep_factory *factory);
  OrtStatus *(*ValidateCompiledModelCompatibilityInfo)(ort_ep_factory *factory, const OrtHardwareDevice *const *devices,
                                                       size_t count, const char *info, int *out);
  OrtStatus *(*CreateAllocator)(ort_ep_factory *factory, const void *memory_info, const OrtKeyValuePairs *options,
                                void **out);
  void (*ReleaseAllocator)(ort_ep_factory *factory, void *allocator);
  OrtStatus *(*CreateDataTransfer)(ort_ep_factory *factory, void **out);
  bool (*IsStreamAware)(const ort_ep_factory *factory);
  OrtStatus *(*CreateSyncStreamForDevice)(ort_ep_factory *factory, const void *device, const OrtKeyValuePairs *options,
                                          void **out);
  void (*later[8])(void); /* entries of later versions, NULL: a runtime that looks beyond the version finds none */
};

/* The functions that are called, by the names they have there. */
#define ORT_CALL(slot, result, name, parameters) result(*name) parameters;
#define ORT_LATER_CALL(version, slot, result, name, parameters) result(*name) parameters;
#define ORT_EP_CALL(slot, result, name, parameters) result(*name) parameters;
#define ORT_EDITOR_CALL(slot, result, name, parameters) result(*name) parameters;
typedef struct ort_calls {
#include "ort_calls.inc"
} ort_calls;
#undef ORT_CALL
#undef ORT_LATER_CALL
#undef ORT_EP_CALL
#undef ORT_EDITOR_CALL

/* Negotiates the newest version that both sides know, and fills the calls. NULL: all is there; else why not, in words.
 */
const char *ort_calls_find(const ort_api_base *base, ort_calls *out, uint32_t *out_version);

#endif
