/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_plugin.c - loading and unloading plug-ins: the shared object, its table, and who still uses it. */
#include "api/plugin.h"
#include "base/arguments.h"
#include <dlfcn.h>
#include <string.h>

static void *host_resize(void *self, void *old, size_t old_bytes, size_t new_bytes) {
  const hone_context *context = self;
  return hn_resize(&context->allocator, old, old_bytes, new_bytes);
}

/* The table as this library has it: one that was compiled with older headers is shorter. */
static hone_status read_table(hone_context *context, const char *path, void *object, hone_plugin_table *out) {
  const size_t first = offsetof(hone_plugin_table, rewrites);
  void *symbol = dlsym(object, "hone_plugin");
  if (!symbol)
    return HN_FAIL(&context->diag, HONE_INVALID, "%s exports no hone_plugin, so it is no plug-in of hone", path);
  hone_plugin_fn function;
  memcpy(&function, &symbol, sizeof function); /* ISO C has no cast from object to function pointers */
  const hone_host host = {.struct_size = sizeof host, .self = context, .resize = host_resize};
  const hone_plugin_table *table = function(&host);
  if (!table)
    return HN_FAIL(&context->diag, HONE_INVALID, "%s: hone_plugin() gave no table: the plug-in refused to load", path);
  if (table->struct_size < first || table->struct_size > sizeof *table)
    return HN_FAIL(&context->diag, HONE_INVALID,
                   "%s is compiled for %s version of hone's headers: its table has %u bytes, this library reads %zu to "
                   "%zu; compile it again with the headers of %s",
                   path, table->struct_size < first ? "another" : "a newer", table->struct_size, first, sizeof *table,
                   hone_version());
  *out = (hone_plugin_table){0};
  memcpy(out, table, table->struct_size);
  return HONE_OK;
}

/* All rows or none: what was listed before comes back as it was, which needs no memory. */
static hone_status add_all(hone_context *context, const char *path, const hone_plugin_table *table) {
  const struct hn_op_list *ops = context->ops;
  hn_plugin_op *plugin_ops = context->plugin_ops;
  hn_plugin_tactic *tactics = context->plugin_tactics;
  hn_plugin_backend *backends = context->plugin_backends;
  hn_plugin_rewrite **end = &context->plugin_rewrites;
  while (*end) end = &(*end)->next;
  const hone_status status = hn_plugin_add_rows(context, path, table);
  if (status == HONE_OK) return HONE_OK;
  context->ops = ops;
  context->plugin_ops = plugin_ops;
  context->plugin_tactics = tactics;
  context->plugin_backends = backends;
  *end = NULL;
  return status;
}

static hone_status take(hone_context *context, const char *path, void *object) {
  hone_plugin_table table;
  HN_TRY(read_table(context, path, object, &table));
  if (!context->plugin_users) context->plugin_users = hn_users_create(&context->allocator);
  hn_plugin *plugin = hn_arena_zero(&context->plugin_arena, 1, sizeof *plugin);
  const char *kept = hn_arena_text(&context->plugin_arena, path);
  if (!context->plugin_users || !plugin || !kept) return HN_FAIL_MEMORY(&context->diag);
  HN_TRY(add_all(context, kept, &table));
  *plugin = (hn_plugin){.path = kept, .object = object, .next = context->plugins};
  context->plugins = plugin;
  return HONE_OK;
}

hone_status hn_plugin_take(hone_context *context, const char *path, void *object) {
  const hone_status status = take(context, path, object);
  if (status != HONE_OK) (void)dlclose(object);
  return status;
}

hone_status hone_plugin_load(hone_context *context, const char *path) {
  HN_GIVEN(NULL, context);
  HN_GIVEN(&context->diag, path);
  HN_TRY(hn_plugin_check_whole(context, path));
  void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!object) return hn_plugin_not_opened(context, path, dlerror());
  return hn_plugin_take(context, path, object);
}

static hone_status check_unused(hone_context *context, const char *path) {
  const int graphs = atomic_load(&context->graph_count);
  const int devices = atomic_load(&context->plugin_users->counts[HN_USER_DEVICE]);
  const int engines = atomic_load(&context->plugin_users->counts[HN_USER_ENGINE]);
  if (graphs + devices + engines == 0) return HONE_OK;
  return HN_FAIL(&context->diag, HONE_INVALID,
                 "%s is in use: %d graph%s, %d device%s (engines' own, too) and %d engine%s made with this context "
                 "live, and it can be unloaded when they are gone",
                 path, graphs, graphs == 1 ? "" : "s", devices, devices == 1 ? "" : "s", engines,
                 engines == 1 ? "" : "s");
}

hone_status hone_plugin_unload(hone_context *context, const char *path) {
  HN_GIVEN(NULL, context);
  HN_GIVEN(&context->diag, path);
  hn_plugin **at = &context->plugins;
  while (*at && strcmp((*at)->path, path) != 0) at = &(*at)->next;
  const hn_plugin *plugin = *at;
  if (!plugin) return HN_FAIL(&context->diag, HONE_INVALID, "%s is not loaded in this context", path);
  HN_TRY(check_unused(context, path));
  HN_TRY(hn_plugin_drop_rows(context, plugin->path));
  *at = plugin->next;
  if (dlclose(plugin->object) != 0) return HN_FAIL(&context->diag, HONE_IO, "%s: %s", path, dlerror());
  return HONE_OK;
}
