/* SPDX-License-Identifier: Apache-2.0 */
/* plugin.h - operators, tactics and backends from a shared object. It exports one symbol, `hone_plugin`, and links none
 * of our libraries. */
#ifndef HONE_PLUGIN_H
#define HONE_PLUGIN_H

#include <hone/backend.h>
#include <hone/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A tactic for a kind of device that is there already. */
typedef struct hone_plugin_tactic {
  const char *device; /* the backend's name: "cpu" */
  const hone_tactic *tactic;
} hone_plugin_tactic;

/* What a plug-in brings; static storage in the shared object. Rows are the same types as the library's own. An op has
 * the same duties: infer and eval, attributes that its row declares (they are saved in engines), no mutable globals. */
typedef struct hone_plugin_table {
  uint32_t struct_size;
  const char *name, *version;
  const hone_op *const *ops;           /* ends with NULL; NULL: none */
  const hone_plugin_tactic *tactics;   /* ends with tactic NULL; NULL: none */
  const hone_backend *const *backends; /* ends with NULL; NULL: none */
} hone_plugin_table;

/* The one exported symbol: `const hone_plugin_table *hone_plugin(const hone_host *host)`. NULL refuses to load. */
typedef const hone_plugin_table *(*hone_plugin_fn)(const hone_host *host);

/* Loads a plug-in for this context: models imported and engines loaded with it know its operators, devices opened with
 * it have its tactics, and its backends can be opened by name. An op or tactic named like a built-in one replaces it,
 * and the log says so. The shared object stays loaded until the process ends, since engines
 * may outlive the context.
 * Errors: IO (it cannot be opened), INVALID (no such symbol, rows without infer, eval or launch, or two plug-ins with a
 * row of the same name; both files are named), NO_MEMORY. */
HONE_API HONE_CHECKED hone_status hone_plugin_load(hone_context *context, const char *path);

#ifdef __cplusplus
}
#endif
#endif
