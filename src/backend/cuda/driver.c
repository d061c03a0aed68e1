/* SPDX-License-Identifier: Apache-2.0 */
/* driver.c - the driver opened, units on it, their memory; the backend's table and the plug-in's entry. */
#include "backend/cuda/cuda.h"
#include <dlfcn.h>
#include <hone/plugin.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* cuda.h maps names to versioned ones by macros: what is looked up is the name after that. */
#define TEXT_OF(name) #name
#define NAME_OF(name) TEXT_OF(name),
static const char *const driver_names[] = {HN_CUDA_DRIVER_FUNCTIONS(NAME_OF)};
_Static_assert(sizeof driver_names / sizeof *driver_names == sizeof(hn_cuda_driver_api) / sizeof(void *),
               "one name a pointer");

/* ---- services ---- */

void *hn_cuda_new(const hone_host *host, size_t bytes) {
  void *block = host->resize(host->self, NULL, 0, bytes);
  if (block) memset(block, 0, bytes);
  return block;
}

void hn_cuda_delete(const hone_host *host, void *block, size_t bytes) {
  if (block) (void)host->resize(host->self, block, bytes, 0);
}

hone_status hn_cuda_fail(const hone_host *host, hone_diagnostics *diag, hone_status status, const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return host->fail(diag, status, text);
}

hone_status hn_cuda_check(const hone_unit *unit, hone_diagnostics *diag, CUresult result, const char *what) {
  if (result == CUDA_SUCCESS) return HONE_OK;
  const char *words = NULL;
  (void)unit->driver->api.cuGetErrorString(result, &words);
  return hn_cuda_fail(unit->host, diag, result == CUDA_ERROR_OUT_OF_MEMORY ? HONE_NO_MEMORY : HONE_DEVICE,
                      "%s: %s (%d)", what, words ? words : "an unknown error", (int)result);
}

void *hn_cuda_open_library(const hone_host *host, const char *const *names) {
  char path[4096];
  for (const char *at = host->library_path; at && *at;) {
    const int length = (int)strcspn(at, ":");
    for (const char *const *name = names; length > 0 && *name; ++name) {
      const int written = snprintf(path, sizeof path, "%.*s/%s", length, at, *name);
      void *library = written > 0 && (size_t)written < sizeof path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
      if (library) return library;
    }
    at += length + (at[length] == ':');
  }
  for (const char *const *name = names; *name; ++name) {
    void *library = dlopen(*name, RTLD_NOW | RTLD_LOCAL);
    if (library) return library;
  }
  return NULL;
}

const char *hn_cuda_fill(void *library, const char *const *names, int count, void *table) {
  for (int i = 0; i < count; ++i) {
    void *symbol = dlsym(library, names[i]);
    if (!symbol) return names[i];
    memcpy((char *)table + (size_t)i * sizeof symbol, &symbol, sizeof symbol); /* ISO C has no such cast */
  }
  return NULL;
}

const hone_attr *hn_cuda_attr(const hone_attrs *attrs, const char *name) {
  for (int i = 0; i < attrs->count; ++i)
    if (strcmp(attrs->items[i].name, name) == 0) return &attrs->items[i];
  return NULL;
}
int64_t hn_cuda_attr_int(const hone_attrs *attrs, const char *name, int64_t otherwise) {
  const hone_attr *attr = hn_cuda_attr(attrs, name);
  return attr && attr->kind == HONE_ATTR_INT ? attr->i : otherwise;
}
double hn_cuda_attr_float(const hone_attrs *attrs, const char *name, double otherwise) {
  const hone_attr *attr = hn_cuda_attr(attrs, name);
  return attr && attr->kind == HONE_ATTR_FLOAT ? attr->f : otherwise;
}

int64_t hn_cuda_elements(const hone_shape *shape) {
  int64_t count = 1;
  for (int i = 0; i < shape->rank; ++i) count *= shape->dim[i];
  return count;
}

bool hn_cuda_same_shape(const hone_shape *a, const hone_shape *b) {
  if (a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; ++i)
    if (a->dim[i] != b->dim[i]) return false;
  return true;
}

/* ---- the driver ---- */

static void unload(hone_driver *driver) {
  if (driver->library) dlclose(driver->library);
  hn_cuda_delete(driver->host, driver, sizeof *driver);
}

static hone_status start(hone_driver *driver, hone_diagnostics *diag) {
  static const char *const names[] = {"libcuda.so.1", NULL};
  const hone_host *host = driver->host;
  driver->library = hn_cuda_open_library(host, names);
  if (!driver->library)
    return hn_cuda_fail(host, diag, HONE_DEVICE,
                        "no GPU driver: libcuda.so.1 is neither in the library path nor where "
                        "the loader looks");
  const char *missing =
      hn_cuda_fill(driver->library, driver_names, (int)(sizeof driver_names / sizeof *driver_names), &driver->api);
  if (missing) return hn_cuda_fail(host, diag, HONE_DEVICE, "the GPU driver is too old: it has no %s", missing);
  const CUresult result = driver->api.cuInit(0);
  if (result != CUDA_SUCCESS) {
    const char *words = NULL;
    (void)driver->api.cuGetErrorString(result, &words);
    return hn_cuda_fail(host, diag, HONE_DEVICE, "the GPU driver is there, but does not start: %s (%d)",
                        words ? words : "an unknown error", (int)result);
  }
  (void)driver->api.cuDriverGetVersion(&driver->version);
  if (driver->api.cuDeviceGetCount(&driver->count) != CUDA_SUCCESS || driver->count < 1)
    return hn_cuda_fail(host, diag, HONE_DEVICE, "the GPU driver is there, but no GPU");
  return HONE_OK;
}

static hone_status load(const hone_host *host, hone_driver **out, hone_diagnostics *diag) {
  *out = NULL;
  hone_driver *driver = hn_cuda_new(host, sizeof *driver);
  if (!driver) return host->fail(diag, HONE_NO_MEMORY, "out of memory");
  driver->host = host;
  const hone_status status = start(driver, diag);
  if (status != HONE_OK) {
    unload(driver);
    return status;
  }
  *out = driver;
  return HONE_OK;
}

static int count(hone_driver *driver) { return driver->count; }

/* ---- units ---- */

static void close_unit(hone_unit *unit) {
  const hone_host *host = unit->host;
  if (unit->context) {
    (void)hn_cuda_enter(unit);
    hn_cuda_close_lt(unit);
    hn_cuda_close_dnn(unit);
    hn_cuda_close_nvrtc(unit);
    hn_cuda_unload_builtins(unit);
    if (unit->epoch) (void)unit->driver->api.cuEventDestroy(unit->epoch);
    (void)unit->driver->api.cuCtxSetCurrent(NULL);
    (void)unit->driver->api.cuDevicePrimaryCtxRelease(unit->device);
  }
  pthread_mutex_destroy(&unit->mutex);
  hn_cuda_delete(host, unit, sizeof *unit);
}

static void fill_facts(hone_unit *unit) {
  const hn_cuda_driver_api *api = &unit->driver->api;
  static const int generations[] = {70, 75, 80, 86, 89, 90, 100, 120};
  int major = 0, minor = 0, value = 0;
  hone_facts *facts = &unit->facts;
  (void)api->cuDeviceGetName(facts->name, (int)sizeof facts->name, unit->device);
  (void)api->cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, unit->device);
  (void)api->cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, unit->device);
  unit->sm = major * 10 + minor;
  for (size_t i = 0; i < sizeof generations / sizeof *generations; ++i)
    if (unit->sm >= generations[i]) facts->isa |= 1u << i;
  if (unit->sm == 90) facts->isa |= HN_CUDA_SM90A;
  if (api->cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, unit->device) == CUDA_SUCCESS)
    facts->threads = value;
  if (api->cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, unit->device) == CUDA_SUCCESS)
    facts->l2_bytes = (size_t)value;
}

/* The facts' version: all that can change a time or a result. */
static void fill_version(hone_unit *unit) {
  int major = 0, minor = 0;
  if (unit->nvrtc_library) (void)unit->nvrtc.nvrtcVersion(&major, &minor);
  snprintf(unit->facts.version, sizeof unit->facts.version, "driver %d.%d sm_%d nvrtc %d.%d cublaslt %zu cudnn %zu",
           unit->driver->version / 1000, unit->driver->version / 10 % 100, unit->sm, major, minor,
           unit->lt_library ? unit->lt.cublasLtGetVersion() : 0, hn_cuda_dnn_version(unit));
}

static hone_status open_unit(hone_driver *driver, int index, const hone_device_options *options, hone_unit **out,
                             hone_diagnostics *diag) {
  (void)options;
  *out = NULL;
  const hn_cuda_driver_api *api = &driver->api;
  hone_unit *unit = hn_cuda_new(driver->host, sizeof *unit);
  if (!unit) return driver->host->fail(diag, HONE_NO_MEMORY, "out of memory");
  unit->host = driver->host;
  unit->driver = driver;
  pthread_mutex_init(&unit->mutex, NULL);
  hone_status status = hn_cuda_check(unit, diag, api->cuDeviceGet(&unit->device, index), "finding the GPU");
  if (status == HONE_OK) fill_facts(unit);
  if (status == HONE_OK && unit->sm < 70)
    status = hn_cuda_fail(unit->host, diag, HONE_DEVICE, "%s is of generation %d.%d; 7.0 and later are supported",
                          unit->facts.name, unit->sm / 10, unit->sm % 10);
  if (status == HONE_OK)
    status = hn_cuda_check(unit, diag, api->cuDevicePrimaryCtxRetain(&unit->context, unit->device), "opening the GPU");
  if (status == HONE_OK && !hn_cuda_enter(unit))
    status = hn_cuda_fail(unit->host, diag, HONE_DEVICE, "the GPU's context cannot be entered");
  if (status == HONE_OK)
    status = hn_cuda_check(unit, diag, api->cuEventCreate(&unit->epoch, CU_EVENT_DEFAULT), "making an event");
  if (status == HONE_OK)
    status = hn_cuda_check(unit, diag, api->cuEventRecord(unit->epoch, NULL), "recording an event");
  if (status == HONE_OK) status = hn_cuda_load_builtins(unit, diag);
  if (status != HONE_OK) {
    close_unit(unit);
    return status;
  }
  hn_cuda_open_nvrtc(unit);
  hn_cuda_open_lt(unit);
  hn_cuda_open_dnn(unit);
  fill_version(unit);
  *out = unit;
  return HONE_OK;
}

static void facts(const hone_unit *unit, hone_facts *out) { *out = unit->facts; }

static hone_status alloc(hone_unit *unit, int kind, size_t bytes, hone_memory *out) {
  const hn_cuda_driver_api *api = &unit->driver->api;
  *out = (hone_memory){0};
  if (!hn_cuda_enter(unit)) return HONE_DEVICE;
  if (kind == HONE_MEMORY_STAGING) {
    void *data = NULL;
    if (api->cuMemHostAlloc(&data, bytes, CU_MEMHOSTALLOC_PORTABLE) != CUDA_SUCCESS) return HONE_NO_MEMORY;
    *out = (hone_memory){.data = data, .address = (uintptr_t)data, .bytes = bytes, .kind = kind};
    return HONE_OK;
  }
  CUdeviceptr address = 0;
  if (api->cuMemAlloc(&address, bytes) != CUDA_SUCCESS) return HONE_NO_MEMORY;
  *out = (hone_memory){.address = address, .bytes = bytes, .kind = kind};
  return HONE_OK;
}

static void free_memory(hone_unit *unit, hone_memory *memory) {
  if (!hn_cuda_enter(unit)) return;
  if (memory->kind == HONE_MEMORY_STAGING)
    (void)unit->driver->api.cuMemFreeHost(memory->data);
  else
    (void)unit->driver->api.cuMemFree(memory->address);
}

/* ---- the table ---- */

#define HN_FAMILY(file) extern const hone_tactic hn_tactics_cuda_##file[];
#include "backend/cuda/families.inc"
#undef HN_FAMILY
#define HN_FAMILY(file) hn_tactics_cuda_##file,
static const hone_tactic *const families[] = {
#include "backend/cuda/families.inc"
    NULL};
#undef HN_FAMILY

static const hone_backend backend = {
    .struct_size = sizeof(hone_backend),
    .api = HONE_BACKEND_API,
    .name = "cuda",
    .load = load,
    .unload = unload,
    .count = count,
    .open = open_unit,
    .close = close_unit,
    .facts = facts,
    .alloc = alloc,
    .free = free_memory,
    .stream = hn_cuda_stream,
    .drop = hn_cuda_drop,
    .copy = hn_cuda_copy,
    .mark = hn_cuda_mark,
    .wait = hn_cuda_wait,
    .between = hn_cuda_between,
    .record = hn_cuda_record,
    .keep = hn_cuda_keep,
    .replay = hn_cuda_replay,
    .forget = hn_cuda_forget,
    .families = families,
    .measure = hn_cuda_measure,
    .adopt = hn_cuda_adopt,
    .trace = hn_cuda_trace,
    .tag = hn_cuda_tag_step,
    .activities = hn_cuda_activities,
    .call = hn_cuda_call,
    .follow = hn_cuda_follow,
    .signal = hn_cuda_signal,
    .range = hn_cuda_range,
    .reason = hn_cuda_reason,
    .lane = hn_cuda_lane,
    .after = hn_cuda_after,
    .native = hn_cuda_native,
    .enter = hn_cuda_enter_unit,
};
static const hone_backend *const backends[] = {&backend, NULL};
static const hone_plugin_table table = {
    .struct_size = sizeof(hone_plugin_table), .name = "cuda", .version = HONE_VERSION_STRING, .backends = backends};

HONE_API const hone_plugin_table *hone_plugin(const hone_host *host);
const hone_plugin_table *hone_plugin(const hone_host *host) {
  (void)host;
  return &table;
}
