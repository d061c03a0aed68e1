/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - parsing by the rows of a command: --name value, --name=value, -x value, flags, positional arguments. */
#include "cli.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const cli_option *find_option(const cli_command *command, const char *name, size_t length) {
  for (int t = 0; t < CLI_MAX_TABLES && command->tables[t]; ++t)
    for (const cli_option *row = command->tables[t]; row->name; ++row)
      if (strncmp(row->name, name, length) == 0 && row->name[length] == 0) return row;
  return NULL;
}

static const char *dashes(const char *name) { return name[1] ? "--" : "-"; }

static int unknown_option(const cli_tool *cli, const char *argument, const char *name, size_t length) {
  char wanted[64];
  if (length >= sizeof wanted) length = sizeof wanted - 1;
  memcpy(wanted, name, length);
  wanted[length] = 0;
  for (const cli_command *const *other = cli_commands; *other; ++other)
    if (find_option(*other, wanted, length))
      return cli_usage_error(cli, "%s is an option of hone %s", argument, (*other)->name);
  const char *near = NULL;
  for (int t = 0; t < CLI_MAX_TABLES && cli->command->tables[t]; ++t)
    for (const cli_option *row = cli->command->tables[t]; row->name; ++row)
      near = hone_nearest_name(wanted, near, row->name);
  if (near) return cli_usage_error(cli, "there is no option %s; did you mean %s%s?", argument, dashes(near), near);
  return cli_usage_error(cli, "there is no option %s", argument);
}

static bool reads_as_number(const char *text, bool whole, double *out) {
  char *end;
  errno = 0;
  *out = whole ? (double)strtoll(text, &end, 10) : strtod(text, &end);
  return *text && *end == 0 && errno == 0;
}

bool cli_read_size(const char *text, uint64_t *out_bytes) {
  static const struct {
    const char *suffix;
    double bytes;
  } units[] = {{"", 0x1p20},  {"B", 1},        {"K", 0x1p10}, {"KiB", 0x1p10},
               {"M", 0x1p20}, {"MiB", 0x1p20}, {"G", 0x1p30}, {"GiB", 0x1p30}};
  char *end;
  const double size = strtod(text, &end);
  for (size_t i = 0; end != text && i < CLI_COUNT(units); ++i)
    if (strcmp(end, units[i].suffix) == 0 && size * units[i].bytes >= 1 && size * units[i].bytes <= 0x1p60) {
      *out_bytes = (uint64_t)(size * units[i].bytes);
      return true;
    }
  return false;
}

static int check_value(const cli_tool *cli, const cli_option *option, const char *text) {
  double value;
  uint64_t bytes;
  if (option->kind == CLI_SIZE && text && !cli_read_size(text, &bytes))
    return cli_usage_error(cli, "%s%s expects a size like 512M or 2G, not \"%s\"", dashes(option->name), option->name,
                           text);
  const bool whole = option->kind == CLI_INT || option->kind == CLI_OPTIONAL_INT;
  if (!text || (!whole && option->kind != CLI_REAL)) return CLI_EXIT_OK;
  if (!reads_as_number(text, whole, &value))
    return cli_usage_error(cli, "%s%s expects a %snumber, not \"%s\"", dashes(option->name), option->name,
                           whole ? "whole " : "", text);
  if ((option->low != 0 || option->high != 0) && !(value >= option->low && value <= option->high))
    return cli_usage_error(cli, "%s%s is %s; allowed: %g to %g", dashes(option->name), option->name, text, option->low,
                           option->high);
  return CLI_EXIT_OK;
}

static int add_given(cli_tool *cli, const cli_option *option, const char *text) {
  if (cli->given_count == CLI_MAX_GIVEN) return cli_usage_error(cli, "more than %d options", CLI_MAX_GIVEN);
  cli->given[cli->given_count++] = (cli_given){option, text};
  return check_value(cli, option, text);
}

static bool takes_argument(const cli_option *option) { return option->kind != CLI_FLAG; }

static bool may_stand_alone(const cli_option *option) {
  return option->kind == CLI_OPTIONAL_INT || option->kind == CLI_OPTIONAL_TEXT;
}

/* arguments[*at] begins with a dash. */
static int parse_option(cli_tool *cli, int count, char *const *arguments, int *at) {
  const char *argument = arguments[*at], *name = argument + (argument[1] == '-' ? 2 : 1);
  const char *equals = strchr(name, '=');
  const size_t length = equals ? (size_t)(equals - name) : strlen(name);
  const cli_option *row = find_option(cli->command, name, length);
  if (!row || length == 0 || (argument[1] != '-' && length > 1)) return unknown_option(cli, argument, name, length);
  if (row->kind == CLI_NOT_YET) {
    cli_error("%s%s is not supported yet: %s", dashes(row->name), row->name, row->doc);
    return CLI_EXIT_UNSUPPORTED;
  }
  const char *text = equals ? equals + 1 : NULL;
  const cli_option *option = row;
  if (row->same_as) option = find_option(cli->command, row->same_as, strlen(row->same_as));
  if (!option) return CLI_EXIT_INTERNAL;
  if (!takes_argument(option)) {
    if (text) return cli_usage_error(cli, "%s%s takes no value", dashes(row->name), row->name);
    return add_given(cli, option, NULL);
  }
  if (!text && *at + 1 < count) {
    const char *next = arguments[*at + 1];
    double number;
    const bool fits =
        option->kind == CLI_OPTIONAL_INT ? reads_as_number(next, true, &number) : !may_stand_alone(option);
    if (fits) text = arguments[++*at];
  }
  if (!text && !may_stand_alone(option))
    return cli_usage_error(cli, "%s%s expects %s", dashes(row->name), row->name,
                           option->argument ? option->argument : "a value");
  return add_given(cli, option, text);
}

int cli_parse(cli_tool *cli, int count, char *const *arguments) {
  const cli_command *command = cli->command;
  const cli_option *positional =
      command->positional ? find_option(command, command->positional, strlen(command->positional)) : NULL;
  const cli_option *next = command->positional_next
                               ? find_option(command, command->positional_next, strlen(command->positional_next))
                               : NULL;
  int positional_count = 0;
  bool only_positional = false;
  for (int at = 0; at < count; ++at) {
    int code;
    if (!only_positional && strcmp(arguments[at], "--") == 0) {
      only_positional = true;
      continue;
    }
    if (!only_positional && arguments[at][0] == '-' && arguments[at][1])
      code = parse_option(cli, count, arguments, &at);
    else if (positional && positional_count < command->positional_max)
      code = add_given(cli, positional_count++ > 0 && next ? next : positional, arguments[at]);
    else
      code = cli_usage_error(cli, "one argument too many: %s", arguments[at]);
    if (code != CLI_EXIT_OK) return code;
  }
  return CLI_EXIT_OK;
}

static const cli_given *last_given(const cli_tool *cli, const char *name) {
  const cli_option *option = find_option(cli->command, name, strlen(name));
  if (!option) {
    cli_error("the command %s has no row for its option %s", cli->command->name, name);
    exit(CLI_EXIT_INTERNAL);
  }
  for (int i = cli->given_count - 1; i >= 0; --i)
    if (cli->given[i].option == option) return &cli->given[i];
  return NULL;
}

bool cli_takes(const cli_command *command, const char *name) {
  const cli_option *option = find_option(command, name, strlen(name));
  return option && option->kind != CLI_NOT_YET;
}

bool cli_has(const cli_tool *cli, const char *name) { return last_given(cli, name) != NULL; }

const char *cli_text(const cli_tool *cli, const char *name) {
  const cli_given *given = last_given(cli, name);
  return given ? given->text : NULL;
}

int64_t cli_int(const cli_tool *cli, const char *name, int64_t otherwise) {
  const char *text = cli_text(cli, name);
  return text ? strtoll(text, NULL, 10) : otherwise;
}

uint64_t cli_size(const cli_tool *cli, const char *name, uint64_t otherwise) {
  const char *text = cli_text(cli, name);
  uint64_t bytes;
  return text && cli_read_size(text, &bytes) ? bytes : otherwise;
}

double cli_real(const cli_tool *cli, const char *name, double otherwise) {
  const char *text = cli_text(cli, name);
  return text ? strtod(text, NULL) : otherwise;
}

int cli_list(const cli_tool *cli, const char *name, const char **out, int room) {
  const cli_option *option = find_option(cli->command, name, strlen(name));
  int count = 0;
  for (int i = 0; i < cli->given_count && count < room; ++i)
    if (cli->given[i].option == option) out[count++] = cli->given[i].text;
  return count;
}
