/* SPDX-License-Identifier: Apache-2.0 */
/* advise_flags.c - hone advise: a remedy's flags as the tool's options, and what a build with them may be expected to
 * take. */
#include "advise.h"
#include <string.h>

enum { MOST_WORDS = 32 };

const char advise_without[] = "without --";

bool tries_has(const tries *t, const char *flags) {
  for (int i = 0; i < t->count; ++i)
    if (strcmp(t->flags[i], flags) == 0) return true;
  return false;
}

char *tries_add(tries *t, const char *flags) {
  (void)snprintf(t->flags[t->count], ADVISE_FLAGS, "%s", flags);
  return t->words[t->count++];
}

bool advise_can_build(const cli_tool *cli, const hone_advice_info *info) {
  if (!info->flags || info->removed || strlen(info->flags) >= ADVISE_FLAGS) return false;
  const bool shared = strcmp(info->kind, "batch") == 0 || strcmp(info->kind, "streams") == 0;
  return info->applies_itself || (shared && cli_has(cli, "throughput")) || strcmp(info->flags, "--int8") == 0;
}

/* "without --NAME": as if it had not been given. */
static void take_back(cli_tool *cli, const char *name) {
  int kept = 0;
  for (int i = 0; i < cli->given_count; ++i)
    if (strcmp(cli->given[i].option->name, name) != 0) cli->given[kept++] = cli->given[i];
  cli->given_count = kept;
}

/* The model's shapes are those of the options that are given now. */
static int read_shapes(cli_tool *cli, cli_model *model) {
  static hone_port_info ports[CLI_MAX_INPUTS]; /* large for a stack */
  if (!model->graph) return CLI_EXIT_OK;
  const int count = cli_ports_of_graph(model->graph, ports, CLI_MAX_INPUTS);
  return cli_read_shapes(cli, "shapes", ports, count, model->shapes, &model->shape_count);
}

int advise_give(cli_tool *cli, cli_model *model, const char *flags, char *words) {
  char *list[MOST_WORDS], *text = words, *rest = NULL;
  int count = 0;
  (void)snprintf(text, ADVISE_FLAGS, "%s", flags);
  const bool takes_back = strncmp(flags, advise_without, strlen(advise_without)) == 0;
  if (takes_back) text += strlen("without ");
  for (char *word = strtok_r(text, " ", &rest); word && count < MOST_WORDS; word = strtok_r(NULL, " ", &rest))
    list[count++] = word;
  for (int i = 0; takes_back && i < count; ++i) take_back(cli, list[i] + strlen("--"));
  const int code = takes_back ? CLI_EXIT_OK : cli_parse(cli, count, list);
  return code == CLI_EXIT_OK ? read_shapes(cli, model) : code;
}

int advise_give_back(cli_tool *cli, cli_model *model, const contender *c) {
  memcpy(cli->given, c->given, sizeof cli->given);
  cli->given_count = c->given_count;
  return read_shapes(cli, model);
}

/* What is timed for a remedy, its build needs not time again; without builds it is time that is spent for numbers. */
static int64_t most_ms(const cli_tool *cli) { return cli_has(cli, "apply") ? 20000 : 5000; }

/* On the contender's own device, where the flags ask for no other. */
static int expect_on(cli_tool *cli, cli_model *model, const contender *c, const char *flags, hone_expectation *out,
                     hone_status *out_status) {
  if (!strstr(flags, "--threads") && !strstr(flags, "--device"))
    return cli_expect_engine(cli, model, c->device, c->engine, most_ms(cli), out, out_status);
  hone_device *before = cli->device;
  cli->device = NULL;
  int code = cli_open_device(cli);
  if (code == CLI_EXIT_OK) code = cli_measure_device(cli);
  if (code == CLI_EXIT_OK) code = cli_expect_engine(cli, model, cli->device, c->engine, most_ms(cli), out, out_status);
  hone_device_close(cli->device);
  cli->device = before;
  return code;
}

bool advise_can_expect(const cli_tool *cli, const hone_advice_info *info) {
  const bool untimed = cli_int(cli, "level", 3) == 0; /* nothing to hold other times against */
  return info->expectable && advise_can_build(cli, info) && (!untimed || strcmp(info->name, "level") == 0);
}

/* A build that fails is found out when it is tried: the profile's prediction stands until then. */
int advise_expect(cli_tool *cli, cli_model *model, const contender *c, hone_advice *advice, int index,
                  const char *flags) {
  char words[ADVISE_FLAGS];
  hone_expectation expectation = HONE_SIZED(hone_expectation);
  hone_status status = HONE_OK;
  bool used;
  int code = advise_give(cli, model, flags, words);
  if (code == CLI_EXIT_OK) code = expect_on(cli, model, c, flags, &expectation, &status);
  const int back = advise_give_back(cli, model, c);
  if (code != CLI_EXIT_OK || back != CLI_EXIT_OK) return code != CLI_EXIT_OK ? code : back;
  if (status == HONE_CANCELLED || status == HONE_NO_MEMORY || status == HONE_LIMIT) return cli_fail(cli, status);
  if (status == HONE_OK)
    status = hone_advice_expect(advice, index, &expectation, &used, hone_context_diagnostics(cli->context));
  hone_context_clear_messages(cli->context);
  return CLI_EXIT_OK;
}

int advise_expect_all(cli_tool *cli, cli_model *model, const contender *c, hone_advice *advice) {
  static tries looked; /* large for a stack */
  hone_advice_info info = HONE_SIZED(hone_advice_info);
  looked.count = 0;
  for (int i = 0; i < hone_advice_count(advice) && looked.count < ADVISE_TRIES; ++i) {
    if (hone_advice_item(advice, i, &info) != HONE_OK || !advise_can_expect(cli, &info) ||
        tries_has(&looked, info.flags))
      continue;
    tries_add(&looked, info.flags);
    const int code = advise_expect(cli, model, c, advice, i, info.flags);
    if (code != CLI_EXIT_OK) return code;
    i = -1; /* in another order now */
  }
  return CLI_EXIT_OK;
}
