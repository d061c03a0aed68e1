/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_plugin.c - plug-ins: their operators are merged into the context's list, sorted as the built-in ones are;
 * their tactics and backends are kept for the devices that are opened later. */
#include "api/plugin.h"
#include "base/arguments.h"
#include "device/device.h"
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
  HN_TRY(hn_plugin_check_expression(context, path, op));
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

static hone_status check_tactic(hone_context *context, const char *path, const hone_tactic *tactic) {
  if (tactic->struct_size != sizeof *tactic)
    return HN_FAIL(&context->diag, HONE_INVALID, "%s: a tactic's row has struct_size %u; this library knows %zu", path,
                   tactic->struct_size, sizeof *tactic);
  if (!tactic->name || !tactic->op || !tactic->plan || !tactic->launch)
    return HN_FAIL(&context->diag, HONE_INVALID, "%s: tactic %s has no name, operator, plan or launch", path,
                   tactic->name ? tactic->name : "?");
  for (int i = 0; i < HONE_MAX_STORAGE_PAIRS; ++i)
    if (tactic->storages[i].in >= HONE_STORAGE_COUNT || tactic->storages[i].out >= HONE_STORAGE_COUNT)
      return HN_FAIL(&context->diag, HONE_INVALID, "%s: tactic %s: storages[%d] is {%d, %d}; allowed: 0 to %d", path,
                     tactic->name, i, tactic->storages[i].in, tactic->storages[i].out, HONE_STORAGE_COUNT - 1);
  return HONE_OK;
}

static hone_status add_tactic(hone_context *context, const char *path, const hone_plugin_tactic *row) {
  const hone_tactic *tactic = row->tactic;
  HN_TRY(check_tactic(context, path, tactic));
  if (!row->device) return HN_FAIL(&context->diag, HONE_INVALID, "%s: tactic %s is for no device", path, tactic->name);
  for (const hn_plugin_tactic *known = context->plugin_tactics; known; known = known->next)
    if (strcmp(known->tactic->name, tactic->name) == 0 && strcmp(known->device, row->device) == 0)
      return HN_FAIL(&context->diag, HONE_INVALID, "tactic %s is in %s and in %s", tactic->name, known->path, path);
  hn_plugin_tactic *kept = hn_arena_zero(&context->plugin_arena, 1, sizeof *kept);
  if (!kept) return HN_FAIL_MEMORY(&context->diag);
  *kept = (hn_plugin_tactic){.device = row->device,
                             .path = hn_arena_text(&context->plugin_arena, path),
                             .tactic = tactic,
                             .next = context->plugin_tactics};
  if (!kept->path) return HN_FAIL_MEMORY(&context->diag);
  context->plugin_tactics = kept;
  return HONE_OK;
}

/* What a backend must have: all but capture and measuring. */
static bool is_whole(const hone_backend *b) {
  const bool some_capture = b->record || b->keep || b->replay || b->forget;
  return b->name && b->load && b->unload && b->count && b->open && b->close && b->facts && b->alloc && b->free &&
         b->stream && b->drop && b->copy && b->mark && b->wait && b->between && b->families &&
         (!some_capture || (b->record && b->keep && b->replay && b->forget));
}

static hone_status add_backend(hone_context *context, const char *path, const hone_backend *backend) {
  if (backend->struct_size != sizeof *backend || backend->api != HONE_BACKEND_API)
    return HN_FAIL(&context->diag, HONE_INVALID, "%s: a backend's table is of another version", path);
  if (!is_whole(backend))
    return HN_FAIL(&context->diag, HONE_INVALID, "%s: backend %s lacks entries", path,
                   backend->name ? backend->name : "?");
  for (const hone_tactic *const *family = backend->families; *family; ++family)
    for (const hone_tactic *row = *family; row->name; ++row) HN_TRY(check_tactic(context, path, row));
  if (hn_backend_find(backend->name))
    return HN_FAIL(&context->diag, HONE_INVALID, "%s: there is a built-in backend %s", path, backend->name);
  for (const hn_plugin_backend *known = context->plugin_backends; known; known = known->next)
    if (strcmp(known->backend->name, backend->name) == 0)
      return HN_FAIL(&context->diag, HONE_INVALID, "backend %s is in %s and in %s", backend->name, known->path, path);
  hn_plugin_backend *kept = hn_arena_zero(&context->plugin_arena, 1, sizeof *kept);
  if (!kept) return HN_FAIL_MEMORY(&context->diag);
  *kept = (hn_plugin_backend){
      .backend = backend, .path = hn_arena_text(&context->plugin_arena, path), .next = context->plugin_backends};
  if (!kept->path) return HN_FAIL_MEMORY(&context->diag);
  context->plugin_backends = kept;
  return HONE_OK;
}

static void *host_resize(void *self, void *old, size_t old_bytes, size_t new_bytes) {
  const hone_context *context = self;
  return hn_resize(&context->allocator, old, old_bytes, new_bytes);
}

static hone_status add_rows(hone_context *context, const char *path, const hone_plugin_table *table) {
  for (const hone_op *const *op = table->ops; op && *op; ++op) HN_TRY(add_op(context, path, *op));
  for (const hone_plugin_tactic *row = table->tactics; row && row->tactic; ++row)
    HN_TRY(add_tactic(context, path, row));
  for (const hone_backend *const *row = table->backends; row && *row; ++row) HN_TRY(add_backend(context, path, *row));
  return HONE_OK;
}

hone_status hn_plugin_take(hone_context *context, const char *path, void *object) {
  void *symbol = dlsym(object, "hone_plugin");
  if (!symbol) {
    dlclose(object);
    return HN_FAIL(&context->diag, HONE_INVALID, "%s exports no hone_plugin", path);
  }
  hone_plugin_fn function;
  memcpy(&function, &symbol, sizeof function); /* ISO C has no cast from object to function pointers */
  const hone_host host = {.struct_size = sizeof host, .self = context, .resize = host_resize};
  const hone_plugin_table *table = function(&host);
  if (!table || table->struct_size != sizeof *table) {
    dlclose(object);
    return HN_FAIL(&context->diag, HONE_INVALID, "%s: its table is missing or of another version", path);
  }
  return add_rows(context, path, table);
}

hone_status hone_plugin_load(hone_context *context, const char *path) {
  HN_GIVEN(NULL, context);
  HN_GIVEN(&context->diag, path);
  void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!object) return HN_FAIL(&context->diag, HONE_IO, "%s: %s", path, dlerror());
  return hn_plugin_take(context, path, object);
}
