/* SPDX-License-Identifier: Apache-2.0 */
/* widen.c - layers that an author computes in f16 or bf16 and no device has a kernel for, where one has it in f32: they
 * are computed in that, between casts. What the author stores is rounded to the author's type, as before. */
#include "pass/fusion.h"
#include "pass/passes.h"

enum { ONNX_F32 = 1, ONNX_F16 = 10, ONNX_BF16 = 16 };

typedef struct widening {
  hn_pass_run *run;
  const hone_op *cast;
  hn_arena arena;
  hn_value **wide; /* [value id]: its cast to f32, where there is one */
  int capacity;
} widening;

static bool is_half(const hn_value *value) { return value && hn_is_half(&value->fact.type); }

static bool has_halves(const hn_node *node) {
  for (int i = 0; i < node->in_count; ++i)
    if (is_half(node->in[i])) return true;
  for (int i = 0; i < node->out_count; ++i)
    if (is_half(node->out[i])) return true;
  return false;
}

static hone_status cast_to(const widening *w, hn_value *value, int64_t to, hn_node *before, const hn_origins *origins,
                           hn_value **out) {
  hone_attr attr = {.name = "to", .kind = HONE_ATTR_INT, .i = to};
  const hn_node_spec spec = {.op = w->cast,
                             .attrs = {1, &attr},
                             .in_count = 1,
                             .out_count = 1,
                             .in = &value,
                             .origins = *origins,
                             .before = before};
  hn_node *node;
  HN_TRY(hn_node_create(before->owner, &spec, &node));
  *out = node->out[0];
  return HONE_OK;
}

static hone_status remember(widening *w, const hn_value *value, hn_value *wide) {
  const int before = w->capacity;
  if (!hn_arena_grow(&w->arena, (void **)&w->wide, &w->capacity, value->id + 1, sizeof *w->wide))
    return HN_FAIL_MEMORY(&w->run->context->diag);
  for (int i = before; i < w->capacity; ++i) w->wide[i] = NULL;
  w->wide[value->id] = wide;
  return HONE_OK;
}

/* One cast for all readers in a block; constants are folded. */
static hone_status widen_input(widening *w, hn_node *node, int input, hn_value **out) {
  hn_value *value = node->in[input];
  *out = value;
  if (!is_half(value)) return HONE_OK;
  hn_value *known = value->id < w->capacity ? w->wide[value->id] : NULL;
  if (known && known->node && known->node->owner == node->owner) {
    *out = known;
    return HONE_OK;
  }
  HN_TRY(cast_to(w, value, ONNX_F32, node, &node->origins, out));
  return hn_value_is_constant(value) ? HONE_OK : remember(w, value, *out);
}

/* The types are the author's again. */
static hone_status narrow_outputs(const widening *w, hn_node *node, const hn_node *wide) {
  for (int i = 0; i < node->out_count; ++i) {
    hn_value *old = node->out[i];
    if (!old || !wide->out[i]) continue;
    hn_value *now = wide->out[i];
    if (is_half(old))
      HN_TRY(cast_to(w, now, old->fact.type.dtype == HONE_F16 ? ONNX_F16 : ONNX_BF16, node, &node->origins, &now));
    hn_value_replace(old, now);
    hn_value_swap_names(w->run->graph, old, now);
  }
  return HONE_OK;
}

static hone_status widen_node(widening *w, hn_node *node) {
  hn_value **in = HN_NEW(&w->arena, hn_value *, node->in_count + 1);
  if (!in) return HN_FAIL_MEMORY(&w->run->context->diag);
  hn_node *wide, *before = node->prev;
  for (int i = 0; i < node->in_count; ++i) HN_TRY(widen_input(w, node, i, &in[i]));
  const hn_node_spec spec = {.op = node->op,
                             .attrs = node->attrs,
                             .in_count = node->in_count,
                             .out_count = node->out_count,
                             .in = in,
                             .origins = node->origins,
                             .before = node};
  HN_TRY(hn_node_create(node->owner, &spec, &wide));
  HN_TRY(narrow_outputs(w, node, wide));
  hn_node_swap_names(w->run->graph, node, wide);
  HN_TRY(hn_pass_log_event(w->run, "widen", wide, NULL));
  hn_node_remove(node);
  ++w->run->changes;
  return hn_fold_made(w->run, before ? before->next : wide->owner->first, wide);
}

static hone_status widen_block(widening *w, hn_block *block) {
  for (hn_node *node = block->first, *next; node; node = next) {
    next = node->next;
    for (int i = 0; i < node->block_count; ++i) HN_TRY(widen_block(w, node->blocks[i]));
    if (node->block_count || node->op == w->cast || (node->op->traits & (HONE_ALIASES | HONE_IMPURE))) continue;
    if (!has_halves(node)) continue;
    hn_reach reach;
    HN_TRY(hn_reach_of(w->run, node, false, &reach));
    if (reach != HN_REACH_NONE) continue;
    HN_TRY(hn_reach_of(w->run, node, true, &reach));
    if (reach != HN_REACH_NONE) HN_TRY(widen_node(w, node));
  }
  return HONE_OK;
}

hone_status hn_pass_widen(hn_pass_run *run) {
  widening w = {.run = run, .cast = hn_op_find(run->context->ops, "cast")};
  if (!w.cast || !run->target || !run->target->reach) return HONE_OK;
  hn_arena_init(&w.arena, run->context->allocator);
  const hone_status status = widen_block(&w, run->graph->main);
  hn_arena_deinit(&w.arena);
  return status;
}
