/* SPDX-License-Identifier: Apache-2.0 */
/* command_completion.c - hone completion SHELL: a script by which a shell completes commands and options, written from
 * their rows. Arguments of options are files, but where a row's argument lists the words: "bash|zsh|fish". */
#include "cli.h"
#include <string.h>

const cli_option cli_completion_options[] = {
    {"shell", CLI_TEXT, "bash|zsh|fish", .doc = "for which shell"},
    {0},
};

static const char *dashes(const cli_option *row) { return row->name[1] ? "--" : "-"; }

static bool is_word(const cli_option *row) { return row->kind != CLI_NOT_YET; }

/* Within single quotes. */
static void quoted(const char *text, const char *quote_as, FILE *to) {
  for (const char *c = text; *c; ++c)
    if (*c == '\'')
      fputs(quote_as, to);
    else
      fputc(*c, to);
}

static void each_word(const cli_command *command, FILE *to) {
  for (int t = 0; t < CLI_MAX_TABLES && command->tables[t]; ++t)
    for (const cli_option *row = command->tables[t]; row->name; ++row)
      if (is_word(row)) fprintf(to, " %s%s", dashes(row), row->name);
}

static void print_bash(FILE *to) {
  fputs("# hone's words, as `hone completion bash` wrote them\n"
        "_hone() {\n"
        "  local word=${COMP_WORDS[COMP_CWORD]} words=\n"
        "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    words='",
        to);
  for (const cli_command *const *row = cli_commands; *row; ++row) fprintf(to, "%s ", (*row)->name);
  fputs("--help --version'\n  else\n    case ${COMP_WORDS[1]} in\n", to);
  for (const cli_command *const *row = cli_commands; *row; ++row) {
    fprintf(to, "    %s) words='", (*row)->name);
    each_word(*row, to);
    fputs("' ;;\n", to);
  }
  fputs("    esac\n  fi\n"
        "  case $word in\n"
        "  -*) COMPREPLY=($(compgen -W \"$words\" -- \"$word\")) ;;\n"
        "  *)\n"
        "    if [ \"$COMP_CWORD\" -eq 1 ]; then COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
        "    else COMPREPLY=($(compgen -f -- \"$word\")); fi ;;\n"
        "  esac\n"
        "}\n"
        "complete -o filenames -F _hone hone\n",
        to);
}

/* zsh: colons end names, brackets end explanations. */
static void zsh_text(const char *text, FILE *to) {
  for (const char *c = text; *c; ++c)
    if (*c == '\'')
      fputs("'\\''", to);
    else
      fprintf(to, strchr(":[]\\", *c) ? "\\%c" : "%c", *c);
}

static void print_zsh(FILE *to) {
  fputs("#compdef hone\n# hone's words, as `hone completion zsh` wrote them\n_hone() {\n"
        "  local -a commands\n  commands=(\n",
        to);
  for (const cli_command *const *row = cli_commands; *row; ++row) {
    fprintf(to, "    '%s:", (*row)->name);
    zsh_text((*row)->doc, to);
    fputs("'\n", to);
  }
  fputs("  )\n  if (( CURRENT == 2 )); then _describe command commands; return; fi\n"
        "  local -a options\n  case ${words[2]} in\n",
        to);
  for (const cli_command *const *row = cli_commands; *row; ++row) {
    fprintf(to, "  %s) options=(\n", (*row)->name);
    for (int t = 0; t < CLI_MAX_TABLES && (*row)->tables[t]; ++t)
      for (const cli_option *option = (*row)->tables[t]; option->name; ++option) {
        if (!is_word(option)) continue;
        fprintf(to, "    '%s%s:", dashes(option), option->name);
        zsh_text(option->doc ? option->doc : option->same_as, to);
        fputs("'\n", to);
      }
    fputs("  ) ;;\n", to);
  }
  fputs("  esac\n  if [[ ${words[CURRENT]} == -* ]]; then _describe option options; else _files; fi\n}\n"
        "if [ \"$funcstack[1]\" = _hone ]; then _hone \"$@\"; else compdef _hone hone; fi\n",
        to);
}

static void print_fish(FILE *to) {
  fputs("# hone's words, as `hone completion fish` wrote them\n", to);
  for (const cli_command *const *row = cli_commands; *row; ++row) {
    fprintf(to, "complete -c hone -n __fish_use_subcommand -f -a %s -d '", (*row)->name);
    quoted((*row)->doc, "\\'", to);
    fputs("'\n", to);
    for (int t = 0; t < CLI_MAX_TABLES && (*row)->tables[t]; ++t)
      for (const cli_option *option = (*row)->tables[t]; option->name; ++option) {
        if (!is_word(option)) continue;
        fprintf(to, "complete -c hone -n '__fish_seen_subcommand_from %s' %s %s -d '", (*row)->name,
                option->name[1] ? "-l" : "-s", option->name);
        quoted(option->doc ? option->doc : option->same_as, "\\'", to);
        fputs("'\n", to);
      }
  }
}

int cli_command_completion(cli_tool *cli) {
  static const struct {
    const char *name;
    void (*print)(FILE *to);
  } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
  const char *name = cli_text(cli, "shell"), *near = NULL;
  if (!name) return cli_usage_error(cli, "which shell? bash, zsh or fish");
  for (size_t i = 0; i < CLI_COUNT(shells); ++i) {
    if (strcmp(shells[i].name, name) == 0) {
      shells[i].print(stdout);
      return CLI_EXIT_OK;
    }
    near = hone_nearest_name(name, near, shells[i].name);
  }
  if (near) return cli_usage_error(cli, "there is no shell %s; did you mean %s?", name, near);
  return cli_usage_error(cli, "there is no shell %s; allowed: bash, zsh, fish", name);
}
