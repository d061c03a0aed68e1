/* SPDX-License-Identifier: Apache-2.0 */
/* lex.h - the tokens that graph text and the notation share. The text may hold any bytes. */
#ifndef HN_IR_LEX_H
#define HN_IR_LEX_H

#include "base/diag.h"
#include "base/memory.h"
#include <locale.h>
#include <stdint.h>

typedef enum hn_token_kind {
  HN_TOKEN_END,
  HN_TOKEN_WORD,     /* letters, digits, _ ; not beginning with a digit */
  HN_TOKEN_NUMBER,   /* with its sign; inf and nan too */
  HN_TOKEN_STRING,   /* "..." decoded */
  HN_TOKEN_VALUE,    /* %name or %"name", decoded */
  HN_TOKEN_BITS,     /* # and hexadecimal digits, without the # */
  HN_TOKEN_ELLIPSIS, /* ... */
  HN_TOKEN_MARK      /* one other character */
} hn_token_kind;

typedef struct hn_token {
  hn_token_kind kind;
  char mark;
  const char *text; /* in the arena, terminated; NULL for END, MARK and ELLIPSIS */
  size_t length;
  const char *from; /* where it begins in the source */
} hn_token;

typedef struct hn_lexer {
  hn_arena *arena;
  hone_diagnostics *diag;
  const char *what; /* named in messages */
  const char *begin, *at, *end;
  size_t string_limit; /* longest token */
  hn_token token;      /* the current one */
  locale_t plain;      /* the "C" locale, as the process may use a decimal comma */
} hn_lexer;

/* Reads the first token. hn_lex_end is due whatever it returns. */
hone_status hn_lex_begin(hn_lexer *lexer, hn_arena *arena, hone_diagnostics *diag, const char *what, const char *text,
                         size_t length, size_t string_limit);
void hn_lex_end(hn_lexer *lexer);
hone_status hn_lex_next(hn_lexer *lexer);

/* MALFORMED: "what: line 3, column 7: expected ...". At the current token. */
hone_status hn_lex_expected(const hn_lexer *lexer, const char *expected);
/* A line that says where a failure of another function happened. Returns status. */
hone_status hn_lex_note(const hn_lexer *lexer, hone_status status, const char *from);

bool hn_lex_is(const hn_lexer *lexer, char mark);
bool hn_lex_is_word(const hn_lexer *lexer, const char *word);
hone_status hn_lex_take(hn_lexer *lexer, char mark); /* expects it and goes on */
hone_status hn_lex_take_if(hn_lexer *lexer, char mark, bool *out_taken);
hone_status hn_lex_take_text(hn_lexer *lexer, hn_token_kind kind, const char *expected, const char **out);
hone_status hn_lex_take_int(hn_lexer *lexer, int64_t *out);                   /* decimal, in int64_t's range */
hone_status hn_lex_take_u64(hn_lexer *lexer, uint64_t *out);                  /* decimal, in uint64_t's range */
hone_status hn_lex_take_real(hn_lexer *lexer, double *out, float *out_float); /* out_float: rounded once, or NULL */
hone_status hn_lex_take_bits(hn_lexer *lexer, uint64_t *out,
                             int out_count); /* 16 digits each, most significant first */
/* A number token is whole: digits with a sign and nothing else. */
bool hn_lex_is_whole(const hn_lexer *lexer);

#endif
