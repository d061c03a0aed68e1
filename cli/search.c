/* SPDX-License-Identifier: Apache-2.0 */
/* search.c - delta debugging: chunks of the set are left out, larger ones first, until none of its things can be. Sets
 * are kept as flags in the order of the things, so that neighbours (layers that follow each other) go together. */
#include "search.h"
#include <stdlib.h>
#include <string.h>

typedef struct halves {
  cli_search *search;
  bool *in, *trial;
  int count;
} halves;

static bool is_over(const cli_search *search) {
  return cli_is_interrupted() || (search->most > 0 && search->asked >= search->most);
}

static int size_of(const bool *in, int count) {
  int size = 0;
  for (int i = 0; i < count; ++i) size += in[i];
  return size;
}

/* The members number first to last of the set alone (keep), or all the others. */
static void choose(const halves *h, int first, int last, bool keep) {
  int at = 0;
  for (int i = 0; i < h->count; ++i) {
    const bool inside = h->in[i] && at >= first && at < last;
    h->trial[i] = h->in[i] && inside == keep;
    at += h->in[i];
  }
}

static int ask(halves *h) {
  cli_search *search = h->search;
  const int code = search->ask(search->user, h->trial, h->count);
  ++search->asked;
  if (code == CLI_SEARCH_HOLDS) {
    memcpy(h->in, h->trial, (size_t)h->count * sizeof *h->in);
    search->left = size_of(h->in, h->count);
  }
  char what[64];
  (void)snprintf(what, sizeof what, "%d of %d %s left", search->left, search->count, search->unit);
  cli_progress_search(search->cli, what, search->count - search->left, search->count);
  return code;
}

/* One turn: of two chunks one alone, of more all but one, since one alone seldom holds then. Did a smaller set hold?
 * *code: what ended the search. */
static bool turn(halves *h, int chunks, int *code) {
  const int size = h->search->left;
  for (int c = chunks - 1; c >= 0; --c) {
    if (is_over(h->search)) return false;
    const int first = (int)((int64_t)size * c / chunks), last = (int)((int64_t)size * (c + 1) / chunks);
    choose(h, first, last, chunks == 2);
    *code = ask(h);
    if (*code == CLI_SEARCH_HOLDS) return true;
    if (*code != CLI_SEARCH_FAILS) return false;
  }
  return false;
}

int cli_search_least(cli_search *search, bool *in, int count) {
  halves h = {.search = search, .in = in, .count = count, .trial = calloc((size_t)count + 1, sizeof(bool))};
  if (!h.trial) {
    cli_error("out of memory");
    return CLI_EXIT_NO_MEMORY;
  }
  search->count = count;
  search->left = size_of(in, count);
  int code = CLI_SEARCH_FAILS;
  for (int chunks = 2; search->left > 1 && !is_over(search);) {
    if (chunks > search->left) chunks = search->left;
    const bool smaller = turn(&h, chunks, &code);
    if (code != CLI_SEARCH_HOLDS && code != CLI_SEARCH_FAILS) break;
    if (smaller)
      chunks = chunks > 2 ? chunks - 1 : 2;
    else if (chunks >= search->left)
      break;
    else
      chunks *= 2;
  }
  cli_progress_end(search->cli);
  free(h.trial);
  return code == CLI_SEARCH_HOLDS || code == CLI_SEARCH_FAILS ? CLI_EXIT_OK : code;
}
