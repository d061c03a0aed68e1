/* SPDX-License-Identifier: Apache-2.0 */
/* plugin.h - inside of api/: taking the rows of a shared object that was opened. */
#ifndef HN_API_PLUGIN_H
#define HN_API_PLUGIN_H

#include "base/context.h"
#include <hone/backend.h>

/* Takes what the object brings (dlopen's handle); it is closed when it is no plug-in. */
hone_status hn_plugin_take(hone_context *context, const char *path, void *object);
/* INVALID when the operator's expression says something else than its eval. */
hone_status hn_plugin_check_expression(hone_context *context, const char *path, const struct hone_op *op);
#endif
