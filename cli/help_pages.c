/* SPDX-License-Identifier: Apache-2.0 */
/* help_pages.c - man pages (man(7)), the reference in Markdown, and the rows themselves as JSON. */
#include "cli.h"
#include <string.h>

static const char exit_codes[][64] = {
    "0: ok",
    "1: a check of accuracy or speed failed",
    "2: usage",
    "3: the model is malformed",
    "4: unsupported",
    "5: the engine is damaged or of another machine",
    "6: out of memory",
    "7: a file cannot be read or written",
    "8: device",
    "9: a limit or the deadline",
    "70: internal",
    "130: interrupted",
};

static const char *dashes(const cli_option *row) { return row->name[1] ? "--" : "-"; }

/* ---- man ---- */

/* Text of a line: hyphens stay hyphens-minus, and no line begins with a control character. */
static void man_text(const char *text, FILE *to) {
  bool begins = true;
  for (const char *c = text; *c; ++c) {
    if (begins && (*c == '.' || *c == '\'')) fputs("\\&", to);
    if (*c == '\\')
      fputs("\\e", to);
    else if (*c == '-')
      fputs("\\-", to);
    else
      fputc(*c, to);
    begins = *c == '\n';
  }
}

/* The next spelling of the row's option after `last`, in any table of the command; NULL: there is none. *at: the table.
 */
static const cli_option *next_spelling(const cli_command *command, const cli_option *row, const cli_option *last,
                                       int *at) {
  const cli_option *other = last ? last + 1 : command->tables[ *at = 0];
  for (;; other = command->tables[*at]) {
    for (; other->name; ++other)
      if (other->same_as && strcmp(other->same_as, row->name) == 0) return other;
    if (++*at == CLI_MAX_TABLES || !command->tables[*at]) return NULL;
  }
}

static bool has_rows(const cli_option *table) {
  for (const cli_option *row = table; row->name; ++row)
    if (!row->same_as && row->kind != CLI_NOT_YET) return true;
  return false;
}

static void man_option(const cli_command *command, const cli_option *row, FILE *to) {
  int at = 0;
  fputs(".TP\n\\fB", to);
  man_text(dashes(row), to);
  man_text(row->name, to);
  fputs("\\fR", to);
  for (const cli_option *other = NULL; (other = next_spelling(command, row, other, &at));) {
    fputs(", \\fB", to);
    man_text(dashes(other), to);
    man_text(other->name, to);
    fputs("\\fR", to);
  }
  if (row->argument) {
    fputs(" \\fI", to);
    man_text(row->argument, to);
    fprintf(to, "\\fR%s", row->kind == CLI_LIST ? " ..." : "");
  }
  fputc('\n', to);
  man_text(row->doc, to);
  fputc('\n', to);
}

static void man_begin(const char *name, const char *doc, const char *usage, FILE *to) {
  fprintf(to, ".TH HONE%s%s 1 \"\" \"hone %s\" \"User Commands\"\n.SH NAME\nhone%s%s \\- ", *name ? "-" : "", name,
          hone_version(), *name ? "\\-" : "", name);
  man_text(doc, to);
  fputs("\n.SH SYNOPSIS\n.B hone\n", to);
  man_text(usage, to);
  fputc('\n', to);
}

static void man_exit_codes(FILE *to) {
  fputs(".SH EXIT STATUS\n", to);
  for (size_t i = 0; i < CLI_COUNT(exit_codes); ++i) fprintf(to, "%s%s\n", i ? ".br\n" : "", exit_codes[i]);
}

static void man_of_tool(FILE *to) {
  man_begin("", "optimises, runs and profiles trained neural networks", "COMMAND [options]", to);
  fputs(
      ".SH DESCRIPTION\nReads ONNX models, tunes them for the machine it runs on, writes engines, runs them, and says "
      "where the time goes.\n.SH COMMANDS\n",
      to);
  for (const cli_command *const *row = cli_commands; *row; ++row) {
    fprintf(to, ".TP\n.BR hone\\-%s (1)\n", (*row)->name);
    man_text((*row)->doc, to);
    fputc('\n', to);
  }
  man_exit_codes(to);
  fputs(".SH ENVIRONMENT\n.TP\n.B HONE_CACHE_DIR\nwhere measured roofs and compiled kernels are kept; else "
        "$XDG_CACHE_HOME/hone, else ~/.cache/hone\n.TP\n.B HONE_LIBRARY_PATH\nfolders in which backends and vendors' "
        "libraries are looked for first\n.TP\n.B NO_COLOR\nno colours\n.TP\n.B COLUMNS\nwidth of tables\n",
        to);
}

void cli_print_man(const cli_command *command, FILE *to) {
  if (!command) {
    man_of_tool(to);
    return;
  }
  man_begin(command->name, command->doc, command->usage, to);
  fputs(".SH OPTIONS\n", to);
  for (int t = 0; t < CLI_MAX_TABLES && command->tables[t]; ++t) {
    bool often;
    if (!has_rows(command->tables[t])) continue;
    fprintf(to, ".SS %s\n", cli_table_title(command->tables[t], &often));
    for (const cli_option *row = command->tables[t]; row->name; ++row)
      if (!row->same_as && row->kind != CLI_NOT_YET) man_option(command, row, to);
  }
  if (command->examples) {
    fputs(".SH EXAMPLES\n.nf\n", to);
    man_text(command->examples, to);
    fputs(".fi\n", to);
  }
  man_exit_codes(to);
  fputs(".SH SEE ALSO\n.BR hone (1)\n", to);
}

/* ---- Markdown ---- */

/* In a cell of a table: signs that Markdown or HTML would read as its own are escaped. */
static void markdown_text(const char *text, FILE *to) {
  for (const char *c = text; *c; ++c) {
    if (strchr("|<>*_[]\\", *c)) fputc('\\', to);
    fputc(*c, to);
  }
}

static void markdown_code(const char *text, FILE *to) { /* a bar ends a cell also inside of code */
  for (const char *c = text; *c; ++c) fprintf(to, *c == '|' ? "\\|" : "%c", *c);
}

static void markdown_option(const cli_command *command, const cli_option *row, FILE *to) {
  int at = 0;
  fprintf(to, "| `%s%s", dashes(row), row->name);
  if (row->argument) {
    fputc(' ', to);
    markdown_code(row->argument, to);
  }
  fputs("`", to);
  for (const cli_option *other = NULL; (other = next_spelling(command, row, other, &at));)
    fprintf(to, ", `%s%s`", dashes(other), other->name);
  fputs(" | ", to);
  markdown_text(row->doc, to);
  fputs(" |\n", to);
}

static void markdown_table(const cli_command *command, const cli_option *table, FILE *to) {
  bool often;
  fprintf(to, "\n**%s**\n\n| option | |\n|---|---|\n", cli_table_title(table, &often));
  for (const cli_option *row = table; row->name; ++row)
    if (!row->same_as && row->kind != CLI_NOT_YET) markdown_option(command, row, to);
}

static void markdown_command(const cli_command *command, FILE *to) {
  fprintf(to, "\n## hone %s\n\n", command->name);
  markdown_text(command->doc, to);
  fprintf(to, "\n\n```\nhone %s\n```\n", command->usage);
  for (int t = 0; t < CLI_MAX_TABLES && command->tables[t]; ++t)
    if (has_rows(command->tables[t])) markdown_table(command, command->tables[t], to);
  if (command->examples) fprintf(to, "\n```sh\n%s```\n", command->examples);
}

void cli_print_markdown(FILE *to) {
  fprintf(to, "# Commands\n\nAll commands and options of hone %s, as `hone help --markdown` writes them.\n\n",
          hone_version());
  fputs("Exit codes: ", to);
  for (size_t i = 0; i < CLI_COUNT(exit_codes); ++i) fprintf(to, "%s%s", i ? "; " : "", exit_codes[i]);
  fputs(".\n", to);
  for (const cli_command *const *row = cli_commands; *row; ++row) markdown_command(*row, to);
}

/* ---- JSON ---- */

static const char *kind_name(cli_kind kind) {
  static const char *const names[] = {[CLI_FLAG] = "flag",
                                      [CLI_TEXT] = "text",
                                      [CLI_INT] = "integer",
                                      [CLI_REAL] = "number",
                                      [CLI_SIZE] = "size",
                                      [CLI_LIST] = "list",
                                      [CLI_OPTIONAL_INT] = "optional integer",
                                      [CLI_OPTIONAL_TEXT] = "optional text",
                                      [CLI_NOT_YET] = "not yet"};
  return names[kind];
}

static void json_option(const cli_option *row, const char *title, FILE *to) {
  fprintf(to, "{\"name\": \"%s\", \"about\": \"%s\"", row->name, title);
  if (row->same_as) {
    fprintf(to, ", \"same_as\": \"%s\"}", row->same_as);
    return;
  }
  fprintf(to, ", \"kind\": \"%s\"", kind_name(row->kind));
  if (row->argument) {
    fputs(", \"argument\": ", to);
    cli_json_text(to, row->argument);
  }
  if (row->low != 0 || row->high != 0) fprintf(to, ", \"low\": %.17g, \"high\": %.17g", row->low, row->high);
  fputs(", \"doc\": ", to);
  cli_json_text(to, row->doc);
  fputc('}', to);
}

static void json_command(const cli_command *command, FILE *to) {
  fprintf(to, "{\"name\": \"%s\", \"group\": \"%s\", \"doc\": ", command->name, cli_group_titles[command->group]);
  cli_json_text(to, command->doc);
  fputs(", \"usage\": ", to);
  cli_json_text(to, command->usage);
  fprintf(to, ", \"arguments\": %d, \"options\": [", command->positional_max);
  const char *comma = "";
  for (int t = 0; t < CLI_MAX_TABLES && command->tables[t]; ++t) {
    bool often;
    const char *title = cli_table_title(command->tables[t], &often);
    for (const cli_option *row = command->tables[t]; row->name; ++row, comma = ",") {
      fprintf(to, "%s\n    ", comma);
      json_option(row, title, to);
    }
  }
  fputs("\n  ]}", to);
}

void cli_print_help_json(const cli_command *command, FILE *to) {
  fputs(CLI_JSON_BEGIN "\"commands\": [", to);
  const char *comma = "";
  for (const cli_command *const *row = cli_commands; *row; ++row) {
    if (command && command != *row) continue;
    fprintf(to, "%s\n  ", comma);
    json_command(*row, to);
    comma = ",";
  }
  fputs("\n]}\n", to);
}
