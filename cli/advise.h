/* SPDX-License-Identifier: Apache-2.0 */
/* advise.h - inside of hone advise: engines that are measured in turns. */
#ifndef CLI_ADVISE_H
#define CLI_ADVISE_H

#include "cli.h"

enum { ADVISE_SESSIONS = 3, ADVISE_BLOCKS = 24, ADVISE_RUNS = 64, ADVISE_MOST_STREAMS = 256 };

typedef struct advise_stream advise_stream; /* advise_streams.c */

/* An engine under some options, with what it runs on. */
typedef struct contender {
  hone_engine *engine;
  hone_device *device;
  hone_session *sessions[ADVISE_SESSIONS]; /* several, since where a session's memory lies moves its times */
  cli_given given[CLI_MAX_GIVEN];          /* the tool's options that it was built with */
  int given_count;
  double run_ns;         /* the median, when it was measured last; of an item */
  int64_t items;         /* that a run answers, where that counts: --throughput */
  int stream_count;      /* runs that are under way at a time */
  advise_stream *others; /* all of them but the first, which is the tool's own thread; NULL: none */
  hone_graph *graph;     /* that it was built from; borrowed. NULL: the model's */
} contender;

/* ---- a remedy's flags as the tool's options (advise_flags.c) ---- */
enum { ADVISE_TRIES = 32, ADVISE_FLAGS = 1024 /* bytes of one remedy's */ };
extern const char advise_without[]; /* "without --": an option that is taken back */

/* What was tried, so that nothing is built twice. */
typedef struct tries {
  char flags[ADVISE_TRIES][ADVISE_FLAGS]; /* as they were */
  char words[ADVISE_TRIES][ADVISE_FLAGS]; /* cut into words, which the tool's options point to */
  int count;
} tries;
bool tries_has(const tries *t, const char *flags);
char *tries_add(tries *t, const char *flags); /* where there is room; its words */
/* Can the tool build the remedy? What answers several requests at a time under --throughput, 8 bits with samples. */
bool advise_can_build(const cli_tool *cli, const hone_advice_info *info);
/* The flags as if they stood behind those that were given: the last one of a name counts; the model's shapes follow.
 * words: room for ADVISE_FLAGS bytes, which must live as long as the options do. Exit code. */
int advise_give(cli_tool *cli, cli_model *model, const char *flags, char *words);
int advise_give_back(cli_tool *cli, cli_model *model, const contender *c); /* those of the contender again */
/* Do times of the layers that the remedy would change tell what it saves? */
bool advise_can_expect(const cli_tool *cli, const hone_advice_info *info);
/* Times the layers that the remedy would change, and predicts by them; remedies are in another order then. The options
 * are the contender's again afterwards. Exit code. */
int advise_expect(cli_tool *cli, cli_model *model, const contender *c, hone_advice *advice, int index,
                  const char *flags);
int advise_expect_all(cli_tool *cli, cli_model *model, const contender *c, hone_advice *advice);

/* Sessions of the engine, filled and warm. Exit code; closing is right after every outcome. The model's engine becomes
 * the contender's, borrowed. */
int contender_open(cli_tool *cli, cli_model *model, contender *c);
void contender_close(contender *c);

/* Profiles the contender, an engine of the model, and asks for advice about it. ledger NULL: the engine's own. other:
 * a device that the model could run on; NULL: none. Exit code. */
int contender_advise(cli_tool *cli, cli_model *model, const char *ledger, const hone_device *other, contender *c,
                     hone_advice **out);

/* Runs both in turns, without profiling, each beside its other streams. Exit code. */
int contenders_compare(cli_tool *cli, contender *a, contender *b, hone_times_difference *out);

/* ---- advise_streams.c: other requests of a contender, on devices and in threads of their own ---- */
int advise_streams_open(cli_tool *cli, const cli_model *model, contender *c); /* --streams; exit code */
void advise_streams_close(contender *c);
/* From begin to end all of them run without a pause; begin returns when each has run once. Exit codes. */
int advise_streams_begin(contender *c);
int advise_streams_end(cli_tool *cli, contender *c);

/* The largest relative L2 of an output of b from that of a, on the same inputs; -1: nothing can be compared. */
int contenders_error(cli_tool *cli, const contender *a, const contender *b, double *out);

#endif
