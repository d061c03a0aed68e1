/* SPDX-License-Identifier: Apache-2.0 */
/* parse.c - the graph-level lines of graph text: dims, inputs, constants, outputs. The text may be hostile: nesting,
 * counts and sizes are bounded by the text's own length or by the context's limits. */
#include "ir/text.h"
#include "base/random.h"
#include "ir/build.h"
#include "ir/elements.h"
#include "ir/parse.h"
#include <string.h>

hone_status hn_parse_new_name(hn_parser *parser, const char **out) {
  hn_lexer *lexer = &parser->lexer;
  if (lexer->token.kind != HN_TOKEN_VALUE) return hn_lex_expected(lexer, "the name of a new value");
  if (hn_table_get(&parser->graph->value_names, lexer->token.text))
    return hn_lex_expected(lexer, "a name that no value above has");
  if (parser->graph->value_count >= parser->context->limits.max_tensors)
    return hn_lex_note(lexer, HN_FAIL(lexer->diag, HONE_LIMIT, "more values than the limit"), lexer->token.from);
  *out = lexer->token.text;
  return hn_lex_next(lexer);
}

hone_status hn_parse_value(hn_parser *parser, bool or_absent, hn_value **out) {
  hn_lexer *lexer = &parser->lexer;
  *out = NULL;
  if (or_absent && hn_lex_is_word(lexer, "_")) return hn_lex_next(lexer);
  if (lexer->token.kind != HN_TOKEN_VALUE) return hn_lex_expected(lexer, or_absent ? "a value or _" : "a value");
  *out = hn_table_get(&parser->graph->value_names, lexer->token.text);
  if (!*out) return hn_lex_expected(lexer, "a value that is defined above");
  return hn_lex_next(lexer);
}

static hone_status take_word(hn_lexer *lexer, const char *word) {
  return hn_lex_is_word(lexer, word) ? hn_lex_next(lexer) : hn_lex_expected(lexer, word);
}

/* Quoted text without a zero byte, or a word when that is allowed too. */
static hone_status take_name(hn_lexer *lexer, bool or_word, const char **out) {
  const bool is_word = or_word && lexer->token.kind == HN_TOKEN_WORD;
  if (!is_word && lexer->token.kind != HN_TOKEN_STRING)
    return hn_lex_expected(lexer, or_word ? "a name" : "a quoted name");
  if (strlen(lexer->token.text) != lexer->token.length) return hn_lex_expected(lexer, "a name without zero bytes");
  *out = lexer->token.text;
  return hn_lex_next(lexer);
}

/* dim N in [1, 32] after_run */
static hone_status parse_dim(hn_parser *parser) {
  hn_lexer *lexer = &parser->lexer;
  hone_dims *dims = &parser->graph->dims;
  const char *name;
  int number;
  HN_TRY(hn_lex_next(lexer));
  HN_TRY(take_name(lexer, true, &name));
  if (!hn_dim_symbol_at(dims, hn_dim_named(dims, name), &number)) return HN_FAIL_MEMORY(lexer->diag);
  hn_dim_symbol *symbol = &dims->symbols[number];
  if (hn_lex_is_word(lexer, "in")) {
    /* "in %x" of the next line is an input */
    hn_lexer ahead = *lexer;
    HN_TRY(hn_lex_next(&ahead));
    if (hn_lex_is(&ahead, '[')) {
      *lexer = ahead;
      HN_TRY(hn_lex_next(lexer));
      HN_TRY(hn_lex_take_int(lexer, &symbol->low));
      HN_TRY(hn_lex_take(lexer, ','));
      HN_TRY(hn_lex_take_int(lexer, &symbol->high));
      if (symbol->low < 0 || symbol->low > symbol->high) return hn_lex_expected(lexer, "bounds in order before this");
      HN_TRY(hn_lex_take(lexer, ']'));
    }
  }
  symbol->after_run = hn_lex_is_word(lexer, "after_run");
  return symbol->after_run ? hn_lex_next(lexer) : HONE_OK;
}

/* in %x: f32[N,3] */
static hone_status parse_input(hn_parser *parser) {
  hn_lexer *lexer = &parser->lexer;
  const char *name;
  hone_type type;
  HN_TRY(hn_lex_next(lexer));
  HN_TRY(hn_parse_new_name(parser, &name));
  HN_TRY(hn_lex_take(lexer, ':'));
  HN_TRY(hn_lex_type(lexer, &parser->graph->dims, &type));
  if (type.kind == HONE_ABSENT) return hn_lex_expected(lexer, "a type other than absent before this");
  return hn_block_add_param(parser->graph->main, name, &type) ? HONE_OK : HONE_NO_MEMORY;
}

/* ---- constants ---- */

/* #hash at offset: the bytes are beside the text. */
static hone_status parse_far(hn_parser *parser, const char *name, const hone_type *type, hn_value **out) {
  hn_lexer *lexer = &parser->lexer;
  const hn_token token = lexer->token;
  uint64_t hash = 0, offset = 0;
  hone_tensor tensor = {.type = *type};
  HN_TRY(hn_lex_take_bits(lexer, &hash, 1));
  if (!hn_lex_is_word(lexer, "at"))
    return hn_lex_expected(lexer, "at and an offset: the bytes of this constant are not in the text");
  HN_TRY(hn_lex_next(lexer));
  const char *place = lexer->token.from;
  HN_TRY(hn_lex_take_u64(lexer, &offset));
  if (type->dtype == HONE_STRING || !hn_type_bytes(type, &tensor.bytes) || offset > parser->far_byte_count ||
      tensor.bytes > parser->far_byte_count - offset) {
    lexer->token.from = place;
    return hn_lex_expected(lexer, "an offset from where all bytes of the constant are there");
  }
  tensor.data = (void *)(parser->far_bytes + offset); /* copied below */
  uint8_t none = 0;
  if (tensor.bytes == 0) tensor.data = &none;
  *out = hn_constant_create(parser->graph, name, &tensor, false);
  if (!*out) return HONE_NO_MEMORY;
  if (hn_constant_hash(*out) == hash) return HONE_OK;
  lexer->token = token;
  return hn_lex_expected(lexer, "the hash of the bytes that are there");
}

static void fill_random(hone_tensor *tensor, int64_t count, uint64_t seed) {
  hn_random random = {seed};
  const hone_dtype dtype = tensor->type.dtype;
  for (int64_t i = 0; i < count; ++i) {
    if (dtype == HONE_BOOL) {
      hn_store_int(tensor, i, (int64_t)(hn_random_u64(&random) & 1));
    } else if (hn_dtype_is_int(dtype)) {
      hn_store_int(tensor, i, (int64_t)(hn_random_u64(&random) % 16) - (hn_dtype_is_unsigned(dtype) ? 0 : 8));
    } else {
      hn_store_real(tensor, i, 2 * hn_random_unit(&random) - 1);
    }
  }
}

/* splat 0.5, random 7: data larger than its text, so that it is counted. */
static hone_status parse_filled(hn_parser *parser, const hone_type *type, hone_tensor *out) {
  hn_lexer *lexer = &parser->lexer;
  const bool random = hn_lex_is_word(lexer, "random");
  int64_t count, seed = 0;
  *out = (hone_tensor){.type = *type};
  if (type->kind != HONE_TENSOR || type->dtype == HONE_STRING || !hn_elems_checked(&type->shape, &count) ||
      !hn_type_bytes(type, &out->bytes))
    return hn_lex_expected(lexer, "a list of elements for this type");
  const int64_t room = parser->context->limits.max_fold_bytes - parser->filled_bytes;
  if (room < 0 || out->bytes > (size_t)room)
    return hn_lex_note(lexer, HN_FAIL(lexer->diag, HONE_LIMIT, "filled constants of more bytes than the limit"),
                       lexer->token.from);
  parser->filled_bytes += (int64_t)out->bytes;
  out->data = hn_arena_alloc(&parser->scratch, out->bytes < 16 ? 16 : out->bytes, 64);
  if (!out->data) return HN_FAIL_MEMORY(lexer->diag);
  memset(out->data, 0, out->bytes < 16 ? 16 : out->bytes);
  HN_TRY(hn_lex_next(lexer));
  if (random) {
    HN_TRY(hn_lex_take_int(lexer, &seed));
    fill_random(out, count, (uint64_t)seed);
    return HONE_OK;
  }
  HN_TRY(hn_lex_element(lexer, out, 0)); /* there is room for one even when the tensor is empty */
  for (int64_t i = 1; i < count; ++i) hn_copy_element(out, i, out, 0);
  return HONE_OK;
}

/* const %w: f32[2] = [1, 2] */
static hone_status parse_constant(hn_parser *parser) {
  hn_lexer *lexer = &parser->lexer;
  const char *name;
  hone_type type;
  hone_tensor tensor;
  hn_value *value = NULL;
  HN_TRY(hn_lex_next(lexer));
  HN_TRY(hn_parse_new_name(parser, &name));
  HN_TRY(hn_lex_take(lexer, ':'));
  HN_TRY(hn_lex_type(lexer, &parser->graph->dims, &type));
  if (type.kind != HONE_TENSOR || !hn_shape_known(&type.shape))
    return hn_lex_expected(lexer, "a tensor type whose dims are numbers before this");
  HN_TRY(hn_lex_take(lexer, '='));
  if (lexer->token.kind == HN_TOKEN_BITS) return parse_far(parser, name, &type, &value);
  if (hn_lex_is_word(lexer, "splat") || hn_lex_is_word(lexer, "random")) {
    HN_TRY(parse_filled(parser, &type, &tensor));
  } else {
    if (!hn_lex_is(lexer, '[')) return hn_lex_expected(lexer, "[elements], #hash, splat or random");
    HN_TRY(hn_lex_next(lexer));
    HN_TRY(hn_lex_elements(lexer, &type, ']', &tensor));
  }
  return hn_constant_create(parser->graph, name, &tensor, false) ? HONE_OK : HONE_NO_MEMORY;
}

/* out %y as "probabilities" */
static hone_status parse_output(hn_parser *parser) {
  hn_lexer *lexer = &parser->lexer;
  hn_block *main = parser->graph->main;
  hn_value *value;
  HN_TRY(hn_lex_next(lexer));
  const char *from = lexer->token.from;
  HN_TRY(hn_parse_value(parser, false, &value));
  const bool visible = hn_value_is_constant(value) || (value->node ? value->node->owner : value->param_of) == main;
  const char *name = NULL;
  if (hn_lex_is_word(lexer, "as")) {
    HN_TRY(hn_lex_next(lexer));
    HN_TRY(take_name(lexer, false, &name));
  }
  if (!visible) {
    lexer->token.from = from;
    return hn_lex_expected(lexer, "a value of the graph, not of a block");
  }
  const hone_status status = hn_block_add_result(main, value, name);
  if (status == HONE_OK) return HONE_OK;
  return hn_lex_note(lexer, status == HONE_INVALID ? HONE_MALFORMED : status, from);
}

static hone_status parse_line(hn_parser *parser) {
  static const struct {
    const char *word;
    hone_status (*parse)(hn_parser *);
  } rows[] = {{"dim", parse_dim}, {"in", parse_input}, {"const", parse_constant}, {"out", parse_output}};
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    if (hn_lex_is_word(&parser->lexer, rows[i].word)) return rows[i].parse(parser);
  }
  return hn_parse_node(parser, parser->graph->main);
}

static hone_status parse_graph(hn_parser *parser) {
  hn_lexer *lexer = &parser->lexer;
  const char *name;
  int64_t opset = 0;
  HN_TRY(take_word(lexer, "graph"));
  HN_TRY(take_name(lexer, false, &name));
  if (hn_lex_is_word(lexer, "opset")) {
    HN_TRY(hn_lex_next(lexer));
    HN_TRY(hn_lex_take_int(lexer, &opset));
    if (opset < 0 || opset > HONE_LATEST) return hn_lex_expected(lexer, "an opset in [0, 1000] before this");
  }
  HN_TRY(hn_graph_create(parser->context, name, &parser->graph));
  parser->graph->opset = (int)opset;
  HN_TRY(hn_lex_take(lexer, '{'));
  while (!hn_lex_is(lexer, '}')) {
    HN_TRY(hn_check_stop(parser->context));
    HN_TRY(parse_line(parser));
  }
  HN_TRY(hn_lex_next(lexer));
  return lexer->token.kind == HN_TOKEN_END ? HONE_OK : hn_lex_expected(lexer, "the end of the text");
}

hone_status hn_graph_parse(hone_context *context, const char *text, size_t length, const void *constant_bytes,
                           size_t constant_byte_count, hone_graph **out) {
  *out = NULL;
  hn_parser parser = {.context = context, .far_bytes = constant_bytes, .far_byte_count = constant_byte_count};
  hn_arena_init(&parser.scratch, context->allocator);
  hone_status status = hn_lex_begin(&parser.lexer, &parser.scratch, &context->diag, "graph text", text, length,
                                    (size_t)context->limits.max_string_bytes);
  if (status == HONE_OK) status = parse_graph(&parser);
  hn_lex_end(&parser.lexer);
  hn_arena_deinit(&parser.scratch);
  if (status == HONE_OK) {
    *out = parser.graph;
  } else {
    hn_graph_destroy(parser.graph);
  }
  return status;
}
