/* SPDX-License-Identifier: Apache-2.0 */
/* words.h - the words of a script's line: names as they are, or in quotes where they hold spaces or signs. */
#ifndef HN_EDIT_WORDS_H
#define HN_EDIT_WORDS_H

#include "edit/model.h"

enum { HN_WORD_BYTES = 1024 };
typedef struct hn_words {
  hone_model *model;
  const char *at;
  int line;
  bool quoted;              /* was the last word? */
  char word[HN_WORD_BYTES]; /* the last one */
} hn_words;

/* Signs are words by themselves: ( ) , = and ->. "": the line's end. INVALID: a quote that does not end. */
hone_status hn_words_next(hn_words *words);
bool hn_words_ahead(hn_words *words, const char *wanted); /* takes it when it is next and not quoted */
hone_status hn_words_name(hn_words *words, const char *what, const char **out); /* in the arena */
hone_status hn_words_type(hn_words *words, const char **out);                   /* up to a space outside of brackets */
hone_status hn_words_end(hn_words *words);                                      /* INVALID names what is too much */
/* NAME, NAME ... until another sign or the end; at least `least`. */
hone_status hn_words_list(hn_words *words, const char *what, int least, const char **out, int room, int *out_count);
hone_status hn_words_term(hn_words *words, hn_edit_term **out);
hone_status hn_words_fail(hn_words *words, const char *format, ...) HONE_PRINTF(2, 3);

#endif
