/* SPDX-License-Identifier: Apache-2.0 */
/* plugin.h - inside of api/: taking the rows of a shared object that was opened, and backends by name. */
#ifndef HN_API_PLUGIN_H
#define HN_API_PLUGIN_H

#include "base/context.h"
#include <hone/backend.h>

/* Takes what the object brings (dlopen's handle); it is closed when it is no plug-in. */
hone_status hn_plugin_take(hone_context *context, const char *path, void *object);
/* INVALID when the operator's expression says something else than its eval. */
hone_status hn_plugin_check_expression(hone_context *context, const char *path, const struct hone_op *op);
/* A built-in backend, a plug-in's, or one in a shared object of its own, opened now. "gpu" is "cuda". INVALID: there is
 * no such kind; DEVICE: its shared object is not here. */
hone_status hn_backend_for(hone_context *context, const char *kind, const hone_backend **out);

#endif
