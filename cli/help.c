/* SPDX-License-Identifier: Apache-2.0 */
/* help.c - --help and --help-all, written from the rows. */
#include "calib.h"
#include "trace.h"
#include "values.h"
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

/* Long lines are hard to read: not wider than a page, whatever the terminal has. */
static int help_width(void) {
  enum { PAGE = 80, MOST = 100 };
  const int width = cli_output_width(PAGE);
  return width > MOST ? MOST : width;
}

static void wrap(const char *text, int column, int indent, FILE *to) {
  cli_wrap(text, column, indent, help_width(), to);
}

/* Tables that several commands share; a command's own are not here. */
static const struct {
  const cli_option *table;
  const char *title;
  bool often;
} titles[] = {
    {cli_model_options, "model", true},
    {cli_calib_options, "calibration", true},
    {cli_trace_options, "a trace", true},
    {cli_html_options, "a page", true},
    {cli_shrink_build_options, "building", true},
    {cli_build_options, "building", false},
    {cli_precision_options, "8 and 4 bits, types by layer", false},
    {cli_device_options, "device", false},
    {cli_python_options, "ONNX Runtime", true},
    {cli_input_options, "inputs", true},
    {cli_recipe_options, "recipes", true},
    {cli_image_options, "images", false},
    {cli_load_inputs_options, "inputs, as trtexec names them", false},
    {cli_trt_build_options, "building, as trtexec names it", false},
    {cli_trt_bench_options, "measuring, as trtexec names it", false},
    {cli_sweep_options, "a sweep", true},
    {cli_compare_options, "comparing outputs", false},
    {cli_session_options, "sessions", false},
    {cli_schedule_options, "schedules", false},
    {cli_debug_options, "looking at values", false},
    {cli_common_options, "the tool", true},
};

const char *cli_table_title(const cli_option *table, bool *out_often) {
  for (size_t i = 0; i < CLI_COUNT(titles); ++i)
    if (titles[i].table == table) {
      *out_often = titles[i].often;
      return titles[i].title;
    }
  *out_often = true;
  return "options";
}

/* The row's spelling of one letter; NULL: it has none. */
static const char *letter_of(const cli_option *table, const cli_option *row) {
  for (const cli_option *other = table; other->name; ++other)
    if (other->same_as && !other->name[1] && strcmp(other->same_as, row->name) == 0) return other->name;
  return NULL;
}

static void print_option(const cli_option *table, const cli_option *row, FILE *to) {
  char left[112], same[96];
  const char *letter = row->same_as ? NULL : letter_of(table, row);
  const int used = snprintf(left, sizeof left, "  %s%s%s%s%s%s%s%s", letter ? "-" : "", letter ? letter : "",
                            letter ? ", " : "", row->name[1] ? "--" : "-", row->name, row->argument ? " " : "",
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

/* Is the row shown? Spellings of one letter stand beside what they are spellings of. */
static bool is_shown(const cli_option *row, bool table_often, bool all) {
  if (row->kind == CLI_NOT_YET || (row->same_as && !row->name[1])) return false;
  return all || (!row->same_as && (table_often || row->often));
}

/* How many of the table's options are left out. */
static int print_table(const cli_option *table, bool all, FILE *to) {
  bool often;
  const char *title = cli_table_title(table, &often);
  int shown = 0, left_out = 0;
  for (const cli_option *row = table; row->name; ++row) {
    const bool is = is_shown(row, often, all);
    left_out += !is && !row->same_as && row->kind != CLI_NOT_YET;
    if (!is) continue;
    if (shown++ == 0) fprintf(to, "\n%s:\n", title);
    print_option(table, row, to);
  }
  return left_out;
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

void cli_help(const cli_command *command, bool all, FILE *to) {
  char title[256];
  int left_out = 0;
  (void)snprintf(title, sizeof title, "hone %s - %s", command->name, command->doc);
  wrap(title, 0, 2, to);
  fputs("\nusage: hone ", to);
  wrap(command->usage, 12, 12, to);
  for (int t = 0; t < CLI_MAX_TABLES && command->tables[t]; ++t) left_out += print_table(command->tables[t], all, to);
  if (left_out) fprintf(to, "\n%d more: hone %s --help-all\n", left_out, command->name);
  if (all) print_not_yet(command, to);
  if (command->examples) fprintf(to, "\nexamples:\n%s", command->examples);
  fputc('\n', to);
  print_exit_codes(to);
}

const char *const cli_group_titles[CLI_GROUP_COUNT] = {
    [CLI_GROUP_RUN] = "build and run",
    [CLI_GROUP_TIME] = "where the time goes",
    [CLI_GROUP_SMALLER] = "smaller and narrower",
    [CLI_GROUP_LOOK] = "look inside",
    [CLI_GROUP_TOOL] = "the tool",
};

void cli_help_all(FILE *to) {
  fprintf(to, "hone %s - optimises, runs and profiles trained neural networks\n\nusage: hone COMMAND [options]\n",
          hone_version());
  for (int group = 0; group < CLI_GROUP_COUNT; ++group) {
    fprintf(to, "\n%s:\n", cli_group_titles[group]);
    for (const cli_command *const *row = cli_commands; *row; ++row) {
      if ((int)(*row)->group != group) continue;
      fprintf(to, "  %-11s ", (*row)->name);
      wrap((*row)->doc, 14, 14, to);
    }
  }
  fputs("\nto begin:\n"
        "  hone zoo mobilenet_v2 -o model.onnx      a network to try, or bring your own\n"
        "  hone check model.onnx                    is all of it supported, and fast?\n"
        "  hone build model.onnx -o model.hone      tune it for this machine\n"
        "  hone profile model.hone                  where does the time go?\n"
        "  hone bench model.hone                    throughput and latency\n",
        to);
  fputc('\n', to);
  wrap("hone COMMAND --help explains a command's options, with examples; --help-all has all of them.", 0, 0, to);
  print_exit_codes(to);
}

int cli_command_help(cli_tool *cli) {
  const char *name = cli_text(cli, "command");
  const cli_command *command = name ? cli_command_find(name) : NULL;
  if (name && !command) return CLI_EXIT_USAGE;
  if (cli_has(cli, "json"))
    cli_print_help_json(command, stdout);
  else if (cli_has(cli, "markdown"))
    cli_print_markdown(stdout);
  else if (cli_has(cli, "man"))
    cli_print_man(command, stdout);
  else if (command)
    cli_help(command, false, stdout);
  else
    cli_help_all(stdout);
  return CLI_EXIT_OK;
}

int cli_command_version(cli_tool *cli) {
  if (cli_has(cli, "json"))
    printf(CLI_JSON_BEGIN "\"version\": \"%s\", \"number\": %d}\n", hone_version(), hone_version_number());
  else
    printf("hone %s\n", hone_version());
  return CLI_EXIT_OK;
}
