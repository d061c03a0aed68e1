/* SPDX-License-Identifier: Apache-2.0 */
/* evaluate.c - one node computed by its op's own eval, with memory from an arena. */
#include "pass/evaluate.h"
#include <string.h>

/* What resize needs to know. */
typedef struct host {
  hn_arena *arena;
  int64_t max_bytes;
} host;

static hone_status give_memory(hone_diagnostics *diag, const host *memory, hone_tensor *tensor) {
  size_t bytes;
  if (!hn_type_bytes(&tensor->type, &bytes) || bytes > (uint64_t)memory->max_bytes)
    return HN_FAIL(diag, HONE_LIMIT, "a value has more than %lld bytes", (long long)memory->max_bytes);
  tensor->data = hn_arena_alloc(memory->arena, bytes > 0 ? bytes : 1, 64);
  if (!tensor->data) return HN_FAIL_MEMORY(diag);
  memset(tensor->data, 0, bytes);
  tensor->bytes = bytes;
  return HONE_OK;
}

static hone_status resize(hone_eval *eval, int output, int rank, const int64_t *dims) {
  hone_tensor *tensor = &eval->out[output];
  tensor->type.kind = HONE_TENSOR;
  tensor->type.shape = hn_shape(rank, dims);
  return give_memory(eval->diagnostics, eval->host, tensor);
}

static hone_status find_scratch(hone_eval *eval, hn_arena *arena) {
  if (!eval->op->eval_scratch) return HONE_OK;
  hone_fact *facts = HN_NEW(arena, hone_fact, eval->in_count + eval->out_count);
  if (!facts) return HN_FAIL_MEMORY(eval->diagnostics);
  for (int i = 0; i < eval->in_count; ++i) facts[i].type = eval->in[i].type;
  for (int i = 0; i < eval->out_count; ++i) facts[eval->in_count + i].type = eval->out[i].type;
  const size_t bytes =
      eval->op->eval_scratch(eval->attrs, facts, eval->in_count, facts + eval->in_count, eval->out_count);
  eval->scratch = hn_arena_alloc(arena, bytes > 0 ? bytes : 1, 64);
  return eval->scratch ? HONE_OK : HN_FAIL_MEMORY(eval->diagnostics);
}

hone_status hn_evaluate_node(hone_context *context, const hn_node *node, hn_arena *arena, const hone_tensor *in,
                             hone_tensor *out, int64_t max_bytes, const struct hn_pool *pool) {
  host memory = {arena, max_bytes};
  hone_eval eval = {.op = node->op,
                    .attrs = &node->attrs,
                    .in_count = node->in_count,
                    .out_count = node->out_count,
                    .in = in,
                    .out = out,
                    .resize = resize,
                    .host = &memory,
                    .diagnostics = &context->diag};
  if (!node->op->eval)
    return HN_FAIL(&context->diag, HONE_UNSUPPORTED, "%s (%s) cannot be evaluated alone", node->name, node->op->name);
  for (int i = 0; i < node->out_count; ++i) {
    if (out[i].type.kind != HONE_ABSENT && !out[i].data && hn_shape_known(&out[i].type.shape))
      HN_TRY(give_memory(&context->diag, &memory, &out[i]));
  }
  HN_TRY(find_scratch(&eval, arena));
  HN_TRY_NOTE(&context->diag, hn_evaluate_all(&eval, pool, &context->stop), "in node %s (%s)", node->name,
              node->op->name);
  return HONE_OK;
}
