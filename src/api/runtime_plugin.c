/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_plugin.c - plug-ins: their operators are merged into the context's list, sorted as the built-in ones are. */
#include "base/context.h"
#include "ops/registry.h"
#include <dlfcn.h>
#include <hone/plugin.h>
#include <string.h>

static hone_status check_op(hone_context *context, const char *path, const hone_op *op) {
  if (op->struct_size != sizeof *op)
    return HN_FAIL(&context->diag, HONE_INVALID, "%s: an operator's row has struct_size %u; this library knows %zu",
                   path, op->struct_size, sizeof *op);
  if (!op->name || !op->name[0] || !op->infer || !op->eval)
    return HN_FAIL(&context->diag, HONE_INVALID, "%s: operator %s has no name, infer or eval", path,
                   op->name ? op->name : "?");
  return HONE_OK;
}

/* Whose row of this name the context has: a plug-in's file, or NULL. */
static const char *owner_of(const hone_context *context, const char *name) {
  for (const hn_plugin_op *known = context->plugin_ops; known; known = known->next)
    if (strcmp(known->op->name, name) == 0) return known->path;
  return NULL;
}

/* A new list with one row more, or with the row of that name replaced. */
static hone_status merge(hone_context *context, const hone_op *op) {
  const hn_op_list *old = context->ops;
  const size_t list_bytes = sizeof(hn_op_list) + ((size_t)old->count + 1) * sizeof(hone_op *);
  hn_op_list *list = hn_arena_zero(&context->plugin_arena, 1, list_bytes);
  if (!list) return HN_FAIL_MEMORY(&context->diag);
  const hone_op **rows = (const hone_op **)(list + 1);
  int count = 0;
  bool placed = false;
  for (int i = 0; i < old->count; ++i) {
    const int order = strcmp(op->name, old->rows[i]->name);
    if (!placed && order <= 0) {
      rows[count++] = op;
      placed = true;
    }
    if (order != 0) rows[count++] = old->rows[i];
  }
  if (!placed) rows[count++] = op;
  *list = (hn_op_list){rows, count};
  context->ops = list;
  return HONE_OK;
}

static hone_status add_op(hone_context *context, const char *path, const hone_op *op) {
  HN_TRY(check_op(context, path, op));
  const char *owner = owner_of(context, op->name);
  if (owner) return HN_FAIL(&context->diag, HONE_INVALID, "operator %s is in %s and in %s", op->name, owner, path);
  if (hn_op_find(context->ops, op->name))
    hn_log(context, HONE_LOG_WARN, "%s: its operator %s replaces the built-in one", path, op->name);
  hn_plugin_op *known = hn_arena_zero(&context->plugin_arena, 1, sizeof *known);
  const char *kept = hn_arena_text(&context->plugin_arena, path);
  if (!known || !kept) return HN_FAIL_MEMORY(&context->diag);
  HN_TRY(merge(context, op));
  *known = (hn_plugin_op){.op = op, .path = kept, .next = context->plugin_ops};
  context->plugin_ops = known;
  return HONE_OK;
}

static void *host_resize(void *self, void *old, size_t old_bytes, size_t new_bytes) {
  const hone_context *context = self;
  return hn_resize(&context->allocator, old, old_bytes, new_bytes);
}

hone_status hone_plugin_load(hone_context *context, const char *path) {
  void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!object) return HN_FAIL(&context->diag, HONE_IO, "%s: %s", path, dlerror());
  void *symbol = dlsym(object, "hone_plugin");
  if (!symbol) {
    dlclose(object);
    return HN_FAIL(&context->diag, HONE_INVALID, "%s exports no hone_plugin", path);
  }
  hone_plugin_fn function;
  memcpy(&function, &symbol, sizeof function); /* ISO C has no cast from object to function pointers */
  const hone_host host = {.struct_size = sizeof host, .self = context, .resize = host_resize};
  const hone_plugin_table *table = function(&host);
  if (!table || table->struct_size != sizeof *table || !table->ops) {
    dlclose(object);
    return HN_FAIL(&context->diag, HONE_INVALID, "%s: its table is missing or of another version", path);
  }
  for (const hone_op *const *op = table->ops; *op; ++op) HN_TRY(add_op(context, path, *op));
  return HONE_OK;
}
