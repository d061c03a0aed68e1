/* SPDX-License-Identifier: Apache-2.0 */
/* parse_node.c - one node of graph text: results, op, inputs, attributes, name, origins, parts, blocks. */
#include "ir/parse.h"
#include "ir/build.h"
#include "ir/elements.h"
#include <string.h>

enum { DEPTH_LIMIT = 64, BLOCKS_LIMIT = 64 };

typedef struct result {
  const char *name; /* "" for an output that is not wanted */
  bool typed;
  hone_type type;
} result;

/* What was read of a node before it is made; lists in the scratch arena. */
typedef struct draft {
  result *results;
  const char **out_names;
  hn_value **in;
  hone_attr *attrs;
  const char **origins;
  int out_count, out_capacity, in_count, in_capacity, attr_count, attr_capacity, origin_count, origin_capacity;
  const char *name;
  const hone_op *op;
  int symbols_before; /* in the graph, when the results' types were read */
} draft;

static bool grow(hn_parser *parser, void **items, int *capacity, int count, size_t item_bytes) {
  return hn_arena_grow(&parser->scratch, items, capacity, count + 1, item_bytes);
}

static hone_status parse_results(hn_parser *parser, draft *d) {
  hn_lexer *lexer = &parser->lexer;
  bool more;
  if (hn_lex_is_word(lexer, "none")) return hn_lex_next(lexer);
  do {
    if (!grow(parser, (void **)&d->results, &d->out_capacity, d->out_count, sizeof(result)))
      return HN_FAIL_MEMORY(lexer->diag);
    result *one = &d->results[d->out_count++];
    *one = (result){.name = ""};
    if (hn_lex_is_word(lexer, "_")) {
      HN_TRY(hn_lex_next(lexer));
    } else {
      HN_TRY(hn_parse_new_name(parser, &one->name));
    }
    HN_TRY(hn_lex_take_if(lexer, ':', &one->typed));
    if (one->typed) HN_TRY(hn_lex_type(lexer, &parser->graph->dims, &one->type));
    HN_TRY(hn_lex_take_if(lexer, ',', &more));
  } while (more);
  return HONE_OK;
}

static hone_status parse_op(hn_parser *parser, draft *d) {
  hn_lexer *lexer = &parser->lexer;
  if (lexer->token.kind != HN_TOKEN_WORD && lexer->token.kind != HN_TOKEN_STRING)
    return hn_lex_expected(lexer, "an operator's name");
  d->op = hn_op_find(parser->context->ops, lexer->token.text);
  return d->op ? hn_lex_next(lexer) : hn_lex_expected(lexer, "an operator that is known");
}

static hone_status parse_inputs(hn_parser *parser, draft *d) {
  hn_lexer *lexer = &parser->lexer;
  bool more = true;
  HN_TRY(hn_lex_take(lexer, '('));
  while (more && !hn_lex_is(lexer, ')')) {
    if (!grow(parser, (void **)&d->in, &d->in_capacity, d->in_count, sizeof(hn_value *)))
      return HN_FAIL_MEMORY(lexer->diag);
    HN_TRY(hn_parse_value(parser, true, &d->in[d->in_count]));
    ++d->in_count;
    HN_TRY(hn_lex_take_if(lexer, ',', &more));
  }
  return hn_lex_take(lexer, ')');
}

/* ---- attributes: the row says of which kind each is ---- */

static hone_status parse_item(hn_parser *parser, hone_attr_kind kind, void *item) {
  hn_lexer *lexer = &parser->lexer;
  if (kind == HONE_ATTR_INTS) return hn_lex_take_int(lexer, item);
  if (kind == HONE_ATTR_FLOATS) return hn_lex_take_real(lexer, item, NULL);
  if (lexer->token.kind != HN_TOKEN_STRING || strlen(lexer->token.text) != lexer->token.length)
    return hn_lex_expected(lexer, "quoted text without zero bytes");
  return hn_lex_take_text(lexer, HN_TOKEN_STRING, "quoted text", item);
}

static hone_status parse_list(hn_parser *parser, hone_attr *attr) {
  hn_lexer *lexer = &parser->lexer;
  uint64_t *items = NULL; /* of 8 bytes, whatever the kind */
  int count = 0, capacity = 0;
  bool more = true;
  _Static_assert(sizeof(int64_t) == 8 && sizeof(double) == 8 && sizeof(char *) == 8, "items of one size");
  HN_TRY(hn_lex_take(lexer, '['));
  while (more && !hn_lex_is(lexer, ']')) {
    if (!grow(parser, (void **)&items, &capacity, count, sizeof *items)) return HN_FAIL_MEMORY(lexer->diag);
    HN_TRY(parse_item(parser, attr->kind, &items[count]));
    ++count;
    HN_TRY(hn_lex_take_if(lexer, ',', &more));
  }
  attr->count = count;
  if (attr->kind == HONE_ATTR_INTS) attr->ints = (const int64_t *)(void *)items;
  if (attr->kind == HONE_ATTR_FLOATS) attr->floats = (const double *)(void *)items;
  if (attr->kind == HONE_ATTR_STRINGS) attr->strings = (const char *const *)(void *)items;
  return hn_lex_take(lexer, ']');
}

static hone_status parse_tensor(hn_parser *parser, hone_attr *attr) {
  hn_lexer *lexer = &parser->lexer;
  hone_type type;
  hone_tensor *tensor = HN_NEW(&parser->scratch, hone_tensor, 1);
  if (!tensor) return HN_FAIL_MEMORY(lexer->diag);
  HN_TRY(hn_lex_type(lexer, &parser->graph->dims, &type));
  HN_TRY(hn_lex_take(lexer, '{'));
  attr->tensor = tensor;
  return hn_lex_elements(lexer, &type, '}', tensor);
}

static hone_status parse_attr(hn_parser *parser, const hone_op *op, hone_attr *attr) {
  hn_lexer *lexer = &parser->lexer;
  const hone_attr_decl *decl = NULL;
  for (int i = 0; i < HONE_MAX_ATTRS && op->attr[i].name && !decl; ++i) {
    if (hn_lex_is_word(lexer, op->attr[i].name)) decl = &op->attr[i];
  }
  if (!decl) return hn_lex_expected(lexer, "an attribute that the operator has");
  *attr = (hone_attr){.name = decl->name, .kind = decl->kind};
  HN_TRY(hn_lex_next(lexer));
  HN_TRY(hn_lex_take(lexer, '='));
  switch (decl->kind) {
  case HONE_ATTR_INT: return hn_lex_take_int(lexer, &attr->i);
  case HONE_ATTR_FLOAT: return hn_lex_take_real(lexer, &attr->f, NULL);
  case HONE_ATTR_STRING:
    attr->count = (int64_t)lexer->token.length;
    return hn_lex_take_text(lexer, HN_TOKEN_STRING, "quoted text", &attr->s);
  case HONE_ATTR_TENSOR: return parse_tensor(parser, attr);
  default: return parse_list(parser, attr);
  }
}

static hone_status parse_attrs(hn_parser *parser, draft *d) {
  hn_lexer *lexer = &parser->lexer;
  bool more;
  HN_TRY(hn_lex_take_if(lexer, '[', &more));
  if (!more) return HONE_OK;
  while (more && !hn_lex_is(lexer, ']')) {
    if (d->attr_count == HONE_MAX_ATTRS) return hn_lex_expected(lexer, "each attribute once");
    if (!grow(parser, (void **)&d->attrs, &d->attr_capacity, d->attr_count, sizeof(hone_attr)))
      return HN_FAIL_MEMORY(lexer->diag);
    HN_TRY(parse_attr(parser, d->op, &d->attrs[d->attr_count]));
    for (int i = 0; i < d->attr_count; ++i) {
      if (strcmp(d->attrs[i].name, d->attrs[d->attr_count].name) == 0)
        return hn_lex_expected(lexer, "each attribute once");
    }
    ++d->attr_count;
    HN_TRY(hn_lex_take_if(lexer, ',', &more));
  }
  return hn_lex_take(lexer, ']');
}

/* @"name" from("a", "b") */
static hone_status parse_name(hn_parser *parser, draft *d) {
  hn_lexer *lexer = &parser->lexer;
  bool more;
  HN_TRY(hn_lex_take_if(lexer, '@', &more));
  if (more) {
    HN_TRY(parse_item(parser, HONE_ATTR_STRINGS, &d->name));
    if (!*d->name || hn_table_get(&parser->graph->node_names, d->name))
      return hn_lex_expected(lexer, "a name that no node above has, before this");
  }
  if (!hn_lex_is_word(lexer, "from")) return HONE_OK;
  HN_TRY(hn_lex_next(lexer));
  HN_TRY(hn_lex_take(lexer, '('));
  do {
    if (!grow(parser, (void **)&d->origins, &d->origin_capacity, d->origin_count, sizeof(char *)))
      return HN_FAIL_MEMORY(lexer->diag);
    HN_TRY(parse_item(parser, HONE_ATTR_STRINGS, &d->origins[d->origin_count]));
    if (d->origin_count > 0 && strcmp(d->origins[d->origin_count - 1], d->origins[d->origin_count]) >= 0)
      return hn_lex_expected(lexer, "sorted origins before this");
    ++d->origin_count;
    HN_TRY(hn_lex_take_if(lexer, ',', &more));
  } while (more);
  return hn_lex_take(lexer, ')');
}

/* ---- making it ---- */

static hone_status copy_origins(hn_parser *parser, const draft *d, hn_origins *out) {
  hn_arena *arena = &parser->graph->arena;
  *out = (hn_origins){0};
  if (d->origin_count == 0) return HONE_OK;
  const char **names = HN_NEW(arena, const char *, d->origin_count);
  for (int i = 0; names && i < d->origin_count; ++i) {
    if (!(names[i] = hn_arena_text(arena, d->origins[i]))) return HN_FAIL_MEMORY(parser->lexer.diag);
  }
  *out = (hn_origins){d->origin_count, names};
  return names ? HONE_OK : HN_FAIL_MEMORY(parser->lexer.diag);
}

static hone_status make_node(hn_parser *parser, hn_block *block, const draft *d, hn_node **out) {
  const char **names = HN_NEW(&parser->scratch, const char *, d->out_count);
  hn_node_spec spec = {.op = d->op,
                       .name = d->name,
                       .attrs = {d->attr_count, d->attrs},
                       .in_count = d->in_count,
                       .out_count = d->out_count,
                       .in = d->in,
                       .out_names = names,
                       .block_count = d->op->traits & HONE_HAS_BLOCKS ? 1 : 0};
  if (!names) return HN_FAIL_MEMORY(parser->lexer.diag);
  for (int i = 0; i < d->out_count; ++i) {
    names[i] = d->results[i].name;
    for (int j = 0; j < i && names[i][0]; ++j) {
      if (strcmp(names[i], names[j]) == 0)
        return HN_FAIL(parser->lexer.diag, HONE_MALFORMED, "two results are named %s", names[i]);
    }
  }
  if (parser->graph->next_node_id >= parser->context->limits.max_nodes)
    return HN_FAIL(parser->lexer.diag, HONE_LIMIT, "more nodes than the limit");
  HN_TRY(copy_origins(parser, d, &spec.origins));
  return hn_node_create(block, &spec, out);
}

/* A symbol that a result's type was the first to name is the one that inference made, under another name. */
static void name_symbols(hone_dims *dims, const hone_type *found, const hone_type *said, int symbols_before) {
  for (int i = 0; i < found->shape.rank && i < said->shape.rank; ++i) {
    int number;
    const hn_dim_symbol *made = hn_dim_symbol_at(dims, found->shape.dim[i], NULL);
    if (!made || !made->after_run || !hn_dim_symbol_at(dims, said->shape.dim[i], &number)) continue;
    if (number < symbols_before) continue;
    dims->symbols[number].after_run = true;
    dims->symbols[number].high = made->high;
  }
}

static hone_status refine_results(hn_parser *parser, hn_node *node, const draft *d) {
  for (int i = 0; i < d->out_count; ++i) {
    if (!d->results[i].typed || !node->out[i]) continue;
    name_symbols(&parser->graph->dims, &node->out[i]->fact.type, &d->results[i].type, d->symbols_before);
    HN_TRY(hn_value_refine(parser->graph, node->out[i], &d->results[i].type));
  }
  return HONE_OK;
}

/* ---- blocks ---- */

static hone_status parse_params(hn_parser *parser, hn_block *block) {
  hn_lexer *lexer = &parser->lexer;
  bool more = true;
  HN_TRY(hn_lex_take(lexer, '('));
  while (more && !hn_lex_is(lexer, ')')) {
    const char *name;
    hone_type type;
    HN_TRY(hn_parse_new_name(parser, &name));
    HN_TRY(hn_lex_take(lexer, ':'));
    HN_TRY(hn_lex_type(lexer, &parser->graph->dims, &type));
    if (type.kind == HONE_ABSENT && block->parent)
      return hn_lex_expected(lexer, "a type other than absent before this");
    if (!hn_block_add_param(block, name, &type)) return HONE_NO_MEMORY;
    HN_TRY(hn_lex_take_if(lexer, ',', &more));
  }
  return hn_lex_take(lexer, ')');
}

static hone_status parse_yield(hn_parser *parser, hn_block *block) {
  hn_lexer *lexer = &parser->lexer;
  HN_TRY(hn_lex_next(lexer));
  bool more = !hn_lex_is(lexer, '}');
  while (more) {
    hn_value *value;
    const char *from = lexer->token.from;
    HN_TRY(hn_parse_value(parser, block->parent == NULL, &value));
    if (value && !hn_value_is_constant(value) && (value->node ? value->node->owner : value->param_of) != block) {
      lexer->token.from = from;
      return hn_lex_expected(lexer, "a value of this block");
    }
    HN_TRY(hn_block_add_result(block, value, NULL));
    HN_TRY(hn_lex_take_if(lexer, ',', &more));
  }
  return hn_lex_take(lexer, '}');
}

/* owner: whose block it is, with its number; NULL for parts. */
static hone_status parse_block(hn_parser *parser, hn_block *block, hn_node *owner, int index) {
  hn_lexer *lexer = &parser->lexer;
  if (parser->depth == DEPTH_LIMIT)
    return hn_lex_note(lexer, HN_FAIL(lexer->diag, HONE_LIMIT, "blocks nested deeper than %d", DEPTH_LIMIT),
                       lexer->token.from);
  ++parser->depth;
  HN_TRY(parse_params(parser, block));
  if (owner) HN_TRY(hn_infer_params(parser->graph, owner, index));
  HN_TRY(hn_lex_take(lexer, '{'));
  while (!hn_lex_is_word(lexer, "yield")) HN_TRY(hn_parse_node(parser, block));
  HN_TRY(parse_yield(parser, block));
  --parser->depth;
  return HONE_OK;
}

static bool parts_fit(const hn_node *node) {
  const hn_block *parts = node->parts;
  bool fit = parts->param_count == node->in_count && parts->result_count == node->out_count;
  for (int i = 0; fit && i < node->in_count; ++i) {
    const hone_type *param = &parts->params[i]->fact.type, *in = node->in[i] ? &node->in[i]->fact.type : NULL;
    fit = in ? param->kind == in->kind && param->dtype == in->dtype : param->kind == HONE_ABSENT;
  }
  for (int i = 0; fit && i < node->out_count; ++i) {
    const hn_value *out = node->out[i], *given = parts->results[i];
    fit = !out || (given && given->fact.type.dtype == out->fact.type.dtype);
  }
  return fit;
}

static hone_status parse_parts(hn_parser *parser, hn_node *node) {
  if (!hn_lex_is_word(&parser->lexer, "parts")) return HONE_OK;
  HN_TRY(hn_lex_next(&parser->lexer));
  node->parts = hn_block_create(parser->graph, NULL);
  if (!node->parts) return HONE_NO_MEMORY;
  HN_TRY(parse_block(parser, node->parts, NULL, 0));
  if (parts_fit(node)) return HONE_OK;
  return hn_lex_expected(&parser->lexer, "params of the inputs' types and results of the outputs' before this");
}

static hone_status parse_blocks(hn_parser *parser, hn_node *node) {
  hn_arena *arena = &parser->graph->arena;
  HN_TRY(parse_block(parser, node->blocks[0], node, 0));
  hn_block **blocks = NULL;
  while (hn_lex_is(&parser->lexer, '(')) {
    if (node->block_count == BLOCKS_LIMIT) return hn_lex_expected(&parser->lexer, "at most 64 blocks");
    if (!blocks) {
      blocks = HN_NEW(arena, hn_block *, BLOCKS_LIMIT);
      if (!blocks) return HN_FAIL_MEMORY(parser->lexer.diag);
      blocks[0] = node->blocks[0];
      node->blocks = blocks;
    }
    hn_block *block = hn_block_create(parser->graph, node);
    if (!block) return HONE_NO_MEMORY;
    blocks[node->block_count++] = block;
    HN_TRY(parse_block(parser, block, node, node->block_count - 1));
  }
  return hn_infer_node(parser->graph, node);
}

static hone_status parse_head(hn_parser *parser, draft *d) {
  HN_TRY(parse_results(parser, d));
  HN_TRY(hn_lex_take(&parser->lexer, '='));
  HN_TRY(parse_op(parser, d));
  HN_TRY(parse_inputs(parser, d));
  HN_TRY(parse_attrs(parser, d));
  return parse_name(parser, d);
}

hone_status hn_parse_node(hn_parser *parser, hn_block *block) {
  const char *from = parser->lexer.token.from;
  draft d = {.symbols_before = parser->graph->dims.symbol_count};
  hn_node *node = NULL;
  HN_TRY(parse_head(parser, &d));
  hone_status status = make_node(parser, block, &d, &node);
  if (status == HONE_OK && node->block_count == 0) status = refine_results(parser, node, &d);
  if (status != HONE_OK) return hn_lex_note(&parser->lexer, status == HONE_INVALID ? HONE_MALFORMED : status, from);
  HN_TRY(parse_parts(parser, node));
  if (node->block_count == 0) return HONE_OK;
  status = parse_blocks(parser, node);
  if (status == HONE_OK) status = refine_results(parser, node, &d);
  return status == HONE_INVALID ? HONE_MALFORMED : status;
}
