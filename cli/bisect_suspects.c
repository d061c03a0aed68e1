/* SPDX-License-Identifier: Apache-2.0 */
/* bisect_suspects.c - what hone bisect can take back: steps of an engine, layers of --int8, passes and their rules.
 */
#include "bisect.h"
#include <stdlib.h>
#include <string.h>

/* ---- what can be taken back ---- */

void cli_bisect_drop_items(cli_bisect *b) {
  for (int i = 0; i < b->item_count; ++i) {
    cli_suspect *it = &b->items[i];
    for (int k = 0; k < it->origin_count; ++k) free(it->origins[k]);
    free(it->origins);
    free(it->name);
    free(it->op);
    free(it->tactic);
  }
  b->item_count = 0;
}

cli_suspect *cli_bisect_add_item(cli_bisect *b, const char *name) {
  for (int i = 0; i < b->item_count; ++i)
    if (strcmp(b->items[i].name, name) == 0) return NULL;
  char *copy = b->item_count < CLI_MOST_SUSPECTS ? strdup(name) : NULL;
  if (!copy) return NULL;
  b->items[b->item_count] = (cli_suspect){.name = copy};
  return &b->items[b->item_count++];
}

/* The steps of the engine that a kernel runs. */
static void see_step(void *user, const hone_tap *tap) {
  cli_bisect *b = user;
  cli_suspect *it = tap->step && tap->tactic ? cli_bisect_add_item(b, tap->step) : NULL;
  if (!it) return;
  it->op = strdup(tap->op ? tap->op : "");
  it->tactic = strdup(tap->tactic);
  it->origins = calloc((size_t)tap->origin_count + 1, sizeof *it->origins);
  for (int k = 0; it->origins && k < tap->origin_count; ++k)
    if ((it->origins[it->origin_count] = strdup(tap->origins[k])) != NULL) ++it->origin_count;
}

/* Passes, or the rules of some. */
typedef struct listing {
  cli_bisect *b;
  char *const *of; /* the passes whose rules are wanted; NULL: passes */
  int of_count;
} listing;

/* A line: "pass\twhat it does", or behind it "pass/rule\twhy". A pass that cannot be left out says so. */
static void see_line(const listing *l, const char *line) {
  char name[256];
  const size_t length = strcspn(line, "\t"), pass = strcspn(line, "/\t");
  if (strstr(line, "always on") || length >= sizeof name) return;
  (void)snprintf(name, sizeof name, "%.*s", (int)pass, line);
  if (!l->of) {
    if (pass == length) (void)cli_bisect_add_item(l->b, name);
    return;
  }
  bool wanted = false;
  for (int i = 0; i < l->of_count; ++i) wanted = wanted || strcmp(l->of[i], name) == 0;
  (void)snprintf(name, sizeof name, "%.*s", (int)(length - pass - (pass < length)), line + pass + (pass < length));
  if (wanted && pass < length) (void)cli_bisect_add_item(l->b, name);
}

static bool see_passes(void *user, const char *text, size_t length) {
  char line[1024];
  for (const char *at = text, *end = text + length; at < end;) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    const size_t bytes = (size_t)((newline ? newline : end) - at);
    (void)snprintf(line, sizeof line, "%.*s", (int)bytes, at);
    see_line(user, line);
    at += bytes + 1;
  }
  return true;
}

int cli_bisect_find_items(cli_bisect *b, cli_bisect_kind what) {
  cli_bisect_drop_items(b);
  hone_status status = HONE_OK;
  if (what == CLI_BISECT_PASSES)
    status = hone_pass_list(see_passes, &(listing){.b = b});
  else if (what == CLI_BISECT_TYPES && cli_has(b->cli, "int8"))
    return cli_bisect_find_layers(b);
  else
    status = hone_engine_each_tap(b->model.engine, see_step, b, hone_context_diagnostics(b->cli->context));
  return status == HONE_OK ? CLI_EXIT_OK : cli_fail(b->cli, status);
}

int cli_bisect_find_rules(cli_bisect *b, char *const *passes, int count) {
  listing l = {.b = b, .of = passes, .of_count = count};
  cli_bisect_drop_items(b);
  const hone_status status = hone_pass_list(see_passes, &l);
  return status == HONE_OK ? CLI_EXIT_OK : cli_fail(b->cli, status);
}
