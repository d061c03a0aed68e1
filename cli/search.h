/* SPDX-License-Identifier: Apache-2.0 */
/* search.h - the smallest set for which something still holds, found by asking: what bisect and reduce share.
 * Delta debugging (Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input, IEEE TSE 28, 2002). */
#ifndef CLI_SEARCH_H
#define CLI_SEARCH_H

#include "cli.h"

/* What is asked about a set; a code other than these two ends the search. */
enum { CLI_SEARCH_HOLDS = -1, CLI_SEARCH_FAILS = -2 };
/* in: a flag for each of count things. */
typedef int (*cli_search_ask)(void *user, const bool *in, int count);

typedef struct cli_search {
  cli_tool *cli;
  cli_search_ask ask;
  void *user;
  const char *unit; /* "nodes", for the progress */
  int asked, most;  /* questions so far; the most that are asked, 0: any number */
  int count, left;  /* of things; in the smallest set so far */
} cli_search;

/* `in` holds a set for which ask() holds (it is not asked again) and gets smaller ones: at the end none of its things
 * can be left out alone. Once interrupted, or out of questions, in is the best so far. Exit code: OK, or what ask()
 * ended with. */
int cli_search_least(cli_search *search, bool *in, int count);

#endif
