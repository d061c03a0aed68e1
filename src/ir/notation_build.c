/* SPDX-License-Identifier: Apache-2.0 */
/* notation_build.c - makes the nodes that a notation's terms stand for.
 * Arguments are built before their operator, so that nodes come in a valid order. */
#include "ir/notation.h"
#include "ir/build.h"
#include <string.h>

typedef struct builder {
  const hn_build *build;
  const hn_roots *roots;
  hone_graph *graph;
  hone_diagnostics *diag;
  hn_arena scratch;
  hn_binding *bound; /* names bound by the text itself: they come before those given */
  int bound_count, bound_capacity;
  hn_node **made; /* to take back when something fails */
  int made_count, made_capacity;
} builder;

static hone_status build_term(builder *b, const hn_term *term, hn_value **out);

static const hn_binding *find_binding(const builder *b, const char *name) {
  for (int i = b->bound_count - 1; i >= 0; --i) {
    if (strcmp(b->bound[i].name, name) == 0) return &b->bound[i];
  }
  for (int i = 0; i < b->build->binding_count; ++i) {
    if (strcmp(b->build->bindings[i].name, name) == 0) return &b->build->bindings[i];
  }
  return NULL;
}

static hone_status bind(builder *b, const char *name, hn_value *value, hn_node *node) {
  if (!name) return HONE_OK;
  if (!hn_arena_grow(&b->scratch, (void **)&b->bound, &b->bound_capacity, b->bound_count + 1, sizeof(hn_binding)))
    return HN_FAIL_MEMORY(b->diag);
  b->bound[b->bound_count++] = (hn_binding){.name = name, .value = value, .node = node};
  return HONE_OK;
}

/* ---- attributes ---- */

static const hone_attr_decl *find_decl(const hone_op *op, const char *name) {
  for (int i = 0; i < HONE_MAX_ATTRS && op->attr[i].name; ++i) {
    if (strcmp(op->attr[i].name, name) == 0) return &op->attr[i];
  }
  return NULL;
}

/* The text cannot tell 1 from 1.0 where a real is meant, nor of which kind an empty list is. */
static hone_status coerce(builder *b, const hone_op *op, hone_attr *attr) {
  const hone_attr_decl *decl = find_decl(op, attr->name);
  if (!decl || decl->kind == attr->kind) return HONE_OK; /* an unknown one is reported by hn_node_create */
  if (attr->kind == HONE_ATTR_INT && decl->kind == HONE_ATTR_FLOAT) {
    attr->f = (double)attr->i;
    attr->kind = HONE_ATTR_FLOAT;
  } else if (attr->kind == HONE_ATTR_INTS && decl->kind == HONE_ATTR_FLOATS) {
    double *floats = HN_NEW(&b->scratch, double, attr->count);
    if (!floats) return HN_FAIL_MEMORY(b->diag);
    for (int64_t i = 0; i < attr->count; ++i) floats[i] = (double)attr->ints[i];
    attr->floats = floats;
    attr->kind = HONE_ATTR_FLOATS;
  } else if (attr->kind == HONE_ATTR_INTS && attr->count == 0 && decl->kind == HONE_ATTR_STRINGS) {
    attr->strings = NULL;
    attr->kind = HONE_ATTR_STRINGS;
  }
  return HONE_OK;
}

/* The attribute that a term gives; *out_given false for a reference to one that is absent. */
static hone_status resolve_attr(builder *b, const hone_op *op, const hn_term_attr *term, hone_attr *out,
                                bool *out_given) {
  *out_given = true;
  *out = term->value;
  if (term->value.kind == HONE_ATTR_NONE) {
    const hone_attrs *from = b->build->attrs;
    if (term->from) {
      const hn_binding *binding = find_binding(b, term->from);
      if (!binding || !binding->node)
        return HN_FAIL(b->diag, HONE_INVALID, "%s.%s: no node is bound to %s", term->from, term->attr, term->from);
      from = &binding->node->attrs;
    }
    const hone_attr *found = from ? hn_attr_find(from, term->attr) : NULL;
    *out_given = found != NULL;
    if (found) *out = *found;
  }
  out->name = term->name;
  return *out_given ? coerce(b, op, out) : HONE_OK;
}

/* like: the node whose attributes hold where the term is silent, or NULL. */
static hone_status build_attrs(builder *b, const hone_op *op, const hn_term *term, const hn_node *like,
                               hone_attrs *out) {
  const int most = term->attr_count + (like ? like->attrs.count : 0);
  hone_attr *items = HN_NEW(&b->scratch, hone_attr, most);
  if (!items) return HN_FAIL_MEMORY(b->diag);
  int count = 0;
  for (int i = 0; like && i < like->attrs.count; ++i) items[count++] = like->attrs.items[i];
  for (int i = 0; i < term->attr_count; ++i) {
    hone_attr attr;
    bool given;
    HN_TRY(resolve_attr(b, op, &term->attrs[i], &attr, &given));
    if (!given) continue;
    int at = 0;
    while (at < count && strcmp(items[at].name, attr.name) != 0) ++at;
    items[at] = attr;
    if (at == count) ++count;
  }
  *out = (hone_attrs){count, items};
  return HONE_OK;
}

/* ---- inputs ---- */

typedef struct inputs {
  hn_value **values;
  int count, capacity;
} inputs;

static hone_status add_input(builder *b, inputs *in, hn_value *value) {
  if (!hn_arena_grow(&b->scratch, (void **)&in->values, &in->capacity, in->count + 1, sizeof(hn_value *)))
    return HN_FAIL_MEMORY(b->diag);
  in->values[in->count++] = value;
  return HONE_OK;
}

/* A number's dtype: that of another input of the same letter, else of the first input, else f32; within the port. */
static hone_dtype number_dtype(const hone_op *op, const inputs *in, int index) {
  const hone_port *port = hn_port_at(op->in, index);
  hone_dtype dtype = HONE_NONE;
  for (int i = 0; i < in->count; ++i) {
    const hone_port *other = hn_port_at(op->in, i);
    if (!in->values[i] || !other) continue;
    const bool same = port && port->letter != 0 && other->letter == port->letter;
    if (same || dtype == HONE_NONE) dtype = in->values[i]->fact.type.dtype;
    if (same) break;
  }
  if (dtype == HONE_NONE) dtype = HONE_F32;
  if (!port || (port->types & HONE_BIT(dtype)) || port->types == 0) return dtype;
  return port->types & HONE_BIT(HONE_I64) ? HONE_I64 : (hone_dtype)__builtin_ctz(port->types);
}

static hone_status build_rest(builder *b, const hn_term *arg, inputs *in) {
  const hn_binding *binding = find_binding(b, arg->name);
  if (!binding) return HN_FAIL(b->diag, HONE_INVALID, "%s... is not bound", arg->name);
  for (int i = 0; i < binding->rest_count; ++i) HN_TRY(add_input(b, in, binding->rest[i]));
  return HONE_OK;
}

static hone_status build_inputs(builder *b, const hone_op *op, const hn_term *term, const hn_node *like, inputs *in) {
  bool open = !term->has_args; /* takes the node's own inputs from here on */
  for (int i = 0; i < term->arg_count; ++i) {
    const hn_term *arg = term->args[i];
    hn_value *value = NULL;
    if (arg->kind == HN_TERM_ELLIPSIS) {
      open = true;
    } else if (arg->kind == HN_TERM_REST) {
      HN_TRY(build_rest(b, arg, in));
    } else {
      if (arg->kind != HN_TERM_NUMBER) HN_TRY(build_term(b, arg, &value));
      HN_TRY(add_input(b, in, value));
    }
  }
  if (open && !like)
    return HN_FAIL(b->diag, HONE_INVALID, "%s is not a bound node: its inputs must be given", term->op);
  for (int i = in->count; open && i < like->in_count; ++i) HN_TRY(add_input(b, in, like->in[i]));
  for (int i = 0; i < term->arg_count; ++i) { /* numbers last, when the dtypes of the others are known */
    const hn_term *arg = term->args[i];
    if (arg->kind != HN_TERM_NUMBER) continue;
    in->values[i] = hn_constant_scalar(b->graph, number_dtype(op, in, i), arg->number);
    if (!in->values[i]) return HONE_NO_MEMORY;
    HN_TRY(bind(b, arg->name, in->values[i], NULL));
  }
  return HONE_OK;
}

/* ---- outputs ---- */

/* Marks the outputs of `name` that a term or its arguments refer to; returns the number of the last one, or -1. */
static int mark_outputs(const hn_term *term, const char *name, bool *wanted, int room) {
  int last = -1;
  if (term->kind == HN_TERM_NAME && term->name && strcmp(term->name, name) == 0) {
    last = term->output;
    if (last < room) wanted[last] = true;
  }
  for (int i = 0; i < term->arg_count; ++i) {
    const int other = mark_outputs(term->args[i], name, wanted, room);
    if (other > last) last = other;
  }
  return last;
}

/* Names for hn_node_spec: outputs that the row needs, the text refers to, or the copied node has. */
static hone_status choose_outputs(builder *b, const hone_op *op, const hn_term *term, const hn_node *like,
                                  const char ***out_names, int *out_count) {
  enum { ROOM = 1025 };
  bool *wanted = HN_NEW(&b->scratch, bool, ROOM);
  const char **names = HN_NEW(&b->scratch, const char *, ROOM);
  if (!wanted || !names) return HN_FAIL_MEMORY(b->diag);
  wanted[0] = true;
  int last = 0;
  for (int i = 0; i < HONE_MAX_PORTS && op->out[i].name; ++i) {
    if (op->out[i].flags & HONE_PORT_OPTIONAL) continue;
    wanted[i] = true;
    last = i;
  }
  for (int i = 0; like && i < like->out_count && i < ROOM; ++i) {
    if (!like->out[i]) continue;
    wanted[i] = true;
    if (i > last) last = i;
  }
  for (int i = 0; term->name && i < b->roots->count; ++i) {
    const int other = mark_outputs(b->roots->terms[i], term->name, wanted, ROOM);
    if (other > last) last = other;
  }
  for (int i = 0; i <= last; ++i) names[i] = wanted[i] ? NULL : "";
  *out_names = names;
  *out_count = last + 1;
  return HONE_OK;
}

/* ---- terms ---- */

static hone_status build_op(builder *b, const hn_term *term, hn_value **out) {
  const hn_binding *binding = find_binding(b, term->op);
  const hn_node *like = binding ? binding->node : NULL;
  const hone_op *op = like ? like->op : hn_op_find(b->graph->context->ops, term->op);
  if (!op) return HN_FAIL(b->diag, HONE_INVALID, "there is no operator %s, and no node is bound to it", term->op);
  inputs in = {0};
  hn_node_spec spec = {.op = op, .name = b->build->name, .origins = b->build->origins, .before = b->build->before};
  const char **names;
  HN_TRY(build_inputs(b, op, term, like, &in));
  HN_TRY(build_attrs(b, op, term, like, &spec.attrs));
  HN_TRY(choose_outputs(b, op, term, like, &names, &spec.out_count));
  spec.in_count = in.count;
  spec.in = in.values;
  spec.out_names = names;
  if (!hn_arena_grow(&b->scratch, (void **)&b->made, &b->made_capacity, b->made_count + 1, sizeof(hn_node *)))
    return HN_FAIL_MEMORY(b->diag);
  hn_node *node;
  HN_TRY(hn_node_create(b->build->block, &spec, &node));
  b->made[b->made_count++] = node;
  *out = node->out[0];
  return bind(b, term->name, node->out[0], node);
}

static hone_status build_name(builder *b, const hn_term *term, hn_value **out) {
  const hn_binding *binding = find_binding(b, term->name);
  if (!binding) return HN_FAIL(b->diag, HONE_INVALID, "%s is not bound", term->name);
  if (binding->node) {
    *out = term->output < binding->node->out_count ? binding->node->out[term->output] : NULL;
  } else {
    *out = term->output == 0 ? binding->value : NULL;
    if (!*out && term->output == 0) return HONE_OK; /* an optional input that the composite was not given */
  }
  return *out ? HONE_OK : HN_FAIL(b->diag, HONE_INVALID, "%s has no output %d", term->name, term->output);
}

static hone_status build_term(builder *b, const hn_term *term, hn_value **out) {
  *out = NULL;
  switch (term->kind) {
  case HN_TERM_OP: return build_op(b, term, out);
  case HN_TERM_NAME: return build_name(b, term, out);
  case HN_TERM_ABSENT: return HONE_OK;
  case HN_TERM_NUMBER:
    *out = hn_constant_scalar(b->graph, HONE_F32, term->number);
    return *out ? bind(b, term->name, *out, NULL) : HONE_NO_MEMORY;
  default: return HN_FAIL(b->diag, HONE_INVALID, "... stands where one value is needed");
  }
}

hone_status hn_notation_build(const hn_build *build, const hn_roots *roots, hn_value **results) {
  hone_graph *graph = build->block->graph;
  builder b = {.build = build, .roots = roots, .graph = graph, .diag = &graph->context->diag};
  hn_arena_init(&b.scratch, graph->context->allocator);
  hone_status status = HONE_OK;
  for (int i = 0; i < roots->count; ++i) results[i] = NULL;
  for (int i = 0; i < roots->count && status == HONE_OK; ++i) status = build_term(&b, roots->terms[i], &results[i]);
  if (status != HONE_OK) {
    while (b.made_count-- > 0) hn_node_remove(b.made[b.made_count]);
    for (int i = 0; i < roots->count; ++i) results[i] = NULL;
  }
  hn_arena_deinit(&b.scratch);
  return status;
}
