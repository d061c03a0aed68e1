/* SPDX-License-Identifier: Apache-2.0 */
/* plugins.c - whose a row is, and who may still call a context's plug-ins, counted so that none is unloaded under them.
 */
#include "base/context.h"

const char *hn_plugin_of_op(const hone_context *context, const struct hone_op *op) {
  for (const hn_plugin_op *known = context->plugin_ops; known; known = known->next)
    if (known->op == op) return known->path;
  return NULL;
}

const char *hn_plugin_of_tactic(const hone_context *context, const struct hone_tactic *tactic) {
  for (const hn_plugin_tactic *known = context->plugin_tactics; known; known = known->next)
    if (known->tactic == tactic) return known->path;
  return NULL;
}

hn_users *hn_users_create(const hn_allocator *allocator) {
  hn_users *users = hn_alloc_zero(allocator, sizeof *users);
  if (!users) return NULL;
  users->allocator = *allocator;
  atomic_init(&users->references, 1);
  for (int i = 0; i < HN_USER_KINDS; ++i) atomic_init(&users->counts[i], 0);
  return users;
}

hn_users *hn_users_join(hn_users *users, hn_user_kind kind) {
  if (!users) return NULL;
  atomic_fetch_add(&users->references, 1);
  atomic_fetch_add(&users->counts[kind], 1);
  return users;
}

void hn_users_release(hn_users *users) {
  if (!users || atomic_fetch_sub(&users->references, 1) != 1) return;
  const hn_allocator allocator = users->allocator;
  hn_free(&allocator, users, sizeof *users);
}

void hn_users_leave(hn_users *users, hn_user_kind kind) {
  if (!users) return;
  atomic_fetch_sub(&users->counts[kind], 1);
  hn_users_release(users);
}
