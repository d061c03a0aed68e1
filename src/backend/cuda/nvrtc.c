/* SPDX-License-Identifier: Apache-2.0 */
/* nvrtc.c - kernels from source: compiled once a unit, kept in memory, and in the caller's cache folder when there is
 * one. A cached file holds the source beside the code, so that an equal hash alone is never believed. What will be
 * wanted soon is begun in threads of its own; these call NVRTC alone, and nothing of the host. */
#include "backend/cuda/cuda.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT_OF(name) #name
#define NAME_OF(name) TEXT_OF(name),
static const char *const names[] = {HN_CUDA_NVRTC_FUNCTIONS(NAME_OF)};

void hn_cuda_open_nvrtc(hone_unit *unit) {
  static const char *const libraries[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", NULL};
  unit->nvrtc_library = hn_cuda_open_library(unit->host, libraries);
  if (!unit->nvrtc_library) return;
  if (hn_cuda_fill(unit->nvrtc_library, names, (int)(sizeof names / sizeof *names), &unit->nvrtc)) {
    dlclose(unit->nvrtc_library);
    unit->nvrtc_library = NULL;
    return;
  }
  unit->facts.isa |= HN_CUDA_NVRTC;
}

void hn_cuda_close_nvrtc(hone_unit *unit) {
  for (hn_cuda_compiled *item = unit->compiled; item;) {
    hn_cuda_compiled *next = item->next;
    if (item->is_begun) {
      (void)pthread_join(item->thread, NULL);
      (void)unit->nvrtc.nvrtcDestroyProgram(&item->program);
    }
    if (item->module) (void)unit->driver->api.cuModuleUnload(item->module);
    hn_cuda_delete(unit->host, item, sizeof *item + item->source_bytes);
    item = next;
  }
  unit->compiled = NULL;
  if (unit->nvrtc_library) dlclose(unit->nvrtc_library);
}

/* FNV-1a (Fowler, Noll, Vo): names the file only. */
static uint64_t hash_text(const char *text, uint64_t hash) {
  for (; *text; ++text) hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
  return hash;
}

static bool cache_path(const hone_unit *unit, const char *source, char *out, size_t room) {
  if (!unit->host->cache_dir) return false;
  const uint64_t hash = hash_text(source, hash_text(unit->facts.version, 0xcbf29ce484222325u));
  const int written =
      snprintf(out, room, "%s/cuda-%016llx-sm%d.bin", unit->host->cache_dir, (unsigned long long)hash, unit->sm);
  return written > 0 && (size_t)written < room;
}

/* The file is: version, 0, source, 0, code. */
static void *read_cached(const hone_unit *unit, const char *source, size_t *out_bytes, void **out_code) {
  char path[4096];
  if (!cache_path(unit, source, path, sizeof path)) return NULL;
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  const size_t head = strlen(unit->facts.version) + strlen(source) + 2;
  struct stat status;
  char *bytes = NULL;
  if (fstat(fileno(file), &status) == 0 && status.st_size > (off_t)head && status.st_size < 1 << 26) {
    *out_bytes = (size_t)status.st_size;
    bytes = hn_cuda_new(unit->host, *out_bytes);
  }
  const bool good = bytes && fread(bytes, 1, *out_bytes, file) == *out_bytes &&
                    memcmp(bytes, unit->facts.version, strlen(unit->facts.version) + 1) == 0 &&
                    memcmp(bytes + strlen(unit->facts.version) + 1, source, strlen(source) + 1) == 0;
  fclose(file);
  if (good) {
    *out_code = bytes + head;
    return bytes;
  }
  hn_cuda_delete(unit->host, bytes, bytes ? *out_bytes : 0);
  return NULL;
}

/* Failing to write costs the next process a compilation, no more. */
static void write_cached(const hone_unit *unit, const char *source, const void *code, size_t bytes) {
  char path[4096], temporary[4160];
  if (!cache_path(unit, source, path, sizeof path)) return;
  (void)mkdir(unit->host->cache_dir, 0700);
  snprintf(temporary, sizeof temporary, "%s.%ld.%p", path, (long)getpid(), (const void *)unit);
  FILE *file = fopen(temporary, "wb");
  if (!file) return;
  const size_t version = strlen(unit->facts.version) + 1, text = strlen(source) + 1;
  const bool good = fwrite(unit->facts.version, 1, version, file) == version && fwrite(source, 1, text, file) == text &&
                    fwrite(code, 1, bytes, file) == bytes;
  if (fclose(file) != 0 || !good || rename(temporary, path) != 0) (void)unlink(temporary);
}

static hone_status fail_program(hone_unit *unit, nvrtcProgram program, nvrtcResult result, const char *source,
                                hone_diagnostics *diag) {
  char log[600] = "";
  size_t bytes = 0;
  char *text = NULL;
  if (program && unit->nvrtc.nvrtcGetProgramLogSize(program, &bytes) == NVRTC_SUCCESS && bytes > 1)
    text = hn_cuda_new(unit->host, bytes + 1);
  if (text && unit->nvrtc.nvrtcGetProgramLog(program, text) == NVRTC_SUCCESS) snprintf(log, sizeof log, "%.500s", text);
  hn_cuda_delete(unit->host, text, text ? bytes + 1 : 0);
  (void)source;
  return hn_cuda_fail(unit->host, diag, HONE_INTERNAL, "a generated kernel does not compile: %s: %s",
                      unit->nvrtc.nvrtcGetErrorString(result), log);
}

/* NVRTC's part of a compilation, which any thread may do. */
static nvrtcResult run_nvrtc(const hone_unit *unit, nvrtcProgram program) {
  char target[32];
  snprintf(target, sizeof target, "--gpu-architecture=sm_%d", unit->sm);
  const char *const options[] = {target, "--std=c++17", "--prec-div=true", "--prec-sqrt=true", "--ftz=false"};
  return unit->nvrtc.nvrtcCompileProgram(program, (int)(sizeof options / sizeof *options), options);
}

static void *run_begun(void *begun) {
  hn_cuda_compiled *item = begun;
  item->result = run_nvrtc(item->unit, item->program);
  return NULL;
}

/* Its code, and the program dropped; the caller frees *out_code. */
static hone_status finish(hone_unit *unit, nvrtcProgram program, nvrtcResult result, const char *source,
                          void **out_code, size_t *out_bytes, hone_diagnostics *diag) {
  const hn_cuda_nvrtc_api *api = &unit->nvrtc;
  if (result == NVRTC_SUCCESS) result = api->nvrtcGetCUBINSize(program, out_bytes);
  *out_code = result == NVRTC_SUCCESS ? hn_cuda_new(unit->host, *out_bytes) : NULL;
  if (*out_code) result = api->nvrtcGetCUBIN(program, *out_code);
  hone_status status = HONE_OK;
  if (result != NVRTC_SUCCESS)
    status = fail_program(unit, program, result, source, diag);
  else if (!*out_code)
    status = unit->host->fail(diag, HONE_NO_MEMORY, "out of memory");
  if (status != HONE_OK) hn_cuda_delete(unit->host, *out_code, *out_code ? *out_bytes : 0);
  if (program) (void)api->nvrtcDestroyProgram(&program);
  return status;
}

static hone_status compile(hone_unit *unit, const char *source, void **out_code, size_t *out_bytes,
                           hone_diagnostics *diag) {
  nvrtcProgram program = NULL;
  nvrtcResult result = unit->nvrtc.nvrtcCreateProgram(&program, source, "hn_kernel.cu", 0, NULL, NULL);
  if (result == NVRTC_SUCCESS) result = run_nvrtc(unit, program);
  return finish(unit, program, result, source, out_code, out_bytes, diag);
}

static hn_cuda_compiled *new_item(hone_unit *unit, const char *source) {
  const size_t source_bytes = strlen(source) + 1;
  hn_cuda_compiled *item = hn_cuda_new(unit->host, sizeof *item + source_bytes);
  if (!item) return NULL;
  item->unit = unit;
  item->source_bytes = source_bytes;
  memcpy(item->source, source, source_bytes);
  return item;
}

/* Loads code and finds its kernel. */
static hone_status load(hone_unit *unit, const void *code, hn_cuda_compiled *item, hone_diagnostics *diag) {
  const hn_cuda_driver_api *api = &unit->driver->api;
  hone_status status =
      hn_cuda_check(unit, diag, api->cuModuleLoadData(&item->module, code), "loading a generated kernel");
  if (status == HONE_OK)
    status = hn_cuda_check(unit, diag, api->cuModuleGetFunction(&item->function, item->module, "hn_kernel"),
                           "finding a generated kernel");
  if (status == HONE_OK) return HONE_OK;
  if (item->module) (void)api->cuModuleUnload(item->module);
  item->module = NULL;
  return status;
}

/* A new item's code: out of the cache folder, or compiled. */
static hone_status fill_item(hone_unit *unit, hn_cuda_compiled *item, hone_diagnostics *diag) {
  size_t file_bytes = 0, code_bytes = 0;
  void *code = NULL, *file = read_cached(unit, item->source, &file_bytes, &code);
  const bool loaded = file && load(unit, code, item, NULL) == HONE_OK;
  hn_cuda_delete(unit->host, file, file_bytes);
  if (loaded) return HONE_OK;
  hone_status status = compile(unit, item->source, &code, &code_bytes, diag);
  if (status != HONE_OK) return status;
  status = load(unit, code, item, diag);
  if (status == HONE_OK) write_cached(unit, item->source, code, code_bytes);
  hn_cuda_delete(unit->host, code, code_bytes);
  return status;
}

/* What was begun, awaited. */
static hone_status end_begun(hone_unit *unit, hn_cuda_compiled *item, hone_diagnostics *diag) {
  void *code = NULL;
  size_t bytes = 0;
  (void)pthread_join(item->thread, NULL);
  item->is_begun = false;
  hone_status status = finish(unit, item->program, item->result, item->source, &code, &bytes, diag);
  item->program = NULL;
  if (status != HONE_OK) return status;
  status = load(unit, code, item, diag);
  if (status == HONE_OK) write_cached(unit, item->source, code, bytes);
  hn_cuda_delete(unit->host, code, bytes);
  return status;
}

static hn_cuda_compiled *find(const hone_unit *unit, const char *source) {
  hn_cuda_compiled *item = unit->compiled;
  while (item && strcmp(item->source, source) != 0) item = item->next;
  return item;
}

/* An item whose code could not be had stays without a function: the next who wants it tries again. */
static hone_status want(hone_unit *unit, const char *source, hn_cuda_compiled **out, hone_diagnostics *diag) {
  hn_cuda_compiled *item = find(unit, source);
  if (!item) {
    item = new_item(unit, source);
    if (!item) return unit->host->fail(diag, HONE_NO_MEMORY, "out of memory");
    item->next = unit->compiled;
    unit->compiled = item;
  }
  *out = item;
  if (item->is_begun) return end_begun(unit, item, diag);
  return item->function ? HONE_OK : fill_item(unit, item, diag);
}

hone_status hn_cuda_compile(hone_unit *unit, const char *source, CUfunction *out, hone_diagnostics *diag) {
  if (!unit->nvrtc_library) return unit->host->fail(diag, HONE_DEVICE, "NVRTC (libnvrtc.so) was not found");
  if (!hn_cuda_enter(unit)) return unit->host->fail(diag, HONE_DEVICE, "the GPU's context cannot be entered");
  pthread_mutex_lock(&unit->mutex);
  hn_cuda_compiled *item;
  const hone_status status = want(unit, source, &item, diag);
  if (status == HONE_OK) *out = item->function;
  pthread_mutex_unlock(&unit->mutex);
  return status;
}

static bool is_cached(const hone_unit *unit, const char *source) {
  char path[4096];
  return cache_path(unit, source, path, sizeof path) && access(path, R_OK) == 0;
}

void hn_cuda_compile_soon(hone_unit *unit, const char *source) {
  enum { MOST = 32 };
  if (!unit->nvrtc_library) return;
  pthread_mutex_lock(&unit->mutex);
  const long processors = sysconf(_SC_NPROCESSORS_ONLN);
  int begun = 0;
  for (const hn_cuda_compiled *item = unit->compiled; item; item = item->next) begun += item->is_begun;
  const bool may = begun < MOST && begun < processors && !find(unit, source) && !is_cached(unit, source);
  hn_cuda_compiled *item = may ? new_item(unit, source) : NULL;
  if (item && unit->nvrtc.nvrtcCreateProgram(&item->program, source, "hn_kernel.cu", 0, NULL, NULL) == NVRTC_SUCCESS)
    item->is_begun = pthread_create(&item->thread, NULL, run_begun, item) == 0;
  if (item && item->is_begun) {
    item->next = unit->compiled;
    unit->compiled = item;
  } else if (item) {
    if (item->program) (void)unit->nvrtc.nvrtcDestroyProgram(&item->program);
    hn_cuda_delete(unit->host, item, sizeof *item + item->source_bytes);
  }
  pthread_mutex_unlock(&unit->mutex);
}
