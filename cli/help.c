/* SPDX-License-Identifier: Apache-2.0 */
/* help.c - --help, written from the rows. */
#include "cli.h"
#include <string.h>

enum { DOCS = 30 /* the column where what options do begins */ };

void cli_wrap(const char *text, int column, int indent, int width, FILE *to) {
  int at = column;
  for (const char *word = text; *word;) {
    const int length = (int)strcspn(word, " ");
    if (at > indent && at + length > width) {
      fprintf(to, "\n%*s", indent, "");
      at = indent;
    }
    fprintf(to, "%.*s", length, word);
    at += length;
    word += length;
    for (; *word == ' '; ++word, ++at)
      if (at + 1 + (int)strcspn(word + 1, " ") <= width) fputc(' ', to);
  }
  fputc('\n', to);
}

static void wrap(const char *text, int column, int indent, FILE *to) { cli_wrap(text, column, indent, 80, to); }

static void print_option(const cli_option *row, FILE *to) {
  char left[96], same[96];
  const int used =
      snprintf(left, sizeof left, "  %s%s%s%s%s", row->name[1] ? "--" : "-", row->name, row->argument ? " " : "",
               row->argument ? row->argument : "", row->kind == CLI_LIST ? " ..." : "");
  fputs(left, to);
  if (used + 1 > DOCS)
    fprintf(to, "\n%*s", DOCS, "");
  else
    fprintf(to, "%*s", DOCS - used, "");
  (void)snprintf(same, sizeof same, "the same as %s%s", row->same_as && row->same_as[1] ? "--" : "-",
                 row->same_as ? row->same_as : "");
  wrap(row->same_as ? same : row->doc, DOCS, DOCS, to);
}

static void print_not_yet(const cli_command *command, FILE *to) {
  char names[2048] = "";
  size_t used = 0;
  for (int t = 0; t < CLI_MAX_TABLES && command->tables[t]; ++t)
    for (const cli_option *row = command->tables[t]; row->name; ++row)
      if (row->kind == CLI_NOT_YET && used < sizeof names)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s--%s", used ? " " : "", row->name);
  if (!used) return;
  fputs("\nKnown from trtexec, not supported yet (exit code 4):\n  ", to);
  wrap(names, 2, 2, to);
}

static void print_exit_codes(FILE *to) {
  fputs("exit codes: ", to);
  wrap("0 ok, 1 a check failed, 2 usage, 3 malformed model, 4 unsupported, 5 damaged or foreign engine, 6 out of "
       "memory, "
       "7 input/output, 8 device, 9 limit or deadline, 70 internal, 130 interrupted. A reader that ends first (| head) "
       "is "
       "no error.",
       12, 12, to);
}

void cli_help(const cli_command *command, FILE *to) {
  char title[256];
  (void)snprintf(title, sizeof title, "hone %s - %s", command->name, command->doc);
  wrap(title, 0, 2, to);
  fputs("\nusage: hone ", to);
  wrap(command->usage, 12, 12, to);
  fputc('\n', to);
  for (int t = 0; t < CLI_MAX_TABLES && command->tables[t]; ++t)
    for (const cli_option *row = command->tables[t]; row->name; ++row)
      if (row->kind != CLI_NOT_YET) print_option(row, to);
  print_not_yet(command, to);
  if (command->examples) fprintf(to, "\nexamples:\n%s", command->examples);
  fputc('\n', to);
  print_exit_codes(to);
}

void cli_help_all(FILE *to) {
  fprintf(to, "hone %s - optimises, runs and profiles trained neural networks\n\nusage: hone COMMAND [options]\n\n",
          hone_version());
  for (const cli_command *const *row = cli_commands; *row; ++row) {
    fprintf(to, "  %-11s ", (*row)->name);
    wrap((*row)->doc, 14, 14, to);
  }
  fputs("\nto begin:\n"
        "  hone zoo mobilenet_v2 -o model.onnx      a network to try, or bring your own\n"
        "  hone check model.onnx                    is all of it supported, and fast?\n"
        "  hone build model.onnx -o model.hone      tune it for this machine\n"
        "  hone profile model.hone                  where does the time go?\n"
        "  hone bench model.hone                    throughput and latency\n"
        "\nhone COMMAND --help explains a command's options, with examples.\n",
        to);
  print_exit_codes(to);
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
