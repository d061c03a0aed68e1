/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_plugin_rows.c - plug-ins' rows in a context: checked, then listed. Operators are merged into the context's
 * list, sorted as the built-in ones are; tactics, backends and rewrites are kept for the devices that are opened and
 * the engines that are built later. */
#include "api/plugin.h"
#include "device/device.h"
#include "ops/registry.h"
#include <string.h>

static const char *owner_name(const char *path) { return path ? path : "the program's own definitions"; }

static hone_status check_size(hone_context *context, const char *path, const char *what, uint32_t size, size_t ours) {
  if (size == ours) return HONE_OK;
  return HN_FAIL(&context->diag, HONE_INVALID,
                 "%s is compiled for another version of hone's headers: %s row has %u bytes, this library's have %zu; "
                 "compile it again with the headers of %s",
                 owner_name(path), what, size, ours, hone_version());
}

/* ---- operators ---- */

/* A new list: the built-in rows, each replaced by the one of its name among those that plug-ins brought, and theirs. */
static hone_status list_ops(hone_context *context) {
  const hn_op_list *builtin = hn_builtin_ops();
  int guest_count = 0, count = 0;
  for (const hn_plugin_op *known = context->plugin_ops; known; known = known->next) ++guest_count;
  hn_op_list *list = HN_NEW(&context->plugin_arena, hn_op_list, 1);
  const hone_op **guests = HN_NEW(&context->plugin_arena, const hone_op *, guest_count + 1);
  const hone_op **rows = HN_NEW(&context->plugin_arena, const hone_op *, builtin->count + guest_count);
  if (!list || !guests || !rows) return HN_FAIL_MEMORY(&context->diag);
  int g = 0;
  for (const hn_plugin_op *known = context->plugin_ops; known; known = known->next) { /* sorted by insertion */
    int at = g++;
    for (; at > 0 && strcmp(guests[at - 1]->name, known->op->name) > 0; --at) guests[at] = guests[at - 1];
    guests[at] = known->op;
  }
  for (int i = 0, k = 0; i < builtin->count || k < guest_count;) {
    const int order = i == builtin->count ? 1 : k == guest_count ? -1 : strcmp(builtin->rows[i]->name, guests[k]->name);
    rows[count++] = order < 0 ? builtin->rows[i] : guests[k];
    i += order <= 0;
    k += order >= 0;
  }
  *list = (hn_op_list){.rows = rows, .count = count, .guests = guests, .guest_count = guest_count};
  context->ops = list;
  return HONE_OK;
}

static hone_status check_op(hone_context *context, const char *path, const hone_op *op) {
  HN_TRY(check_size(context, path, "an operator's", op->struct_size, sizeof *op));
  if (!op->name || !op->name[0] || !op->infer || !op->eval)
    return HN_FAIL(&context->diag, HONE_INVALID, "%s: operator %s has no name, infer or eval", owner_name(path),
                   op->name ? op->name : "?");
  return HONE_OK;
}

static bool same_domain(const char *a, const char *b) {
  const char *const plain = "ai.onnx";
  return strcmp(a && *a ? a : plain, b && *b ? b : plain) == 0;
}

static bool share_onnx_name(const hone_op *a, const hone_onnx_row *row) {
  for (int i = 0; i < HONE_MAX_ONNX_ROWS && a->onnx[i].name; ++i)
    if (strcmp(a->onnx[i].name, row->name) == 0 && same_domain(a->onnx[i].domain, row->domain) &&
        a->onnx[i].first <= row->last && row->first <= a->onnx[i].last)
      return true;
  return false;
}

/* Two plug-ins may not have a row of one name, nor of one ONNX name. */
static hone_status check_clashes(hone_context *context, const char *path, const hone_op *op) {
  for (const hn_plugin_op *known = context->plugin_ops; known; known = known->next) {
    if (strcmp(known->op->name, op->name) == 0)
      return HN_FAIL(&context->diag, HONE_INVALID, "operator %s is in %s and in %s", op->name, owner_name(known->path),
                     owner_name(path));
    for (int i = 0; i < HONE_MAX_ONNX_ROWS && op->onnx[i].name; ++i)
      if (share_onnx_name(known->op, &op->onnx[i]))
        return HN_FAIL(&context->diag, HONE_INVALID, "ONNX's %s%s%s is operator %s in %s and operator %s in %s",
                       op->onnx[i].domain ? op->onnx[i].domain : "", op->onnx[i].domain ? "." : "", op->onnx[i].name,
                       known->op->name, owner_name(known->path), op->name, owner_name(path));
  }
  return HONE_OK;
}

static void log_replaced(hone_context *context, const char *path, const hone_op *op) {
  const hn_op_list *builtin = hn_builtin_ops();
  if (hn_op_find(builtin, op->name)) {
    hn_log(context, HONE_LOG_WARN, "%s: its operator %s replaces the built-in one, whose kernels are not used for it",
           owner_name(path), op->name);
    return;
  }
  for (int i = 0; i < builtin->count; ++i)
    for (int k = 0; k < HONE_MAX_ONNX_ROWS && op->onnx[k].name; ++k)
      if (share_onnx_name(builtin->rows[i], &op->onnx[k]))
        hn_log(context, HONE_LOG_WARN, "%s: its operator %s takes ONNX's %s, instead of the built-in %s",
               owner_name(path), op->name, op->onnx[k].name, builtin->rows[i]->name);
}

hone_status hn_plugin_add_op(hone_context *context, const char *path, const hone_op *op) {
  HN_TRY(check_op(context, path, op));
  HN_TRY(check_clashes(context, path, op));
  if (path) HN_TRY(hn_plugin_check_expression(context, path, op));
  hn_plugin_op *known = HN_NEW(&context->plugin_arena, hn_plugin_op, 1);
  if (!known) return HN_FAIL_MEMORY(&context->diag);
  *known = (hn_plugin_op){.op = op, .path = path, .next = context->plugin_ops};
  context->plugin_ops = known;
  const hone_status status = list_ops(context);
  if (status != HONE_OK) context->plugin_ops = known->next;
  if (status == HONE_OK) log_replaced(context, path, op);
  return status;
}

/* ---- tactics, backends, rewrites ---- */

static hone_status check_tactic(hone_context *context, const char *path, const hone_tactic *tactic) {
  HN_TRY(check_size(context, path, "a tactic's", tactic->struct_size, sizeof *tactic));
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
  hn_plugin_tactic *kept = HN_NEW(&context->plugin_arena, hn_plugin_tactic, 1);
  if (!kept) return HN_FAIL_MEMORY(&context->diag);
  *kept = (hn_plugin_tactic){.device = row->device, .path = path, .tactic = tactic, .next = context->plugin_tactics};
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
  hn_plugin_backend *kept = HN_NEW(&context->plugin_arena, hn_plugin_backend, 1);
  if (!kept) return HN_FAIL_MEMORY(&context->diag);
  *kept = (hn_plugin_backend){.backend = backend, .path = path, .next = context->plugin_backends};
  context->plugin_backends = kept;
  return HONE_OK;
}

/* Their texts are read when a graph is rewritten: engines that only run know no graphs. */
static hone_status add_rewrite(hone_context *context, const char *path, const hone_rewrite *rewrite) {
  hone_diagnostics *diag = &context->diag;
  HN_TRY(check_size(context, path, "a rewrite's", rewrite->struct_size, sizeof *rewrite));
  if (!rewrite->name || !rewrite->name[0] || !rewrite->find || !rewrite->put || !rewrite->why)
    return HN_FAIL(diag, HONE_INVALID, "%s: rewrite %s has no name, find, put or why", path,
                   rewrite->name ? rewrite->name : "?");
  if (rewrite->flags & ~(uint32_t)(HONE_REWRITE_FUSES | HONE_REWRITE_KEEPS))
    return HN_FAIL(diag, HONE_INVALID, "%s: rewrite %s has flags 0x%x, which this library does not know", path,
                   rewrite->name, rewrite->flags);
  hn_plugin_rewrite **at = &context->plugin_rewrites;
  for (; *at; at = &(*at)->next)
    if (strcmp((*at)->rewrite->name, rewrite->name) == 0)
      return HN_FAIL(diag, HONE_INVALID, "rewrite %s is in %s and in %s", rewrite->name, (*at)->path, path);
  hn_plugin_rewrite *kept = HN_NEW(&context->plugin_arena, hn_plugin_rewrite, 1);
  if (!kept) return HN_FAIL_MEMORY(diag);
  *kept = (hn_plugin_rewrite){.rewrite = rewrite, .path = path};
  *at = kept;
  return HONE_OK;
}

hone_status hn_plugin_add_rows(hone_context *context, const char *path, const hone_plugin_table *table) {
  for (const hone_op *const *op = table->ops; op && *op; ++op) HN_TRY(hn_plugin_add_op(context, path, *op));
  for (const hone_plugin_tactic *row = table->tactics; row && row->tactic; ++row)
    HN_TRY(add_tactic(context, path, row));
  for (const hone_backend *const *row = table->backends; row && *row; ++row) HN_TRY(add_backend(context, path, *row));
  for (const hone_rewrite *const *row = table->rewrites; row && *row; ++row) HN_TRY(add_rewrite(context, path, *row));
  return HONE_OK;
}

hone_status hn_plugin_drop_rows(hone_context *context, const char *path) {
  hn_plugin_op *const ops = context->plugin_ops;
  hn_plugin_op *others = NULL;
  for (hn_plugin_op *known = ops, *next; known; known = next) {
    next = known->next;
    if (known->path == path) continue;
    hn_plugin_op *copy = HN_NEW(&context->plugin_arena, hn_plugin_op, 1);
    if (!copy) return HN_FAIL_MEMORY(&context->diag);
    *copy = *known;
    copy->next = others;
    others = copy;
  }
  context->plugin_ops = others;
  if (list_ops(context) != HONE_OK) {
    context->plugin_ops = ops;
    return HONE_NO_MEMORY;
  }
  for (hn_plugin_tactic **at = &context->plugin_tactics; *at;)
    if ((*at)->path == path)
      *at = (*at)->next;
    else
      at = &(*at)->next;
  for (hn_plugin_backend **at = &context->plugin_backends; *at;)
    if ((*at)->path == path)
      *at = (*at)->next;
    else
      at = &(*at)->next;
  for (hn_plugin_rewrite **at = &context->plugin_rewrites; *at;)
    if ((*at)->path == path)
      *at = (*at)->next;
    else
      at = &(*at)->next;
  return HONE_OK;
}
