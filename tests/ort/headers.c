/* SPDX-License-Identifier: Apache-2.0 */
/* headers.c - what ort/ort_api.h declares, against ONNX Runtime's own headers, where -DHONE_ORT_HEADERS=FOLDER names
 * them: places of functions in their tables, and the layout of the tables that the provider fills. Compiled, never run.
 */
#include "onnxruntime_c_api.h"
#include "ort_api.h"

#define SLOT(table, slot, name)                                                                                        \
  _Static_assert(offsetof(struct table, name) == (slot) * sizeof(void *), #table "." #name " is not at " #slot);
#define ORT_CALL(slot, result, name, parameters) SLOT(OrtApi, slot, name)
#define ORT_LATER_CALL(version, slot, result, name, parameters) SLOT(OrtApi, slot, name)
#define ORT_EP_CALL(slot, result, name, parameters) SLOT(OrtEpApi, slot, name)
#define ORT_EDITOR_CALL(slot, result, name, parameters) SLOT(OrtModelEditorApi, slot, name)
#include "ort_calls.inc"

#define SAME(ours, theirs, name)                                                                                       \
  _Static_assert(offsetof(ours, name) == offsetof(struct theirs, name), #theirs "." #name " lies elsewhere");
SAME(ort_api_base, OrtApiBase, GetVersionString)
SAME(ort_ep, OrtEp, GetName)
SAME(ort_ep, OrtEp, GetCapability)
SAME(ort_ep, OrtEp, Compile)
SAME(ort_ep, OrtEp, ReleaseNodeComputeInfos)
SAME(ort_ep, OrtEp, GetPreferredDataLayout)
SAME(ort_ep, OrtEp, CreateSyncStreamForDevice)
SAME(ort_ep, OrtEp, GetCompiledModelCompatibilityInfo)
SAME(ort_ep, OrtEp, GetKernelRegistry)
SAME(ort_ep, OrtEp, IsConcurrentRunSupported)
SAME(ort_ep_factory, OrtEpFactory, GetName)
SAME(ort_ep_factory, OrtEpFactory, GetVendor)
SAME(ort_ep_factory, OrtEpFactory, GetSupportedDevices)
SAME(ort_ep_factory, OrtEpFactory, CreateEp)
SAME(ort_ep_factory, OrtEpFactory, ReleaseEp)
SAME(ort_ep_factory, OrtEpFactory, GetVendorId)
SAME(ort_ep_factory, OrtEpFactory, GetVersion)
SAME(ort_ep_factory, OrtEpFactory, ValidateCompiledModelCompatibilityInfo)
SAME(ort_ep_factory, OrtEpFactory, CreateAllocator)
SAME(ort_ep_factory, OrtEpFactory, ReleaseAllocator)
SAME(ort_ep_factory, OrtEpFactory, CreateDataTransfer)
SAME(ort_ep_factory, OrtEpFactory, IsStreamAware)
SAME(ort_ep_factory, OrtEpFactory, CreateSyncStreamForDevice)
SAME(ort_node_compute_info, OrtNodeComputeInfo, CreateState)
SAME(ort_node_compute_info, OrtNodeComputeInfo, Compute)
SAME(ort_node_compute_info, OrtNodeComputeInfo, ReleaseState)
SAME(ort_fusion_options, OrtNodeFusionOptions, drop_constant_initializers)
