/* SPDX-License-Identifier: Apache-2.0 */
/* help.c - --help, written from the rows. */
#include "cli.h"
#include <string.h>

static void print_option(const cli_option *row, FILE *to) {
  char left[96];
  (void)snprintf(left, sizeof left, "%s%s%s%s%s", row->name[1] ? "--" : "-", row->name, row->argument ? " " : "",
                 row->argument ? row->argument : "", row->kind == CLI_LIST ? " ..." : "");
  fprintf(to, "  %-30s ", left);
  if (strlen(left) > 30) fprintf(to, "\n  %-30s ", "");
  if (row->same_as)
    fprintf(to, "the same as %s%s\n", row->same_as[1] ? "--" : "-", row->same_as);
  else
    fprintf(to, "%s\n", row->doc);
}

static void print_not_yet(const cli_command *command, FILE *to) {
  bool any = false;
  int column = 0;
  for (int t = 0; t < CLI_MAX_TABLES && command->tables[t]; ++t)
    for (const cli_option *row = command->tables[t]; row->name; ++row) {
      if (row->kind != CLI_NOT_YET) continue;
      if (!any) fputs("\nKnown from trtexec, not yet here (exit code 4):\n ", to);
      any = true;
      column += (int)strlen(row->name) + 3;
      if (column > 108) {
        fputs("\n ", to);
        column = (int)strlen(row->name) + 3;
      }
      fprintf(to, " --%s", row->name);
    }
  if (any) fputc('\n', to);
}

void cli_help(const cli_command *command, FILE *to) {
  fprintf(to, "hone %s - %s\n\nusage: hone %s\n\n", command->name, command->doc, command->usage);
  for (int t = 0; t < CLI_MAX_TABLES && command->tables[t]; ++t)
    for (const cli_option *row = command->tables[t]; row->name; ++row)
      if (row->kind != CLI_NOT_YET) print_option(row, to);
  print_not_yet(command, to);
  if (command->examples) fprintf(to, "\nexamples:\n%s", command->examples);
}

void cli_help_all(FILE *to) {
  fprintf(to, "hone %s - optimises, runs and profiles trained neural networks\n\nusage: hone COMMAND [options]\n\n",
          hone_version());
  for (const cli_command *const *row = cli_commands; *row; ++row) fprintf(to, "  %-9s %s\n", (*row)->name, (*row)->doc);
  fputs("\nhone COMMAND --help explains a command's options, with examples.\n"
        "exit codes: 0 ok, 1 a check failed, 2 usage, 3 malformed model, 4 unsupported, 5 damaged or foreign engine,\n"
        "            6 out of memory, 7 input/output, 8 device, 9 limit or deadline, 70 internal, 130 interrupted\n",
        to);
}

int cli_command_help(cli_tool *cli) {
  const char *name = cli_text(cli, "command");
  if (!name) {
    cli_help_all(stdout);
    return CLI_EXIT_OK;
  }
  const cli_command *command = cli_command_find(name);
  if (!command) return CLI_EXIT_USAGE;
  cli_help(command, stdout);
  return CLI_EXIT_OK;
}

int cli_command_version(cli_tool *cli) {
  if (cli_has(cli, "json"))
    printf("{\"version\": \"%s\", \"number\": %d}\n", hone_version(), hone_version_number());
  else
    printf("hone %s\n", hone_version());
  return CLI_EXIT_OK;
}
