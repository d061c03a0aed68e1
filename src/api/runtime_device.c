/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_device.c - opening devices by name: built-in backends, those of plug-ins, and those in shared objects of
 * their own, which are plug-ins that are looked for when their kind is asked for. */
#include "api/plugin.h"
#include "base/arguments.h"
#include "base/text.h"
#include "device/device.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Kinds whose backend is the shared object libhone_backend_KIND.so, and what people also call them. */
static const struct { const char *kind, *alias; } modules[] = {{"cuda", "gpu"}};

static const char *module_kind(const char *kind) {
  for (size_t i = 0; i < HN_COUNT(modules); ++i)
    if (strcmp(modules[i].kind, kind) == 0 || strcmp(modules[i].alias, kind) == 0) return modules[i].kind;
  return NULL;
}

static hone_status no_such_kind(hone_context *context, const char *kind) {
  hn_text list;
  hn_text_init(&list, context->allocator);
  for (const hone_backend *const *row = hn_builtin_backends(); *row; ++row) hn_text_printf(&list, " %s", (*row)->name);
  for (size_t i = 0; i < HN_COUNT(modules); ++i) hn_text_printf(&list, " %s", modules[i].kind);
  for (const hn_plugin_backend *known = context->plugin_backends; known; known = known->next)
    if (!module_kind(known->backend->name)) hn_text_printf(&list, " %s", known->backend->name);
  const hone_status status =
      HN_FAIL(&context->diag, HONE_INVALID, "there is no device kind %s; there are:%s", kind, hn_text_string(&list));
  hn_text_deinit(&list);
  return status;
}

static const hone_backend *find_plugged(const hone_context *context, const char *kind) {
  for (const hn_plugin_backend *known = context->plugin_backends; known; known = known->next)
    if (strcmp(known->backend->name, kind) == 0) return known->backend;
  return NULL;
}

/* Tries FOLDER/libhone_backend_KIND.so; folder NULL: the loader's own places. */
static void *try_folder(const char *folder, int length, const char *under, const char *kind, char *path, size_t room) {
  const int written = folder ? snprintf(path, room, "%.*s/%slibhone_backend_%s.so", length, folder, under, kind)
                             : snprintf(path, room, "libhone_backend_%s.so", kind);
  return written > 0 && (size_t)written < room ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

/* The folders of the context's list, then where this library lies, then the loader's places. path receives what was
 * opened, or the last that was tried. */
static void *open_module(const hone_context *context, const char *kind, char *path, size_t room) {
  void *object = NULL;
  for (const char *at = context->library_path; at && *at && !object;) {
    const int length = (int)strcspn(at, ":");
    if (length > 0) object = try_folder(at, length, "", kind, path, room);
    if (length > 0 && !object) object = try_folder(at, length, "hone/", kind, path, room);
    at += length + (at[length] == ':');
  }
  Dl_info here;
  static const char anchor = 0;
  if (!object && dladdr(&anchor, &here) && here.dli_fname && strrchr(here.dli_fname, '/')) {
    const int length = (int)(strrchr(here.dli_fname, '/') - here.dli_fname);
    object = try_folder(here.dli_fname, length, "", kind, path, room);
    if (!object) object = try_folder(here.dli_fname, length, "hone/", kind, path, room);
  }
  return object ? object : try_folder(NULL, 0, "", kind, path, room);
}

/* A built-in backend, a plug-in's, or one in a shared object of its own, opened now. "gpu" is "cuda". INVALID: there is
 * no such kind; DEVICE: its shared object is not here. */
static hone_status backend_for(hone_context *context, const char *kind, const hone_backend **out) {
  *out = hn_backend_find(kind);
  if (!*out) *out = find_plugged(context, kind);
  if (*out) return HONE_OK;
  const char *module = module_kind(kind);
  if (!module) return no_such_kind(context, kind);
  *out = find_plugged(context, module);
  if (*out) return HONE_OK;
  char path[4096];
  void *object = open_module(context, module, path, sizeof path);
  if (!object)
    return HN_FAIL(&context->diag, HONE_DEVICE,
                   "no %s backend: libhone_backend_%s.so is neither in the library path (%s) nor beside this library",
                   module, module, context->library_path ? context->library_path : "none given");
  HN_TRY(hn_plugin_take(context, path, object));
  *out = find_plugged(context, module);
  return *out ? HONE_OK : HN_FAIL(&context->diag, HONE_DEVICE, "%s brings no %s backend", path, module);
}

static hone_status take_options(hone_diagnostics *diag, const hone_device_options *given, hone_device_options *out) {
  HN_OPTIONS(diag, "device", given, hone_device_options, spin_microseconds, out);
  HN_TRY(hn_argument_range(diag, "device option threads", out->threads, 0, HONE_MAX_THREADS));
  HN_TRY(hn_argument_list(diag, "device option cpus", out->cpus, out->cpu_count, HN_NO_MOST));
  HN_TRY(hn_argument_range(diag, "device option hint", (int64_t)out->hint, 0, HONE_HINT_COUNT - 1));
  if (out->parallel && out->cpus)
    return HN_FAIL(diag, HONE_INVALID, "device options parallel and cpus: the program's own threads cannot be pinned");
  return hn_argument_range(diag, "device option spin_microseconds", out->spin_microseconds, -1, 100000000);
}

hone_status hone_device_open(hone_context *context, const char *kind, int index, const hone_device_options *given,
                             hone_device **out_device) {
  if (out_device) *out_device = NULL;
  HN_GIVEN(NULL, context);
  HN_GIVEN(&context->diag, kind);
  HN_GIVEN(&context->diag, out_device);
  hone_device_options options;
  HN_TRY(take_options(&context->diag, given, &options));
  HN_TRY(hn_argument_range(&context->diag, "device index", index, 0, INT32_MAX));
  const hone_backend *backend;
  HN_TRY(backend_for(context, kind, &backend));
  return hn_device_open(context, backend, index, &options, out_device);
}

void hone_device_close(hone_device *device) { hn_device_release(device); }
hone_status hone_device_facts(const hone_device *device, hone_facts *out_facts) {
  HN_RESULT(NULL, out_facts, hone_facts, described);
  HN_GIVEN(NULL, device);
  hn_result_give(&device->facts, out_facts);
  return HONE_OK;
}
const char *hone_device_kind(const hone_device *device) { return device ? device->backend->name : NULL; }

hone_status hone_device_measure(hone_device *device, hone_diagnostics *diagnostics) {
  HN_GIVEN(diagnostics, device);
  return hn_device_measure(device, NULL, diagnostics);
}
