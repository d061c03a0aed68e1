/* SPDX-License-Identifier: Apache-2.0 */
/* ports.h - an engine as the Open Inference Protocol sees it: for hone-server, the Triton backend (triton/), and the
 * tool where it writes a repository for it. Sees <hone/...> alone. */
#ifndef SERVER_PORTS_H
#define SERVER_PORTS_H

#include <hone/hone.h>

enum { SRV_MAX_PORTS = 64, SRV_MAX_BATCH = HONE_MAX_BATCH };

/* ---- element types by the protocol's names (types.c) ---- */
typedef struct srv_type {
  const char *name; /* "FP32" */
  hone_dtype dtype;
  size_t bytes;
  double low, high; /* of integers */
  int triton;       /* TRITONSERVER_DataType */
} srv_type;
const srv_type *srv_type_of(hone_dtype dtype); /* NULL: the protocol has none, or it is not served */

/* ---- inputs, outputs and batches (ports.c) ---- */
typedef struct srv_port {
  const char *name; /* the engine's */
  const srv_type *type;
  hone_shape shape; /* free dims are -1 */
} srv_port;
typedef struct srv_ports {
  int in_count, out_count, schedule_count;
  srv_port *in, *out;
  hone_port_info *schedules;     /* schedule_count x in_count */
  int max_batch;                 /* 0: rows of several requests cannot be put together */
  int preferred;                 /* the largest batch that was tuned for */
  bool takes[SRV_MAX_BATCH + 1]; /* batches that some schedule takes */
} srv_ports;
/* Batches of at most most_rows. srv_ports_free() also after an error. Errors: UNSUPPORTED (a port that the protocol has
 * no words for), LIMIT, NO_MEMORY. */
hone_status srv_ports_read(srv_ports *ports, const hone_engine *engine, int most_rows, hone_diagnostics *diag);
void srv_ports_free(srv_ports *ports);
/* Does some schedule take these shapes (in_count of them)? */
bool srv_ports_take(const srv_ports *ports, const hone_shape *shapes);
void srv_shape_text(const hone_shape *shape, char *out, size_t room);

/* ---- files (engine_file.c) ---- */
typedef struct srv_engine_source {
  const char *name;                     /* for what is said, and for the cache */
  const char *path;                     /* *.onnx is built, anything else is an engine */
  const char *cache_dir, *timing_cache; /* NULL: none */
  int level, max_batch, threads;        /* of what is built; threads: the device's, for the cache */
  int64_t modified_ns;
  void (*say)(void *user, const char *text);
  void *say_user;
} srv_engine_source;
/* The bytes are copied, so that the file may be written over. Errors: those of loading and of building, UNSUPPORTED (a
 * model with free dims besides the first). */
hone_status srv_engine_open(hone_context *context, hone_device *device, const srv_engine_source *source,
                            hone_engine **out);

#endif
