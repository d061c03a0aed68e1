/* SPDX-License-Identifier: Apache-2.0 */
/* bisect_tell.c - what hone bisect found, and the command of a build without it. */
#include "bisect.h"
#include <math.h>
#include <string.h>

/* ---- what is said ---- */

static bool is_in(const cli_option *table, const cli_option *option) {
  for (; table->name; ++table)
    if (table == option) return true;
  return false;
}

/* A list of NAME:TYPE,... for the layers that stay in f32. */
static void add_layers(const cli_bisect *b, const cli_finding *f, const char *after, char *out, size_t room) {
  size_t used = 0;
  out[0] = 0;
  for (int i = 0; i < b->item_count; ++i)
    for (int k = 0; f->in[i] && k < b->items[i].origin_count && used < room; ++k)
      used += (size_t)snprintf(out + used, room - used, "%s%s%s", used ? "," : "", b->items[i].origins[k], after);
}

static size_t add_word(char *out, size_t room, size_t used, const char *before, const char *word) {
  char quoted[8192];
  cli_quote(word, quoted, sizeof quoted);
  return used < room ? used + (size_t)snprintf(out + used, room - used, "%s%s", before, quoted) : used;
}

void cli_bisect_write_command(const cli_bisect *b, const cli_finding *f, char *out, size_t room) {
  const bool int8 = cli_has(b->cli, "int8") && f->what == CLI_BISECT_TYPES;
  const cli_command *target = cli_command_find(int8 ? "quantize" : "build");
  char list[8192];
  size_t used = (size_t)snprintf(out, room, "hone %s", target->name);
  used = add_word(out, room, used, " ", cli_text(b->cli, "model"));
  for (int i = 0; i < b->cli->given_count; ++i) {
    const cli_given *given = &b->cli->given[i];
    const bool wanted = (is_in(cli_build_options, given->option) || is_in(cli_device_options, given->option) ||
                         is_in(cli_precision_options, given->option) || strcmp(given->option->name, "plugins") == 0) &&
                        cli_takes(target, given->option->name);
    const bool replaced = f->what == CLI_BISECT_TACTICS && strcmp(given->option->name, "tactic") == 0 &&
                          cli_bisect_gives_way(b, given->text, f->in);
    if (!wanted || replaced || used >= room) continue;
    used += (size_t)snprintf(out + used, room - used, " --%s", given->option->name);
    if (given->text) used = add_word(out, room, used, " ", given->text);
  }
  if (int8) {
    for (int i = 0; i < b->item_count; ++i)
      if (f->in[i]) used = add_word(out, room, used, " --keep ", b->items[i].name);
  } else if (f->what == CLI_BISECT_TYPES) {
    add_layers(b, f, ":fp32", list, sizeof list);
    used = add_word(out, room, used, " --layerPrecisions=", list);
    used = add_word(out, room, used, " --layerOutputTypes=", list);
    used += used < room ? (size_t)snprintf(out + used, room - used, " --precisionConstraints=prefer") : 0;
  } else if (f->what == CLI_BISECT_TACTICS && f->tactic[0]) {
    used = add_word(out, room, used, " --tactic ", f->tactic);
  } else {
    for (int i = 0; i < b->item_count; ++i) {
      char word[1200];
      if (!f->in[i]) continue;
      (void)snprintf(word, sizeof word, "%s%s", b->items[i].name, f->what == CLI_BISECT_TACTICS ? "=ref.eval" : "");
      used = add_word(out, room, used, f->what == CLI_BISECT_TACTICS ? " --tactic " : " --disable ", word);
    }
  }
}

static void tell_item(const cli_finding *f, const cli_suspect *it) {
  printf("  %s", it->name);
  const char *tactic = f->built ? it->tactic : NULL; /* of a build that fails it is not known */
  if (it->op) printf(" (%s%s%s)", it->op, tactic ? ", " : "", tactic ? tactic : "");
  if (it->origin_count > 1) {
    printf(" of");
    for (int k = 0; k < it->origin_count; ++k) printf("%s %s", k ? "," : "", it->origins[k]);
  }
  if (f->fusion) printf(": right when its layers run apart");
  printf("\n");
}

void cli_bisect_tell_text(const cli_bisect *b, const cli_finding *f, const char *command) {
  static const char *const causes[] = {[CLI_BISECT_TYPES] = "these layers must stay in f32",
                                       [CLI_BISECT_TACTICS] = "these tactics are at fault",
                                       [CLI_BISECT_PASSES] = "these rules or passes are at fault"};
  if (f->built)
    printf("outputs are %.3g from the reference's", f->before);
  else
    printf("the build fails");
  if (f->what == CLI_BISECT_NONE) {
    printf(", and no type, tactic or pass alone is at fault (%d builds)\n", b->builds);
    return;
  }
  printf("; %s (%d builds):\n", f->fusion ? "this fusion is at fault" : causes[f->what], b->builds);
  for (int i = 0; i < b->item_count; ++i)
    if (f->in[i]) tell_item(f, &b->items[i]);
  printf("a build without it:\n  %s\n", command);
}

void cli_bisect_tell_json(const cli_bisect *b, const cli_finding *f, const char *command) {
  static const char *const causes[] = {[CLI_BISECT_NONE] = "unknown",
                                       [CLI_BISECT_TYPES] = "precision",
                                       [CLI_BISECT_TACTICS] = "tactic",
                                       [CLI_BISECT_PASSES] = "pass"};
  printf(CLI_JSON_BEGIN "\"cause\": \"%s\", \"built\": %s, \"builds\": %d, \"names\": [",
         f->fusion ? "fusion" : causes[f->what], f->built ? "true" : "false", b->builds);
  const char *comma = "";
  for (int i = 0; f->what != CLI_BISECT_NONE && i < b->item_count; ++i) {
    if (!f->in[i]) continue;
    printf("%s{\"name\": ", comma);
    cli_json_text(stdout, b->items[i].name);
    if (b->items[i].tactic && f->built) {
      printf(", \"tactic\": ");
      cli_json_text(stdout, b->items[i].tactic);
    }
    printf("}");
    comma = ", ";
  }
  printf("]");
  if (isfinite(f->before)) printf(", \"rel_l2\": %.9g", f->before);
  if (f->what != CLI_BISECT_NONE) {
    printf(", \"command\": ");
    cli_json_text(stdout, command);
  }
  printf("}\n");
}
