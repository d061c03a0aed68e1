/* SPDX-License-Identifier: Apache-2.0 */
/* plugin.c - what the runtime finds in the shared object: two functions, and the factory that the first one makes. */
#include "ep.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EP_EXPORT __attribute__((visibility("default")))

static const char *get_name(const ort_ep_factory *factory) {
  (void)factory;
  return EP_NAME;
}

static const char *get_vendor(const ort_ep_factory *factory) {
  (void)factory;
  return "hone";
}

/* A number of the PCI consortium's, which makers of devices have; hone makes none. */
static uint32_t get_vendor_id(const ort_ep_factory *factory) {
  (void)factory;
  return 0;
}

static const char *get_version(const ort_ep_factory *factory) {
  (void)factory;
  return hone_version();
}

static OrtStatus *get_supported_devices(ort_ep_factory *table, const OrtHardwareDevice *const *devices, size_t count,
                                        OrtEpDevice **out, size_t room, size_t *out_count) {
  const ep_factory *factory = (const ep_factory *)table;
  *out_count = 0;
  for (size_t i = 0; i < count && *out_count < room; ++i) {
    if (factory->ort.HardwareDevice_Type(devices[i]) != ORT_HARDWARE_CPU) continue;
    EP_TRY(factory->ort.CreateEpDevice(table, devices[i], NULL, NULL, &out[*out_count]));
    ++*out_count;
  }
  return NULL;
}

static OrtStatus *create_ep(ort_ep_factory *table, const OrtHardwareDevice *const *devices,
                            const OrtKeyValuePairs *const *metadata, size_t count, const OrtSessionOptions *options,
                            const OrtLogger *logger, ort_ep **out) {
  ep_factory *factory = (ep_factory *)table;
  ep_provider *provider = NULL;
  (void)devices;
  (void)metadata;
  *out = NULL;
  if (count == 0) return ep_fail(&factory->ort, ORT_ERROR_INVALID_ARGUMENT, "hone: no device was chosen");
  EP_TRY(ep_provider_create(factory, options, logger, &provider));
  *out = &provider->table;
  return NULL;
}

static void release_ep(ort_ep_factory *factory, ort_ep *ep) {
  (void)factory;
  ep_provider_destroy((ep_provider *)ep);
}

/* The host's memory is the runtime's: there is no allocator, no copying and no queue of our own. */
static OrtStatus *create_allocator(ort_ep_factory *factory, const void *memory_info, const OrtKeyValuePairs *options,
                                   void **out) {
  (void)factory;
  (void)memory_info;
  (void)options;
  *out = NULL;
  return NULL;
}

static void release_allocator(ort_ep_factory *factory, void *allocator) {
  (void)factory;
  (void)allocator;
}

static OrtStatus *create_data_transfer(ort_ep_factory *factory, void **out) {
  (void)factory;
  *out = NULL;
  return NULL;
}

static bool is_stream_aware(const ort_ep_factory *factory) {
  (void)factory;
  return false;
}

static OrtStatus *create_sync_stream(ort_ep_factory *factory, const void *device, const OrtKeyValuePairs *options,
                                     void **out) {
  (void)factory;
  (void)device;
  (void)options;
  *out = NULL;
  return NULL;
}

static ort_ep_factory make_table(uint32_t version) {
  return (ort_ep_factory){
      .ort_version_supported = version,
      .GetName = get_name,
      .GetVendor = get_vendor,
      .GetSupportedDevices = get_supported_devices,
      .CreateEp = create_ep,
      .ReleaseEp = release_ep,
      .GetVendorId = get_vendor_id,
      .GetVersion = get_version,
      .ValidateCompiledModelCompatibilityInfo = ep_validate_compatibility,
      .CreateAllocator = create_allocator,
      .ReleaseAllocator = release_allocator,
      .CreateDataTransfer = create_data_transfer,
      .IsStreamAware = is_stream_aware,
      .CreateSyncStreamForDevice = create_sync_stream,
  };
}

/* A runtime without the versions that are known here has still its oldest API, whose first function makes statuses. */
static OrtStatus *refuse(const ort_api_base *base, const char *reason) {
  typedef OrtStatus *(*create_fn)(int code, const char *message);
  char text[512];
  const OrtApi *oldest = base && base->GetApi ? base->GetApi(1) : NULL;
  if (!oldest) return NULL;
  create_fn create;
  memcpy(&create, oldest, sizeof create);
  (void)snprintf(text, sizeof text, "hone: %s; this is %s", reason,
                 base->GetVersionString ? base->GetVersionString() : "unknown");
  return create(ORT_ERROR_NOT_IMPLEMENTED, text);
}

EP_EXPORT OrtStatus *CreateEpFactories(const char *registered_name, const ort_api_base *base, const OrtLogger *logger,
                                       ort_ep_factory **factories, size_t room, size_t *out_count);
EP_EXPORT OrtStatus *ReleaseEpFactory(ort_ep_factory *factory);

OrtStatus *CreateEpFactories(const char *registered_name, const ort_api_base *base, const OrtLogger *logger,
                             ort_ep_factory **factories, size_t room, size_t *out_count) {
  (void)registered_name;
  if (out_count) *out_count = 0;
  if (!factories || !out_count || room < 1) return refuse(base, "there is no room for a factory");
  ep_factory *factory = calloc(1, sizeof *factory);
  if (!factory) return refuse(base, "out of memory");
  const char *reason = ort_calls_find(base, &factory->ort, &factory->version);
  if (reason) {
    free(factory);
    return refuse(base, reason);
  }
  factory->table = make_table(factory->version);
  (void)logger; /* each session brings its own */
  factories[0] = &factory->table;
  *out_count = 1;
  return NULL;
}

OrtStatus *ReleaseEpFactory(ort_ep_factory *factory) {
  free(factory);
  return NULL;
}
