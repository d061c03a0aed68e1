/* SPDX-License-Identifier: Apache-2.0 */
/* plugin.h - inside of api/: taking the rows of a shared object that was opened. */
#ifndef HN_API_PLUGIN_H
#define HN_API_PLUGIN_H

#include "base/context.h"
#include <hone/plugin.h>

/* Takes what the object brings (dlopen's handle). On failure nothing of it is kept, and it is closed. */
hone_status hn_plugin_take(hone_context *context, const char *path, void *object);
/* IO where the file is shorter than its header says: the loader would map what is not there, and touching that ends the
 * process. What is no shared object, or is looked for in the loader's folders, is left to the loader. */
hone_status hn_plugin_check_whole(hone_context *context, const char *path);
/* Why dlopen did not open a file that was named, from the file itself where it tells. INVALID or IO. */
hone_status hn_plugin_not_opened(hone_context *context, const char *path, const char *loader_said);

/* path: in the context's plugin_arena, one pointer for all rows of a load; NULL: the program's own. Rows are checked.
 */
hone_status hn_plugin_add_op(hone_context *context, const char *path, const hone_op *op);
hone_status hn_plugin_add_rows(hone_context *context, const char *path, const hone_plugin_table *table);
/* Takes a load's rows out again. NO_MEMORY: they are all still there. */
hone_status hn_plugin_drop_rows(hone_context *context, const char *path);

/* INVALID when the operator's expression says something else than its eval, or infer than what eval needs. */
hone_status hn_plugin_check_expression(hone_context *context, const char *path, const hone_op *op);
#endif
