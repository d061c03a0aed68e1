/* SPDX-License-Identifier: Apache-2.0 */
/* lex.c - tokens of graph text and notation. Reads only within [begin, end), which need not be terminated. */
#include "ir/lex.h"
#include "base/letters.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_name(char c) { return hn_is_letter(c) || hn_is_digit(c) || c == '.' || c == '/' || c == '-'; }

/* The character `ahead` places on, 0 at the end (a zero byte in the text is no token, so nothing confuses them). */
static char peek(const hn_lexer *lexer, size_t ahead) {
  return (size_t)(lexer->end - lexer->at) > ahead ? lexer->at[ahead] : 0;
}

static void find_place(const hn_lexer *lexer, const char *from, int *out_line, int *out_column) {
  *out_line = *out_column = 1;
  for (const char *c = lexer->begin; c < from; ++c) {
    *out_column = *c == '\n' ? 1 : *out_column + 1;
    *out_line += *c == '\n';
  }
}

static hone_status fail_at(const hn_lexer *lexer, const char *from, const char *problem, const char *detail) {
  int line, column;
  find_place(lexer, from, &line, &column);
  return HN_FAIL(lexer->diag, HONE_MALFORMED, "%s: line %d, column %d: %s%s", lexer->what, line, column, problem,
                 detail);
}

hone_status hn_lex_expected(const hn_lexer *lexer, const char *expected) {
  return fail_at(lexer, lexer->token.from, "expected ", expected);
}

hone_status hn_lex_note(const hn_lexer *lexer, hone_status status, const char *from) {
  int line, column;
  find_place(lexer, from, &line, &column);
  return hone_note(lexer->diag, status, "%s: line %d, column %d", lexer->what, line, column);
}

static void skip_space(hn_lexer *lexer) {
  while (lexer->at < lexer->end) {
    const char c = *lexer->at;
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++lexer->at;
    } else if (c == '/' && peek(lexer, 1) == '/') {
      while (lexer->at < lexer->end && *lexer->at != '\n') ++lexer->at;
    } else {
      return;
    }
  }
}

/* The token [token.from, at), less the first `skip` characters, as terminated text. */
static hone_status finish(hn_lexer *lexer, hn_token_kind kind, size_t skip) {
  hn_token *token = &lexer->token;
  const size_t length = (size_t)(lexer->at - token->from) - skip;
  if (length > lexer->string_limit) return fail_at(lexer, token->from, "a token longer than the limit", "");
  char *text = hn_arena_alloc(lexer->arena, length + 1, 1);
  if (!text) return HN_FAIL_MEMORY(lexer->diag);
  memcpy(text, token->from + skip, length);
  text[length] = 0;
  token->kind = kind;
  token->text = text;
  token->length = length;
  return HONE_OK;
}

/* One escape after the backslash; false when there is none of that kind. */
static bool unescape(hn_lexer *lexer, char *out) {
  static const char from[] = "\"\\/nt", to[] = "\"\\/\n\t";
  const char c = peek(lexer, 0);
  const char *at = c ? strchr(from, c) : NULL;
  if (at) {
    *out = to[at - from];
    ++lexer->at;
    return true;
  }
  if (c != 'u' || peek(lexer, 1) != '0' || peek(lexer, 2) != '0') return false;
  const int high = hn_hex_digit(peek(lexer, 3)), low = hn_hex_digit(peek(lexer, 4));
  if (high < 0 || low < 0) return false;
  *out = (char)(unsigned char)(high * 16 + low);
  lexer->at += 5;
  return true;
}

/* At the opening quote. */
static hone_status read_string(hn_lexer *lexer, hn_token_kind kind) {
  const char *open = lexer->at++;
  const char *close = lexer->at; /* the raw length bounds the decoded one */
  while (close < lexer->end && *close != '"') close += *close == '\\' && lexer->end - close > 1 ? 2 : 1;
  if (close >= lexer->end) return fail_at(lexer, open, "a quote that is not closed", "");
  if ((size_t)(close - lexer->at) > lexer->string_limit)
    return fail_at(lexer, open, "a string longer than the limit", "");
  char *text = hn_arena_alloc(lexer->arena, (size_t)(close - lexer->at) + 1, 1);
  if (!text) return HN_FAIL_MEMORY(lexer->diag);
  size_t length = 0;
  while (lexer->at < close) {
    char c = *lexer->at++;
    if (c == '\\' && !unescape(lexer, &c)) return fail_at(lexer, lexer->at, "no such escape", "");
    text[length++] = c;
  }
  lexer->at = close + 1;
  text[length] = 0;
  lexer->token.kind = kind;
  lexer->token.text = text;
  lexer->token.length = length;
  return HONE_OK;
}

static hone_status read_value(hn_lexer *lexer) {
  ++lexer->at;
  if (peek(lexer, 0) == '"') {
    HN_TRY(read_string(lexer, HN_TOKEN_VALUE));
  } else {
    while (is_name(peek(lexer, 0))) ++lexer->at;
    HN_TRY(finish(lexer, HN_TOKEN_VALUE, 1));
  }
  if (lexer->token.length == 0) return fail_at(lexer, lexer->token.from, "a value without a name", "");
  if (strlen(lexer->token.text) != lexer->token.length)
    return fail_at(lexer, lexer->token.from, "a name with a zero byte", "");
  return HONE_OK;
}

/* A sign belongs to a number only after an exponent's letter. "1..." is a number before an ellipsis. */
static hone_status read_number(hn_lexer *lexer) {
  if (peek(lexer, 0) == '-') ++lexer->at;
  for (;;) {
    const char c = peek(lexer, 0), before = lexer->at > lexer->token.from ? lexer->at[-1] : 0;
    const bool sign = (c == '-' || c == '+') && (before == 'e' || before == 'E');
    const bool point = c == '.' && hn_is_digit(peek(lexer, 1));
    if (!hn_is_digit(c) && !hn_is_letter(c) && !sign && !point) break;
    ++lexer->at;
  }
  return finish(lexer, HN_TOKEN_NUMBER, 0);
}

static bool begins_number(const hn_lexer *lexer) {
  if (hn_is_digit(peek(lexer, 0))) return true;
  return peek(lexer, 0) == '-' && (hn_is_digit(peek(lexer, 1)) || peek(lexer, 1) == 'i' || peek(lexer, 1) == 'n');
}

static hone_status read_word(hn_lexer *lexer) {
  while (hn_is_letter(peek(lexer, 0)) || hn_is_digit(peek(lexer, 0))) ++lexer->at;
  HN_TRY(finish(lexer, HN_TOKEN_WORD, 0));
  if (hn_lex_is_word(lexer, "inf") || hn_lex_is_word(lexer, "nan")) lexer->token.kind = HN_TOKEN_NUMBER;
  return HONE_OK;
}

hone_status hn_lex_next(hn_lexer *lexer) {
  skip_space(lexer);
  lexer->token = (hn_token){.kind = HN_TOKEN_END, .from = lexer->at};
  if (lexer->at >= lexer->end) return HONE_OK;
  const char c = *lexer->at;
  if (c == '"') return read_string(lexer, HN_TOKEN_STRING);
  if (c == '%') return read_value(lexer);
  if (begins_number(lexer)) return read_number(lexer);
  if (hn_is_letter(c)) return read_word(lexer);
  if (c == '#') {
    ++lexer->at;
    while (hn_hex_digit(peek(lexer, 0)) >= 0) ++lexer->at;
    return finish(lexer, HN_TOKEN_BITS, 1);
  }
  if (c == '.' && peek(lexer, 1) == '.' && peek(lexer, 2) == '.') {
    lexer->at += 3;
    lexer->token.kind = HN_TOKEN_ELLIPSIS;
    return HONE_OK;
  }
  if (!c || !strchr("(){}[]<>=:,@.$*+-", c))
    return fail_at(lexer, lexer->at, "a character that means nothing here", "");
  ++lexer->at;
  lexer->token.kind = HN_TOKEN_MARK;
  lexer->token.mark = c;
  return HONE_OK;
}

hone_status hn_lex_begin(hn_lexer *lexer, hn_arena *arena, hone_diagnostics *diag, const char *what, const char *text,
                         size_t length, size_t string_limit) {
  *lexer = (hn_lexer){.arena = arena,
                      .diag = diag,
                      .what = what,
                      .begin = text,
                      .at = text,
                      .end = text + length,
                      .string_limit = string_limit};
  lexer->plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (!lexer->plain) return HN_FAIL_MEMORY(diag);
  return hn_lex_next(lexer);
}

void hn_lex_end(hn_lexer *lexer) {
  if (lexer->plain) freelocale(lexer->plain);
  lexer->plain = (locale_t)0;
}

bool hn_lex_is(const hn_lexer *lexer, char mark) {
  return lexer->token.kind == HN_TOKEN_MARK && lexer->token.mark == mark;
}

bool hn_lex_is_word(const hn_lexer *lexer, const char *word) {
  return lexer->token.kind == HN_TOKEN_WORD && strcmp(lexer->token.text, word) == 0;
}

hone_status hn_lex_take(hn_lexer *lexer, char mark) {
  const char expected[4] = {'\'', mark, '\'', 0};
  return hn_lex_is(lexer, mark) ? hn_lex_next(lexer) : hn_lex_expected(lexer, expected);
}

hone_status hn_lex_take_if(hn_lexer *lexer, char mark, bool *out_taken) {
  *out_taken = hn_lex_is(lexer, mark);
  return *out_taken ? hn_lex_next(lexer) : HONE_OK;
}

hone_status hn_lex_take_text(hn_lexer *lexer, hn_token_kind kind, const char *expected, const char **out) {
  if (lexer->token.kind != kind) return hn_lex_expected(lexer, expected);
  *out = lexer->token.text;
  return hn_lex_next(lexer);
}

bool hn_lex_is_whole(const hn_lexer *lexer) {
  if (lexer->token.kind != HN_TOKEN_NUMBER) return false;
  const char *text = lexer->token.text + (lexer->token.text[0] == '-');
  return *text && text[strspn(text, "0123456789")] == 0;
}

hone_status hn_lex_take_int(hn_lexer *lexer, int64_t *out) {
  if (!hn_lex_is_whole(lexer)) return hn_lex_expected(lexer, "a whole number");
  errno = 0;
  const long long value = strtoll(lexer->token.text, NULL, 10);
  if (errno != 0) return hn_lex_expected(lexer, "a whole number of 64 bits");
  *out = value;
  return hn_lex_next(lexer);
}

hone_status hn_lex_take_u64(hn_lexer *lexer, uint64_t *out) {
  if (!hn_lex_is_whole(lexer) || lexer->token.text[0] == '-')
    return hn_lex_expected(lexer, "a whole number that is not negative");
  errno = 0;
  const unsigned long long value = strtoull(lexer->token.text, NULL, 10);
  if (errno != 0) return hn_lex_expected(lexer, "a whole number of 64 bits");
  *out = value;
  return hn_lex_next(lexer);
}

hone_status hn_lex_take_real(hn_lexer *lexer, double *out, float *out_float) {
  if (lexer->token.kind != HN_TOKEN_NUMBER) return hn_lex_expected(lexer, "a number");
  char *end;
  *out = strtod_l(lexer->token.text, &end, lexer->plain);
  if (end == lexer->token.text || *end) return hn_lex_expected(lexer, "a number");
  if (out_float) *out_float = strtof_l(lexer->token.text, NULL, lexer->plain);
  return hn_lex_next(lexer);
}

hone_status hn_lex_take_bits(hn_lexer *lexer, uint64_t *out, int out_count) {
  const hn_token *token = &lexer->token;
  if (token->kind != HN_TOKEN_BITS || token->length == 0 || token->length > 16 * (size_t)out_count)
    return hn_lex_expected(lexer, "# and hexadecimal digits");
  for (int i = 0; i < out_count; ++i) out[i] = 0;
  for (size_t i = 0; i < token->length; ++i) {
    const size_t place = (token->length - 1 - i) / 16; /* from the least significant word */
    uint64_t *word = &out[(size_t)out_count - 1 - place];
    *word = *word << 4 | (uint64_t)hn_hex_digit(token->text[i]);
  }
  return hn_lex_next(lexer);
}
