/* SPDX-License-Identifier: Apache-2.0 */
/* expand.c - fused nodes back into pieces: the parts that a node was made of when it has them; else convolution,
 * residual and activation by the names of ports and attributes; else an elementwise op by its expression. */
#include "export/writer.h"
#include "ir/notation.h"
#include "ops/onnx_tensor.h"
#include "tensor/attrs.h"
#include "tensor/expr.h"
#include <string.h>

const hone_onnx_row *hn_export_row(const hone_op *op) {
  for (int i = 0; i < HONE_MAX_ONNX_ROWS && op->onnx[i].name; ++i) {
    const hone_onnx_row *row = &op->onnx[i];
    if (!row->alias && !row->as && !row->to_input && row->first <= HN_EXPORT_OPSET && row->last >= HN_EXPORT_OPSET)
      return row;
  }
  return NULL;
}

/* Where new nodes go: in front of the node that they replace. */
typedef struct expansion {
  hone_graph *graph;
  hn_node *node;
} expansion;

static hone_status make(const expansion *e, const char *op, int in_count, hn_value *const *in, int attr_count,
                        const hone_attr *attrs, hn_value **out) {
  const hn_node_spec spec = {.op = hn_op_find(e->graph->context->ops, op),
                             .attrs = {.count = attr_count, .items = attrs},
                             .in_count = in_count,
                             .in = in,
                             .out_count = 1,
                             .origins = e->node->origins,
                             .before = e->node};
  if (!spec.op)
    return HN_FAIL(&e->graph->context->diag, HONE_UNSUPPORTED, "node %s: the operator %s is missing", e->node->name,
                   op);
  hn_node *made;
  HN_TRY(hn_node_create(e->node->owner, &spec, &made));
  *out = made->out[0];
  return HONE_OK;
}

/* The node goes; what took its place keeps the names. */
static void replace(const expansion *e, int output, hn_value *by) {
  hn_value *old = e->node->out[output];
  if (!old) return;
  hn_value_replace(old, by);
  if (by->node && by->node != e->node) hn_value_swap_names(e->graph, old, by);
}

static void finish(const expansion *e, hn_value *by) {
  replace(e, 0, by);
  if (by->node) hn_node_swap_names(e->graph, e->node, by->node);
  hn_node_remove(e->node);
}

/* ---- parts ---- */

static hone_status copy_part(const expansion *e, hn_node *part, hn_value **by_id, int value_count) {
  hn_arena *arena = &e->graph->arena;
  hn_value **in = HN_NEW(arena, hn_value *, part->in_count);
  const char **names = HN_NEW(arena, const char *, part->out_count);
  if (!in || !names) return HN_FAIL_MEMORY(&e->graph->context->diag);
  for (int i = 0; i < part->in_count; ++i) {
    hn_value *from = part->in[i];
    const bool mapped = from && !hn_value_is_constant(from) && from->id < value_count;
    in[i] = mapped ? by_id[from->id] : from;
  }
  for (int i = 0; i < part->out_count; ++i) names[i] = part->out[i] ? part->out[i]->name : "";
  const hn_node_spec spec = {.op = part->op,
                             .name = part->name,
                             .attrs = part->attrs,
                             .in_count = part->in_count,
                             .in = in,
                             .out_count = part->out_count,
                             .out_names = names,
                             .origins = part->origins,
                             .before = e->node};
  hn_node *made;
  HN_TRY(hn_node_create(e->node->owner, &spec, &made));
  made->parts = part->parts; /* a part may be fused itself */
  part->parts = NULL;
  for (int i = 0; i < part->out_count; ++i)
    if (part->out[i]) by_id[part->out[i]->id] = made->out[i];
  return HONE_OK;
}

static hone_status expand_parts(const expansion *e) {
  const hn_block *parts = e->node->parts;
  const int value_count = e->graph->value_count;
  hn_value **by_id = HN_NEW(&e->graph->arena, hn_value *, value_count);
  if (!by_id) return HN_FAIL_MEMORY(&e->graph->context->diag);
  for (int i = 0; i < parts->param_count && i < e->node->in_count; ++i) by_id[parts->params[i]->id] = e->node->in[i];
  for (hn_node *part = parts->first; part; part = part->next) HN_TRY(copy_part(e, part, by_id, value_count));
  for (int i = 0; i < parts->result_count && i < e->node->out_count; ++i) {
    hn_value *result = parts->results[i];
    if (!result) continue;
    replace(e, i, hn_value_is_constant(result) ? result : by_id[result->id]);
  }
  hn_node_remove(e->node);
  return HONE_OK;
}

/* ---- residual and activation ---- */

static hn_value *input_named(const hn_node *node, const char *name);

/* PRelu wants the slopes along the channels' axis: of a layer with planes the second, else the last. */
static hone_status apply_slopes(const expansion *e, hn_value **x) {
  hn_value *in[2] = {*x, input_named(e->node, "slope")};
  const int planes = hn_export_row(e->node->op) ? (*x)->fact.type.shape.rank - 2 : 0;
  int64_t dims[HONE_MAX_RANK];
  for (int i = 0; i <= planes; ++i) dims[i] = i == 0 ? -1 : 1;
  hn_value *reshape[2] = {in[1], hn_constant_int(e->graph, NULL, 1, planes + 1, dims)};
  if (!reshape[1]) return HONE_NO_MEMORY;
  HN_TRY(make(e, "reshape", 2, reshape, 0, NULL, &in[1]));
  return make(e, "prelu", 2, in, 0, NULL, x);
}

static hone_status apply_activation(const expansion *e, const char *act, hn_value **x) {
  const hone_attrs *attrs = &e->node->attrs;
  const hone_attr given[2] = {{.name = "alpha", .kind = HONE_ATTR_FLOAT, .f = hn_attr_float(attrs, "act_alpha")},
                              {.name = "beta", .kind = HONE_ATTR_FLOAT, .f = hn_attr_float(attrs, "act_beta")}};
  static const struct {
    const char *act, *op;
    int attr_count;
  } rows[] = {{"relu", "relu", 0},
              {"leaky_relu", "leaky_relu", 1},
              {"sigmoid", "sigmoid", 0},
              {"hard_swish", "hard_swish", 0},
              {"hard_sigmoid", "hard_sigmoid", 2},
              {"gelu", "gelu", 0},
              {"tanh", "tanh", 0},
              {"elu", "elu", 1},
              {"mish", "mish", 0},
              {"gelu_tanh", "gelu_tanh", 0}};
  if (hn_name_equal(act, "prelu")) return apply_slopes(e, x);
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    if (hn_name_equal(rows[i].act, act)) return make(e, rows[i].op, 1, x, rows[i].attr_count, given, x);
  }
  hn_value *in[3] = {*x};
  if (hn_name_equal(act, "silu")) {
    HN_TRY(make(e, "sigmoid", 1, x, 0, NULL, &in[1]));
    return make(e, "mul", 2, in, 0, NULL, x);
  }
  if (!hn_name_equal(act, "clip"))
    return HN_FAIL(&e->graph->context->diag, HONE_UNSUPPORTED, "node %s: ONNX has no activation %s", e->node->name,
                   act);
  for (int i = 0; i < 2; ++i) {
    in[1 + i] = hn_constant_scalar(e->graph, (*x)->fact.type.dtype, given[i].f);
    if (!in[1 + i]) return HONE_NO_MEMORY;
  }
  return make(e, "clip", 3, in, 0, NULL, x);
}

static int port_of(const hone_op *op, const char *name) {
  for (int i = 0; i < HONE_MAX_PORTS && op->in[i].name; ++i)
    if (hn_name_equal(op->in[i].name, name)) return i;
  return -1;
}

static hn_value *input_named(const hn_node *node, const char *name) {
  const int at = port_of(node->op, name);
  return at >= 0 && at < node->in_count ? node->in[at] : NULL;
}

/* The node without residual and activation; its bias stays. */
static hone_status make_bare(const expansion *e, hn_value **out) {
  const hn_node *node = e->node;
  hone_attr *kept = HN_NEW(&e->graph->arena, hone_attr, node->attrs.count);
  if (!kept) return HN_FAIL_MEMORY(&e->graph->context->diag);
  int count = 0;
  for (int i = 0; i < node->attrs.count; ++i)
    if (strncmp(node->attrs.items[i].name, "act", 3) != 0) kept[count++] = node->attrs.items[i];
  const int residual = port_of(node->op, "residual");
  const int in_count = residual >= 0 && residual < node->in_count ? residual : node->in_count;
  return make(e, node->op->name, in_count, node->in, count, kept, out);
}

/* x times w plus b, for an op without an ONNX row whose ports are x, w and b. */
static hone_status make_product(const expansion *e, hn_value **out) {
  hn_value *pair[2] = {input_named(e->node, "x"), input_named(e->node, "w")};
  const int64_t swap[2] = {1, 0};
  const hone_attr order = {.name = "perm", .kind = HONE_ATTR_INTS, .count = 2, .ints = swap};
  if (hn_attr_int(&e->node->attrs, "transpose_w")) HN_TRY(make(e, "transpose", 1, &pair[1], 1, &order, &pair[1]));
  HN_TRY(make(e, "matmul", 2, pair, 0, NULL, out));
  pair[0] = *out;
  pair[1] = input_named(e->node, "b");
  return pair[1] ? make(e, "add", 2, pair, 0, NULL, out) : HONE_OK;
}

static hone_status expand_epilogue(const expansion *e) {
  hn_value *value;
  HN_TRY(hn_export_row(e->node->op) ? make_bare(e, &value) : make_product(e, &value));
  hn_value *pair[2] = {value, input_named(e->node, "residual")};
  if (pair[1]) HN_TRY(make(e, "add", 2, pair, 0, NULL, &value));
  const char *act = hn_attr_text(&e->node->attrs, "act");
  if (*act) HN_TRY(apply_activation(e, act, &value));
  finish(e, value);
  return HONE_OK;
}

static bool has_epilogue(const hn_node *node) {
  if (!hn_attr_has(&node->attrs, "act")) return false;
  return *hn_attr_text(&node->attrs, "act") || input_named(node, "residual") || !hn_export_row(node->op);
}

/* ---- expressions ---- */

enum { TRUTH_IN_1 = 1, TRUTH_IN_2 = 2, TRUTH_OUT = 4 }; /* operands and results that ONNX wants as bool */

/* Expression operators whose name is not their op's, or that deal in truth values. */
static const struct expression_row {
  const char *call, *op;
  int truth;
} expression_rows[] = {
    {"recip", "reciprocal", 0},
    {"lt", "less", TRUTH_OUT},
    {"le", "less_or_equal", TRUTH_OUT},
    {"gt", "greater", TRUTH_OUT},
    {"ge", "greater_or_equal", TRUTH_OUT},
    {"eq", "equal", TRUTH_OUT},
    {"isnan", "isnan", TRUTH_OUT},
    {"isinf", "isinf", TRUTH_OUT},
    {"and", "and", TRUTH_IN_1 | TRUTH_IN_2 | TRUTH_OUT},
    {"or", "or", TRUTH_IN_1 | TRUTH_IN_2 | TRUTH_OUT},
    {"xor", "xor", TRUTH_IN_1 | TRUTH_IN_2 | TRUTH_OUT},
    {"not", "not", TRUTH_IN_1 | TRUTH_OUT},
    {"select", "where", TRUTH_IN_1},
};

static hone_status cast_to(const expansion *e, int64_t onnx_type, hn_value **x) {
  const hone_attr to = {.name = "to", .kind = HONE_ATTR_INT, .i = onnx_type};
  return make(e, "cast", 1, x, 1, &to, x);
}

static hone_status expand_call(const expansion *e, const hn_expr_step *step, hn_value *const *done, hone_dtype dtype,
                               hn_value **out) {
  enum { ONNX_BOOL = 9 };
  const hn_expr_row *row = hn_expr_row_of((hn_expr_op)step->op);
  struct expression_row as = {row->name, row->name, 0};
  for (size_t i = 0; i < HN_COUNT(expression_rows); ++i)
    if (hn_name_equal(expression_rows[i].call, row->name)) as = expression_rows[i];
  hn_value *in[3] = {done[step->a], row->arity > 1 ? done[step->b] : NULL, row->arity > 2 ? done[step->c] : NULL};
  if (as.truth & TRUTH_IN_1) HN_TRY(cast_to(e, ONNX_BOOL, &in[0]));
  if (as.truth & TRUTH_IN_2) HN_TRY(cast_to(e, ONNX_BOOL, &in[1]));
  HN_TRY(make(e, as.op, row->arity, in, 0, NULL, out));
  return as.truth & TRUTH_OUT ? cast_to(e, hn_onnx_of_dtype(dtype), out) : HONE_OK;
}

static hone_status expand_expression(const expansion *e) {
  const hn_node *node = e->node;
  const hone_dtype dtype = node->in[0]->fact.type.dtype;
  hn_expr expr;
  hn_value *done[HN_EXPR_MAX_STEPS];
  HN_TRY(hn_expr_of_op(&e->graph->context->diag, node->op, &node->attrs, node->in_count, &expr));
  for (int i = 0; i < expr.count; ++i) {
    const hn_expr_step *step = &expr.steps[i];
    if (step->op == HN_EXPR_INPUT) {
      done[i] = node->in[step->a];
    } else if (step->op == HN_EXPR_CONST) {
      done[i] = hn_constant_scalar(e->graph, dtype, step->real);
      if (!done[i]) return HONE_NO_MEMORY;
    } else {
      HN_TRY(expand_call(e, step, done, dtype, &done[i]));
    }
  }
  finish(e, done[expr.count - 1]);
  return HONE_OK;
}

static bool is_expandable(const hn_node *node) {
  return (node->op->traits & HONE_ELEMENTWISE) && node->op->expr && !hn_export_row(node->op) && node->in_count > 0 &&
         node->in[0] && (HONE_BIT(node->in[0]->fact.type.dtype) & HONE_TYPES_FLOAT);
}

/* ---- views ---- */

static bool is_view(const hn_node *node) {
  return (node->op->traits & HONE_ALIASES) && !hn_export_row(node->op) && node->in_count == 1 && node->in[0];
}

/* Reshape, with 0 for extents that stay and -1 for the one other that is free. */
static hone_status expand_view(const expansion *e) {
  const hone_shape *from = &e->node->in[0]->fact.type.shape, *to = &e->node->out[0]->fact.type.shape;
  int64_t dims[HONE_MAX_RANK];
  int free_dims = 0;
  for (int i = 0; i < to->rank; ++i) {
    const bool stays = HONE_SYMBOLIC(to->dim[i]) && i < from->rank && from->dim[i] == to->dim[i];
    dims[i] = stays ? 0 : HONE_SYMBOLIC(to->dim[i]) ? -1 : to->dim[i];
    free_dims += dims[i] == -1;
  }
  if (to->rank < 0 || free_dims > 1)
    return HN_FAIL(&e->graph->context->diag, HONE_UNSUPPORTED, "node %s (%s): its shape has %d free extents",
                   e->node->name, e->node->op->name, free_dims);
  hn_value *in[2] = {e->node->in[0], hn_constant_int(e->graph, NULL, 1, to->rank, dims)}, *value;
  if (!in[1]) return HONE_NO_MEMORY;
  HN_TRY(make(e, "reshape", 2, in, 0, NULL, &value));
  finish(e, value);
  return HONE_OK;
}

/* ---- channels in another order ---- */

static bool is_gather(const hn_node *node) {
  return hn_attr_has(&node->attrs, "channels") && hn_attr_has(&node->attrs, "split") && !hn_export_row(node->op);
}

/* Concat, Gather and Split, as many of them as are needed. */
static hone_status expand_gather(const expansion *e) {
  const hn_node *node = e->node;
  const int64_t *channels, *split;
  const int count = hn_attr_ints(&node->attrs, "channels", &channels);
  const int parts = hn_attr_ints(&node->attrs, "split", &split);
  const hone_attr axis = {.name = "axis", .kind = HONE_ATTR_INT, .i = 1};
  hn_value *in[2] = {node->in[0]};
  if (node->in_count > 1) HN_TRY(make(e, "concat", node->in_count, node->in, 1, &axis, &in[0]));
  if (!(in[1] = hn_constant_int(e->graph, NULL, 1, count, channels))) return HONE_NO_MEMORY;
  HN_TRY(make(e, "gather", 2, in, 1, &axis, &in[0]));
  if (parts == 1) {
    finish(e, in[0]);
    return HONE_OK;
  }
  if (!(in[1] = hn_constant_int(e->graph, NULL, 1, parts, split))) return HONE_NO_MEMORY;
  const hn_node_spec spec = {.op = hn_op_find(e->graph->context->ops, "split"),
                             .attrs = {1, &axis},
                             .in_count = 2,
                             .in = in,
                             .out_count = parts,
                             .origins = node->origins,
                             .before = e->node};
  hn_node *made;
  HN_TRY(hn_node_create(node->owner, &spec, &made));
  for (int i = 0; i < parts; ++i) replace(e, i, made->out[i]);
  hn_node_swap_names(e->graph, e->node, made);
  hn_node_remove(e->node);
  return HONE_OK;
}

/* ---- operators that later opsets, or none, say otherwise ---- */

#define DQ(x) "dequantize_linear(" x ", " x "_scale, " x "_zero_point)"
#define REQUANTISED(inner) "quantize_linear(" inner ", y_scale, y_zero_point)"

/* given: an input without which ONNX has the operator. */
static const struct form_row {
  const char *op, *given, *as;
} forms[] = {
    {"byte_lookup", NULL, "gather(table, cast[to=6](x))"}, /* i32; -1 is the last entry in both */
    {"qlinear_add", NULL, REQUANTISED("add(" DQ("a") ", " DQ("b") ")")},
    {"qlinear_global_average_pool", NULL, REQUANTISED("global_average_pool(" DQ("x") ")")},
    {"qlinear_matmul", "bias",
     REQUANTISED("gemm(" DQ("a") ", " DQ("b") ", dequantize_linear[axis=0](bias, mul(a_scale, b_scale)))")},
    {"qlinear_mul", NULL, REQUANTISED("mul(" DQ("a") ", " DQ("b") ")")},
    {"upsample", NULL,
     "resize[mode=$mode, coordinate_transformation_mode=\"asymmetric\", nearest_mode=\"floor\"](x, _, scales)"},
};

static const struct form_row *form_of(const hn_node *node) {
  for (size_t i = 0; i < HN_COUNT(forms); ++i) {
    if (!hn_name_equal(forms[i].op, node->op->name)) continue;
    return !forms[i].given || input_named(node, forms[i].given) ? &forms[i] : NULL;
  }
  return NULL;
}

static hone_status expand_form(const expansion *e, const struct form_row *form) {
  const hn_node *node = e->node;
  hn_binding bindings[HONE_MAX_PORTS];
  int count = 0;
  for (; count < node->in_count && count < HONE_MAX_PORTS && node->op->in[count].name; ++count)
    bindings[count] = (hn_binding){.name = node->op->in[count].name, .value = node->in[count]};
  hn_roots roots;
  HN_TRY(hn_notation_parse(&e->graph->arena, &e->graph->context->diag, form->op, form->as, &roots));
  const hn_build build = {.block = node->owner,
                          .before = e->node,
                          .bindings = bindings,
                          .binding_count = count,
                          .attrs = &node->attrs,
                          .origins = node->origins};
  hn_value *result;
  HN_TRY(hn_notation_build(&build, &roots, &result));
  finish(e, result);
  return HONE_OK;
}

/* ---- bounds behind a rounding ---- */

static bool is_bound(const hone_attr *attr) {
  return attr->kind == HONE_ATTR_INT && (hn_name_equal(attr->name, "low") || hn_name_equal(attr->name, "high"));
}

static bool has_bounds(const hn_node *node) {
  for (int i = 0; i < node->attrs.count; ++i)
    if (is_bound(&node->attrs.items[i]) && node->attrs.items[i].i != INT32_MIN && node->attrs.items[i].i != INT32_MAX)
      return true;
  return false;
}

/* The same node without them, and a clip of its bytes. */
static hone_status expand_bounds(const expansion *e) {
  const hn_node *node = e->node;
  const hone_dtype dtype = node->out[0]->fact.type.dtype;
  const int64_t least = dtype == HONE_I8 ? INT8_MIN : 0, most = dtype == HONE_I8 ? INT8_MAX : UINT8_MAX;
  hone_attr *kept = HN_NEW(&e->graph->arena, hone_attr, node->attrs.count);
  if (!kept) return HN_FAIL_MEMORY(&e->graph->context->diag);
  int count = 0;
  for (int i = 0; i < node->attrs.count; ++i)
    if (!is_bound(&node->attrs.items[i])) kept[count++] = node->attrs.items[i];
  const int64_t low = hn_attr_int(&node->attrs, "low"), high = hn_attr_int(&node->attrs, "high");
  hn_value *in[3] = {NULL, hn_constant_scalar(e->graph, dtype, (double)(low < least ? least : low)),
                     hn_constant_scalar(e->graph, dtype, (double)(high > most ? most : high))};
  hn_value *clipped;
  if (!in[1] || !in[2]) return HONE_NO_MEMORY;
  HN_TRY(make(e, node->op->name, node->in_count, node->in, count, kept, &in[0]));
  HN_TRY(make(e, "clip", 3, in, 0, NULL, &clipped));
  finish(e, clipped);
  return HONE_OK;
}

static hone_status expand_block(hone_graph *graph, hn_block *block) {
  for (hn_node *node = block->first, *next; node; node = next) {
    hn_node *const before = node->prev;
    const expansion e = {graph, node};
    const bool bounded = has_bounds(node);
    const struct form_row *form = form_of(node);
    const bool split =
        node->parts || bounded || form || has_epilogue(node) || is_expandable(node) || is_view(node) || is_gather(node);
    if (node->parts) {
      HN_TRY(expand_parts(&e));
    } else if (bounded) {
      HN_TRY(expand_bounds(&e));
    } else if (form) {
      HN_TRY(expand_form(&e, form));
    } else if (has_epilogue(node)) {
      HN_TRY(expand_epilogue(&e));
    } else if (is_expandable(node)) {
      HN_TRY(expand_expression(&e));
    } else if (is_gather(node)) {
      HN_TRY(expand_gather(&e));
    } else if (is_view(node)) {
      HN_TRY(expand_view(&e));
    } else {
      for (int i = 0; i < node->block_count; ++i) HN_TRY(expand_block(graph, node->blocks[i]));
    }
    /* The pieces may have to be taken apart themselves; each is simpler than the whole. */
    next = !split ? node->next : before ? before->next : block->first;
  }
  return HONE_OK;
}

hone_status hn_export_expand(hone_graph *graph) { return expand_block(graph, graph->main); }
