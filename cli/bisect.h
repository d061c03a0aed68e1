/* SPDX-License-Identifier: Apache-2.0 */
/* bisect.h - inside of hone bisect: builds with something taken back, what can be, and what was found. */
#ifndef CLI_BISECT_H
#define CLI_BISECT_H

#include "search.h"
#include "values.h"

enum { CLI_MOST_SUSPECTS = 4096, CLI_MOST_ADDED = 16384 };

typedef enum cli_bisect_kind {
  CLI_BISECT_NONE,
  CLI_BISECT_TYPES,
  CLI_BISECT_TACTICS,
  CLI_BISECT_PASSES
} cli_bisect_kind;

/* Something that can be taken back: a layer's type, a step's tactic, a pass or a rule. */
typedef struct cli_suspect {
  char *name, *op, *tactic;
  char **origins; /* of a step */
  int origin_count;
} cli_suspect;

typedef struct cli_bisect {
  cli_tool *cli;
  cli_model model;
  hone_graph *graph; /* in floats; the model's is in 8 bits while a build with --int8 is tried */
  cli_values inputs, right;
  cli_suspect *items;
  int item_count;
  double worst; /* of the last build: the largest relative L2 of an output */
  int builds;
  cli_bisect_kind back;  /* what the next build takes back: */
  const bool *taken;     /* of the items; NULL: all of that kind */
  const char *tactic;    /* or this tactic for one step: "STEP=PATTERN" */
  cli_bisect_kind asked; /* by the search */
  hone_pass_options passes;
  const char **texts; /* what the options point to */
  hone_layer_type *types;
  char **made;
  int made_count;
} cli_bisect;

typedef struct cli_finding {
  cli_bisect_kind what;
  bool *in; /* of the items */
  bool fusion;
  char tactic[1200]; /* "STEP=PATTERN", with which the outputs are right; "": the reference alone */
  double before;     /* the largest relative L2 as it was asked for */
  bool built;        /* else the build fails so */
} cli_finding;

/* ---- one build (bisect_build.c) ---- */
/* Builds with something taken back: *out_right, are the outputs those of the reference? A build that fails is not. Its
 * engine stays in the model until the next one. Exit code. */
int cli_bisect_try_build(cli_bisect *b, cli_bisect_kind back, const bool *taken, bool *out_right);
void cli_bisect_adjust(void *bisect, hone_build_options *options); /* cli_model.adjust */
int cli_bisect_find_layers(cli_bisect *b); /* suspects: those that --int8 puts into 8 bits; exit code */
/* A choice "NODE=TACTIC" of the user's for a step that is taken back gives way. */
bool cli_bisect_gives_way(const cli_bisect *b, const char *choice, const bool *taken);

/* ---- what can be taken back (bisect_suspects.c) ---- */
void cli_bisect_drop_items(cli_bisect *b);
cli_suspect *cli_bisect_add_item(cli_bisect *b, const char *name); /* NULL: it is there, or there is no room */
int cli_bisect_find_items(cli_bisect *b, cli_bisect_kind what);    /* of the engine that was built last; exit code */
int cli_bisect_find_rules(cli_bisect *b, char *const *passes, int count); /* the rules of these passes */

/* ---- what is said (bisect_tell.c) ---- */
void cli_bisect_write_command(const cli_bisect *b, const cli_finding *f, char *out, size_t room);
void cli_bisect_tell_text(const cli_bisect *b, const cli_finding *f, const char *command);
void cli_bisect_tell_json(const cli_bisect *b, const cli_finding *f, const char *command);

#endif
