/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - the campaign's command line. */
#include "campaign.h"
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_SEEDS = 64 };

static const campaign_family *const families[] = {
    &campaign_engine_bytes, &campaign_engine_tokens,   &campaign_engine_splices, &campaign_engine_files,
    &campaign_model_bytes,  &campaign_model_structure, &campaign_model_files};

/* What the sanitizers do when nothing else is asked for. */
const char *__asan_default_options(void);
const char *__ubsan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1:hard_rss_limit_mb=3000:detect_leaks=0"; }
const char *__ubsan_default_options(void) { return "halt_on_error=1:print_stacktrace=1"; }

static int usage(const char *tool) {
  printf("usage: %s FAMILY [--seed N] [--from N] [--count N] [--jobs N] [--keep FOLDER] [MODELS...]\n"
         "       %s FAMILY --seed N --only N [--keep FILE] [MODELS...]      one case, in this process\n"
         "Case N of a seed is always the same, for the same MODELS (files, and folders that are searched).\n"
         "Exit 1: something was found. Also: --memory-mb N (256), --deadline-ms N (2000, of a call), --call-seconds N "
         "(10),\n"
         "--far LIBRARY (the plug-in libfar.so; else in $HONE_BUILD_DIR/tests), --quiet.\nfamilies:\n",
         tool, tool);
  for (size_t i = 0; i < sizeof families / sizeof *families; ++i)
    printf("  %-16s %s\n", families[i]->name, families[i]->doc);
  return 2;
}

typedef struct command {
  campaign_options options;
  const char *seeds[MOST_SEEDS];
  bool only;
} command;

static bool take_number(command *c, const char *flag, const char *value) {
  char *end;
  const long long number = strtoll(value, &end, 0);
  if (!*value || *end || number < 0) return false;
  if (strcmp(flag, "--seed") == 0)
    c->options.seed = (uint64_t)number;
  else if (strcmp(flag, "--from") == 0 || strcmp(flag, "--only") == 0)
    c->options.from = number;
  else if (strcmp(flag, "--count") == 0)
    c->options.count = number;
  else if (strcmp(flag, "--jobs") == 0 && number <= INT_MAX)
    c->options.jobs = (int)number;
  else if (strcmp(flag, "--memory-mb") == 0)
    c->options.memory_bytes = (uint64_t)number << 20;
  else if (strcmp(flag, "--deadline-ms") == 0)
    c->options.deadline_ms = number;
  else if (strcmp(flag, "--call-seconds") == 0)
    c->options.call_seconds = (double)number;
  else
    return false;
  c->only |= strcmp(flag, "--only") == 0;
  return true;
}

static bool read_command(command *c, int argc, char **argv) {
  for (int i = 2; i < argc; ++i) {
    if (strcmp(argv[i], "--quiet") == 0) {
      c->options.quiet = true;
    } else if (strncmp(argv[i], "--", 2) != 0) {
      if (c->options.seed_count == MOST_SEEDS) return false;
      c->seeds[c->options.seed_count++] = argv[i];
    } else {
      if (i + 1 == argc) return false;
      const char *flag = argv[i], *value = argv[++i];
      if (strcmp(flag, "--keep") == 0)
        c->options.keep = value;
      else if (strcmp(flag, "--far") == 0)
        c->options.far_path = value;
      else if (!take_number(c, flag, value))
        return false;
    }
  }
  c->options.seeds = c->seeds;
  return true;
}

int main(int argc, char **argv) {
  command c = {
      .options = {.seed = 1, .jobs = 1, .call_seconds = 10, .memory_bytes = (uint64_t)256 << 20, .deadline_ms = 2000}};
  const campaign_family *family = NULL;
  for (size_t i = 0; i < sizeof families / sizeof *families && argc > 1; ++i)
    if (strcmp(families[i]->name, argv[1]) == 0) family = families[i];
  if (!family || !read_command(&c, argc, argv)) return usage(argv[0]);
  char far_path[4096];
  const char *folder = getenv("HONE_BUILD_DIR");
  snprintf(far_path, sizeof far_path, "%s/tests/libfar.so", folder ? folder : "build/release");
  if (!c.options.far_path) c.options.far_path = far_path;
  int64_t total = 0;
  void *world = family->begin(&c.options, &total);
  if (!world) return 2;
  int code;
  if (c.only)
    code = campaign_run_one(family, world, &c.options) ? 0 : 1;
  else
    code = campaign_run(family, world, total, &c.options) == 0 ? 0 : 1;
  family->end(world);
  return code;
}
