/* SPDX-License-Identifier: Apache-2.0 */
/* html.c - --html FILE: the profile with all other reports as one page. */
#include "trace_file.h"
#include <hone/advice.h>
#include <hone/html.h>
#include <stdlib.h>
#include <string.h>

const cli_option cli_html_options[] = {
    {"html", CLI_TEXT, "FILE",
     .doc = "also write one page for a browser: layers, roofline, timeline, memory, graph, tactics",
     .writes = CLI_WRITES_FILE},
    {"before", CLI_TEXT, "FILE", .doc = "with --html: what an earlier engine of the model took (hone profile --json)"},
    {0},
};

int cli_html_check(const cli_tool *cli) {
  if (cli_has(cli, "before") && !cli_has(cli, "html"))
    return cli_usage_error(cli, "--before is shown in the page: give --html FILE, too");
  if (!cli_has(cli, "before")) return CLI_EXIT_OK;
  const char *path = cli_text(cli, "before"), *why; /* before minutes are spent on a build */
  FILE *file = cli_open_input(path, &why);
  if (!file) {
    cli_error("--before %s: %s", path, why);
    return CLI_EXIT_IO;
  }
  fclose(file);
  return CLI_EXIT_OK;
}

static int compare_runs(const void *a, const void *b) {
  const cli_trace_run *const *x = a, *const *y = b;
  const int64_t x_ns = (*x)->spans[0].end_ns - (*x)->spans[0].begin_ns,
                y_ns = (*y)->spans[0].end_ns - (*y)->spans[0].begin_ns;
  return (x_ns > y_ns) - (x_ns < y_ns);
}

/* Of the runs that were kept, the one in the middle by its time; NULL: none was kept whole. */
static const cli_trace_run *typical_run(const cli_trace_group *group) {
  const cli_trace_run *run = NULL;
  int count = 0;
  const cli_trace_run **runs = group && !group->failed ? calloc((size_t)group->room, sizeof *runs) : NULL;
  for (int r = 0; runs && r < group->room; ++r)
    if (group->runs[r].count > 0 && group->runs[r].spans[0].kind == HONE_SPAN_RUN) runs[count++] = &group->runs[r];
  if (count > 0) {
    qsort(runs, (size_t)count, sizeof *runs, compare_runs);
    run = runs[count / 2];
  }
  free(runs);
  return run;
}

/* What was typed, but for where the tool lies. */
static void command_text(const cli_tool *cli, char *out, size_t room) {
  size_t used = 0;
  (void)snprintf(out, room, "hone %s", cli->command->name);
  for (int i = 0; i < cli->given_count; ++i) {
    const cli_given *given = &cli->given[i];
    const bool positional = strcmp(given->option->name, cli->command->positional) == 0;
    used = strlen(out);
    if (!positional) used += (size_t)snprintf(out + used, room - used, " --%s", given->option->name);
    if (used < room && given->text) {
      const bool quoted = given->text[strcspn(given->text, " '\"$`\\*?&;|<>(){}[]!#~")] || !*given->text;
      (void)snprintf(out + used, room - used, quoted ? " \"%s\"" : " %s", given->text);
    }
  }
}

/* The advice on what was profiled, as JSON that the caller frees; NULL with a code other than CLI_EXIT_OK. */
static char *advice_text(cli_tool *cli, const hone_session *session, const cli_html_facts *facts,
                         const hone_html_options *page, int *code) {
  char *text = NULL;
  size_t bytes = 0;
  hone_diagnostics *diag = hone_context_diagnostics(cli->context);
  const hone_advise_options options = {.struct_size = sizeof options,
                                       .cold = page->cold,
                                       .one_schedule = page->one_schedule,
                                       .schedule = page->schedule,
                                       .ledger_path = page->ledger_path,
                                       .unprofiled_ns = page->unprofiled_ns,
                                       .no_replay = cli_has(cli, "no-replay")};
  const hone_report_options json = {.struct_size = sizeof json, .json = true};
  hone_advice *advice = NULL;
  FILE *file = open_memstream(&text, &bytes);
  hone_status status = file ? hone_advise(session, facts->graph, &options, &advice, diag) : HONE_NO_MEMORY;
  if (status == HONE_OK) status = hone_report_advice(advice, &json, cli_write_file, file, diag);
  if (file && fclose(file) != 0 && status == HONE_OK) status = HONE_NO_MEMORY;
  hone_advice_destroy(advice);
  *code = status == HONE_OK ? CLI_EXIT_OK : cli_fail(cli, status);
  if (status == HONE_OK) return text;
  free(text);
  return NULL;
}

int cli_html_write(cli_tool *cli, const hone_session *session, const cli_trace_group *group,
                   const cli_html_facts *facts) {
  static char command[8192];
  const char *path = cli_text(cli, "html");
  if (!path) return CLI_EXIT_OK;
  const cli_trace_run *run = typical_run(group);
  if (!facts->ledger_path && !facts->graph)
    cli_note(cli, "%s.ledger is not there: the page has no tactics", cli_text(cli, "model"));
  command_text(cli, command, sizeof command);
  hone_html_options options = {.struct_size = sizeof options,
                               .ledger_path = facts->ledger_path,
                               .spans = run ? run->spans : NULL,
                               .span_count = run ? run->count : 0,
                               .before_path = cli_text(cli, "before"),
                               .command = command,
                               .cold = facts->cold,
                               .unprofiled_ns = facts->unprofiled_ns,
                               .unprofiled_device_ns = facts->unprofiled_device_ns};
  options.one_schedule = cli_wants_schedule(cli, &options.schedule);
  int code;
  char *advice = advice_text(cli, session, facts, &options, &code);
  if (!advice) return code;
  options.advice = advice;
  const hone_status status = hone_report_html(session, path, &options, hone_context_diagnostics(cli->context));
  free(advice);
  if (status != HONE_OK) return cli_fail(cli, status);
  cli_note(cli, "wrote %s", path);
  return CLI_EXIT_OK;
}
