/* SPDX-License-Identifier: Apache-2.0 */
/* branches.c - a branch whose condition is known is no branch: the nodes of the block that would run take its place.
 * Exporters ask for ranks and extents that way, so that most conditions are known once the shapes are. What follows is
 * inferred again on the way, since one branch taken often decides the next condition. */
#include "ir/branch.h"
#include "pass/passes.h"

static bool contains_branch(const hn_block *block) {
  for (const hn_node *node = block->first; node; node = node->next) {
    if (node->op->traits & HONE_RUNS_ONE) return true;
    for (int i = 0; i < node->block_count; ++i)
      if (contains_branch(node->blocks[i])) return true;
  }
  return false;
}

/* The block's parameters are the node's inputs behind the condition, its results the node's outputs. */
static bool fits(const hn_node *node, const hn_block *block) {
  if (block->param_count != node->in_count - 1 || block->result_count != node->out_count) return false;
  if (hn_block_failure(block)) return false; /* inferring the node says why */
  for (int i = 0; i < block->param_count; ++i)
    if (!node->in[1 + i]) return false;
  for (int i = 0; i < block->result_count; ++i)
    if (!block->results[i]) return false;
  return true;
}

/* Returns the first node that came in, or what followed the branch. */
static hn_node *take(hn_node *node, hn_block *block) {
  hn_node *first = block->first ? block->first : node->next;
  for (int i = 0; i < block->param_count; ++i) hn_value_replace(block->params[i], node->in[1 + i]);
  hn_block_move_nodes(block, node);
  for (int i = 0; i < node->out_count; ++i)
    if (node->out[i]) hn_value_replace(node->out[i], block->results[i]);
  hn_node_remove(node);
  return first;
}

static hone_status fold_block(hn_pass_run *run, hn_block *block);

/* What came of a known branch may not fit what follows it inside: then the block around fails when it is taken, as one
 * that inference refuses. */
static hone_status fold_blocks(hn_pass_run *run, hn_node *node) {
  hone_diagnostics *diag = &run->graph->context->diag;
  for (int i = 0; i < node->block_count; ++i) {
    const int first_message = diag->count;
    const hone_status status = fold_block(run, node->blocks[i]);
    const bool is_refused = status == HONE_MALFORMED || status == HONE_UNSUPPORTED;
    bool holds, failed = false;
    if (status == HONE_OK) continue;
    if (!is_refused || !(node->op->traits & HONE_RUNS_ONE) || node->block_count != 2) return status;
    if (hn_fact_decides(&node->in[0]->fact, &holds) && i == !holds) return status;
    HN_TRY(hn_branch_fail(node, i, first_message, &failed));
    if (!failed) return status;
  }
  return HONE_OK;
}

/* The branch not taken need not make sense for the shapes at hand: a node is inferred only if it stays. */
static hone_status fold_block(hn_pass_run *run, hn_block *block) {
  for (hn_node *node = block->first, *next; node; node = next) {
    const bool is_branch = (node->op->traits & HONE_RUNS_ONE) && node->in_count > 0 && node->block_count == 2;
    bool holds = false;
    next = node->next;
    if (is_branch && node->in[0] && hn_fact_decides(&node->in[0]->fact, &holds) &&
        fits(node, node->blocks[holds ? 0 : 1])) {
      HN_TRY(hn_pass_log_event(run, "fold_branches", node, NULL));
      next = take(node, node->blocks[holds ? 0 : 1]);
      ++run->changes;
      continue;
    }
    HN_TRY(hn_infer_node(run->graph, node));
    HN_TRY(fold_blocks(run, node));
    if (node->block_count > 0) HN_TRY(hn_infer_node(run->graph, node));
  }
  return HONE_OK;
}

hone_status hn_pass_fold_branches(hn_pass_run *run) {
  return contains_branch(run->graph->main) ? fold_block(run, run->graph->main) : HONE_OK;
}
