/* SPDX-License-Identifier: Apache-2.0 */
/* print.c - a graph as the text that ir/text.h describes. What is written depends on the graph only, not on the order
 * of edits that made it. */
#include "ir/text.h"
#include "base/letters.h"
#include "ir/elements.h"
#include <string.h>

enum { DEFAULT_ELEMENTS = 64, BYTES_ALIGNMENT = 64 };
static const int64_t default_high = (int64_t)1 << 40; /* of a dim that was only named */

typedef struct printer {
  const hone_graph *graph;
  const hn_print_options *options;
  hn_text *text;
  int indent;
  bool *used; /* symbols that some printed type has */
} printer;

static void begin_line(printer *p) {
  for (int i = 0; i < p->indent; ++i) hn_text_add(p->text, "  ");
}

static bool is_plain(const char *name, const char *also) {
  for (const char *c = name; *c; ++c) {
    const bool letter = hn_is_letter(*c);
    const bool later = hn_is_digit(*c) || strchr(also, *c);
    if (!letter && !later) return false;
  }
  return *name != 0;
}

static void put_value(printer *p, const hn_value *value) {
  if (!value) {
    hn_text_add(p->text, "_");
    return;
  }
  hn_text_add(p->text, "%");
  if (is_plain(value->name, "./-")) {
    hn_text_add(p->text, value->name);
  } else {
    hn_text_quoted(p->text, value->name, strlen(value->name));
  }
}

/* A word, or quoted when it would read as something else. */
static void put_word(printer *p, const char *name) {
  const bool number = (name[0] >= '0' && name[0] <= '9') || strcmp(name, "inf") == 0 || strcmp(name, "nan") == 0;
  if (is_plain(name, "") && !number) {
    hn_text_add(p->text, name);
  } else {
    hn_text_quoted(p->text, name, strlen(name));
  }
}

static void put_type(printer *p, const hone_type *type) { hn_text_type(p->text, type, &p->graph->dims); }

/* Is the type printed with the output, as parsing would not find it again? */
static bool is_stated(const printer *p, const hn_value *value) {
  const hone_type *type = &value->fact.type;
  if (value->refined) return true;
  for (int i = 0; i < type->shape.rank; ++i) {
    if (hn_dim_is_after_run(&p->graph->dims, type->shape.dim[i])) return true;
  }
  return false;
}

/* ---- symbols ---- */

static void mark_dim(printer *p, int64_t dim) {
  int number;
  const hn_dim_node *node = hn_dim_at(&p->graph->dims, dim);
  if (!node) return;
  if (hn_dim_symbol_at(&p->graph->dims, dim, &number)) {
    p->used[number] = true;
    return;
  }
  mark_dim(p, node->a);
  mark_dim(p, node->b);
}

static void mark_symbols(printer *p) {
  for (int i = 0; i < p->graph->value_count; ++i) {
    const hn_value *value = p->graph->values[i];
    const hone_type *type = &value->fact.type;
    if (!value->param_of && !(value->node && is_stated(p, value))) continue;
    for (int d = 0; d < type->shape.rank; ++d) mark_dim(p, type->shape.dim[d]);
  }
}

/* In the order of their numbers, which canonical forms depend on. */
static void put_symbols(printer *p) {
  for (int i = 0; i < p->graph->dims.symbol_count; ++i) {
    const hn_dim_symbol *symbol = &p->graph->dims.symbols[i];
    if (!p->used[i]) continue;
    hn_text_add(p->text, "  dim ");
    put_word(p, symbol->name);
    if (symbol->low != 0 || symbol->high != default_high)
      hn_text_printf(p->text, " in [%lld, %lld]", (long long)symbol->low, (long long)symbol->high);
    hn_text_add(p->text, symbol->after_run ? " after_run\n" : "\n");
  }
}

/* ---- constants ---- */

static void put_far_bytes(printer *p, const hone_tensor *tensor) {
  static const char zeros[BYTES_ALIGNMENT];
  hn_text *bytes = p->options->constant_bytes;
  if (!bytes) return;
  hn_text_add_bytes(bytes, zeros, (BYTES_ALIGNMENT - bytes->length % BYTES_ALIGNMENT) % BYTES_ALIGNMENT);
  hn_text_printf(p->text, " at %zu", bytes->length);
  hn_text_add_bytes(bytes, tensor->data, tensor->bytes);
}

static void put_constant(printer *p, hn_value *value) {
  const hone_tensor *tensor = value->fact.constant;
  const int64_t most = p->options->constant_elements == 0 ? DEFAULT_ELEMENTS : p->options->constant_elements;
  const bool near = most < 0 || hn_elems(&tensor->type.shape) <= most || tensor->type.dtype == HONE_STRING;
  hn_text_add(p->text, "  const ");
  put_value(p, value);
  hn_text_add(p->text, ": ");
  put_type(p, &tensor->type);
  if (near) {
    hn_text_add(p->text, " = [");
    hn_text_elements(p->text, tensor);
    hn_text_add(p->text, "]");
  } else {
    hn_text_printf(p->text, " = #%016llx", (unsigned long long)hn_constant_hash(value));
    put_far_bytes(p, tensor);
  }
  hn_text_add(p->text, "\n");
}

/* ---- nodes ---- */

static void put_results(printer *p, const hn_node *node) {
  if (node->out_count == 0) hn_text_add(p->text, "none");
  for (int i = 0; i < node->out_count; ++i) {
    if (i > 0) hn_text_add(p->text, ", ");
    put_value(p, node->out[i]);
    if (!node->out[i] || !is_stated(p, node->out[i])) continue;
    hn_text_add(p->text, ": ");
    put_type(p, &node->out[i]->fact.type);
  }
}

static void put_inputs(printer *p, const hn_node *node) {
  int count = node->in_count;
  while (count > 0 && !node->in[count - 1]) --count;
  hn_text_add(p->text, "(");
  for (int i = 0; i < count; ++i) {
    if (i > 0) hn_text_add(p->text, ", ");
    put_value(p, node->in[i]);
  }
  hn_text_add(p->text, ")");
}

static bool is_default(const hone_op *op, const hone_attr *attr) {
  for (int i = 0; i < HONE_MAX_ATTRS && op->attr[i].name; ++i) {
    const hone_attr_decl *decl = &op->attr[i];
    if (strcmp(decl->name, attr->name) != 0) continue;
    if (!decl->has_default || decl->kind != attr->kind) return false;
    if (decl->kind == HONE_ATTR_INT) return decl->i == attr->i;
    if (decl->kind == HONE_ATTR_FLOAT) return memcmp(&decl->f, &attr->f, sizeof attr->f) == 0;
    return attr->count == (int64_t)strlen(decl->s) && memcmp(decl->s, attr->s, (size_t)attr->count) == 0;
  }
  return false;
}

static void put_attrs(printer *p, const hn_node *node) {
  bool any = false;
  for (int i = 0; i < node->attrs.count; ++i) {
    const hone_attr *attr = &node->attrs.items[i];
    if (is_default(node->op, attr)) continue;
    hn_text_printf(p->text, "%s%s=", any ? ", " : " [", attr->name);
    any = true;
    if (attr->kind != HONE_ATTR_TENSOR) {
      hn_text_attr_value(p->text, attr);
      continue;
    }
    put_type(p, &attr->tensor->type);
    hn_text_add(p->text, "{");
    hn_text_elements(p->text, attr->tensor);
    hn_text_add(p->text, "}");
  }
  if (any) hn_text_add(p->text, "]");
}

static void put_origins(printer *p, const hn_origins *origins) {
  if (!p->options->with_origins || origins->count == 0) return;
  hn_text_add(p->text, " from(");
  for (int i = 0; i < origins->count; ++i) {
    if (i > 0) hn_text_add(p->text, ", ");
    hn_text_quoted(p->text, origins->names[i], strlen(origins->names[i]));
  }
  hn_text_add(p->text, ")");
}

static void put_types_comment(printer *p, const hn_node *node) {
  if (!p->options->with_types || node->out_count == 0) return;
  hn_text_add(p->text, "  // ");
  for (int i = 0; i < node->out_count; ++i) {
    if (i > 0) hn_text_add(p->text, ", ");
    if (node->out[i]) {
      put_type(p, &node->out[i]->fact.type);
    } else {
      hn_text_add(p->text, "_");
    }
  }
}

static void put_block(printer *p, const hn_block *block);

static void put_node(printer *p, const hn_node *node) {
  begin_line(p);
  put_results(p, node);
  hn_text_add(p->text, " = ");
  put_word(p, node->op->name);
  put_inputs(p, node);
  put_attrs(p, node);
  hn_text_add(p->text, " @");
  hn_text_quoted(p->text, node->name, strlen(node->name));
  put_origins(p, &node->origins);
  if (node->parts) {
    hn_text_add(p->text, " parts");
    put_block(p, node->parts);
  }
  for (int i = 0; i < node->block_count; ++i) put_block(p, node->blocks[i]);
  put_types_comment(p, node);
  hn_text_add(p->text, "\n");
}

/* " (%a: f32[2]) { ... yield %b }" */
static void put_block(printer *p, const hn_block *block) {
  hn_text_add(p->text, " (");
  for (int i = 0; i < block->param_count; ++i) {
    if (i > 0) hn_text_add(p->text, ", ");
    put_value(p, block->params[i]);
    hn_text_add(p->text, ": ");
    put_type(p, &block->params[i]->fact.type);
  }
  hn_text_add(p->text, ") {\n");
  ++p->indent;
  for (const hn_node *node = block->first; node; node = node->next) put_node(p, node);
  begin_line(p);
  hn_text_add(p->text, "yield");
  for (int i = 0; i < block->result_count; ++i) {
    hn_text_add(p->text, i > 0 ? ", " : " ");
    put_value(p, block->results[i]);
  }
  hn_text_add(p->text, "\n");
  --p->indent;
  begin_line(p);
  hn_text_add(p->text, "}");
}

static void put_graph(printer *p) {
  const hone_graph *graph = p->graph;
  hn_text_add(p->text, "graph ");
  hn_text_quoted(p->text, graph->name, strlen(graph->name));
  if (graph->opset != 0) hn_text_printf(p->text, " opset %d", graph->opset);
  hn_text_add(p->text, " {\n");
  mark_symbols(p);
  put_symbols(p);
  for (int i = 0; i < graph->main->param_count; ++i) {
    hn_text_add(p->text, "  in ");
    put_value(p, graph->main->params[i]);
    hn_text_add(p->text, ": ");
    put_type(p, &graph->main->params[i]->fact.type);
    hn_text_add(p->text, "\n");
  }
  for (int i = 0; i < graph->value_count; ++i) {
    if (hn_value_is_constant(graph->values[i]) && graph->values[i]->uses) put_constant(p, graph->values[i]);
  }
  for (const hn_node *node = graph->main->first; node; node = node->next) put_node(p, node);
  for (int i = 0; i < graph->main->result_count; ++i) {
    hn_text_add(p->text, "  out ");
    put_value(p, graph->main->results[i]);
    hn_text_add(p->text, " as ");
    hn_text_quoted(p->text, graph->output_names[i], strlen(graph->output_names[i]));
    hn_text_add(p->text, "\n");
  }
  hn_text_add(p->text, "}\n");
}

hone_status hn_graph_print(const hone_graph *graph, const hn_print_options *options, hn_text *out) {
  static const hn_print_options defaults;
  hone_diagnostics *diag = &graph->context->diag;
  const hn_allocator *allocator = &graph->context->allocator;
  const size_t used_bytes = (size_t)graph->dims.symbol_count * sizeof(bool);
  printer p = {.graph = graph, .options = options ? options : &defaults, .text = out, .indent = 1};
  p.used = hn_alloc_zero(allocator, used_bytes);
  if (!p.used) return HN_FAIL_MEMORY(diag);
  put_graph(&p);
  hn_free(allocator, p.used, used_bytes);
  if (out->failed || (p.options->constant_bytes && p.options->constant_bytes->failed)) return HN_FAIL_MEMORY(diag);
  return HONE_OK;
}
