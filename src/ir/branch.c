/* SPDX-License-Identifier: Apache-2.0 */
/* branch.c - a branch that the shapes refuse while its condition is still open. Whole models are written as one `if`
 * on a run-time input whose branches want different shapes: such a branch is an error only when it is taken. It gives
 * way to one node of fail, so that nothing behind inference has to know of it. */
#include "ir/branch.h"
#include "tensor/element.h"
#include <string.h>

bool hn_fact_decides(const hone_fact *condition, bool *out) {
  if (condition->constant) {
    if (hn_elems(&condition->constant->type.shape) != 1) return false;
    *out = hn_int(condition->constant, 0) != 0;
    return true;
  }
  if (!condition->value || condition->value_count != 1 || HONE_SYMBOLIC(condition->value[0])) return false;
  *out = condition->value[0] != 0;
  return true;
}

const char *hn_block_failure(const hn_block *block) {
  for (const hn_node *node = block->first; node; node = node->next) {
    if (!(node->op->traits & HONE_FAILS)) continue;
    const hone_attr *message = hn_attr_find(&node->attrs, "message");
    return message ? message->s : "";
  }
  return NULL;
}

/* One line of at most what a diagnostic holds. */
static const char *message_of(const hn_node *node, int block, const char *reason) {
  char *text =
      hn_arena_printf(&node->owner->graph->arena, "node \"%s\" (%s): its %s branch does not fit the shapes: %s",
                      node->name, node->op->name, block == 0 ? "then" : "else", reason);
  for (char *at = text; at && *at; ++at)
    if (*at == '\n') *at = ' ';
  return text;
}

static hone_status create_fail(hn_block *block, const hn_block *other, const char *message, hn_node **out) {
  hone_graph *graph = block->graph;
  const int count = other->result_count;
  int64_t *types = HN_NEW(&graph->arena, int64_t, 2 * count + 1);
  if (!types) return HN_FAIL_MEMORY(&graph->context->diag);
  for (int i = 0; i < count; ++i) {
    types[i] = other->results[i]->fact.type.kind;
    types[count + i] = other->results[i]->fact.type.dtype;
  }
  const hone_attr attrs[] = {
      {.name = "message", .kind = HONE_ATTR_STRING, .count = (int64_t)strlen(message), .s = message},
      {.name = "kinds", .kind = HONE_ATTR_INTS, .count = count, .ints = types},
      {.name = "dtypes", .kind = HONE_ATTR_INTS, .count = count, .ints = types + count}};
  const hn_node_spec spec = {.op = hn_op_find(graph->context->ops, "fail"),
                             .attrs = {.count = (int)HN_COUNT(attrs), .items = attrs},
                             .out_count = count,
                             .origins = block->parent->origins};
  return hn_node_create(block, &spec, out);
}

hone_status hn_branch_fail(hn_node *node, int number, int first_message, bool *out_failed) {
  hone_graph *graph = node->owner->graph;
  hone_diagnostics *diag = &graph->context->diag;
  hn_block *block = node->blocks[number];
  const hn_block *other = node->blocks[1 - number];
  *out_failed = false;
  if (hn_block_failure(other) || other->result_count != node->out_count || other->result_count == 0) return HONE_OK;
  const char *message = message_of(
      node, number, first_message < diag->count ? diag->entries[first_message].text : "there was no room to say why");
  if (!message) return HN_FAIL_MEMORY(diag);
  hn_node *fail;
  HN_TRY(create_fail(block, other, message, &fail));
  for (int i = 0; i < fail->out_count; ++i) {
    if (i < block->result_count)
      hn_block_set_result(block, i, fail->out[i]);
    else
      HN_TRY(hn_block_add_result(block, fail->out[i], NULL));
  }
  for (hn_node *old = fail->prev, *before; old; old = before) {
    before = old->prev;
    hn_node_remove(old);
  }
  hn_log(graph->context, HONE_LOG_WARN, "%s; a run that takes the branch will fail", message);
  hn_diag_cut(diag, first_message);
  *out_failed = true;
  return HONE_OK;
}
