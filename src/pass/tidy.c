/* SPDX-License-Identifier: Apache-2.0 */
/* tidy.c - nodes that nobody needs, nodes that say the same twice, and outputs with a producer of their own. */
#include "pass/passes.h"
#include <string.h>

/* ---- eliminate_dead ---- */

static void remove_dead(hn_pass_run *run, hn_block *block) {
  for (hn_node *node = block->last, *prev; node; node = prev) {
    prev = node->prev;
    if (hn_node_is_unused(node)) {
      hn_node_remove(node);
      ++run->changes;
      continue;
    }
    for (int i = 0; i < node->block_count; ++i) remove_dead(run, node->blocks[i]);
  }
}

hone_status hn_pass_eliminate_dead(hn_pass_run *run) {
  remove_dead(run, run->graph->main);
  return HONE_OK;
}

/* ---- merge_common ---- */

/* Buckets of things that are alike, by hash. */
typedef struct entry {
  uint64_t hash;
  void *item;
  struct entry *next;
} entry;

typedef struct merger {
  hn_pass_run *run;
  hn_arena arena;
  entry **buckets;
  size_t bucket_count; /* a power of two */
} merger;

static hone_status begin(merger *m, int expected) {
  m->bucket_count = 64;
  while (m->bucket_count < (size_t)expected) m->bucket_count *= 2;
  m->buckets = HN_NEW(&m->arena, entry *, m->bucket_count);
  return m->buckets ? HONE_OK : HN_FAIL_MEMORY(&m->run->context->diag);
}

static hone_status put(merger *m, uint64_t hash, void *item) {
  entry *e = HN_NEW(&m->arena, entry, 1);
  if (!e) return HN_FAIL_MEMORY(&m->run->context->diag);
  entry **bucket = &m->buckets[hash & (m->bucket_count - 1)];
  *e = (entry){hash, item, *bucket};
  *bucket = e;
  return HONE_OK;
}

static entry *first_of(const merger *m, uint64_t hash) { return m->buckets[hash & (m->bucket_count - 1)]; }

static bool same_constant(const hn_value *a, const hn_value *b) {
  const hone_tensor *x = a->fact.constant, *y = b->fact.constant;
  return hn_type_equal(&x->type, &y->type) && x->bytes == y->bytes &&
         (x->data == y->data || x->bytes == 0 || memcmp(x->data, y->data, x->bytes) == 0);
}

static hone_status merge_constants(merger *m) {
  hone_graph *graph = m->run->graph;
  HN_TRY(begin(m, graph->value_count));
  for (int i = 0; i < graph->value_count; ++i) {
    hn_value *value = graph->values[i], *first = NULL;
    if (!hn_value_is_constant(value) || !value->uses || value->fact.type.dtype == HONE_STRING) continue;
    const uint64_t hash = hn_constant_hash(value);
    for (const entry *e = first_of(m, hash); e && !first; e = e->next)
      if (e->hash == hash && same_constant(e->item, value)) first = e->item;
    if (!first) {
      HN_TRY(put(m, hash, value));
      continue;
    }
    hn_value_replace(value, first);
  }
  return HONE_OK;
}

static uint64_t hash_node(const hn_node *node) {
  uint64_t hash = hn_hash_text(node->op->name);
  for (int i = 0; i < node->in_count; ++i) hash = hn_hash_join(hash, node->in[i] ? (uint64_t)node->in[i]->id + 1 : 0);
  for (int i = 0; i < node->attrs.count; ++i)
    hash = hn_hash_join(hash, node->attrs.items[i].kind == HONE_ATTR_INT ? (uint64_t)node->attrs.items[i].i : 0);
  return hash;
}

/* Everything that `node` gives, `first` gives too. */
static bool same_node(const hn_node *first, const hn_node *node) {
  if (first->op != node->op || first->owner != node->owner || first->in_count != node->in_count ||
      first->out_count < node->out_count || !hn_attrs_equal(&first->attrs, &node->attrs))
    return false;
  for (int i = 0; i < node->in_count; ++i)
    if (first->in[i] != node->in[i]) return false;
  for (int i = 0; i < node->out_count; ++i) {
    if (!node->out[i] || !node->out[i]->uses) continue;
    if (!first->out[i] || !hn_type_equal(&first->out[i]->fact.type, &node->out[i]->fact.type)) return false;
  }
  return true;
}

static hone_status merge_into(merger *m, hn_node *first, hn_node *node) {
  HN_TRY(hn_origins_union(m->run->graph, &first->origins, &node->origins, &first->origins));
  for (int i = 0; i < node->out_count; ++i)
    if (node->out[i] && node->out[i]->uses) hn_value_replace(node->out[i], first->out[i]);
  HN_TRY(hn_pass_log_event(m->run, "merge_common", node, NULL));
  hn_node_remove(node);
  ++m->run->changes;
  return HONE_OK;
}

static hone_status merge_nodes(merger *m, hn_block *block) {
  for (hn_node *node = block->first, *next; node; node = next) {
    next = node->next;
    for (int i = 0; i < node->block_count; ++i) HN_TRY(merge_nodes(m, node->blocks[i]));
    if (node->op->traits & (HONE_IMPURE | HONE_HAS_BLOCKS)) continue;
    const uint64_t hash = hash_node(node);
    hn_node *first = NULL;
    for (const entry *e = first_of(m, hash); e && !first; e = e->next)
      if (e->hash == hash && same_node(e->item, node)) first = e->item;
    HN_TRY(first ? merge_into(m, first, node) : put(m, hash, node));
  }
  return HONE_OK;
}

hone_status hn_pass_merge_common(hn_pass_run *run) {
  merger m = {.run = run};
  hn_arena_init(&m.arena, run->context->allocator);
  hone_status status = merge_constants(&m);
  if (status == HONE_OK) status = begin(&m, run->graph->next_node_id);
  if (status == HONE_OK) status = merge_nodes(&m, run->graph->main);
  hn_arena_deinit(&m.arena);
  return status;
}

/* ---- own_outputs ---- */

static bool has_own_producer(const hn_block *main, int index, const hone_op *identity) {
  const hn_value *value = main->results[index];
  for (int i = 0; i < index; ++i)
    if (main->results[i] == value) return false;
  if (!value->node) return false;
  return !(value->node->op->traits & HONE_ALIASES) ||
         value->node->op == identity; /* an identity that stays is a copy */
}

hone_status hn_pass_own_outputs(hn_pass_run *run) {
  hn_block *main = run->graph->main;
  const hone_op *identity = hn_op_find(run->context->ops, "identity");
  if (!identity) return HN_FAIL(&run->context->diag, HONE_INTERNAL, "no op is named identity");
  for (int i = 0; i < main->result_count; ++i) {
    hn_value *value = main->results[i];
    if (has_own_producer(main, i, identity)) continue;
    hn_node *copy;
    const hn_node_spec spec = {.op = identity,
                               .name = run->graph->output_names[i],
                               .in_count = 1,
                               .out_count = 1,
                               .in = &value,
                               .origins = value->node ? value->node->origins : (hn_origins){0}};
    HN_TRY(hn_node_create(main, &spec, &copy));
    hn_block_set_result(main, i, copy->out[0]);
    ++run->changes;
  }
  return HONE_OK;
}
