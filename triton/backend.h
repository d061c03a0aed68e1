/* SPDX-License-Identifier: Apache-2.0 */
/* backend.h - libtriton_hone.so: engines as models of Triton Inference Server. A model is an engine and what its
 * configuration says; an instance has a device, that is a pool of threads, and a session of its own.
 * Sees <hone/...>, src/base, and of server/ what an engine's ports are (server/ports.h). */
#ifndef TRITON_BACKEND_H
#define TRITON_BACKEND_H

#include "base/diag.h"
#include "base/json.h"
#include "server/ports.h"
#include "triton_api.h"

/* Leaves the function with the server's error. */
#define TRT_TRY(call)                                                                                                  \
  do {                                                                                                                 \
    TRITONSERVER_Error *const trt_error = (call);                                                                      \
    if (trt_error) return trt_error;                                                                                   \
  } while (0)

typedef struct trt_config {
  int64_t max_batch; /* 0: the shapes of its inputs are whole */
  int threads, level;
  char file[256], cache_dir[4096], timing_cache[4096];
} trt_config;

typedef struct trt_model {
  char name[256];
  hone_context *context;
  hone_device *device;
  hone_engine *engine;
  srv_ports ports;
  trt_config config;
} trt_model;

TRITONSERVER_Error *trt_fail(int code, const char *format, ...) HONE_PRINTF(2, 3);
/* With the first message of the list. */
TRITONSERVER_Error *trt_fail_status(const char *model, hone_status status, const hone_diagnostics *diag);
TRITONSERVER_Error *trt_fail_context(const char *model, hone_status status, const hone_context *context);
void trt_log(int level, const char *format, ...) HONE_PRINTF(2, 3);
void trt_drop_error(TRITONSERVER_Error *error); /* said in the server's log; NULL is fine */

/* What the configuration says beside ports: file, threads, level, caches, as its parameters name them (config.c). */
hone_status trt_config_read(const hn_json *root, trt_config *out, hone_diagnostics *diag);
/* The configuration's ports and batch against the engine's. Errors: INVALID names port and dim. */
hone_status trt_config_check(const hn_json *root, const srv_ports *ports, trt_config *out, hone_diagnostics *diag);
/* Does it leave something to us? Then out is the whole configuration with it. */
bool trt_config_complete(const hn_json *root, const srv_ports *ports, hn_text *out);

#endif
