/* SPDX-License-Identifier: Apache-2.0 */
/* views.c - reshape and its kin, when the shape is known before anything runs, become views: another shape for the same
 * bytes. A view of a view is one view, a view to the same shape is nothing. */
#include "pass/rule_help.h"
#include "pass/passes.h"

bool hn_view_possible(const hone_graph *graph, const hone_type *type) {
  if (type->kind != HONE_TENSOR || type->shape.rank < 0) return false;
  for (int i = 0; i < type->shape.rank; ++i)
    if (hn_dim_is_after_run(&graph->dims, type->shape.dim[i])) return false;
  return true;
}

/* The attribute dims for a shape; its text is in the graph's arena. */
static hone_status write_dims(hone_graph *graph, const hone_shape *shape, const char **dims, hone_attr *out) {
  hn_text text;
  hn_text_init(&text, graph->context->allocator);
  bool written = true;
  for (int i = 0; i < shape->rank; ++i) {
    hn_text_clear(&text);
    hn_text_dim(&text, shape->dim[i], &graph->dims);
    dims[i] = text.failed ? NULL : hn_arena_text(&graph->arena, hn_text_string(&text));
    written = written && dims[i];
  }
  hn_text_deinit(&text);
  *out = (hone_attr){.name = "dims", .kind = HONE_ATTR_STRINGS, .count = shape->rank, .strings = dims};
  return written ? HONE_OK : HN_FAIL_MEMORY(&graph->context->diag);
}

hone_status hn_view_bind_dims(hn_match *match, const hone_shape *shape) {
  const char *dims[HONE_MAX_RANK];
  hone_attr attr;
  HN_TRY(write_dims(match->run->graph, shape, dims, &attr));
  return hn_bind_attr(match, &attr);
}

hone_status hn_view_create(const hn_pass_run *run, hn_node *before, hn_value *x, const hone_shape *shape,
                           hn_node **out) {
  const char *dims[HONE_MAX_RANK];
  hone_attr attr;
  HN_TRY(write_dims(run->graph, shape, dims, &attr));
  const hn_node_spec spec = {.op = hn_op_find(run->context->ops, "view"),
                             .name = before->name,
                             .attrs = {1, &attr},
                             .in_count = 1,
                             .out_count = 1,
                             .in = &x,
                             .origins = before->origins,
                             .before = before};
  if (!spec.op) return HN_FAIL(&run->context->diag, HONE_INTERNAL, "no op is named view");
  return hn_node_create(before->owner, &spec, out);
}

/* The value whose bytes a chain of views shows. */
static hn_value *look_through(const hone_graph *graph, hn_value *x) {
  while (x->node && (x->node->op->traits & HONE_ALIASES) && x->node->in_count > 0 && x->node->in[0] &&
         x->node->in[0]->fact.type.dtype == x->fact.type.dtype && hn_view_possible(graph, &x->node->in[0]->fact.type))
    x = x->node->in[0];
  return x;
}

static bool has_dims(const hn_node *node) { return hn_attr_has(&node->attrs, "dims") && node->in_count == 1; }

static hone_status fold_view(hn_pass_run *run, hn_node *node) {
  hn_value *out = node->out[0], *x = node->in_count > 0 ? node->in[0] : NULL;
  if (!x || !out || !hn_view_possible(run->graph, &out->fact.type) || x->fact.type.kind != HONE_TENSOR ||
      x->fact.type.dtype != out->fact.type.dtype)
    return HONE_OK;
  hn_value *source = look_through(run->graph, x);
  if (hn_type_equal(&source->fact.type, &out->fact.type)) {
    hn_value_replace(out, source);
  } else {
    if (source == x && has_dims(node)) return HONE_OK; /* is one already */
    hn_node *view;
    HN_TRY(hn_view_create(run, node, source, &out->fact.type.shape, &view));
    if (!hn_shape_equal(&view->out[0]->fact.type.shape, &out->fact.type.shape)) {
      hn_node_remove(view); /* the text of an extent reads back as another expression */
      return hn_pass_log_event(run, "fold_shapes", node, "its extents cannot be written as text");
    }
    hn_node_swap_names(run->graph, view, node);
    hn_value_swap_names(run->graph, view->out[0], out);
    hn_value_replace(out, view->out[0]);
  }
  HN_TRY(hn_pass_log_event(run, "fold_shapes", node, NULL));
  hn_node_remove(node);
  ++run->changes;
  return HONE_OK;
}

static hone_status fold_block(hn_pass_run *run, hn_block *block) {
  for (hn_node *node = block->first, *next; node; node = next) {
    next = node->next;
    for (int i = 0; i < node->block_count; ++i) HN_TRY(fold_block(run, node->blocks[i]));
    if (node->op->traits & HONE_ALIASES) HN_TRY(fold_view(run, node));
  }
  return HONE_OK;
}

hone_status hn_pass_fold_shapes(hn_pass_run *run) { return fold_block(run, run->graph->main); }
