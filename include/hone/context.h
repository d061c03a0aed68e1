/* SPDX-License-Identifier: Apache-2.0 */
/* context.h - the library's state: allocator, messages, log, limits. One thread uses a context at a time. */
#ifndef HONE_CONTEXT_H
#define HONE_CONTEXT_H

#include <hone/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_context hone_context;

typedef enum hone_log_level {
  HONE_LOG_OFF = 0,
  HONE_LOG_WARN = 1,
  HONE_LOG_INFO = 2,
  HONE_LOG_VERBOSE = 3,
  HONE_LOG_RUNS = 4 /* also a line for every run of a session */
} hone_log_level;
/* Called from whichever thread does the work: that of the call, or of a session's run. The line ends without a newline
 * and is valid during the call. Must not call the library. */
typedef void (*hone_log_fn)(void *user, hone_log_level level, const char *line);

/* All zero is a good default. */
typedef struct hone_context_options {
  uint32_t struct_size;
  /* The one allocator: resize(user, NULL, 0, n) allocates, (user, p, n, 0) frees, else moves. Thread-safe, 64-aligned
   * (or NULL for the C library's). Engines and sessions keep using it after the context is gone. */
  void *(*resize)(void *user, void *old, size_t old_bytes, size_t new_bytes);
  void *resize_user;
  /* What builds, loads, sessions and their runs tell of what they do; NULL: nobody listens. Engines and sessions made
   * with the context call it after it is gone, so log_user must outlive them. */
  hone_log_fn log;
  void *log_user;
  hone_log_level log_level;
  const char *cache_dir; /* for compiled GPU kernels; NULL: none. Copied. */
  int64_t deadline_ms;   /* a call running longer ends with LIMIT, counted from its beginning; 0: none */
  const void *cancel;    /* const atomic_bool *: set by any thread to end the running call with CANCELLED */
  int64_t max_nodes, max_tensors, max_string_bytes, max_fold_bytes; /* limits on model files; 0: the defaults */
  /* Folders, ':' between, in which backends (libhone_backend_KIND.so) and the vendors' libraries that they use are
   * looked for before the loader's own places. NULL: none. Copied. */
  const char *library_path;
  /* External data of models is read beneath the model's folder, through links that stay there (in a model hub's cache:
   * beneath the cache's folder of that model), from files with one name. true: through any link, from any file. */
  bool allow_external_links;
  /* The most that may live at one time of what the allocator gives to this context and to all that is made with it;
   * beyond it calls end with NO_MEMORY. Files that are mapped and memory of GPUs do not count. 0: no limit. */
  uint64_t memory_limit_bytes;
} hone_context_options;

/* Errors: INVALID (options->struct_size is not one we know, log_level is none, deadline_ms is negative or over 10^12, a
 * limit is negative), NO_MEMORY. */
HONE_API HONE_CHECKED hone_status hone_context_create(const hone_context_options *options, hone_context **out_context);
HONE_API void hone_context_destroy(hone_context *context); /* NULL is fine */

/* The messages of the last failing calls, oldest first. Borrowed until the next call with this context. Short for
 * hone_diagnostics_message(hone_context_diagnostics(context), ...). */
HONE_API int hone_context_message_count(const hone_context *context);
HONE_API const char *hone_context_message(const hone_context *context, int index, hone_status *out_status);
HONE_API void hone_context_clear_messages(hone_context *context);
/* The context's message list, for calls that take one. Borrowed. */
HONE_API hone_diagnostics *hone_context_diagnostics(hone_context *context);

/* "1.2.3", and the numbers in one: major * 10000 + minor * 100 + patch. */
HONE_API const char *hone_version(void);
HONE_API int hone_version_number(void);

#ifdef __cplusplus
}
#endif
#endif
