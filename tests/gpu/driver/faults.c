/* SPDX-License-Identifier: Apache-2.0 */
/* faults.c - the GPU's driver, but for one call that fails: built as libcuda.so.1 in a folder of its own, and found
 * there by HONE_LIBRARY_PATH. What is not here comes from the real driver, on which this depends.
 *
 * HONE_GPU_FAULT=alloc:N     the N-th allocation of device memory: out of memory
 *                host:N      of page-locked memory
 *                launch:N    the N-th launch of a kernel, also while it is recorded: out of resources
 *                replay:N    the N-th launch of a graph
 *                trap:N      in front of the N-th launch of a graph runs a kernel that traps */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { OUT_OF_MEMORY = 2, OUT_OF_RESOURCES = 701, NOT_FOUND = 500 };
#define API __attribute__((visibility("default")))

static const char trap[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry bad()\n{\n trap;\n}\n";

/* Declared here, so that no toolkit is needed to build this. */
API int cuMemAlloc_v2(unsigned long long *address, size_t bytes);
API int cuMemHostAlloc(void **data, size_t bytes, unsigned flags);
API int cuLaunchKernelEx(const void *config, void *function, void **arguments, void **extra);
API int cuGraphLaunch(void *graph, void *stream);

static void *real(const char *name) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD); /* by its own name, which this file has not */
  return library ? dlsym(library, name) : NULL;
}

/* Is this the call that is to fail? */
static int fails(const char *what, atomic_int *calls) {
  const char *given = getenv("HONE_GPU_FAULT");
  const size_t length = strlen(what);
  if (!given || strncmp(given, what, length) != 0 || given[length] != ':') return 0;
  return atomic_fetch_add(calls, 1) + 1 == atoi(given + length + 1);
}

int cuMemAlloc_v2(unsigned long long *address, size_t bytes) {
  static atomic_int calls;
  int (*next)(unsigned long long *, size_t);
  *(void **)&next = real("cuMemAlloc_v2");
  if (fails("alloc", &calls)) return OUT_OF_MEMORY;
  return next ? next(address, bytes) : NOT_FOUND;
}

int cuMemHostAlloc(void **data, size_t bytes, unsigned flags) {
  static atomic_int calls;
  int (*next)(void **, size_t, unsigned);
  *(void **)&next = real("cuMemHostAlloc");
  if (fails("host", &calls)) return OUT_OF_MEMORY;
  return next ? next(data, bytes, flags) : NOT_FOUND;
}

int cuLaunchKernelEx(const void *config, void *function, void **arguments, void **extra) {
  static atomic_int calls;
  int (*next)(const void *, void *, void **, void **);
  *(void **)&next = real("cuLaunchKernelEx");
  if (fails("launch", &calls)) return OUT_OF_RESOURCES;
  return next ? next(config, function, arguments, extra) : NOT_FOUND;
}

static int run_trap(void *stream) {
  int (*load)(void **, const void *), (*get)(void **, void *, const char *);
  int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
  void *module = NULL, *function = NULL;
  *(void **)&load = real("cuModuleLoadData");
  *(void **)&get = real("cuModuleGetFunction");
  *(void **)&launch = real("cuLaunchKernel");
  if (!load || !get || !launch || load(&module, trap) != 0 || get(&function, module, "bad") != 0) return NOT_FOUND;
  return launch(function, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL);
}

int cuGraphLaunch(void *graph, void *stream) {
  static atomic_int replays, traps;
  int (*next)(void *, void *);
  *(void **)&next = real("cuGraphLaunch");
  if (fails("replay", &replays)) return OUT_OF_RESOURCES;
  if (fails("trap", &traps)) {
    const int result = run_trap(stream);
    if (result != 0) return result;
  }
  return next ? next(graph, stream) : NOT_FOUND;
}
