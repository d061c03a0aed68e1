/* SPDX-License-Identifier: Apache-2.0 */
/* context.h - what every compile-side call is given: memory, messages, limits, the op list. Used by one thread. */
#ifndef HN_BASE_CONTEXT_H
#define HN_BASE_CONTEXT_H

#include "base/diag.h"
#include "base/memory.h"
#include "base/stop.h"
#include <hone/context.h>
#include <stdatomic.h>

struct hn_op_list; /* ops/registry.h */

/* Limits on what a file may make us do. Zero at creation means the default in hn_limits_default(). */
typedef struct hn_limits {
  int64_t max_nodes, max_tensors, max_string_bytes, max_fold_bytes;
} hn_limits;
hn_limits hn_limits_default(void);

/* A plug-in that was loaded. This and what follows is in the context's plugin_arena; `path` is one pointer for all rows
 * of one load, which is how they are told from those of another. */
typedef struct hn_plugin {
  const char *path;
  void *object; /* dlopen's */
  struct hn_plugin *next;
} hn_plugin;

/* An operator that a plug-in brought, or that the program defined. */
typedef struct hn_plugin_op {
  const struct hone_op *op;
  const char *path; /* NULL: defined by the program */
  struct hn_plugin_op *next;
} hn_plugin_op;

/* A tactic, backend or rewrite that a plug-in brought. */
typedef struct hn_plugin_tactic {
  const char *device, *path;
  const struct hone_tactic *tactic;
  struct hn_plugin_tactic *next;
} hn_plugin_tactic;
typedef struct hn_plugin_backend {
  const struct hone_backend *backend;
  const char *path;
  struct hn_plugin_backend *next;
} hn_plugin_backend;
typedef struct hn_plugin_rewrite { /* in the order in which they came */
  const struct hone_rewrite *rewrite;
  const char *path;
  struct hn_plugin_rewrite *next;
} hn_plugin_rewrite;

/* Devices and engines that may call a context's plug-ins; both may outlive it and end in any thread. */
typedef enum hn_user_kind { HN_USER_DEVICE, HN_USER_ENGINE, HN_USER_KINDS } hn_user_kind;
typedef struct hn_users {
  hn_allocator allocator;
  atomic_int references; /* the context's, and one a user */
  atomic_int counts[HN_USER_KINDS];
} hn_users;
hn_users *hn_users_create(const hn_allocator *allocator);    /* NULL: no memory */
hn_users *hn_users_join(hn_users *users, hn_user_kind kind); /* returns users; NULL stays NULL */
void hn_users_leave(hn_users *users, hn_user_kind kind);     /* NULL is fine */
void hn_users_release(hn_users *users);                      /* the context's reference; NULL is fine */

/* Who listens to what is done; engines and sessions keep a copy. */
typedef struct hn_logger {
  hone_log_fn log; /* NULL: nobody */
  void *user;
  hone_log_level level;
} hn_logger;
static inline bool hn_logs(const hn_logger *logger, hone_log_level level) {
  return logger->log && level != HONE_LOG_OFF && level <= logger->level;
}
void hn_logger_say(const hn_logger *logger, hone_log_level level, const char *format, ...) HONE_PRINTF(3, 4);

struct hone_context {
  hn_allocator allocator;
  hone_diagnostics diag;
  hn_logger logger;
  hn_stop stop;       /* of the running call */
  char *cache_dir;    /* NULL: no cache */
  char *library_path; /* NULL: none */
  hn_limits limits;
  bool allow_external_links;
  const struct hn_op_list *ops; /* the built-in rows, and plug-ins' */
  hn_plugin *plugins;
  hn_plugin_op *plugin_ops;
  hn_plugin_tactic *plugin_tactics;
  hn_plugin_backend *plugin_backends;
  hn_plugin_rewrite *plugin_rewrites;
  hn_users *plugin_users; /* NULL before the first plug-in */
  atomic_int graph_count; /* that live */
  hn_arena plugin_arena;
};

/* The file of the plug-in that brought a row; NULL: none did. */
const char *hn_plugin_of_op(const hone_context *context, const struct hone_op *op);
const char *hn_plugin_of_tactic(const hone_context *context, const struct hone_tactic *tactic);

/* Text for people, in order of importance; never called below the context's level. */
void hn_log(hone_context *context, hone_log_level level, const char *format, ...) HONE_PRINTF(3, 4);
/* The first line of a public call that may take long: its deadline counts from here. */
static inline void hn_call_begin(hone_context *context) { hn_stop_begin(&context->stop); }
/* CANCELLED or LIMIT (with a message) when the caller wants to stop, else OK. Cheap; call it in long loops. */
hone_status hn_check_stop(hone_context *context);

#endif
