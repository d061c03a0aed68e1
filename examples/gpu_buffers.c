/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_buffers.c - an engine that reads and writes the caller's own GPU memory, in the caller's stream.
 * usage: gpu_buffers ENGINE      (hone build MODEL --device gpu --fp16 --device-io -o ENGINE)
 *
 * In a program that uses CUDA already, this is all:
 *
 *   options.native_stream = stream;                              // your CUstream or cudaStream_t
 *   hone_session_create(engine, &options, &session, diagnostics);
 *   hone_session_device_tensor(session, "input", &tensor);       // how it lies there: type, format, bytes
 *   tensor.data = your_pointer;                                  // from cuMemAlloc or cudaMalloc
 *   hone_session_bind(session, "input", &tensor);
 *   hone_session_enqueue(session);                               // behind what you put into the stream; returns at
 * once
 *
 * This one needs no CUDA to be compiled: it opens the driver when it runs. */
#include <dlfcn.h>
#include <hone/hone.h>
#include <stdio.h>
#include <string.h>

/* The few functions of the CUDA driver that are needed here; 0 is success. */
typedef struct driver {
  int (*init)(unsigned);
  int (*retain)(void **context, int device);
  int (*enter)(void *context);
  int (*alloc)(unsigned long long *address, size_t bytes);
  int (*release)(unsigned long long address);
  int (*stream)(void **stream, unsigned flags);
  int (*drop)(void *stream);
  int (*clear)(unsigned long long address, unsigned char value, size_t bytes, void *stream);
} driver;

static int open_driver(driver *d) {
  static const char *const names[] = {
      "cuInit",       "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent",    "cuMemAlloc_v2",
      "cuMemFree_v2", "cuStreamCreate",           "cuStreamDestroy_v2", "cuMemsetD8Async"};
  void *library = dlopen("libcuda.so.1", RTLD_NOW), *context = NULL;
  for (size_t i = 0; library && i < sizeof names / sizeof *names; ++i) {
    void *symbol = dlsym(library, names[i]);
    if (!symbol) return 0;
    memcpy((char *)d + i * sizeof symbol, &symbol, sizeof symbol);
  }
  return library && d->init(0) == 0 && d->retain(&context, 0) == 0 && d->enter(context) == 0;
}

/* The first input in memory of ours, filled by ours: with zeros, in the same stream, before the engine reads it. */
static hone_status run(const driver *d, hone_engine *engine, hone_session *session, void *stream,
                       unsigned long long *address) {
  hone_port_info in = HONE_SIZED(hone_port_info), out = HONE_SIZED(hone_port_info);
  hone_tensor tensor;
  hone_status status = hone_engine_input(engine, 0, &in);
  if (status == HONE_OK) status = hone_session_device_tensor(session, in.name, &tensor);
  if (status != HONE_OK || d->alloc(address, tensor.bytes) != 0) return status == HONE_OK ? HONE_NO_MEMORY : status;
  tensor.data = (void *)(size_t)*address;
  printf("%s: %zu bytes of %s in format %s at %p\n", in.name, tensor.bytes, hone_dtype_name(in.held),
         hone_format_name(in.format), tensor.data);
  status = hone_session_bind(session, in.name, &tensor);
  if (status == HONE_OK && d->clear(*address, 0, tensor.bytes, stream) != 0) status = HONE_DEVICE;
  if (status == HONE_OK) status = hone_session_enqueue(session);
  if (status == HONE_OK) status = hone_session_wait(session); /* or an event of yours in the stream */
  if (status == HONE_OK) status = hone_engine_output(engine, 0, &out);
  if (status == HONE_OK) status = hone_session_tensor(session, out.name, &tensor); /* a copy on the host */
  if (status == HONE_OK) printf("%s: begins with %.6g\n", out.name, hone_tensor_real(&tensor, 0));
  return status;
}

int main(int count, char **arguments) {
  driver d;
  void *stream = NULL;
  unsigned long long address = 0;
  hone_context *context;
  hone_device *device = NULL;
  hone_engine *engine = NULL;
  hone_session *session = NULL;
  if (count < 2) {
    fprintf(stderr, "usage: %s ENGINE\n", arguments[0]);
    return 2;
  }
  if (!open_driver(&d) || d.stream(&stream, 1) != 0) {
    fprintf(stderr, "no GPU: the CUDA driver (libcuda.so.1) is not here or does not start\n");
    return 8;
  }
  hone_status status = hone_context_create(NULL, &context);
  if (status != HONE_OK) return (int)status;
  const hone_session_options options = {.struct_size = sizeof options, .native_stream = stream};
  status = hone_device_open(context, "gpu", 0, NULL, &device);
  if (status == HONE_OK) status = hone_engine_load(context, arguments[1], &device, 1, &engine);
  if (status == HONE_OK) status = hone_session_create(engine, &options, &session, hone_context_diagnostics(context));
  if (status == HONE_OK) status = run(&d, engine, session, stream, &address);
  for (int i = 0; status != HONE_OK && i < hone_context_message_count(context); ++i)
    fprintf(stderr, "%s\n", hone_context_message(context, i, NULL));
  for (int i = 0; session && status != HONE_OK && i < hone_session_message_count(session); ++i)
    fprintf(stderr, "%s\n", hone_session_message(session, i, NULL));
  hone_session_destroy(session);
  hone_engine_release(engine);
  hone_device_close(device);
  hone_context_destroy(context);
  if (address) (void)d.release(address);
  (void)d.drop(stream);
  return (int)status;
}
