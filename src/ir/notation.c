/* SPDX-License-Identifier: Apache-2.0 */
/* notation.c - reads expressions over operators; the grammar is in ir/notation.h. */
#include "ir/notation.h"
#include "ir/lex.h"
#include <string.h>

enum { DEPTH_LIMIT = 64, TOKEN_LIMIT = 4096, OUTPUT_LIMIT = 1024 };

typedef struct reader {
  hn_lexer lexer;
  hn_arena *arena;
  int depth;
} reader;

static hone_status read_expr(reader *r, bool in_args, hn_term **out);

static hone_status new_term(reader *r, hn_term_kind kind, const char *name, hn_term **out) {
  *out = HN_NEW(r->arena, hn_term, 1);
  if (!*out) return HN_FAIL_MEMORY(r->lexer.diag);
  (*out)->kind = kind;
  (*out)->name = name;
  return HONE_OK;
}

/* Appends to a list of terms. */
static hone_status push(reader *r, hn_term ***list, int *count, int *capacity, hn_term *term) {
  if (!hn_arena_grow(r->arena, (void **)list, capacity, *count + 1, sizeof(hn_term *)))
    return HN_FAIL_MEMORY(r->lexer.diag);
  (*list)[(*count)++] = term;
  return HONE_OK;
}

/* ---- attributes ---- */

/* A list takes the kind of its items: whole numbers, numbers, texts. */
static hone_status read_list(reader *r, hone_attr *attr) {
  hn_lexer *lexer = &r->lexer;
  struct item {
    int64_t i;
    double f;
    const char *s;
  } *items = NULL;
  int count = 0, capacity = 0;
  bool more = true, whole = true, text = false;
  HN_TRY(hn_lex_take(lexer, '['));
  while (more && !hn_lex_is(lexer, ']')) {
    if (!hn_arena_grow(r->arena, (void **)&items, &capacity, count + 1, sizeof *items))
      return HN_FAIL_MEMORY(lexer->diag);
    struct item *item = &items[count];
    *item = (struct item){0};
    if (count > 0 && text != (lexer->token.kind == HN_TOKEN_STRING)) return hn_lex_expected(lexer, "items of one kind");
    text = lexer->token.kind == HN_TOKEN_STRING;
    whole = whole && hn_lex_is_whole(lexer);
    if (text) {
      HN_TRY(hn_lex_take_text(lexer, HN_TOKEN_STRING, "text", &item->s));
    } else if (whole) {
      HN_TRY(hn_lex_take_int(lexer, &item->i));
      item->f = (double)item->i;
    } else {
      HN_TRY(hn_lex_take_real(lexer, &item->f, NULL));
    }
    ++count;
    HN_TRY(hn_lex_take_if(lexer, ',', &more));
  }
  attr->kind = text ? HONE_ATTR_STRINGS : whole ? HONE_ATTR_INTS : HONE_ATTR_FLOATS;
  attr->count = count;
  int64_t *ints = HN_NEW(r->arena, int64_t, count);
  double *floats = HN_NEW(r->arena, double, count);
  const char **strings = HN_NEW(r->arena, const char *, count);
  if (!ints || !floats || !strings) return HN_FAIL_MEMORY(lexer->diag);
  for (int i = 0; i < count; ++i) {
    ints[i] = items[i].i;
    floats[i] = items[i].f;
    strings[i] = items[i].s;
  }
  if (attr->kind == HONE_ATTR_INTS) attr->ints = ints;
  if (attr->kind == HONE_ATTR_FLOATS) attr->floats = floats;
  if (attr->kind == HONE_ATTR_STRINGS) attr->strings = strings;
  return hn_lex_take(lexer, ']');
}

/* $axis, c.act, or a bare word, which is a text: act=relu. */
static hone_status read_reference(reader *r, hn_term_attr *attr) {
  hn_lexer *lexer = &r->lexer;
  bool dollar, dot;
  const char *word;
  HN_TRY(hn_lex_take_if(lexer, '$', &dollar));
  HN_TRY(hn_lex_take_text(lexer, HN_TOKEN_WORD, dollar ? "an attribute's name" : "a value", &word));
  if (dollar) {
    attr->attr = word;
    return HONE_OK;
  }
  HN_TRY(hn_lex_take_if(lexer, '.', &dot));
  if (dot) {
    attr->from = word;
    return hn_lex_take_text(lexer, HN_TOKEN_WORD, "an attribute's name", &attr->attr);
  }
  attr->value.kind = HONE_ATTR_STRING;
  attr->value.s = word;
  attr->value.count = (int64_t)strlen(word);
  return HONE_OK;
}

static hone_status read_attr(reader *r, hn_term_attr *attr) {
  hn_lexer *lexer = &r->lexer;
  *attr = (hn_term_attr){0};
  HN_TRY(hn_lex_take_text(lexer, HN_TOKEN_WORD, "an attribute's name", &attr->name));
  attr->value.name = attr->name;
  HN_TRY(hn_lex_take(lexer, '='));
  if (hn_lex_is_whole(lexer)) {
    attr->value.kind = HONE_ATTR_INT;
    return hn_lex_take_int(lexer, &attr->value.i);
  }
  if (lexer->token.kind == HN_TOKEN_NUMBER) {
    attr->value.kind = HONE_ATTR_FLOAT;
    return hn_lex_take_real(lexer, &attr->value.f, NULL);
  }
  if (lexer->token.kind == HN_TOKEN_STRING) {
    attr->value.kind = HONE_ATTR_STRING;
    attr->value.count = (int64_t)lexer->token.length;
    return hn_lex_take_text(lexer, HN_TOKEN_STRING, "text", &attr->value.s);
  }
  return hn_lex_is(lexer, '[') ? read_list(r, &attr->value) : read_reference(r, attr);
}

static hone_status read_attrs(reader *r, hn_term *term) {
  hn_lexer *lexer = &r->lexer;
  int capacity = 0;
  bool more = true;
  HN_TRY(hn_lex_take(lexer, '['));
  while (more) {
    if (!hn_arena_grow(r->arena, (void **)&term->attrs, &capacity, term->attr_count + 1, sizeof(hn_term_attr)))
      return HN_FAIL_MEMORY(lexer->diag);
    HN_TRY(read_attr(r, &term->attrs[term->attr_count]));
    ++term->attr_count;
    HN_TRY(hn_lex_take_if(lexer, ',', &more));
  }
  return hn_lex_take(lexer, ']');
}

static hone_status read_traits(reader *r, hn_term *term) {
  static const struct {
    const char *name;
    uint32_t trait;
  } rows[] = {
      {"elementwise", HONE_ELEMENTWISE}, {"commutes", HONE_COMMUTES}, {"impure", HONE_IMPURE},  {"moves", HONE_MOVES},
      {"after_run", HONE_AFTER_RUN},     {"blocks", HONE_HAS_BLOCKS}, {"aliases", HONE_ALIASES}};
  hn_lexer *lexer = &r->lexer;
  bool more = true;
  HN_TRY(hn_lex_take(lexer, '['));
  while (more) {
    uint32_t trait = 0;
    for (size_t i = 0; i < HN_COUNT(rows); ++i) {
      if (hn_lex_is_word(lexer, rows[i].name)) trait = rows[i].trait;
    }
    if (trait == 0) return hn_lex_expected(lexer, "a trait");
    term->trait |= trait;
    HN_TRY(hn_lex_next(lexer));
    HN_TRY(hn_lex_take_if(lexer, ',', &more));
  }
  return hn_lex_take(lexer, ']');
}

/* ---- expressions ---- */

static hone_status read_args(reader *r, hn_term *term) {
  hn_lexer *lexer = &r->lexer;
  int capacity = 0;
  bool more = true;
  term->has_args = true;
  HN_TRY(hn_lex_take(lexer, '('));
  while (more && !hn_lex_is(lexer, ')')) {
    hn_term *arg;
    HN_TRY(read_expr(r, true, &arg));
    HN_TRY(push(r, &term->args, &term->arg_count, &capacity, arg));
    if (arg->kind == HN_TERM_ELLIPSIS || arg->kind == HN_TERM_REST) break;
    HN_TRY(hn_lex_take_if(lexer, ',', &more));
  }
  return hn_lex_take(lexer, ')');
}

static hone_status read_op(reader *r, const char *op, hn_term **out) {
  HN_TRY(new_term(r, HN_TERM_OP, NULL, out));
  (*out)->op = op;
  if (hn_lex_is(&r->lexer, '[')) HN_TRY(strcmp(op, "any") == 0 ? read_traits(r, *out) : read_attrs(r, *out));
  return hn_lex_is(&r->lexer, '(') ? read_args(r, *out) : HONE_OK;
}

/* After "name:". */
static hone_status read_bound(reader *r, const char *name, hn_term **out) {
  hn_lexer *lexer = &r->lexer;
  if (hn_lex_is_word(lexer, "const")) {
    HN_TRY(hn_lex_next(lexer));
    HN_TRY(new_term(r, HN_TERM_NAME, name, out));
    (*out)->is_const = true;
    return HONE_OK;
  }
  const hn_token token = lexer->token;
  HN_TRY(read_expr(r, false, out));
  if (((*out)->kind == HN_TERM_OP && !(*out)->name) || (*out)->kind == HN_TERM_NUMBER) {
    (*out)->name = name;
    return HONE_OK;
  }
  lexer->token = token;
  return hn_lex_expected(lexer, "an operator or a number to bind");
}

static hone_status read_output(reader *r, const char *name, hn_term **out) {
  hn_lexer *lexer = &r->lexer;
  int64_t output = 0;
  HN_TRY(hn_lex_next(lexer));
  const hn_token token = lexer->token;
  HN_TRY(hn_lex_take_int(lexer, &output));
  if (output < 0 || output > OUTPUT_LIMIT) {
    lexer->token = token;
    return hn_lex_expected(lexer, "an output's number");
  }
  HN_TRY(new_term(r, HN_TERM_NAME, name, out));
  (*out)->output = (int)output;
  return HONE_OK;
}

static hone_status read_word(reader *r, bool in_args, hn_term **out) {
  hn_lexer *lexer = &r->lexer;
  const char *word = lexer->token.text;
  bool colon;
  HN_TRY(hn_lex_next(lexer));
  if (strcmp(word, "_") == 0) return new_term(r, HN_TERM_ABSENT, NULL, out);
  HN_TRY(hn_lex_take_if(lexer, ':', &colon));
  if (colon) return read_bound(r, word, out);
  if (hn_lex_is(lexer, '[') || hn_lex_is(lexer, '(')) return read_op(r, word, out);
  if (hn_lex_is(lexer, '.')) return read_output(r, word, out);
  if (!in_args || lexer->token.kind != HN_TOKEN_ELLIPSIS) return new_term(r, HN_TERM_NAME, word, out);
  HN_TRY(hn_lex_next(lexer));
  return new_term(r, HN_TERM_REST, word, out);
}

static hone_status read_expr(reader *r, bool in_args, hn_term **out) {
  hn_lexer *lexer = &r->lexer;
  if (r->depth == DEPTH_LIMIT) return hn_lex_expected(lexer, "nesting of at most 64");
  ++r->depth;
  if (lexer->token.kind == HN_TOKEN_NUMBER) {
    HN_TRY(new_term(r, HN_TERM_NUMBER, NULL, out));
    HN_TRY(hn_lex_take_real(lexer, &(*out)->number, NULL));
  } else if (in_args && lexer->token.kind == HN_TOKEN_ELLIPSIS) {
    HN_TRY(hn_lex_next(lexer));
    HN_TRY(new_term(r, HN_TERM_ELLIPSIS, NULL, out));
  } else if (lexer->token.kind == HN_TOKEN_WORD) {
    HN_TRY(read_word(r, in_args, out));
  } else {
    return hn_lex_expected(lexer, "an expression");
  }
  --r->depth;
  return HONE_OK;
}

static hone_status read_roots(reader *r, hn_roots *roots) {
  hn_lexer *lexer = &r->lexer;
  int capacity = 0;
  bool several, more;
  HN_TRY(hn_lex_take_if(lexer, '(', &several));
  do {
    hn_term *term;
    HN_TRY(read_expr(r, false, &term));
    HN_TRY(push(r, &roots->terms, &roots->count, &capacity, term));
    HN_TRY(hn_lex_take_if(lexer, ',', &more));
    if (more && !several) return hn_lex_expected(lexer, "parentheses around several results");
  } while (more);
  if (several) HN_TRY(hn_lex_take(lexer, ')'));
  return lexer->token.kind == HN_TOKEN_END ? HONE_OK : hn_lex_expected(lexer, "the end of the text");
}

hone_status hn_notation_parse(hn_arena *arena, hone_diagnostics *diag, const char *what, const char *text,
                              hn_roots *out) {
  reader r = {.arena = arena};
  hn_roots roots = {0};
  *out = roots;
  hone_status status = hn_lex_begin(&r.lexer, arena, diag, what, text, strlen(text), TOKEN_LIMIT);
  if (status == HONE_OK) status = read_roots(&r, &roots);
  hn_lex_end(&r.lexer);
  if (status == HONE_OK) *out = roots;
  return status;
}
